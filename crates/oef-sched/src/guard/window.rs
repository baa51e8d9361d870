//! From a job's words to windows.

use super::run::OpenRun;
use crate::ids::{Generation, JobId, WorkloadKey};
use crate::time::{Span, Time};

/// A shorter window is mostly the time until somebody looked.
const LENGTH_MIN: Span = Span(2_000);
/// After so many windows in a row that were left out because of a checkpoint they count: a job that always saves
/// is as fast as it is.
const SAVED_MAX: u32 = 4;
/// Two clocks may differ over a window by this much, and this part of it: words wait for their turn. More is
/// a jump of one of them.
const CLOCKS_APART: Span = Span(10_000);
const CLOCKS_APART_PART: f64 = 0.5;
/// Above this part of the time spent waiting for data a window says little about a GPU.
const WAITING: f64 = 0.5;

/// Where a run stands, and what its steps mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RunPlace {
    /// The type of all its GPUs, by its position in the cluster.
    pub gpu_type: usize,
    /// Its gang.
    pub workers: u32,
    /// On how many nodes.
    pub nodes: u32,
    /// The first of them.
    pub node: usize,
    /// Steps of runs of one workload and kind are alike: the same program with the same arguments.
    pub kind: u64,
}

/// A job's word on how far it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Word {
    /// The job.
    pub job: JobId,
    /// Of its lease.
    pub generation: Generation,
    /// Its workload.
    pub workload: WorkloadKey,
    /// Where it runs.
    pub place: RunPlace,
    /// Steps since its first start.
    pub steps: f64,
    /// The step of its last checkpoint.
    pub checkpoint: Option<f64>,
    /// The part of the recent time that it waited for its data.
    pub wait: Option<f64>,
    /// When, in milliseconds by the clock of its machine.
    pub clock_ms: Option<u64>,
}

/// The instant of a word.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Mark {
    at: Time,
    clock_ms: Option<u64>,
    steps: f64,
    checkpoint: Option<f64>,
}

impl Mark {
    pub fn of(at: Time, word: &Word) -> Self {
        let Word { clock_ms, steps, checkpoint, .. } = *word;
        Mark { at, clock_ms, steps, checkpoint }
    }

    /// The time since an earlier mark; `None`: a clock jumped.
    fn since(&self, earlier: &Mark) -> Option<Span> {
        let here = self.at.since(earlier.at);
        let (Some(now), Some(then)) = (self.clock_ms, earlier.clock_ms) else { return Some(here) };
        let there = Span(now.checked_sub(then)?);
        let apart = here.0.abs_diff(there.0);
        let allowed = CLOCKS_APART.0 as f64 + CLOCKS_APART_PART * here.0 as f64;
        (apart as f64 <= allowed).then_some(there)
    }
}

impl super::run::Window {
    /// The window that a word closes, if it does. The run's mark moves on.
    pub(super) fn closed(run: &mut OpenRun, at: Time, word: &Word) -> Option<Self> {
        let (before, here) = (run.mark, Mark::of(at, word));
        let Some(length) = here.since(&before).filter(|_| here.steps >= before.steps) else {
            run.mark = here;
            return None;
        };
        if length < LENGTH_MIN || here.steps == before.steps {
            return None;
        }
        run.mark = here;
        let first = !std::mem::replace(&mut run.warm, true);
        let saved = here.checkpoint != before.checkpoint;
        run.saved = if saved { (run.saved + 1).min(SAVED_MAX) } else { 0 };
        if first || (saved && run.saved < SAVED_MAX) {
            return None;
        }
        let workers = f64::from(word.place.workers.max(1));
        let rate = ((here.steps - before.steps) / length.seconds() / workers).ln();
        let waiting = word.wait.is_some_and(|part| part > WAITING);
        rate.is_finite().then_some(super::run::Window { rate, waiting })
    }
}
