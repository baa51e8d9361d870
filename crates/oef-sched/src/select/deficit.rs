//! Selection by deficits.
//!
//! 1. *Protected*: jobs that may not be stopped stay.
//! 2. *Owed*: again and again, the workload and type with the greatest deficit per gang (with the share of
//!    this round; a running job counts `stickiness` more) gets its next job, while deficits last. Within a
//!    workload: priority class, then running jobs that have not had their turn, then the longest-starved
//!    job, then a running job that moves: to a faster type where that pays, or because it lost its place.
//!    A gang that fits on no single type claims what its workload is owed of all of them.
//! 3. *Extra*: what is idle goes to whoever had the least beyond its entitlement, per weight.
//! 4. *Across types*: gangs that fit on no single type now, on adjacent ones.
//! 5. *Better*: jobs for which idle GPUs of a faster type pay; what they leave is handed out again.
//!
//! Where a gang that is owed GPUs does not fit because of others that stay, later starts on that type are
//! *borrowed*: they are not protected, so that the gang finds its GPUs in a later round. A job that may
//! not lose more to restarts is not started there.

use super::pick::{Pick, Reach, Types, count_types};
use super::queue::{Held, Queues};
use crate::ids::{Slot, WorkloadKey};
use crate::reason::StartReason;
use crate::state::State;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Chooses the jobs that run until the end of the round, which is `rounds` rounds away. In mid-round only
/// the jobs that start are listed.
pub(crate) fn select(state: &State, reach: Reach, rounds: f64) -> Vec<Pick> {
    let mut selection = Selection::new(state, reach, rounds);
    selection.hand_out_owed();
    selection.hand_out_extra();
    selection.reach_across_types();
    while reach == Reach::Round && selection.improve() {
        selection.hand_out_extra();
        selection.reach_across_types();
    }
    selection.picks
}

pub(super) struct Selection<'a> {
    pub state: &'a State,
    pub queues: Queues<'a>,
    /// GPUs not yet given, by type.
    pub free: Vec<u32>,
    /// Types for which an owed gang waits behind jobs that stay.
    reserved: Vec<bool>,
    pub picks: Vec<Pick>,
}

/// A workload (by its queue) that wants GPUs of a type (one beyond the last: of several), by its urgency.
pub(super) struct Claim {
    pub urgency: f64,
    pub queue: usize,
    pub gpu: usize,
}

