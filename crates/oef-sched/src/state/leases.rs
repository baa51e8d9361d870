//! Plans are carried out, and leases begin, are renewed and end. Nothing is decided here.

use super::State;
use super::ledger;
use super::lifecycle::find;
use crate::action::{Action, Applied, Refusal};
use crate::cluster::Health;
use crate::ids::{Generation, GpuId, JobId, Slot};
use crate::job::{Lease, Next, Phase};
use crate::plan::{Origin, Plan, PlannedRound, PlannedStart, PlannedWait, Scope};
use crate::planning::Floor;
use crate::reason::{StartReason, StopReason};
use crate::time::{Span, Time};
use std::collections::BTreeSet;

impl State {
    /// A lease outlives its round by half of one, so that a late renewal stops nobody.
    pub(crate) fn lease_end(&self) -> Time {
        let round = self.settings.round;
        self.round_began + round + Span(round.0 / 2)
    }
}

/// Carries a plan that was checked out: stops first, so that GPUs come free; then what can start at once.
pub(super) fn carry_out(state: &mut State, plan: Plan) -> Applied {
    let mut actions = Vec::new();
    for stopped in &plan.stops {
        let slot = find(state, stopped.job)?;
        if plan.scope == Scope::Fill && matches!(stopped.why, StopReason::Displaced { .. }) {
            let tenant = state.at(slot).spec.tenant;
            state.tenants[tenant.0].displaced_in = state.round;
        }
        actions.extend(stop(state, slot, stopped.why));
    }
    let mut starts = Vec::with_capacity(plan.starts.len());
    for start in plan.starts {
        let slot = find(state, start.job)?;
        match start.from {
            Origin::Spread => disown(state, slot),
            Origin::Queue | Origin::Elsewhere => unplace(state, slot),
        }
        starts.push((slot, start));
    }
    for (slot, start) in &starts {
        start.gpus.iter().for_each(|&gpu| state.cluster.own(gpu, *slot));
    }
    for (job, why) in plan.keeps {
        let slot = find(state, job)?;
        if let Phase::Running { why: reason, .. } = &mut state.at_mut(slot).phase {
            *reason = why;
        }
    }
    let mut begin = Vec::with_capacity(starts.len());
    for (slot, start) in starts {
        if start.from != Origin::Spread {
            count_in(state, slot, &start.gpus);
        }
        state.at_mut(slot).room = None;
        if let Some(gang) = start.serves {
            ledger::pay_for_room(state, slot, find(state, gang)?);
        }
        let moved = if start.serves.is_some() { StopReason::MadeRoom } else { StopReason::Moved };
        assign(state, slot, (start.gpus, start.why, moved), plan.until, &mut actions);
        begin.push(slot);
    }
    if plan.scope == Scope::Round {
        forget_room(state, &plan.waits);
    }
    for wait in plan.waits {
        let slot = find(state, wait.job)?;
        let before = state.at(slot).room.as_ref().map_or(0, |(rounds, _)| *rounds);
        let rounds = before + u32::from(plan.scope == Scope::Round);
        state.at_mut(slot).room = Some((rounds, wait));
    }
    for (workload, balances) in plan.balances {
        state.workloads[workload.0].deficit = balances;
    }
    if plan.scope == Scope::Round {
        renew_all(state, plan.until, &mut actions);
        let (round, began, overcommitted) = (state.round, state.now, plan.overcommitted);
        state.plan = PlannedRound { round, began, overcommitted };
    }
    for slot in begin {
        actions.extend(start_if_free(state, slot));
    }
    Ok(actions)
}

/// Who no longer waits for room.
fn forget_room(state: &mut State, waits: &[PlannedWait]) {
    let still: BTreeSet<JobId> = waits.iter().map(|wait| wait.job).collect();
    for job in state.jobs.iter_mut().flatten() {
        if job.room.is_some() && !still.contains(&job.spec.id) {
            job.room = None;
        }
    }
}

