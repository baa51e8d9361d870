//! Selection by deficits.
//!
//! 0. *Protected*: jobs that may not be stopped stay.
//! 1. *Guaranteed* (`guaranteed`): tenants below a guarantee of a type run their jobs there, whatever deficits say.
//! 2. *Owed*: again and again, the workload and type with the greatest deficit per gang (with the share of
//!    this round; a running job counts `stickiness` more) gets its next job, while deficits last. Within a
//!    workload: priority class, then running jobs that have not had their turn, then the longest-starved
//!    job, then a running job that moves: to a faster type where that pays, or because it lost its place.
//!    A gang that fits on no single type claims what its workload is owed of all of them.
//! 3. *Extra*: what is idle goes to whoever had the least beyond its entitlement, per weight.
//! 4. *Across types*: gangs that fit on no single type now, on adjacent ones.
//! 5. *Better*: jobs for which idle GPUs of a faster type pay; what they leave is handed out again.
//! 6. *Urgent*: within a tenant, jobs of a higher priority take what jobs of a lower one were given.
//!
//! Where a gang that is owed GPUs does not fit because of others that stay, later starts on that type are
//! *borrowed*: they are not protected, so that the gang finds its GPUs in a later round. A job that may
//! not lose more to restarts is not started there. What is left of a tenant's limit is kept for a gang of its
//! own in the same way.

use super::guaranteed::lent;
use super::pick::{Pick, Types, count_types};
use super::queue::{Queues, Running};
use super::windows::{Draft, planned_out};
use crate::ids::{NodeId, Slot, TenantKey, WorkloadKey};
use crate::plan::Scope;
use crate::promise::Rooms;
use crate::reason::StartReason;
use crate::state::State;
use crate::time::Time;
use std::cmp::Ordering;
use std::collections::{BTreeSet, BinaryHeap};

/// Chooses the jobs that run until the end of the round, which is `rounds` rounds away. In mid-round only
/// the jobs that start are listed.
pub(crate) fn select(state: &State, reach: Scope, rounds: f64) -> Selection<'_> {
    let mut selection = between_tenants(state, reach, rounds);
    if selection.displace(reach) {
        selection.hand_out_extra();
        selection.reach_across_types();
    }
    selection
}

/// All stages but the last: what each tenant has.
pub(crate) fn between_tenants(state: &State, reach: Scope, rounds: f64) -> Selection<'_> {
    let mut selection = Selection::new(state, reach, rounds);
    selection.fund_urgent();
    selection.hand_out_guaranteed();
    selection.hand_out_owed();
    selection.hand_out_extra();
    selection.reach_across_types();
    while reach == Scope::Round && selection.improve() {
        selection.hand_out_extra();
        selection.reach_across_types();
    }
    selection
}

/// The GPUs that each tenant may still be given.
pub(super) fn room(state: &State, reach: Scope) -> Vec<u32> {
    let keys = (0..state.tenants().len()).map(TenantKey);
    keys.map(|tenant| match reach {
        Scope::Round => state.tenants()[tenant.0].limit.unwrap_or(u32::MAX),
        Scope::Fill => state.room(tenant),
    })
    .collect()
}

pub(crate) struct Selection<'a> {
    pub(super) state: &'a State,
    pub(super) queues: Queues<'a>,
    pub(super) reach: Scope,
    /// By type: nodes that are to be out.
    pub(super) planned_out: Vec<Vec<NodeId>>,
    /// GPUs not yet given, by type.
    pub(super) free: Vec<u32>,
    /// GPUs that each tenant may still be given.
    pub(super) room: Vec<u32>,
    /// GPUs of each type that tenants may still be given; `None`: there are no such limits.
    pub(super) limits: Option<Rooms>,
    /// GPUs of each type that tenants are still guaranteed; `None`: there are no guarantees.
    pub(super) guarantees: Option<Rooms>,
    /// By tenant: whether it has, or was given, anything.
    pub(super) has_some: Vec<bool>,
    /// The owed gangs that wait behind jobs that stay, by type.
    pub(super) reserved: Vec<BTreeSet<Slot>>,
    pub picks: Vec<Pick>,
    /// Where the jobs that were chosen before stand, if nodes are to be out.
    pub(super) draft: Option<Draft>,
    /// Running jobs that give their GPUs to another of their tenant, and to whom.
    pub displaced: Vec<(Slot, Slot)>,
}

