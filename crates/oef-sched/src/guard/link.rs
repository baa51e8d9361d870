//! What alike runs say about the ratio of two gpu types.

use super::evidence::Evidence;
use super::run::{Run, middle, plain_middle, squares};
use super::tolerance::{Basis, tolerance};
use crate::profile::Profile;
use std::collections::BTreeMap;

/// The ratio of two gpu types, as it was seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Link {
    pub low: usize,
    pub high: usize,
    /// The logarithm of the rate on `high` over that on `low`.
    pub ratio: f64,
    /// The weight of the runs.
    pub weight: f64,
    /// The weight of the windows.
    pub windows_weight: f64,
    pub tolerance: f64,
    /// Runs and windows that it rests on.
    pub runs: u32,
    pub windows: u32,
    /// Most of the runs waited for their data.
    pub waiting: bool,
}

/// Alike runs on two sides: on two types, or of two gangs.
#[derive(Default)]
pub(super) struct AlikeRuns<'a> {
    pub on: [Vec<&'a Run>; 2],
    /// The logarithm of what gangs of it gain more than single workers between the two types.
    gang: f64,
}

/// What groups of alike runs say together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Comparison {
    /// The logarithm of the rate on the second side over that on the first.
    pub ratio: f64,
    pub weight: f64,
    pub windows_weight: f64,
    pub tolerance: f64,
    pub runs: u32,
    pub windows: u32,
    pub waiting: bool,
}

/// The logarithm of how much more a gang gains from one type to another than a single worker does, by the profile.
fn gang_ratio(profile: &Profile, (low, high): (usize, usize), workers: u32, nodes: u32) -> f64 {
    let gained = profile.of_gang(high, workers, nodes) / profile.of_gang(low, workers, nodes);
    let more = (gained / (profile.on(high) / profile.on(low))).ln();
    if more.is_finite() { more } else { 0.0 }
}

/// All pairs of types of which alike runs were seen, as ratios of single workers: what a gang is slower by on each type,
/// as the profile has it, is taken out.
pub(super) fn links(evidence: &Evidence, profile: &Profile) -> Vec<Link> {
    let runs = evidence.runs();
    let types: Vec<usize> = runs.keys().copied().collect();
    let mut links = Vec::new();
    for (i, &low) in types.iter().enumerate() {
        for &high in &types[i + 1..] {
            links.extend(link((low, high), &runs[&low], &runs[&high], profile));
        }
    }
    links
}

fn link(
    (low, high): (usize, usize),
    on_low: &[Run],
    on_high: &[Run],
    profile: &Profile,
) -> Option<Link> {
    let mut groups = Groups::new();
    for (side, runs) in [on_low, on_high].into_iter().enumerate() {
        for run in runs {
            let key = (run.kind, run.workers, run.nodes);
            groups.entry(key).or_default().on[side].push(run);
        }
    }
    for (&(_, workers, nodes), group) in &mut groups {
        group.gang = gang_ratio(profile, (low, high), workers, nodes);
    }
    let Comparison { ratio, weight, windows_weight, tolerance, runs, windows, waiting } =
        compare(groups)?;
    Some(Link { low, high, ratio, weight, windows_weight, tolerance, runs, windows, waiting })
}

/// What groups say that have runs on both sides; `None`: there is none. Groups whose key has several workers are of gangs
/// that stand for single workers.
pub(super) fn compare(mut groups: Groups<'_>) -> Option<Comparison> {
    groups.retain(|_, group| group.on.iter().all(|runs| !runs.is_empty()));
    if groups.is_empty() {
        return None;
    }
    let ratio = middle(groups.values().map(|g| (g.ratio(), g.weight(|_| 1.0))));
    let (by_run, by_window) = (by_run(&groups, ratio), by_window(&groups));
    let in_gangs = groups.iter().filter(|(key, _)| key.1 > 1);
    let gangs = in_gangs.map(|(_, g)| g.weight(|_| 1.0)).sum::<f64>() / by_run.weight;
    let all = || groups.values().flat_map(|g| g.on.iter().flatten());
    let runs = all().count() as u32;
    Some(Comparison {
        ratio,
        weight: by_run.weight,
        windows_weight: by_window.weight,
        tolerance: tolerance(&by_run, &by_window, gangs),
        runs,
        windows: all().map(|run| run.windows).sum(),
        waiting: 2 * all().filter(|run| run.waiting).count() > runs as usize,
    })
}

/// Groups by kind, workers and nodes.
pub(super) type Groups<'a> = BTreeMap<(u64, u32, u32), AlikeRuns<'a>>;

/// Runs differ from alike runs on the same type, and groups from what all groups say.
fn by_run(groups: &Groups<'_>, ratio: f64) -> Basis {
    let mut basis = Basis { differences: groups.len() as u32 - 1, ..Basis::default() };
    for group in groups.values() {
        let weight = group.weight(|_| 1.0);
        basis.weight += weight;
        basis.squares += weight * (group.ratio() - ratio).powi(2);
        for runs in &group.on {
            let rates: Vec<f64> = runs.iter().map(|run| run.rate).collect();
            basis.squares += squares(&rates);
            basis.differences += rates.len() as u32 - 1;
        }
    }
    basis
}

/// Windows differ from those of the same run.
fn by_window(groups: &Groups<'_>) -> Basis {
    let mut basis = Basis::default();
    for group in groups.values() {
        basis.weight += group.weight(|run| f64::from(run.windows));
        for run in group.on.iter().flatten() {
            basis.squares += run.squares;
            basis.differences += run.windows.saturating_sub(1);
        }
    }
    basis
}

impl AlikeRuns<'_> {
    fn ratio(&self) -> f64 {
        let [low, high] =
            [0, 1].map(|side: usize| plain_middle(self.on[side].iter().map(|run| run.rate)));
        high - low - self.gang
    }

    /// `1 / (1/n + 1/m)` of what is counted on the two sides.
    fn weight(&self, count: impl Fn(&Run) -> f64) -> f64 {
        let [n, m] = [0, 1].map(|side: usize| self.on[side].iter().map(|r| count(r)).sum::<f64>());
        n * m / (n + m)
    }
}
