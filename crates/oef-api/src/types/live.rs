//! What a live page asks again and again: small answers, and only what is new.
//!
//! Times are milliseconds since the Unix epoch, as scripts of a browser count them.

use super::GpuTypeStatus;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

/// The cluster at a glance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Overview {
    /// The daemon's clock.
    pub now_ms: u64,
    /// The current round.
    pub round: u64,
    /// When it began.
    pub began_ms: u64,
    /// How long a round lasts.
    pub length_s: f64,
    /// How shares are computed.
    pub mechanism: String,
    /// What the mechanism promises on every problem.
    pub promises: Vec<String>,
    /// The type against which speedups are counted.
    pub reference: Option<String>,
    /// The number of the last event.
    pub last_event: u64,
    /// Jobs that wait, as far as the caller may see.
    pub queued: u32,
    /// Jobs that run, as far as the caller may see.
    pub running: u32,
    /// The gpu types.
    pub types: Vec<GpuTypeStatus>,
    /// Nodes, and how many of them are down.
    pub nodes: u32,
    /// Nodes that are down.
    pub nodes_down: u32,
    /// Why the shares are not those of the mechanism; none: they are.
    pub trouble: Option<String>,
    /// Every tenant that has jobs, or that the caller may see.
    pub tenants: Vec<TenantLine>,
    /// Tenants beyond the limit of one answer.
    pub more_tenants: u32,
}

/// A tenant in a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TenantLine {
    /// Its name.
    pub name: String,
    /// A number of its own that never changes: its colour follows from it.
    pub slot: u64,
    /// Its own weight.
    pub weight: f64,
    /// Normalised throughput of its share.
    pub promised: f64,
    /// Normalised throughput of the GPUs that it holds now.
    pub delivered: f64,
    /// Normalised throughput of an equal split.
    pub equal_split: f64,
    /// GPUs that it holds.
    pub gpus: u32,
    /// Its jobs that wait; none: not for the caller.
    pub queued: Option<u32>,
    /// Its jobs that run; none: not for the caller.
    pub running: Option<u32>,
    /// Its balance in GPU-rounds: + turns due, - used more than its turns; none: not for the caller.
    pub balance: Option<f64>,
}

/// Which part of the past.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TimelineQuery {
    /// From when on; by default the last hour.
    #[param(maximum = 9_007_199_254_740_991_u64)]
    pub from_ms: Option<u64>,
    /// Until when; by default now.
    #[param(maximum = 9_007_199_254_740_991_u64)]
    pub to_ms: Option<u64>,
    /// Only runs that began or ended after this: what is new to somebody who has the rest. Then the nodes are left out.
    #[param(maximum = 9_007_199_254_740_991_u64)]
    pub changed_after_ms: Option<u64>,
    /// Of this job only.
    #[param(maximum = 9_007_199_254_740_991_u64)]
    pub job: Option<u64>,
}

/// Who ran where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Timeline {
    /// From when on.
    pub from_ms: u64,
    /// Until when: the daemon's clock, or what was asked for.
    pub to_ms: u64,
    /// The nodes. GPUs are numbered through in this order.
    pub nodes: Vec<TimelineNode>,
    /// The tenants that the runs name.
    pub tenants: Vec<String>,
    /// The runs.
    pub spans: Vec<Span>,
    /// Runs that were left out, the oldest first: there are too many for one answer.
    pub left_out: u32,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TimelineNode {
    /// Its name.
    pub name: String,
    /// The type of its GPUs.
    #[serde(rename = "type")]
    pub gpu_type: String,
    /// How many GPUs it has.
    pub gpus: u32,
    /// Whether it may be used.
    pub up: bool,
}

/// A run of a job on its GPUs.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Span {
    /// The job; 0: one that the caller may not see.
    pub job: u64,
    /// The lease's generation, which tells the runs of a job apart.
    pub run: u64,
    /// Its tenant, as a position in `tenants`; none: not for the caller.
    pub tenant: Option<u32>,
    /// When its GPUs were taken.
    pub from: u64,
    /// When they were free again.
    pub to: Option<u64>,
    /// Its GPUs: the first of each row of them, and how many follow one another; in pairs.
    pub gpus: Vec<u32>,
}

