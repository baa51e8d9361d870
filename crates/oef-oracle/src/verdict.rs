//! Whether shares are the answer of their mechanism, by an oracle.

use crate::check;
use crate::divide;
use crate::exact;
use crate::instance::{Instance, Matrix, fraction};
use crate::market;
use crate::plain;
use crate::program::Q;
use crate::trade;
use num_traits::{ToPrimitive, Zero};
use oef_core::{Mechanism, Options, Problem, Shares, TypeId, WorkloadId, solve};

/// What an oracle says.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The shares are the answer.
    Right,
    /// The throughputs differ from the answer's, and are as good: within 1e-9, the program's own
    /// tolerance, nothing that the mechanism asks for is worse. (In a huge range the answer may hang
    /// on what is worth less than that.)
    AsGood,
    /// The oracle could not find the answer itself.
    NoOpinion,
    /// The shares are not the answer, and why.
    Wrong(String),
}

/// Throughputs and totals are right to this, relative to the tenant's own.
pub const TOLERANCE: f64 = 1e-6;

/// What the sum of logarithms may lack. The throughputs are within the square root of it; the other
/// solver, which measures it, reaches no less.
const NASH_GAP: f64 = 1e-9;
/// The same for small ones, where the bound is exact: a little more than the 1e-12 that a vertex may leave.
const EXACT_NASH_GAP: f64 = 1e-11;
/// Rows times types up to which a program is solved exactly.
const SMALL: usize = 24;

/// What differs by less counts as equal in the mechanism's own order.
const EQUAL: f64 = oef_core::OPTIMALITY_TOLERANCE;

/// Capacity and demand may be exceeded by no more than this: rounding, not GPUs.
const FEASIBLE: f64 = 1e-9;

/// The verdict in fractions on a small problem: every workload's throughput.
pub fn exactly(
    problem: &Problem,
    mechanism: Mechanism,
    gavel_cap: Option<f64>,
    shares: &Shares,
) -> Verdict {
    if let Some(fault) = infeasible(problem, shares) {
        return Verdict::Wrong(fault);
    }
    let instance = Instance::from(problem);
    let cap = gavel_cap.map(fraction);
    let answer = |shares: Matrix| Some(instance.throughputs(&shares));
    let right = match mechanism {
        Mechanism::Noncooperative => answer(exact::noncooperative(&instance)),
        Mechanism::Incentive => answer(exact::incentive(&instance)),
        Mechanism::Efficiency => answer(exact::efficiency(&instance)),
        Mechanism::Gavel => answer(exact::gavel(&instance, cap.as_ref())),
        Mechanism::Cooperative if !instance.has_demand() => answer(exact::cooperative(&instance)),
        Mechanism::Nash if !instance.has_demand() => match nash(problem, &instance, shares) {
            None => return nash_by_gap(problem, &instance, shares),
            right => right,
        },
        Mechanism::GandivaFair if !instance.has_demand() => trade::gandiva_fair(&instance),
        Mechanism::MaxMin if !instance.has_demand() => answer(divide::max_min(&instance)),
        Mechanism::MaxMin => {
            let fault = divide::fault_with_demand(problem, shares);
            return fault.map_or(Verdict::Right, Verdict::Wrong);
        }
        Mechanism::Nash => return nash_by_gap(problem, &instance, shares),
        Mechanism::Cooperative => return cooperative_with_demand(problem, &instance, shares),
        Mechanism::GandivaFair => None,
    };
    let Some(right) = right else {
        return Verdict::NoOpinion;
    };
    let (found, right) = (check::throughputs(problem, shares), divide::to_numbers(&right));
    match compare(problem, &found, &right) {
        Verdict::Wrong(_) if as_good(problem, &instance, mechanism, &found, &right) => {
            Verdict::AsGood
        }
        verdict => verdict,
    }
}

