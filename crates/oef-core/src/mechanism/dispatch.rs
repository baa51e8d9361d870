//! From a problem to an outcome: the instance, the solver of the mechanism, the shares.

use super::{
    Mechanism, Options, Outcome, SolveError, SolverReport, Status, Trade, gandiva_fair, max_min,
};
use crate::OPTIMALITY_TOLERANCE;
use crate::allocation::Allocation;
use crate::guarantee::solve_beyond;
use crate::instance::{Alike, Division, Instance, LastOrder};
use crate::lp::LpError;
use crate::market::{Levelling, MarketState};
use crate::problem::{MAX_COOPERATIVE_PROFILES, Problem};
use crate::shares::dot;
use crate::{cooperative, limited, market, nash};

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
    if !problem.has_guarantees_or_limits() {
        return solve_whole(problem, mechanism, options, memory);
    }
    solve_beyond(problem, mechanism, options, &mut |left, options| {
        solve_whole(left, mechanism, options, memory)
    })
}

/// The shares of a problem without guarantees and limits.
fn solve_whole(
    problem: &Problem,
    mechanism: Mechanism,
    options: &Options<'_>,
    memory: &mut Memory,
) -> Result<Outcome, SolveError> {
    let stop = || options.stop.is_some_and(|stop| stop());
    let cap = if mechanism == Mechanism::Gavel { options.gavel_cap } else { None };
    let alike = match mechanism {
        Mechanism::Cooperative => Alike::InProportion,
        _ => Alike::Equal,
    };
    let instance = Instance::new(problem, cap, alike, &mut memory.order);
    check_size(&instance, mechanism)?;
    let mut trades = Vec::new();
    let found = match instance.rows() {
        0 => Ok(Allocation::closed_form(Vec::new(), Vec::new(), "nobody can use anything")),
        _ => allocate(&instance, mechanism, memory, &mut trades, &stop),
    };
    let allocation = found.or_else(|error| match error {
        LpError::Stopped => Ok(unfinished(&instance, mechanism)),
        // The market has no method that always ends at an equilibrium.
        LpError::NotConverged if mechanism == Mechanism::Nash => {
            Ok(unfinished(&instance, mechanism))
        }
        other => Err(SolveError::Numerical { mechanism, detail: other.to_string() }),
    })?;
    let division = match mechanism {
        Mechanism::Cooperative | Mechanism::MaxMin | Mechanism::GandivaFair => {
            Division::Proportional
        }
        _ => Division::Sequential,
    };
    let optimal = allocation.gap <= OPTIMALITY_TOLERANCE;
    let prices = match mechanism {
        Mechanism::GandivaFair => Vec::new(),
        _ => instance.to_prices(problem, &allocation.price),
    };
    Ok(Outcome {
        mechanism,
        shares: instance.to_shares(problem, &allocation.x, division),
        first: None,
        prices,
        trades,
        solver: SolverReport {
            status: if optimal { Status::Optimal } else { Status::Feasible },
            method: allocation.method.into(),
            gap: allocation.gap,
            canonical: allocation.canonical,
            iterations: allocation.pivots,
        },
    })
}

