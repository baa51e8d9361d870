//! What is asked about jobs: lists, and parts of their output.

use super::job_submit::is_default;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

/// Which jobs to list.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct JobsQuery {
    /// Of this tenant.
    pub tenant: Option<String>,
    /// In one of these states, separated by commas.
    #[param(
        pattern = "^(queued|starting|running|stopping|finished|failed|timed_out|cancelled)(,(queued|starting|running|stopping|finished|failed|timed_out|cancelled))*$"
    )]
    pub state: Option<String>,
    /// With this label: `key` or `key=value`.
    pub label: Option<String>,
    /// Of this sweep: the number of its first job.
    #[serde(default, deserialize_with = "super::job_change::maybe_job_number")]
    pub sweep: Option<u64>,
    /// Ended ones too.
    #[serde(default, skip_serializing_if = "is_default")]
    pub all: bool,
    /// So many at most; 100 by default.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<u32>,
    /// Jobs after this cursor: the `next` of the page before.
    #[param(pattern = "^[0-9]{1,18}$")]
    pub after: Option<String>,
}

/// How jobs are submitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SubmitQuery {
    /// A tenant that is not there is created with weight 1; only with an admin's token.
    #[serde(default, skip_serializing_if = "is_default")]
    pub create_tenant: bool,
}

/// Which part of a log.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LogQuery {
    /// Of which run, by its generation; by default the last.
    pub generation: Option<u64>,
    /// Of which worker; 0 by default.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rank: u32,
    /// Which stream.
    #[serde(default, skip_serializing_if = "is_default")]
    #[param(inline)]
    pub stream: LogStream,
    /// From this byte on.
    pub offset: Option<u64>,
    /// Or only so many lines at the end.
    #[param(maximum = 100_000)]
    pub tail: Option<u32>,
    /// So many bytes at most; 64 KiB by default.
    #[param(minimum = 1, maximum = 1_048_576)]
    pub limit: Option<u32>,
}

/// A stream of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogStream {
    /// Standard output.
    #[default]
    Out,
    /// Standard error.
    Err,
    /// Both of all workers, line by line in the order of writing. Before each line stands whose it is: `[0] ` for the
    /// output of worker 0, `[0 err] ` for its error stream.
    All,
}

/// A part of a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LogChunk {
    /// Of which run.
    pub generation: u64,
    /// The text; bytes that are no text are replaced.
    pub text: String,
    /// Where the next part begins.
    pub next_offset: u64,
    /// Whether nothing more will come: the run has ended and this is its end.
    pub complete: bool,
}