/// The verdict of another solver on a middle problem: the total, the least ratio, or (`nash`) every
/// workload's throughput.
pub fn plainly(
    problem: &Problem,
    mechanism: Mechanism,
    gavel_cap: Option<f64>,
    shares: &Shares,
) -> Verdict {
    if let Some(fault) = infeasible(problem, shares) {
        return Verdict::Wrong(fault);
    }
    let total = shares.total(problem);
    let (what, found, right) = match mechanism {
        // With demands the envy that counts is no longer linear.
        Mechanism::Cooperative if has_demand(problem) => return Verdict::NoOpinion,
        Mechanism::Cooperative => ("total", total, plain::cooperative_total(problem)),
        Mechanism::Incentive => ("total", total, plain::incentive_total(problem)),
        Mechanism::Efficiency => ("total", total, plain::efficiency_total(problem)),
        Mechanism::Noncooperative => {
            let least = least_ratio(problem, shares, |_, w| w.weight);
            ("least throughput per weight", least, plain::noncooperative_level(problem))
        }
        Mechanism::Gavel => {
            let instance = Instance::from(problem);
            let least =
                least_ratio(problem, shares, |l, _| instance.equal_split(l).to_f64().unwrap());
            ("least ratio to the equal split", least, plain::gavel_level(problem, gavel_cap))
        }
        Mechanism::Nash => return exactly(problem, mechanism, gavel_cap, shares),
        Mechanism::MaxMin | Mechanism::GandivaFair => return Verdict::NoOpinion,
    };
    match right {
        None => Verdict::NoOpinion,
        Some(right) if (found - right).abs() <= TOLERANCE * right.abs() => Verdict::Right,
        Some(right) => Verdict::Wrong(format!("{what} is {found}, and should be {right}")),
    }
}

/// Whether what is found is as good in everything that the mechanism asks for, in its order.
fn as_good(
    problem: &Problem,
    instance: &Instance,
    mechanism: Mechanism,
    found: &[f64],
    right: &[f64],
) -> bool {
    let rows = 0..instance.rows();
    let splits =
        || divide::to_numbers(&rows.clone().map(|l| instance.equal_split(l)).collect::<Vec<_>>());
    let scales = match mechanism {
        Mechanism::Noncooperative => problem.workloads().iter().map(|w| w.weight).collect(),
        Mechanism::Gavel | Mechanism::Efficiency | Mechanism::Incentive => splits(),
        _ => return false,
    };
    let sorted = |values: &[f64]| {
        let ratios = values.iter().zip(&scales).filter(|(_, s)| **s > 0.0).map(|(u, s)| u / s);
        let mut ratios: Vec<f64> = ratios.collect();
        ratios.sort_by(f64::total_cmp);
        ratios
    };
    let no_less = |(found, right): (&f64, &f64)| *found >= right * (1.0 - EQUAL);
    let most_first = matches!(mechanism, Mechanism::Efficiency | Mechanism::Incentive);
    let total = (&found.iter().sum(), &right.iter().sum());
    (!most_first || no_less(total)) && sorted(found).iter().zip(&sorted(right)).all(no_less)
}

/// The verdict on `cooperative` under demands: no envy and no less than the equal split in what can be
/// used, nothing useful idle, and at least the total of the program whose thresholds are those of the
/// max-min shares (the solver may raise thresholds where tenants reach their demand, for more).
fn cooperative_with_demand(problem: &Problem, instance: &Instance, shares: &Shares) -> Verdict {
    let envy = check::tenant_envy(problem, shares);
    let split = check::tenant_sharing_incentive(problem, shares);
    let idle = check::useful_idle(problem, shares);
    // Written so that a NaN is wrong.
    let fair = envy <= TOLERANCE && split >= 1.0 - TOLERANCE && idle <= TOLERANCE;
    if !fair {
        let fault = format!("envy {envy:e}, equal split {split}, idle {idle:e}");
        return Verdict::Wrong(fault);
    }
    let Some(least) = first_with_demand(problem, instance) else {
        return Verdict::NoOpinion;
    };
    let total = shares.total(problem);
    if total >= least * (1.0 - TOLERANCE) {
        Verdict::Right
    } else {
        Verdict::Wrong(format!("the total is {total}, and {least} is possible"))
    }
}

