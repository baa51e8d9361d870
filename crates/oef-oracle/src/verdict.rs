//! Whether shares are the answer of their mechanism, by an oracle.

use crate::check;
use crate::divide;
use crate::exact;
use crate::instance::{Instance, Matrix};
use crate::market;
use crate::plain;
use crate::program::Q;
use crate::random::Random;
use crate::trade;
use num_traits::ToPrimitive;
use oef_core::{Mechanism, Problem, Shares, WorkloadId};

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

/// Rows times types up to which a program is solved exactly.
const SMALL: usize = 24;

/// What differs by less counts as equal in the mechanism's own order.
const EQUAL: f64 = oef_core::OPTIMALITY_TOLERANCE;

/// What the other solver finds above the tolerance by less than this factor may be its own noise.
const NOISE: f64 = 10.0;

/// Levels that are looked at, the least among them; each takes programs of its own.
const LEVELS_MAX: usize = 6;

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
    let instance = Instance::within(problem, gavel_cap);
    let answer = |shares: Matrix| Some(instance.throughputs(&shares));
    let right = match mechanism {
        Mechanism::Noncooperative => answer(exact::noncooperative(&instance)),
        Mechanism::Incentive => answer(exact::incentive(&instance)),
        Mechanism::Efficiency => answer(exact::efficiency(&instance)),
        Mechanism::Gavel => answer(exact::gavel(&instance)),
        Mechanism::Cooperative if !instance.has_demand() => answer(exact::cooperative(&instance)),
        Mechanism::Cooperative => {
            let division = divide::with_demand(problem);
            answer(exact::cooperative_with_demand(&instance, &division))
        }
        Mechanism::Nash if !instance.has_demand() => nash(problem, &instance, shares),
        Mechanism::Nash => return nash_with_demand(problem, &instance, shares),
        Mechanism::GandivaFair => {
            if let Some(fault) = lost_by_trading(problem, shares) {
                return Verdict::Wrong(fault);
            }
            if instance.has_demand() {
                return Verdict::Right;
            }
            trade::gandiva_fair(&instance)
        }
        Mechanism::MaxMin if !instance.has_demand() => answer(divide::max_min(&instance)),
        Mechanism::MaxMin => {
            let held = divide::with_demand(problem).held;
            return compare(problem, &check::throughputs(problem, shares), &values(problem, &held));
        }
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

/// The verdict of another solver on a middle problem: every workload's throughput (`cooperative`,
/// `nash`), the total, or the least ratio.
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
        Mechanism::Cooperative => return cooperative_plainly(problem, shares),
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
        // Nobody can get anything.
        _ if found == f64::INFINITY => Verdict::Right,
        None => Verdict::NoOpinion,
        Some(right) if (found - right).abs() <= TOLERANCE * right.abs() => Verdict::Right,
        Some(right) => Verdict::Wrong(format!("{what} is {found}, and should be {right}")),
    }
}

/// The verdict on `cooperative`: the greatest total, no envy between any two workloads, and of all such
/// shares those that are as even as possible.
///
/// Nearly always all shares with the greatest total give the same throughputs. Then no combination of
/// them, drawn at random, can be greater or smaller than what was found. Where it can, the throughputs
/// are looked at level by level: nobody can be raised above its ratio to the equal split unless
/// somebody at that level or below it pays.
fn cooperative_plainly(problem: &Problem, shares: &Shares) -> Verdict {
    let Some(mut program) = plain::EnvyFree::new(problem) else {
        return Verdict::NoOpinion;
    };
    let (total, right) = (shares.total(problem), program.total());
    let (excess, envy) = (program.excess(shares), check::envy(problem, shares));
    // Written so that a NaN is wrong.
    let sound = excess <= TOLERANCE && envy <= TOLERANCE;
    if !sound {
        return Verdict::Wrong(format!("envy {envy:e}, by thresholds {excess:e}"));
    }
    if (total - right).abs() > TOLERANCE * right {
        return Verdict::Wrong(format!("the total is {total}, and should be {right}"));
    }
    if right <= 0.0 {
        return Verdict::Right;
    }
    program.raise_total(total);
    let found = check::throughputs(problem, shares);
    let ratio = |(l, u): (usize, &f64)| if *u > 0.0 { u / program.split(l) } else { 0.0 };
    let ratios: Vec<f64> = found.iter().enumerate().map(ratio).collect();
    let mut random = Random::new(ratios.len() as u64);
    let rates: Vec<f64> = ratios.iter().map(|_| 2.0 * random.unit() - 1.0).collect();
    let opposite: Vec<f64> = rates.iter().map(|rate| -rate).collect();
    let free = vec![None; ratios.len()];
    for rates in [rates, opposite] {
        match more_than_found(&program, &ratios, &rates, &free) {
            None => return Verdict::NoOpinion,
            Some(false) => {}
            Some(true) => return evenly_plainly(&program, &ratios),
        }
    }
    Verdict::Right
}

