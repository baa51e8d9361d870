//! Adjacency: does a workload skip a type between two that it holds?
//!
//! The types with GPUs are ordered by their weighted median speedup over the workloads that run on
//! them, slow to fast. A workload that holds a slower and a faster type than b, could use b, and
//! holds none of it, skips b. Types of equal median lie beside each other, never between.

use super::certificate::{Finding, SkippedType};
use crate::ids::TypeId;
use crate::problem::{Problem, Workload};
use crate::shares::{Shares, dot};

/// A type is held when it makes up more than this part of the workload's GPUs or of its throughput:
/// below that it is what a solver's arithmetic leaves behind, and no scheduler could hand it out.
const HELD: f64 = 1e-7;

/// Checks every workload; the figure is the part of the tenants that skip a type.
pub(super) fn adjacent(problem: &Problem, shares: &Shares) -> Finding<SkippedType> {
    let order = types_by_speed(problem);
    let mut skipping = 0_usize;
    let mut witness = None;
    for tenant in problem.tenant_ids() {
        let skips = problem.workload_ids_of(tenant).find_map(|id| {
            let workload = &problem.workloads()[id.0];
            let (held, skipped) = skipped_type(&order, workload, shares.of_workload(id))?;
            Some(SkippedType { tenant, workload: id, held, skipped })
        });
        if let Some(skips) = skips {
            skipping += 1;
            witness = witness.or(Some(skips));
        }
    }
    let worst = skipping as f64 / problem.tenants().len().max(1) as f64;
    Finding { holds: skipping == 0, worst, witness }
}

/// The types with GPUs and with somebody to run on them: median speedup and type, slow to fast.
fn types_by_speed(problem: &Problem) -> Vec<(f64, TypeId)> {
    let present = (0..problem.types().len()).filter(|&j| problem.types()[j].capacity > 0.0);
    let mut order: Vec<(f64, TypeId)> =
        present.filter_map(|j| Some((median_speedup(problem, j)?, TypeId(j)))).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    order
}

fn median_speedup(problem: &Problem, j: usize) -> Option<f64> {
    let mut known: Vec<(f64, f64)> = (problem.workloads().iter())
        .map(|w| (w.speedup[j], w.weight))
        .filter(|&(speedup, _)| speedup > 0.0)
        .collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let half = known.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut below = 0.0;
    for &(speedup, weight) in &known {
        below += weight;
        if below >= half {
            return Some(speedup);
        }
    }
    known.last().map(|&(speedup, _)| speedup)
}

/// The types that a workload holds and the first one that it skips, if it does.
fn skipped_type(
    order: &[(f64, TypeId)],
    workload: &Workload,
    share: &[f64],
) -> Option<(Vec<TypeId>, TypeId)> {
    let holds = |j: TypeId| is_held(&workload.speedup, share, j);
    let held: Vec<(f64, TypeId)> = order.iter().copied().filter(|&(_, j)| holds(j)).collect();
    let (slowest, fastest) = (held.first()?.0, held.last()?.0);
    let between = |&&(speed, j): &&(f64, TypeId)| {
        speed > slowest && speed < fastest && workload.speedup[j.0] > 0.0 && !holds(j)
    };
    let skipped = order.iter().find(between)?.1;
    Some((held.into_iter().map(|(_, j)| j).collect(), skipped))
}

/// Whether a workload with these speedups holds type `gpu` in this share, rather than a rest of it.
pub(crate) fn is_held(speedup: &[f64], share: &[f64], gpu: TypeId) -> bool {
    let amount = share[gpu.0];
    amount > HELD * share.iter().sum::<f64>()
        || speedup[gpu.0] * amount > HELD * dot(speedup, share)
}
