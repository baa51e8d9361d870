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

/// The throughput of a tenant if every type were divided by weight, each workload using what it can: the yardstick
/// of the sharing incentive.
pub fn equal_split(problem: &Problem, tenant: TenantId) -> f64 {
    problem.workload_ids_of(tenant).map(|id| workload_equal_split(problem, id)).sum()
}

/// The throughput of one workload if every type were divided by weight. A demand below the equal split counts only
/// the best GPUs that the workload can use of it.
pub fn workload_equal_split(problem: &Problem, workload: WorkloadId) -> f64 {
    let Some(of) = problem.workloads().get(workload.0) else { return 0.0 };
    let part = of.weight / problem.total_weight();
    let bundle: Vec<f64> = problem.types().iter().map(|t| t.capacity * part).collect();
    usable_value(&of.speedup, &bundle, of.demand)
}

/// What a bundle is worth to a workload that can use at most `demand` GPUs: the value of the fastest `demand` GPUs
/// in it, `min over a >= 0 of a D + sum_j max(w_j - a, 0) z_j`.
pub fn usable_value(speedup: &[f64], bundle: &[f64], demand: Option<f64>) -> f64 {
    let Some(demand) = demand.filter(|&demand| demand < bundle.iter().sum()) else {
        return dot(speedup, bundle);
    };
    let offers = speedup.iter().copied().zip(bundle.iter().copied());
    let mut offers: Vec<(f64, f64)> = offers.filter(|&(w, z)| w > 0.0 && z > 0.0).collect();
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
