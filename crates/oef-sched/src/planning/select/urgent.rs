//! The last stage of a selection: within a tenant, a job of a higher priority takes the GPUs that the selection gave to jobs
//! of a lower one, also those of other workloads.
//!
//! What the tenant has in all was decided before and stays: no other tenant's job gives up anything. A running job gives way
//! if it may be stopped: it was not promised a longer run and its restart budget allows it. Of those that may, the lowest
//! priority gives way first, then the one that has run for the shortest time.
//!
//! In mid-round only jobs that were submitted to start at once do this, and for each tenant once in a round.

use super::deficit::Selection;
use super::pick::{Types, count_types};
use crate::ids::{JobId, Slot, TenantKey};
use crate::job::{Job, Phase};
use crate::plan::Scope;
use crate::reason::StartReason;
use crate::time::{Span, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A job that may take the GPUs of others. Who is first in order does so first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Urgent {
    priority: Reverse<i32>,
    /// Running jobs come before those that wait.
    waits: bool,
    since: Time,
    id: JobId,
    slot: Slot,
    queue: usize,
    /// The line of the queue in which it waits.
    line: Option<usize>,
}

/// A job that may give way.
struct Victim {
    slot: Slot,
    priority: i32,
    workers: u32,
    /// Its GPUs of each type.
    gpus: Vec<(usize, u32)>,
    /// Who gives way first.
    order: (i32, Option<Span>, Reverse<JobId>),
}

impl Victim {
    fn new(selection: &Selection<'_>, slot: Slot, gpus: Vec<(usize, u32)>) -> Self {
        let job = selection.state.at(slot);
        let (priority, workers) = (job.spec.priority, job.spec.workers);
        let ran = matches!(job.phase, Phase::Running { .. });
        let ran = ran.then(|| selection.state.running_for(job));
        Victim { slot, priority, workers, gpus, order: (priority, ran, Reverse(job.spec.id)) }
    }

    fn on(&self, gpu: usize) -> u32 {
        self.gpus.iter().find(|(j, _)| *j == gpu).map_or(0, |&(_, count)| count)
    }
}

impl Selection<'_> {
    /// Lets jobs of a higher priority take the GPUs of their tenant's others. False: nothing was to be done.
    pub(super) fn displace(&mut self, reach: Scope) -> bool {
        let lowest = self.lowest(reach);
        let mut urgent: BTreeSet<Urgent> = BTreeSet::new();
        for queue in 0..self.queues.all.len() {
            if lowest.contains_key(&self.tenant_of(queue)) {
                urgent.extend(self.urgent_in(queue, reach, &lowest));
            }
        }
        let mut victims: BTreeMap<TenantKey, Vec<Victim>> = BTreeMap::new();
        let mut displaced = false;
        while let Some(Urgent { slot, queue, line, .. }) = urgent.pop_first() {
            if self.queues.is_picked(slot) {
                // Its tenant was guaranteed GPUs that somebody gave up meanwhile.
                urgent.extend(line.and_then(|line| self.next_urgent(queue, line, reach, &lowest)));
                continue;
            }
            let tenant = self.tenant_of(queue);
            let own = victims.entry(tenant).or_insert_with(|| self.victims(tenant, reach));
            if self.displace_for(slot, queue, own) {
                displaced = true;
                self.hand_out_guaranteed();
                let next = line.and_then(|line| self.next_urgent(queue, line, reach, &lowest));
                urgent.extend(next);
            }
        }
        displaced
    }

    /// A running job that took the GPUs of others of its tenant claims what those are owed, so that the tenant does not claim
    /// it twice.
    pub(super) fn fund_urgent(&mut self) {
        let state = self.state;
        let is_urgent = |slot: &Slot| state.start_reason(*slot) == Some(StartReason::Urgent);
        for queue in 0..self.queues.all.len() {
            let placed = &state.workloads()[self.queues.all[queue].workload.0].placed;
            let mut wanted = vec![0.0; self.free.len()];
            for slot in placed.iter().copied().filter(is_urgent) {
                let gpus = state.target(slot).map_or(&[][..], |lease| &lease.gpus);
                let Some(gpu) = state.single_type(gpus) else { continue };
                // Of one that stays for sure the GPUs are charged already.
                if self.queues.running(queue, gpu).any(|running| running.slot == slot) {
                    wanted[gpu] += gpus.len() as f64;
                }
                self.fund(queue, gpu, slot, wanted[gpu]);
            }
        }
    }

    fn fund(&mut self, queue: usize, gpu: usize, slot: Slot, wanted: f64) {
        let spec = &self.state.at(slot).spec;
        let lacks = (wanted - self.queues.owed(queue, gpu)).max(0.0);
        let mut left = lacks.min(f64::from(spec.workers));
        let gives = |&other: &usize| {
            let workload = &self.state.workloads()[self.queues.all[other].workload.0];
            other != queue && workload.tenant == spec.tenant && workload.waits_below(spec.priority)
        };
        let owed = |other: &usize| self.queues.owed(*other, gpu);
        let mut payers: Vec<usize> = (0..self.queues.all.len()).filter(gives).collect();
        payers.retain(|other| owed(other) > 0.0);
        payers.sort_by(|a, b| owed(b).total_cmp(&owed(a)).then(a.cmp(b)));
        for payer in payers {
            let paid = left.min(self.queues.owed(payer, gpu));
            self.queues.transfer(payer, queue, gpu, paid);
            left -= paid;
        }
    }

    fn tenant_of(&self, queue: usize) -> TenantKey {
        self.state.workloads()[self.queues.all[queue].workload.0].tenant
    }

    /// The lowest priority among what each tenant was given, of the tenants that may displace anybody now.
    fn lowest(&self, reach: Scope) -> BTreeMap<TenantKey, i32> {
        let mut lowest: BTreeMap<TenantKey, i32> = BTreeMap::new();
        let mut given = |slot: Slot| {
            let spec = &self.state.at(slot).spec;
            let least = lowest.entry(spec.tenant).or_insert(i32::MAX);
            *least = spec.priority.min(*least);
        };
        self.picks.iter().for_each(|pick| given(pick.slot));
        if reach == Scope::Fill {
            let now = (0..self.state.tenants().len()).map(TenantKey);
            let now = now.filter(|&tenant| self.state.may_displace_now(tenant));
            for tenant in now.clone() {
                self.state.placed_of(tenant).for_each(&mut given);
            }
            let now: BTreeSet<TenantKey> = now.collect();
            lowest.retain(|tenant, _| now.contains(tenant));
        }
        lowest
    }

    /// Whoever is next of each line of a queue, and the running jobs that would lose their GPUs.
    fn urgent_in(
        &self,
        queue: usize,
        reach: Scope,
        lowest: &BTreeMap<TenantKey, i32>,
    ) -> Vec<Urgent> {
        let lines = 0..self.queues.lines(queue).len();
        let mut urgent: Vec<Urgent> =
            lines.filter_map(|line| self.next_urgent(queue, line, reach, lowest)).collect();
        let least = lowest.get(&self.tenant_of(queue)).copied().unwrap_or(i32::MAX);
        let running = self.queues.all_running(queue).filter(|running| running.priority > least);
        urgent.extend(running.map(|running| {
            let id = self.state.at(running.slot).spec.id;
            let (priority, slot) = (Reverse(running.priority), running.slot);
            Urgent { priority, waits: false, since: Time(0), id, slot, queue, line: None }
        }));
        urgent
    }

    fn next_urgent(
        &self,
        queue: usize,
        line: usize,
        reach: Scope,
        lowest: &BTreeMap<TenantKey, i32>,
    ) -> Option<Urgent> {
        let least = *lowest.get(&self.tenant_of(queue))?;
        let may = |job: &Job| reach == Scope::Round || job.spec.now;
        let key = self.queues.next_that(&self.queues.lines(queue)[line], may)?;
        let (priority, since, id, slot) = key;
        let urgent = Urgent { priority, waits: true, since, id, slot, queue, line: Some(line) };
        (priority.0 > least).then_some(urgent)
    }

    /// A tenant's jobs that may give way, who does so first: those that were only chosen to start, and running ones.
    fn victims(&self, tenant: TenantKey, reach: Scope) -> Vec<Victim> {
        let state = self.state;
        let own = self.picks.iter().filter(|pick| state.at(pick.slot).spec.tenant == tenant);
        let mut victims: Vec<Victim> = own
            .filter(|pick| {
                let job = state.at(pick.slot);
                let waits =
                    job.phase == Phase::Queued && !state.workloads()[job.row().0].is_probe();
                waits || state.may_move(pick.slot)
            })
            .map(|pick| {
                let mut gpus = Vec::new();
                pick.types.each(state.at(pick.slot).spec.workers, |j, count| gpus.push((j, count)));
                Victim::new(self, pick.slot, gpus)
            })
            .collect();
        if reach == Scope::Fill {
            let placed = state.placed_of(tenant).filter(|&slot| state.may_move(slot));
            victims.extend(placed.map(|slot| Victim::new(self, slot, count_types(state, slot))));
        }
        victims.sort_by_key(|victim| victim.order);
        victims
    }

    /// Gives a job the GPUs of others of its tenant; false: they are not enough.
    fn displace_for(&mut self, slot: Slot, queue: usize, victims: &mut Vec<Victim>) -> bool {
        let (state, job) = (self.state, self.state.at(slot));
        let here = state.target(slot).and_then(|lease| state.single_type(&lease.gpus));
        let profile = &state.workloads()[job.row().0].profile;
        let capacity = state.cluster().capacity();
        let usable = |&j: &usize| job.spec.workers <= capacity[j] && state.may_use(job, j);
        let mut types: Vec<usize> = (0..self.free.len()).filter(usable).collect();
        types.sort_by(|&a, &b| {
            let stays = (here == Some(b)).cmp(&(here == Some(a)));
            stays.then(profile.on(b).total_cmp(&profile.on(a))).then(a.cmp(&b))
        });
        let found = types.into_iter().find_map(|gpu| {
            let stays = here == Some(gpu);
            Some((gpu, self.enough(slot, gpu, stays, victims)?))
        });
        let Some((gpu, leave)) = found else { return false };
        for index in leave.into_iter().rev() {
            let victim = victims.remove(index);
            self.give_way(&victim, slot);
        }
        self.take(queue, slot, Types::One(gpu), here == Some(gpu), StartReason::Urgent);
        if let Some(pick) = self.picks.last_mut() {
            pick.why = StartReason::Urgent;
        }
        true
    }

    /// The fewest of those who give way first whose GPUs of a type, with what is idle, are enough for a job; by position.
    fn enough(
        &self,
        slot: Slot,
        gpu: usize,
        stays: bool,
        victims: &[Victim],
    ) -> Option<Vec<usize>> {
        let (job, spec) = (self.state.at(slot), &self.state.at(slot).spec);
        if !self.may_start(slot, gpu) {
            return None;
        }
        let open = if stays { self.free[gpu] } else { self.open_to(job, gpu) };
        let leaves = |victim: &Victim| match stays {
            true => victim.on(gpu),
            false => self.leaves_open(victim.slot, gpu, victim.on(gpu), job),
        };
        let needed = spec.workers.saturating_sub(open.min(self.free_for(slot, gpu)));
        let limit = spec.workers.saturating_sub(self.room[spec.tenant.0]);
        let (mut gpus, mut room) = (0, 0);
        let mut leave: Vec<usize> = Vec::new();
        for (index, victim) in victims.iter().enumerate() {
            if gpus >= needed && room >= limit {
                break;
            }
            if victim.priority < spec.priority && leaves(victim) > 0 {
                gpus += leaves(victim);
                room += victim.workers;
                leave.push(index);
            }
        }
        if leave.is_empty() || gpus < needed || room < limit {
            return None;
        }
        for at in (0..leave.len()).rev() {
            let victim = &victims[leave[at]];
            if gpus - leaves(victim) >= needed && room - victim.workers >= limit {
                gpus -= leaves(victim);
                room -= victim.workers;
                leave.remove(at);
            }
        }
        Some(leave)
    }

    /// Takes its GPUs from a job: one that runs is to stop, one that was only chosen waits again.
    fn give_way(&mut self, victim: &Victim, by: Slot) {
        let job = self.state.at(victim.slot);
        self.picks.retain(|pick| pick.slot != victim.slot);
        victim.gpus.iter().for_each(|&(j, count)| self.free[j] += count);
        self.credit_rooms(victim.slot, &Types::Many(victim.gpus.clone()));
        let room = &mut self.room[job.spec.tenant.0];
        *room = room.saturating_add(victim.workers);
        match job.phase {
            Phase::Queued => self.queues.put_back(victim.slot, job),
            _ => self.displaced.push((victim.slot, by)),
        }
    }
}
