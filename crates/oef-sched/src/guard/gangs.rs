//! What alike runs say about gangs on one gpu type.
//!
//! A gang's figure is the part of a single worker's throughput that each of its GPUs keeps there. It is seen where jobs of
//! one kind ran on the same type in two ways, by the rules for runs, windows and tolerance that hold between types:
//!
//! * on one host: gangs against single workers. Each worker of a gang makes a step of its own at a time, as in a profile
//!   run, so that the steps of the gang are those of each worker;
//! * over several hosts: gangs against the same gangs on one host, else against single workers.
//!
//! Steps are the job's own words. So no gang counts more than as many single workers, whatever it says, and where it says
//! much more, a step of the gang is another step than that of a single worker: nothing is seen.

use super::evidence::Evidence;
use super::judge::{ENOUGH_WINDOWS, MORE, OTHERWISE};
use super::link::{Comparison, Groups, compare};
use super::policy::Policy;
use super::run::Run;
use crate::gang::Stands;
use crate::profile::Profile;
use std::collections::BTreeSet;

/// A gang that seems to keep more than this part of a single worker's throughput counts other steps.
const PLAUSIBLE: f64 = 1.25;

/// The figure of a gang as it was seen.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SeenGang {
    /// The gpu type, by its position.
    pub gpu: usize,
    /// Workers of the gang.
    pub workers: u32,
    /// How it stood.
    pub stands: Stands,
    /// The part of a single worker's throughput that each GPU keeps.
    pub kept: f64,
    /// The same by the profile, where it has a figure for this gang.
    pub said: Option<f64>,
    /// Whether it counts from now on, or is only said.
    pub counts: bool,
    /// Windows that it rests on.
    pub windows: u32,
    /// Runs that it rests on.
    pub runs: u32,
    weight: f64,
}

impl SeenGang {
    fn is_of(&self, other: &SeenGang) -> bool {
        (self.gpu, self.workers, self.stands) == (other.gpu, other.workers, other.stands)
    }
}

impl Evidence {
    /// Figures of gangs that are new or differ from those of the profile by more than chance.
    pub(super) fn judge_gangs(&self, profile: &Profile, policy: Policy) -> Vec<SeenGang> {
        if policy == Policy::Off {
            return Vec::new();
        }
        let mut seen = Vec::new();
        for (gpu, runs) in self.runs() {
            let sizes: BTreeSet<u32> = runs.iter().map(|run| run.workers).collect();
            for &workers in sizes.iter().filter(|workers| **workers > 1) {
                let together = together(&runs, workers);
                // What was seen on one host counts for what is seen over several, too.
                let on_one_host = together.as_ref().map(kept);
                seen.extend(together.and_then(|found| {
                    self.news(profile, policy, (gpu, workers, Stands::Together), &found)
                }));
                let on_one_host = on_one_host.or_else(|| {
                    let single = profile.on(gpu);
                    (single > 0.0).then(|| profile.of_gang(gpu, workers, 1) / single)
                });
                seen.extend(spread(&runs, workers, on_one_host).and_then(|found| {
                    self.news(profile, policy, (gpu, workers, Stands::Spread), &found)
                }));
            }
        }
        seen
    }

    /// What was seen of one gang, if it is worth a word.
    fn news(
        &self,
        profile: &Profile,
        policy: Policy,
        (gpu, workers, stands): (usize, u32, Stands),
        found: &Comparison,
    ) -> Option<SeenGang> {
        let single = profile.on(gpu);
        let said = profile.gang_figure(gpu, workers, stands).filter(|_| single > 0.0);
        let said = said.map(|figure| figure / single);
        let kept = kept(found);
        let (windows, runs, weight) = (found.windows, found.runs, found.weight);
        let mut seen =
            SeenGang { gpu, workers, stands, kept, said, counts: true, windows, runs, weight };
        let before = self.gangs.iter().find(|before| before.is_of(&seen));
        let off = said.map(|said| (kept / said).ln().abs());
        let is_news = match (before, off) {
            (_, Some(off)) if off <= OTHERWISE => false,
            (Some(before), Some(off)) => weight >= MORE * before.weight || off > found.tolerance,
            (None, Some(off)) => off > found.tolerance,
            (_, None) => found.windows_weight >= ENOUGH_WINDOWS,
        };
        seen.counts = said.is_none()
            || before.is_some_and(|before| before.counts)
            || policy == Policy::Replace;
        let is_told = before.is_some_and(|b| !b.counts && !seen.counts && weight < MORE * b.weight);
        (is_news && !is_told && kept > 0.0 && kept.is_finite()).then_some(seen)
    }

    /// Figures of gangs were written, or told.
    pub(super) fn settle_gangs(&mut self, seen: &[SeenGang]) {
        for new in seen {
            self.gangs.retain(|before| !before.is_of(new));
            self.gangs.push(*new);
        }
    }
}

/// The part that a gang keeps: never more than all of it.
fn kept(found: &Comparison) -> f64 {
    found.ratio.exp().min(1.0)
}

/// Gangs of a size on one host against single workers.
fn together(runs: &[Run], workers: u32) -> Option<Comparison> {
    let single = |run: &Run| run.workers == 1;
    let gang = |run: &Run| run.workers == workers && run.nodes <= 1;
    plausible(compared(runs, single, gang)?, f64::from(workers).ln())
}

/// Gangs of a size over several hosts against those on one, of which the part is known that they keep; else against
/// single workers.
fn spread(runs: &[Run], workers: u32, on_one_host: Option<f64>) -> Option<Comparison> {
    let gang = |run: &Run| run.workers == workers && run.nodes > 1;
    let same = |run: &Run| run.workers == workers && run.nodes <= 1;
    if let (Some(kept), Some(found)) = (on_one_host, compared(runs, same, gang)) {
        return plausible(found, kept.ln());
    }
    let single = |run: &Run| run.workers == 1;
    plausible(compared(runs, single, gang)?, f64::from(workers).ln())
}

fn plausible(found: Comparison, offset: f64) -> Option<Comparison> {
    let ratio = found.ratio + offset;
    (ratio <= PLAUSIBLE.ln()).then_some(Comparison { ratio, ..found })
}

/// Runs of one kind on two sides.
fn compared(
    runs: &[Run],
    low: impl Fn(&Run) -> bool,
    high: impl Fn(&Run) -> bool,
) -> Option<Comparison> {
    let mut groups = Groups::new();
    for run in runs {
        for (side, is_in) in [low(run), high(run)].into_iter().enumerate() {
            if is_in {
                groups.entry((run.kind, 1, 1)).or_default().on[side].push(run);
            }
        }
    }
    compare(groups)
}
