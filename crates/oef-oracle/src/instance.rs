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
    /// GPUs that each row can use at most.
    pub demand: Vec<Option<Q>>,
}

/// Shares by row and type, exactly.
pub type Matrix = Vec<Vec<Q>>;

impl From<&Problem> for Instance {
    fn from(problem: &Problem) -> Self {
        Instance::within(problem, None)
    }
}

impl Instance {
    /// The numbers of a problem in which no tenant may have more than `limit` GPUs.
    pub fn within(problem: &Problem, limit: Option<f64>) -> Self {
        let rows = problem.workloads();
        let demand = problem.tenant_ids().flat_map(|t| {
            let own = problem.tenants()[t.index()].demand;
            let limit = own.into_iter().chain(limit).reduce(f64::min).map(fraction);
            let rows = problem.workloads_of(t).iter();
            let rows = rows.map(|w| (fraction(w.weight), w.declared_demand.map(fraction)));
            demands(limit, rows.collect())
        });
        Instance {
            speedup: normal::speedups(problem),
            weight: rows.iter().map(|w| fraction(w.weight)).collect(),
            count: problem.types().iter().map(|t| fraction(t.capacity)).collect(),
            tenant: rows.iter().map(|w| w.tenant.index()).collect(),
            demand: demand.collect(),
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.speedup.len()
    }

    /// Number of gpu types.
    pub fn types(&self) -> usize {
        self.count.len()
    }

    /// The demand of a row, if it can bind: one that covers every GPU is none.
    pub fn cap(&self, row: usize) -> Option<&Q> {
        let runs = |l: usize, j: usize| !self.is_shut(l) && !self.speedup[l][j].is_zero();
        let useful = (0..self.types()).filter(|&j| (0..self.rows()).any(|l| runs(l, j)));
        let all: Q = useful.map(|j| &self.count[j]).sum();
        self.demand[row].as_ref().filter(|demand| demand.is_zero() || **demand < all)
    }

    /// Whether a row can use nothing by its own word.
    pub fn is_shut(&self, row: usize) -> bool {
        self.demand[row].as_ref().is_some_and(Zero::is_zero)
    }

    /// Whether two rows differ in nothing but their weights.
    pub fn are_alike(&self, a: usize, b: usize) -> bool {
        let per_weight = |l: usize| self.demand[l].as_ref().map(|demand| demand / &self.weight[l]);
        self.speedup[a] == self.speedup[b] && per_weight(a) == per_weight(b)
    }

    /// Whether some row cannot use any number of GPUs.
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

    /// The throughput of a row when every type is divided by weight, counting only the fastest GPUs
    /// that it can use of its part.
    pub fn usable_equal_split(&self, row: usize) -> Q {
        let offers = self.speedup[row].iter().cloned().zip(self.equal_bundle(row));
        let mut offers: Vec<(Q, Q)> = offers.collect();
        offers.sort_by(|a, b| b.0.cmp(&a.0));
        let cap = self.cap(row).cloned();
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

/// What each of a tenant's rows (weight, and what it can use itself) can use if they can use so much
/// together: as much per weight as there is, none more than it can use itself.
fn demands(limit: Option<Q>, rows: Vec<(Q, Option<Q>)>) -> Vec<Option<Q>> {
    let own: Option<Q> = rows.iter().map(|(_, own)| own.clone()).sum();
    let Some(limit) = limit.filter(|limit| own.is_none_or(|own| *limit < own)) else {
        return rows.into_iter().map(|(_, own)| own).collect();
    };
    // Up to a level all take by weight: the level is the least at which the limit is taken. Each row that
    // is full on the way ends a stretch on which what is taken grows evenly.
    let mut full: Vec<(Q, &Q)> =
        rows.iter().filter_map(|(w, own)| Some((own.as_ref()? / w, w))).collect();
    full.sort();
    let mut growing: Q = rows.iter().map(|(weight, _)| weight).sum();
    let (mut level, mut taken) = (Q::zero(), Q::zero());
    for (end, weight) in full {
        let more = (&end - &level) * &growing;
        if &taken + &more >= limit {
            break;
        }
        (level, taken) = (end, taken + more);
        growing -= weight;
    }
    level += (&limit - taken) / growing;
    let part = |(weight, own): (Q, Option<Q>)| {
        let by_weight = weight * &level;
        Some(own.map_or(by_weight.clone(), |own| own.min(by_weight)))
    };
    rows.into_iter().map(part).collect()
}

/// The number, exactly.
pub fn fraction(value: f64) -> Q {
    Q::from_float(value).expect("problems hold finite numbers only")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::{Family, Size, problem};
    use num_traits::ToPrimitive;

    #[test]
    fn the_problem_s_own_demands_are_these_rounded() {
        let mut limited = 0;
        for seed in 0..300 {
            let problem = problem(Family::SharedDemand, Size::SMALL, seed).validate().unwrap();
            let instance = Instance::from(&problem);
            for (exact, workload) in instance.demand.iter().zip(problem.workloads()) {
                limited += usize::from(exact.is_some());
                assert_eq!(exact.is_some(), workload.demand.is_some(), "seed {seed}");
                if let (Some(exact), Some(rounded)) = (exact, workload.demand) {
                    let exact = exact.to_f64().unwrap();
                    assert!((exact - rounded).abs() <= 1e-14 * exact, "{exact} {rounded}");
                }
            }
        }
        assert!(limited > 300, "only {limited}");
    }
}
