//! Shares: the real-valued GPUs of each type that every workload is entitled to.

use crate::ids::{TenantId, TypeId, WorkloadId};
use crate::problem::Problem;

/// GPUs per workload and type, in the orders of the problem they were computed for.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Shares {
    types: usize,
    gpus: Vec<f64>,
}

impl Shares {
    /// Nothing for anybody.
    pub fn zero(problem: &Problem) -> Self {
        let types = problem.types().len();
        Shares { types, gpus: vec![0.0; types * problem.workloads().len()] }
    }

    /// Whether there is a figure for every workload and type of a problem, each a finite number.
    pub fn is_for(&self, problem: &Problem) -> bool {
        let (types, workloads) = (problem.types().len(), problem.workloads().len());
        let sound = self.gpus.iter().all(|x| x.is_finite());
        sound && self.types == types && self.gpus.len() == types * workloads
    }

    /// GPUs of one type for one workload.
    pub fn get(&self, workload: WorkloadId, gpu: TypeId) -> f64 {
        self.gpus[workload.0 * self.types + gpu.0]
    }

    /// Sets the GPUs of one type for one workload.
    pub fn set(&mut self, workload: WorkloadId, gpu: TypeId, amount: f64) {
        self.gpus[workload.0 * self.types + gpu.0] = amount;
    }

    /// All GPUs of one workload, type after type.
    pub fn of_workload(&self, workload: WorkloadId) -> &[f64] {
        &self.gpus[workload.0 * self.types..][..self.types]
    }

    /// All GPUs of one tenant (the sum over its workloads), type after type.
    pub fn of_tenant(&self, problem: &Problem, tenant: TenantId) -> Vec<f64> {
        let mut sum = vec![0.0; self.types];
        for workload in problem.workload_ids_of(tenant) {
            for (s, x) in sum.iter_mut().zip(self.of_workload(workload)) {
                *s += x;
            }
        }
        sum
    }

    /// GPUs handed out of one type.
    pub fn used(&self, gpu: TypeId) -> f64 {
        self.gpus.iter().skip(gpu.0).step_by(self.types.max(1)).sum()
    }

    /// Normalised throughput of one workload with its share.
    pub fn workload_throughput(&self, problem: &Problem, workload: WorkloadId) -> f64 {
        dot(&problem.workloads()[workload.0].speedup, self.of_workload(workload))
    }

    /// Normalised throughput of one tenant: the sum over its workloads.
    pub fn throughput(&self, problem: &Problem, tenant: TenantId) -> f64 {
        problem.workload_ids_of(tenant).map(|w| self.workload_throughput(problem, w)).sum()
    }

    /// Normalised throughput of all tenants together.
    pub fn total(&self, problem: &Problem) -> f64 {
        problem.tenant_ids().map(|t| self.throughput(problem, t)).sum()
    }
}

/// The throughput of a tenant if every type were divided by weight, each workload using what it can:
/// the yardstick of the sharing incentive. A demand below the equal split counts only the best GPUs
/// that the tenant can use of it.
pub fn equal_split(problem: &Problem, tenant: TenantId) -> f64 {
    let total = problem.total_weight();
    let bundles = problem.workload_ids_of(tenant).map(|id| {
        let workload = &problem.workloads()[id.0];
        let part = workload.weight / total;
        (
            workload.speedup.as_slice(),
            problem.types().iter().map(move |t| t.capacity * part).collect(),
        )
    });
    let bundles: Vec<(&[f64], Vec<f64>)> = bundles.collect();
    usable_value(&bundles, problem.tenants()[tenant.0].demand)
}

/// The throughput of one workload if every type were divided by weight, without a look at the demand of its
/// tenant, which counts for all of the tenant's workloads together.
pub fn workload_equal_split(problem: &Problem, workload: WorkloadId) -> f64 {
    let Some(of) = problem.workloads().get(workload.0) else { return 0.0 };
    let part = of.weight / problem.total_weight();
    of.speedup.iter().zip(problem.types()).map(|(speed, t)| speed * t.capacity * part).sum()
}

/// What the best part of some bundles is worth to a tenant that can use at most `demand` GPUs: each
/// workload values its own bundle by its own speedups; the fastest GPUs are taken first.
pub fn usable_value<B: AsRef<[f64]>>(bundles: &[(&[f64], B)], demand: Option<f64>) -> f64 {
    let Some(demand) = demand else {
        return bundles.iter().map(|(speedup, bundle)| dot(speedup, bundle.as_ref())).sum();
    };
    let mut offers: Vec<(f64, f64)> = bundles
        .iter()
        .flat_map(|(speedup, bundle)| speedup.iter().copied().zip(bundle.as_ref().iter().copied()))
        .filter(|&(speed, gpus)| speed > 0.0 && gpus > 0.0)
        .collect();
    offers.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut value, mut room) = (0.0, demand);
    for (speed, gpus) in offers {
        let take = gpus.min(room);
        value += speed * take;
        room -= take;
    }
    value
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
