//! `max-min` by its definition: every type divided by weight among the workloads that can use it.

use crate::instance::{Instance, Matrix};
use crate::program::Q;
use num_traits::{ToPrimitive, Zero};
use oef_core::{Problem, Shares, TenantId, TypeId, WorkloadId};

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

/// What is wrong with shares where tenants have demands: there must be a level for each type, GPUs per
/// weight on offer to all who can use it, of which everybody takes the fastest it can use; and what
/// is idle must be of no use to anybody.
pub fn fault_with_demand(problem: &Problem, shares: &Shares) -> Option<String> {
    let held = |l: usize, j: usize| shares.get(WorkloadId(l), TypeId(j));
    let weight = |l: usize| problem.workloads()[l].weight;
    let per_weight = |j: usize| {
        (0..problem.workloads().len()).map(move |l| held(l, j) / weight(l)).fold(0.0, f64::max)
    };
    let level: Vec<f64> = (0..problem.types().len()).map(per_weight).collect();
    let idle = |j: usize| problem.types()[j].capacity - shares.used(TypeId(j));
    for tenant in problem.tenant_ids() {
        let demand = problem.tenants()[tenant.index()].demand.unwrap_or(f64::INFINITY);
        let mut room = demand;
        let offers = offers(problem, tenant);
        for alike in offers.chunk_by(|a, b| a.2 == b.2) {
            let offer: f64 = alike.iter().map(|&(l, j, _)| level[j] * weight(l)).sum();
            let taken: f64 = alike.iter().map(|&(l, j, _)| held(l, j)).sum();
            let right = offer.min(room);
            room -= right;
            if (taken - right).abs() > 1e-7 * (right + offer.min(demand)) {
                return Some(format!("{tenant:?} takes {taken} of {alike:?}, not {right}"));
            }
            let free = alike.iter().map(|&(_, j, _)| idle(j) / problem.types()[j].capacity);
            if free.fold(0.0, f64::max) > 1e-7 && room > 1e-7 * demand {
                return Some(format!("{tenant:?} could use what is idle of {alike:?}"));
            }
        }
    }
    None
}

/// What a tenant can be offered, by workload and type with the speedup there, the fastest first.
fn offers(problem: &Problem, tenant: TenantId) -> Vec<(usize, usize, f64)> {
    let mut offers = Vec::new();
    for l in problem.workload_ids_of(tenant) {
        let speedups = problem.workloads()[l.index()].speedup.iter().enumerate();
        let usable = speedups.filter(|&(j, s)| *s > 0.0 && problem.types()[j].capacity > 0.0);
        offers.extend(usable.map(|(j, s)| (l.index(), j, *s)));
    }
    offers.sort_by(|a, b| b.2.total_cmp(&a.2));
    offers
}

/// The same in numbers, for comparison.
pub fn to_numbers(throughputs: &[Q]) -> Vec<f64> {
    throughputs.iter().map(|q| q.to_f64().expect("a fraction is near some number")).collect()
}
