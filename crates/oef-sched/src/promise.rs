//! Guarantees and limits by gpu type: what an operator promises a tenant or a group at least, and allows it at most.
//!
//! They are whole GPUs, by the name of the type. A group's count for all tenants below it together, and what its members are
//! guaranteed themselves counts in it. Where more is guaranteed than GPUs of a type are up, all guarantees of the type
//! are cut in proportion.
//!
//! In shares (real numbers, `oef_core`) a group's guarantee and limit are divided among its tenants with live jobs by what
//! they count, none more than it can use. In whole GPUs ([`Rooms`]) they are counted for the group as a whole.

use crate::ids::{GroupKey, TenantKey};
use crate::planning::Pick;
use crate::state::State;
use oef_core::problem::water_fill;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What an operator promises at least and allows at most: GPUs by the name of the gpu type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Promises {
    /// GPUs that are given before anybody's share, while they can be used.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "BTreeMap::is_empty"))]
    pub guarantee: BTreeMap<String, u32>,
    /// GPUs at most.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "BTreeMap::is_empty"))]
    pub limit: BTreeMap<String, u32>,
}

impl Promises {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.guarantee.is_empty() && self.limit.is_empty()
    }
}

/// GPUs of each type that parties may still be given, or are still guaranteed.
#[derive(Clone, Debug)]
pub(crate) struct Rooms {
    /// By party with promises, by type.
    left: Vec<Vec<u32>>,
    /// By tenant: those of the parties that it is, or stands in.
    of: Vec<Vec<usize>>,
}

impl Rooms {
    fn new(
        state: &State,
        figure: impl Fn(&Promises, &str) -> Option<u32>,
        otherwise: u32,
    ) -> Option<Self> {
        let types = state.cluster().types();
        let row = |p: &Promises| -> Option<Vec<u32>> {
            let found: Vec<Option<u32>> = types.iter().map(|name| figure(p, name)).collect();
            let any = found.iter().any(Option::is_some);
            any.then(|| found.into_iter().map(|gpus| gpus.unwrap_or(otherwise)).collect())
        };
        let mut left = Vec::new();
        let mut place = |p: &Promises| {
            let row = row(p)?;
            left.push(row);
            Some(left.len() - 1)
        };
        let tenants: Vec<Option<usize>> =
            state.tenants().iter().map(|t| place(&t.promises)).collect();
        let groups: Vec<Option<usize>> =
            state.groups().iter().map(|g| place(&g.promises)).collect();
        if left.is_empty() {
            return None;
        }
        let chain = |(t, own): (usize, &Option<usize>)| {
            let above = state.groups_of(TenantKey(t)).filter_map(|g| groups[g.0]);
            own.iter().copied().chain(above).collect()
        };
        Some(Rooms { of: tenants.iter().enumerate().map(chain).collect(), left })
    }

    /// The limits; `None`: there are none.
    pub fn limits(state: &State) -> Option<Self> {
        let promised = state.has_promises();
        promised
            .then(|| Rooms::new(state, |p, name| p.limit.get(name).copied(), u32::MAX))
            .flatten()
    }

    /// The guarantees, cut to what is up; `None`: there are none.
    pub fn guarantees(state: &State) -> Option<Self> {
        if !state.has_promises() {
            return None;
        }
        let kept = state.guarantees_kept();
        let cut = |p: &Promises, name: &str| {
            let part = kept[state.cluster().type_named(name)?.0];
            p.guarantee.get(name).map(|&gpus| (f64::from(gpus) * part + 1e-9).floor() as u32)
        };
        Rooms::new(state, cut, 0)
    }

    /// Whether a tenant is, or stands in, a party with such promises.
    pub fn concerns(&self, tenant: TenantKey) -> bool {
        !self.of[tenant.0].is_empty()
    }

    /// The least that is left on a type for a tenant; no promise: any number.
    pub fn least(&self, tenant: TenantKey, gpu: usize) -> u32 {
        self.of[tenant.0].iter().map(|&p| self.left[p][gpu]).min().unwrap_or(u32::MAX)
    }

    /// The most that is left on a type for a tenant; no promise: nothing.
    pub fn most(&self, tenant: TenantKey, gpu: usize) -> u32 {
        self.of[tenant.0].iter().map(|&p| self.left[p][gpu]).max().unwrap_or(0)
    }

    /// Counts GPUs that a tenant is given.
    pub fn charge(&mut self, tenant: TenantKey, gpu: usize, gpus: u32) {
        for &p in &self.of[tenant.0] {
            let left = &mut self.left[p][gpu];
            if *left != u32::MAX {
                *left = left.saturating_sub(gpus);
            }
        }
    }