/// A workload (by its queue) that wants GPUs of a type (one beyond the last: of several), by its urgency.
pub(super) struct Claim {
    pub urgency: f64,
    /// Since when its job waits: of equal claims the longest-starved job comes first.
    pub since: Time,
    pub queue: usize,
    pub gpu: usize,
    /// How fast the workload is there: of equal claims of one workload the fastest type comes first.
    pub speed: f64,
}

impl Ord for Claim {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_speed = || self.speed.total_cmp(&other.speed).then(other.gpu.cmp(&self.gpu));
        let tie = || other.queue.cmp(&self.queue).then_with(by_speed);
        let by_age = || other.since.cmp(&self.since).then_with(tie);
        self.urgency.total_cmp(&other.urgency).then_with(by_age)
    }
}

impl PartialOrd for Claim {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Claim {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Claim {}

/// The job that a workload would run next on a type.
#[derive(Clone, Copy)]
pub(super) enum Candidate {
    Stay(Running),
    Start(Slot),
    Move(Running),
}

impl Candidate {
    pub(super) fn slot(self) -> Slot {
        match self {
            Candidate::Stay(running) | Candidate::Move(running) => running.slot,
            Candidate::Start(slot) => slot,
        }
    }
}

impl<'a> Selection<'a> {
    fn new(state: &'a State, reach: Scope, rounds: f64) -> Self {
        let free = match reach {
            Scope::Round => state.cluster().capacity(),
            Scope::Fill => state.cluster().free(),
        };
        let mut selection = Selection {
            state,
            queues: Queues::new(state),
            reach,
            planned_out: planned_out(state),
            free: free.to_vec(),
            room: room(state, reach),
            limits: Rooms::limits(state),
            guarantees: Rooms::guarantees(state),
            has_some: (0..state.tenants().len())
                .map(|t| state.owned_by(TenantKey(t)) > 0)
                .collect(),
            reserved: vec![BTreeSet::new(); free.len()],
            picks: Vec::new(),
            draft: None,
            displaced: Vec::new(),
        };
        let mut dropped = BTreeSet::new();
        if let Some(guarantees) = selection.guarantees.as_ref().filter(|_| reach == Scope::Round) {
            dropped = lent(state, guarantees);
        }
        if reach == Scope::Fill {
            selection.limits.iter_mut().for_each(|rooms| rooms.charge_owned(state));
            selection.guarantees.iter_mut().for_each(|rooms| rooms.charge_owned(state));
        }
        let (mut running, mut stays) = (Vec::new(), vec![0; free.len()]);
        for &key in state.active_workloads() {
            let workload = &state.workloads()[key.0];
            if workload.waits == 0 && (reach == Scope::Fill || workload.placed.is_empty()) {
                continue;
            }
            running.clear();
            stays.fill(0);
            match reach {
                Scope::Fill => (0..free.len()).for_each(|j| stays[j] = workload.used_on(j)),
                Scope::Round => selection.sort_placed(key, &dropped, &mut running, &mut stays),
            }
            let owed = |j: usize| workload.deficit_on(j) + workload.share_on(j) * rounds;
            let owed = (0..free.len()).map(|j| owed(j) - f64::from(stays[j]));
            selection.queues.add(key, owed, &mut running);
        }
        selection
    }

