//! The search: scans, imitations, pairs, then a pattern search from the best of each direction.

use super::candidates::{imitations, stretches, values};
use super::trial::{Profile, Trials};
use super::{Direction, Effort, Lie};
use crate::ids::TenantId;
use crate::mechanism::{Mechanism, Options, Outcome, SolveError, solve};
use crate::problem::Problem;

/// Searches for the report that pays `tenant` most; everybody else tells the truth. Once
/// `options.stop` answers true, the best found so far is returned.
pub fn search(
    problem: &Problem,
    mechanism: Mechanism,
    tenant: TenantId,
    options: &Options<'_>,
    effort: Effort,
) -> Result<Lie, SolveError> {
    search_with(problem, tenant, effort, options.stop, &mut |p| solve(p, mechanism, options))
}

/// The same with any way to solve, for instance a warm one.
pub fn search_with(
    problem: &Problem,
    tenant: TenantId,
    effort: Effort,
    stop: Option<&dyn Fn() -> bool>,
    solve: &mut dyn FnMut(&Problem) -> Result<Outcome, SolveError>,
) -> Result<Lie, SolveError> {
    let honest = solve(problem)?.shares.throughput(problem, tenant);
    let mut trials = Trials::new(problem, tenant, honest, effort.evaluations, stop, solve);
    // The scans may take half of the evaluations; each direction gets a third of the rest.
    let half = effort.evaluations / 2;
    trials.limit(half);
    scan(problem, tenant, &mut trials);
    let scanned = trials.within_limit();
    let left = effort.evaluations.saturating_sub(trials.evaluations);
    let mut settled = true;
    for (turn, direction) in DIRECTIONS.into_iter().enumerate() {
        let used = effort.evaluations - left + left * (turn + 1) / DIRECTIONS.len();
        trials.limit(used);
        for start in trials.starts(direction) {
            settled &= refine(&mut trials, start, direction);
        }
    }
    Ok(trials.lie(scanned && settled))
}

const DIRECTIONS: [Direction; 3] = [Direction::Under, Direction::Over, Direction::Mixed];

/// Tries what is likely to matter: each entry on a grid and around the others' ratios, whole rows,
/// the others' profiles, and the best values of two entries together.
fn scan(problem: &Problem, tenant: TenantId, trials: &mut Trials<'_>) {
    let truth = trials.truth().clone();
    for profile in stretches(&truth, trials.entries()) {
        trials.try_profile(&profile);
    }
    for profile in imitations(problem, tenant, &truth) {
        trials.try_profile(&profile);
    }
    let entries = trials.entries().to_vec();
    let mut good: Vec<Vec<f64>> = Vec::new();
    for &(row, gpu) in &entries {
        let mut scores: Vec<(f64, f64)> = Vec::new();
        for value in values(problem, tenant, &truth, (row, gpu)) {
            let mut profile = truth.clone();
            profile[row][gpu] = value;
            if let Some(throughput) = trials.try_profile(&profile) {
                scores.push((throughput, value));
            }
        }
        scores.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.total_cmp(&b.1)));
        good.push(scores.into_iter().take(GOOD_VALUES).map(|(_, value)| value).collect());
    }
    for a in 0..entries.len() {
        for b in 0..a {
            for &x in &good[a] {
                for &y in &good[b] {
                    let mut profile = truth.clone();
                    profile[entries[a].0][entries[a].1] = x;
                    profile[entries[b].0][entries[b].1] = y;
                    trials.try_profile(&profile);
                }
            }
        }
    }
}

/// Values of one entry that are combined with those of another.
const GOOD_VALUES: usize = 3;

/// A pattern search in the logarithms: every entry a step up and down, the step halved when nothing
/// helps; whether it came to its end within the limit.
fn refine(trials: &mut Trials<'_>, start: (f64, Profile), direction: Direction) -> bool {
    let (mut best, mut at) = start;
    let entries = trials.entries().to_vec();
    let mut step = FIRST_STEP;
    while step > LAST_STEP {
        let mut moved = false;
        for &(row, gpu) in &entries {
            for factor in [1.0 + step, 1.0 / (1.0 + step)] {
                if !trials.within_limit() {
                    return false;
                }
                let truth = trials.truth()[row][gpu];
                let mut next = at.clone();
                next[row][gpu] = match direction {
                    Direction::Under => (at[row][gpu] * factor).min(truth),
                    Direction::Over => (at[row][gpu] * factor).max(truth),
                    _ => at[row][gpu] * factor,
                };
                if next[row][gpu] == at[row][gpu] {
                    continue;
                }
                if let Some(throughput) = trials.try_profile(&next)
                    && throughput > best
                {
                    (best, at, moved) = (throughput, next, true);
                    break;
                }
            }
        }
        if !moved {
            step /= 4.0;
        }
    }
    true
}

/// The first step of the pattern search: half as much again.
const FIRST_STEP: f64 = 0.5;
/// Below this a step changes no figure that is shown.
const LAST_STEP: f64 = 1e-7;