/// Whether a plan can be carried out, all of it.
pub(super) fn check(state: &State, plan: &Plan) -> Result<(), Refusal> {
    let bad = |what: String| Err(Refusal::BadPlan(what));
    if plan.round != state.round {
        return bad(format!("it is for round {}, and this is round {}", plan.round, state.round));
    }
    let mut floor = Floor::new(&state.cluster);
    let mut seen = BTreeSet::new();
    let jobs = plan.stops.iter().map(|stop| stop.job);
    for job in jobs.chain(plan.starts.iter().map(|start| start.job)) {
        let slot = find(state, job)?;
        if !seen.insert(job) {
            return bad(format!("job {job} is in it twice"));
        }
        for &gpu in state.target(slot).map_or(&[][..], |lease| &lease.gpus) {
            floor.disown(gpu);
        }
    }
    for start in &plan.starts {
        check_start(state, start, &mut floor)?;
    }
    let others = plan.keeps.iter().map(|(job, _)| *job);
    let gangs = plan.starts.iter().filter_map(|start| start.serves);
    for job in others.chain(gangs).chain(plan.waits.iter().map(|wait| wait.job)) {
        find(state, job)?;
    }
    let types = state.cluster.types().len();
    for (workload, balances) in &plan.balances {
        let known = workload.0 < state.workloads.len() && balances.len() == types;
        if !known || balances.iter().any(|balance| !balance.is_finite()) {
            return bad(format!("the accounts of workload {workload} are not for this cluster"));
        }
    }
    Ok(())
}

fn check_start(state: &State, start: &PlannedStart, floor: &mut Floor<'_>) -> Result<(), Refusal> {
    let bad = |what: &str| Err(Refusal::BadPlan(format!("job {} {what}", start.job)));
    let slot = find(state, start.job)?;
    let job = state.at(slot);
    let leaves = matches!(&job.phase, Phase::Stopping { next: Next::Forget, .. });
    if state.obstacle(slot).is_some() || leaves {
        return bad("is held or cancelled");
    }
    if start.gpus.len() != job.spec.workers as usize {
        return bad("gets more or fewer GPUs than it has workers");
    }
    for &gpu in &start.gpus {
        let node = state.cluster.nodes().get(gpu.node.0);
        let usable = node
            .is_some_and(|node| node.health() == Health::Up && (gpu.index as usize) < node.gpus());
        if !usable {
            return bad("gets a GPU that cannot be used");
        }
        if floor.owner(gpu).is_some() {
            return bad("gets a GPU that is another's");
        }
        floor.own(gpu, slot);
    }
    let types = |gpus: &[GpuId]| state.single_type(gpus);
    let same = || state.target(slot).is_some_and(|lease| types(&lease.gpus) == types(&start.gpus));
    if start.from == Origin::Spread && !same() {
        return bad("does not come together on GPUs of its type");
    }
    Ok(())
}

fn renew(state: &mut State, slot: Slot, until: Time, actions: &mut Vec<Action>) {
    let job = state.at_mut(slot);
    if let Phase::Running { lease, .. } = &mut job.phase {
        lease.until = until;
        let (job, generation) = (job.spec.id, lease.generation);
        actions.push(Action::Keep { job, generation, until });
    }
}

fn renew_all(state: &mut State, until: Time, actions: &mut Vec<Action>) {
    let slots: Vec<Slot> = state.by_id.values().copied().collect();
    for slot in slots {
        renew(state, slot, until, actions);
    }
}

/// Promises GPUs to a job that owns them already: it starts as soon as they are free.
fn assign(
    state: &mut State,
    slot: Slot,
    (gpus, why, moved): (Vec<GpuId>, StartReason, StopReason),
    until: Time,
    actions: &mut Vec<Action>,
) {
    if matches!(&state.at(slot).phase, Phase::Running { lease, .. } if lease.gpus == gpus) {
        return;
    }
    let job = state.at_mut(slot);
    job.generation = Generation(job.generation.0 + 1);
    let lease = Lease { generation: job.generation, gpus, until };
    let id = job.spec.id;
    let phase = std::mem::replace(&mut job.phase, Phase::Queued);
    let next = match phase {
        Phase::Running { lease: old, since, .. } => {
            let (generation, to) = (old.generation, lease.gpus.clone());
            actions.push(Action::Migrate { job: id, generation, to, why: moved });
            let next = Next::Move { lease, why };
            Phase::Stopping { lease: old, since, why: moved, next }
        }
        Phase::Stopping { lease: old, since, why: stop, .. } => {
            let next = Next::Move { lease, why };
            Phase::Stopping { lease: old, since, why: stop, next }
        }
        Phase::Queued => {
            state.dequeue(slot);
            Phase::Assigned { lease, why }
        }
        // Who is held is never chosen.
        Phase::Assigned { .. } | Phase::Held => Phase::Assigned { lease, why },
    };
    state.at_mut(slot).phase = next;
}

