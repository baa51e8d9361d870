//! Who is entitled to which GPUs in this round.
//!
//! The shares are those of the mechanism for the tenants that have live jobs, with what they cannot use given
//! back to the others (`give_back`).
//!
//! Weights are divided down the tree of groups, tenants and workloads (`weights`) to those with live jobs.

use crate::give_back::SLACK;
use crate::ids::{TenantKey, WorkloadKey};
use crate::question::{Answer, Asked, Question, WarmStart};
use crate::state::State;
use crate::weights::{Portion, divide, level, portions};
use oef_core::{
    GpuSpec, Options, Outcome, Problem, ProblemSpec, TenantSpec, WorkloadId, WorkloadSpec,
};

/// The shares of a round, with the problem that they answer.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Entitlement {
    answer: Answer,
    /// Changes so far that call for new shares, whatever the demands are.
    version: u64,
    solves: u64,
    #[cfg_attr(feature = "serde", serde(skip))]
    warm: WarmStart,
}

impl Entitlement {
    /// The problem of the round (with demands) and its shares; `None` while there is nothing to share.
    pub fn answer(&self) -> Option<(&Problem, &Outcome)> {
        self.answer.solved()
    }

    /// The tenants of the problem, in its order.
    pub fn tenants(&self) -> &[TenantKey] {
        self.answer.tenants()
    }

    /// The workloads of the problem, in its order.
    pub fn workloads(&self) -> &[WorkloadKey] {
        self.answer.workloads()
    }

    /// What went wrong with the mechanism, if it did: the shares are then those of an equal division.
    pub fn trouble(&self) -> Option<&str> {
        self.answer.trouble()
    }

    /// How often the mechanism was solved so far.
    pub fn solves(&self) -> u64 {
        self.solves
    }

    /// The next round solves again, whatever has changed.
    pub(crate) fn forget(&mut self) {
        self.version += 1;
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }
}

impl State {
    /// What has to be solved for the shares to be up to date; `None`: they are. The answer comes back as
    /// [`EventKind::Shares`](crate::EventKind::Shares), sooner or later.
    pub fn question(&self) -> Option<Question> {
        is_felt(self).then(|| ask(self, self.entitlement.warm.clone()))
    }
}

/// Brings the shares up to date, if anything has changed that they depend on, and says whether it did.
pub(crate) fn refresh(state: &mut State) -> bool {
    let felt = is_felt(state);
    if felt {
        let warm = std::mem::take(&mut state.entitlement.warm);
        let answer = ask(state, warm).answer(&Options::default());
        take(state, answer);
    }
    felt
}

/// Makes the shares of an answer those that count.
pub(crate) fn take(state: &mut State, mut answer: Answer) {
    let types = state.cluster.types().len();
    for workload in &mut state.workloads {
        workload.widen(types);
        workload.share.fill(0.0);
    }
    if let Some((_, outcome)) = answer.solved() {
        for (l, key) in answer.workloads().iter().enumerate() {
            let shares = outcome.shares.of_workload(WorkloadId(l));
            state.workloads[key.0].share[..shares.len()].copy_from_slice(shares);
        }
    }
    state.tenants.iter_mut().for_each(|tenant| tenant.effective = None);
    for (tenant, &weight) in answer.tenants().iter().zip(&answer.asked.weights) {
        state.tenants[tenant.0].effective = Some(weight);
    }
    let entitlement = &mut state.entitlement;
    entitlement.solves += answer.solves();
    if answer.warm.0.is_some() {
        entitlement.warm = std::mem::take(&mut answer.warm);
    }
    entitlement.answer = answer;
}

/// Whether something has changed that the shares feel. A demand that no share touches, before and after,
/// changes none: taking such a constraint from a program, or adding one, leaves its optimum.
fn is_felt(state: &State) -> bool {
    let Entitlement { answer, version, .. } = &state.entitlement;
    if answer.asked.version != *version || !answer.asked.active.iter().eq(&state.active) {
        return true;
    }
    let before = answer.asked.wanted.iter().zip(&answer.given);
    answer.tenants().iter().zip(before).any(|(&tenant, (&before, &share))| {
        let now = wanted(state, tenant);
        let of = &state.tenants[tenant.0];
        let has_siblings = of.workloads.len() > 1 || of.group.is_some();
        let touched = || share > capped(state, tenant, before.min(now)) as f64 - SLACK;
        now != before && (has_siblings || touched())
    })
}

/// GPUs that a tenant's jobs could use together, its limit apart.
fn wanted(state: &State, tenant: TenantKey) -> u64 {
    let own = state.tenants[tenant.0].workloads.iter().map(|w| &state.workloads[w.0]);
    own.filter(|w| w.is_active()).map(|w| w.usable(state.cluster.capacity())).sum()
}

