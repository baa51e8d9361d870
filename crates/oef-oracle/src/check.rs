//! What can be said of shares without knowing which mechanism made them, by the definitions.

use crate::exact;
use crate::instance::{Instance, fraction};
use crate::program::Q;
use num_traits::ToPrimitive;
use oef_core::{Problem, Shares, TenantId, TypeId, WorkloadId};

/// The largest excess over the capacity of a type, relative to it; a negative share counts as well.
pub fn capacity_excess(problem: &Problem, shares: &Shares) -> f64 {
    let over = problem.types().iter().enumerate().map(|(j, gpu)| {
        let used = shares.used(TypeId(j));
        if gpu.capacity > 0.0 { (used - gpu.capacity) / gpu.capacity } else { used }
    });
    let negative = workloads(problem).map(|l| {
        shares
            .of_workload(l)
            .iter()
            .zip(problem.types())
            .map(|(x, t)| -x / t.capacity.max(1e-300))
            .fold(0.0, f64::max)
    });
    over.chain(negative).fold(0.0, f64::max)
}

/// The largest excess over the demand of a workload or a tenant, in GPUs.
pub fn demand_excess(problem: &Problem, shares: &Shares) -> f64 {
    let tenants = problem.tenant_ids().filter_map(|t| {
        let demand = problem.tenants()[t.index()].demand?;
        Some(shares.of_tenant(problem, t).iter().sum::<f64>() - demand)
    });
    let rows = workloads(problem).filter_map(|l| {
        let demand = problem.workloads()[l.index()].demand?;
        Some(shares.of_workload(l).iter().sum::<f64>() - demand)
    });
    tenants.chain(rows).fold(0.0, f64::max)
}

/// The largest envy between workloads, by weight: how much more the other's share, scaled to the own
/// weight, would be worth, relative to the own throughput. With a demand only what can be used counts.
pub fn envy(problem: &Problem, shares: &Shares) -> f64 {
    let mut worst = 0.0_f64;
    for l in workloads(problem) {
        let own = shares.workload_throughput(problem, l);
        for i in workloads(problem).filter(|&i| i != l) {
            let other = usable(problem, l, &scaled(problem, shares, i, l));
            if other > own {
                worst = worst.max((other - own) / own.max(f64::MIN_POSITIVE));
            }
        }
    }
    worst
}

/// A throughput of so small a part of the equal split is the rounding of none.
const ROUNDING: f64 = 1e-12;

/// The largest envy between tenants: a tenant divides the other's bundle among its workloads by their
/// weights. Relative to the own throughput, or to the equal split of a tenant that has none. With a
/// demand only what can be used counts.
pub fn tenant_envy(problem: &Problem, shares: &Shares) -> f64 {
    let weight = |t: TenantId| problem.tenants()[t.index()].weight;
    let mut worst = 0.0_f64;
    for t in problem.tenant_ids() {
        let own = shares.throughput(problem, t);
        let split = equal_split(problem, t);
        let scale = if own > ROUNDING * split { own } else { split };
        for s in problem.tenant_ids().filter(|&s| s != t) {
            let bundle = shares.of_tenant(problem, s);
            let other = tenant_value(problem, t, &bundle, weight(s));
            if other > own && scale > 0.0 {
                worst = worst.max((other - own) / scale);
            }
        }
    }
    worst
}

/// The least ratio of a tenant's throughput to its (usable) equal split.
pub fn tenant_sharing_incentive(problem: &Problem, shares: &Shares) -> f64 {
    let ratios = problem.tenant_ids().filter_map(|t| {
        let split = equal_split(problem, t);
        (split > 0.0).then(|| shares.throughput(problem, t) / split)
    });
    ratios.fold(f64::INFINITY, f64::min)
}

/// What a tenant can use of its equal split.
pub fn equal_split(problem: &Problem, tenant: TenantId) -> f64 {
    let total: f64 = problem.tenants().iter().map(|t| t.weight).sum();
    let all: Vec<f64> = problem.types().iter().map(|t| t.capacity).collect();
    tenant_value(problem, tenant, &all, total)
}