    /// Counts GPUs that it is not given after all.
    pub fn credit(&mut self, tenant: TenantKey, gpu: usize, gpus: u32) {
        for &p in &self.of[tenant.0] {
            self.left[p][gpu] = self.left[p][gpu].saturating_add(gpus);
        }
    }

    /// Counts what these jobs are given.
    pub fn charge_picks(&mut self, state: &State, picks: &[Pick]) {
        for pick in picks {
            let spec = &state.at(pick.slot).spec;
            pick.types.each(spec.workers, |gpu, count| self.charge(spec.tenant, gpu, count));
        }
    }

    /// Counts what all tenants own now.
    pub fn charge_owned(&mut self, state: &State) {
        for workload in state.workloads() {
            for gpu in 0..state.cluster().types().len() {
                self.charge(workload.tenant, gpu, workload.used_on(gpu));
            }
        }
    }
}

/// Guarantees and limits of the tenants of a problem, by tenant and type.
#[derive(Default)]
pub(crate) struct Divided {
    pub guarantee: Vec<Vec<f64>>,
    pub limit: Vec<Vec<Option<f64>>>,
}

/// Divides the guarantees and limits of groups among tenants, given as what they count and the GPUs of each type that they
/// can use.
pub(crate) fn divide(
    state: &State,
    tenants: &[TenantKey],
    weights: &[f64],
    usable: &[Vec<f64>],
) -> Divided {
    if !state.has_promises() {
        return Divided::default();
    }
    let (types, kept) = (state.cluster().types(), state.guarantees_kept());
    let of_type = |p: &Promises, j: usize| {
        p.guarantee.get(&types[j]).map_or(0.0, |&gpus| f64::from(gpus) * kept[j])
    };
    let width = types.len();
    let own = |t: &TenantKey| &state.tenants()[t.0].promises;
    let mut guarantee: Vec<Vec<f64>> = (tenants.iter().zip(usable))
        .map(|(t, usable)| (0..width).map(|j| of_type(own(t), j).min(usable[j])).collect())
        .collect();
    let mut limit: Vec<Vec<Option<f64>>> = tenants
        .iter()
        .map(|t| (0..width).map(|j| own(t).limit.get(&types[j]).map(|&l| f64::from(l))).collect())
        .collect();
    let most = |limit: &[Vec<Option<f64>>], t: usize, j: usize| {
        usable[t][j].min(limit[t][j].unwrap_or(f64::INFINITY))
    };
    for group in state.groups_inner_first() {
        let promises = &state.groups()[group.0].promises;
        let members: Vec<usize> = (0..tenants.len())
            .filter(|&t| state.groups_of(tenants[t]).any(|g| g == group))
            .collect();
        for j in (0..width).filter(|_| !promises.is_empty()) {
            if let Some(&allowed) = promises.limit.get(&types[j]) {
                let first: Vec<f64> = members.iter().map(|&t| guarantee[t][j]).collect();
                let left = (f64::from(allowed) - first.iter().sum::<f64>()).max(0.0);
                let party = |(&t, first): (&usize, &f64)| {
                    (weights[t], (most(&limit, t, j) - first).max(0.0))
                };
                let parties: Vec<(f64, f64)> = members.iter().zip(&first).map(party).collect();
                if parties.iter().map(|p| p.1).sum::<f64>() > left {
                    let parts = water_fill(left, &parties);
                    for ((&t, first), part) in members.iter().zip(first).zip(parts) {
                        limit[t][j] = Some(first + part);
                    }
                }
            }
            let has: f64 = members.iter().map(|&t| guarantee[t][j]).sum();
            let more = (of_type(promises, j) - has).max(0.0);
            let party = |&t: &usize| (weights[t], (most(&limit, t, j) - guarantee[t][j]).max(0.0));
            let parts = water_fill(more, &members.iter().map(party).collect::<Vec<_>>());
            for (&t, part) in members.iter().zip(parts) {
                guarantee[t][j] += part;
            }
        }
    }
    for (own, limits) in guarantee.iter_mut().zip(&limit) {
        own.iter_mut().zip(limits).for_each(|(g, l)| *g = g.min(l.unwrap_or(f64::INFINITY)));
    }
    Divided { guarantee, limit }
}

impl State {
    /// Whether anybody has guarantees or limits by gpu type.
    pub(crate) fn has_promises(&self) -> bool {
        self.tenants().iter().any(|t| !t.promises.is_empty())
            || self.groups().iter().any(|g| !g.promises.is_empty())
    }

