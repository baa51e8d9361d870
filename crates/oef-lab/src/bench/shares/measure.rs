//! Measuring one case.

use super::cases::{Case, Work};
use super::instances;
use oef_core::{Mechanism, Options, Outcome, Problem, SolveError, envy_matrix, solve};
use oef_terminal::{Complaint, Failure};
use std::time::{Duration, Instant};

/// The whole envy matrix has a number for every pair; beyond this it would not fit a small machine.
const ENVY_MATRIX_TENANTS_MAX: usize = 2_000;

/// What was measured.
#[derive(Clone, Debug)]
pub struct CaseTimes {
    /// Every time in order, the least first.
    pub seconds: Vec<f64>,
    /// The last answer.
    pub outcome: Outcome,
    /// Its total.
    pub total: f64,
    /// The largest envy of any pair, (other - own) / own, where the case promises none.
    pub worst_envy: Option<f64>,
}

impl CaseTimes {
    /// The median time.
    pub fn median(&self) -> f64 {
        self.seconds.get(self.seconds.len() / 2).copied().unwrap_or(0.0)
    }
}

/// The instance of a case.
pub fn instance(case: &Case, seed: u64) -> Result<Problem, Failure> {
    let mut spec = instances::spec(case.tenants, case.profiles, seed);
    if case.demands {
        instances::limit(&mut spec, seed);
    }
    spec.validate().map_err(|invalid| {
        Complaint::new(format!("the instance of {} is not valid: {invalid}", case.name)).into()
    })
}

/// Solves the instance `repeat` times from scratch.
pub fn from_scratch(case: &Case, problem: &Problem, repeat: u32) -> Result<CaseTimes, SolveError> {
    let limit = match case.work {
        Work::Limited(limit) => Some(limit),
        _ => None,
    };
    let mut seconds = Vec::new();
    let mut timed = || {
        let start = Instant::now();
        let outcome = solve_within(problem, case.mechanism, start, limit);
        seconds.push(start.elapsed().as_secs_f64());
        outcome
    };
    for _ in 1..repeat {
        timed()?;
    }
    let outcome = timed()?;
    seconds.sort_by(f64::total_cmp);
    Ok(judged(problem, seconds, outcome))
}

fn solve_within(
    problem: &Problem,
    mechanism: Mechanism,
    start: Instant,
    limit: Option<Duration>,
) -> Result<Outcome, SolveError> {
    let passed = || limit.is_some_and(|limit| start.elapsed() >= limit);
    let stop: Option<&dyn Fn() -> bool> = if limit.is_some() { Some(&passed) } else { None };
    solve(problem, mechanism, &Options { stop, ..Options::default() })
}

/// The answer with the figures that the table shows about it.
pub fn judged(problem: &Problem, seconds: Vec<f64>, outcome: Outcome) -> CaseTimes {
    let promised = outcome.mechanism == Mechanism::Cooperative;
    let worst_envy = (promised && problem.tenants().len() <= ENVY_MATRIX_TENANTS_MAX).then(|| {
        let matrix = envy_matrix(problem, &outcome.shares);
        let rows = problem.tenant_ids().flat_map(|t| matrix.row(t).iter().copied());
        (rows.fold(1.0, f64::max) - 1.0).max(0.0)
    });
    let total = outcome.shares.total(problem);
    CaseTimes { seconds, outcome, total, worst_envy }
}