impl Ord for Claim {
    fn cmp(&self, other: &Self) -> Ordering {
        let tie = (other.queue, other.gpu).cmp(&(self.queue, self.gpu));
        self.urgency.total_cmp(&other.urgency).then(tie)
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
enum Candidate {
    Stay(Held),
    Start(Slot),
    Move(Held),
}

impl<'a> Selection<'a> {
    fn new(state: &'a State, reach: Reach, rounds: f64) -> Self {
        let free = match reach {
            Reach::Round => state.cluster.capacity(),
            Reach::Fill => state.cluster.free(),
        };
        let mut selection = Selection {
            state,
            queues: Queues::new(state),
            free: free.to_vec(),
            reserved: vec![false; free.len()],
            picks: Vec::new(),
        };
        let mut held = Vec::new();
        for &key in &state.active {
            let workload = &state.workloads[key.0];
            if workload.waits == 0 && (reach == Reach::Fill || workload.placed.is_empty()) {
                continue;
            }
            held.clear();
            let owed = |j: usize| workload.deficit_on(j) + workload.share_on(j) * rounds;
            let mut stays = vec![0; 0];
            match reach {
                Reach::Fill => stays.extend_from_slice(&workload.used),
                Reach::Round => selection.sort_placed(key, &mut held, &mut stays),
            }
            let stays = |j: usize| f64::from(stays.get(j).copied().unwrap_or(0));
            let owed = (0..free.len()).map(|j| owed(j) - stays(j));
            selection.queues.add(key, owed, &mut held);
        }
        selection
    }

    /// Stage 1: placed jobs that may not be stopped are picked; the others may stay or go.
    fn sort_placed(&mut self, key: WorkloadKey, held: &mut Vec<Held>, stays: &mut Vec<u32>) {
        let state = self.state;
        let types = self.free.len();
        for &slot in &state.workloads[key.0].placed {
            let Some(lease) = state.target(slot) else { continue };
            let job = state.at(slot);
            let gpu = state.single_type(&lease.gpus);
            if !state.is_protected(slot) {
                held.push(Held::new(state, slot, job, gpu.unwrap_or(types)));
                continue;
            }
            let kinds = gpu.map_or_else(|| Types::Many(count_types(state, slot)), Types::One);
            stays.resize(types, 0);
            kinds.each(job.spec.workers, |j, count| {
                self.free[j] = self.free[j].saturating_sub(count);
                stays[j] += count;
            });
            let why = state.start_reason(slot).unwrap_or(StartReason::Extra);
            self.picks.push(Pick { slot, types: kinds, stays: true, why });
        }
    }

    /// Stage 2. Jobs that lost their place claim another one, so that it goes on until nothing is given.
    fn hand_out_owed(&mut self) {
        let types = self.free.len();
        loop {
            let mut claims = Vec::new();
            for queue in 0..self.queues.all.len() {
                if self.queues.all[queue].open > 0 {
                    claims.extend((0..=types).filter_map(|gpu| self.claim(queue, gpu)));
                }
            }
            let given = self.grant_in_turn(claims.into());
            let moves = |queue| self.queues.all_held(queue).next().is_some();
            if !given || !(0..self.queues.all.len()).any(moves) {
                return;
            }
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
            if now.urgency < 0.0 {
                return given;
            }
            if self.grant(now.queue, now.gpu, candidate) {
                given = true;
                claims.extend(self.claim(now.queue, now.gpu));
            }
        }
        given
    }

    fn claim(&self, queue: usize, gpu: usize) -> Option<Claim> {
        self.claim_of(queue, gpu).map(|(claim, _)| claim)
    }

    /// What a workload claims of a type, and for which job: only where it has a share, or is owed something.
    fn claim_of(&self, queue: usize, gpu: usize) -> Option<(Claim, Candidate)> {
        let q = &self.queues.all[queue];
        let workload = &self.state.workloads[q.workload.0];
        if gpu == self.free.len() {
            return self.claim_across(queue);
        }
        let owed = self.queues.owed(queue, gpu);
        if self.free[gpu] == 0 || (workload.share_on(gpu) <= 0.0 && owed <= 0.0) {
            return None;
        }
        let candidate = self.candidate(queue, gpu)?;
        let (workers, bonus) = self.weigh(candidate);
        Some((Claim { urgency: owed / workers + bonus, queue, gpu }, candidate))
    }

    /// The claim of a gang that is, or has to be, spread over types.
    fn claim_across(&self, queue: usize) -> Option<(Claim, Candidate)> {
        let (q, gpu) = (&self.queues.all[queue], self.free.len());
        if !q.spans {
            return None;
        }
        let held = self.queues.held(queue, gpu).next().copied().map(Candidate::Stay);
        let start = || self.queues.next_spanning(queue).map(|key| Candidate::Start(key.3));
        let candidate = held.or_else(start)?;
        let slot = match candidate {
            Candidate::Stay(held) | Candidate::Move(held) => held.slot,
            Candidate::Start(slot) => slot,
        };
        let workload = &self.state.workloads[q.workload.0];
        let usable = |j: usize| {
            let entitled = workload.share_on(j) > 0.0 || self.queues.owed(queue, j) > 0.0;
            entitled && self.state.may_use(self.state.at(slot), j)
        };
        if !(0..gpu).any(usable) {
            return None;
        }
        let (workers, bonus) = self.weigh(candidate);
        let urgency = self.queues.owed_in_all(queue, usable) / workers + bonus;
        Some((Claim { urgency, queue, gpu }, candidate))
    }

    fn weigh(&self, candidate: Candidate) -> (f64, f64) {
        let (workers, bonus) = match candidate {
            Candidate::Stay(held) => (held.workers, self.state.settings.stickiness),
            Candidate::Start(slot) => (self.state.at(slot).spec.workers, 0.0),
            Candidate::Move(held) => (held.workers, 0.0),
        };
        (f64::from(workers.max(1)), bonus)
    }

    fn candidate(&self, queue: usize, gpu: usize) -> Option<Candidate> {
        let (state, queues) = (self.state, &self.queues);
        if state.workloads[queues.all[queue].workload.0].profile.on(gpu) <= 0.0 {
            return None;
        }
        let waiting = queues.next_waiting(queue, gpu);
        if let Some(&held) = queues.held(queue, gpu).next() {
            let goes_first = waiting.is_some_and(|(priority, ..)| {
                priority.0 > held.priority || (priority.0 == held.priority && held.had_its_turn)
            });
            if !goes_first {
                return Some(Candidate::Stay(held));
            }
        }
        let start = waiting.map(|key| Candidate::Start(key.3));
        let lost = |h: &Held| h.gpu < self.free.len() && self.free[h.gpu] < h.workers;
        start.or_else(|| queues.next_mover(queue, gpu, lost).map(Candidate::Move))
    }

    /// Gives a candidate its GPUs, if they are there.
    fn grant(&mut self, queue: usize, gpu: usize, candidate: Candidate) -> bool {
        let (slot, stays) = match candidate {
            Candidate::Stay(held) => (held.slot, true),
            Candidate::Move(held) => (held.slot, false),
            Candidate::Start(slot) => (slot, false),
        };
        let across = gpu == self.free.len();
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
        if !self.fits(slot, &types) {
            // The gang waits for jobs that stay: nobody may settle down on this type meanwhile.
            if !stays {
                self.reserved[gpu] = true;
            }
            return false;
        }
        if !stays && !across && !self.may_start(slot, gpu) {
            return false;
        }
        self.take(queue, slot, types, stays, why);
        true
    }

    fn reserve_all(&mut self, slot: Slot) {
        let job = self.state.at(slot);
        for gpu in 0..self.free.len() {
            self.reserved[gpu] |= self.state.may_use(job, gpu);
        }
    }

    /// Whether there is room for a job.
    pub fn fits(&self, slot: Slot, types: &Types) -> bool {
        let mut fits = true;
        types.each(self.state.at(slot).spec.workers, |gpu, count| fits &= count <= self.free[gpu]);
        fits
    }

    /// Whether a start on a type is allowed: a reserved one takes only jobs that can afford to be stopped.
    pub fn may_start(&self, slot: Slot, gpu: usize) -> bool {
        !self.reserved[gpu] || self.state.may_be_stopped_again(self.state.at(slot))
    }

    /// Picks a job.
    pub fn take(&mut self, queue: usize, slot: Slot, types: Types, stays: bool, why: StartReason) {
        let mut borrowed = false;
        let (free, queues) = (&mut self.free, &mut self.queues);
        types.each(self.state.at(slot).spec.workers, |gpu, count| {
            borrowed |= self.reserved[gpu];
            free[gpu] = free[gpu].saturating_sub(count);
            queues.charge(queue, gpu, count);
        });
        queues.remove(queue, slot);
        let why = if borrowed && !stays { StartReason::Borrowed } else { why };
        self.picks.push(Pick { slot, types, stays, why });
    }
}
