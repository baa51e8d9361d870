//! From a problem to an outcome: the instance, the solver of the mechanism, the shares.

use super::{
    Mechanism, Options, Outcome, SolveError, SolverReport, Status, Trade, gandiva_fair, max_min,
};
use crate::OPTIMALITY_TOLERANCE;
use crate::ids::{TypeId, WorkloadId};
use crate::instance::{Division, Instance, LastOrder};
use crate::lp::LpError;
use crate::market::{Allocation, Levelling, MarketState};
use crate::problem::{MAX_COOPERATIVE_PROFILES, Problem};
use crate::shares::Shares;
use crate::{cooperative, limited, market, nash};

/// The method of `cooperative` where it starts from its last answer.
const GOING_ON: &str = "parametric simplex from the last vertex, proven group by group";

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
    solve_again(problem, mechanism, options, &mut Memory::default())
}

/// What a solve leaves for the next one of a similar problem.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    market: MarketState,
    cooperative: cooperative::State,
    order: LastOrder,
}

impl Memory {
    /// These workloads have left the problem.
    pub fn remove(&mut self, gone: &std::ops::Range<usize>) {
        self.order.remove(gone);
    }
}

/// Like [`solve`], starting from what an earlier solve left.
pub(crate) fn solve_again(
    problem: &Problem,
    mechanism: Mechanism,
    options: &Options<'_>,
    memory: &mut Memory,
) -> Result<Outcome, SolveError> {
    let stop = || options.stop.is_some_and(|stop| stop());
    match mechanism {
        Mechanism::MaxMin => {
            return Ok(closed_form(problem, mechanism, max_min::shares(problem), Vec::new()));
        }
        Mechanism::GandivaFair => {
            let (shares, trades) = gandiva_fair::trade(problem);
            return Ok(closed_form(problem, mechanism, shares, trades));
        }
        _ => {}
    }
    let cap = if mechanism == Mechanism::Gavel { options.gavel_cap } else { None };
    let instance = Instance::new(problem, cap, &mut memory.order);
    check_size(&instance, mechanism)?;
    let found = if instance.rows() == 0 {
        Ok(nothing(&instance))
    } else if instance.caps.is_empty() {
        unlimited(&instance, mechanism, memory, &stop)
    } else {
        capped(problem, &instance, mechanism, &stop)
    };
    let allocation = found.map_err(|error| explain(mechanism, error))?;
    let division = match mechanism {
        Mechanism::Cooperative => Division::Proportional,
        _ => Division::Sequential,
    };
    let went_on = mechanism == Mechanism::Cooperative
        && instance.caps.is_empty()
        && memory.cooperative.went_on();
    let optimal = allocation.gap <= OPTIMALITY_TOLERANCE;
    Ok(Outcome {
        mechanism,
        shares: instance.to_shares(problem, &allocation.x, division),
        prices: instance.to_prices(problem, &allocation.price),
        trades: Vec::new(),
        solver: SolverReport {
            status: if optimal { Status::Optimal } else { Status::Feasible },
            method: if went_on { GOING_ON } else { method(mechanism) }.into(),
            gap: allocation.gap,
            iterations: allocation.pivots,
        },
    })
}

/// Nobody can use anything.
fn nothing(instance: &Instance) -> Allocation {
    Allocation { x: Vec::new(), price: vec![0.0; instance.width()], gap: 0.0, pivots: 0 }
}

fn closed_form(
    problem: &Problem,
    mechanism: Mechanism,
    shares: Shares,
    trades: Vec<Trade>,
) -> Outcome {
    let prices =
        if mechanism == Mechanism::MaxMin { average_use(problem, &shares) } else { Vec::new() };
    let iterations = trades.len();
    let method = method(mechanism).into();
    let solver = SolverReport { status: Status::Optimal, method, gap: 0.0, iterations };
    Outcome { mechanism, shares, prices, trades, solver }
}

/// What a GPU of each type adds where it is: one more is divided as the others are.
fn average_use(problem: &Problem, shares: &Shares) -> Vec<f64> {
    let types = (0..problem.types().len()).map(TypeId);
    let value = types.map(|j| {
        let used = shares.used(j);
        let rows = problem.workloads().iter().enumerate();
        let worth: f64 = rows.map(|(l, w)| w.speedup[j.0] * shares.get(WorkloadId(l), j)).sum();
        if used > 0.0 { worth / used } else { 0.0 }
    });
    value.collect()
}

fn method(mechanism: Mechanism) -> &'static str {
    match mechanism {
        Mechanism::Noncooperative | Mechanism::Gavel => "column generation, lexicographic levels",
        Mechanism::Incentive | Mechanism::Efficiency => {
            "column generation, levels on the optimal face"
        }
        Mechanism::Cooperative => "interior point, then simplex with envy rows on demand",
        Mechanism::Nash => "central path of the market, then exact on its support",
        Mechanism::MaxMin => "division by weight",
        Mechanism::GandivaFair => "trading",
    }
}

fn check_size(instance: &Instance, mechanism: Mechanism) -> Result<(), SolveError> {
    let (found, limit) = (instance.rows(), MAX_COOPERATIVE_PROFILES);
    if mechanism == Mechanism::Cooperative && found > limit {
        return Err(SolveError::TooLarge { mechanism, limit, found });
    }
    Ok(())
}

fn unlimited(
    instance: &Instance,
    mechanism: Mechanism,
    memory: &mut Memory,
    stop: &dyn Fn() -> bool,
) -> Result<Allocation, LpError> {
    let mut level = |target: &[f64]| {
        let levelling = Levelling { instance, target, held: &[], allowed: None };
        market::lexicographic(&levelling, &mut memory.market, stop)
    };
    match mechanism {
        Mechanism::Noncooperative => level(&instance.weight),
        Mechanism::Efficiency => market::efficiency(instance, stop),
        Mechanism::Incentive => market::incentive(instance, stop),
        Mechanism::Cooperative => cooperative::solve(instance, &mut memory.cooperative, stop),
        Mechanism::Nash => nash::solve(instance, stop),
        _ => level(&instance.equal_splits()),
    }
}

fn capped(
    problem: &Problem,
    instance: &Instance,
    mechanism: Mechanism,
    stop: &dyn Fn() -> bool,
) -> Result<Allocation, LpError> {
    match mechanism {
        Mechanism::Noncooperative => limited::lexicographic(instance, &instance.weight, stop),
        Mechanism::Efficiency => limited::total(instance, false, stop),
        Mechanism::Incentive => limited::total(instance, true, stop),
        Mechanism::Cooperative => {
            let division = instance.collect(&max_min::shares(problem));
            cooperative::solve_limited(instance, &division, stop)
        }
        Mechanism::Nash => nash::solve(instance, stop),
        _ => limited::lexicographic(instance, &instance.equal_splits(), stop),
    }
}

fn explain(mechanism: Mechanism, error: LpError) -> SolveError {
    match error {
        LpError::Stopped => SolveError::Stopped { mechanism },
        other => SolveError::Numerical { mechanism, detail: other.to_string() },
    }
}
