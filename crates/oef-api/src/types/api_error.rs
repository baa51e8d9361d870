//! What went wrong, as RFC 9457 problem details.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::fmt;
use utoipa::ToSchema;

/// An error, with the way out.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Problem)]
pub struct ApiError {
    /// The kind of problem, a stable word for scripts: `unknown_tenant`, `bad_request`, `conflict`...
    #[serde(rename = "type")]
    pub kind: String,
    /// The HTTP status.
    pub status: u16,
    /// The kind in words.
    pub title: String,
    /// What is wrong with this request.
    pub detail: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The field that it is about.
    pub field: Option<String>,
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}
