//! Who is entitled to which GPUs in this round.
//!
//! The shares are those of the mechanism for the tenants that have live jobs, with what they cannot use given
//! back to the others (`give_back`).
//!
//! A tenant's weight is divided over its workloads with live jobs. A workload that can use less than its
//! part of the tenant's equal split leaves the rest to its siblings first.

use crate::give_back::{SLACK, equal_division, give_back};
use crate::ids::{TenantKey, WorkloadKey};
use crate::state::State;
use oef_core::{
    GpuSpec, Mechanism, Options, Outcome, Problem, ProblemSpec, Solver, TenantId, TenantSpec,
    WorkloadId, WorkloadSpec,
};

/// The shares of a round, with the problem that they answer.
#[derive(Clone, Debug, Default)]
pub struct Entitlement {
    solver: Option<Solver>,
    answer: Option<(Problem, Outcome)>,
    /// The tenants of the problem, in its order.
    tenants: Vec<TenantKey>,
    /// The workloads of the problem, in its order.
    workloads: Vec<WorkloadKey>,
    /// The workloads that had live jobs when it was solved.
    active: Vec<WorkloadKey>,
    /// GPUs that each tenant of the problem could use when it was solved, and the GPUs of its share.
    demand: Vec<(u64, f64)>,
    stale: bool,
    trouble: Option<String>,
    solves: u64,
}

impl Entitlement {
    /// The problem of the round (with demands) and its shares; `None` while there is nothing to share.
    pub fn answer(&self) -> Option<(&Problem, &Outcome)> {
        self.answer.as_ref().map(|(problem, outcome)| (problem, outcome))
    }

    /// The tenants of the problem, in its order.
    pub fn tenants(&self) -> &[TenantKey] {
        &self.tenants
    }

    /// The workloads of the problem, in its order.
    pub fn workloads(&self) -> &[WorkloadKey] {
        &self.workloads
    }

    /// What went wrong with the mechanism, if it did: the shares are then those of an equal division.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// How often the mechanism was solved so far.
    pub fn solves(&self) -> u64 {
        self.solves
    }

    /// The next round solves again, whatever has changed.
    pub(crate) fn forget(&mut self) {
        self.stale = true;
    }
}

/// Brings the shares up to date, if anything has changed that they depend on, and says whether it did.
pub(crate) fn refresh(state: &mut State) -> bool {
    let types = state.cluster.types().len();
    let mut entitlement = std::mem::take(&mut state.entitlement);
    let felt = entitlement.stale || is_felt(state, &entitlement);
    if felt {
        solve(state, &mut entitlement);
        for workload in &mut state.workloads {
            workload.widen(types);
            workload.share.fill(0.0);
        }
        if let Some((_, outcome)) = &entitlement.answer {
            for (l, key) in entitlement.workloads.iter().enumerate() {
                let shares = outcome.shares.of_workload(WorkloadId(l));
                state.workloads[key.0].share[..shares.len()].copy_from_slice(shares);
            }
        }
        entitlement.stale = false;
    }
    state.entitlement = entitlement;
    felt
}

/// Whether the demands have changed in a way that the shares feel. A limit that no share touches, before
/// and after, changes no share: taking such a constraint from a program, or adding one, leaves its optimum.
fn is_felt(state: &State, entitlement: &Entitlement) -> bool {
    if !entitlement.active.iter().eq(&state.active) {
        return true;
    }
    entitlement.tenants.iter().zip(&entitlement.demand).any(|(&tenant, &(before, share))| {
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

fn solve(state: &State, entitlement: &mut Entitlement) {
    entitlement.trouble = None;
    entitlement.active = state.active.iter().copied().collect();
    (entitlement.tenants, entitlement.workloads) = parties(state);
    let spec = describe(state, &entitlement.tenants, &entitlement.workloads);
    entitlement.answer = match spec.validate() {
        Err(invalid) => {
            entitlement.trouble = Some(invalid.to_string());
            None
        }
        Ok(problem) => {
            let mechanism = state.settings.mechanism;
            let usable =
                |w: &WorkloadKey| state.workloads[w.0].usable(state.cluster.capacity()) as f64;
            let usable: Vec<f64> = entitlement.workloads.iter().map(usable).collect();
            let mut solve = |part: Problem| run(mechanism, entitlement, part);
            let outcome = give_back(&problem, mechanism, &usable, &mut solve);
            Some((problem, outcome))
        }
    };
    if entitlement.tenants.is_empty() {
        entitlement.trouble = None;
    }
    let answer = entitlement.answer.as_ref();
    let demand = entitlement.tenants.iter().enumerate().map(|(t, &key)| {
        let share = answer.map_or(0.0, |(problem, outcome)| {
            outcome.shares.of_tenant(problem, TenantId(t)).iter().sum()
        });
        (wanted(state, key), share)
    });
    entitlement.demand = demand.collect();
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

/// Solves with the memory of the last time; without an answer everything is divided by weight.
fn run(mechanism: Mechanism, entitlement: &mut Entitlement, problem: Problem) -> Outcome {
    entitlement.solves += 1;
    let solver = match entitlement.solver.take() {
        Some(mut solver) if solver.mechanism() == mechanism => {
            solver.replace(problem);
            entitlement.solver.insert(solver)
        }
        _ => entitlement.solver.insert(Solver::new(problem, mechanism)),
    };
    solver.solve(&Options::default()).unwrap_or_else(|error| {
        entitlement.trouble = Some(error.to_string());
        equal_division(solver.problem(), mechanism)
    })
}
