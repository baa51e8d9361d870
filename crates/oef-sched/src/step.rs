//! One event in, actions out.

use crate::action::{Action, Refusal};
use crate::class::Class;
use crate::cluster::{GPUS_PER_NODE_MAX, Health, NodeSpec};
use crate::entitlement::take as take_shares;
use crate::event::{Event, EventKind};
use crate::ids::{Generation, GpuId, JobId, RoundId, Slot, TenantKey, WorkloadKey};
use crate::job::{Job, JobSpec, Next, Phase};
use crate::ledger;
use crate::plan::{begin_round, fill, refresh_shares, start_if_free, stop, unplace};
use crate::question::Answer;
use crate::reason::StopReason;
use crate::settings::RoundingRule;
use crate::state::State;
use crate::tenant::Profile;
use crate::time::Time;

/// More workers than any gang has; a job with more is a mistake.
const WORKERS_MAX: u32 = 100_000;

/// Lets something happen to the scheduler and says what is to be done.
///
/// An event that cannot have happened (an unknown job, an old lease, a time that lies back) changes nothing
/// and comes back as [`Action::Refuse`] with the reason.
pub fn step(state: &mut State, event: Event) -> Vec<Action> {
    if event.at < state.now {
        return vec![Action::Refuse(Refusal::TimeWentBack(state.now.0 - event.at.0))];
    }
    match apply(state, event) {
        Ok(actions) => actions,
        Err(refusal) => vec![Action::Refuse(refusal)],
    }
}

fn apply(state: &mut State, event: Event) -> Result<Vec<Action>, Refusal> {
    let at = event.at;
    match event.kind {
        EventKind::Tick => tick(state, at, true),
        EventKind::TickKept => tick(state, at, false),
        EventKind::Shares(answer) => shares(state, at, *answer),
        EventKind::Submitted(spec) => submitted(state, at, spec),
        EventKind::Cancelled { job } => cancelled(state, at, job),
        EventKind::Progress { job, generation, steps } => {
            progress(state, at, job, generation, steps)
        }
        EventKind::Finished { job, generation } | EventKind::Failed { job, generation } => {
            ended(state, at, job, generation)
        }
        EventKind::Preempted { job, generation } => preempted(state, at, job, generation),
        EventKind::NodeUp(spec) => node_up(state, at, &spec),
        EventKind::NodeDown { node } => node_down(state, at, &node),
        EventKind::Weight { tenant, weight } => weight_changed(state, at, tenant, weight),
        EventKind::Profiled { workload, profile } => profiled(state, at, workload, profile),
    }
}

/// Lets the time pass up to an event that is taken.
fn advance(state: &mut State, at: Time) {
    if state.settings.rounding == RoundingRule::Deficit {
        ledger::settle(state, at);
    }
    state.now = at;
}

fn tick(state: &mut State, at: Time, refresh: bool) -> Result<Vec<Action>, Refusal> {
    let again = state.round.0 > 0 && at == state.round_began;
    advance(state, at);
    if !again {
        state.round = RoundId(state.round.0 + 1);
        state.round_began = at;
    }
    if refresh {
        refresh_shares(state);
    }
    Ok(begin_round(state, again))
}

/// New shares count from now on. What they change is done when the next round begins.
fn shares(state: &mut State, at: Time, answer: Answer) -> Result<Vec<Action>, Refusal> {
    answer.check(state)?;
    advance(state, at);
    take_shares(state, answer);
    ledger::follow_shares(state);
    Ok(Vec::new())
}

fn submitted(state: &mut State, at: Time, spec: JobSpec) -> Result<Vec<Action>, Refusal> {
    if state.last_job.is_some_and(|last| spec.id <= last) {
        return Err(Refusal::UsedJob(spec.id));
    }
    if spec.tenant.0 >= state.tenants.len() {
        return Err(Refusal::UnknownTenant);
    }
    let owner = state.workloads.get(spec.workload.0).map(|w| w.tenant);
    if owner != Some(spec.tenant) {
        return Err(Refusal::UnknownWorkload);
    }
    if spec.workers == 0 {
        return Err(bad("a job has at least one worker"));
    }
    if spec.workers > WORKERS_MAX {
        return Err(bad("a job has at most 100,000 workers"));
    }
    advance(state, at);
    state.last_job = Some(spec.id);
    let (id, workload) = (spec.id, spec.workload);
    let class = join(state, &spec);
    let slot = state.vacant.pop().unwrap_or_else(|| {
        state.jobs.push(None);
        Slot(state.jobs.len() - 1)
    });
    state.jobs[slot.0] = Some(Job::new(spec, class, at));
    state.by_id.insert(id, slot);
    if state.active.insert(workload) {
        ledger::enter(state, workload);
    }
    state.enqueue(slot);
    Ok(fill(state))
}

