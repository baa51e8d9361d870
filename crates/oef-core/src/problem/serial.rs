//! A problem that was written down and is read again: looked at before it counts as valid.

use super::{GpuType, Problem, Tenant, Workload, demand};
use crate::ids::TypeId;
use serde::Deserialize;
use thiserror::Error;

/// The fields of a problem as somebody wrote them.
#[derive(Deserialize)]
pub(super) struct Unchecked {
    types: Vec<GpuType>,
    tenants: Vec<Tenant>,
    workloads: Vec<Workload>,
    reference: TypeId,
    reference_declared: bool,
    total_weight: f64,
}

/// What was read is no problem.
#[derive(Debug, Error)]
#[error("this is not a valid problem: {0}")]
pub(super) struct NotAProblem(&'static str);

impl TryFrom<Unchecked> for Problem {
    type Error = NotAProblem;

    fn try_from(read: Unchecked) -> Result<Self, NotAProblem> {
        let Unchecked {
            types,
            tenants,
            mut workloads,
            reference,
            reference_declared,
            total_weight,
        } = read;
        let wrong = |what: &'static str| Err(NotAProblem(what));
        let amount = |x: f64| x.is_finite() && x >= 0.0;
        if reference.0 >= types.len() || !types.iter().all(|t| amount(t.capacity)) {
            return wrong("a gpu type is missing, or has no sensible number of GPUs");
        }
        let speeds = |row: &[f64]| row.len() == types.len() && row.iter().all(|&s| amount(s));
        let single = |w: &Workload| w.single.is_empty() || speeds(&w.single);
        if !workloads.iter().all(|w| speeds(&w.throughput) && single(w) && speeds(&w.speedup)) {
            return wrong("a workload has no sensible speed for every gpu type");
        }
        let mut next = 0;
        for (t, tenant) in tenants.iter().enumerate() {
            let own = workloads.get(tenant.workloads.clone());
            let owned = own.is_some_and(|own| own.iter().all(|w| w.tenant.0 == t));
            if tenant.workloads.start != next || tenant.workloads.is_empty() || !owned {
                return wrong("the workloads do not stand with their tenants");
            }
            next = tenant.workloads.end;
        }
        let weights = tenants.iter().map(|t| t.weight).chain(workloads.iter().map(|w| w.weight));
        if next != workloads.len() || !weights.chain([total_weight]).all(amount) {
            return wrong("a weight makes no sense, or a workload has no tenant");
        }
        let demands = tenants.iter().map(|t| t.demand);
        if !demands.chain(workloads.iter().map(|w| w.declared_demand)).flatten().all(amount) {
            return wrong("a demand makes no sense");
        }
        let width = |len: usize| len == 0 || len == types.len();
        let promises = |t: &Tenant| {
            let figures = t.guarantee.iter().copied().chain(t.limit.iter().flatten().copied());
            width(t.guarantee.len()) && width(t.limit.len()) && figures.into_iter().all(amount)
        };
        if !tenants.iter().all(promises) {
            return wrong("a guarantee or a limit makes no sense");
        }
        for tenant in &tenants {
            demand::divide(tenant.demand, &mut workloads[tenant.workloads.clone()]);
        }
        Ok(Problem { types, tenants, workloads, reference, reference_declared, total_weight })
    }
}
