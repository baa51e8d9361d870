//! What a profile run has measured.

use serde::{Deserialize, Serialize};

/// How long a batch takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// The median of the batches.
    pub batch_seconds: f64,
    /// How far the middle half of the batches lies apart, relative to their median.
    pub spread: f64,
    /// How many batches that was.
    pub batches: u32,
    /// How many lots of batches it took.
    pub lots: u32,
    /// The part of the time that was spent waiting for data, where the job tells.
    pub wait: Option<f64>,
}

impl Timing {
    /// Whether every figure is one that a clock can give: what a job writes itself may be anything.
    pub fn is_sound(&self) -> bool {
        let throughput = 1.0 / self.batch_seconds;
        throughput.is_finite()
            && throughput > 0.0
            && self.spread.is_finite()
            && self.spread >= 0.0
            && self.batches > 0
            && self.lots > 0
            && self.wait.is_none_or(|wait| (0.0..=1.0).contains(&wait))
    }
}