/// The solver of a mechanism.
fn allocate(
    instance: &Instance,
    mechanism: Mechanism,
    memory: &mut Memory,
    trades: &mut Vec<Trade>,
    stop: &dyn Fn() -> bool,
) -> Result<Allocation, LpError> {
    if let Some(x) = satisfied(instance) {
        let price = if mechanism == Mechanism::GandivaFair {
            Vec::new()
        } else {
            vec![0.0; instance.width()]
        };
        return Ok(Allocation::closed_form(x, price, "everybody has all that it can use"));
    }
    let mut level = |target: &[f64]| {
        let levelling = Levelling { instance, target, held: &[], allowed: None };
        let mut free = || market::lexicographic(&levelling, &mut memory.market, stop);
        if !instance.has_demands() {
            return free();
        }
        // Demands that do not bind in the answer without them do not bind. It leaves nothing idle, so they do if all of
        // them together are less than there is; and it gives everybody the level of the least equal split at least.
        let level = (0..instance.rows()).map(|l| instance.equal_split(l) / target[l]);
        let level = level.fold(f64::INFINITY, f64::min) * (1.0 - OPTIMALITY_TOLERANCE);
        let enough = |l: usize| most(instance, l) >= level * target[l];
        if instance.demand.iter().sum::<f64>() >= instance.capacity.iter().sum()
            && (0..instance.rows()).all(enough)
        {
            let free = free()?;
            if instance.is_within_demands(&free.x) {
                return Ok(free);
            }
        }
        let mut found = limited::lexicographic(instance, target, stop)?;
        hand_out_idle(instance, &mut found.x);
        Ok(found)
    };
    // Stopped on its way, a walk may be farther from the greatest total than the plain division.
    let total = |floors: bool| {
        let found = limited::total(instance, floors, stop)?;
        let is_open = found.gap > OPTIMALITY_TOLERANCE;
        let plain = is_open.then(|| unfinished(instance, mechanism));
        Ok(plain.filter(|plain| plain.gap < found.gap).unwrap_or(found))
    };
    match mechanism {
        Mechanism::MaxMin => {
            let x = max_min::divide(instance);
            let price = average_use(instance, &x);
            Ok(Allocation::closed_form(x, price, "division by weight"))
        }
        Mechanism::GandivaFair => {
            let (x, done) = gandiva_fair::trade(instance);
            *trades = done;
            let pivots = trades.len();
            Ok(Allocation { pivots, ..Allocation::closed_form(x, Vec::new(), "trading") })
        }
        Mechanism::Noncooperative => level(&instance.weight),
        Mechanism::Gavel => level(&instance.equal_splits()),
        Mechanism::Efficiency if !instance.has_demands() => market::efficiency(instance, stop),
        Mechanism::Efficiency => total(false),
        Mechanism::Incentive if !instance.has_demands() => market::incentive(instance, stop),
        Mechanism::Incentive => total(true),
        Mechanism::Cooperative => {
            let limited = instance.has_demands();
            let division = if limited { max_min::divide(instance) } else { Vec::new() };
            Ok(cooperative::solve(instance, &division, &mut memory.cooperative, stop))
        }
        Mechanism::Nash => nash::solve(instance, stop),
    }
}

/// A type with at most this part of the speed of another is clearly slower.
const CLEARLY_SLOWER: f64 = 0.999;

/// Where the plain division already gives everybody as many of its fastest GPUs as it can use, nobody could do better
/// under any mechanism, and nothing has a price.
fn satisfied(instance: &Instance) -> Option<Vec<f64>> {
    if instance.demand.contains(&f64::INFINITY) {
        return None;
    }
    let k = instance.width();
    // Who has nearly all that it can use of its fastest type has it there, if no other is nearly as fast.
    let mut least = vec![0.0; k];
    for l in 0..instance.rows() {
        let fastest = instance.profile(l).iter().copied().fold(0.0, f64::max);
        let mut fast = (0..k).filter(|&j| instance.profile(l)[j] > fastest * CLEARLY_SLOWER);
        if let (Some(j), None) = (fast.next(), fast.next()) {
            least[j] += instance.demand[l] * CLEARLY_SLOWER;
        }
    }
    if least.iter().zip(&instance.capacity).any(|(least, capacity)| least > capacity) {
        return None;
    }
    let x = max_min::divide(instance);
    let has_all = |l: usize| {
        let throughput = dot(instance.profile(l), &x[l * k..][..k]);
        throughput >= most(instance, l) * (1.0 - OPTIMALITY_TOLERANCE / 100.0)
    };
    (0..instance.rows()).all(has_all).then_some(x)
}

/// The throughput of a row that has all that it can use of its fastest type.
fn most(instance: &Instance, l: usize) -> f64 {
    instance.profile(l).iter().copied().fold(0.0, f64::max) * instance.demand[l]
}

