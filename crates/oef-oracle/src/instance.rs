//! A problem in fractions: the same numbers, exactly.

use crate::normal;
use crate::program::Q;
use num_traits::{Signed, Zero};
use oef_core::Problem;

/// The numbers of a problem. A row is a workload, a virtual tenant of its own weight.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// Speedups, row by row.
    pub speedup: Vec<Vec<Q>>,
    /// Weights of the rows.
    pub weight: Vec<Q>,
    /// GPUs of each type.
    pub count: Vec<Q>,
    /// The tenant that owns each row.
    pub tenant: Vec<usize>,
    /// GPUs that each tenant can use at most.
    pub demand: Vec<Option<Q>>,
}

/// Shares by row and type, exactly.
pub type Matrix = Vec<Vec<Q>>;

impl From<&Problem> for Instance {
    fn from(problem: &Problem) -> Self {
        let rows = problem.workloads();
        Instance {
            speedup: normal::speedups(problem),
            weight: rows.iter().map(|w| fraction(w.weight)).collect(),
            count: problem.types().iter().map(|t| fraction(t.capacity)).collect(),
            tenant: rows.iter().map(|w| w.tenant.index()).collect(),
            demand: problem.tenants().iter().map(|t| t.demand.map(fraction)).collect(),
        }
    }
}

impl Instance {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.speedup.len()
    }

    /// Number of gpu types.
    pub fn types(&self) -> usize {
        self.count.len()
    }

    /// The rows of one tenant.
    pub fn rows_of(&self, tenant: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.rows()).filter(move |&l| self.tenant[l] == tenant)
    }

    /// The demand of the tenant that owns a row.
    pub fn demand_of_row(&self, row: usize) -> Option<&Q> {
        self.demand[self.tenant[row]].as_ref()
    }

    /// Whether some tenant cannot use any number of GPUs.
    pub fn has_demand(&self) -> bool {
        self.demand.iter().any(Option::is_some)
    }

    /// The throughput of a row with some GPUs.
    pub fn value(&self, row: usize, gpus: &[Q]) -> Q {
        self.speedup[row].iter().zip(gpus).map(|(w, x)| w * x).sum()
    }

    /// The most throughput that a row gets of some GPUs if it may use at most `room` of them.
    pub fn usable_value(&self, row: usize, gpus: &[Q], room: Option<&Q>) -> Q {
        let Some(room) = room else {
            return self.value(row, gpus);
        };
        let mut order: Vec<usize> = (0..self.types()).collect();
        order.sort_by(|&a, &b| self.speedup[row][b].cmp(&self.speedup[row][a]));
        let (mut value, mut room) = (Q::zero(), room.clone());
        for j in order {
            let take = (&gpus[j]).min(&room).clone();
            value += &take * &self.speedup[row][j];
            room -= take;
        }
        value
    }

    /// The bundle of a row when every type is divided by weight.
    pub fn equal_bundle(&self, row: usize) -> Vec<Q> {
        let total: Q = self.weight.iter().sum();
        self.count.iter().map(|m| m * &self.weight[row] / &total).collect()
    }

    /// The throughput of a row when every type is divided by weight.
    pub fn equal_split(&self, row: usize) -> Q {
        self.value(row, &self.equal_bundle(row))
    }

    /// The same, counting only what the row can use of it (a tenant of one workload with a demand).
    pub fn usable_equal_split(&self, row: usize) -> Q {
        self.usable_value(row, &self.equal_bundle(row), self.demand_of_row(row))
    }

    /// The throughputs of all rows.
    pub fn throughputs(&self, shares: &Matrix) -> Vec<Q> {
        (0..self.rows()).map(|l| self.value(l, &shares[l])).collect()
    }

    /// Whether every workload runs on every type.
    pub fn is_positive(&self) -> bool {
        self.speedup.iter().flatten().all(Signed::is_positive)
    }
}

/// The number, exactly.
pub fn fraction(value: f64) -> Q {
    Q::from_float(value).expect("problems hold finite numbers only")
}