/// Counts a new job in the class of its kind, and returns its position.
fn join(state: &mut State, spec: &JobSpec) -> usize {
    let State { workloads, cluster, entitlement, .. } = state;
    let workload = &mut workloads[spec.workload.0];
    let alike = |c: &Class| c.workers == spec.workers && c.types == spec.types;
    let known = workload.classes.iter().position(alike);
    let class = known.or_else(|| workload.classes.iter().position(|c| c.live == 0));
    let class = class.unwrap_or(workload.classes.len());
    let is_first = workload.classes.get(class).is_none_or(|c| c.live == 0);
    let before = is_first.then(|| workload.usable_types(cluster.capacity()));
    if known.is_none() {
        let new = Class::new(spec.workers, spec.types.clone(), cluster.types());
        match workload.classes.get_mut(class) {
            Some(vacant) => *vacant = new,
            None => workload.classes.push(new),
        }
    }
    workload.classes[class].live += 1;
    workload.wanted += u64::from(spec.workers);
    workload.gang_max = workload.gang_max.max(spec.workers);
    if before.is_some_and(|before| before != workload.usable_types(cluster.capacity())) {
        entitlement.forget();
    }
    class
}

/// Counts a job out of its class.
fn leave(state: &mut State, job: &Job) {
    let State { workloads, cluster, entitlement, .. } = state;
    let workload = &mut workloads[job.spec.workload.0];
    let is_last = workload.classes[job.class].live == 1;
    let before = is_last.then(|| workload.usable_types(cluster.capacity()));
    workload.classes[job.class].live -= 1;
    workload.wanted -= u64::from(job.spec.workers);
    if let Some(before) = before {
        let live = workload.classes.iter().filter(|class| class.live > 0);
        workload.gang_max = live.map(|class| class.workers).max().unwrap_or(0);
        if before != workload.usable_types(cluster.capacity()) {
            entitlement.forget();
        }
    }
}

fn cancelled(state: &mut State, at: Time, id: JobId) -> Result<Vec<Action>, Refusal> {
    let slot = find(state, id)?;
    if let Phase::Stopping { next: Next::Forget, .. } = state.at(slot).phase {
        return Err(wrong(id, "being cancelled already"));
    }
    advance(state, at);
    let action = stop(state, slot, StopReason::Cancelled);
    if matches!(state.at(slot).phase, Phase::Queued) {
        state.dequeue(slot);
        forget(state, slot);
    }
    let mut actions: Vec<Action> = action.into_iter().collect();
    actions.extend(fill(state));
    Ok(actions)
}

fn progress(
    state: &mut State,
    at: Time,
    id: JobId,
    generation: Generation,
    steps: f64,
) -> Result<Vec<Action>, Refusal> {
    let slot = leased(state, id, generation)?;
    if !steps.is_finite() || steps < 0.0 {
        return Err(bad("steps are a number from 0 on"));
    }
    // Nothing that the accounts depend on changes: they are settled with the next event that changes it.
    state.now = at;
    state.at_mut(slot).steps = steps;
    Ok(Vec::new())
}

/// A job is done, well or badly: its GPUs are free at once.
fn ended(
    state: &mut State,
    at: Time,
    id: JobId,
    generation: Generation,
) -> Result<Vec<Action>, Refusal> {
    let slot = leased(state, id, generation)?;
    advance(state, at);
    unplace(state, slot);
    let gpus = vacate(state, slot);
    forget(state, slot);
    let mut actions = start_heirs(state, &gpus);
    actions.extend(fill(state));
    Ok(actions)
}

fn preempted(
    state: &mut State,
    at: Time,
    id: JobId,
    generation: Generation,
) -> Result<Vec<Action>, Refusal> {
    let slot = leased(state, id, generation)?;
    if !matches!(state.at(slot).phase, Phase::Stopping { .. }) {
        return Err(wrong(id, "running and was not told to stop"));
    }
    advance(state, at);
    let gpus = vacate(state, slot);
    let phase = std::mem::replace(&mut state.at_mut(slot).phase, Phase::Queued);
    if let Phase::Stopping { next, .. } = phase {
        match next {
            Next::Queue => state.enqueue(slot),
            Next::Move { lease, why } => {
                state.at_mut(slot).phase = Phase::Assigned { lease, why };
                state.at_mut(slot).waiting_since = at;
            }
            Next::Forget => forget(state, slot),
        }
    }
    let mut actions = start_heirs(state, &gpus);
    if state.by_id.get(&id) == Some(&slot) {
        actions.extend(start_if_free(state, slot));
    }
    actions.extend(fill(state));
    Ok(actions)
}

fn node_up(state: &mut State, at: Time, spec: &NodeSpec) -> Result<Vec<Action>, Refusal> {
    match state.cluster.node_named(&spec.name) {
        None if spec.gpus > GPUS_PER_NODE_MAX => {
            return Err(bad("a node has at most 1024 GPUs"));
        }
        None => {
            advance(state, at);
            let types = state.cluster.types().len();
            state.cluster.add_node(spec);
            if state.cluster.types().len() > types {
                types_appeared(state);
            }
        }
        Some(id) => {
            let node = &state.cluster.nodes()[id.0];
            let same = node.gpus() == spec.gpus as usize
                && state.cluster.types()[node.gpu_type().0] == spec.gpu_type;
            if !same {
                return Err(Refusal::ChangedNode(spec.name.clone()));
            }
            advance(state, at);
            state.cluster.set_health(id, Health::Up);
        }
    }
    state.entitlement.forget();
    Ok(fill(state))
}