    /// Stage 0: placed jobs that may not be stopped are picked; the others may stay or go.
    fn sort_placed(
        &mut self,
        key: WorkloadKey,
        dropped: &BTreeSet<Slot>,
        running: &mut Vec<Running>,
        stays: &mut [u32],
    ) {
        let state = self.state;
        let types = self.free.len();
        for &slot in &state.workloads()[key.0].placed {
            let Some(lease) = state.target(slot) else { continue };
            let job = state.at(slot);
            let gpu = state.single_type(&lease.gpus);
            if !state.is_protected(slot) || dropped.contains(&slot) {
                running.push(Running::new(state, slot, job, gpu.unwrap_or(types)));
                continue;
            }
            // Beyond its tenant's limit nobody is protected, except where an operator let jobs end.
            let kinds = gpu.map_or_else(|| Types::Many(count_types(state, slot)), Types::One);
            let within = self.is_within_type_limits(slot, &kinds);
            let room = &mut self.room[job.spec.tenant.0];
            match room.checked_sub(job.spec.workers).filter(|_| within) {
                Some(left) => *room = left,
                None if state.is_finishing(slot) => *room = room.saturating_sub(job.spec.workers),
                // It may go on where there is room for it.
                None => {
                    running.push(Running::new(state, slot, job, gpu.unwrap_or(types)));
                    continue;
                }
            }
            self.charge_rooms(slot, &kinds);
            for &gpu in &lease.gpus {
                let j = state.cluster().type_of(gpu).0;
                self.free[j] -= u32::from(state.cluster().counts(gpu)).min(self.free[j]);
                stays[j] += 1;
            }
            let why = state.start_reason(slot).unwrap_or(StartReason::Extra);
            self.picks.push(Pick { slot, types: kinds, stays: true, why });
        }
    }

    /// Stage 2. Jobs that lost their place claim another one, so that it goes on until nothing is given.
    fn hand_out_owed(&mut self) {
        let types = self.free.len();
        let mut in_play: Vec<usize> = (0..self.queues.all.len()).collect();
        while !in_play.is_empty() && !self.is_full() {
            let mut claims = Vec::with_capacity(in_play.len() * types);
            for &queue in &in_play {
                claims.extend((0..=types).filter_map(|gpu| self.claim(queue, gpu)));
            }
            if !self.grant_in_turn(claims.into()) {
                return;
            }
            in_play.retain(|&queue| self.queues.all[queue].running > 0);
        }
    }

    fn grant_in_turn(&mut self, mut claims: BinaryHeap<Claim>) -> bool {
        let mut given = false;
        while let Some(claim) = claims.pop() {
            let Some((now, candidate)) = self.claim_of(claim.queue, claim.gpu) else { continue };
            if now.urgency < claim.urgency {
                claims.push(now);
                continue;
            }
            if self.grant(now.queue, now.gpu, candidate) {
                given = true;
                if self.is_full() {
                    break;
                }
                claims.extend(self.claim(now.queue, now.gpu));
            }
        }
        given
    }

    fn claim(&self, queue: usize, gpu: usize) -> Option<Claim> {
        self.claim_of(queue, gpu).map(|(claim, _)| claim)
    }

    /// What a workload claims of a type, and for which job: only where it has a share, or is owed something,
    /// and while deficits last.
    fn claim_of(&self, queue: usize, gpu: usize) -> Option<(Claim, Candidate)> {
        let q = &self.queues.all[queue];
        let workload = &self.state.workloads()[q.workload.0];
        if gpu == self.free.len() {
            return self.claim_across(queue);
        }
        let owed = self.queues.owed(queue, gpu);
        if self.free[gpu] == 0 || (workload.share_on(gpu) <= 0.0 && owed <= 0.0) {
            return None;
        }
        let candidate = self.candidate(queue, gpu)?;
        let (workers, bonus) = self.weigh(candidate);
        let urgency = self.saturate(owed / workers + bonus, candidate);
        let speed = workload.profile.on(gpu);
        let since = self.waits_since(candidate);
        (urgency >= 0.0).then_some((Claim { urgency, since, queue, gpu, speed }, candidate))
    }

