//! Who takes part, with everything alike merged and nothing left that depends on the order of the file.
//!
//! `max-min` and `gandiva-fair` both work on it. Workloads of tenants without a demand that have the
//! same profile are one trader; tenants with a demand are merged when everything about them is
//! proportional to their weights. What a trader ends up with is split among its members by weight,
//! so equal tenants get equal shares by construction.

use crate::ids::{TypeId, WorkloadId};
use crate::problem::{Problem, Workload};
use crate::shares::Shares;
use std::collections::BTreeMap;

/// Values closer than this, relatively, are the same number: it is what two ways of writing the same
/// profile (in another unit, say) may differ by after rounding.
pub(super) const SAME: f64 = 1e-12;

/// Traders and gpu types in an order of their own: types by name, traders by profile.
pub(super) struct Roster {
    /// The problem's type at each position here.
    pub(super) types: Vec<TypeId>,
    /// GPUs of each type.
    pub(super) capacity: Vec<f64>,
    pub(super) traders: Vec<Trader>,
    pub(super) parties: Vec<Party>,
}

/// Workloads that are alike, acting as one.
pub(super) struct Trader {
    /// Whose demand it counts against.
    pub(super) party: usize,
    /// Its part of all weight; the parts add up to 1.
    pub(super) weight: f64,
    /// By position of the type here; 0: cannot run there.
    pub(super) speedup: Vec<f64>,
    /// The workloads by name, and the part of the trader's holdings that each gets.
    pub(super) members: Vec<(WorkloadId, f64)>,
}

/// One tenant, or several that are alike: what a demand applies to.
pub(super) struct Party {
    /// GPUs that it can use at most.
    pub(super) demand: Option<f64>,
    /// Its traders.
    pub(super) traders: std::ops::Range<usize>,
}

impl Roster {
    pub(super) fn of(problem: &Problem) -> Roster {
        let mut types: Vec<TypeId> = (0..problem.types().len()).map(TypeId).collect();
        types.sort_by(|a, b| problem.types()[a.0].name.cmp(&problem.types()[b.0].name));
        let capacity = types.iter().map(|t| problem.types()[t.0].capacity).collect();
        let mut roster = Roster { types, capacity, traders: Vec::new(), parties: Vec::new() };
        let profile = roster.profiles(problem);
        roster.add_traders(problem, &profile);
        let total = sum_in_order(roster.traders.iter().map(|t| t.weight).collect());
        for trader in &mut roster.traders {
            trader.weight /= total;
        }
        roster
    }

    /// What every trader holds, split among its members.
    pub(super) fn split(&self, problem: &Problem, held: &[f64]) -> Shares {
        let mut shares = Shares::zero(problem);
        let k = self.types.len();
        for (trader, held) in self.traders.iter().zip(held.chunks_exact(k.max(1))) {
            for &(workload, part) in &trader.members {
                for (&gpu, gpus) in self.types.iter().zip(held) {
                    shares.set(workload, gpu, gpus * part);
                }
            }
        }
        shares
    }

    /// Numbers the profiles: equal for workloads that are alike, in an order of the values alone.
    fn profiles(&self, problem: &Problem) -> Vec<usize> {
        let mut class = vec![0; problem.workloads().len()];
        for gpu in &self.types {
            let speedups: Vec<f64> = problem.workloads().iter().map(|w| w.speedup[gpu.0]).collect();
            refine(&mut class, &speedups);
        }
        class
    }

    /// One trader for all workloads with the same profile and the same demand per weight.
    fn add_traders(&mut self, problem: &Problem, profile: &[usize]) {
        let workloads = problem.workloads();
        let mut class = profile.to_vec();
        let per_weight = |w: &Workload| w.demand.map_or(f64::MAX, |demand| demand / w.weight);
        refine(&mut class, &workloads.iter().map(per_weight).collect::<Vec<f64>>());
        let mut alike: BTreeMap<usize, Vec<WorkloadId>> = BTreeMap::new();
        for l in 0..workloads.len() {
            alike.entry(class[l]).or_default().push(WorkloadId(l));
        }
        for members in alike.into_values() {
            let first = self.traders.len();
            let demands: Vec<f64> = members.iter().flat_map(|l| workloads[l.0].demand).collect();
            let demand = (!demands.is_empty()).then(|| sum_in_order(demands));
            self.add_trader(problem, members);
            self.parties.push(Party { demand, traders: first..first + 1 });
        }
    }

    fn add_trader(&mut self, problem: &Problem, mut members: Vec<WorkloadId>) {
        let name = |l: &WorkloadId| {
            let workload = &problem.workloads()[l.0];
            (&problem.tenants()[workload.tenant.0].name, &workload.name)
        };
        members.sort_by(|a, b| name(a).cmp(&name(b)));
        let Some(&first) = members.first() else { return };
        let weight_of = |l: &WorkloadId| problem.workloads()[l.0].weight;
        let weight = sum_in_order(members.iter().map(weight_of).collect());
        // Any member's speedups would do; the least by value does not depend on the order.
        let speedups = |l: &WorkloadId| {
            let own = &problem.workloads()[l.0].speedup;
            self.types.iter().map(|t| own[t.0]).collect::<Vec<f64>>()
        };
        let mut speedup = speedups(&first);
        for other in members.iter().skip(1).map(speedups) {
            speedup.iter_mut().zip(other).for_each(|(s, o)| *s = s.min(o));
        }
        let members = members.iter().map(|l| (*l, weight_of(l) / weight)).collect();
        self.traders.push(Trader { party: self.parties.len(), weight, speedup, members });
    }
}

/// What makes tenants with a demand alike: the class of their demand per weight, and for each profile
/// the class of its part of the weight.

/// Splits classes by a value: members of one class stay together while their values agree.
fn refine(class: &mut [usize], value: &[f64]) {
    let mut order: Vec<usize> = (0..class.len()).collect();
    order.sort_by(|&a, &b| class[a].cmp(&class[b]).then(value[a].total_cmp(&value[b])));
    let mut next = 0;
    let mut before: Option<(usize, f64)> = None;
    for l in order {
        let (old, v) = (class[l], value[l]);
        if let Some((old_before, v_before)) = before
            && (old != old_before || v - v_before > SAME * v_before.abs())
        {
            next += 1;
        }
        before = Some((old, v));
        class[l] = next;
    }
}

/// A sum whose rounding does not depend on the order of the file.
fn sum_in_order(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.iter().sum()
}
