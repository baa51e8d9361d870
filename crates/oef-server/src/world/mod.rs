//! Everything that the daemon knows, as one value that only [`Record`]s change.
//!
//! The scheduler's own state is a part of it; around it stands what the scheduler need not know: names,
//! commands, histories, tokens. Applying the same records to an empty world gives the same world, with no
//! clock, no file and no chance in between.

mod account;
mod action;
mod apply;
pub(crate) mod changes;
mod checkpoint_location;
mod decide;
mod drains;
pub(crate) mod endings;
mod estimate;
mod gang_figures;
mod guarding;
mod history;
mod index;
mod job;
pub(crate) mod lifecycle;
mod nodes;
mod notifications;
mod probes;
pub(crate) mod reason;
mod record;
mod rejection;
mod restart_cost;
mod rounds;
mod settings;
mod snapshot;
mod tenancy;
mod tenant;
#[cfg(test)]
pub(crate) mod testing;
mod texts;
mod tokens;
pub(crate) mod turns;
mod usage;

pub use action::Action;
pub use checkpoint_location::LastCheckpoints;
pub(crate) use decide::Due;
pub use drains::{Drain, RunningJobs, Window};
pub use endings::RunOutcome;
pub use gang_figures::GangEntry;
pub(crate) use history::timestamp;
pub use index::Index;
pub use job::{JobEntry, RunEnding, RunEntry, StateChange, SweepEntry, Telemetry};
pub(crate) use lifecycle::for_scheduler;
pub use notifications::{NotificationEntry, NotificationSpec, Notifications, Receiver, Tried};
pub use reason::Reason;
pub use record::{Change, GroupChange, NewJob, NewSweep, Record, RunEnd, SubmitKey, TenantChange};
pub use rejection::Rejection;
pub use restart_cost::RestartTimes;
pub use settings::SettingsEntry;
pub use snapshot::SnapshotError;
pub use tenant::{
    Account, Delivered, GroupEntry, Hour, Mark, ProfileEntry, TenantEntry, WorkloadEntry,
};
pub(crate) use texts::{end_of, text_bytes, was_shortened};
pub use tokens::{KeyEntry, TokenEntry};
pub use usage::{TenantUsage, Usage, Used, Utilised};

use oef_api::types::Event;
use oef_sched::guard::Guard;
use oef_sched::{JobId, State, TenantKey, Time, WorkloadKey};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// The daemon's whole knowledge.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct World {
    /// What the records that come next mean.
    #[serde(default = "first_meaning")]
    pub meaning: u32,
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
    /// All jobs that are remembered: live ones, and the last of those that ended. Shared with copies of the
    /// world until they change: a copy for a snapshot is made while everybody waits.
    pub jobs: BTreeMap<JobId, Arc<JobEntry>>,
    /// Ended jobs, in the order of their ends.
    pub ended: VecDeque<JobId>,
    /// The number of the next job.
    pub next_job: u64,
    /// Tokens by number, hashed.
    pub tokens: BTreeMap<u64, TokenEntry>,
    /// The number of the next token.
    pub next_token: u64,
    /// Settings of the daemon that the scheduler does not know.
    pub settings: SettingsEntry,
    /// Nodes that an operator took out: they stay out when their machine comes back.
    pub drained: BTreeSet<String>,
    /// Why and how, of those that were taken out with more than a word.
    #[serde(default)]
    pub drains: BTreeMap<String, Drain>,
    /// Times in which nodes are to be out, by number.
    #[serde(default)]
    pub windows: BTreeMap<u64, Window>,
    /// The number of the next of them.
    #[serde(default)]
    pub next_window: u64,
    /// Why nodes cannot be used, or not all of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_reasons: BTreeMap<String, String>,
    /// Whether nothing is to run: the daemon stops, or has stopped with its jobs.
    pub halted: bool,
    /// Submissions that may come again, by the token's number and the key.
    pub keys: BTreeMap<String, KeyEntry>,
    /// The same in the order of time: the first expire first.
    pub key_order: VecDeque<String>,
    /// The last events, for those who come back; numbered without gaps.
    pub events: VecDeque<Event>,
    /// The number of the next event.
    pub next_event: u64,
    /// What jobs show of their workloads.
    #[serde(default)]
    pub guard: Guard,
    /// The round that began last, and the shares that it used.
    pub round: RoundEntry,
    /// What happened so far, in numbers.
    pub totals: Totals,
    /// Who used how much of what.
    #[serde(default)]
    pub usage: Usage,
    /// Who is told of jobs, and what they are still to be told.
    #[serde(default, skip_serializing_if = "Notifications::is_unused")]
    pub notifications: Notifications,
    /// Jobs by tenant and state, and who is tried again when. Follows from the rest.
    #[serde(skip)]
    pub index: Index,
    /// What is to be decided before anything else happens. Nothing of this is left when a batch is durable.
    #[serde(skip)]
    pub(crate) due: Due,
    /// When the record that is being applied happened.
    #[serde(skip)]
    at: Time,
    /// What is to be done after it.
    #[serde(skip)]
    actions: Vec<Action>,
    /// The cluster decides by itself who runs where: it is followed, and nothing is planned. Of this start of the daemon.
    #[serde(skip)]
    pub(crate) observes: bool,
}

/// What the records of this version mean. From 2 on, every decision is a record of its own, and applying a record
/// decides nothing; a record that cannot be applied is never written. Before, whoever read a record decided again.
/// From 3 on, figures of gangs and restart costs of workloads count. From 4 on, what is forgotten first is what the tenant
/// with the most ended jobs has. From 5 on, the same holds for idempotency keys of callers. From 6 on, workloads are estimated
/// by others of their tenant only.
pub const MEANING: u32 = 6;

/// What records mean since figures of gangs and restart costs count.
const GANG_FIGURES_COUNT: u32 = 3;

/// What records mean since a tenant with many ended jobs loses its own first.
const FORGETS_OF_THE_MOST: u32 = 4;

/// What records mean since a caller with many idempotency keys loses its own first.
const FORGETS_KEYS_OF_THE_MOST: u32 = 5;

/// What records mean since no tenant can change or see by estimates what another has.
const ESTIMATES_STAY_IN_THE_TENANT: u32 = 6;

/// What records meant before they said so.
fn first_meaning() -> u32 {
    1
}

/// The round that began last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoundEntry {
    /// Whether it began with the shares of before, because new ones were not ready.
    pub kept: bool,
    /// The round for which the shares were computed.
    pub shares_of: u64,
    /// How long that took.
    pub solve_ms: u64,
}

/// What happened so far, in numbers that only grow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Jobs that were submitted.
    pub submitted: u64,
    /// Jobs that did all their work.
    pub finished: u64,
    /// Jobs that failed for good.
    pub failed: u64,
    /// Jobs that reached their time limit.
    #[serde(default)]
    pub timed_out: u64,
    /// Jobs that were cancelled.
    pub cancelled: u64,
    /// Starts of jobs that had run before.
    pub restarts: u64,
    /// Work since the last checkpoint that was lost, in milliseconds of a worker.
    pub wasted_ms: u64,
    /// Rounds that began with the shares of before.
    pub kept: u64,
    /// Profiles that were found not to be what jobs show.
    #[serde(default)]
    pub false_profiles: u64,
    /// Notices that were given up.
    #[serde(default)]
    pub notices_dropped: u64,
}
