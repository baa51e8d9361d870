//! One round's plan, and the way from what runs to what should run.

use crate::action::Action;
use crate::entitlement;
use crate::ids::{Generation, GpuId, JobId, RoundId, Slot, WorkloadKey};
use crate::job::{Lease, Next, Phase};
use crate::ledger;
use crate::place::{Placed, place};
use crate::reason::{StartReason, StopReason};
use crate::select::{Reach, paper_grants, select, select_paper};
use crate::settings::RoundingRule;
use crate::state::State;
use crate::time::Time;
use oef_core::TypeId;

/// Whole GPUs of a type that a workload gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The workload.
    pub workload: WorkloadKey,
    /// The type.
    pub gpu: TypeId,
    /// How many.
    pub gpus: u32,
}

/// A job with its GPUs, and why it has them.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    /// The job.
    pub job: JobId,
    /// Its GPUs.
    pub gpus: Vec<GpuId>,
    /// Why it was started there.
    pub why: StartReason,
}

/// What was decided at the begin of a round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The round.
    pub round: RoundId,
    /// When it began.
    pub began: Time,
    /// What each workload gets.
    pub grants: Vec<Grant>,
    /// GPUs that the paper's rounding granted beyond what there is (0 under ours).
    pub overcommitted: u32,
    /// Which job runs where, by job.
    pub placements: Vec<Placement>,
}

/// Begins a round: shares, selection, placement, actions.
pub(crate) fn begin_round(state: &mut State) -> Vec<Action> {
    if entitlement::refresh(state) {
        ledger::follow_shares(state);
    }
    let mut overcommitted = 0;
    let picks = match state.settings.rounding {
        RoundingRule::Deficit => select(state, Reach::Round, 1.0),
        RoundingRule::Paper => {
            let grants = paper_grants(state);
            for (j, &capacity) in state.cluster.capacity().iter().enumerate() {
                let granted: u32 = grants.iter().map(|g| g.gpus[j]).sum();
                overcommitted += granted.saturating_sub(capacity);
            }
            let picks = select_paper(state, &grants);
            for grant in grants {
                state.workloads[grant.workload.0].deficit = grant.deviation;
            }
            picks
        }
    };
    let placed = place(state, picks, true);
    let actions = carry_out(state, placed, Reach::Round);
    state.plan = Plan {
        round: state.round,
        began: state.now,
        grants: grants(state),
        overcommitted,
        placements: placements(state),
    };
    actions
}

/// Hands out what is idle in mid-round. The paper's rounding waits for the next round.
pub(crate) fn fill(state: &mut State) -> Vec<Action> {
    let waits = state.active.iter().any(|w| !state.workloads[w.0].waiting.is_empty());
    if !waits || state.round.0 == 0 || state.settings.rounding == RoundingRule::Paper {
        return Vec::new();
    }
    let spare = |j: usize| {
        let placed: u32 = state.active.iter().map(|w| state.workloads[w.0].used_on(j)).sum();
        state.cluster.capacity()[j] > placed
    };
    if !(0..state.cluster.types().len()).any(spare) {
        return Vec::new();
    }
    let gone = state.now.since(state.round_began).0 as f64 / state.settings.round.0.max(1) as f64;
    let picks = select(state, Reach::Fill, (1.0 - gone).clamp(0.0, 1.0));
    let placed = place(state, picks, false);
    carry_out(state, placed, Reach::Fill)
}

fn grants(state: &State) -> Vec<Grant> {
    let mut grants = Vec::new();
    for &workload in &state.active {
        let used = state.workloads[workload.0].used.iter().enumerate();
        let some = used.filter(|&(_, &gpus)| gpus > 0);
        grants.extend(some.map(|(j, &gpus)| Grant { workload, gpu: TypeId(j), gpus }));
    }
    grants
}

fn placements(state: &State) -> Vec<Placement> {
    let placed = state.by_id.values().filter_map(|&slot| {
        let job = state.at(slot);
        let why = state.start_reason(slot)?;
        let gpus = state.target(slot)?.gpus.clone();
        Some(Placement { job: job.spec.id, gpus, why })
    });
    placed.collect()
}

/// Turns the wish into actions: stops first, so that GPUs come free; then what can start at once.
fn carry_out(state: &mut State, placed: Vec<Placed>, reach: Reach) -> Vec<Action> {
    let until = lease_end(state);
    let mut actions = Vec::new();
    if reach == Reach::Round {
        let mut wanted = vec![false; state.jobs.len()];
        for job in &placed {
            wanted[job.slot.0] = true;
        }
        stop_unwanted(state, &wanted, &mut actions);
    }
    let mut to_start = Vec::new();
    for job in placed {
        match job.gpus {
            None => keep(state, &job, until, reach, &mut actions),
            Some(gpus) => {
                assign(state, job.slot, gpus, job.why, until, &mut actions);
                to_start.push(job.slot);
            }
        }
    }
    for slot in to_start {
        actions.extend(start_if_free(state, slot));
    }
    actions
}

