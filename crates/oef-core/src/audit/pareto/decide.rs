//! The verdict on Pareto efficiency: proven by prices, proven by the program, or bounded.

use super::bound::{bound, supporting_prices};
use super::cycle;
use super::exchange::Exchange;
use super::program;
use super::repair::repair;
use crate::audit::{AUDIT_TOLERANCE, Improvement, ParetoFinding, ParetoProof};
use crate::ids::TenantId;
use crate::problem::Problem;
use crate::shares::Shares;

/// Decides whether anybody can gain without another's loss. `prices` per type may help the proof;
/// any or none will do.
pub fn pareto_efficiency(problem: &Problem, shares: &Shares, prices: &[f64]) -> ParetoFinding {
    let feasible = super::super::checks::capacity(problem, shares).holds
        && super::super::checks::demand(problem, shares).holds;
    decide(problem, shares, prices, feasible)
}

pub(in crate::audit) fn decide(
    problem: &Problem,
    shares: &Shares,
    prices: &[f64],
    feasible: bool,
) -> ParetoFinding {
    let exchange = Exchange::new(problem, shares);
    let total = exchange.total();
    let scale = if total > 0.0 { total } else { exchange.ceiling() };
    let relative = |gain: f64| if scale > 0.0 { (gain / scale).min(f64::MAX) } else { 0.0 };

    let given: Vec<f64> = exchange.types.iter().filter_map(|j| prices.get(j.0).copied()).collect();
    let supporting = supporting_prices(&exchange);
    let mut least = bound(&exchange, &given);
    let mut best_prices = given;
    if relative(least) > AUDIT_TOLERANCE {
        let other = bound(&exchange, &supporting);
        if other < least {
            (least, best_prices) = (other, supporting);
        }
    }
    if relative(least) <= AUDIT_TOLERANCE && feasible {
        return holds(relative(least), ParetoProof::Prices);
    }
    let mut found: Option<(f64, Improvement)> = None;
    let mut agree = false;
    let gain = |found: &Option<(f64, Improvement)>| found.as_ref().map_or(0.0, |(gain, _)| *gain);
    let starts: &[&[f64]] = match feasible && program::fits(&exchange) {
        // The second start knows nothing: it helps where the first was a bad place to walk from.
        true => &[&best_prices, &[]],
        false => &[],
    };
    for start in starts {
        let Some(answer) = program::solve(&exchange, start) else { continue };
        least = least.min(bound(&exchange, &answer.prices));
        if relative(least) <= AUDIT_TOLERANCE {
            return holds(relative(least), ParetoProof::Program);
        }
        let better = improvement(problem, shares, &exchange, &answer.amounts);
        if gain(&better) > gain(&found) {
            found = better;
        }
        agree = relative(least - gain(&found)) <= AGREEMENT * (1.0 + relative(least));
        if agree {
            break;
        }
    }
    if feasible && relative(gain(&found)) <= AUDIT_TOLERANCE {
        let amounts = cycle::gain(&exchange);
        found = amounts.and_then(|x| improvement(problem, shares, &exchange, &x));
    }
    match found {
        Some((gain, witness)) if relative(gain) > AUDIT_TOLERANCE => {
            let proof = if agree { ParetoProof::Program } else { ParetoProof::BoundOnly };
            let (worst, bound) = (relative(gain), relative(least).max(relative(gain)));
            ParetoFinding { holds: false, worst, bound, proof, witness: Some(witness) }
        }
        _ => ParetoFinding {
            holds: false,
            worst: 0.0,
            bound: relative(least),
            proof: ParetoProof::BoundOnly,
            witness: None,
        },
    }
}

/// The gain found and the bound agree when they differ by less than this: the accuracy of every figure.
const AGREEMENT: f64 = 1e-6;

fn holds(bound: f64, proof: ParetoProof) -> ParetoFinding {
    ParetoFinding { holds: true, worst: 0.0, bound, proof, witness: None }
}

/// The answer of the program as shares, if they withstand counting: within capacity and demand to the
/// last digits, and at nobody's cost.
fn improvement(
    problem: &Problem,
    shares: &Shares,
    exchange: &Exchange,
    amounts: &[f64],
) -> Option<(f64, Improvement)> {
    let amounts = repair(exchange, amounts);
    let better = exchange.shares(problem, &amounts);
    let mut gains = Vec::new();
    let mut gain = 0.0;
    for tenant in problem.tenant_ids() {
        let difference = better.throughput(problem, tenant) - shares.throughput(problem, tenant);
        gain += difference;
        let lost = problem.workload_ids_of(tenant).any(|w| {
            let now = shares.workload_throughput(problem, w);
            better.workload_throughput(problem, w) < now * (1.0 - ROUNDING)
        });
        if lost {
            return None;
        }
        if difference > AUDIT_TOLERANCE * AUDIT_TOLERANCE.max(shares.throughput(problem, tenant)) {
            gains.push((TenantId(tenant.0), difference));
        }
    }
    let fits = super::super::checks::capacity(problem, &better).worst <= ROUNDING
        && super::super::checks::demand(problem, &better).worst <= ROUNDING;
    fits.then_some((gain, Improvement { gains, shares: better }))
}

/// What sums of doubles may be off by; a loss or an overuse beyond it refutes a witness.
const ROUNDING: f64 = 1e-9;