    /// The groups that a tenant stands in, the innermost first.
    pub(crate) fn groups_of(&self, tenant: TenantKey) -> impl Iterator<Item = GroupKey> + '_ {
        let first = self.tenants()[tenant.0].group;
        std::iter::successors(first, |group| self.groups()[group.0].parent)
    }

    /// All groups, those that stand in others before these.
    fn groups_inner_first(&self) -> Vec<GroupKey> {
        let depth = |group: &GroupKey| {
            std::iter::successors(Some(*group), |g| self.groups()[g.0].parent).count()
        };
        let mut groups: Vec<GroupKey> = (0..self.groups().len()).map(GroupKey).collect();
        groups.sort_by_key(|group| (std::cmp::Reverse(depth(group)), *group));
        groups
    }

    /// GPUs of each type that are guaranteed in all: what the members of a group are guaranteed counts in the group's.
    pub fn guaranteed(&self) -> Vec<(String, u32)> {
        let mut sums: BTreeMap<String, u32> = BTreeMap::new();
        let mut names: Vec<&String> =
            self.tenants().iter().flat_map(|t| t.promises.guarantee.keys()).collect();
        names.extend(self.groups().iter().flat_map(|g| g.promises.guarantee.keys()));
        names.sort();
        names.dedup();
        for name in names {
            let own = |p: &Promises| p.guarantee.get(name).copied().unwrap_or(0);
            let mut inside = vec![0_u32; self.groups().len()];
            let mut total = 0_u32;
            for tenant in self.tenants() {
                let to = tenant.group.map_or(&mut total, |g| &mut inside[g.0]);
                *to = to.saturating_add(own(&tenant.promises));
            }
            for group in self.groups_inner_first() {
                let of = &self.groups()[group.0];
                let counts = inside[group.0].max(own(&of.promises));
                let to = of.parent.map_or(&mut total, |g| &mut inside[g.0]);
                *to = to.saturating_add(counts);
            }
            sums.insert(name.clone(), total);
        }
        sums.into_iter().collect()
    }

    /// By type: the part of every guarantee that the GPUs that are up allow.
    pub fn guarantees_kept(&self) -> Vec<f64> {
        let mut kept = vec![1.0; self.cluster().types().len()];
        for (name, sum) in self.guaranteed() {
            let Some(j) = self.cluster().type_named(&name) else { continue };
            if sum > self.cluster().capacity()[j.0] {
                kept[j.0] = f64::from(self.cluster().capacity()[j.0]) / f64::from(sum);
            }
        }
        kept
    }

    /// GPUs of each type that a job of a tenant could have at most: those that are up, within these limits.
    pub(crate) fn capacity_within(
        &self,
        limits: Option<&Rooms>,
        tenant: TenantKey,
    ) -> Cow<'_, [u32]> {
        let capacity = self.cluster().capacity();
        match limits.filter(|limits| limits.concerns(tenant)) {
            None => Cow::Borrowed(capacity),
            Some(limits) => {
                let least = |(j, &c): (usize, &u32)| c.min(limits.least(tenant, j));
                Cow::Owned(capacity.iter().enumerate().map(least).collect())
            }
        }
    }

    /// The tightest limit of a tenant on a type, its own or a group's, with the group's name.
    pub fn limit_on(&self, tenant: TenantKey, gpu: &str) -> Option<(u32, Option<&str>)> {
        let own = self.tenants().get(tenant.0)?.promises.limit.get(gpu).map(|&l| (l, None));
        let groups = self.groups_of(tenant).filter_map(|g| {
            let group = &self.groups()[g.0];
            group.promises.limit.get(gpu).map(|&l| (l, Some(group.name.as_str())))
        });
        own.into_iter().chain(groups).min_by_key(|(limit, _)| *limit)
    }

    /// Whether GPUs of these types may be held besides what the tenant and its groups hold now, those of jobs that are being
    /// stopped included.
    pub(crate) fn may_hold(&self, tenant: TenantKey, gpus: &[crate::ids::GpuId]) -> bool {
        let of = &self.tenants()[tenant.0];
        let over = |limit: u32| of.holds.saturating_add(gpus.len() as u32) > limit;
        if of.limit.is_some_and(over) {
            return false;
        }
        let Some(mut rooms) = Rooms::limits(self).filter(|rooms| rooms.concerns(tenant)) else {
            return true;
        };
        let cluster = self.cluster();
        for gpu in (0..cluster.nodes().len()).flat_map(|n| cluster.gpus_of(crate::ids::NodeId(n))) {
            if let Some(slot) = cluster.holder(gpu) {
                rooms.charge(self.at(slot).spec.tenant, cluster.type_of(gpu).0, 1);
            }
        }
        gpus.iter().all(|&gpu| {
            let j = cluster.type_of(gpu).0;
            let fits = rooms.least(tenant, j) >= 1;
            rooms.charge(tenant, j, 1);
            fits
        })
    }
}