/// Which rounds.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RecentQuery {
    /// Rounds after this one.
    #[param(maximum = 9_007_199_254_740_991_u64)]
    pub after: Option<u64>,
    /// So many at most, the newest; 288 by default.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<u32>,
}

/// The last rounds, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RecentRounds {
    /// The rounds.
    pub rounds: Vec<RoundTick>,
}

/// A round in a tick.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RoundTick {
    /// Its number.
    pub round: u64,
    /// When it began.
    pub began_ms: u64,
    /// How shares were computed.
    pub mechanism: String,
    /// What the mechanism promises on every problem.
    pub promises: Vec<String>,
    /// What the mechanism promises and this round's shares do not have; none: there was nothing to share.
    pub broken: Option<Vec<String>>,
    /// What holds beside that or not: all properties that hold.
    pub holds: Vec<String>,
    /// GPUs in use when it was planned.
    pub gpus_used: u32,
    /// Healthy GPUs.
    pub gpus: u32,
    /// Jobs that ran.
    pub running: u32,
    /// Jobs that waited.
    pub queued: u32,
    /// Total normalised throughput of the shares.
    pub total: f64,
}

/// Which curves.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SeriesQuery {
    /// Of this tenant; by default of those who are furthest below what they were promised.
    pub tenant: Option<String>,
    /// Rounds after this one.
    #[param(maximum = 9_007_199_254_740_991_u64)]
    pub after: Option<u64>,
    /// So many rounds at most, the newest; 120 by default.
    #[param(minimum = 1, maximum = 288)]
    pub rounds: Option<u32>,
    /// So many tenants at most; 24 by default.
    #[param(minimum = 1, maximum = 100)]
    pub tenants: Option<u32>,
}

/// Promised and delivered, round by round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Series {
    /// The rounds, the oldest first.
    pub rounds: Vec<u64>,
    /// When each ended.
    pub at_ms: Vec<u64>,
    /// All tenants together.
    pub total: Curve,
    /// The tenants, those who are furthest below what they were promised first.
    pub tenants: Vec<TenantCurve>,
    /// Tenants beyond the limit.
    pub more: u32,
}

/// Two curves, a value for each round; none: it took no part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Curve {
    /// Mean normalised throughput that was promised.
    pub promised: Vec<Option<f64>>,
    /// Mean normalised throughput that was delivered.
    pub delivered: Vec<Option<f64>>,
}

/// A tenant's curves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TenantCurve {
    /// Its name.
    pub tenant: String,
    /// Its number for colours.
    pub slot: u64,
    /// Normalised throughput of an equal split, now.
    pub equal_split: f64,
    /// The curves.
    pub curve: Curve,
}

/// Whose envy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EnvyQuery {
    /// This tenant and those with whom it compares most; by default those who envy most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

/// How some tenants value each other's shares.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EnvyMatrix {
    /// The tenants.
    pub tenants: Vec<String>,
    /// A row for each: every other's share over its own, in its own eyes; over 1 is envy.
    pub ratios: Vec<Vec<f64>>,
    /// Tenants beyond the limit.
    pub more: u32,
}

/// What a job told of itself since the daemon was started, thinned out where it is much.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobCurve {
    /// When, the oldest first.
    pub at_ms: Vec<u64>,
    /// Steps since its first start.
    pub steps: Vec<f64>,
    /// Steps per second.
    pub throughput: Vec<Option<f64>>,
    /// Its loss.
    pub loss: Vec<Option<f64>>,
}

/// A code that logs one browser in, once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LoginCode {
    /// The code.
    pub code: String,
    /// What follows the daemon's address to make a link of it.
    pub path: String,
    /// It is void after so many seconds.
    pub expires_in_s: u64,
    /// The daemon's address, for callers on the local socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

impl std::fmt::Debug for LoginCode {
    /// Without the code: it must not get into a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoginCode")
            .field("expires_in_s", &self.expires_in_s)
            .finish_non_exhaustive()
    }
}
