//! What happens, as it happens.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventTopic {
    /// A job changed its state.
    Job,
    /// A round began.
    Round,
    /// A tenant, group, workload or token was changed.
    Tenant,
    /// A node came or went, or a setting was changed.
    Cluster,
}

/// Something that happened. Its number is the `id` of the server-sent event: a client that comes back with
/// it in `Last-Event-ID` misses nothing.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Event {
    /// Its number, growing.
    pub id: u64,
    /// When.
    pub at: Timestamp,
    /// What it is about.
    pub topic: EventTopic,
    /// The job, where there is one.
    pub job: Option<u64>,
    /// Its new state.
    pub state: Option<super::JobState>,
    /// The tenant, where there is one.
    pub tenant: Option<String>,
    /// The round, where it is about one.
    pub round: Option<u64>,
    /// In a sentence.
    pub message: String,
}