/// Jobs may have named a type before there was one.
fn types_appeared(state: &mut State) {
    let State { workloads, cluster, .. } = state;
    for workload in workloads {
        workload.widen(cluster.types().len());
        for class in &mut workload.classes {
            class.resolve(cluster.types());
        }
    }
}

fn node_down(state: &mut State, at: Time, name: &str) -> Result<Vec<Action>, Refusal> {
    let id = state.cluster.node_named(name).ok_or_else(|| Refusal::UnknownNode(name.into()))?;
    advance(state, at);
    state.cluster.set_health(id, Health::Down);
    state.entitlement.forget();
    let mut hit: Vec<Slot> = Vec::new();
    hit.extend(state.cluster.gpus_of(id).filter_map(|gpu| state.cluster.owner(gpu)));
    hit.sort();
    hit.dedup();
    let mut actions: Vec<Action> =
        hit.into_iter().filter_map(|slot| stop(state, slot, StopReason::NodeDown)).collect();
    actions.extend(fill(state));
    Ok(actions)
}

fn weight_changed(
    state: &mut State,
    at: Time,
    tenant: TenantKey,
    weight: f64,
) -> Result<Vec<Action>, Refusal> {
    if tenant.0 >= state.tenants.len() {
        return Err(Refusal::UnknownTenant);
    }
    if !weight.is_finite() || weight <= 0.0 {
        return Err(bad("a weight is a finite number above 0"));
    }
    advance(state, at);
    state.tenants[tenant.0].weight = weight;
    state.entitlement.forget();
    Ok(Vec::new())
}

fn profiled(
    state: &mut State,
    at: Time,
    workload: WorkloadKey,
    profile: Profile,
) -> Result<Vec<Action>, Refusal> {
    if workload.0 >= state.workloads.len() {
        return Err(Refusal::UnknownWorkload);
    }
    if profile.throughput.iter().any(|t| !t.is_finite() || *t < 0.0) {
        return Err(bad("throughputs are finite numbers from 0 on"));
    }
    advance(state, at);
    state.workloads[workload.0].profile = profile;
    state.entitlement.forget();
    Ok(fill(state))
}

fn find(state: &State, id: JobId) -> Result<Slot, Refusal> {
    state.by_id.get(&id).copied().ok_or(Refusal::UnknownJob(id))
}

/// A job that runs (or is being stopped) under that lease.
fn leased(state: &State, id: JobId, given: Generation) -> Result<Slot, Refusal> {
    let slot = find(state, id)?;
    match &state.at(slot).phase {
        Phase::Running { lease, .. } | Phase::Stopping { lease, .. } => {
            let current = lease.generation;
            if current == given {
                Ok(slot)
            } else {
                Err(Refusal::StaleLease { job: id, current, given })
            }
        }
        Phase::Queued => Err(wrong(id, "waiting")),
        Phase::Assigned { .. } => Err(wrong(id, "not yet started")),
    }
}

/// Frees the GPUs that a job holds, counts its run, and returns them.
fn vacate(state: &mut State, slot: Slot) -> Vec<GpuId> {
    let now = state.now;
    let job = state.at_mut(slot);
    let (gpus, since) = match &job.phase {
        Phase::Running { lease, since, .. } | Phase::Stopping { lease, since, .. } => {
            (lease.gpus.clone(), *since)
        }
        _ => return Vec::new(),
    };
    job.ran += now.since(since);
    for &gpu in &gpus {
        state.cluster.release(gpu);
    }
    gpus
}

/// Starts whoever waited for just these GPUs.
fn start_heirs(state: &mut State, gpus: &[GpuId]) -> Vec<Action> {
    let mut heirs: Vec<Slot> = gpus.iter().filter_map(|&g| state.cluster.owner(g)).collect();
    heirs.sort();
    heirs.dedup();
    heirs.into_iter().filter_map(|slot| start_if_free(state, slot)).collect()
}

/// Takes an ended job out of the state.
fn forget(state: &mut State, slot: Slot) {
    let Some(job) = state.jobs[slot.0].take() else { return };
    state.by_id.remove(&job.spec.id);
    state.vacant.push(slot);
    leave(state, &job);
    let key = job.spec.workload;
    if !state.workloads[key.0].is_active() {
        state.active.remove(&key);
    }
}

fn bad(what: &'static str) -> Refusal {
    Refusal::BadValue(what.into())
}

fn wrong(job: JobId, state: &'static str) -> Refusal {
    Refusal::WrongState { job, state: state.into() }
}