/// A number of GPUs, or the tenant's limit where that is less.
fn capped(state: &State, tenant: TenantKey, gpus: u64) -> u64 {
    state.tenants[tenant.0].limit.map_or(gpus, |limit| gpus.min(u64::from(limit)))
}

/// The question of this moment.
fn ask(state: &State, warm: WarmStart) -> Question {
    let (tenants, workloads) = parties(state);
    let wanted: Vec<u64> = tenants.iter().map(|&tenant| wanted(state, tenant)).collect();
    let within = |(&tenant, &wanted): (&TenantKey, &u64)| capped(state, tenant, wanted);
    let demands: Vec<u64> = tenants.iter().zip(&wanted).map(within).collect();
    let portions = portions(state, &tenants, &demands);
    let asked = Asked {
        version: state.entitlement.version,
        active: state.active.iter().copied().collect(),
        weights: portions.iter().map(|portion| portion.weight).collect(),
        tenants,
        workloads,
        wanted,
    };
    let (spec, usable) = describe(state, &asked, &demands, &portions);
    Question { asked, mechanism: state.settings.mechanism, spec, usable, warm }
}

/// The active tenants and workloads that can run somewhere. Workloads are sorted by key, tenants by their
/// first workload; the workloads of a tenant stand together because keys of one problem are sorted so.
fn parties(state: &State) -> (Vec<TenantKey>, Vec<WorkloadKey>) {
    let mut tenants: Vec<TenantKey> = Vec::new();
    let runs = |w: &WorkloadKey| state.workloads[w.0].usable(state.cluster.capacity()) > 0;
    let mut of_tenant: Vec<(TenantKey, WorkloadKey)> = state
        .active
        .iter()
        .filter(|w| runs(w))
        .map(|&w| (state.workloads[w.0].tenant, w))
        .collect();
    of_tenant.sort();
    for (tenant, _) in &of_tenant {
        if tenants.last() != Some(tenant) {
            tenants.push(*tenant);
        }
    }
    (tenants, of_tenant.into_iter().map(|(_, w)| w).collect())
}

/// The problem in words, and the GPUs that each of its workloads can use.
fn describe(
    state: &State,
    asked: &Asked,
    demands: &[u64],
    portions: &[Portion],
) -> (ProblemSpec, Vec<f64>) {
    let cluster = &state.cluster;
    let gpus = cluster.types().iter().zip(cluster.capacity());
    let mut rest = asked.workloads.as_slice();
    let mut usable = Vec::with_capacity(asked.workloads.len());
    let demands = asked.wanted.iter().zip(demands);
    let tenants = asked.tenants.iter().zip(demands).zip(portions);
    let tenants = tenants.map(|((&key, (&wanted, &demand)), portion)| {
        let own = rest.iter().take_while(|w| state.workloads[w.0].tenant == key).count();
        let (mine, others) = rest.split_at(own);
        rest = others;
        let rules = rules(state, mine);
        let weights = divide(portion.gpus, &rules);
        match demand < wanted {
            true => usable.extend(level(demand as f64, &rules)),
            false => usable.extend(rules.iter().map(|rule| rule.1)),
        }
        TenantSpec {
            name: state.tenants[key.0].name.clone(),
            weight: portion.weight,
            demand: Some(demand as f64),
            workloads: mine
                .iter()
                .zip(weights)
                .map(|(w, weight)| profile(state, *w, weight))
                .collect(),
        }
    });
    let spec = ProblemSpec {
        tenants: tenants.collect(),
        reference: state.settings.reference.clone().filter(|r| cluster.type_named(r).is_some()),
        gpus: gpus.map(|(n, &c)| GpuSpec { name: n.clone(), count: f64::from(c) }).collect(),
    };
    (spec, usable)
}

/// Weight and use of some workloads, to divide something among them.
fn rules(state: &State, workloads: &[WorkloadKey]) -> Vec<(f64, f64)> {
    let rule = |w: &WorkloadKey| {
        let workload = &state.workloads[w.0];
        (workload.weight, workload.usable(state.cluster.capacity()) as f64)
    };
    workloads.iter().map(rule).collect()
}

fn profile(state: &State, key: WorkloadKey, weight: f64) -> WorkloadSpec {
    let workload = &state.workloads[key.0];
    let usable = workload.usable_types(state.cluster.capacity());
    let speed = |j: usize| if usable[j] { workload.profile.on(j) } else { 0.0 };
    let types = state.cluster.types().iter().enumerate();
    WorkloadSpec {
        demand: None,
        name: workload.name.clone(),
        weight,
        throughput: types.map(|(j, name)| (name.clone(), speed(j))).collect(),
    }
}