/// Counts a job among those that own GPUs.
fn count_in(state: &mut State, slot: Slot, gpus: &[GpuId]) {
    let types = state.cluster.types().len();
    let key = state.at(slot).row();
    let workload = &mut state.workloads[key.0];
    workload.widen(types);
    for &gpu in gpus {
        workload.used[state.cluster.type_of(gpu).0] += 1;
    }
    workload.placed.push(slot);
    let place = workload.placed.len() - 1;
    state.at_mut(slot).place = Some(place);
}

/// Takes the GPUs from a job that is about to get others of the same type.
fn disown(state: &mut State, slot: Slot) {
    for gpu in state.target(slot).map_or(Vec::new(), |lease| lease.gpus.clone()) {
        state.cluster.disown(gpu);
    }
}

/// Takes a job's GPUs from it, and it from those that own some.
pub(super) fn unplace(state: &mut State, slot: Slot) {
    ledger::pay_for_urgent(state, slot);
    let Some(gpus) = state.target(slot).map(|lease| lease.gpus.clone()) else { return };
    let Some(place) = state.at_mut(slot).place.take() else { return };
    let key = state.at(slot).row();
    let workload = &mut state.workloads[key.0];
    for &gpu in &gpus {
        workload.used[state.cluster.type_of(gpu).0] -= 1;
        state.cluster.disown(gpu);
    }
    workload.placed.swap_remove(place);
    if let Some(&moved) = workload.placed.get(place) {
        state.at_mut(moved).place = Some(place);
    }
}

/// Starts a job whose GPUs nobody holds any more.
pub(super) fn start_if_free(state: &mut State, slot: Slot) -> Option<Action> {
    let Phase::Assigned { lease, why } = &state.at(slot).phase else { return None };
    let workers = lease.gpus.len() as u32;
    // Jobs of its tenant that are being stopped still count.
    if lease.gpus.iter().any(|&g| state.cluster.holder(g).is_some())
        || !state.may_hold(state.at(slot).spec.tenant, &lease.gpus)
    {
        return None;
    }
    // It waited for its GPUs until it would no longer end before their node is out.
    if lease.gpus.iter().any(|gpu| state.ends_too_late(slot, gpu.node)) {
        return stop(state, slot, StopReason::NodeDown);
    }
    let (mut lease, why) = (lease.clone(), *why);
    lease.until = state.lease_end();
    for &gpu in &lease.gpus {
        state.cluster.hold(gpu, slot);
    }
    let tenant = state.at(slot).spec.tenant;
    state.tenants[tenant.0].holds += workers;
    let now = state.now;
    let job = state.at_mut(slot);
    job.restarts += u32::from(job.started_before);
    job.started_before = true;
    job.phase = Phase::Running { lease: lease.clone(), since: now, why };
    Some(Action::Start { job: job.spec.id, lease, why })
}

/// Tells a job to stop, or takes back a promise that it was given.
pub(super) fn stop(state: &mut State, slot: Slot, why: StopReason) -> Option<Action> {
    unplace(state, slot);
    let next = if why == StopReason::Cancelled { Next::Forget } else { Next::Queue };
    let job = state.at_mut(slot);
    let id = job.spec.id;
    match std::mem::replace(&mut job.phase, Phase::Queued) {
        Phase::Running { lease, since, .. } => {
            let generation = lease.generation;
            job.phase = Phase::Stopping { lease, since, why, next };
            Some(Action::Preempt { job: id, generation, why })
        }
        Phase::Stopping { lease, since, why, .. } => {
            job.phase = Phase::Stopping { lease, since, why, next };
            None
        }
        Phase::Assigned { .. } => {
            state.requeue(slot);
            None
        }
        Phase::Held => {
            job.phase = Phase::Held;
            None
        }
        Phase::Queued => None,
    }
}
