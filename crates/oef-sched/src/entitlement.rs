//! Who is entitled to which GPUs in this round.
//!
//! The shares are those of the mechanism for the tenants that have live jobs, with what they cannot use given
//! back to the others (`give_back`).
//!
//! A tenant's weight is divided over its workloads with live jobs. A workload that can use less than its
//! part of the tenant's equal split leaves the rest to its siblings first.

use crate::give_back::SLACK;
use crate::ids::{TenantKey, WorkloadKey};
use crate::question::{Answer, Asked, Question, WarmStart};
use crate::state::State;
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
        let several = state.tenants[tenant.0].workloads.len() > 1;
        now != before && (several || share > before.min(now) as f64 - SLACK)
    })
}

/// GPUs that a tenant's jobs could use together.
fn wanted(state: &State, tenant: TenantKey) -> u64 {
    let own = state.tenants[tenant.0].workloads.iter().map(|w| &state.workloads[w.0]);
    own.filter(|w| w.is_active()).map(|w| w.usable(state.cluster.capacity())).sum()
}

/// The question of this moment.
fn ask(state: &State, warm: WarmStart) -> Question {
    let (tenants, workloads) = parties(state);
    let spec = describe(state, &tenants, &workloads);
    let usable = |w: &WorkloadKey| state.workloads[w.0].usable(state.cluster.capacity()) as f64;
    let usable = workloads.iter().map(usable).collect();
    let wanted = tenants.iter().map(|&tenant| wanted(state, tenant)).collect();
    let active = state.active.iter().copied().collect();
    let version = state.entitlement.version;
    let asked = Asked { version, tenants, workloads, active, wanted };
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

fn describe(state: &State, tenants: &[TenantKey], workloads: &[WorkloadKey]) -> ProblemSpec {
    let cluster = &state.cluster;
    let gpus = cluster.types().iter().zip(cluster.capacity());
    let total: f64 = tenants.iter().map(|t| state.tenants[t.0].weight).sum();
    let mut rest = workloads;
    let tenants = tenants.iter().map(|&key| {
        let own = rest.iter().take_while(|w| state.workloads[w.0].tenant == key).count();
        let (mine, others) = rest.split_at(own);
        rest = others;
        let tenant = &state.tenants[key.0];
        let equal_split = tenant.weight / total * f64::from(cluster.total());
        let weights = divide(state, mine, equal_split);
        TenantSpec {
            name: tenant.name.clone(),
            weight: tenant.weight,
            demand: Some(wanted(state, key) as f64),
            workloads: mine
                .iter()
                .zip(weights)
                .map(|(w, weight)| profile(state, *w, weight))
                .collect(),
        }
    });
    ProblemSpec {
        tenants: tenants.collect(),
        reference: state.settings.reference.clone().filter(|r| cluster.type_named(r).is_some()),
        gpus: gpus.map(|(n, &c)| GpuSpec { name: n.clone(), count: f64::from(c) }).collect(),
    }
}

fn profile(state: &State, key: WorkloadKey, weight: f64) -> WorkloadSpec {
    let workload = &state.workloads[key.0];
    let usable = workload.usable_types(state.cluster.capacity());
    let speed = |j: usize| if usable[j] { workload.profile.on(j) } else { 0.0 };
    let types = state.cluster.types().iter().enumerate();
    WorkloadSpec {
        name: workload.name.clone(),
        weight,
        throughput: types.map(|(j, name)| (name.clone(), speed(j))).collect(),
    }
}

/// Divides a tenant's equal split over its workloads by their weights, none more than it can use; what
/// all together cannot use is divided as if they could.
fn divide(state: &State, workloads: &[WorkloadKey], equal_split: f64) -> Vec<f64> {
    let weight = |w: &WorkloadKey| state.workloads[w.0].weight;
    let mut parts = vec![0.0; workloads.len()];
    if workloads.len() == 1 {
        return vec![1.0];
    }
    let (mut left, mut open) = (equal_split, vec![true; workloads.len()]);
    loop {
        let total: f64 =
            workloads.iter().zip(&open).filter(|(_, o)| **o).map(|(w, _)| weight(w)).sum();
        if total <= 0.0 || left <= 0.0 {
            break;
        }
        let level = left / total;
        let mut closed = false;
        for (i, w) in workloads.iter().enumerate().filter(|&(i, _)| open[i]).collect::<Vec<_>>() {
            let wanted = state.workloads[w.0].usable(state.cluster.capacity()) as f64;
            if wanted <= level * weight(w) {
                (parts[i], open[i], closed) = (wanted, false, true);
                left -= wanted;
            }
        }
        if !closed {
            for (i, w) in workloads.iter().enumerate().filter(|&(i, _)| open[i]) {
                parts[i] = level * weight(w);
            }
            break;
        }
    }
    // A workload without a part (all is used up) still counts a little, or it would not be a workload.
    parts.iter().map(|&part| part.max(1e-6 * equal_split.max(1e-6))).collect()
}
