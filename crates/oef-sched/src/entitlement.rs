//! Who is entitled to which GPUs in this round.
//!
//! The shares are those of the mechanism for the tenants that have live jobs. A tenant whose jobs can use
//! only some of its share keeps the best part of it, the fastest GPUs first, and gives the rest back; what
//! is given back is shared by the others under the same mechanism, and so on until nobody has more than it
//! can use. So a tenant with one job that is entitled to some fast GPUs runs it on a fast one.
//!
//! Under the mechanisms that promise the sharing incentive, such a tenant may instead keep the best part of
//! its equal split, where that is worth more to it. The incentive then holds in what tenants can use: parts
//! of equal splits fit together, and leave the others at least their own, to which the mechanism adds.
//!
//! A tenant's weight is divided over its workloads with live jobs. A workload that can use less than its
//! part of the tenant's equal split leaves the rest to its siblings first.

use crate::ids::{TenantKey, WorkloadKey};
use crate::state::State;
use oef_core::{
    GpuSpec, Mechanism, Options, Outcome, Problem, ProblemSpec, Shares, SolveError, Solver,
    SolverReport, Status, TenantId, TenantSpec, TypeId, WorkloadId, WorkloadSpec,
};

/// Passes of giving back; each pins at least one tenant, and after so many what is left is little and goes
/// to whoever can use it, GPU by GPU.
const PASSES_MAX: usize = 24;

/// Below this part of a GPU a share counts as within the demand.
const SLACK: f64 = 1e-9;

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
    demand: Vec<(u32, f64)>,
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
        now != before && (several || share > f64::from(before.min(now)) - SLACK)
    })
}

