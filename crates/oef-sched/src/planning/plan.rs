//! From the state and its shares to a plan.

use super::floor::Floor;
use super::place::place;
use super::room::take_emptiest;
use super::select::{
    Draft, Pick, Selection, between_tenants, count_types, paper_grants, select, select_paper,
};
use crate::ids::{GpuId, NodeId, Slot, TenantKey};
use crate::job::Phase;
use crate::plan::{Origin, Plan, PlannedStart, PlannedStop, Scope};
use crate::promise::Rooms;
use crate::reason::{StartReason, StopReason};
use crate::settings::RoundingRule;
use crate::state::State;
use std::collections::BTreeMap;

/// Decides who runs where, and changes nothing: a pure function of the state with its shares.
///
/// A round that was planned before, begun again at the same instant, renews what there is and hands out what is
/// idle: nobody is owed more than a moment ago.
pub fn plan(state: &State, scope: Scope) -> Plan {
    plan_with(state, scope, select)
}

/// As it was decided before jobs could take the GPUs of others of their tenant.
pub(crate) fn plan_without_displacing(state: &State, scope: Scope) -> Plan {
    plan_with(state, scope, between_tenants)
}

/// How jobs are chosen.
type Select = for<'a> fn(&'a State, Scope, f64) -> Selection<'a>;

fn plan_with(state: &State, scope: Scope, select: Select) -> Plan {
    let again = state.round().0 > 0 && state.plan().round == state.round();
    let mut plan = Plan {
        round: state.round(),
        scope,
        until: state.lease_end(),
        stops: Vec::new(),
        starts: Vec::new(),
        waits: Vec::new(),
        keeps: Vec::new(),
        balances: Vec::new(),
        overcommitted: if again { state.plan().overcommitted } else { 0 },
    };
    let reach = if scope == Scope::Round && !again { Scope::Round } else { Scope::Fill };
    match (reach, state.settings().rounding) {
        (Scope::Fill, _) if !has_work(state) => {}
        (Scope::Fill, _) if scope == Scope::Fill => {
            lay_out_selection(state, select(state, reach, rest_of_round(state)), reach, &mut plan);
        }
        (_, RoundingRule::Deficit) => {
            lay_out_selection(state, select(state, reach, 1.0), reach, &mut plan);
        }
        (_, RoundingRule::Paper) => {
            let picks = by_paper(state, &mut plan);
            Layout::new(state, &picks, &[], reach, &mut plan).place(&picks, 0);
        }
    }
    plan
}

/// Lays a selection out. What gangs leave while they wait for room is lent to others, who are placed after all; where
/// nobody can use it, the gangs do not wait. What was chosen for a job that may not use the nodes where it is free is handed
/// out again.
fn lay_out_selection(state: &State, mut selection: Selection<'_>, reach: Scope, plan: &mut Plan) {
    let mut layout = Layout::new(state, &selection.picks, &selection.displaced, reach, plan);
    let (mut first, mut waiting) = (0, Vec::new());
    loop {
        let Unplaced { waits, dropped } = layout.place(&selection.picks, first);
        if waits.is_empty() && dropped.is_empty() {
            break;
        }
        let slot = |index: usize| selection.picks[index].slot;
        let lent: Vec<(Slot, usize)> = waits.iter().map(|&(i, gpu)| (slot(i), gpu)).collect();
        // A place can be counted wrongly while others are still chosen to stay. Without those, nobody is chosen twice.
        let may_be_others = first == 0 || selection.picks[first..].iter().any(|pick| pick.stays);
        let again = dropped.iter().filter(|_| may_be_others).map(|&index| slot(index));
        let again: Vec<Slot> = again.collect();
        first = selection.picks.len();
        waiting.extend(waits);
        selection.hand_on(&lent, &dropped, &again, layout.draft(first));
        layout.resume(&mut selection.picks[first..]);
        layout.reach = Scope::Fill;
    }
    for (index, gpu) in waiting {
        if selection.take_room(selection.picks[index].slot, gpu) {
            layout.start_spread(&selection.picks[index], gpu);
        }
    }
}

