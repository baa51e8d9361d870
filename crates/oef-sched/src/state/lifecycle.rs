//! Jobs come, wait, are held, stop and go: who counts where.

use super::State;
use super::gangs;
use super::leases::{start_if_free, stop};
use super::ledger;
use crate::action::{Action, Refusal};
use crate::class::Class;
use crate::ids::{GpuId, GroupKey, JobId, Slot, TenantKey, WorkloadKey};
use crate::job::{Job, JobSpec, Phase};
use crate::reason::StopReason;
use crate::time::Time;

/// Takes a new job in: it waits for GPUs, unless something has to be over first.
pub(super) fn admit(state: &mut State, spec: JobSpec, at: Time) {
    state.last_job = Some(spec.id);
    let slot = state.vacant.pop().unwrap_or_else(|| {
        state.jobs.push(None);
        Slot(state.jobs.len() - 1)
    });
    state.by_id.insert(spec.id, slot);
    if let Some(limit) = spec.sweep {
        state.sweeps.entry(limit.sweep).or_default().members.insert(spec.id);
    }
    state.jobs[slot.0] = Some(Job::new(spec, at));
    if state.obstacle(slot).is_none() {
        unpark(state, slot);
    }
}

/// Takes an ended job out of the state.
pub(super) fn forget(state: &mut State, slot: Slot) {
    let Some(job) = state.jobs[slot.0].take() else { return };
    state.by_id.remove(&job.spec.id);
    state.vacant.push(slot);
    if job.phase != Phase::Held {
        leave(state, job.row(), job.spec.workers, job.class);
    }
    if let Some(limit) = job.spec.sweep {
        leave_sweep(state, limit.sweep, job.spec.id);
        state.sweeps.retain(|_, sweep| !sweep.members.is_empty());
    }
}

/// A job that is gone for good leaves its sweep, one that may not start leaves its place in it to another.
fn leave_sweep(state: &mut State, first: JobId, id: JobId) {
    let is_live = state.by_id.contains_key(&id);
    let Some(sweep) = state.sweeps.get_mut(&first) else { return };
    sweep.open.remove(&id);
    if !is_live {
        sweep.members.remove(&id);
    }
    let parked: Vec<JobId> = sweep.members.difference(&sweep.open).copied().collect();
    let slots = parked.iter().filter_map(|id| state.by_id.get(id)).copied();
    let ready =
        slots.filter(|&slot| state.at(slot).phase == Phase::Held && state.obstacle(slot).is_none());
    let next = ready.min_by_key(|&slot| {
        let spec = &state.at(slot).spec;
        (std::cmp::Reverse(spec.priority), spec.id)
    });
    if let Some(slot) = next {
        unpark(state, slot);
    }
}

/// A job that has stopped waits again, unless it may not start.
pub(super) fn go_back(state: &mut State, slot: Slot) {
    match state.obstacle(slot).is_some() {
        true => park(state, slot),
        false => state.enqueue(slot),
    }
}

/// Makes a job's phase agree with whether it may start.
pub(super) fn settle(state: &mut State, slot: Slot, why: StopReason) -> Option<Action> {
    if state.obstacle(slot).is_some() {
        return set_aside(state, slot, why);
    }
    if state.at(slot).phase == Phase::Held {
        unpark(state, slot);
    }
    None
}

/// A job that may not run: stopped if it does, out of its queue if it waits.
fn set_aside(state: &mut State, slot: Slot, why: StopReason) -> Option<Action> {
    let action = stop(state, slot, why);
    if state.at(slot).phase == Phase::Queued {
        state.dequeue(slot);
        park(state, slot);
    }
    action
}

/// A job that has neither GPUs nor a place in its queue wants nothing for now.
fn park(state: &mut State, slot: Slot) {
    let job = state.at_mut(slot);
    job.phase = Phase::Held;
    let (row, workers, class) = (job.row(), job.spec.workers, job.class);
    let (id, sweep) = (job.spec.id, job.spec.sweep);
    leave(state, row, workers, class);
    if let Some(limit) = sweep {
        leave_sweep(state, limit.sweep, id);
    }
}

/// A waiting job that is out of its queue counts in the class of what it may use now.
pub(super) fn reclassify(state: &mut State, slot: Slot) {
    let (spec, row, before) =
        (state.at(slot).spec.clone(), state.at(slot).row(), state.at(slot).class);
    // In before out: a workload whose only job this is stays active, with what it is owed.
    let class = join(state, row, &spec);
    leave(state, row, spec.workers, before);
    state.at_mut(slot).class = class;
}

/// A held job wants GPUs again, from now on.
fn unpark(state: &mut State, slot: Slot) {
    let spec = state.at(slot).spec.clone();
    let row = gangs::row_of(state, &spec);
    state.at_mut(slot).gang_row = Some(row).filter(|&row| row != spec.workload);
    state.at_mut(slot).class = join(state, row, &spec);
    if let Some(limit) = spec.sweep {
        state.sweeps.entry(limit.sweep).or_default().open.insert(spec.id);
    }
    state.enqueue(slot);
}