/// The total of the program with the first thresholds.
fn first_with_demand(problem: &Problem, instance: &Instance) -> Option<f64> {
    // The division is checked by itself; here only its support is used, and what it uses up.
    let division = solve(problem, Mechanism::MaxMin, &Options::default()).ok()?.shares;
    let thresholds: Vec<Q> =
        (0..instance.demand.len()).map(|t| threshold(instance, &division, t)).collect();
    let used_up = problem.types().iter().enumerate().map(|(j, gpu)| {
        let useful = instance.speedup.iter().any(|row| !row[j].is_zero());
        useful && division.used(TypeId(j)) >= gpu.capacity * (1.0 - 1e-9)
    });
    let used_up: Vec<bool> = used_up.collect();
    let right = exact::cooperative_with_demand(instance, &thresholds, &used_up);
    instance.throughputs(&right).iter().sum::<Q>().to_f64()
}

/// The speed of the slowest GPU that a tenant with a demand takes of a division that fills it, else 0.
fn threshold(instance: &Instance, division: &Shares, tenant: usize) -> Q {
    let Some(demand) = instance.cap(tenant).and_then(Q::to_f64) else {
        return Q::zero();
    };
    let cells = instance.rows_of(tenant).flat_map(|l| {
        let gpus = division.of_workload(WorkloadId(l)).iter().enumerate();
        gpus.map(move |(j, gpus)| (l, j, *gpus))
    });
    let cells: Vec<(usize, usize, f64)> = cells.collect();
    if cells.iter().map(|cell| cell.2).sum::<f64>() < demand * (1.0 - 1e-9) {
        return Q::zero();
    }
    let taken = cells.iter().filter(|cell| cell.2 > 1e-9 * demand);
    taken.map(|&(l, j, _)| instance.speedup[l][j].clone()).min().unwrap_or_else(Q::zero)
}

fn has_demand(problem: &Problem) -> bool {
    problem.tenants().iter().any(|t| t.demand.is_some())
}

fn infeasible(problem: &Problem, shares: &Shares) -> Option<String> {
    let capacity = check::capacity_excess(problem, shares);
    let demand = check::demand_excess(problem, shares);
    // Written so that a NaN is a fault.
    let sound = capacity <= FEASIBLE && demand <= FEASIBLE && shares.total(problem).is_finite();
    (!sound).then(|| format!("capacity is exceeded by {capacity:e}, a demand by {demand:e}"))
}

/// The exact throughputs of `nash`. Who buys what is guessed, first from the shares themselves, then
/// from the other solver's; the market proves or refuses each guess.
fn nash(problem: &Problem, instance: &Instance, shares: &Shares) -> Option<Vec<Q>> {
    let rows = (0..instance.rows()).map(|l| shares.of_workload(WorkloadId(l)).to_vec());
    let held: Vec<Vec<f64>> = rows.collect();
    guess(problem, instance, &held).or_else(|| guess(problem, instance, &plain::nash(problem)?))
}

fn guess(problem: &Problem, instance: &Instance, held: &[Vec<f64>]) -> Option<Vec<Q>> {
    [1e-12, 1e-9, 1e-7, 1e-6, 1e-5, 1e-4].into_iter().find_map(|dust| {
        let buys = |(l, row): (usize, &Vec<f64>)| {
            let runs = |j: usize| problem.workloads()[l].speedup[j] > 0.0;
            let types = row.iter().zip(problem.types()).enumerate();
            types.map(|(j, (x, gpu))| runs(j) && *x > dust * gpu.capacity).collect()
        };
        let buys: Vec<Vec<bool>> = held.iter().enumerate().map(buys).collect();
        market::equilibrium(instance, &buys)
    })
}