/// A lease outlives its round by half of one, so that a late renewal stops nobody.
fn lease_end(state: &State) -> Time {
    let round = state.settings.round;
    state.round_began + round + crate::time::Span(round.0 / 2)
}

fn stop_unwanted(state: &mut State, wanted: &[bool], actions: &mut Vec<Action>) {
    let workloads: Vec<WorkloadKey> = state.active.iter().copied().collect();
    for w in workloads {
        let placed = state.workloads[w.0].placed.clone();
        for slot in placed.into_iter().filter(|s| !wanted[s.0]) {
            actions.extend(stop(state, slot, StopReason::Outranked));
        }
    }
}

/// Lets a job run on. The reason is that of this round: what was an extra may be owed by now.
fn keep(state: &mut State, kept: &Placed, until: Time, reach: Reach, actions: &mut Vec<Action>) {
    if reach == Reach::Fill {
        return;
    }
    let job = state.at_mut(kept.slot);
    if let Phase::Running { lease, why, .. } = &mut job.phase {
        (lease.until, *why) = (until, kept.why);
        let (job, generation) = (job.spec.id, lease.generation);
        actions.push(Action::Keep { job, generation, until });
    }
}

/// Promises GPUs to a job: it starts as soon as they are free.
fn assign(
    state: &mut State,
    slot: Slot,
    gpus: Vec<GpuId>,
    why: StartReason,
    until: Time,
    actions: &mut Vec<Action>,
) {
    if let Some(before) = state.target(slot).map(|lease| lease.gpus.clone()) {
        unplace(state, slot, &before);
    }
    let job = state.at_mut(slot);
    job.generation = Generation(job.generation.0 + 1);
    let lease = Lease { generation: job.generation, gpus, until };
    let phase = std::mem::replace(&mut job.phase, Phase::Queued);
    let id = job.spec.id;
    let next = match phase {
        Phase::Running { lease: old, since, .. } => {
            let generation = old.generation;
            let (to, stop) = (lease.gpus.clone(), StopReason::Moved);
            actions.push(Action::Migrate { job: id, generation, to, why: stop });
            let next = Next::Move { lease: lease.clone(), why };
            Phase::Stopping { lease: old, since, why: stop, next }
        }
        Phase::Stopping { lease: old, since, why: stop, .. } => {
            let next = Next::Move { lease: lease.clone(), why };
            Phase::Stopping { lease: old, since, why: stop, next }
        }
        Phase::Queued => {
            state.dequeue(slot);
            Phase::Assigned { lease: lease.clone(), why }
        }
        Phase::Assigned { .. } => Phase::Assigned { lease: lease.clone(), why },
    };
    state.at_mut(slot).phase = next;
    replace_placed(state, slot, &lease.gpus);
}

fn replace_placed(state: &mut State, slot: Slot, gpus: &[GpuId]) {
    for &gpu in gpus {
        state.cluster.promise(gpu, Some(slot));
    }
    let types = state.cluster.types().len();
    let workload =
        &mut state.workloads[state.jobs[slot.0].as_ref().expect("in use").spec.workload.0];
    workload.widen(types);
    for &gpu in gpus {
        workload.used[state.cluster.type_of(gpu).0] += 1;
    }
    workload.placed.push(slot);
}

/// Takes a job from the list of those that have GPUs, or were promised some.
pub(crate) fn unplace(state: &mut State, slot: Slot, gpus: &[GpuId]) {
    let workload =
        &mut state.workloads[state.jobs[slot.0].as_ref().expect("in use").spec.workload.0];
    for &gpu in gpus {
        workload.used[state.cluster.type_of(gpu).0] -= 1;
    }
    workload.placed.retain(|&s| s != slot);
    for &gpu in gpus {
        if state.cluster.heir(gpu) == Some(slot) {
            state.cluster.promise(gpu, None);
        }
    }
}

/// Starts a job whose promised GPUs nobody holds any more.
pub(crate) fn start_if_free(state: &mut State, slot: Slot) -> Option<Action> {
    let Phase::Assigned { lease, why } = &state.at(slot).phase else { return None };
    if lease.gpus.iter().any(|&g| state.cluster.holder(g).is_some()) {
        return None;
    }
    let (lease, why) = (lease.clone(), *why);
    for &gpu in &lease.gpus {
        state.cluster.promise(gpu, None);
        state.cluster.hold(gpu, slot);
    }
    let now = state.now;
    let job = state.at_mut(slot);
    job.restarts += u32::from(job.started_before);
    job.started_before = true;
    job.phase = Phase::Running { lease: lease.clone(), since: now, why };
    Some(Action::Start { job: job.spec.id, lease, why })
}

/// Tells a job to stop, or takes back a promise that it was given.
pub(crate) fn stop(state: &mut State, slot: Slot, why: StopReason) -> Option<Action> {
    let gpus = state.target(slot)?.gpus.clone();
    unplace(state, slot, &gpus);
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
        Phase::Assigned { .. } | Phase::Queued => {
            state.requeue(slot);
            None
        }
    }
}
