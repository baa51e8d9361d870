//! Selection by deficits.
//!
//! 1. *Protected*: jobs that may not be stopped stay.
//! 2. *Owed*: again and again, the workload and type with the greatest deficit per gang (with the share of
//!    this round; a running job counts `stickiness` more) gets its next job, while deficits last. Within a
//!    workload: priority class, then running jobs that have not had their turn, then the longest-starved
//!    job, then a job on a slower type for which the move pays.
//! 3. *Extra*: what is idle goes to whoever had the least beyond its entitlement, per weight.
//! 4. *Across types*: gangs that fit on no single type, on adjacent ones.
//! 5. *Better*: running jobs for which idle GPUs of a faster type pay.
//!
//! Where a gang that is owed GPUs does not fit because of protected jobs, later starts on that type are
//! *borrowed*: they are not protected, so that the gang finds its GPUs in a later round. A job that may
//! not lose more to restarts is not started there.

use super::pick::{Pick, Reach, Types};
use super::queue::{Held, Queue};
use crate::ids::Slot;
use crate::job::Phase;
use crate::reason::StartReason;
use crate::state::State;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Chooses the jobs that run until the end of the round, which is `rounds` rounds away.
pub(crate) fn select(state: &State, reach: Reach, rounds: f64) -> Vec<Pick> {
    let mut selection = Selection::new(state, reach, rounds);
    selection.hand_out_owed();
    selection.hand_out_extra();
    selection.reach_across_types();
    if reach == Reach::Round {
        selection.improve();
    }
    selection.picks
}

struct Selection<'a> {
    state: &'a State,
    queues: Vec<Queue>,
    /// GPUs not yet given, by type.
    free: Vec<u32>,
    /// Types for which an owed gang waits behind protected jobs.
    reserved: Vec<bool>,
    picks: Vec<Pick>,
}