    /// What is owed per worker, as far as it counts: who has saved up for a whole gang and the stickiness of those
    /// who run is next, and among those who have, the longest-starved. Without this end a small gang, which saves
    /// up sooner, would go before a big one for ever where many are owed.
    fn saturate(&self, owed: f64, candidate: Candidate) -> f64 {
        owed.min(1.0 + self.state.stickiness_of(candidate.slot()))
    }

    fn waits_since(&self, candidate: Candidate) -> Time {
        match candidate {
            Candidate::Start(slot) => self.state.at(slot).waiting_since,
            Candidate::Stay(_) | Candidate::Move(_) => Time(u64::MAX),
        }
    }

    /// The claim of a gang that is, or has to be, spread over types.
    fn claim_across(&self, queue: usize) -> Option<(Claim, Candidate)> {
        let (q, gpu) = (&self.queues.all[queue], self.free.len());
        if !q.spans {
            return None;
        }
        let room = self.room_of(queue);
        let mut running = self.queues.running(queue, gpu).filter(|running| running.workers <= room);
        let running = running.next().copied().map(Candidate::Stay);
        let start = || self.queues.next_spanning(queue, room).map(|key| Candidate::Start(key.3));
        let candidate = running.or_else(start)?;
        let slot = candidate.slot();
        let (state, workload) = (self.state, &self.state.workloads()[q.workload.0]);
        let job = state.at(slot);
        let (workers, bonus) = self.weigh(candidate);
        let spans =
            workload.classes[job.class].spans(&workload.profile, &self.queues.capacity(q.workload));
        let entitled = |j: usize| workload.share_on(j) > 0.0 || self.queues.owed(queue, j) > 0.0;
        let owed = if spans {
            // It can run in no other way, so that what it is owed of one type counts for all, and what it owes, too.
            let usable = |j: usize| state.may_use(job, j);
            (0..gpu)
                .any(|j| usable(j) && entitled(j))
                .then(|| self.queues.owed_in_all(queue, usable) / workers)?
        } else {
            // It must be owed what it holds of every type.
            let counts = count_types(state, slot);
            let owed = |&(j, count): &(usize, u32)| self.queues.owed(queue, j) / f64::from(count);
            let all = counts.iter().all(|&(j, _)| entitled(j));
            all.then(|| counts.iter().map(owed).fold(f64::INFINITY, f64::min))?
        };
        let (urgency, speed) = (self.saturate(owed + bonus, candidate), 0.0);
        let since = self.waits_since(candidate);
        (urgency >= 0.0).then_some((Claim { urgency, since, queue, gpu, speed }, candidate))
    }

    fn weigh(&self, candidate: Candidate) -> (f64, f64) {
        let (workers, bonus) = match candidate {
            Candidate::Stay(running) => (running.workers, self.state.stickiness_of(running.slot)),
            Candidate::Start(slot) => self.weigh_start(slot),
            Candidate::Move(running) => (running.workers, 0.0),
        };
        (f64::from(workers.max(1)), bonus)
    }

    /// A tenant without any GPU is not kept from its first by how strongly others hold theirs: turns spread restarts
    /// over those who have something.
    fn weigh_start(&self, slot: Slot) -> (u32, f64) {
        let spec = &self.state.at(slot).spec;
        let settings = self.state.settings();
        let first = !self.has_some[spec.tenant.0];
        let bonus = if first {
            settings.stickiness_for(settings.turn_of(1)) - settings.stickiness
        } else {
            0.0
        };
        (spec.workers, bonus)
    }

    fn candidate(&self, queue: usize, gpu: usize) -> Option<Candidate> {
        if self.state.workloads()[self.queues.all[queue].workload.0].profile.on(gpu) <= 0.0 {
            return None;
        }
        self.candidate_within(queue, gpu, self.room_on(queue, gpu))
    }

