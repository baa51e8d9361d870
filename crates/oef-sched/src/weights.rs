//! Whose weight counts how much.
//!
//! Tenants and groups stand in a tree: groups in groups, tenants in groups or on their own. The weight of a
//! group is divided among its members with live jobs, that of a tenant among its workloads, by one rule
//! ([`divide`]): by their own weights, and what one cannot use goes to its siblings first.

use crate::ids::{GroupKey, TenantKey};
use crate::past::Factors;
use crate::state::State;
use crate::tenant::Tenant;
use oef_core::problem::water_fill;

/// What a party in the tree counts, and the GPUs of an equal split that this is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Portion {
    pub weight: f64,
    pub gpus: f64,
}

/// A party in the tree: a tenant by its position among those asked about, or a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Party {
    Tenant(usize),
    Group(GroupKey),
}

/// What each of these tenants counts, if they are the ones with live jobs, and can use so many GPUs.
pub(crate) fn portions(state: &State, tenants: &[TenantKey], wanted: &[u64]) -> Vec<Portion> {
    let mut members: Vec<Vec<Party>> = vec![Vec::new(); state.groups().len()];
    let mut group_wanted = vec![0.0; state.groups().len()];
    let mut entered = vec![false; state.groups().len()];
    let mut top: Vec<Party> = Vec::new();
    for (t, key) in tenants.iter().enumerate() {
        let (mut party, mut parent) = (Party::Tenant(t), state.tenants()[key.0].group);
        let mut is_new = true;
        while let Some(group) = parent {
            group_wanted[group.0] += wanted[t] as f64;
            if is_new {
                members[group.0].push(party);
            }
            is_new = !std::mem::replace(&mut entered[group.0], true);
            (party, parent) = (Party::Group(group), state.groups()[group.0].parent);
        }
        if is_new {
            top.push(party);
        }
    }
    let factors = Factors::of(state);
    let factor =
        |of: fn(&Factors) -> &[f64], at: usize| factors.as_ref().map_or(1.0, |f| of(f)[at]);
    let own_weight = |party: &Party| match party {
        Party::Tenant(t) => {
            let key = tenants[*t].0;
            state.tenants()[key].weight * factor(|f| &f.tenants, key)
        }
        Party::Group(group) => state.groups()[group.0].weight * factor(|f| &f.groups, group.0),
    };
    let can_use = |party: &Party| match party {
        Party::Tenant(t) => wanted[*t] as f64,
        Party::Group(group) => group_wanted[group.0],
    };
    let total: f64 = top.iter().map(own_weight).sum();
    let all = f64::from(state.cluster().total());
    let portion = |party: &Party| {
        let weight = own_weight(party);
        Portion { weight, gpus: weight / total * all }
    };
    let mut open: Vec<(Party, Portion)> = top.iter().map(|p| (*p, portion(p))).collect();
    let mut found = vec![Portion { weight: 0.0, gpus: 0.0 }; tenants.len()];
    while let Some((party, portion)) = open.pop() {
        let group = match party {
            Party::Tenant(t) => {
                found[t] = portion;
                continue;
            }
            Party::Group(group) => group,
        };
        let own = &members[group.0];
        let rules: Vec<(f64, f64)> = own.iter().map(|p| (own_weight(p), can_use(p))).collect();
        let parts = divide(portion.gpus, &rules);
        let sum: f64 = parts.iter().sum();
        open.extend(own.iter().zip(parts).map(|(&party, part)| {
            let part = part / sum;
            let (weight, gpus) = (portion.weight * part, portion.gpus * part);
            (party, Portion { weight, gpus })
        }));
    }
    found
}

/// Divides GPUs among parties by weight, none more than it can use (weight and use, each); what all together
/// cannot use is divided as if they could.
pub(crate) fn divide(gpus: f64, parties: &[(f64, f64)]) -> Vec<f64> {
    if parties.len() == 1 {
        return vec![1.0];
    }
    // A party without a part (all is used up) still counts a little, or it would not be one.
    let least = 1e-6 * gpus.max(1e-6);
    water_fill(gpus, parties).into_iter().map(|part| part.max(least)).collect()
}

impl State {
    /// The weight that a tenant counted with in the last shares; before it had any, what it would count if
    /// everybody were there.
    pub(crate) fn counted_weight(&self, tenant: TenantKey) -> f64 {
        let of = &self.tenants()[tenant.0];
        match (of.group, of.effective) {
            (None, _) => of.weight,
            (Some(_), Some(effective)) => effective,
            (Some(group), None) => self.part_of(of.weight, group),
        }
    }

    /// What a weight in a group counts beside the weights of all that stand in it.
    fn part_of(&self, weight: f64, group: GroupKey) -> f64 {
        let (mut part, mut weight, mut at) = (1.0, weight, Some(group));
        while let Some(group) = at {
            let tenants = self.tenants().iter().filter(|t| t.group == at).map(|t| t.weight);
            let groups = self.groups().iter().filter(|g| g.parent == at).map(|g| g.weight);
            part *= weight / tenants.chain(groups).sum::<f64>();
            (weight, at) = (self.groups()[group.0].weight, self.groups()[group.0].parent);
        }
        part * weight
    }

    /// The part of the cluster that each tenant would have if all tenants that exist divided it by their weights as set,
    /// group by group.
    pub(crate) fn equal_parts(&self) -> Vec<f64> {
        let place = |parent: Option<GroupKey>| parent.map_or(self.groups().len(), |g| g.0);
        let mut sums = vec![0.0; self.groups().len() + 1];
        self.tenants().iter().for_each(|t| sums[place(t.group)] += t.weight);
        self.groups().iter().for_each(|g| sums[place(g.parent)] += g.weight);
        let part = |tenant: &Tenant| {
            let (mut part, mut at) = (tenant.weight / sums[place(tenant.group)], tenant.group);
            while let Some(group) = at {
                let of = &self.groups()[group.0];
                part *= of.weight / sums[place(of.parent)];
                at = of.parent;
            }
            part
        };
        self.tenants().iter().map(part).collect()
    }

    /// Whether a group stands in another, at any depth, or is it.
    pub(crate) fn stands_in(&self, group: GroupKey, other: GroupKey) -> bool {
        let mut at = Some(group);
        while let Some(group) = at {
            if group == other {
                return true;
            }
            at = self.groups()[group.0].parent;
        }
        false
    }
}
