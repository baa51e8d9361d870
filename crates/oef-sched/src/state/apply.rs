//! One event in, the books kept, actions out. Nothing is decided here: whatever is a choice comes in as a
//! [`Plan`](crate::Plan).

use super::leases::{carry_out, start_if_free, stop, unplace};
use super::ledger::advance;
use super::lifecycle::{admit, find, forget, go_back, start_assigned, vacate};
use super::{State, commands, entitle, ledger, registry};
use crate::action::{Action, Applied, Refusal, bad, wrong};
use crate::cluster::{GPUS_PER_NODE_MAX, Health, NodeSpec};
use crate::event::{Event, EventKind};
use crate::ids::{Generation, JobId, RoundId, Slot};
use crate::job::{JobSpec, Next, Phase};
use crate::plan::{Plan, Scope};
use crate::planning::{plan, plan_without_displacing};
use crate::reason::StopReason;
use crate::time::Time;

/// More workers than any gang has; a job with more is a mistake.
const WORKERS_MAX: u32 = 100_000;

/// Lets something happen to the scheduler and says what is to be done. An event that cannot have happened (an unknown
/// job, an old lease, a time that lies back, a plan for another state) changes nothing.
///
/// What was decided before has its consequences: a job whose promised GPUs were freed starts, a cancelled one stops.
/// Idle GPUs stay idle until a plan hands them out.
pub fn apply(state: &mut State, event: Event) -> Applied {
    let at = event.at;
    if at < state.now {
        return Err(Refusal::TimeWentBack(state.now.0 - at.0));
    }
    match event.kind {
        EventKind::Tick => Ok(tick(state, at)),
        EventKind::Planned(plan) => planned(state, at, *plan),
        EventKind::Shares(answer) => entitle::take_shares(state, at, *answer),
        EventKind::Submitted(spec) => submitted(state, at, spec),
        EventKind::Cancelled { job } => cancelled(state, at, job),
        EventKind::Progress { job, generation, steps } => {
            progress(state, at, job, generation, steps)
        }
        EventKind::Finished { job, generation } => ended(state, at, job, generation, false),
        EventKind::Failed { job, generation, retry } => ended(state, at, job, generation, retry),
        EventKind::Preempted { job, generation } => stopped(state, at, job, generation, true),
        EventKind::Lost { job, generation } => stopped(state, at, job, generation, false),
        EventKind::Changed { job, change } => commands::changed(state, at, job, change),
        EventKind::Release { job } => commands::release(state, at, job),
        EventKind::NodeUp(spec) => node_up(state, at, &spec),
        EventKind::NodeDown { node } => node_down(state, at, &node),
        EventKind::NodeClosing { node } => node_closing(state, at, &node),
        EventKind::NodePlannedOut { node, window } => {
            let id = state.cluster.node_named(&node).ok_or(Refusal::UnknownNode(node))?;
            advance(state, at);
            state.cluster.plan_out(id, window);
            Ok(Vec::new())
        }
        EventKind::Settings(settings) => Ok(registry::settings(state, at, *settings)),
        EventKind::TenantAdded { name, weight } => registry::add_tenant(state, at, name, weight),
        EventKind::GroupAdded { name, weight, parent } => {
            registry::add_group(state, at, name, weight, parent)
        }
        EventKind::WorkloadAdded { tenant, name, weight, profile } => {
            registry::add_workload(state, at, tenant, name, weight, profile)
        }
        EventKind::Weight { tenant, weight } => registry::weight(state, at, tenant, weight),
        EventKind::RestartCost { workload, cost } => {
            registry::restart_cost(state, at, workload, cost)
        }
        EventKind::Profiled { workload, profile } => {
            registry::profiled(state, at, workload, profile)
        }
        EventKind::GroupWeight { group, weight } => {
            registry::group_weight(state, at, group, weight)
        }
        EventKind::GroupParent { group, parent } => {
            registry::group_parent(state, at, group, parent)
        }
        EventKind::TenantGroup { tenant, group } => {
            registry::tenant_group(state, at, tenant, group)
        }
        EventKind::Order { tenant, order } => commands::order(state, at, tenant, order),
        EventKind::TenantPromises { tenant, promises } => {
            registry::tenant_promises(state, at, tenant, promises)
        }
        EventKind::GroupPromises { group, promises } => {
            registry::group_promises(state, at, group, promises)
        }
        EventKind::Limit { tenant, gpus } => commands::limit(state, at, tenant, gpus),
        EventKind::WorkloadWeight { workload, weight } => {
            registry::workload_weight(state, at, workload, weight)
        }
        EventKind::Suspend { tenant, suspended } => commands::suspend(state, at, tenant, suspended),
    }
}