/// What a bundle that belongs to so much weight is worth to a tenant, were it as large for its own
/// weight: each workload has its part by weight, and uses the fastest GPUs of it.
fn tenant_value(problem: &Problem, tenant: TenantId, bundle: &[f64], weight: f64) -> f64 {
    let value = |l: WorkloadId| {
        let part = problem.workloads()[l.index()].weight / weight;
        let part: Vec<f64> = bundle.iter().map(|gpus| gpus * part).collect();
        usable(problem, l, &part)
    };
    problem.workload_ids_of(tenant).map(value).sum()
}

/// The least ratio of a workload's throughput to its equal split; infinite if nobody can get anything.
pub fn sharing_incentive(problem: &Problem, shares: &Shares) -> f64 {
    let total: f64 = problem.workloads().iter().map(|w| w.weight).sum();
    let ratios = workloads(problem).filter_map(|l| {
        let part = problem.workloads()[l.index()].weight / total;
        let bundle: Vec<f64> = problem.types().iter().map(|t| t.capacity * part).collect();
        let split = usable(problem, l, &bundle);
        (split > 0.0).then(|| shares.workload_throughput(problem, l) / split)
    });
    ratios.fold(f64::INFINITY, f64::min)
}

/// The relative gain in total throughput that is possible without taking from anybody more than
/// `slack` (relative) of its throughput: not much more than nothing if the shares are Pareto efficient.
/// Exact, so for small problems only.
pub fn pareto_gain(problem: &Problem, shares: &Shares, slack: f64) -> f64 {
    let instance = Instance::from(problem);
    let own = throughputs(problem, shares);
    let levels: Vec<Q> = own.iter().map(|u| fraction((u * (1.0 - slack)).max(0.0))).collect();
    let Some(better) = exact::best_above(&instance, &levels) else {
        return 0.0;
    };
    let best = instance.throughputs(&better).iter().sum::<Q>().to_f64().unwrap();
    let total: f64 = own.iter().sum();
    if best > total { (best - total) / total } else { 0.0 }
}

/// GPUs of a type that nobody has although some workload below its demand could use them, relative to
/// its capacity: the largest over the types.
pub fn useful_idle(problem: &Problem, shares: &Shares) -> f64 {
    let room = |l: WorkloadId| match problem.workloads()[l.index()].demand {
        Some(demand) => demand - shares.of_workload(l).iter().sum::<f64>(),
        None => f64::INFINITY,
    };
    let idle = problem.types().iter().enumerate().map(|(j, gpu)| {
        let able = workloads(problem).filter(|l| problem.workloads()[l.index()].speedup[j] > 0.0);
        let wanted = able.map(room);
        let free = gpu.capacity - shares.used(TypeId(j));
        if gpu.capacity > 0.0 { free.min(wanted.fold(0.0, f64::max)) / gpu.capacity } else { 0.0 }
    });
    idle.fold(0.0, f64::max)
}

/// Shares above rounding, over all workloads and types.
pub fn non_zeros(problem: &Problem, shares: &Shares) -> usize {
    let cells = workloads(problem)
        .flat_map(|l| shares.of_workload(l).to_vec().into_iter().zip(problem.types()));
    cells.filter(|(x, gpu)| *x > 1e-12 * gpu.capacity).count()
}

/// The throughputs of all workloads.
pub fn throughputs(problem: &Problem, shares: &Shares) -> Vec<f64> {
    workloads(problem).map(|l| shares.workload_throughput(problem, l)).collect()
}

fn workloads(problem: &Problem) -> impl Iterator<Item = WorkloadId> + use<> {
    (0..problem.workloads().len()).map(WorkloadId)
}

fn scaled(problem: &Problem, shares: &Shares, holder: WorkloadId, to: WorkloadId) -> Vec<f64> {
    let weight = |l: WorkloadId| problem.workloads()[l.index()].weight;
    shares.of_workload(holder).iter().map(|x| x * weight(to) / weight(holder)).collect()
}

/// What a bundle is worth to a workload: the fastest GPUs of it, as many as it can use.
fn usable(problem: &Problem, l: WorkloadId, bundle: &[f64]) -> f64 {
    let workload = &problem.workloads()[l.index()];
    let mut room = workload.demand.unwrap_or(f64::INFINITY);
    let mut order: Vec<usize> = (0..bundle.len()).collect();
    order.sort_by(|&a, &b| workload.speedup[b].total_cmp(&workload.speedup[a]));
    let mut value = 0.0;
    for j in order {
        let take = bundle[j].min(room);
        value += workload.speedup[j] * take;
        room -= take;
    }
    value
}
