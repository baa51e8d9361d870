//! From a problem to an outcome: the instance, the solver of the mechanism, the shares.

use super::{Mechanism, Options, Outcome, SolveError, SolverReport, Status};
use crate::OPTIMALITY_TOLERANCE;
use crate::instance::{Division, Instance};
use crate::lp::LpError;
use crate::market::{Allocation, Levelling, MarketState};
use crate::problem::Problem;
use crate::{cooperative, market, nash};

/// Computes the shares of `problem` under `mechanism`.
///
/// The answer is canonical: it does not depend on the order of tenants or types, equal tenants with
/// equal weights get equal throughput, and ties between optima are broken by the max-min of
/// throughput over equal split.
pub fn solve(
    problem: &Problem,
    mechanism: Mechanism,
    options: &Options<'_>,
) -> Result<Outcome, SolveError> {
    let stop = || options.stop.is_some_and(|stop| stop());
    let cap = if mechanism == Mechanism::Gavel { options.gavel_cap } else { None };
    let instance = Instance::new(problem, cap);
    let found = rows(&instance, mechanism, &stop);
    let allocation = found.map_err(|error| explain(mechanism, error))?;
    let division = match mechanism {
        Mechanism::Cooperative => Division::Proportional,
        _ => Division::Sequential,
    };
    Ok(Outcome {
        mechanism,
        shares: instance.to_shares(problem, &allocation.x, division),
        prices: instance.to_prices(problem, &allocation.price),
        trades: Vec::new(),
        solver: SolverReport {
            status: if allocation.gap <= OPTIMALITY_TOLERANCE {
                Status::Optimal
            } else {
                Status::Feasible
            },
            method: "simplex",
            gap: allocation.gap,
            iterations: allocation.pivots,
        },
    })
}

fn rows(
    instance: &Instance,
    mechanism: Mechanism,
    stop: &dyn Fn() -> bool,
) -> Result<Allocation, LpError> {
    let everything = |_: usize, _: usize| true;
    let level = |target: &[f64]| {
        let levelling = Levelling { instance, target, held: &[], allowed: &everything };
        market::lexicographic(&levelling, &mut MarketState::default(), stop)
    };
    match mechanism {
        Mechanism::Noncooperative => level(&instance.weight),
        Mechanism::Gavel => {
            let target: Vec<f64> = (0..instance.rows()).map(|l| instance.equal_split(l)).collect();
            level(&target)
        }
        Mechanism::Efficiency => market::efficiency(instance, stop),
        Mechanism::Incentive => market::incentive(instance, stop),
        Mechanism::Cooperative => cooperative::solve(instance, stop),
        Mechanism::Nash => nash::solve(instance, stop),
        _ => Err(LpError::NotConverged),
    }
}

fn explain(mechanism: Mechanism, error: LpError) -> SolveError {
    match error {
        LpError::Stopped => SolveError::Stopped { mechanism },
        other => SolveError::Numerical { mechanism, detail: other.to_string() },
    }
}
