//! What is decided, as a value: made by [`plan`](crate::plan()), written down, and carried out by
//! [`apply`](crate::apply()), which decides nothing.

use crate::ids::{GpuId, JobId, RoundId, WorkloadKey};
use crate::reason::{StartReason, StopReason};
use crate::time::Time;
use oef_core::TypeId;

/// How much a plan may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Scope {
    /// A round begins: everything that is not protected may stop or move.
    Round,
    /// In mid-round: only GPUs that nobody owns are handed out.
    Fill,
}

/// What was decided at an instant. Whatever runs and is not mentioned goes on.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Plan {
    /// The round that it belongs to.
    pub round: RoundId,
    /// How much it could change.
    pub scope: Scope,
    /// The end of the leases that it gives or renews.
    pub until: Time,
    /// Jobs that lose their GPUs.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub stops: Vec<PlannedStop>,
    /// Jobs that get GPUs, in the order in which they were chosen.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub starts: Vec<PlannedStart>,
    /// Gangs that wait for room. They count as waiting, and what they were chosen for is lent to others.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub waits: Vec<PlannedWait>,
    /// Running jobs that stay where they are, and why they may. In a round those without a line stay for the reason
    /// of before.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub keeps: Vec<(JobId, StartReason)>,
    /// The accounts of the paper's rounding after the round; none under ours, which time moves.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub balances: Vec<(WorkloadKey, Vec<f64>)>,
    /// GPUs that the paper's rounding granted beyond what there is (0 under ours).
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_zero"))]
    pub overcommitted: u32,
}

impl Plan {
    /// Whether it changes nothing. A round is a change even where everything stays.
    pub fn is_empty(&self) -> bool {
        self.scope == Scope::Fill && self.starts.is_empty()
    }
}

/// A job that loses its GPUs.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PlannedStop {
    /// The job.
    pub job: JobId,
    /// Why.
    pub why: StopReason,
}

/// A job that gets GPUs. It starts when their last holders have left.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PlannedStart {
    /// The job.
    pub job: JobId,
    /// Its GPUs, in the order of the ranks.
    pub gpus: Vec<GpuId>,
    /// Why now and there.
    pub why: StartReason,
    /// Where it comes from.
    #[cfg_attr(feature = "serde", serde(default))]
    pub from: Origin,
    /// The gang for which it makes room, which pays for its restart.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub serves: Option<JobId>,
}

/// A gang that was chosen and waits for room on fewer hosts.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PlannedWait {
    /// The job.
    pub job: JobId,
    /// The type that it was chosen for.
    pub gpu: TypeId,
    /// The hosts that it would stand on with room, and without.
    pub hosts: (u32, u32),
    /// How many times as fast it is with room.
    pub gain: f64,
}

/// Where a job that gets GPUs comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Origin {
    /// It waits, or was promised other GPUs and has not started.
    #[default]
    Queue,
    /// It runs elsewhere, or is being stopped there.
    Elsewhere,
    /// It runs on other GPUs of the same type: it comes together on fewer hosts, or makes room for a gang.
    Spread,
}

/// The round that was planned last.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PlannedRound {
    /// The round.
    pub round: RoundId,
    /// When it began.
    pub began: Time,
    /// GPUs that the paper's rounding granted beyond what there is (0 under ours).
    pub overcommitted: u32,
}

/// Whole GPUs of a type that a workload gets.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Grant {
    /// The workload.
    pub workload: WorkloadKey,
    /// The type.
    pub gpu: TypeId,
    /// How many.
    pub gpus: u32,
}

/// A job with its GPUs, and why it has them.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Placement {
    /// The job.
    pub job: JobId,
    /// Its GPUs.
    pub gpus: Vec<GpuId>,
    /// Why it was started there.
    pub why: StartReason,
}

#[cfg(feature = "serde")]
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}