/// Over a range of many orders of magnitude a level that is right beside the largest throughputs may leave idle what is
/// worth something to a small one. It goes to those who can use it, by weight.
fn hand_out_idle(instance: &Instance, x: &mut [f64]) {
    let (n, k) = (instance.rows(), instance.width());
    for j in 0..k {
        let mut idle = instance.capacity[j] - x.iter().skip(j).step_by(k).sum::<f64>();
        // Each time somebody has all that it can use, or nothing is left.
        for _ in 0..n {
            if idle <= instance.capacity[j] * OPTIMALITY_TOLERANCE {
                break;
            }
            let room =
                |x: &[f64], l: usize| instance.demand[l] - x[l * k..][..k].iter().sum::<f64>();
            let wants = |x: &[f64], l: usize| {
                let is_hungry = room(x, l) > instance.demand[l].min(idle) * OPTIMALITY_TOLERANCE;
                instance.profile(l)[j] > 0.0 && is_hungry
            };
            let hungry: Vec<usize> = (0..n).filter(|&l| wants(x, l)).collect();
            let weight: f64 = hungry.iter().map(|&l| instance.weight[l]).sum();
            if hungry.is_empty() {
                break;
            }
            let before = idle;
            for l in hungry {
                let more = (before * instance.weight[l] / weight).min(room(x, l));
                x[l * k + j] += more;
                idle -= more;
            }
        }
    }
}

/// What a GPU of each type adds where it is: one more is divided as the others are.
fn average_use(instance: &Instance, x: &[f64]) -> Vec<f64> {
    let k = instance.width();
    let value = (0..k).map(|j| {
        let column = || x.iter().zip(&instance.speedup).skip(j).step_by(k);
        let used: f64 = column().map(|(x, _)| x).sum();
        let idle = used < instance.capacity[j] * (1.0 - 1e-9);
        if idle { 0.0 } else { column().map(|(x, w)| x * w).sum::<f64>() / used }
    });
    value.collect()
}

fn check_size(instance: &Instance, mechanism: Mechanism) -> Result<(), SolveError> {
    let (found, limit) = (instance.rows(), MAX_COOPERATIVE_PROFILES);
    if mechanism == Mechanism::Cooperative && found > limit {
        return Err(SolveError::TooLarge { mechanism, limit, found });
    }
    Ok(())
}

/// Where a solve ended without an answer: the plain division, which is within all capacities and
/// demands, with what it may be below the optimum.
fn unfinished(instance: &Instance, mechanism: Mechanism) -> Allocation {
    let (n, k) = (instance.rows(), instance.width());
    let x = max_min::divide(instance);
    let price = average_use(instance, &x);
    let throughput = |l: usize| dot(instance.profile(l), &x[l * k..][..k]);
    // Nobody does better than with the whole cluster for itself, and no type than with its fastest user.
    let level = |target: &[f64]| {
        let least = |of: &dyn Fn(usize) -> f64| (0..n).map(of).fold(f64::INFINITY, f64::min);
        let whole = |l: usize| dot(instance.profile(l), &instance.capacity);
        1.0 - least(&|l| throughput(l) / target[l]) / least(&|l| whole(l) / target[l])
    };
    let gap = match mechanism {
        Mechanism::Noncooperative => level(&instance.weight),
        Mechanism::Gavel => level(&instance.equal_splits()),
        Mechanism::Nash => 1.0,
        _ => {
            let fastest = |j: usize| (0..n).map(|l| instance.profile(l)[j]).fold(0.0, f64::max);
            let bound: f64 = (0..k).map(|j| fastest(j) * instance.capacity[j]).sum();
            1.0 - (0..n).map(throughput).sum::<f64>() / bound
        }
    };
    let method = "division by weight, since the mechanism's own answer was not found";
    Allocation { gap, canonical: false, ..Allocation::closed_form(x, price, method) }
}