    /// The same among jobs of so many workers at most.
    pub(super) fn candidate_within(
        &self,
        queue: usize,
        gpu: usize,
        room: u32,
    ) -> Option<Candidate> {
        let queues = &self.queues;
        let waiting = match self.planned_out[gpu].is_empty() {
            true => queues.next_waiting(queue, gpu, room),
            false => queues.next_waiting_that(queue, gpu, room, |job| {
                self.open_to(job, gpu) >= job.spec.workers.min(self.free[gpu])
            }),
        };
        if let Some(&running) = queues
            .running(queue, gpu)
            .find(|running| running.workers <= room && self.may_stay(running.slot))
        {
            let goes_first = waiting.is_some_and(|(priority, ..)| {
                priority.0 > running.priority
                    || (priority.0 == running.priority && running.had_its_turn)
            });
            if !goes_first {
                return Some(Candidate::Stay(running));
            }
        }
        let start = waiting.map(|key| Candidate::Start(key.3));
        let lost = |h: &Running| h.gpu < self.free.len() && self.free[h.gpu] < h.workers;
        start.or_else(|| queues.next_mover(queue, gpu, room, lost).map(Candidate::Move))
    }

    /// Gives a candidate its GPUs, if they are there.
    fn grant(&mut self, queue: usize, gpu: usize, candidate: Candidate) -> bool {
        let (slot, stays) = (candidate.slot(), matches!(candidate, Candidate::Stay(_)));
        let across = gpu == self.free.len();
        if !self.is_within_limit(slot) {
            return false;
        }
        let (types, why) = match (across, stays) {
            (true, true) => (Types::Many(count_types(self.state, slot)), StartReason::AcrossTypes),
            (true, false) => match self.window(slot) {
                Some(counts) => (Types::Many(counts), StartReason::AcrossTypes),
                None => {
                    self.reserve_all(slot);
                    return false;
                }
            },
            (false, _) => {
                let deficit = self.queues.owed(queue, gpu);
                (Types::One(gpu), StartReason::Owed { deficit })
            }
        };
        if !self.is_within_type_limits(slot, &types) {
            return false;
        }
        if !self.fits(slot, &types) {
            // The gang waits for jobs that stay: nobody may settle down on this type meanwhile.
            if !stays {
                self.reserved[gpu].insert(slot);
            }
            return false;
        }
        let is_open = stays || self.is_open_to(self.state.at(slot), &types);
        if !is_open || (!stays && !across && !self.may_start(slot, gpu)) {
            return false;
        }
        self.take(queue, slot, types, stays, why);
        true
    }

    /// What was chosen for gangs that wait for room is lent to others meanwhile, and what was chosen for jobs that found no
    /// place is handed out again. The jobs `again` may be chosen once more.
    pub(crate) fn hand_on(
        &mut self,
        waits: &[(Slot, usize)],
        dropped: &[usize],
        again: &[Slot],
        draft: Draft,
    ) {
        for &index in dropped {
            let (slot, types) = (self.picks[index].slot, self.picks[index].types.clone());
            let spec = &self.state.at(slot).spec;
            let room = &mut self.room[spec.tenant.0];
            *room = room.saturating_add(spec.workers);
            let free = &mut self.free;
            types.each(spec.workers, |gpu, count| free[gpu] += count);
            self.credit_rooms(slot, &types);
        }
        again.iter().for_each(|&slot| self.queues.put_back(slot, self.state.at(slot)));
        for &(slot, gpu) in waits {
            let spec = &self.state.at(slot).spec;
            self.free[gpu] += spec.workers;
            let room = &mut self.room[spec.tenant.0];
            *room = room.saturating_add(spec.workers);
            self.credit_rooms(slot, &Types::One(gpu));
            self.reserved[gpu].insert(slot);
        }
        self.draft = self.planned_out.iter().any(|nodes| !nodes.is_empty()).then_some(draft);
        self.hand_out_extra();
        self.reach_across_types();
    }
}
