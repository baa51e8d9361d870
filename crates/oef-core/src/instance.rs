//! A problem in canonical numeric form: what the solvers work on.
//!
//! Types come in the order of their names and rows in the order of their profiles, so nothing that a
//! solver does can depend on the order of the file. Types without GPUs and workloads that can run on
//! none of the others are left out. Workloads with equal profiles become one row with the sum of
//! their weights: that is exact for every mechanism, and the reason why ten thousand tenants with a
//! hundred profiles are a small problem.

use crate::ids::{TypeId, WorkloadId};
use crate::problem::Problem;
use crate::shares::Shares;
use std::collections::BTreeMap;

/// Rows (classes of equal workloads) against gpu types.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    /// The types that count, by position in the problem.
    pub types: Vec<TypeId>,
    /// Capacity per type, all positive.
    pub capacity: Vec<f64>,
    /// Weight per row.
    pub weight: Vec<f64>,
    /// Speedups, row after row; at least one positive entry each.
    pub speedup: Vec<f64>,
    /// The members of each row, in the order of their names.
    pub members: Vec<Vec<Member>>,
    /// Limits on the GPUs of some rows together.
    pub caps: Vec<Cap>,
    /// The weight of everybody, also of workloads that are left out.
    pub total_weight: f64,
}

/// One workload of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Member {
    pub workload: WorkloadId,
    pub weight: f64,
}

/// At most `limit` GPUs for these rows together: a tenant's demand.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cap {
    pub rows: Vec<usize>,
    pub limit: f64,
}

/// How a row's share is divided among its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Division {
    /// Everybody gets the same mixture.
    Proportional,
    /// Member after member fills up its throughput type by type: equal throughput per weight with the
    /// fewest different types.
    Sequential,
}

impl Instance {
    /// The canonical form of a problem; `cap` is one more limit on every tenant's GPUs.
    pub fn new(problem: &Problem, cap: Option<f64>) -> Self {
        let mut types: Vec<TypeId> = (0..problem.types().len())
            .map(TypeId)
            .filter(|j| problem.types()[j.0].capacity > 0.0)
            .filter(|j| problem.workloads().iter().any(|w| w.speedup[j.0] > 0.0))
            .collect();
        types.sort_by(|a, b| problem.types()[a.0].name.cmp(&problem.types()[b.0].name));
        let capacity: Vec<f64> = types.iter().map(|j| problem.types()[j.0].capacity).collect();
        let everything: f64 = capacity.iter().sum();
        let demand = |tenant: usize| {
            let own = problem.tenants()[tenant].demand.unwrap_or(f64::INFINITY);
            let demand = own.min(cap.unwrap_or(f64::INFINITY));
            (demand < everything).then_some(demand)
        };
        let mut classes: BTreeMap<ClassKey, Vec<Member>> = BTreeMap::new();
        for (l, workload) in problem.workloads().iter().enumerate() {
            let profile: Vec<f64> = types.iter().map(|j| workload.speedup[j.0]).collect();
            if profile.iter().all(|&s| s == 0.0) {
                continue;
            }
            let limited = demand(workload.tenant.0).map(|limit| {
                let alone = problem.workloads_of(workload.tenant).len() == 1;
                // Equal tenants with equal demand per weight are one; others with a demand are not.
                if alone {
                    Limited::PerWeight(quantise(limit / workload.weight))
                } else {
                    let tenant = &problem.tenants()[workload.tenant.0].name;
                    Limited::Alone(tenant.clone(), workload.name.clone())
                }
            });
            let key = ClassKey { profile: profile.iter().map(|&s| quantise(s)).collect(), limited };
            classes
                .entry(key)
                .or_default()
                .push(Member { workload: WorkloadId(l), weight: workload.weight });
        }
        let mut instance = Instance {
            types,
            capacity,
            weight: Vec::new(),
            speedup: Vec::new(),
            members: Vec::new(),
            caps: Vec::new(),
            total_weight: problem.total_weight(),
        };
        let mut cap_of_tenant: BTreeMap<usize, usize> = BTreeMap::new();
        for (key, members) in classes {
            instance.add_row(problem, members, key.limited.is_some(), &mut cap_of_tenant, &demand);
        }
        instance
    }

