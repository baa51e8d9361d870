//! Everything that the daemon knows, as one value that only [`Record`]s change.
//!
//! The scheduler's own state is a part of it; around it stands what the scheduler need not know: names,
//! commands, histories, tokens. Applying the same records to an empty world gives the same world, with no
//! clock, no file and no chance in between.

mod job;
mod record;
mod tenant;

pub use job::{JobEntry, RunEnding, RunEntry, StateChange, Telemetry};
pub use record::{Change, NewJob, Record, SettingsEntry, TokenEntry};
pub use tenant::{Delivered, GroupEntry, ProfileEntry, TenantEntry, WorkloadEntry};

use oef_api::types::Event;
use oef_sched::{JobId, State, TenantKey, Time, WorkloadKey};
use std::collections::{BTreeMap, VecDeque};

/// The daemon's whole knowledge.
#[derive(Clone, Debug)]
pub struct World {
    /// The scheduler's state. Its times are milliseconds since the Unix epoch.
    pub sched: State,
    /// Tenants by name; a removed one is gone from here (its key in the scheduler stays unused).
    pub tenants: BTreeMap<String, TenantEntry>,
    /// Groups by name.
    pub groups: BTreeMap<String, GroupEntry>,
    /// Workloads by the scheduler's key.
    pub workloads: BTreeMap<WorkloadKey, WorkloadEntry>,
    /// The name of each tenant that the scheduler knows.
    pub tenant_names: BTreeMap<TenantKey, String>,
    /// All jobs that are remembered: live ones, and the last of those that ended.
    pub jobs: BTreeMap<JobId, JobEntry>,
    /// Ended jobs, in the order of their ends: the first are forgotten first.
    pub ended: VecDeque<JobId>,
    /// The number of the next job.
    pub next_job: u64,
    /// Tokens by number, hashed.
    pub tokens: BTreeMap<u64, TokenEntry>,
    /// The number of the next token.
    pub next_token: u64,
    /// Settings of the daemon that the scheduler does not know.
    pub settings: SettingsEntry,
    /// Submissions that may come again: by token and key, the jobs that the first one made.
    pub keys: BTreeMap<(u64, String), (Time, Vec<JobId>)>,
    /// The last events, for those who come back; numbered without gaps.
    pub events: VecDeque<Event>,
    /// The number of the next event.
    pub next_event: u64,
}
