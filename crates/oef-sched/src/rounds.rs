//! One round's plan, and the way from what runs to what should run.

use crate::action::Action;
use crate::ids::{Generation, GpuId, Slot};
use crate::job::{Lease, Next, Phase};
use crate::place::place;
use crate::plan::Plan;
use crate::reason::{StartReason, StopReason};
use crate::select::{Pick, Reach, paper_grants, select, select_paper};
use crate::settings::RoundingRule;
use crate::state::State;
use crate::time::{Span, Time};

/// Begins a round with the shares that there are: selection, placement, actions. Begun again at the same instant, it renews what
/// there is and changes nothing: nobody is owed more than a moment ago.
pub(crate) fn begin_round(state: &mut State, again: bool) -> Vec<Action> {
    let mut overcommitted = 0;
    let reach = if again { Reach::Fill } else { Reach::Round };
    let picks = match state.settings.rounding {
        _ if again && state.settings.rounding == RoundingRule::Paper => Vec::new(),
        RoundingRule::Deficit => select(state, reach, 1.0),
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
    let mut actions = carry_out(state, picks, reach);
    if again {
        renew_all(state, &mut actions);
        overcommitted = state.plan.overcommitted;
    }
    state.plan = Plan { round: state.round, began: state.now, overcommitted };
    actions
}

/// Hands out what is idle in mid-round. The paper's rounding waits for the next round.
pub(crate) fn fill(state: &mut State) -> Vec<Action> {
    let spare = state.cluster.free().iter().any(|&free| free > 0);
    let waits = || state.active.iter().any(|w| state.workloads[w.0].waits > 0);
    let paper = state.settings.rounding == RoundingRule::Paper;
    if !spare || state.round.0 == 0 || paper || !waits() {
        return Vec::new();
    }
    let gone = state.now.since(state.round_began).0 as f64 / state.settings.round.0.max(1) as f64;
    let picks = select(state, Reach::Fill, (1.0 - gone).clamp(0.0, 1.0));
    carry_out(state, picks, Reach::Fill)
}

/// Turns the wish into actions: stops first, so that GPUs come free; then what can start at once.
fn carry_out(state: &mut State, picks: Vec<Pick>, reach: Reach) -> Vec<Action> {
    let until = lease_end(state);
    let mut actions = Vec::new();
    if reach == Reach::Round {
        stop_unwanted(state, &picks, &mut actions);
    }
    for pick in picks.iter().filter(|pick| !pick.stays) {
        unplace(state, pick.slot);
    }
    let gpus = place(state, &picks, reach == Reach::Round);
    let mut to_start = Vec::new();
    for (pick, gpus) in picks.into_iter().zip(gpus) {
        let Some(gpus) = gpus else {
            note_reason(state, &pick);
            renew(state, pick.slot, until, &mut actions);
            continue;
        };
        if gpus.len() != state.at(pick.slot).spec.workers as usize {
            // The selection never chooses more than there is. Should it, nothing worse than a wait follows.
            debug_assert!(false, "job {:?} was chosen without room", pick);
            gpus.iter().for_each(|&gpu| state.cluster.disown(gpu));
            actions.extend(stop(state, pick.slot, StopReason::Outranked));
            continue;
        }
        if !pick.stays {
            count_in(state, pick.slot, &gpus);
        }
        let comes_together = pick.stays && !pick.why.is_borrowed();
        let why = if comes_together { StartReason::Better } else { pick.why };
        assign(state, pick.slot, gpus, why, until, &mut actions);
        to_start.push(pick.slot);
    }
    for slot in to_start {
        actions.extend(start_if_free(state, slot));
    }
    actions
}

/// A lease outlives its round by half of one, so that a late renewal stops nobody.
fn lease_end(state: &State) -> Time {
    let round = state.settings.round;
    state.round_began + round + Span(round.0 / 2)
}

fn stop_unwanted(state: &mut State, picks: &[Pick], actions: &mut Vec<Action>) {
    let mut wanted = vec![false; state.jobs.len()];
    for pick in picks {
        wanted[pick.slot.0] = true;
    }
    let placed = state.active.iter().flat_map(|w| &state.workloads[w.0].placed);
    let unwanted: Vec<Slot> = placed.copied().filter(|slot| !wanted[slot.0]).collect();
    for slot in unwanted {
        let tenant = state.at(slot).spec.tenant;
        let limit = state.tenants[tenant.0].limit;
        let over = limit.is_some_and(|limit| state.owned_by(tenant) > limit);
        let why = if over { StopReason::OverLimit } else { StopReason::Outranked };
        actions.extend(stop(state, slot, why));
    }
}

/// The reason of a job that stays is that of this round: what was an extra may be owed by now.
fn note_reason(state: &mut State, pick: &Pick) {
    if let Phase::Running { why, .. } = &mut state.at_mut(pick.slot).phase {
        *why = pick.why;
    }
}

fn renew(state: &mut State, slot: Slot, until: Time, actions: &mut Vec<Action>) {
    let job = state.at_mut(slot);
    if let Phase::Running { lease, .. } = &mut job.phase {
        lease.until = until;
        let (job, generation) = (job.spec.id, lease.generation);
        actions.push(Action::Keep { job, generation, until });
    }
}

fn renew_all(state: &mut State, actions: &mut Vec<Action>) {
    let until = lease_end(state);
    let slots: Vec<Slot> = state.by_id.values().copied().collect();
    for slot in slots {
        renew(state, slot, until, actions);
    }
}

/// Promises GPUs to a job that owns them already: it starts as soon as they are free.
fn assign(
    state: &mut State,
    slot: Slot,
    gpus: Vec<GpuId>,
    why: StartReason,
    until: Time,
    actions: &mut Vec<Action>,
) {
    if matches!(&state.at(slot).phase, Phase::Running { lease, .. } if lease.gpus == gpus) {
        renew(state, slot, until, actions);
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
            actions.push(Action::Migrate { job: id, generation, to, why: StopReason::Moved });
            let next = Next::Move { lease, why };
            Phase::Stopping { lease: old, since, why: StopReason::Moved, next }
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
    let key = state.at(slot).spec.workload;
    let workload = &mut state.workloads[key.0];
    workload.widen(types);
    for &gpu in gpus {
        workload.used[state.cluster.type_of(gpu).0] += 1;
    }
    workload.placed.push(slot);
    let place = workload.placed.len() - 1;
    state.at_mut(slot).place = Some(place);
}

/// Takes a job's GPUs from it, and it from those that own some.
pub(crate) fn unplace(state: &mut State, slot: Slot) {
    let Some(gpus) = state.target(slot).map(|lease| lease.gpus.clone()) else { return };
    let Some(place) = state.at_mut(slot).place.take() else { return };
    let key = state.at(slot).spec.workload;
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
pub(crate) fn start_if_free(state: &mut State, slot: Slot) -> Option<Action> {
    let Phase::Assigned { lease, why } = &state.at(slot).phase else { return None };
    let workers = lease.gpus.len() as u32;
    let tenant = &state.tenants[state.at(slot).spec.tenant.0];
    // Jobs of its tenant that are being stopped still count.
    let over = |limit: u32| tenant.holds.saturating_add(workers) > limit;
    if tenant.limit.is_some_and(over)
        || lease.gpus.iter().any(|&g| state.cluster.holder(g).is_some())
    {
        return None;
    }
    let (mut lease, why) = (lease.clone(), *why);
    lease.until = lease_end(state);
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
pub(crate) fn stop(state: &mut State, slot: Slot, why: StopReason) -> Option<Action> {
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
