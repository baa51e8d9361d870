//! What was decided in a round.

use crate::ids::{GpuId, JobId, RoundId, WorkloadKey};
use crate::reason::StartReason;
use crate::time::Time;
use oef_core::TypeId;

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

/// What was decided at the begin of a round. What each workload was granted and which job is where stands in
/// the state: [`State::grants`] and [`State::placements`].
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Plan {
    /// The round.
    pub round: RoundId,
    /// When it began.
    pub began: Time,
    /// GPUs that the paper's rounding granted beyond what there is (0 under ours).
    pub overcommitted: u32,
}
