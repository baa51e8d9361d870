//! Changes to a valid problem that keep it valid, without building it anew.
//!
//! A description of ten thousand tenants takes longer to check than its shares take to be found
//! again; these take time for what changes only. The reference type stays what it was.

use super::{
    Field, InvalidProblem, Problem, ProblemError, ProblemSpec, Tenant, TenantSpec, reference,
    total_weight,
};
use crate::ids::{TenantId, TypeId, WorkloadId};

impl Problem {
    /// The problem of some of its workloads, without demands, with other numbers of GPUs (by type; missing
    /// and meaningless ones are 0). Every workload keeps its weight and its speedups; tenants of which
    /// none is left are gone. `None` where nobody is left.
    pub fn part(&self, keep: impl Fn(WorkloadId) -> bool, capacity: &[f64]) -> Option<Problem> {
        let mut part = self.without_tenants();
        for (j, gpu) in part.types.iter_mut().enumerate() {
            let given = capacity.get(j).copied().unwrap_or(0.0);
            gpu.capacity = if given.is_finite() { given.max(0.0) } else { 0.0 };
        }
        for tenant in &self.tenants {
            let first = part.workloads.len();
            let kept = tenant.workloads.clone().filter(|&l| keep(WorkloadId(l)));
            part.workloads.extend(kept.map(|l| self.workloads[l].clone()));
            let own = &mut part.workloads[first..];
            if own.is_empty() {
                continue;
            }
            for workload in own.iter_mut() {
                workload.tenant = TenantId(part.tenants.len());
                (workload.declared_demand, workload.demand) = (None, None);
            }
            part.tenants.push(Tenant {
                name: tenant.name.clone(),
                weight: own.iter().map(|w| w.weight).sum(),
                demand: None,
                workloads: first..part.workloads.len(),
            });
        }
        part.total_weight = total_weight(&part.tenants);
        (!part.tenants.is_empty()).then_some(part)
    }

    /// Adds a tenant at the end.
    pub(crate) fn add_tenant(&mut self, tenant: &TenantSpec) -> Result<(), InvalidProblem> {
        let alone = ProblemSpec {
            reference: Some(self.types[self.reference.0].name.clone()),
            gpus: ProblemSpec::from(&self.without_tenants()).gpus,
            tenants: vec![tenant.clone()],
        };
        let added = alone.validate()?;
        if self.tenant_named(&tenant.name).is_some() {
            return Err(InvalidProblem(vec![ProblemError {
                field: Field::TenantName(self.tenants.len()),
                message: format!("tenant `{}` occurs twice", tenant.name),
                hint: "rename one of them, or merge the two".into(),
                is_limit: false,
            }]));
        }
        let first = self.workloads.len();
        let id = TenantId(self.tenants.len());
        for mut own in added.tenants {
            own.workloads = first..first + own.workloads.len();
            self.tenants.push(own);
        }
        for mut workload in added.workloads {
            workload.tenant = id;
            self.workloads.push(workload);
        }
        self.settle();
        Ok(())
    }

    /// Takes a tenant out; the others keep their order.
    pub(crate) fn remove_tenant(&mut self, tenant: TenantId) {
        let gone = self.tenants.remove(tenant.0).workloads;
        self.workloads.drain(gone.clone());
        for later in &mut self.tenants[tenant.0..] {
            later.workloads.start -= gone.len();
            later.workloads.end -= gone.len();
        }
        for workload in &mut self.workloads[gone.start..] {
            workload.tenant.0 -= 1;
        }
        self.settle();
    }

    /// Gives a tenant another weight, to be divided over its workloads as before.
    pub(crate) fn set_weight(&mut self, tenant: TenantId, weight: f64) {
        let owner = &mut self.tenants[tenant.0];
        let factor = weight / owner.weight;
        owner.weight = weight;
        for workload in &mut self.workloads[owner.workloads.clone()] {
            workload.weight *= factor;
        }
        self.settle();
    }

    /// Sets the number of GPUs of a type.
    pub(crate) fn set_capacity(&mut self, gpu: TypeId, count: f64) {
        self.types[gpu.0].capacity = count;
    }

    /// Makes room for arrivals, so that the first one does not move everybody.
    pub(crate) fn reserve(&mut self) {
        self.tenants.reserve(self.tenants.len() / 4 + 16);
        self.workloads.reserve(self.workloads.len() / 4 + 16);
    }

    /// Brings what is derived up to date.
    fn settle(&mut self) {
        self.total_weight = total_weight(&self.tenants);
        // Only workloads that cannot run on the reference type are normalised by those of others.
        if self.workloads.iter().any(|w| w.throughput[self.reference.0] == 0.0) {
            reference::normalise(self.reference, &mut self.workloads);
        }
    }

    fn without_tenants(&self) -> Problem {
        Problem { types: self.types.clone(), tenants: Vec::new(), workloads: Vec::new(), ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_keeps_weights_and_speedups() {
        let rows: [&[f64]; 3] = [&[1.0, 2.0], &[0.0, 3.0], &[2.0, 5.0]];
        let mut spec = ProblemSpec::from_matrix(&[2.0, 1.0], &rows);
        let second = spec.tenants[2].workloads[0].clone();
        spec.tenants[2].weight = 3.0;
        spec.tenants[2].workloads.push(crate::WorkloadSpec { name: "b".into(), ..second });
        let whole = spec.validate().unwrap();
        let part = whole.part(|l| l.0 == 1 || l.0 == 3, &[0.5]).unwrap();
        let capacity: Vec<f64> = part.types().iter().map(|t| t.capacity).collect();
        assert_eq!((capacity, part.tenants().len()), (vec![0.5, 0.0], 2));
        assert_eq!((part.tenants()[1].weight, part.total_weight()), (1.5, 2.5));
        assert_eq!(part.workloads()[0].speedup, whole.workloads()[1].speedup);
        assert_eq!(part.workloads()[1].tenant, TenantId(1));
        assert!(whole.part(|_| false, &[1.0, 1.0]).is_none());
        let same = whole.part(|_| true, &[2.0, f64::NAN]).unwrap();
        assert_eq!((same.workloads(), same.types()[1].capacity), (whole.workloads(), 0.0));
    }
}