fn wanted(state: &State, tenant: TenantKey) -> u32 {
    state.tenants[tenant.0].workloads.iter().map(|w| state.workloads[w.0].wanted).sum()
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
        Ok(problem) => Some(give_back(state, entitlement, problem)),
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
    let types = state.cluster.types().len();
    let mut tenants: Vec<TenantKey> = Vec::new();
    let runs = |w: &WorkloadKey| (0..types).any(|j| state.workloads[w.0].profile.on(j) > 0.0);
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
            demand: Some(f64::from(wanted(state, key))),
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
    let types = state.cluster.types().iter().enumerate();
    WorkloadSpec {
        name: workload.name.clone(),
        weight,
        throughput: types.map(|(j, name)| (name.clone(), workload.profile.on(j))).collect(),
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
            let wanted = f64::from(state.workloads[w.0].wanted);
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

/// Solves without demands; who has more than it can use keeps the best of it; the rest is shared again.
fn give_back(state: &State, entitlement: &mut Entitlement, problem: Problem) -> (Problem, Outcome) {
    let mut shares = Shares::zero(&problem);
    let mut capacity: Vec<f64> = problem.types().iter().map(|t| t.capacity).collect();
    let mut open: Vec<TenantId> = problem.tenant_ids().collect();
    let mut prices = Vec::new();
    let mut report = None;
    for pass in 0..PASSES_MAX {
        let last = pass + 1 == PASSES_MAX;
        if open.is_empty() || capacity.iter().all(|&c| c <= SLACK) {
            break;
        }
        let Some(part) = sub_problem(&problem, &open, &capacity) else { break };
        let outcome = match run(state.settings.mechanism, entitlement, part.clone()) {
            Ok(outcome) => outcome,
            Err(error) => {
                entitlement.trouble = Some(error.to_string());
                equal_division(&part, state.settings.mechanism)
            }
        };
        if report.is_none() {
            (report, prices) = (Some(outcome.solver.clone()), outcome.prices.clone());
        }
        let kept = keep(&problem, &part, &outcome, &open);
        // Parts of equal splits fit together, and so do parts of shares, but not one beside the other.
        let pinned = [Part::OfEqualSplit, Part::OfShare]
            .into_iter()
            .find(|&part| kept.iter().any(|k| k.part == part))
            .filter(|_| !last);
        for (&tenant, kept) in open.iter().zip(&kept) {
            if pinned.is_none_or(|part| kept.part == part) {
                take(&problem, tenant, &kept.gpus, &mut shares, &mut capacity);
            }
        }
        let Some(pinned) = pinned else { break };
        let mut still = kept.iter().map(|k| k.part != pinned);
        open.retain(|_| still.next().unwrap_or(false));
    }
    let solver = report.unwrap_or(SolverReport {
        status: Status::Optimal,
        method: "nothing to share",
        gap: 0.0,
        iterations: 0,
    });
    let mechanism = state.settings.mechanism;
    (problem, Outcome { mechanism, shares, prices, trades: Vec::new(), solver })
}

/// What a tenant would keep of one pass.
struct Kept {
    part: Part,
    /// Workload after workload, type after type.
    gpus: Vec<Vec<f64>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// It can use all of its share.
    Whole,
    OfShare,
    OfEqualSplit,
}

fn keep(problem: &Problem, part: &Problem, outcome: &Outcome, open: &[TenantId]) -> Vec<Kept> {
    let promises_incentive =
        !matches!(outcome.mechanism, Mechanism::Noncooperative | Mechanism::Efficiency);
    let equal = promises_incentive.then(|| equal_division(part, outcome.mechanism).shares);
    let kept = open.iter().enumerate().map(|(t, tenant)| {
        let demand = problem.tenants()[tenant.0].demand.unwrap_or(f64::INFINITY);
        let total: f64 = outcome.shares.of_tenant(part, TenantId(t)).iter().sum();
        let gpus = keep_best(part, &outcome.shares, TenantId(t), demand);
        if total <= demand + SLACK {
            return Kept { part: Part::Whole, gpus };
        }
        let other = equal.as_ref().map(|equal| keep_best(part, equal, TenantId(t), demand));
        let worth = |gpus: &[Vec<f64>]| worth(part, TenantId(t), gpus);
        match other {
            Some(other) if worth(&other) > worth(&gpus) * (1.0 + SLACK) => {
                Kept { part: Part::OfEqualSplit, gpus: other }
            }
            _ => Kept { part: Part::OfShare, gpus },
        }
    });
    kept.collect()
}

fn worth(problem: &Problem, tenant: TenantId, gpus: &[Vec<f64>]) -> f64 {
    let rows = problem.workloads_of(tenant).iter().zip(gpus);
    rows.map(|(w, gpus)| w.speedup.iter().zip(gpus).map(|(s, x)| s * x).sum::<f64>()).sum()
}

fn run(
    mechanism: Mechanism,
    entitlement: &mut Entitlement,
    problem: Problem,
) -> Result<Outcome, SolveError> {
    entitlement.solves += 1;
    let solver = match entitlement.solver.take() {
        Some(mut solver) if solver.mechanism() == mechanism => {
            solver.replace(problem);
            entitlement.solver.insert(solver)
        }
        _ => entitlement.solver.insert(Solver::new(problem, mechanism)),
    };
    solver.solve(&Options::default())
}

/// The problem of some tenants, without demands, with what is left.
fn sub_problem(problem: &Problem, open: &[TenantId], capacity: &[f64]) -> Option<Problem> {
    let mut spec = ProblemSpec::from(problem);
    for (gpu, &left) in spec.gpus.iter_mut().zip(capacity) {
        gpu.count = left.max(0.0);
    }
    let mut keep = open.iter().peekable();
    let mut position = 0;
    spec.tenants.retain_mut(|tenant| {
        tenant.demand = None;
        let kept = keep.next_if(|t| t.0 == position).is_some();
        position += 1;
        kept
    });
    spec.validate().ok()
}

/// Everything divided by weight: what is done when a mechanism gives no answer.
fn equal_division(problem: &Problem, mechanism: Mechanism) -> Outcome {
    let mut shares = Shares::zero(problem);
    for (l, workload) in problem.workloads().iter().enumerate() {
        for (j, gpu) in
            problem.types().iter().enumerate().filter(|(j, _)| workload.speedup[*j] > 0.0)
        {
            let part = gpu.capacity * workload.weight / problem.total_weight();
            shares.set(WorkloadId(l), TypeId(j), part);
        }
    }
    let solver = SolverReport {
        status: Status::Feasible,
        method: "division by weight",
        gap: 1.0,
        iterations: 0,
    };
    Outcome { mechanism, shares, prices: Vec::new(), trades: Vec::new(), solver }
}

/// The best GPUs of a tenant's share, at most `demand` of them: workload after workload, type after type.
fn keep_best(problem: &Problem, shares: &Shares, tenant: TenantId, demand: f64) -> Vec<Vec<f64>> {
    let ids: Vec<WorkloadId> = problem.workload_ids_of(tenant).collect();
    let mut kept: Vec<Vec<f64>> = ids.iter().map(|&w| shares.of_workload(w).to_vec()).collect();
    let total: f64 = kept.iter().flatten().sum();
    if total <= demand {
        return kept;
    }
    let mut offers: Vec<(f64, usize, usize)> = Vec::new();
    for (i, &w) in ids.iter().enumerate() {
        let speedup = &problem.workloads()[w.0].speedup;
        offers.extend((0..speedup.len()).map(|j| (speedup[j], i, j)));
    }
    offers.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let mut room = demand;
    for (_, i, j) in offers {
        kept[i][j] = kept[i][j].min(room);
        room -= kept[i][j];
    }
    kept
}

fn take(
    problem: &Problem,
    tenant: TenantId,
    kept: &[Vec<f64>],
    shares: &mut Shares,
    capacity: &mut [f64],
) {
    for (w, gpus) in problem.workload_ids_of(tenant).zip(kept) {
        for (j, &amount) in gpus.iter().enumerate() {
            shares.set(w, TypeId(j), amount);
            capacity[j] = (capacity[j] - amount).max(0.0);
        }
    }
}