    fn add_row(
        &mut self,
        problem: &Problem,
        mut members: Vec<Member>,
        limited: bool,
        cap_of_tenant: &mut BTreeMap<usize, usize>,
        demand: &dyn Fn(usize) -> Option<f64>,
    ) {
        let workload = |m: &Member| &problem.workloads()[m.workload.0];
        let name = |m: &Member| (&problem.tenants()[workload(m).tenant.0].name, &workload(m).name);
        members.sort_by(|a, b| name(a).cmp(&name(b)));
        let row = self.weight.len();
        self.weight.push(members.iter().map(|m| m.weight).sum());
        let profile = &workload(&members[0]).speedup;
        self.speedup.extend(self.types.iter().map(|j| profile[j.0]));
        if limited {
            let tenant = workload(&members[0]).tenant.0;
            let limit = members.iter().filter_map(|m| demand(workload(m).tenant.0)).sum();
            match cap_of_tenant.get(&tenant) {
                Some(&cap) => self.caps[cap].rows.push(row),
                None => {
                    cap_of_tenant.insert(tenant, self.caps.len());
                    self.caps.push(Cap { rows: vec![row], limit });
                }
            }
        }
        self.members.push(members);
    }

    /// Which rows stand under a cap.
    pub fn capped_rows(&self) -> Vec<bool> {
        let mut capped = vec![false; self.rows()];
        for &row in self.caps.iter().flat_map(|cap| &cap.rows) {
            capped[row] = true;
        }
        capped
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.weight.len()
    }

    /// Number of types.
    pub fn width(&self) -> usize {
        self.types.len()
    }

    /// The speedups of one row.
    pub fn profile(&self, row: usize) -> &[f64] {
        &self.speedup[row * self.width()..][..self.width()]
    }

    /// Throughput of a row's equal split `e = weight / total weight * capacity`.
    pub fn equal_split(&self, row: usize) -> f64 {
        let part = self.weight[row] / self.total_weight;
        self.profile(row).iter().zip(&self.capacity).map(|(w, m)| w * m * part).sum()
    }

    /// Throughput of the equal split of every row.
    pub fn equal_splits(&self) -> Vec<f64> {
        (0..self.rows()).map(|l| self.equal_split(l)).collect()
    }

    /// Shares of the problem's workloads from those of the rows (`x`, row after row).
    pub fn to_shares(&self, problem: &Problem, x: &[f64], division: Division) -> Shares {
        let mut shares = Shares::zero(problem);
        let capped = self.capped_rows();
        for row in 0..self.rows() {
            let bundle = &x[row * self.width()..][..self.width()];
            if division == Division::Sequential && !capped[row] {
                self.divide_in_turn(row, bundle, &mut shares);
            } else {
                for member in &self.members[row] {
                    let part = member.weight / self.weight[row];
                    for (j, &gpus) in bundle.iter().enumerate() {
                        shares.set(member.workload, self.types[j], gpus * part);
                    }
                }
            }
        }
        shares
    }

    fn divide_in_turn(&self, row: usize, bundle: &[f64], shares: &mut Shares) {
        let profile = self.profile(row);
        let total: f64 = profile.iter().zip(bundle).map(|(w, x)| w * x).sum();
        let mut left = bundle.to_vec();
        let mut j = 0;
        let members = &self.members[row];
        for (i, member) in members.iter().enumerate() {
            let mut due = total * member.weight / self.weight[row];
            let last = i + 1 == members.len();
            while j < left.len() {
                let worth = profile[j] * left[j];
                if last || worth <= due * (1.0 + 1e-12) {
                    shares.set(member.workload, self.types[j], left[j]);
                    due -= worth;
                    j += 1;
                    if !last && due <= total * 1e-13 {
                        break;
                    }
                } else {
                    let take = due / profile[j];
                    shares.set(member.workload, self.types[j], take);
                    left[j] -= take;
                    break;
                }
            }
        }
    }

    /// The rows' shares from those of the problem's workloads.
    pub fn collect(&self, shares: &Shares) -> Vec<f64> {
        let mut x = vec![0.0; self.speedup.len()];
        for (row, members) in self.members.iter().enumerate() {
            for member in members {
                for (j, &gpu) in self.types.iter().enumerate() {
                    x[row * self.width() + j] += shares.get(member.workload, gpu);
                }
            }
        }
        x
    }

    /// Prices in the order of the problem's types; a type that is left out is worth nothing.
    pub fn to_prices(&self, problem: &Problem, price: &[f64]) -> Vec<f64> {
        let mut prices = vec![0.0; problem.types().len()];
        for (j, &p) in self.types.iter().zip(price) {
            prices[j.0] = p;
        }
        prices
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ClassKey {
    profile: Vec<u64>,
    limited: Option<Limited>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Limited {
    PerWeight(u64),
    Alone(String, String),
}

/// The bits of a non-negative number, rounded to 42 binary digits: profiles that differ only by the
/// rounding of their normalisation are the same profile. The order of the bits is that of the numbers.
fn quantise(x: f64) -> u64 {
    const DROPPED: u32 = 10;
    (x.to_bits() + (1 << (DROPPED - 1))) >> DROPPED
}
