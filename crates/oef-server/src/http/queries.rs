//! Queries of lists and streams.

use super::extract::within;
use super::failure::Failure;
use oef_api::limits::PAGE_MAX;
use oef_api::types::PageQuery;
use serde::Deserialize;
use utoipa::IntoParams;

/// Which part of a list whose entries have numbers.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct NumberedParams {
    /// So many at most; 100 by default.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<u32>,
    /// Those after this mark, which is the `next` of the page before.
    #[param(pattern = "^[0-9]{1,18}$")]
    pub after: Option<String>,
}

/// What is read of a terminal.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ReadParams {
    /// The offset of the first byte; everything before it has arrived.
    pub from: u64,
    /// Of which run; by default the current one.
    pub run: Option<u64>,
    /// Of which shell beside it; by default that of the job itself.
    pub shell: Option<u64>,
    /// How long to wait for bytes, in milliseconds; 15000 at most.
    #[param(maximum = 15000)]
    pub wait_ms: Option<u64>,
}

/// What is written to a terminal.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct WriteParams {
    /// The offset of the first byte of the body.
    pub at: u64,
    /// Of which run; by default the current one.
    pub run: Option<u64>,
    /// Of which shell beside it; by default that of the job itself.
    pub shell: Option<u64>,
}

impl From<NumberedParams> for PageQuery {
    fn from(query: NumberedParams) -> Self {
        PageQuery { limit: query.limit, after: query.after }
    }
}

/// The same with a limit that may be asked for.
pub(super) fn page(query: impl Into<PageQuery>) -> Result<PageQuery, Failure> {
    let query = query.into();
    within("limit", query.limit, PAGE_MAX)?;
    Ok(query)
}

/// From where on.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct EventsQuery {
    /// Events after this number; by default only what happens from now on.
    pub after: Option<u64>,
}
