//! Rounds: shares, grants, placement, and the certificate.

use super::cluster::GpuRef;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A round in a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RoundSummary {
    /// Its number.
    pub round: u64,
    /// When it began.
    pub began: Timestamp,
    /// How shares were computed.
    pub mechanism: String,
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
    /// The certificate in words: `envy-free`, `sharing incentive`...; what holds.
    pub holds: Vec<String>,
}

/// Whose shares a round used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SharesAge {
    /// Whether they are those of an earlier round, because the new ones were not ready.
    pub kept: bool,
    /// The round that they were computed for.
    pub of_round: u64,
    /// How long the computation took.
    pub solve_s: f64,
    /// Why the shares are not those of the mechanism, and what they are instead; none: they are.
    pub trouble: Option<String>,
    /// Workloads with live jobs that have no share because they cannot be part of the problem.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
}

/// How the shares of a round were computed, and how far they are proven.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SolverAnswer {
    /// Whether they are proven to be the optimum of the mechanism's program.
    pub status: SolverStatus,
    /// How far they can be from the optimum, relative to it; left out where nobody knows.
    pub gap: Option<f64>,
    /// Whether ties between optima were broken to the end: no other answer is as good.
    pub canonical: bool,
    /// The method, in a few words.
    pub method: String,
    /// The same in a sentence.
    pub sentence: String,
}

/// How far an answer is proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SolverStatus {
    /// Proven to be the optimum.
    Optimal,
    /// Within what there is, and not proven to be the optimum.
    Feasible,
}

/// A workload that is left out of the shares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeftOut {
    /// Its tenant.
    pub tenant: String,
    /// Its name.
    pub workload: String,
    /// Why.
    pub reason: String,
}

/// A round, whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Round {
    /// Its number.
    pub round: u64,
    /// When it began.
    pub began: Timestamp,
    /// How long a round lasts.
    pub length_s: f64,
    /// How shares were computed.
    pub mechanism: String,
    /// The half-life of past usage, where it counts: the certificate judges by the weights that counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage_half_life_s: Option<f64>,
    /// The type against which speedups are counted.
    pub reference: Option<String>,
    /// Total normalised throughput of the shares.
    pub total: f64,
    /// Price of a GPU of each type, in throughput: 0 where more GPUs of the type would help nobody.
    pub prices: BTreeMap<String, f64>,
    /// Who was entitled to what.
    pub shares: Vec<ShareEntry>,
    /// Who got what in whole GPUs.
    pub grants: Vec<Grant>,
    /// Which job was where.
    pub placements: Vec<Placement>,
    /// Whether the shares were fresh.
    pub shares_age: SharesAge,
    /// How the shares were computed; left out where there was nothing to share, and by older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub solver: Option<SolverAnswer>,
    /// What each fairness property measured; none while there is nothing to share.
    pub audit: Option<Audit>,
    /// How long planning took, without the shares.
    pub plan_s: f64,
    /// Work of all rounds before that was lost because a run ended before it was saved, in GPU-seconds.
    #[serde(default)]
    pub wasted_gpu_s: f64,
}

/// What a workload is entitled to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ShareEntry {
    /// Its tenant.
    pub tenant: String,
    /// Its name.
    pub workload: String,
    /// The weight that counted.
    pub weight: f64,
    /// GPUs by type.
    pub share: BTreeMap<String, f64>,
    /// Normalised throughput of that.
    pub throughput: f64,
    /// Normalised throughput of an equal split.
    pub equal_split: f64,
    /// Its balance in GPU-rounds, by type, when the round began: + turns due, - used more than its turns.
    pub deficit: BTreeMap<String, f64>,
}

/// Whole GPUs of a type for a workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Grant {
    /// Its tenant.
    pub tenant: String,
    /// Its name.
    pub workload: String,
    /// The type.
    #[serde(rename = "type")]
    pub gpu_type: String,
    /// How many.
    pub gpus: u32,
}

/// A job with its GPUs, and why it has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Placement {
    /// The job.
    pub job: u64,
    /// Its tenant.
    pub tenant: String,
    /// Its GPUs.
    pub gpus: Vec<GpuRef>,
    /// Why.
    pub reason: String,
}

/// The certificate of a round's shares.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Audit {
    /// No more handed out than there is.
    pub capacity: Property,
    /// Nobody has more GPUs than it can use; left out by older versions.
    pub demand: Option<Property>,
    /// Everybody has what it can use of its guarantees; left out where there are no guarantees and limits.
    pub guarantee: Option<Property>,
    /// Nobody is above its limit of a gpu type; left out where there are no guarantees and limits.
    pub limit: Option<Property>,
    /// Whether the properties that follow are about what lies beyond guarantees and limits; left out where there are none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub beyond_guarantees: bool,
    /// Nobody would rather have another's share.
    pub envy_free: Property,
    /// Nobody is worse off than with an equal split.
    pub sharing_incentive: Property,
    /// Nobody could gain without somebody losing.
    pub pareto_efficient: Property,
    /// Every tenant's gpu types lie side by side.
    pub adjacent: Property,
}

/// One property of the certificate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Property {
    /// Whether it holds.
    pub holds: bool,
    /// What was measured.
    pub worst: f64,
    /// Where it fails, in a sentence that can be checked by hand.
    pub witness: Option<String>,
}
