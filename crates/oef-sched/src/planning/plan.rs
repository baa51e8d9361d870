//! From the state and its shares to a plan.

use super::floor::Floor;
use super::place::place;
use super::select::{Pick, paper_grants, select, select_paper};
use crate::ids::{GpuId, Slot, TenantKey};
use crate::job::Phase;
use crate::plan::{Origin, Plan, PlannedStart, PlannedStop, Scope};
use crate::reason::{StartReason, StopReason};
use crate::settings::RoundingRule;
use crate::state::State;
use std::collections::BTreeMap;

/// Decides who runs where, and changes nothing: a pure function of the state with its shares.
///
/// A round that was planned before, begun again at the same instant, renews what there is and hands out what is
/// idle: nobody is owed more than a moment ago.
pub fn plan(state: &State, scope: Scope) -> Plan {
    let again = state.round().0 > 0 && state.plan().round == state.round();
    let mut plan = Plan {
        round: state.round(),
        scope,
        until: state.lease_end(),
        stops: Vec::new(),
        starts: Vec::new(),
        keeps: Vec::new(),
        balances: Vec::new(),
        overcommitted: if again { state.plan().overcommitted } else { 0 },
    };
    let reach = if scope == Scope::Round && !again { Scope::Round } else { Scope::Fill };
    let picks = match (reach, state.settings().rounding) {
        (Scope::Fill, _) if !has_work(state) => Vec::new(),
        (Scope::Fill, _) if scope == Scope::Fill => select(state, reach, rest_of_round(state)),
        (_, RoundingRule::Deficit) => select(state, reach, 1.0),
        (_, RoundingRule::Paper) => by_paper(state, &mut plan),
    };
    lay_out(state, picks, reach, &mut plan);
    plan
}

/// Whether somebody waits and something is free. The paper's rounding waits for the next round.
fn has_work(state: &State) -> bool {
    let spare = state.cluster().free().iter().any(|&free| free > 0);
    let waits = || state.active().any(|w| state.workloads()[w.0].waits > 0);
    let paper = state.settings().rounding == RoundingRule::Paper;
    spare && state.round().0 > 0 && !paper && waits()
}

/// The part of the round that is still to come.
fn rest_of_round(state: &State) -> f64 {
    let gone = state.now().since(state.round_began()).0 as f64;
    (1.0 - gone / state.settings().round.0.max(1) as f64).clamp(0.0, 1.0)
}

fn by_paper(state: &State, plan: &mut Plan) -> Vec<Pick> {
    let grants = paper_grants(state);
    for (j, &capacity) in state.cluster().capacity().iter().enumerate() {
        let granted: u32 = grants.iter().map(|g| g.gpus[j]).sum();
        plan.overcommitted += granted.saturating_sub(capacity);
    }
    let picks = select_paper(state, &grants);
    plan.balances = grants.into_iter().map(|g| (g.workload, g.deviation)).collect();
    picks
}

/// Turns the choice into a plan: stops first, so that GPUs come free; then who gets which.
fn lay_out(state: &State, picks: Vec<Pick>, reach: Scope, plan: &mut Plan) {
    let mut floor = Floor::new(state.cluster());
    let mut free = |slot: Slot| {
        for &gpu in state.target(slot).map_or(&[][..], |lease| &lease.gpus) {
            floor.disown(gpu);
        }
    };
    if reach == Scope::Round {
        plan.stops = unwanted(state, &picks, &mut free);
    }
    picks.iter().filter(|pick| !pick.stays).for_each(|pick| free(pick.slot));
    let gpus = place(state, &mut floor, &picks, reach == Scope::Round);
    for (pick, gpus) in picks.into_iter().zip(gpus) {
        let job = state.at(pick.slot);
        let Some(gpus) = gpus else {
            plan.keeps.push((job.spec.id, pick.why));
            continue;
        };
        if gpus.len() != job.spec.workers as usize {
            // The selection never chooses more than there is. Should it, nothing worse than a wait follows.
            debug_assert!(false, "job {pick:?} was chosen without room");
            plan.stops.push(PlannedStop { job: job.spec.id, why: StopReason::Outranked });
            continue;
        }
        plan.starts.push(start(state, &pick, gpus));
    }
}

fn start(state: &State, pick: &Pick, gpus: Vec<GpuId>) -> PlannedStart {
    let job = state.at(pick.slot);
    let from = match job.phase {
        _ if pick.stays => Origin::Spread,
        Phase::Running { .. } | Phase::Stopping { .. } => Origin::Elsewhere,
        Phase::Queued | Phase::Held | Phase::Assigned { .. } => Origin::Queue,
    };
    let comes_together = pick.stays && !pick.why.is_borrowed();
    let why = if comes_together { StartReason::Better } else { pick.why };
    PlannedStart { job: job.spec.id, gpus, why, from }
}

/// The placed jobs that were not chosen.
fn unwanted(state: &State, picks: &[Pick], free: &mut impl FnMut(Slot)) -> Vec<PlannedStop> {
    let mut wanted = vec![false; state.slots()];
    for pick in picks {
        wanted[pick.slot.0] = true;
    }
    let placed = state.active().flat_map(|w| &state.workloads()[w.0].placed);
    let mut owned: BTreeMap<TenantKey, u32> = BTreeMap::new();
    let mut stops = Vec::new();
    for &slot in placed.filter(|slot| !wanted[slot.0]) {
        let spec = &state.at(slot).spec;
        let over = state.tenants()[spec.tenant.0].limit.is_some_and(|limit| {
            let owned = owned.entry(spec.tenant).or_insert_with(|| state.owned_by(spec.tenant));
            let over = *owned > limit;
            *owned -= spec.workers;
            over
        });
        let why = if over { StopReason::OverLimit } else { StopReason::Outranked };
        free(slot);
        stops.push(PlannedStop { job: spec.id, why });
    }
    stops
}
