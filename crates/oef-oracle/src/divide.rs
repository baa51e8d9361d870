//! `max-min` by its definition: every type divided by weight among the workloads that can use it.

use crate::instance::{Instance, Matrix};
use crate::program::Q;
use num_traits::{ToPrimitive, Zero};
use oef_core::{Problem, Shares, TypeId, WorkloadId};

/// The shares where nobody has a demand.
pub fn max_min(instance: &Instance) -> Matrix {
    let mut shares = vec![vec![Q::zero(); instance.types()]; instance.rows()];
    for j in 0..instance.types() {
        let able: Vec<usize> =
            (0..instance.rows()).filter(|&l| !instance.speedup[l][j].is_zero()).collect();
        let weight: Q = able.iter().map(|&l| &instance.weight[l]).sum();
        for l in able {
            shares[l][j] = &instance.count[j] * &instance.weight[l] / &weight;
        }
    }
    shares
}

/// What is wrong with shares where tenants of one workload have demands: there must be a level for
/// each type, GPUs per weight on offer to all who can use it, of which everybody takes the fastest it
/// can use; and what is idle must be of no use to anybody.
pub fn fault_with_demand(problem: &Problem, shares: &Shares) -> Option<String> {
    let weight = |l: usize| problem.workloads()[l].weight;
    let rows = 0..problem.workloads().len();
    let held = |l: usize, j: usize| shares.get(WorkloadId(l), TypeId(j));
    let per_weight =
        |j: usize| rows.clone().map(move |l| held(l, j) / weight(l)).fold(0.0, f64::max);
    let level: Vec<f64> = (0..problem.types().len()).map(per_weight).collect();
    for l in rows.clone() {
        let workload = &problem.workloads()[l];
        let demand = problem.tenants()[workload.tenant.index()].demand.unwrap_or(f64::INFINITY);
        let mut order: Vec<usize> =
            (0..level.len()).filter(|&j| workload.speedup[j] > 0.0).collect();
        order.sort_by(|&a, &b| workload.speedup[b].total_cmp(&workload.speedup[a]));
        let mut room = demand;
        for alike in order.chunk_by(|&a, &b| workload.speedup[a] == workload.speedup[b]) {
            let offer: f64 = alike.iter().map(|&j| level[j] * weight(l)).sum();
            let taken: f64 = alike.iter().map(|&j| held(l, j)).sum();
            let right = offer.min(room);
            room -= right;
            if (taken - right).abs() > 1e-7 * (right + offer.min(demand)) {
                return Some(format!("workload {l} takes {taken} of types {alike:?}, not {right}"));
            }
            let idle = |j: usize| problem.types()[j].capacity - shares.used(TypeId(j));
            let free: f64 = alike.iter().map(|&j| idle(j)).sum();
            let capacity: f64 = alike.iter().map(|&j| problem.types()[j].capacity).sum();
            if free > 1e-7 * capacity && room > 1e-7 * demand {
                return Some(format!("workload {l} could use {free} idle GPUs of types {alike:?}"));
            }
        }
    }
    None
}

/// The same in numbers, for comparison.
pub fn to_numbers(throughputs: &[Q]) -> Vec<f64> {
    throughputs.iter().map(|q| q.to_f64().expect("a fraction is near some number")).collect()
}
