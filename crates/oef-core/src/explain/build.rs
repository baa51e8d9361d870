//! From a result to its explanation.

use super::{EnvyTie, Explanation, Holding, OneMore, TenantReason, TypeReason};
use crate::audit::{equal_splits, tied_pairs};
use crate::guarantee::beyond;
use crate::ids::{TenantId, TypeId};
use crate::mechanism::{Mechanism, Options, Outcome, SolveError, Status, solve};
use crate::problem::Problem;

/// Solves the problem and explains the result. Solves once more for every gpu type (with one more
/// GPU of it); once `options.stop` answers true, the remaining ones are left out.
pub fn explain(
    problem: &Problem,
    mechanism: Mechanism,
    options: &Options<'_>,
) -> Result<Explanation, SolveError> {
    explain_with(problem, &mut |p| solve(p, mechanism, options))
}

/// The same with any way to solve, for instance a warm one.
pub fn explain_with(
    problem: &Problem,
    solve: &mut dyn FnMut(&Problem) -> Result<Outcome, SolveError>,
) -> Result<Explanation, SolveError> {
    let outcome = solve(problem)?;
    let throughput: Vec<f64> =
        problem.tenant_ids().map(|t| outcome.shares.throughput(problem, t)).collect();
    let types = (0..problem.types().len())
        .map(|j| type_reason(problem, &outcome, &throughput, TypeId(j), solve))
        .collect();
    let envy_ties = envy_ties(problem, &outcome, &throughput);
    let tenants = tenant_reasons(problem, &outcome, &throughput, &envy_ties);
    let total = throughput.iter().sum();
    Ok(Explanation { outcome, total, types, tenants, envy_ties })
}

/// Tenants up to which every pair is looked at: four million values, a fraction of a second.
pub const TENANTS_COMPARED_MAX: usize = 2_000;
/// A constraint this near to its limit, relative to it, binds.
const BINDING: f64 = 1e-7;

fn type_reason(
    problem: &Problem,
    outcome: &Outcome,
    throughput: &[f64],
    gpu: TypeId,
    solve: &mut dyn FnMut(&Problem) -> Result<Outcome, SolveError>,
) -> TypeReason {
    let capacity = problem.types()[gpu.0].capacity;
    let used = outcome.shares.used(gpu);
    TypeReason {
        gpu,
        price: outcome.prices.get(gpu.0).copied(),
        capacity,
        used,
        exhausted: used >= capacity * (1.0 - BINDING),
        one_more: one_more(problem, outcome, throughput, gpu, solve),
    }
}

/// Solves again with one more GPU. Only the difference of two optima means something.
fn one_more(
    problem: &Problem,
    outcome: &Outcome,
    throughput: &[f64],
    gpu: TypeId,
    solve: &mut dyn FnMut(&Problem) -> Result<Outcome, SolveError>,
) -> Option<OneMore> {
    if outcome.solver.status != Status::Optimal {
        return None;
    }
    let mut larger = problem.clone();
    larger.types[gpu.0].capacity += 1.0;
    let with = solve(&larger).ok().filter(|with| with.solver.status == Status::Optimal)?;
    let gain = |t: TenantId| with.shares.throughput(&larger, t) - throughput[t.0];
    let tenants: Vec<f64> = problem.tenant_ids().map(gain).collect();
    Some(OneMore { total: tenants.iter().sum(), tenants })
}

fn envy_ties(problem: &Problem, outcome: &Outcome, throughput: &[f64]) -> Vec<EnvyTie> {
    let promises = matches!(outcome.mechanism, Mechanism::Cooperative | Mechanism::Nash);
    if !promises || problem.tenants().len() > TENANTS_COMPARED_MAX {
        return Vec::new();
    }
    // Who envies whom is a question about what lies beyond guarantees and limits.
    let beyond = beyond(problem, outcome);
    let (problem, shares) = beyond.as_ref().map_or((problem, &outcome.shares), |(p, s)| (p, s));
    tied_pairs(problem, shares, BINDING)
        .into_iter()
        .map(|(envious, envied)| EnvyTie {
            envious,
            envied,
            throughput: match beyond.is_some() {
                true => shares.throughput(problem, envious),
                false => throughput[envious.0],
            },
        })
        .collect()
}

fn tenant_reasons(
    problem: &Problem,
    outcome: &Outcome,
    throughput: &[f64],
    ties: &[EnvyTie],
) -> Vec<TenantReason> {
    let mut reasons: Vec<TenantReason> = problem
        .tenant_ids()
        .zip(equal_splits(problem))
        .map(|(tenant, equal_split)| {
            let at_demand = problem.workload_ids_of(tenant).all(|l| {
                let used: f64 = outcome.shares.of_workload(l).iter().sum();
                problem.workloads()[l.0].demand.is_some_and(|d| used >= d * (1.0 - BINDING))
            });
            TenantReason {
                tenant,
                throughput: throughput[tenant.0],
                equal_split,
                at_floor: throughput[tenant.0] <= equal_split * (1.0 + BINDING),
                at_demand,
                holdings: holdings(problem, outcome, tenant),
                would_envy: Vec::new(),
                envied_by: Vec::new(),
            }
        })
        .collect();
    for tie in ties {
        reasons[tie.envious.0].would_envy.push(tie.envied);
        reasons[tie.envied.0].envied_by.push(tie.envious);
    }
    reasons
}

fn holdings(problem: &Problem, outcome: &Outcome, tenant: TenantId) -> Vec<Holding> {
    let mut all = Vec::new();
    for workload in problem.workload_ids_of(tenant) {
        let speedup = &problem.workloads()[workload.0].speedup;
        let usable = |&j: &usize| speedup[j] > 0.0 && problem.types()[j].capacity > 0.0;
        let value = |j: usize| {
            let price = outcome.prices.get(j).copied().filter(|p| *p > 0.0)?;
            Some(speedup[j] / price).filter(|value| value.is_finite())
        };
        let types: Vec<usize> = (0..problem.types().len()).filter(usable).collect();
        let best = types.iter().filter_map(|&j| value(j)).fold(0.0, f64::max);
        all.extend(types.into_iter().map(|j| Holding {
            workload,
            gpu: TypeId(j),
            gpus: outcome.shares.get(workload, TypeId(j)),
            speedup: speedup[j],
            value_for_money: value(j),
            best: value(j).is_some_and(|v| v >= best * (1.0 - BEST)),
        }));
    }
    all
}

/// Prices are right to about this, so values for money nearer than this count as equal.
const BEST: f64 = 1e-6;
