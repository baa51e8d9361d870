//! The properties that one pass over the shares decides: capacity, demand, sharing incentive.

use super::certificate::{AUDIT_TOLERANCE, Finding, OverDemand, Overuse, Promise, Shortfall};
use crate::ids::{TenantId, TypeId, WorkloadId};
use crate::problem::Problem;
use crate::shares::{Shares, equal_split};

/// What every tenant has, and what it would have in an equal split.
pub(super) struct Figures {
    pub throughput: Vec<f64>,
    pub equal_split: Vec<f64>,
}

impl Figures {
    pub fn new(problem: &Problem, shares: &Shares) -> Self {
        let throughput = problem.tenant_ids().map(|t| shares.throughput(problem, t)).collect();
        Figures { throughput, equal_split: equal_splits(problem) }
    }
}

/// The [`equal_split`] of every tenant, in the problem's order.
pub fn equal_splits(problem: &Problem) -> Vec<f64> {
    problem.tenant_ids().map(|t| equal_split(problem, t)).collect()
}

/// No type beyond its capacity, and nobody below zero. The excess is relative to the capacity, or to
/// the whole cluster for a type without GPUs.
pub(super) fn capacity(problem: &Problem, shares: &Shares) -> Finding<Overuse> {
    let types = problem.types();
    let cluster: f64 = types.iter().map(|t| t.capacity).sum();
    let (mut used, mut least) = (vec![0.0; types.len()], vec![0.0_f64; types.len()]);
    for l in 0..problem.workloads().len() {
        for (j, &gpus) in shares.of_workload(WorkloadId(l)).iter().enumerate() {
            used[j] += gpus;
            // `f64::min` would pass over NaN, which is the worst.
            least[j] = if gpus.is_nan() { gpus } else { least[j].min(gpus) };
        }
    }
    let excesses = types.iter().enumerate().flat_map(|(j, gpu)| {
        let scale = if gpu.capacity > 0.0 { gpu.capacity } else { cluster };
        let over = Overuse { gpu: TypeId(j), used: used[j], capacity: gpu.capacity };
        let below = Overuse { used: least[j], ..over };
        [((used[j] - gpu.capacity) / scale, over), (-least[j] / scale, below)]
    });
    largest_excess(excesses)
}

/// No workload beyond its demand; a demand of 0 is measured against one GPU.
pub(super) fn demand(problem: &Problem, shares: &Shares) -> Finding<OverDemand> {
    let excesses = problem.workloads().iter().enumerate().filter_map(|(l, workload)| {
        let (tenant, demand) = (workload.tenant, workload.demand?);
        let used = shares.of_workload(WorkloadId(l)).iter().sum();
        let scale = if demand > 0.0 { demand } else { 1.0 };
        Some(((used - demand) / scale, OverDemand { tenant, used, demand }))
    });
    largest_excess(excesses)
}

/// Everybody has what it can use of its guarantees.
pub(super) fn guarantee(problem: &Problem, shares: &Shares) -> Finding<Promise> {
    if problem.tenants().iter().all(|t| t.guarantee.is_empty()) {
        return largest_excess(std::iter::empty());
    }
    let usable = problem.usable_guarantees();
    let lacks = problem.tenant_ids().flat_map(|tenant| {
        let (has, least) = (shares.of_tenant(problem, tenant), usable.of_tenant(problem, tenant));
        let pairs: Vec<(f64, f64)> = has.into_iter().zip(least).collect();
        pairs.into_iter().enumerate().filter(|(_, (_, least))| *least > 0.0).map(
            move |(j, (has, bound))| {
                ((bound - has) / bound, Promise { tenant, gpu: TypeId(j), has, bound })
            },
        )
    });
    largest_excess(lacks)
}

/// Nobody is above its limit of a type; a limit of 0 is measured against one GPU.
pub(super) fn limit(problem: &Problem, shares: &Shares) -> Finding<Promise> {
    let limited = problem.tenant_ids().filter(|t| !problem.tenants()[t.0].limit.is_empty());
    let excesses = limited.flat_map(|tenant| {
        let has = shares.of_tenant(problem, tenant);
        has.into_iter().enumerate().filter_map(move |(j, has)| {
            let bound = problem.tenants()[tenant.0].limit_on(TypeId(j))?;
            let scale = if bound > 0.0 { bound } else { 1.0 };
            Some(((has - bound) / scale, Promise { tenant, gpu: TypeId(j), has, bound }))
        })
    });
    largest_excess(excesses)
}

/// No tenant below its equal split; one whose equal split is nothing cannot fall below it.
pub(super) fn sharing_incentive(figures: &Figures) -> Finding<Shortfall> {
    let mut worst: Option<(f64, usize)> = None;
    for (t, (&own, &split)) in figures.throughput.iter().zip(&figures.equal_split).enumerate() {
        let ratio = if split > 0.0 { finite(own / split, 0.0) } else { 1.0 };
        if worst.is_none_or(|(least, _)| ratio < least) {
            worst = Some((ratio, t));
        }
    }
    let (worst, t) = worst.unwrap_or((1.0, 0));
    let holds = worst >= 1.0 - AUDIT_TOLERANCE;
    let witness = (!holds).then(|| Shortfall {
        tenant: TenantId(t),
        throughput: figures.throughput[t],
        equal_split: figures.equal_split[t],
    });
    Finding { holds, worst, witness }
}

fn largest_excess<W>(excesses: impl Iterator<Item = (f64, W)>) -> Finding<W> {
    let mut finding = Finding { holds: true, worst: 0.0, witness: None };
    for (excess, witness) in excesses {
        let excess = finite(excess, f64::MAX);
        if excess > finding.worst {
            finding.worst = excess;
            finding.holds = excess <= AUDIT_TOLERANCE;
            finding.witness = (!finding.holds).then_some(witness);
        }
    }
    finding
}

/// Results go into JSON, which knows no NaN and no infinity.
pub(super) fn finite(value: f64, otherwise: f64) -> f64 {
    if value.is_finite() { value } else { otherwise }
}
