//! One run of a job on one gpu type, as evidence.

use crate::ids::Generation;
use std::collections::VecDeque;

use super::window::{Mark, RunPlace};

/// Windows of a run that are remembered, the last ones: more would not narrow the tolerance by much.
pub(super) const WINDOWS_MAX: usize = 48;
/// With fewer windows than this a run says nothing.
pub(super) const WINDOWS_MIN: usize = 4;

/// A stretch of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Window {
    /// The logarithm of steps per second and worker.
    pub rate: f64,
    /// The job waited for its data for more than half of the time.
    pub waiting: bool,
}

/// A run that has not ended.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct OpenRun {
    pub generation: Generation,
    pub place: RunPlace,
    /// Where the open window begins.
    pub mark: Mark,
    pub windows: VecDeque<Window>,
    /// Windows in a row that were left out because of a checkpoint.
    pub saved: u32,
    /// Windows in a row that were left out because others were in the way.
    pub crowded: u32,
    /// The first window, with everything that is slow at first, is over.
    pub warm: bool,
}

/// What a run says.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Run {
    /// Runs of one kind count the same steps.
    pub kind: u64,
    pub workers: u32,
    pub nodes: u32,
    /// The middle of its windows.
    pub rate: f64,
    pub windows: u32,
    /// The squares of its windows' differences from their mean.
    pub squares: f64,
    /// It waited for its data most of the time.
    pub waiting: bool,
}

impl OpenRun {
    pub fn new(generation: Generation, place: RunPlace, mark: Mark) -> Self {
        let windows = VecDeque::new();
        OpenRun { generation, place, mark, windows, saved: 0, crowded: 0, warm: false }
    }

    pub fn add(&mut self, window: Window) {
        if self.windows.len() >= WINDOWS_MAX {
            self.windows.pop_front();
        }
        self.windows.push_back(window);
    }

    /// Whether it waits for its data most of the time, as far as one can tell.
    pub fn waits(&self) -> bool {
        let waiting = self.windows.iter().filter(|w| w.waiting).count();
        self.windows.len() >= WINDOWS_MIN && 2 * waiting > self.windows.len()
    }

    /// Its usual rate so far.
    pub fn usual(&self) -> Option<f64> {
        let mut rates: Vec<f64> = self.windows.iter().map(|w| w.rate).collect();
        let half = rates.len() / 2;
        (rates.len() >= WINDOWS_MIN).then(|| *rates.select_nth_unstable_by(half, f64::total_cmp).1)
    }

    /// What it says so far. Where it mostly waits for its data all windows count: that is how it is.
    pub fn says(&self) -> Option<Run> {
        let waiting = self.waits();
        let counted = self.windows.iter().filter(|w| waiting || !w.waiting);
        let rates: Vec<f64> = counted.map(|w| w.rate).collect();
        let windows = rates.len() as u32;
        let RunPlace { kind, workers, nodes, .. } = self.place;
        let squares = squares(&rates);
        let rate = plain_middle(rates);
        let run = Run { kind, workers, nodes, rate, windows, squares, waiting };
        (windows as usize >= WINDOWS_MIN).then_some(run)
    }
}

/// Of what is averaged, this part is left out at either end: what is beyond cannot move it far, while between
/// two modes it still lies where the mean does (a median would jump from one to the other).
const LEFT_OUT: f64 = 0.125;

/// The middle of values with weights: their mean without the lowest and the highest eighth. 0 of nothing.
pub(super) fn middle(values: impl IntoIterator<Item = (f64, f64)>) -> f64 {
    let mut values: Vec<(f64, f64)> = values.into_iter().collect();
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all: f64 = values.iter().map(|v| v.1).sum();
    let (low, high) = (LEFT_OUT * all, (1.0 - LEFT_OUT) * all);
    let (mut below, mut sum) = (0.0, 0.0);
    for (value, weight) in &values {
        let counted = (below + weight).min(high) - f64::max(below, low);
        sum += value * counted.max(0.0);
        below += weight;
    }
    if high > low { sum / (high - low) } else { 0.0 }
}

/// The squares of the differences from the mean.
pub(super) fn squares(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// The same where all count alike.
pub(super) fn plain_middle(values: impl IntoIterator<Item = f64>) -> f64 {
    middle(values.into_iter().map(|value| (value, 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_lies_between_two_modes_and_ignores_a_few_outliers() {
        assert_eq!(plain_middle([]), 0.0);
        assert_eq!(plain_middle([3.0]), 3.0);
        assert_eq!(plain_middle([2.0, 1.0, 2.0, 1.0]), 1.5);
        let values = (0..6).map(|_| 1.0).chain([900.0, -900.0]);
        assert_eq!(plain_middle(values), 1.0);
    }

    #[test]
    fn what_weighs_more_counts_more() {
        assert_eq!(middle([(1.0, 8.0), (5.0, 1.0)]), 1.0);
        assert_eq!(middle([(1.0, 1.0), (2.0, 3.0), (3.0, 1.0)]), 2.0);
        assert_eq!(middle([(0.0, 1.0), (2.0, 1.0)]), 1.0);
    }
}