/// Counts a job in the class of its kind, and returns its position.
fn join(state: &mut State, row: WorkloadKey, spec: &JobSpec) -> usize {
    let State { workloads, cluster, entitlement, settings, .. } = state;
    let workload = &mut workloads[row.0];
    let known = workload.classes.iter().position(|class| class.is_of(spec));
    let class = known.or_else(|| workload.classes.iter().position(|c| c.live == 0));
    let class = class.unwrap_or(workload.classes.len());
    let is_first = workload.classes.get(class).is_none_or(|c| c.live == 0);
    let before = is_first.then(|| workload.usable_types(cluster.capacity()));
    if known.is_none() {
        let new = Class::of(spec, cluster.types(), settings);
        match workload.classes.get_mut(class) {
            Some(vacant) => *vacant = new,
            None => workload.classes.push(new),
        }
    }
    workload.classes[class].live += 1;
    workload.wanted += u64::from(spec.workers);
    workload.gang_max = workload.gang_max.max(spec.workers);
    if before.is_some_and(|before| before != workload.usable_types(cluster.capacity())) {
        entitlement.invalidate();
    }
    if state.active.insert(row) {
        ledger::enter(state, row);
    }
    class
}

/// Counts a job out of its class.
fn leave(state: &mut State, row: WorkloadKey, workers: u32, class: usize) {
    let State { workloads, cluster, entitlement, active, .. } = state;
    let workload = &mut workloads[row.0];
    let is_last = workload.classes[class].live == 1;
    let before = is_last.then(|| workload.usable_types(cluster.capacity()));
    workload.classes[class].live -= 1;
    workload.wanted -= u64::from(workers);
    if let Some(before) = before {
        let live = workload.classes.iter().filter(|class| class.live > 0);
        workload.gang_max = live.map(|class| class.workers).max().unwrap_or(0);
        if before != workload.usable_types(cluster.capacity()) {
            entitlement.invalidate();
        }
    }
    if !workload.is_active() {
        active.remove(&row);
    }
}

/// Frees the GPUs that a job holds, counts its run, and returns them.
pub(super) fn vacate(state: &mut State, slot: Slot) -> Vec<GpuId> {
    let now = state.now;
    let job = state.at_mut(slot);
    let (gpus, since) = match &job.phase {
        Phase::Running { lease, since, .. } | Phase::Stopping { lease, since, .. } => {
            (lease.gpus.clone(), *since)
        }
        _ => return Vec::new(),
    };
    job.ran += now.since(since);
    let tenant = job.spec.tenant;
    state.tenants[tenant.0].holds -= gpus.len() as u32;
    for &gpu in &gpus {
        state.cluster.release(gpu);
    }
    gpus
}

/// Starts whoever waited for just these GPUs, or for its tenant to hold fewer.
pub(super) fn start_assigned(state: &mut State, gpus: &[GpuId], tenant: TenantKey) -> Vec<Action> {
    let mut assigned: Vec<Slot> = gpus.iter().filter_map(|&g| state.cluster.owner(g)).collect();
    assigned.sort();
    assigned.dedup();
    let mut actions: Vec<Action> =
        assigned.into_iter().filter_map(|slot| start_if_free(state, slot)).collect();
    actions.extend(start_within_limit(state, tenant));
    actions
}

/// Starts the jobs that had GPUs and waited for their tenant's limit, the oldest first.
pub(super) fn start_within_limit(state: &mut State, tenant: TenantKey) -> Vec<Action> {
    let mut actions = Vec::new();
    if state.tenants[tenant.0].limit.is_some() || !state.tenants[tenant.0].promises.is_empty() {
        actions = start_placed(state, tenant);
    }
    // A limit of a group is that of all its tenants.
    let limited = |state: &State, of: TenantKey| -> Option<GroupKey> {
        state.groups_of(of).filter(|g| !state.groups[g.0].promises.limit.is_empty()).last()
    };
    if let Some(group) = limited(state, tenant) {
        for other in (0..state.tenants.len()).map(TenantKey) {
            if state.groups_of(other).any(|g| g == group) {
                actions.extend(start_placed(state, other));
            }
        }
    }
    actions
}

/// Starts the jobs of a tenant that have GPUs which nobody holds, the oldest first.
pub(super) fn start_placed(state: &mut State, tenant: TenantKey) -> Vec<Action> {
    let mut slots: Vec<Slot> = state.placed_of(tenant).collect();
    slots.sort_by_key(|&slot| state.at(slot).spec.id);
    slots.into_iter().filter_map(|slot| start_if_free(state, slot)).collect()
}

pub(super) fn find(state: &State, id: JobId) -> Result<Slot, Refusal> {
    state.by_id.get(&id).copied().ok_or(Refusal::UnknownJob(id))
}
