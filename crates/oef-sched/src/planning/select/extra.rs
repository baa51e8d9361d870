//! The later stages of a selection: nothing stays idle that somebody could use, and nobody stays on a slow
//! GPU while a faster one that pays is idle.

use super::deficit::{Claim, Selection};
use super::pick::{Types, count_types};
use super::queue::Running;
use crate::ids::Slot;
use crate::job::Job;
use crate::reason::StartReason;
use crate::settings::pays;
use crate::time::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

impl Selection<'_> {
    /// Whether there is nothing left to give.
    pub(super) fn is_full(&self) -> bool {
        self.free.iter().all(|&free| free == 0)
    }

    /// Stage 3.
    pub(super) fn hand_out_extra(&mut self) {
        // What was given back meanwhile may be guaranteed to somebody.
        self.hand_out_guaranteed();
        if self.is_full() {
            return;
        }
        let all = (0..self.queues.all.len()).filter_map(|queue| self.extra_claim(queue));
        let mut claims: BinaryHeap<Claim> = all.collect();
        while let Some(claim) = claims.pop() {
            if self.is_full() {
                return;
            }
            let Some((slot, types, stays)) = self.extra_candidate(claim.queue) else { continue };
            let workers = self.state.at(slot).spec.workers;
            self.queues.all[claim.queue].extra += f64::from(workers);
            self.take(claim.queue, slot, types, stays, StartReason::Extra);
            claims.extend(self.extra_claim(claim.queue));
        }
    }

    /// Who had least beyond its entitlement, per weight, is first; running jobs are favoured as always.
    fn extra_claim(&self, queue: usize) -> Option<Claim> {
        let q = &self.queues.all[queue];
        if q.open == 0 {
            return None;
        }
        let workload = &self.state.workloads()[q.workload.0];
        let weight = self.state.counted_weight(workload.tenant);
        let mut running = self.queues.all_running(queue).take(q.running as usize);
        let sticks =
            running.next().map_or(0.0, |h| f64::from(h.workers) * self.state.stickiness_of(h.slot));
        let debts: f64 = workload.deficit.iter().map(|d| d.min(0.0)).sum();
        let had = workload.extra - debts + q.extra - sticks;
        Some(Claim { urgency: -had / weight, since: Time(0), queue, gpu: 0, speed: 0.0 })
    }

    /// The next job of a workload that fits into what is idle, and the best type for it.
    fn extra_candidate(&self, queue: usize) -> Option<(Slot, Types, bool)> {
        let stays = self.extra_stay(queue);
        let start = self.extra_start(queue);
        match (stays, start) {
            (Some((running, _)), Some((priority, slot, gpu))) if priority > running.priority => {
                Some((slot, Types::One(gpu), false))
            }
            (Some((running, types)), _) => Some((running.slot, types, true)),
            (None, Some((_, slot, gpu))) => Some((slot, Types::One(gpu), false)),
            (None, None) => {
                let mut lost = self.queues.all_running(queue);
                lost.find_map(|h| Some((h.slot, Types::One(self.fastest(h.slot)?), false)))
            }
        }
    }

    /// A running job that can stay where it is.
    fn extra_stay(&self, queue: usize) -> Option<(Running, Types)> {
        if self.queues.all[queue].running == 0 {
            return None;
        }
        let several = self.free.len();
        let stays = (0..=several).filter_map(|gpu| {
            let mut running = self.queues.running(queue, gpu);
            running.find_map(|h| {
                let types = match gpu == several {
                    true => Types::Many(count_types(self.state, h.slot)),
                    false => Types::One(gpu),
                };
                let stays = self.fits(h.slot, &types) && self.runs(h.slot, &types);
                (stays && self.may_stay(h.slot)).then_some((*h, types))
            })
        });
        stays.min_by_key(|(running, _)| (Reverse(running.priority), running.ran, running.slot))
    }

    /// Whether a job runs on its types at all: its profile may have become known since it was started.
    fn runs(&self, slot: Slot, types: &Types) -> bool {
        let (job, mut runs) = (self.state.at(slot), true);
        types.each(job.spec.workers, |gpu, _| runs &= self.state.may_use(job, gpu));
        runs
    }

    /// The waiting job that is next among those for which there is room on one type.
    fn extra_start(&self, queue: usize) -> Option<(i32, Slot, usize)> {
        let starts = self.queues.lines(queue).iter().filter_map(|line| {
            let first = line.head?;
            if let Some(gpu) = self.fastest(first.3) {
                return Some((first, gpu));
            }
            // What is left may be kept for jobs that can afford to be stopped, or that end soon.
            let other = match self.planned_out.iter().all(Vec::is_empty) {
                true => self.queues.next_affordable(line),
                false => self.queues.next_that(line, |job| self.fastest_for(job).is_some()),
            };
            let other = other.filter(|key| key.3 != first.3)?;
            self.fastest(other.3).map(|gpu| (other, gpu))
        });
        let next = starts.min_by_key(|(key, _)| *key)?;
        Some((next.0.0.0, next.0.3, next.1))
    }

    /// The fastest type with room for a job; of equally fast ones the emptiest.
    fn fastest(&self, slot: Slot) -> Option<usize> {
        self.fastest_for(self.state.at(slot))
    }

    fn fastest_for(&self, job: &Job) -> Option<usize> {
        let slot = self.state.slot_of(job.spec.id)?;
        if !self.is_within_limit(slot) {
            return None;
        }
        let profile = &self.state.workloads()[job.row().0].profile;
        let fits = (0..self.free.len()).filter(|&gpu| {
            job.spec.workers <= self.free_for(slot, gpu)
                && job.spec.workers <= self.open_to(job, gpu)
                && self.state.may_use(job, gpu)
                && self.may_start(slot, gpu)
        });
        fits.max_by(|&a, &b| {
            let speed = profile.on(a).total_cmp(&profile.on(b));
            speed.then(self.free[a].cmp(&self.free[b])).then(b.cmp(&a))
        })
    }

    /// Stage 4: who had least beyond its entitlement is first here, too.
    pub(super) fn reach_across_types(&mut self) {
        if self.free.iter().filter(|&&f| f > 0).count() < 2 {
            return;
        }
        let all = (0..self.queues.all.len()).filter_map(|queue| self.extra_claim(queue));
        let mut claims: BinaryHeap<Claim> = all.collect();
        while let Some(claim) = claims.pop() {
            let Some((slot, counts)) = self.gang_across(claim.queue) else { continue };
            let workers = self.state.at(slot).spec.workers;
            self.queues.all[claim.queue].extra += f64::from(workers);
            self.take(claim.queue, slot, Types::Many(counts), false, StartReason::AcrossTypes);
            claims.extend(self.extra_claim(claim.queue));
        }
    }

    /// The next gang of a workload for which several types together have room.
    fn gang_across(&self, queue: usize) -> Option<(Slot, Vec<(usize, u32)>)> {
        let gangs = self.queues.lines(queue).iter().filter(|line| line.class.workers > 1);
        let starts = gangs.filter_map(|line| {
            let first = line.head?;
            if let Some(counts) = self.window(first.3) {
                return Some((first, counts));
            }
            let across = |job: &Job| {
                self.state.slot_of(job.spec.id).is_some_and(|slot| self.window(slot).is_some())
            };
            let other = match self.planned_out.iter().all(Vec::is_empty) {
                true => self.queues.next_affordable(line),
                false => self.queues.next_that(line, across),
            };
            let other = other.filter(|key| key.3 != first.3)?;
            self.window(other.3).map(|counts| (other, counts))
        });
        if let Some((key, counts)) = starts.min_by_key(|(key, _)| *key) {
            return Some((key.3, counts));
        }
        let mut lost = self.queues.all_running(queue).filter(|h| h.workers > 1);
        lost.find_map(|h| self.window(h.slot).map(|counts| (h.slot, counts)))
    }

    /// The fewest adjacent types (in the order of the workload's own speeds) with room for a gang; among
    /// those the ones whose slowest is fastest.
    pub(super) fn window(&self, slot: Slot) -> Option<Vec<(usize, u32)>> {
        let (state, job) = (self.state, self.state.at(slot));
        let profile = &state.workloads()[job.row().0].profile;
        let gang = job.spec.workers;
        if job.spec.one_type {
            return None;
        }
        let usable = |j: &usize| state.may_use(job, *j) && state.cluster().capacity()[*j] > 0;
        let mut types: Vec<usize> = (0..self.free.len()).filter(usable).collect();
        let room = |j: usize| match self.may_start(slot, j) {
            true => self.open_to(job, j).min(self.free_for(slot, j)),
            false => 0,
        };
        let spare = types.iter().map(|&j| room(j)).fold(0, u32::saturating_add);
        if spare < gang || !self.is_within_limit(slot) {
            return None;
        }
        types.sort_by(|&a, &b| profile.on(b).total_cmp(&profile.on(a)).then(a.cmp(&b)));
        let windows = (2..=types.len()).flat_map(|width| types.windows(width));
        for window in windows {
            let ends = room(window[0]).min(room(window[window.len() - 1]));
            let total = window.iter().map(|&j| room(j)).fold(0, u32::saturating_add);
            if total < gang || ends == 0 {
                continue;
            }
            let mut left = gang;
            let counts = window.iter().map(|&j| {
                let taken = left.min(room(j));
                left -= taken;
                (j, taken)
            });
            return Some(counts.filter(|&(_, n)| n > 0).collect());
        }
        None
    }

    /// Stage 5. A job that has not begun moves for any gain, a running one if that pays.
    pub(super) fn improve(&mut self) -> bool {
        let mut moved = false;
        for index in 0..self.picks.len() {
            if self.is_full() {
                return moved;
            }
            let pick = &self.picks[index];
            let (slot, stays) = (pick.slot, pick.stays);
            if stays && !self.state.may_move(slot) {
                continue;
            }
            let Some(gpu) = self.better(index) else { continue };
            let workers = self.state.at(slot).spec.workers;
            let (before, after) = (self.picks[index].types.clone(), Types::One(gpu));
            self.credit_rooms(slot, &before);
            self.charge_rooms(slot, &after);
            let free = &mut self.free;
            before.each(workers, |j, n| free[j] += n);
            free[gpu] -= workers;
            let is_reserved = self.is_reserved(gpu);
            let pick = &mut self.picks[index];
            pick.types = Types::One(gpu);
            if stays {
                (pick.stays, pick.why) = (false, StartReason::Better);
            } else if is_reserved {
                pick.why = StartReason::Borrowed;
            }
            moved = true;
            // What it leaves may be guaranteed to its tenant: nobody else moves there first.
            self.hand_out_guaranteed();
        }
        moved
    }

    /// An idle type that is better for a picked job than what it was given.
    fn better(&self, index: usize) -> Option<usize> {
        let (state, pick) = (self.state, &self.picks[index]);
        let job = state.at(pick.slot);
        let profile = &state.workloads()[job.row().0].profile;
        let mut now = f64::INFINITY;
        pick.types.each(job.spec.workers, |j, _| now = now.min(profile.on(j)));
        if matches!(pick.types, Types::Many(_)) {
            now *= 1.0 - state.settings().spread_loss.clamp(0.0, 1.0);
        }
        // It is not begun, or told already to move: no restart is to be paid for.
        let begun = state.running_for(job).0 > 0 || pick.stays;
        let gains =
            |speed: f64| if begun { pays(state.settings(), speed, now) } else { speed > now };
        // A place that a gang waits for is not worth a restart.
        (0..self.free.len())
            .filter(|&j| self.free_for(pick.slot, j) >= job.spec.workers && gains(profile.on(j)))
            .filter(|&j| !begun || !self.is_reserved(j))
            .filter(|&j| state.may_use(job, j) && self.may_start(pick.slot, j))
            .filter(|&j| self.open_to(job, j) >= job.spec.workers)
            .max_by(|&a, &b| profile.on(a).total_cmp(&profile.on(b)).then(b.cmp(&a)))
    }
}
