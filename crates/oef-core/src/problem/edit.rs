//! Changes to a valid problem that keep it valid, without building it anew.
//!
//! A description of ten thousand tenants takes longer to check than its shares take to be found
//! again; these take time for what changes only. The reference type stays what it was.

use super::{
    Field, InvalidProblem, Problem, ProblemError, ProblemSpec, TenantSpec, reference, total_weight,
};
use crate::ids::{TenantId, TypeId};

impl Problem {
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
        if self.workloads.iter().any(|w| w.unit()[self.reference.0] == 0.0) {
            reference::normalise(self.reference, &mut self.workloads);
        }
    }

    fn without_tenants(&self) -> Problem {
        Problem { types: self.types.clone(), tenants: Vec::new(), workloads: Vec::new(), ..*self }
    }
}