/// Whether somebody waits and something is free, or may take what others of its tenant have. The paper's rounding waits for
/// the next round.
fn has_work(state: &State) -> bool {
    let spare = state.cluster().free().iter().any(|&free| free > 0);
    let waits = || state.active().any(|w| state.workloads()[w.0].waits > 0);
    let paper = state.settings().rounding == RoundingRule::Paper;
    let displaces = || (0..state.tenants().len()).any(|t| state.may_displace_now(TenantKey(t)));
    state.round().0 > 0 && !paper && ((spare && waits()) || displaces())
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

/// Picks that got no GPUs.
struct Unplaced {
    /// Those that wait for room, each with the type that it was chosen for.
    waits: Vec<(usize, usize)>,
    /// Those that may not use the nodes where GPUs are left.
    dropped: Vec<usize>,
}

/// Turns a choice into a plan.
struct Layout<'a, 'p> {
    state: &'a State,
    floor: Floor<'a>,
    reach: Scope,
    plan: &'p mut Plan,
}

impl<'a, 'p> Layout<'a, 'p> {
    /// Stops come first, so that GPUs come free.
    fn new(
        state: &'a State,
        picks: &[Pick],
        displaced: &[(Slot, Slot)],
        reach: Scope,
        plan: &'p mut Plan,
    ) -> Self {
        let mut floor = Floor::new(state.cluster());
        let mut free = |slot: Slot| {
            for &gpu in state.target(slot).map_or(&[][..], |lease| &lease.gpus) {
                floor.disown(gpu);
            }
        };
        for &(slot, by) in displaced {
            free(slot);
            let why = StopReason::Displaced { by: state.at(by).spec.id };
            plan.stops.push(PlannedStop { job: state.at(slot).spec.id, why });
        }
        if reach == Scope::Round {
            let displaced = displaced.iter().map(|&(slot, _)| slot);
            plan.stops.extend(unwanted(state, picks, displaced, &mut free));
        }
        picks.iter().filter(|pick| !pick.stays).for_each(|pick| free(pick.slot));
        Layout { state, floor, reach, plan }
    }

    /// Where everybody stands, after so many picks.
    fn draft(&self, settled: usize) -> Draft {
        let nodes = 0..self.state.cluster().nodes().len();
        let free = nodes.map(|node| self.floor.free_on(NodeId(node))).collect();
        let stopped = self.plan.stops.iter().filter_map(|stop| self.state.slot_of(stop.job));
        let could_stay = stopped.filter(|&slot| {
            let gpus = self.state.target(slot).map_or(&[][..], |lease| &lease.gpus);
            gpus.iter().all(|&gpu| self.floor.owner(gpu).is_none())
        });
        Draft { settled, free, could_stay: could_stay.collect() }
    }

    /// Jobs that were to stop and are chosen after all stay where they are, if nobody was given their GPUs meanwhile.
    fn resume(&mut self, picks: &mut [Pick]) {
        for pick in picks {
            let id = self.state.at(pick.slot).spec.id;
            let Some(position) = self.plan.stops.iter().position(|stop| stop.job == id) else {
                continue;
            };
            self.plan.stops.remove(position);
            let gpus = self.state.target(pick.slot).map_or(&[][..], |lease| &lease.gpus);
            pick.stays &= gpus.iter().all(|&gpu| self.floor.owner(gpu).is_none());
            if pick.stays {
                gpus.iter().for_each(|&gpu| self.floor.own(gpu, pick.slot));
            }
        }
    }

    /// A gang that was to wait for room gets what nobody else could use.
    fn start_spread(&mut self, pick: &Pick, gpu: usize) {
        let job = self.state.at(pick.slot);
        self.floor.hide(self.state.closed_to(job));
        let gpus = take_emptiest(&mut self.floor, gpu, job.spec.workers, pick.slot);
        self.floor.hide(Vec::new());
        if gpus.len() < job.spec.workers as usize {
            gpus.into_iter().for_each(|gpu| self.floor.disown(gpu));
            return;
        }
        self.plan.waits.retain(|wait| wait.job != job.spec.id);
        self.plan.starts.push(start(self.state, pick, gpus));
    }

    /// Then who gets which, from a pick on.
    fn place(&mut self, picks: &[Pick], first: usize) -> Unplaced {
        let state = self.state;
        let may_move = self.reach == Scope::Round;
        let placed = place(state, &mut self.floor, picks, first, may_move);
        let (mut waits, mut dropped) = (vec![false; picks.len()], Vec::new());
        for (index, wait) in &placed.waits {
            waits[*index] = true;
            self.plan.waits.push(wait.clone());
        }
        for (index, (pick, gpus)) in picks.iter().zip(placed.gpus).enumerate().skip(first) {
            let job = state.at(pick.slot);
            match gpus {
                _ if waits[index] => {}
                None => self.plan.keeps.push((job.spec.id, lasting(state, pick.slot, pick.why))),
                Some(gpus) if gpus.len() == job.spec.workers as usize => {
                    let serves = placed.serves[index].map(|slot| state.at(slot).spec.id);
                    self.plan.starts.push(PlannedStart { serves, ..start(state, pick, gpus) });
                }
                Some(gpus) => {
                    // The selection never chooses more than there is, but a job may stay that was thought to leave.
                    debug_assert!(
                        !state.closed_to(job).is_empty(),
                        "job {pick:?} was chosen without room"
                    );
                    gpus.into_iter().for_each(|gpu| self.floor.disown(gpu));
                    if state.target(pick.slot).is_some() {
                        let why = StopReason::Outranked;
                        self.plan.stops.push(PlannedStop { job: job.spec.id, why });
                    }
                    dropped.push(index);
                }
            }
        }
        let waits = placed.waits.iter().map(|(index, wait)| (*index, wait.gpu.0)).collect();
        Unplaced { waits, dropped }
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
    let why = lasting(state, pick.slot, why);
    PlannedStart { job: job.spec.id, gpus, why, from, serves: None }
}

/// Who took the GPUs of others of its tenant runs on their account until it is stopped.
fn lasting(state: &State, slot: Slot, why: StartReason) -> StartReason {
    state.start_reason(slot).filter(|&before| before == StartReason::Urgent).unwrap_or(why)
}

/// The placed jobs that were not chosen, but for those that were displaced.
fn unwanted(
    state: &State,
    picks: &[Pick],
    displaced: impl Iterator<Item = Slot>,
    free: &mut impl FnMut(Slot),
) -> Vec<PlannedStop> {
    let mut wanted = vec![false; state.slots()];
    for slot in picks.iter().map(|pick| pick.slot).chain(displaced) {
        wanted[slot.0] = true;
    }
    let placed = state.active().flat_map(|w| &state.workloads()[w.0].placed);
    let mut owned: BTreeMap<TenantKey, u32> = BTreeMap::new();
    let mut stops = Vec::new();
    let mut limits = Rooms::limits(state);
    limits.iter_mut().for_each(|rooms| rooms.charge_picks(state, picks));
    let taken_back = taken_back(state, picks);
    for &slot in placed.filter(|slot| !wanted[slot.0]) {
        let spec = &state.at(slot).spec;
        let over = state.tenants()[spec.tenant.0].limit.is_some_and(|limit| {
            let owned = owned.entry(spec.tenant).or_insert_with(|| state.owned_by(spec.tenant));
            let over = *owned > limit;
            *owned -= spec.workers;
            over
        });
        let types = count_types(state, slot);
        let above = |rooms: &Rooms| types.iter().any(|&(j, n)| n > rooms.least(spec.tenant, j));
        let why = if over || limits.as_ref().is_some_and(above) {
            StopReason::OverLimit
        } else if types.iter().any(|(j, _)| taken_back[*j]) {
            StopReason::TakenBack
        } else {
            StopReason::Outranked
        };
        free(slot);
        stops.push(PlannedStop { job: spec.id, why });
    }
    stops
}

/// By type: whether a job starts there because its tenant is guaranteed the GPUs.
fn taken_back(state: &State, picks: &[Pick]) -> Vec<bool> {
    let mut taken = vec![false; state.cluster().types().len()];
    for pick in picks.iter().filter(|p| !p.stays && p.why == StartReason::Guaranteed) {
        pick.types.each(state.at(pick.slot).spec.workers, |j, _| taken[j] = true);
    }
    taken
}
