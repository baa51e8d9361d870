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

    /// The demand of a tenant, if it can bind: one that covers every GPU is none.
    pub fn cap(&self, tenant: usize) -> Option<&Q> {
        let useful = (0..self.types()).filter(|&j| self.speedup.iter().any(|w| !w[j].is_zero()));
        let all: Q = useful.map(|j| &self.count[j]).sum();
        self.demand[tenant].as_ref().filter(|demand| **demand < all)
    }

    /// Who stands for itself: every row, but the rows of a tenant with a cap together.
    pub fn parties(&self) -> Vec<Vec<usize>> {
        let tenants = 0..self.demand.len();
        let rows = tenants.map(|t| (t, self.rows_of(t).collect::<Vec<usize>>()));
        let parties = rows.flat_map(|(t, rows)| match self.cap(t) {
            Some(_) => vec![rows],
            None => rows.into_iter().map(|l| vec![l]).collect(),
        });
        parties.collect()
    }

    /// Whether some tenant cannot use any number of GPUs.
    pub fn has_demand(&self) -> bool {
        self.demand.iter().any(Option::is_some)
    }

    /// The throughput of a row with some GPUs.
    pub fn value(&self, row: usize, gpus: &[Q]) -> Q {
        self.speedup[row].iter().zip(gpus).map(|(w, x)| w * x).sum()
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

    /// The throughput of a party when every type is divided by weight, counting only the fastest GPUs
    /// that it can use of its part.
    pub fn usable_equal_split(&self, party: &[usize]) -> Q {
        let mut offers: Vec<(Q, Q)> = Vec::new();
        for &l in party {
            offers.extend(self.speedup[l].iter().cloned().zip(self.equal_bundle(l)));
        }
        offers.sort_by(|a, b| b.0.cmp(&a.0));
        let cap = self.cap(self.tenant[party[0]]).cloned();
        let mut room = cap.unwrap_or_else(|| offers.iter().map(|(_, gpus)| gpus).sum());
        let mut value = Q::zero();
        for (speed, gpus) in offers {
            let take = gpus.min(room.clone());
            value += &take * speed;
            room -= take;
        }
        value
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
