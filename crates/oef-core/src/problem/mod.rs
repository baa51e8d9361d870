//! What is to be shared among whom: gpu types with capacities, tenants with weights and workloads.

pub(crate) mod demand;
mod edit;
mod limits;
mod profile;
mod reference;
#[cfg(feature = "serde")]
mod serial;
mod spec;
mod validate;

pub use demand::water_fill;
pub use limits::{MAX_COOPERATIVE_PROFILES, MAX_GPU_TYPES, MAX_WORKLOADS};
pub use profile::{MAX_LIVE_RATIO, UnusableProfile, check_profile, check_profile_within};
pub use spec::{GpuSpec, ProblemSpec, TenantSpec, WorkloadSpec};
pub(crate) use validate::edit_distance;
pub use validate::{Field, InvalidProblem, ProblemError};

use crate::ids::{TenantId, TypeId, WorkloadId};
use std::ops::Range;

/// A valid problem: every number finite, every name unique, every tenant able to run somewhere.
///
/// The only way to one is [`ProblemSpec::validate`], so the mechanisms need no checks of their own.
/// Orders are those of the description; no result depends on them.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "serial::Unchecked"))]
pub struct Problem {
    pub(crate) types: Vec<GpuType>,
    pub(crate) tenants: Vec<Tenant>,
    pub(crate) workloads: Vec<Workload>,
    pub(crate) reference: TypeId,
    pub(crate) reference_declared: bool,
    pub(crate) total_weight: f64,
}

/// A kind of device and how many whole, healthy ones there are.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GpuType {
    /// Unique name.
    pub name: String,
    /// Number of GPUs, `>= 0`; may be fractional.
    pub capacity: f64,
}

/// A party that owns weight; fairness is between tenants.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Tenant {
    /// Unique name.
    pub name: String,
    /// What it counts, `> 0`.
    pub weight: f64,
    /// GPUs it can use at most, over all its workloads; `None`: any number.
    pub demand: Option<f64>,
    pub(crate) workloads: Range<usize>,
    /// GPUs of each type that it gets before anybody's share, as far as it can use them; empty: none of any.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub guarantee: Vec<f64>,
    /// GPUs of each type that it gets at most; empty: no limit on any.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub limit: Vec<Option<f64>>,
}

impl Tenant {
    /// GPUs of a type that it is guaranteed.
    pub fn guarantee_on(&self, gpu: TypeId) -> f64 {
        self.guarantee.get(gpu.0).copied().unwrap_or(0.0)
    }

    /// GPUs of a type that it gets at most; `None`: no limit.
    pub fn limit_on(&self, gpu: TypeId) -> Option<f64> {
        self.limit.get(gpu.0).copied().flatten()
    }
}

/// A kind of job of one tenant with one profile: a virtual tenant.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Workload {
    /// Unique within its tenant.
    pub name: String,
    /// The tenant that owns it.
    pub tenant: TenantId,
    /// Its part of the tenant's weight (the parts of one tenant add up to the tenant's weight).
    pub weight: f64,
    /// GPUs that it says it can use at most; `None`: any number.
    #[cfg_attr(feature = "serde", serde(default))]
    pub declared_demand: Option<f64>,
    /// GPUs that it can use at most, with its part of the tenant's demand; `None`: any number.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub demand: Option<f64>,
    /// As declared: throughput on each gpu type, in any unit; 0: cannot run there.
    pub throughput: Vec<f64>,
    /// The throughput of a single worker, where the jobs are gangs; empty: as `throughput`.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub single: Vec<f64>,
    /// The throughput, normalised so that a single worker on the reference type counts 1 (see [`Problem::reference`]).
    pub speedup: Vec<f64>,
}

impl Workload {
    /// The throughputs of a single worker, which say what counts as 1.
    pub(crate) fn unit(&self) -> &[f64] {
        if self.single.is_empty() { &self.throughput } else { &self.single }
    }
}

impl Problem {
    /// The gpu types.
    pub fn types(&self) -> &[GpuType] {
        &self.types
    }

    /// The tenants.
    pub fn tenants(&self) -> &[Tenant] {
        &self.tenants
    }

    /// All workloads, tenant after tenant.
    pub fn workloads(&self) -> &[Workload] {
        &self.workloads
    }

    /// The workloads of one tenant.
    pub fn workloads_of(&self, tenant: TenantId) -> &[Workload] {
        &self.workloads[self.tenants[tenant.0].workloads.clone()]
    }

    /// The ids of the workloads of one tenant.
    pub fn workload_ids_of(&self, tenant: TenantId) -> impl Iterator<Item = WorkloadId> + use<> {
        self.tenants[tenant.0].workloads.clone().map(WorkloadId)
    }

    /// The ids of all tenants, in the problem's order.
    pub fn tenant_ids(&self) -> impl Iterator<Item = TenantId> + use<> {
        (0..self.tenants.len()).map(TenantId)
    }

    /// The type whose throughput counts 1 for every workload that can run on it.
    ///
    /// Declared in the problem, or else the type that is slowest for the most weight. A workload that
    /// cannot run there is normalised by its slowest runnable type, multiplied by the (weighted)
    /// median speedup of that type among the workloads that run on both (at most 1,000, at least 1/1,000: one
    /// tenant's odd profile must not make another's figures meaningless).
    pub fn reference(&self) -> TypeId {
        self.reference
    }

    /// Whether the problem named its reference type (otherwise it was derived).
    pub fn reference_declared(&self) -> bool {
        self.reference_declared
    }

    /// The sum of all weights.
    pub fn total_weight(&self) -> f64 {
        self.total_weight
    }

    /// The tenant of that name.
    pub fn tenant_named(&self, name: &str) -> Option<TenantId> {
        self.tenants.iter().position(|t| t.name == name).map(TenantId)
    }

    /// The gpu type of that name.
    pub fn type_named(&self, name: &str) -> Option<TypeId> {
        self.types.iter().position(|t| t.name == name).map(TypeId)
    }
}

/// The sum of the weights, from the least to the greatest: the order of the tenants must not show, not
/// even in the last digit.
pub(crate) fn total_weight(tenants: &[Tenant]) -> f64 {
    let mut weights: Vec<f64> = tenants.iter().map(|t| t.weight).collect();
    weights.sort_by(f64::total_cmp);
    weights.iter().sum()
}
