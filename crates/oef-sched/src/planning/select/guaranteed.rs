//! The stage of the guarantees: a tenant below its guarantee of a type runs its jobs there before anybody else, whatever
//! deficits say.
//!
//! Only whole jobs within what is left of the guarantee count; running ones stay, then waiting ones start. What they are given is
//! charged to their workload as always. In a round everything but the protected jobs can be taken for this, and of those
//! as many as are needed lose their protection ([`lent`]): they run on what was lent. A job within its own tenant's
//! guarantee never does.

use super::deficit::{Candidate, Selection};
use super::pick::{Types, count_types};
use crate::class::Class;
use crate::ids::{Slot, TenantKey};
use crate::job::Phase;
use crate::promise::Rooms;
use crate::reason::StartReason;
use crate::state::State;
use std::collections::{BTreeMap, BTreeSet};

impl Selection<'_> {
    /// Stage 1. Who was given least of it, per weight, is next: a group's guarantee is divided so.
    pub(super) fn hand_out_guaranteed(&mut self) {
        let Some(guarantees) = &self.guarantees else { return };
        let mut queues: BTreeMap<TenantKey, Vec<usize>> = BTreeMap::new();
        for (index, queue) in self.queues.all.iter().enumerate() {
            let tenant = self.state.workloads()[queue.workload.0].tenant;
            if guarantees.concerns(tenant) && queue.open > 0 {
                queues.entry(tenant).or_default().push(index);
            }
        }
        let mut given: BTreeMap<TenantKey, f64> = queues.keys().map(|&t| (t, 0.0)).collect();
        while !self.is_full() {
            let next = given.iter().min_by(|a, b| a.1.total_cmp(b.1).then(a.0.cmp(b.0)));
            let Some((&tenant, &had)) = next else { return };
            match self.next_guaranteed(tenant, &queues[&tenant]) {
                Some((queue, gpu, candidate)) => {
                    let slot = candidate.slot();
                    let workers = f64::from(self.state.at(slot).spec.workers);
                    given.insert(tenant, had + workers / self.state.counted_weight(tenant));
                    let stays = matches!(candidate, Candidate::Stay(_));
                    self.take(queue, slot, Types::One(gpu), stays, StartReason::Guaranteed);
                }
                None => {
                    given.remove(&tenant);
                }
            }
        }
    }

    /// The next job of a tenant within its guarantees: those that stay first, then where it is fastest, then what is owed most.
    fn next_guaranteed(
        &self,
        tenant: TenantKey,
        queues: &[usize],
    ) -> Option<(usize, usize, Candidate)> {
        let guarantees = self.guarantees.as_ref()?;
        type Rank = (bool, f64, f64);
        let mut best: Option<(Rank, (usize, usize, Candidate))> = None;
        for &queue in queues {
            let profile = &self.state.workloads()[self.queues.all[queue].workload.0].profile;
            for gpu in 0..self.free.len() {
                let room = guarantees.most(tenant, gpu).min(self.free[gpu]);
                let room = room.min(self.room_on(queue, gpu));
                if room == 0 || profile.on(gpu) <= 0.0 {
                    continue;
                }
                let found = self.candidate_within(queue, gpu, room);
                let Some(candidate) = found.filter(|c| !matches!(c, Candidate::Move(_))) else {
                    continue;
                };
                let stays = matches!(candidate, Candidate::Stay(_));
                let rank = (stays, profile.on(gpu), self.queues.owed(queue, gpu));
                let is_better = best.as_ref().is_none_or(|(other, _)| {
                    let by = rank.0.cmp(&other.0).then(rank.1.total_cmp(&other.1));
                    by.then(rank.2.total_cmp(&other.2)).is_gt()
                });
                if is_better {
                    best = Some((rank, (queue, gpu, candidate)));
                }
            }
        }
        best.map(|(_, found)| found)
    }
}

/// The protected jobs that run on GPUs which were lent to them and are needed now: those that began last, of the lowest
/// priority first.
pub(super) fn lent(state: &State, guarantees: &Rooms) -> BTreeSet<Slot> {
    let mut left = guarantees.clone();
    let mut free = state.cluster().capacity().to_vec();
    let placed = || state.active().flat_map(|w| &state.workloads()[w.0].placed).copied();
    let mut beyond: Vec<(Slot, Vec<(usize, u32)>)> = Vec::new();
    for slot in placed().filter(|&slot| state.is_protected(slot)) {
        let (tenant, types) = (state.at(slot).spec.tenant, count_types(state, slot));
        let within = types.iter().all(|&(j, n)| n <= left.most(tenant, j));
        let may_stop =
            matches!(state.at(slot).phase, Phase::Running { .. } | Phase::Assigned { .. });
        if within || !may_stop || state.is_finishing(slot) {
            for &(j, n) in &types {
                left.charge(tenant, j, n);
                free[j] = free[j].saturating_sub(n);
            }
        } else {
            beyond.push((slot, types));
        }
    }
    let mut needed = vec![0_u32; free.len()];
    for (t, tenant) in state.tenants().iter().enumerate() {
        let key = TenantKey(t);
        for (j, needed) in needed.iter_mut().enumerate().filter(|_| guarantees.concerns(key)) {
            let usable: u32 = tenant
                .workloads
                .iter()
                .map(|w| {
                    let of = &state.workloads()[w.0];
                    if of.profile.on(j) <= 0.0 {
                        return 0;
                    }
                    let waits = |c: &Class| {
                        let can = c.may_use(j) && c.workers <= left.most(key, j);
                        if can { c.workers.saturating_mul(c.waiting.len() as u32) } else { 0 }
                    };
                    let waits = of.classes.iter().map(waits).fold(0, u32::saturating_add);
                    let runs = of.placed.iter().filter(|&&slot| !state.is_protected(slot));
                    let runs = runs.flat_map(|&slot| count_types(state, slot));
                    let runs = runs.filter(|(gpu, _)| *gpu == j).map(|(_, n)| n);
                    runs.fold(waits, u32::saturating_add)
                })
                .fold(0, u32::saturating_add);
            let gpus = usable.min(left.most(key, j));
            left.charge(key, j, gpus);
            *needed = needed.saturating_add(gpus);
        }
    }
    beyond.sort_by_key(|(slot, _)| {
        let job = state.at(*slot);
        (job.spec.priority, state.running_for(job), std::cmp::Reverse(job.spec.id))
    });
    let mut kept = vec![0_u32; free.len()];
    beyond.iter().flat_map(|(_, types)| types).for_each(|&(j, n)| kept[j] += n);
    let mut dropped = BTreeSet::new();
    for (slot, types) in beyond {
        let lacks = |j: usize| kept[j].saturating_add(needed[j]) > free[j];
        if types.iter().any(|&(j, _)| needed[j] > 0 && lacks(j)) {
            types.iter().for_each(|&(j, n)| kept[j] -= n);
            dropped.insert(slot);
        }
    }
    dropped
}
