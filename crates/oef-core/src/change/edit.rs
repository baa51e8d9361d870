//! Changes to a description of a problem, by name.

use crate::problem::{GpuSpec, ProblemSpec, TenantSpec, WorkloadSpec, edit_distance};
use thiserror::Error;

/// One change to a problem.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Gives a tenant another weight.
    SetWeight {
        /// The tenant's name.
        tenant: String,
        /// Its new weight.
        weight: f64,
    },
    /// Gives a tenant another demand, or none.
    SetDemand {
        /// The tenant's name.
        tenant: String,
        /// GPUs it can use at most; `None`: any number.
        demand: Option<f64>,
    },
    /// Gives a workload another throughput on one type (in the unit of its other throughputs).
    SetThroughput {
        /// The tenant's name.
        tenant: String,
        /// The workload's name; may be left out where the tenant has only one.
        workload: Option<String>,
        /// The gpu type's name.
        gpu: String,
        /// The throughput; 0: cannot run there.
        value: f64,
    },
    /// Sets the number of GPUs of a known type.
    SetCapacity {
        /// The gpu type's name.
        gpu: String,
        /// How many there are now.
        count: f64,
    },
    /// Adds GPUs of a known type or of a new one (nobody runs on a new one until given a throughput).
    AddGpus {
        /// The gpu type's name.
        gpu: String,
        /// How many more there are.
        count: f64,
    },
    /// Takes a tenant out.
    RemoveTenant {
        /// The tenant's name.
        tenant: String,
    },
    /// Adds a tenant.
    AddTenant(TenantSpec),
}

/// Why a change cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChangeError {
    /// The change names a tenant that is not there.
    #[error("there is no tenant `{name}`{}", did_you_mean(nearest))]
    UnknownTenant {
        /// The name in the change.
        name: String,
        /// The most similar tenant, if one is similar.
        nearest: Option<String>,
    },
    /// The change names a gpu type that is not there.
    #[error("there is no gpu type `{name}`{}", did_you_mean(nearest))]
    UnknownType {
        /// The name in the change.
        name: String,
        /// The most similar type, if one is similar.
        nearest: Option<String>,
    },
    /// The change names a workload that its tenant does not have.
    #[error("tenant `{tenant}` has no workload `{name}`{}", did_you_mean(nearest))]
    UnknownWorkload {
        /// The tenant.
        tenant: String,
        /// The name in the change.
        name: String,
        /// The most similar workload, if one is similar.
        nearest: Option<String>,
    },
    /// The change leaves out the workload, and the tenant has several.
    #[error("tenant `{tenant}` has {count} workloads: name the one that is meant")]
    WhichWorkload {
        /// The tenant.
        tenant: String,
        /// How many workloads it has.
        count: usize,
    },
    /// The change adds a tenant whose name is taken.
    #[error("there is a tenant `{name}` already")]
    TenantExists {
        /// The name.
        name: String,
    },
}

fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |n| format!("; did you mean `{n}`?"))
}

/// The description after the changes, made one after the other. Values are not checked here:
/// [`ProblemSpec::validate`] does.
pub fn apply(spec: &ProblemSpec, changes: &[Change]) -> Result<ProblemSpec, ChangeError> {
    let mut spec = spec.clone();
    for change in changes {
        make(&mut spec, change)?;
    }
    Ok(spec)
}

fn make(spec: &mut ProblemSpec, change: &Change) -> Result<(), ChangeError> {
    match change {
        Change::SetWeight { tenant, weight } => tenant_of(spec, tenant)?.weight = *weight,
        Change::SetDemand { tenant, demand } => tenant_of(spec, tenant)?.demand = *demand,
        Change::SetThroughput { tenant, workload, gpu, value } => {
            type_of(spec, gpu)?;
            let workload = workload_of(tenant_of(spec, tenant)?, workload.as_deref())?;
            match workload.throughput.iter_mut().find(|(name, _)| name == gpu) {
                Some((_, known)) => *known = *value,
                None => workload.throughput.push((gpu.clone(), *value)),
            }
        }
        Change::SetCapacity { gpu, count } => type_of(spec, gpu)?.count = *count,
        Change::AddGpus { gpu, count } => match type_of(spec, gpu) {
            Ok(known) => known.count += count,
            Err(_) => spec.gpus.push(GpuSpec { name: gpu.clone(), count: *count }),
        },
        Change::RemoveTenant { tenant } => {
            tenant_of(spec, tenant)?;
            spec.tenants.retain(|t| t.name != *tenant);
        }
        Change::AddTenant(tenant) => {
            if spec.tenants.iter().any(|t| t.name == tenant.name) {
                return Err(ChangeError::TenantExists { name: tenant.name.clone() });
            }
            spec.tenants.push(tenant.clone());
        }
    }
    Ok(())
}

fn tenant_of<'a>(spec: &'a mut ProblemSpec, name: &str) -> Result<&'a mut TenantSpec, ChangeError> {
    let Some(at) = spec.tenants.iter().position(|t| t.name == name) else {
        let nearest = nearest(name, spec.tenants.iter().map(|t| t.name.as_str()));
        return Err(ChangeError::UnknownTenant { name: name.into(), nearest });
    };
    Ok(&mut spec.tenants[at])
}

fn type_of<'a>(spec: &'a mut ProblemSpec, name: &str) -> Result<&'a mut GpuSpec, ChangeError> {
    let Some(at) = spec.gpus.iter().position(|g| g.name == name) else {
        let nearest = nearest(name, spec.gpus.iter().map(|g| g.name.as_str()));
        return Err(ChangeError::UnknownType { name: name.into(), nearest });
    };
    Ok(&mut spec.gpus[at])
}

fn workload_of<'a>(
    tenant: &'a mut TenantSpec,
    name: Option<&str>,
) -> Result<&'a mut WorkloadSpec, ChangeError> {
    let count = tenant.workloads.len();
    let Some(name) = name else {
        return match tenant.workloads.as_mut_slice() {
            [only] => Ok(only),
            _ => Err(ChangeError::WhichWorkload { tenant: tenant.name.clone(), count }),
        };
    };
    let Some(at) = tenant.workloads.iter().position(|w| w.name == name) else {
        let nearest = nearest(name, tenant.workloads.iter().map(|w| w.name.as_str()));
        let tenant = tenant.name.clone();
        return Err(ChangeError::UnknownWorkload { tenant, name: name.into(), nearest });
    };
    Ok(&mut tenant.workloads[at])
}

/// The most similar of the known names, if it is similar enough to have been meant.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let (distance, near) = known.map(|k| (edit_distance(name, k), k)).min()?;
    (distance <= 2.max(name.chars().count() / 3)).then(|| near.to_string())
}