/// With demands `nash` has no prices to solve for. But the logarithms are concave: what any other
/// shares could add to their sum is at most what they add to first order, which a plain program bounds.
fn nash_by_gap(problem: &Problem, instance: &Instance, shares: &Shares) -> Verdict {
    let found = check::throughputs(problem, shares);
    let able: Vec<usize> =
        plain::able(problem).into_iter().filter(|&l| !is_shut(problem, l)).collect();
    if able.is_empty() {
        return Verdict::Right;
    }
    if let Some(&l) = able.iter().find(|&&l| found[l] <= 0.0) {
        let owner = problem.workloads()[l].tenant;
        // What a tenant can use of its equal split may all be one workload's: then another has nothing,
        // and the product of throughputs is no measure.
        let shared = problem.workloads_of(owner).len() > 1;
        let limited = problem.tenants()[owner.index()].demand.is_some();
        let fault = Verdict::Wrong(format!("workload {l} has nothing"));
        return if shared && limited { Verdict::NoOpinion } else { fault };
    }
    let now: f64 = able.iter().map(|&l| problem.workloads()[l].weight).sum();
    let rates = (0..instance.rows())
        .map(|l| if able.contains(&l) { problem.workloads()[l].weight / found[l] } else { 0.0 });
    let rates: Vec<f64> = rates.collect();
    let is_small = instance.rows() * instance.types() <= SMALL;
    let (most, allowed) = if is_small {
        let rates: Vec<Q> = rates.into_iter().map(fraction).collect();
        (exact::most_weighted(instance, &rates).to_f64(), EXACT_NASH_GAP)
    } else {
        (plain::weighted_total(problem, &rates), NASH_GAP)
    };
    let Some(most) = most else {
        return Verdict::NoOpinion;
    };
    let gap = most / now - 1.0;
    // Written so that a NaN is wrong.
    let near = gap <= allowed;
    if near { Verdict::Right } else { Verdict::Wrong(format!("a gap of {gap:e} is left")) }
}

/// Whether a tenant can use nothing by its own word.
fn is_shut(problem: &Problem, row: usize) -> bool {
    let tenant = problem.workloads()[row].tenant;
    problem.tenants()[tenant.index()].demand == Some(0.0)
}

fn compare(problem: &Problem, found: &[f64], right: &[f64]) -> Verdict {
    for tenant in problem.tenant_ids() {
        let rows = || problem.workload_ids_of(tenant);
        let own: f64 = rows().map(|l| right[l.index()]).sum();
        // Who gets nothing is held to nothing, on the scale of what it could have.
        let scale = if own > 0.0 { own } else { oef_core::equal_split(problem, tenant) };
        for l in rows() {
            let (found, right) = (found[l.index()], right[l.index()]);
            // Written so that a NaN is wrong.
            let near = (found - right).abs() <= TOLERANCE * scale;
            if !near {
                let name = &problem.tenants()[tenant.index()].name;
                let workload = &problem.workloads()[l.index()].name;
                return Verdict::Wrong(format!(
                    "{name}/{workload} has {found}, and should have {right}"
                ));
            }
        }
    }
    Verdict::Right
}

fn least_ratio(
    problem: &Problem,
    shares: &Shares,
    scale: impl Fn(usize, &oef_core::problem::Workload) -> f64,
) -> f64 {
    let ratios = problem.workloads().iter().enumerate().filter_map(|(l, w)| {
        let most: f64 = w.speedup.iter().zip(problem.types()).map(|(s, t)| s * t.capacity).sum();
        let own = shares.workload_throughput(problem, WorkloadId(l));
        (most > 0.0).then(|| own / scale(l, w))
    });
    ratios.fold(f64::INFINITY, f64::min)
}
