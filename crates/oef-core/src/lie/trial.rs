//! Trying reports, and keeping the best of each direction.

use super::{Attempt, Direction, Lie, Report};
use crate::ids::{TenantId, TypeId, WorkloadId};
use crate::mechanism::{Outcome, SolveError, Status};
use crate::problem::{Problem, ProblemSpec};
use crate::shares::dot;

/// Reported speedups per workload of the tenant and type.
pub(super) type Profile = Vec<Vec<f64>>;

/// A way to solve a problem.
pub(super) type Solve<'a> = &'a mut dyn FnMut(&Problem) -> Result<Outcome, SolveError>;

/// The state of a search.
pub(super) struct Trials<'a> {
    tenant: TenantId,
    workloads: Vec<WorkloadId>,
    truth: Profile,
    entries: Vec<(usize, usize)>,
    spec: ProblemSpec,
    honest: f64,
    solve: Solve<'a>,
    stop: Option<&'a dyn Fn() -> bool>,
    stopped: bool,
    limit: usize,
    limit_most: usize,
    /// Reports tried so far.
    pub evaluations: usize,
    /// The best of each direction, best first.
    best: [Vec<(f64, Profile)>; 3],
}

impl<'a> Trials<'a> {
    pub fn new(
        problem: &Problem,
        tenant: TenantId,
        honest: f64,
        limit: usize,
        stop: Option<&'a dyn Fn() -> bool>,
        solve: Solve<'a>,
    ) -> Self {
        let workloads: Vec<WorkloadId> = problem.workload_ids_of(tenant).collect();
        let truth: Profile =
            workloads.iter().map(|w| problem.workloads()[w.0].speedup.clone()).collect();
        let free = |(row, gpu): &(usize, usize)| *gpu != anchor(problem.reference(), &truth[*row]);
        let types = problem.types().len();
        let entries = (0..truth.len())
            .flat_map(|row| (0..types).map(move |gpu| (row, gpu)))
            .filter(free)
            .collect();
        Trials {
            tenant,
            workloads,
            truth,
            entries,
            spec: ProblemSpec::from(problem),
            honest,
            solve,
            stop,
            stopped: false,
            limit,
            limit_most: limit,
            evaluations: 0,
            best: [Vec::new(), Vec::new(), Vec::new()],
        }
    }

    /// The true speedups.
    pub fn truth(&self) -> &Profile {
        &self.truth
    }

    /// What can be lied about: all but the type at which each workload is normalised.
    pub fn entries(&self) -> &[(usize, usize)] {
        &self.entries
    }

    /// Lets the search go on until this many evaluations.
    pub fn limit(&mut self, evaluations: usize) {
        self.limit = evaluations.min(self.limit_most);
    }

    /// Whether another report may be tried.
    pub fn within_limit(&self) -> bool {
        !self.stopped && self.evaluations < self.limit
    }

    /// The true throughput with a report; `None` where it is not a lie, not a valid report, or the
    /// limit is reached.
    pub fn try_profile(&mut self, profile: &Profile) -> Option<f64> {
        self.stopped |= self.stop.is_some_and(|stop| stop());
        if !self.within_limit() || *profile == self.truth {
            return None;
        }
        self.evaluations += 1;
        // The whole way of a problem file, so that the rules of normalisation apply to the lie too.
        for (workload, row) in self.spec.tenants[self.tenant.0].workloads.iter_mut().zip(profile) {
            workload.throughput.iter_mut().zip(row).for_each(|((_, thr), w)| *thr = *w);
        }
        let problem = self.spec.validate().ok()?;
        // An answer that a time limit cut short may look better or worse than the mechanism is.
        let outcome = (self.solve)(&problem).ok()?;
        if outcome.solver.status != Status::Optimal {
            return None;
        }
        let true_throughput: f64 = (self.workloads.iter().zip(&self.truth))
            .map(|(&w, truth)| dot(truth, outcome.shares.of_workload(w)))
            .sum();
        if !true_throughput.is_finite() {
            return None;
        }
        let seen: Profile =
            self.workloads.iter().map(|w| problem.workloads()[w.0].speedup.clone()).collect();
        let class = class_of(direction(&self.truth, &seen))?;
        let best = &mut self.best[class];
        let place = best.partition_point(|(throughput, _)| *throughput >= true_throughput);
        if place < STARTS {
            best.insert(place, (true_throughput, seen));
            best.truncate(STARTS);
        }
        Some(true_throughput)
    }

    /// The best reports of a direction so far; the truth where there is none.
    pub fn starts(&self, direction: Direction) -> Vec<(f64, Profile)> {
        let best = class_of(direction).map(|class| self.best[class].clone()).unwrap_or_default();
        if best.is_empty() { vec![(self.honest, self.truth.clone())] } else { best }
    }

    /// What the search found.
    pub fn lie(self, complete: bool) -> Lie {
        let attempt = |class: usize| {
            let (throughput, profile) = self.best[class].first()?;
            Some(Attempt { throughput: *throughput, report: self.report(profile) })
        };
        let [under, over, mixed] = [attempt(0), attempt(1), attempt(2)];
        let mut best = (self.honest, self.report(&self.truth), Direction::None);
        // A simpler lie is preferred to a mixed one that brings no more.
        let found =
            [(&under, Direction::Under), (&over, Direction::Over), (&mixed, Direction::Mixed)];
        for (attempt, direction) in found {
            if let Some(attempt) = attempt
                && attempt.throughput > best.0 + GAIN_MIN * best.0.abs()
            {
                best = (attempt.throughput, attempt.report.clone(), direction);
            }
        }
        Lie {
            tenant: self.tenant,
            honest: self.honest,
            best: best.0,
            report: best.1,
            direction: best.2,
            under,
            over,
            mixed,
            evaluations: self.evaluations,
            complete: complete && !self.stopped,
        }
    }

    fn report(&self, profile: &Profile) -> Vec<Report> {
        let rows = self.workloads.iter().zip(profile);
        rows.map(|(&workload, row)| Report { workload, speedup: row.clone() }).collect()
    }
}

/// A relative gain below this is rounding.
const GAIN_MIN: f64 = 1e-9;
/// What normalising may change in a speedup that is reported as it is.
const SAME: f64 = 1e-12;
/// Reports of each direction from which the pattern search starts.
const STARTS: usize = 3;

/// The type at which a workload's report is normalised: the reference, or its slowest type where it
/// cannot run there.
fn anchor(reference: TypeId, truth: &[f64]) -> usize {
    if truth[reference.0] > 0.0 {
        return reference.0;
    }
    let runnable = (0..truth.len()).filter(|&j| truth[j] > 0.0);
    runnable.min_by(|&a, &b| truth[a].total_cmp(&truth[b])).unwrap_or(reference.0)
}

/// What a report, as normalised, does to the truth.
fn direction(truth: &Profile, seen: &Profile) -> Direction {
    let pairs = || truth.iter().flatten().zip(seen.iter().flatten());
    let below = pairs().any(|(t, s)| *s < t * (1.0 - SAME));
    let above = pairs().any(|(t, s)| *s > t * (1.0 + SAME));
    match (below, above) {
        (false, false) => Direction::None,
        (true, false) => Direction::Under,
        (false, true) => Direction::Over,
        (true, true) => Direction::Mixed,
    }
}

fn class_of(direction: Direction) -> Option<usize> {
    match direction {
        Direction::None => None,
        Direction::Under => Some(0),
        Direction::Over => Some(1),
        Direction::Mixed => Some(2),
    }
}