/// For a driver that journals nothing: [`apply`], and where the event calls for a decision, [`plan`](crate::plan())
/// and that applied as well.
pub fn step(state: &mut State, event: Event) -> Applied {
    step_with(state, event, plan)
}

/// The same for events that were written down without what was decided after them, when no job took the GPUs of others of
/// its tenant.
pub fn step_without_displacing(state: &mut State, event: Event) -> Applied {
    step_with(state, event, plan_without_displacing)
}

fn step_with(state: &mut State, event: Event, plan: fn(&State, Scope) -> Plan) -> Applied {
    let (at, scope) = (event.at, event.kind.calls_for());
    let mut actions = apply(state, event)?;
    let Some(scope) = scope else { return Ok(actions) };
    let plan = plan(state, scope);
    if !plan.is_empty() {
        let kind = EventKind::Planned(Box::new(plan));
        actions.extend(apply(state, Event { at, kind })?);
    }
    Ok(actions)
}

impl EventKind {
    /// What has to be planned after it, if anything.
    pub fn calls_for(&self) -> Option<Scope> {
        match self {
            EventKind::Tick => Some(Scope::Round),
            EventKind::Submitted(_)
            | EventKind::Cancelled { .. }
            | EventKind::Finished { .. }
            | EventKind::Failed { .. }
            | EventKind::Preempted { .. }
            | EventKind::Lost { .. }
            | EventKind::Changed { .. }
            | EventKind::Release { .. }
            | EventKind::NodeUp(_)
            | EventKind::NodeDown { .. }
            | EventKind::NodeClosing { .. }
            | EventKind::NodePlannedOut { .. }
            | EventKind::Profiled { .. }
            | EventKind::Limit { .. }
            | EventKind::TenantPromises { .. }
            | EventKind::GroupPromises { .. }
            // Another group may have other limits.
            | EventKind::GroupParent { .. }
            | EventKind::TenantGroup { .. }
            // A job that could not afford another restart may be able to.
            | EventKind::RestartCost { .. }
            | EventKind::Settings(_)
            | EventKind::Suspend { .. } => Some(Scope::Fill),
            // What these change counts from the next round on.
            EventKind::Planned(_)
            | EventKind::Shares(_)
            | EventKind::Progress { .. }
            | EventKind::TenantAdded { .. }
            | EventKind::GroupAdded { .. }
            | EventKind::WorkloadAdded { .. }
            | EventKind::Weight { .. }
            | EventKind::GroupWeight { .. }
            | EventKind::Order { .. }
            | EventKind::WorkloadWeight { .. } => None,
        }
    }
}

/// A round begins with the shares that there are; its plan is to follow. Begun again at the same instant, it is the
/// same round.
fn tick(state: &mut State, at: Time) -> Vec<Action> {
    let again = state.round.0 > 0 && at == state.round_began;
    advance(state, at);
    ledger::settle_urgent(state);
    if !again {
        state.round = RoundId(state.round.0 + 1);
        state.round_began = at;
        super::remember::count(state);
    }
    Vec::new()
}

fn planned(state: &mut State, at: Time, plan: Plan) -> Applied {
    super::leases::check(state, &plan)?;
    advance(state, at);
    carry_out(state, plan)
}

fn submitted(state: &mut State, at: Time, spec: JobSpec) -> Applied {
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
    admit(state, spec, at);
    Ok(Vec::new())
}

fn cancelled(state: &mut State, at: Time, id: JobId) -> Applied {
    let slot = find(state, id)?;
    if let Phase::Stopping { next: Next::Forget, .. } = state.at(slot).phase {
        return Err(wrong(id, "being cancelled already"));
    }
    advance(state, at);
    let action = stop(state, slot, StopReason::Cancelled);
    match state.at(slot).phase {
        Phase::Queued => {
            state.dequeue(slot);
            forget(state, slot);
        }
        Phase::Held => forget(state, slot),
        _ => {}
    }
    Ok(action.into_iter().collect())
}

