//! The data of an explanation.

use crate::ids::{TenantId, TypeId, WorkloadId};
use crate::mechanism::Outcome;

/// Why a result is what it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The result that is explained.
    pub outcome: Outcome,
    /// Its total throughput.
    pub total: f64,
    /// Every gpu type, in the problem's order.
    pub types: Vec<TypeReason>,
    /// Every tenant, in the problem's order.
    pub tenants: Vec<TenantReason>,
    /// Pairs between which envy binds: the first would envy the second if a little were moved.
    /// Empty for a mechanism that does not promise to leave none, and beyond
    /// [`TENANTS_COMPARED_MAX`](super::TENANTS_COMPARED_MAX) tenants.
    pub envy_ties: Vec<EnvyTie>,
}

/// One gpu type in an explanation.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeReason {
    /// The type.
    pub gpu: TypeId,
    /// Its price in total normalised throughput per GPU; `None` for a mechanism without prices.
    pub price: Option<f64>,
    /// GPUs there are.
    pub capacity: f64,
    /// GPUs handed out.
    pub used: f64,
    /// Whether all of them are handed out: the capacity binds.
    pub exhausted: bool,
    /// What one more GPU of this type would do; `None` where the problem with it was not solved (the
    /// solve failed or was stopped).
    pub one_more: Option<OneMore>,
}

/// What one more GPU would do, by solving again.
#[derive(Clone, Debug, PartialEq)]
pub struct OneMore {
    /// The change of the total throughput.
    pub total: f64,
    /// The change of each tenant's throughput, in the problem's order.
    pub tenants: Vec<f64>,
}

/// One tenant in an explanation.
#[derive(Clone, Debug, PartialEq)]
pub struct TenantReason {
    /// The tenant.
    pub tenant: TenantId,
    /// Its throughput.
    pub throughput: f64,
    /// Its throughput if every type were divided by weight.
    pub equal_split: f64,
    /// Whether it gets no more than its equal split: the sharing incentive binds.
    pub at_floor: bool,
    /// Whether it holds all the GPUs that it can use: its demand binds.
    pub at_demand: bool,
    /// Every type that each of its workloads can use and that exists, workload after workload.
    pub holdings: Vec<Holding>,
    /// Those whose bundle is worth as much to it as its own: they limit what they may be given.
    pub would_envy: Vec<TenantId>,
    /// Those to whom its bundle is worth as much as theirs: they limit what it may be given.
    pub envied_by: Vec<TenantId>,
}

/// One type seen by one workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Holding {
    /// The workload.
    pub workload: WorkloadId,
    /// The type.
    pub gpu: TypeId,
    /// GPUs that it holds of it.
    pub gpus: f64,
    /// Its speedup there.
    pub speedup: f64,
    /// Speedup over price: throughput for one unit of price; `None` without a positive price.
    pub value_for_money: Option<f64>,
    /// Whether no type gives this workload more value for money.
    pub best: bool,
}

/// A pair of tenants between which envy binds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EnvyTie {
    /// Who would envy if a little were moved.
    pub envious: TenantId,
    /// Whom it would envy.
    pub envied: TenantId,
    /// Its throughput, which both bundles give it (beyond guarantees and limits, where there are any).
    pub throughput: f64,
}
