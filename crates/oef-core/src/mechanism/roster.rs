//! Who takes part, with everything alike merged and nothing left that depends on the order of the file.
//!
//! `max-min` and `gandiva-fair` both work on it. Workloads of tenants without a demand that have the
//! same profile are one trader; tenants with a demand are merged when everything about them is
//! proportional to their weights. What a trader ends up with is split among its members by weight,
//! so equal tenants get equal shares by construction.

use crate::ids::{TypeId, WorkloadId};
use crate::problem::Problem;
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
        roster.add_unlimited(problem, &profile);
        roster.add_limited(problem, &profile);
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

    /// Tenants without a demand: one trader per profile.
    fn add_unlimited(&mut self, problem: &Problem, profile: &[usize]) {
        let mut by_profile: BTreeMap<usize, Vec<WorkloadId>> = BTreeMap::new();
        for (l, workload) in problem.workloads().iter().enumerate() {
            if problem.tenants()[workload.tenant.0].demand.is_none() {
                by_profile.entry(profile[l]).or_default().push(WorkloadId(l));
            }
        }
        for members in by_profile.into_values() {
            let first = self.traders.len();
            self.add_trader(problem, members);
            self.parties.push(Party { demand: None, traders: first..first + 1 });
        }
    }

    /// Tenants with a demand: merged when demand per weight and the parts of all profiles agree.
    fn add_limited(&mut self, problem: &Problem, profile: &[usize]) {
        let limited = problem.tenant_ids().filter_map(|t| {
            let tenant = &problem.tenants()[t.0];
            Some((t, tenant, tenant.demand?))
        });
        let limited: Vec<_> = limited.collect();
        let per_weight: Vec<f64> = limited.iter().map(|(_, t, demand)| demand / t.weight).collect();
        let mut demand_class = vec![0; limited.len()];
        refine(&mut demand_class, &per_weight);

        // The profiles of every tenant with the part of its weight that each has.
        let (mut owner, mut profiles, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        for (i, (t, tenant, _)) in limited.iter().enumerate() {
            let mut own: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
            for l in problem.workload_ids_of(*t) {
                own.entry(profile[l.0]).or_default().push(problem.workloads()[l.0].weight);
            }
            for (class, weights) in own {
                owner.push(i);
                profiles.push(class);
                parts.push(sum_in_order(weights) / tenant.weight);
            }
        }
        let mut part_class = vec![0; parts.len()];
        refine(&mut part_class, &parts);
        let mut keys: Vec<PartyKey> =
            demand_class.iter().map(|&class| (class, Vec::new())).collect();
        for (row, &i) in owner.iter().enumerate() {
            keys[i].1.push((profiles[row], part_class[row]));
        }
        let mut alike: BTreeMap<&PartyKey, Vec<usize>> = BTreeMap::new();
        for (i, key) in keys.iter().enumerate() {
            alike.entry(key).or_default().push(i);
        }
        for ((_, lines), tenants) in alike {
            let first = self.traders.len();
            let mut members: BTreeMap<usize, Vec<WorkloadId>> = BTreeMap::new();
            for &i in &tenants {
                for l in problem.workload_ids_of(limited[i].0) {
                    members.entry(profile[l.0]).or_default().push(l);
                }
            }
            for (_, members) in members {
                self.add_trader(problem, members);
            }
            debug_assert_eq!(self.traders.len() - first, lines.len());
            let demand = sum_in_order(tenants.iter().map(|&i| limited[i].2).collect());
            self.parties.push(Party { demand: Some(demand), traders: first..self.traders.len() });
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
type PartyKey = (usize, Vec<(usize, usize)>);

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