/// A workload (by its queue) that wants a GPU of a type, by its urgency.
struct Claim {
    urgency: f64,
    queue: usize,
    gpu: usize,
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
        let types = state.cluster.types().len();
        let queues = state.active.iter().map(|&w| Queue::new(state, w, rounds)).collect();
        let mut selection = Selection {
            state,
            queues,
            free: state.cluster.capacity().to_vec(),
            reserved: vec![false; types],
            picks: Vec::new(),
        };
        for index in 0..selection.queues.len() {
            selection.sort_placed(index, reach);
        }
        selection
    }

    /// Placed jobs that may not be stopped are picked; the others may stay or go.
    fn sort_placed(&mut self, index: usize, reach: Reach) {
        let state = self.state;
        let workload = &state.workloads[self.queues[index].workload.0];
        let mut held: Vec<(u64, Held)> = Vec::new();
        for &slot in &workload.placed {
            let Some(lease) = state.target(slot) else { continue };
            let job = state.at(slot);
            let gpu = state.single_type(&lease.gpus);
            if reach == Reach::Fill || state.is_protected(slot) {
                let types = match gpu {
                    Some(gpu) => Types::One(gpu),
                    None => Types::Many(count_types(state, slot)),
                };
                let why = state.start_reason(slot).unwrap_or(StartReason::Extra);
                self.pick(index, slot, types, true, why);
                continue;
            }
            let ran = state.running_for(job);
            let had_its_turn = ran >= state.settings.turn;
            let (workers, priority) = (job.spec.workers, job.spec.priority);
            held.push((ran.0, Held { slot, gpu, workers, priority, had_its_turn }));
        }
        held.sort_by_key(|(ran, h)| (std::cmp::Reverse(h.priority), *ran, h.slot));
        self.queues[index].held = held.into_iter().map(|(_, h)| h).collect();
    }

    fn pick(&mut self, queue: usize, slot: Slot, types: Types, stays: bool, why: StartReason) {
        let workers = self.state.at(slot).spec.workers;
        for (gpu, count) in types.counts(workers) {
            self.free[gpu] = self.free[gpu].saturating_sub(count);
            self.queues[queue].owed[gpu] -= f64::from(count);
        }
        self.picks.push(Pick { slot, types, stays, why });
    }

    /// Stage 2.
    fn hand_out_owed(&mut self) {
        let mut claims = BinaryHeap::new();
        for queue in 0..self.queues.len() {
            for gpu in 0..self.free.len() {
                claims.extend(self.claim(queue, gpu));
            }
        }
        while let Some(claim) = claims.pop() {
            let Some(now) = self.claim(claim.queue, claim.gpu) else { continue };
            if now.urgency < claim.urgency {
                claims.push(now);
                continue;
            }
            if now.urgency < 0.0 {
                return;
            }
            let Some(candidate) = self.candidate(now.queue, now.gpu) else { continue };
            if self.grant(now.queue, now.gpu, candidate) {
                claims.extend(self.claim(now.queue, now.gpu));
            }
        }
    }

    /// What a workload claims of a type: only where it has a share, or is owed something.
    fn claim(&self, queue: usize, gpu: usize) -> Option<Claim> {
        if self.free[gpu] == 0 {
            return None;
        }
        let q = &self.queues[queue];
        let share = self.state.workloads[q.workload.0].share_on(gpu);
        if share <= 0.0 && q.owed[gpu] <= 0.0 {
            return None;
        }
        let (workers, bonus) = match self.candidate(queue, gpu)? {
            Candidate::Stay(held) => (held.workers, self.state.settings.stickiness),
            Candidate::Start(slot) => (self.state.at(slot).spec.workers, 0.0),
            Candidate::Move(held) => (held.workers, 0.0),
        };
        let urgency = q.owed[gpu] / f64::from(workers.max(1)) + bonus;
        Some(Claim { urgency, queue, gpu })
    }

    fn candidate(&self, queue: usize, gpu: usize) -> Option<Candidate> {
        let (state, q) = (self.state, &self.queues[queue]);
        if state.workloads[q.workload.0].profile.on(gpu) <= 0.0 {
            return None;
        }
        let waiting = q.next_waiting(state, gpu);
        let class = waiting.map(|slot| state.at(slot).spec.priority);
        if let Some(held) = q.next_held(gpu) {
            let goes_first = class.is_some_and(|class| {
                class > held.priority || (class == held.priority && held.had_its_turn)
            });
            if !goes_first {
                return Some(Candidate::Stay(held));
            }
        }
        let start = waiting.map(Candidate::Start);
        start.or_else(|| q.next_mover(state, gpu).map(Candidate::Move))
    }

    /// Gives a candidate its GPUs, if they are there.
    fn grant(&mut self, queue: usize, gpu: usize, candidate: Candidate) -> bool {
        let deficit = self.queues[queue].owed[gpu];
        let (slot, stays) = match candidate {
            Candidate::Stay(held) => (held.slot, true),
            Candidate::Move(held) => (held.slot, false),
            Candidate::Start(slot) => (slot, false),
        };
        if self.state.at(slot).spec.workers > self.free[gpu] {
            // The gang waits for protected jobs: nobody may settle down on this type meanwhile.
            self.reserved[gpu] |= !stays;
            return false;
        }
        let why = StartReason::Owed { deficit };
        if !stays && !self.may_start(slot, gpu) {
            return false;
        }
        self.take(queue, slot, Types::One(gpu), stays, why);
        true
    }

    /// Whether a start on a type is allowed: a reserved one takes only jobs that can afford to be stopped.
    fn may_start(&self, slot: Slot, gpu: usize) -> bool {
        !self.reserved[gpu] || self.state.may_restart(self.state.at(slot))
    }

    fn take(&mut self, queue: usize, slot: Slot, types: Types, stays: bool, why: StartReason) {
        let borrowed = match &types {
            Types::One(gpu) => self.reserved[*gpu],
            Types::Many(counts) => counts.iter().any(|&(gpu, _)| self.reserved[gpu]),
        };
        let why = if borrowed && !stays { StartReason::Borrowed } else { why };
        self.queues[queue].drop_waiting(slot);
        self.queues[queue].drop_held(slot);
        self.pick(queue, slot, types, stays, why);
    }

    /// Stage 3.
    fn hand_out_extra(&mut self) {
        if self.free.iter().all(|&f| f == 0) {
            return;
        }
        let mut claims = BinaryHeap::new();
        for queue in 0..self.queues.len() {
            claims.extend(self.extra_claim(queue));
        }
        while let Some(claim) = claims.pop() {
            let Some((slot, types, stays)) = self.extra_candidate(claim.queue) else { continue };
            let workers = self.state.at(slot).spec.workers;
            self.queues[claim.queue].extra += f64::from(workers);
            self.take(claim.queue, slot, types, stays, StartReason::Extra);
            claims.extend(self.extra_claim(claim.queue));
        }
    }

    /// Who had least beyond its entitlement, per weight, is first; running jobs are favoured as always.
    fn extra_claim(&self, queue: usize) -> Option<Claim> {
        let q = &self.queues[queue];
        if q.held.is_empty() && q.waiting.is_empty() {
            return None;
        }
        let workload = &self.state.workloads[q.workload.0];
        let weight = self.state.tenants[workload.tenant.0].weight;
        let sticks = q.held.first().map_or(0.0, |h| f64::from(h.workers));
        let had = workload.extra + q.extra - self.state.settings.stickiness * sticks;
        Some(Claim { urgency: -had / weight, queue, gpu: 0 })
    }

    /// The next job of a workload that fits into what is idle, and the fastest type for it.
    fn extra_candidate(&self, queue: usize) -> Option<(Slot, Types, bool)> {
        let (state, q) = (self.state, &self.queues[queue]);
        for held in &q.held {
            let types = match held.gpu {
                Some(gpu) => Types::One(gpu),
                None => Types::Many(count_types(state, held.slot)),
            };
            if types.counts(held.workers).iter().all(|&(gpu, n)| n <= self.free[gpu]) {
                return Some((held.slot, types, true));
            }
        }
        let profile = &state.workloads[q.workload.0].profile;
        let movers = q.held.iter().map(|h| h.slot);
        for slot in q.waiting.iter().copied().chain(movers) {
            let job = state.at(slot);
            let fits = (0..self.free.len()).filter(|&gpu| {
                job.spec.workers <= self.free[gpu]
                    && profile.on(gpu) > 0.0
                    && job.may_use(gpu)
                    && self.may_start(slot, gpu)
            });
            let best = fits.max_by(|&a, &b| {
                profile
                    .on(a)
                    .total_cmp(&profile.on(b))
                    .then(self.free[a].cmp(&self.free[b]))
                    .then(b.cmp(&a))
            });
            if let Some(gpu) = best {
                return Some((slot, Types::One(gpu), false));
            }
        }
        None
    }

    /// Stage 4.
    fn reach_across_types(&mut self) {
        if self.free.iter().filter(|&&f| f > 0).count() < 2 {
            return;
        }
        for queue in 0..self.queues.len() {
            let movers = self.queues[queue].held.iter().map(|h| h.slot);
            let slots: Vec<Slot> =
                self.queues[queue].waiting.iter().copied().chain(movers).collect();
            for slot in slots.into_iter().filter(|&s| self.state.at(s).spec.workers > 1) {
                if let Some(counts) = self.window(slot) {
                    self.take(queue, slot, Types::Many(counts), false, StartReason::AcrossTypes);
                }
            }
        }
    }

    /// The fewest adjacent types (in the order of the workload's own speeds) with room for a gang; among
    /// those the ones whose slowest is fastest.
    fn window(&self, slot: Slot) -> Option<Vec<(usize, u32)>> {
        let (state, job) = (self.state, self.state.at(slot));
        let profile = &state.workloads[job.spec.workload.0].profile;
        let mut types: Vec<usize> = (0..self.free.len())
            .filter(|&j| profile.on(j) > 0.0 && job.may_use(j) && self.may_start(slot, j))
            .filter(|&j| state.cluster.capacity()[j] > 0)
            .collect();
        types.sort_by(|&a, &b| profile.on(b).total_cmp(&profile.on(a)).then(a.cmp(&b)));
        let gang = job.spec.workers;
        for width in 2..=types.len() {
            for window in types.windows(width) {
                let room: u32 = window.iter().map(|&j| self.free[j]).sum();
                if room < gang || self.free[window[0]] == 0 || self.free[window[width - 1]] == 0 {
                    continue;
                }
                let mut left = gang;
                let counts = window.iter().map(|&j| {
                    let taken = left.min(self.free[j]);
                    left -= taken;
                    (j, taken)
                });
                return Some(counts.filter(|&(_, n)| n > 0).collect());
            }
        }
        None
    }

    /// Stage 5.
    fn improve(&mut self) {
        if self.free.iter().all(|&f| f == 0) {
            return;
        }
        for index in 0..self.picks.len() {
            let pick = &self.picks[index];
            if !pick.stays || self.state.is_protected(pick.slot) {
                continue;
            }
            let job = self.state.at(pick.slot);
            let profile = &self.state.workloads[job.spec.workload.0].profile;
            let counts = pick.types.counts(job.spec.workers);
            let now = counts.iter().map(|&(j, _)| profile.on(j)).fold(f64::INFINITY, f64::min);
            let better = (0..self.free.len())
                .filter(|&j| self.free[j] >= job.spec.workers && job.may_use(j))
                .filter(|&j| {
                    self.state.settings.move_pays(profile.on(j), now)
                        && self.may_start(pick.slot, j)
                })
                .max_by(|&a, &b| profile.on(a).total_cmp(&profile.on(b)).then(b.cmp(&a)));
            if let Some(gpu) = better {
                for (j, n) in counts {
                    self.free[j] += n;
                }
                self.free[gpu] -= job.spec.workers;
                let pick = &mut self.picks[index];
                (pick.types, pick.stays) = (Types::One(gpu), false);
                pick.why = StartReason::Better;
            }
        }
    }
}

fn count_types(state: &State, slot: Slot) -> Vec<(usize, u32)> {
    let mut counts = vec![0; state.cluster.types().len()];
    let gpus = match &state.at(slot).phase {
        Phase::Queued => &[][..],
        _ => state.target(slot).map_or(&[][..], |lease| &lease.gpus),
    };
    for &gpu in gpus {
        counts[state.cluster.type_of(gpu).0] += 1;
    }
    counts.into_iter().enumerate().filter(|&(_, n)| n > 0).collect()
}