fn progress(state: &mut State, at: Time, id: JobId, generation: Generation, steps: f64) -> Applied {
    let slot = leased(state, id, generation)?;
    if !steps.is_finite() || steps < 0.0 {
        return Err(bad("steps are a number from 0 on"));
    }
    // Nothing that the accounts depend on changes: they are settled with the next event that changes it.
    state.now = at;
    state.at_mut(slot).steps = steps;
    Ok(Vec::new())
}

/// A job is done, well or badly: its GPUs are free at once. One that is to be tried again stays, held.
fn ended(state: &mut State, at: Time, id: JobId, generation: Generation, retry: bool) -> Applied {
    let slot = leased(state, id, generation)?;
    let cancelled = matches!(state.at(slot).phase, Phase::Stopping { next: Next::Forget, .. });
    let tenant = state.at(slot).spec.tenant;
    advance(state, at);
    unplace(state, slot);
    let gpus = vacate(state, slot);
    if retry && !cancelled {
        state.at_mut(slot).backing_off = true;
        go_back(state, slot);
    } else {
        forget(state, slot);
    }
    Ok(start_assigned(state, &gpus, tenant))
}

/// A job runs no more, because it was told to stop or because its processes are gone.
fn stopped(state: &mut State, at: Time, id: JobId, generation: Generation, told: bool) -> Applied {
    let slot = leased(state, id, generation)?;
    let running = matches!(state.at(slot).phase, Phase::Running { .. });
    if running && told {
        return Err(wrong(id, "running and was not told to stop"));
    }
    let tenant = state.at(slot).spec.tenant;
    advance(state, at);
    if running {
        unplace(state, slot);
    }
    let gpus = vacate(state, slot);
    match std::mem::replace(&mut state.at_mut(slot).phase, Phase::Queued) {
        Phase::Stopping { next: Next::Move { lease, why }, .. } => {
            state.at_mut(slot).phase = Phase::Assigned { lease, why };
            state.at_mut(slot).waiting_since = at;
        }
        Phase::Stopping { next: Next::Forget, .. } => forget(state, slot),
        _ => go_back(state, slot),
    }
    let mut actions = start_assigned(state, &gpus, tenant);
    if state.by_id.get(&id) == Some(&slot) {
        actions.extend(start_if_free(state, slot));
    }
    Ok(actions)
}

fn node_up(state: &mut State, at: Time, spec: &NodeSpec) -> Applied {
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
    super::gangs::refresh(state, None);
    state.entitlement.invalidate();
    Ok(Vec::new())
}

/// Jobs may have named a type before there was one, or need more memory than was known of it.
pub(super) fn types_appeared(state: &mut State) {
    let State { workloads, cluster, settings, .. } = state;
    for workload in workloads {
        workload.widen(cluster.types().len());
        for class in &mut workload.classes {
            class.resolve(cluster.types(), settings);
        }
    }
}

fn node_down(state: &mut State, at: Time, name: &str) -> Applied {
    let owners = take_out(state, at, name, Health::Down)?;
    Ok(owners.into_iter().filter_map(|slot| stop(state, slot, StopReason::NodeDown)).collect())
}

/// Running jobs stay; one that was only promised GPUs there waits again.
fn node_closing(state: &mut State, at: Time, name: &str) -> Applied {
    let mut owners = take_out(state, at, name, Health::Closing)?;
    owners.retain(|&slot| !matches!(state.at(slot).phase, Phase::Running { .. }));
    Ok(owners.into_iter().filter_map(|slot| stop(state, slot, StopReason::NodeDown)).collect())
}

/// A node's GPUs count no more; gives the jobs that own some of them.
fn take_out(state: &mut State, at: Time, name: &str, health: Health) -> Result<Vec<Slot>, Refusal> {
    let id = state.cluster.node_named(name).ok_or_else(|| Refusal::UnknownNode(name.into()))?;
    advance(state, at);
    state.cluster.set_health(id, health);
    super::gangs::refresh(state, None);
    state.entitlement.invalidate();
    let gpus = state.cluster.gpus_of(id);
    let mut owners: Vec<Slot> = gpus.filter_map(|gpu| state.cluster.owner(gpu)).collect();
    owners.sort();
    owners.dedup();
    Ok(owners)
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
        Phase::Held => Err(wrong(id, "held")),
        Phase::Assigned { .. } => Err(wrong(id, "not yet started")),
    }
}
