//! What mechanisms are compared by.

use oef_report::format::{duration, fixed, number, percent};
use oef_report::table::{Cell, Column};
use oef_sim::engine::RunResult;

/// A column of a table of runs, and its cell.
pub type Figure = (Column, fn(&RunResult) -> Cell);

/// One figure of a run.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    pub value: fn(&RunResult) -> f64,
    /// How it is written.
    pub show: fn(f64) -> String,
    /// Whether less is better.
    pub least_is_best: bool,
    /// What the best of all has, in words: "the shortest mean completion time".
    pub won: &'static str,
    /// What the worst has.
    pub lost: &'static str,
}

/// Everything that can be won or lost.
pub const MEASURES: [Measure; 7] = [
    Measure {
        value: |run| run.jct.mean,
        show: duration,
        least_is_best: true,
        won: "the shortest mean completion time",
        lost: "the longest mean completion time",
    },
    Measure {
        value: |run| run.jct.p99,
        show: duration,
        least_is_best: true,
        won: "the shortest tail of 99 in 100 jobs",
        lost: "the longest tail of 99 in 100 jobs",
    },
    Measure {
        value: |run| run.wait.mean,
        show: duration,
        least_is_best: true,
        won: "the shortest wait for the first GPU",
        lost: "the longest wait for the first GPU",
    },
    Measure {
        value: |run| run.actual,
        show: number,
        least_is_best: false,
        won: "the most throughput",
        lost: "the least throughput",
    },
    Measure {
        value: |run| run.utilisation,
        show: percent,
        least_is_best: false,
        won: "the most GPU time held",
        lost: "the least GPU time held",
    },
    Measure {
        value: |run| run.worst_sharing_incentive,
        show: |x| format!("{} of its equal split", fixed(x, 2)),
        least_is_best: false,
        won: "the kindest to its least favoured tenant",
        lost: "the hardest on its least favoured tenant",
    },
    Measure {
        value: |run| (run.migrations + run.preemptions) as f64,
        show: number,
        least_is_best: true,
        won: "the fewest restarts",
        lost: "the most restarts",
    },
];

/// Relative differences below this are no difference.
const SAME: f64 = 1e-3;

impl Measure {
    /// The best and the worst run by this measure; none where they are all alike.
    pub fn ends<'a>(&self, runs: &'a [RunResult]) -> Option<(&'a RunResult, &'a RunResult)> {
        let by = |a: &&RunResult, b: &&RunResult| (self.value)(a).total_cmp(&(self.value)(b));
        let least = runs.iter().min_by(by)?;
        let most = runs.iter().rev().max_by(by)?;
        let (low, high) = ((self.value)(least), (self.value)(most));
        let differ = high - low > SAME * high.abs();
        differ.then_some(if self.least_is_best { (least, most) } else { (most, least) })
    }
}