/// The verdict on ratios of throughputs to equal splits, level by level; of many levels only some.
fn evenly_plainly(program: &plain::EnvyFree, ratios: &[f64]) -> Verdict {
    let mut levels: Vec<f64> = ratios.to_vec();
    levels.sort_by(f64::total_cmp);
    levels.dedup_by(|a, b| *a <= *b * (1.0 + TOLERANCE));
    let step = levels.len().div_ceil(LEVELS_MAX);
    for level in levels.into_iter().step_by(step) {
        let top = level * (1.0 + TOLERANCE);
        let floors: Vec<Option<f64>> = ratios.iter().map(|r| (*r <= top).then_some(*r)).collect();
        let is_here = |r: f64| r >= level && r <= top;
        let rates: Vec<f64> = ratios.iter().map(|&r| f64::from(u8::from(is_here(r)))).collect();
        match more_than_found(program, ratios, &rates, &floors) {
            None => return Verdict::NoOpinion,
            Some(false) => {}
            Some(true) => return Verdict::Wrong(format!("{level} equal splits are not the most")),
        }
    }
    Verdict::Right
}

/// Whether the sum of ratios at these rates can be greater than what was found; `None` if the program
/// does not say.
fn more_than_found(
    program: &plain::EnvyFree,
    ratios: &[f64],
    rates: &[f64],
    floors: &[Option<f64>],
) -> Option<bool> {
    let found: f64 = ratios.iter().zip(rates).map(|(ratio, rate)| ratio * rate).sum();
    let scale: f64 = ratios.iter().zip(rates).map(|(ratio, rate)| (ratio * rate).abs()).sum();
    // The less is eased the nearer to the truth, and the harder to solve.
    let mut most = None;
    for ease in [1e-7, 1e-8, EQUAL] {
        most = program.most(rates, floors, ease);
        if most.is_some_and(|most| most <= found + TOLERANCE * scale) {
            return Some(false);
        }
    }
    most.filter(|most| *most > found + NOISE * TOLERANCE * scale).map(|_| true)
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

/// The verdict on `nash` under demands: a market in which everybody buys the best that it can use, of
/// which there may be several. All of them have no envy and nobody below its equal split in what can be
/// used, and nobody can be raised without somebody else falling.
fn nash_with_demand(problem: &Problem, instance: &Instance, shares: &Shares) -> Verdict {
    let envy = check::envy(problem, shares);
    let split = check::sharing_incentive(problem, shares);
    let gain = match instance.rows() * instance.types() <= SMALL {
        true => Some(check::pareto_gain(problem, shares, EQUAL)),
        false => {
            let found = check::throughputs(problem, shares);
            let floors: Vec<f64> = found.iter().map(|u| u * (1.0 - EQUAL)).collect();
            let total: f64 = found.iter().sum();
            plain::total_above(problem, &floors).map(|best| best / total - 1.0)
        }
    };
    let Some(gain) = gain else {
        return Verdict::NoOpinion;
    };
    // Written so that a NaN is wrong.
    let fair = envy <= TOLERANCE && split >= 1.0 - TOLERANCE && gain <= TOLERANCE;
    let fault = || format!("envy {envy:e}, equal split {split}, {gain:e} more is possible");
    if fair { Verdict::Right } else { Verdict::Wrong(fault()) }
}

/// What is wrong after the trades of `gandiva-fair`, whatever their order was: somebody has less than in
/// the plain division before them, or something useful is idle. Under demands, where the trades are not
/// replayed, it is all that is asked.
fn lost_by_trading(problem: &Problem, shares: &Shares) -> Option<String> {
    let before = values(problem, &divide::with_demand(problem).held);
    let after = check::throughputs(problem, shares);
    for (l, (before, after)) in before.iter().zip(&after).enumerate() {
        // Written so that a NaN is wrong.
        let kept = *after >= before * (1.0 - TOLERANCE);
        if !kept {
            return Some(format!("workload {l} has {after}, and had {before}"));
        }
    }
    let idle = check::useful_idle(problem, shares);
    (idle > TOLERANCE).then(|| format!("{idle:e} of a type is idle"))
}

/// The throughputs of all workloads with these GPUs.
fn values(problem: &Problem, held: &[Vec<f64>]) -> Vec<f64> {
    let value = |(w, held): (&oef_core::problem::Workload, &Vec<f64>)| {
        w.speedup.iter().zip(held).map(|(speed, gpus)| speed * gpus).sum()
    };
    problem.workloads().iter().zip(held).map(value).collect()
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

fn compare(problem: &Problem, found: &[f64], right: &[f64]) -> Verdict {
    for tenant in problem.tenant_ids() {
        let rows = || problem.workload_ids_of(tenant);
        let own: f64 = rows().map(|l| right[l.index()]).sum();
        // Who gets nothing is held to nothing, on the scale of what it could have.
        let scale = if own > 0.0 { own } else { check::equal_split(problem, tenant) };
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
        (most > 0.0 && w.demand != Some(0.0)).then(|| own / scale(l, w))
    });
    ratios.fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::{self, Family, Size};
    use oef_core::TypeId;

    fn shares(problem: &Problem, matrix: &Matrix) -> Shares {
        let mut shares = Shares::zero(problem);
        for (l, row) in matrix.iter().enumerate() {
            for (j, gpus) in divide::to_numbers(row).into_iter().enumerate() {
                shares.set(WorkloadId(l), TypeId(j), gpus);
            }
        }
        shares
    }

    /// Both judges, on answers with the right total and no envy that favour somebody.
    #[test]
    fn a_total_that_is_right_is_not_enough() {
        let (mut asked, mut silent, mut noticed) = (0, 0, 0);
        for seed in families::first_seed()..families::first_seed() + 150 {
            let problem = families::problem(Family::Tied, Size::SMALL, seed).validate().unwrap();
            let instance = Instance::from(&problem);
            let right = exact::cooperative(&instance);
            let other = exact::cooperative_in_favour_of(&instance, seed as usize % instance.rows());
            let [even, favoured] = [&right, &other].map(|x| instance.throughputs(x));
            let is_even = even == favoured;
            for judge in [exactly, plainly] {
                for (matrix, is_right) in [(&right, true), (&other, is_even)] {
                    let shares = shares(&problem, matrix);
                    let verdict = judge(&problem, Mechanism::Cooperative, None, &shares);
                    asked += 1;
                    match verdict {
                        Verdict::NoOpinion => silent += 1,
                        Verdict::Wrong(why) => {
                            assert!(!is_right, "seed {seed}: {why}");
                            noticed += 1;
                        }
                        verdict => assert!(is_right, "seed {seed}: {verdict:?}"),
                    }
                }
            }
        }
        assert!(silent * 20 <= asked, "{silent} of {asked} were not judged");
        assert!(noticed > 20, "only {noticed} were there to be noticed");
    }
}
