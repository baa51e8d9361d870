//! Room for gangs: the placement of a round as a whole.
//!
//! What is to be made large is the throughput that is delivered within the *horizon* under the choice of the round, less
//! restarts: a gang of `g` workers that stands on `h` hosts where `m` are enough loses `g (1 - s(h) / s(m))` GPUs of
//! throughput, with `s` its throughput per GPU over so many hosts; whoever moves loses its GPUs for the time of a restart.
//!
//! Gangs come by size, the largest first, each in pieces: whole hosts, and the rest.
//!
//! 1. A piece goes to the host where it leaves the fewest GPUs over.
//! 2. Where none has room, smaller jobs that can afford a restart leave the host where that costs least, if what the gang
//!    wins within the horizon is more than the restarts. They are placed after it by the same rules, as jobs of their
//!    size, so that each move makes the jobs in question smaller and the end is reached.
//! 3. Where that is not possible either, a gang waits for some rounds; then it takes the emptiest hosts.
//!
//! A gang that runs on more hosts than it needs comes together by the same rules, its own restart counted.

use super::floor::Floor;
use super::select::{Pick, Types};
use crate::cluster::{UpNodes, hosts_needed};
use crate::ids::{GpuId, NodeId, Slot};
use crate::plan::PlannedWait;
use crate::reason::StartReason;
use crate::state::State;
use oef_core::TypeId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A gang that would keep this part of its throughput does not wait for room.
const WORTH_WAITING: f64 = 0.9;

/// Who stands where after a placement.
#[derive(Default)]
pub(super) struct Placed {
    /// By pick: the GPUs that it gets; `None`: those that it has.
    pub gpus: Vec<Option<Vec<GpuId>>>,
    /// By pick: the job for which it makes room.
    pub serves: Vec<Option<Slot>>,
    /// Picks that wait for room.
    pub waits: Vec<(usize, PlannedWait)>,
}

/// A placement under way.
pub(super) struct Room<'s, 'f, 'c> {
    state: &'s State,
    floor: &'f mut Floor<'c>,
    picks: &'f [Pick],
    may_move: bool,
    placed: Placed,
    /// By slot: the pick of a job that stays.
    pick_of: Vec<Option<usize>>,
    /// By type: the nodes that are up.
    up: &'s [UpNodes],
    /// Who may use the fewest nodes first, then the largest.
    queue: BinaryHeap<(usize, u32, Reverse<usize>)>,
}

/// Jobs that would leave a host, and the GPUs that they have.
struct Eviction {
    host: NodeId,
    slots: Vec<Slot>,
    /// What their restarts cost, in GPU-seconds.
    cost: f64,
}

/// Places the picks from `first` on; those before have their GPUs.
pub(super) fn make_room(
    state: &State,
    floor: &mut Floor<'_>,
    picks: &[Pick],
    first: usize,
    may_move: bool,
) -> Placed {
    let mut room = Room::new(state, floor, picks, may_move);
    for (index, pick) in picks.iter().enumerate().skip(first) {
        let workers = state.at(pick.slot).spec.workers;
        // What is left on the nodes that it may still use is counted for others.
        let moves = may_move
            && workers > 1
            && room.is_spread(pick.slot)
            && state.may_move(pick.slot)
            && state.closed_to(state.at(pick.slot)).is_empty();
        if !pick.stays || moves {
            room.enqueue(index);
        }
    }
    // Who was to come together and made room before that is in the queue twice.
    let mut done = vec![false; picks.len()];
    while let Some((_, _, Reverse(index))) = room.queue.pop() {
        if !std::mem::replace(&mut done[index], true) {
            room.floor.hide(state.closed_to(state.at(picks[index].slot)));
            room.place(index);
        }
    }
    room.floor.hide(Vec::new());
    room.placed
}

impl<'s, 'f, 'c> Room<'s, 'f, 'c> {
    fn new(state: &'s State, floor: &'f mut Floor<'c>, picks: &'f [Pick], may_move: bool) -> Self {
        let mut pick_of = vec![None; state.slots()];
        for (index, pick) in picks.iter().enumerate().filter(|(_, pick)| pick.stays) {
            pick_of[pick.slot.0] = Some(index);
        }
        let up = state.cluster().up();
        let none = || vec![None; picks.len()];
        let placed = Placed { gpus: none(), serves: vec![None; picks.len()], waits: Vec::new() };
        let queue = BinaryHeap::new();
        Room { state, floor, picks, may_move, placed, pick_of, up, queue }
    }

    fn enqueue(&mut self, index: usize) {
        let job = self.state.at(self.picks[index].slot);
        let closed = self.state.closed_to(job).len();
        self.queue.push((closed, job.spec.workers, Reverse(index)));
    }

    fn place(&mut self, index: usize) {
        let pick = &self.picks[index];
        let workers = self.state.at(pick.slot).spec.workers;
        match &pick.types {
            Types::One(gpu) if pick.stays && self.placed.serves[index].is_none() => {
                self.bring_together(index, *gpu, workers);
            }
            Types::One(_) if self.goes_back(index) => {}
            Types::One(gpu) => self.settle(index, *gpu, workers),
            Types::Many(counts) => {
                let own = counts
                    .iter()
                    .flat_map(|&(gpu, count)| take_emptiest(self.floor, gpu, count, pick.slot));
                self.placed.gpus[index] = Some(own.collect());
            }
        }
    }

    /// A job that made room has its old place again, if nobody took it after all.
    fn goes_back(&mut self, index: usize) -> bool {
        let slot = self.picks[index].slot;
        let serves = self.placed.serves[index].is_some();
        let Some(lease) = self.state.target(slot).filter(|_| serves) else { return false };
        let is_free = lease.gpus.iter().all(|&gpu| self.floor.owner(gpu).is_none());
        if is_free {
            lease.gpus.iter().for_each(|&gpu| self.floor.own(gpu, slot));
            self.placed.serves[index] = None;
        }
        is_free
    }

    /// A gang that runs on more hosts than it needs moves to fewer, if it can and that pays.
    fn bring_together(&mut self, index: usize, gpu: usize, workers: u32) {
        let slot = self.picks[index].slot;
        let Some(old) = self.state.target(slot).map(|lease| lease.gpus.clone()) else { return };
        old.iter().for_each(|&left| self.floor.disown(left));
        match self.with_room(index, gpu, workers, f64::from(workers)) {
            Some(gpus) => self.placed.gpus[index] = Some(gpus),
            None => old.iter().for_each(|&kept| self.floor.own(kept, slot)),
        }
    }

    /// A job without a place gets one, or waits for a better one.
    fn settle(&mut self, index: usize, gpu: usize, workers: u32) {
        let slot = self.picks[index].slot;
        if let Some(gpus) = self.with_room(index, gpu, workers, 0.0) {
            self.placed.gpus[index] = Some(gpus);
            return;
        }
        match self.wait_for_room(index, gpu, workers) {
            Some(wait) => self.placed.waits.push((index, wait)),
            None => self.placed.gpus[index] = Some(take_emptiest(self.floor, gpu, workers, slot)),
        }
    }

    /// GPUs on as few hosts as a gang can stand on. `moving`: GPUs that restart with it.
    fn with_room(
        &mut self,
        index: usize,
        gpu: usize,
        workers: u32,
        moving: f64,
    ) -> Option<Vec<GpuId>> {
        let slot = self.picks[index].slot;
        let pieces = self.pieces(gpu, workers)?;
        let mut own: Vec<GpuId> = Vec::with_capacity(workers as usize);
        let mut left = self.worth(slot, gpu, workers) - moving * self.restart(slot);
        let may_move = self.may_move && !self.is_urgent(index);
        for piece in pieces {
            let host = self.floor.hosts(gpu).tightest(piece).or_else(|| {
                // Looking at every host takes long, so not where nobody may move or nothing can pay for it.
                if !may_move || left <= 0.0 {
                    return None;
                }
                let eviction = self.cheapest(gpu, piece, workers)?;
                left -= eviction.cost;
                (left > 0.0).then(|| self.evict(&eviction, slot))
            });
            let Some(host) = host.filter(|_| moving == 0.0 || left > 0.0) else {
                own.iter().for_each(|&gpu| self.floor.disown(gpu));
                return None;
            };
            own.extend(self.floor.own_on(host, piece, slot));
        }
        Some(own)
    }

    /// Whether a job took the GPUs of others of its tenant: it does not wait for a better place, and nobody moves for it.
    fn is_urgent(&self, index: usize) -> bool {
        self.picks[index].why == StartReason::Urgent
    }

    /// What a gang wins within the horizon by standing on as few hosts as it can rather than on one more, in GPU-seconds.
    fn worth(&self, slot: Slot, gpu: usize, workers: u32) -> f64 {
        let horizon = self.state.settings().horizon.seconds();
        f64::from(workers) * (1.0 - self.kept(slot, gpu, workers, 1)) * horizon
    }

    /// The part of its throughput that a gang keeps on so many more hosts than it needs.
    fn kept(&self, slot: Slot, gpu: usize, workers: u32, more: u32) -> f64 {
        let (state, job) = (self.state, self.state.at(slot));
        let needed = hosts_needed(&self.up[gpu].sizes, workers);
        let (with, without) =
            (state.gang_speed(job, gpu, needed), state.gang_speed(job, gpu, needed + more));
        if with > 0.0 { (without / with).min(1.0) } else { 1.0 }
    }

    /// What a restart of a job costs each of its GPUs, in seconds.
    fn restart(&self, slot: Slot) -> f64 {
        self.state.restart_cost(slot).seconds()
    }

    /// The workers on each host: as many as a host has, and the rest; `None`: there are not enough GPUs.
    fn pieces(&self, gpu: usize, workers: u32) -> Option<Vec<u32>> {
        let mut left = workers;
        let mut pieces = Vec::new();
        for &size in &self.up[gpu].sizes {
            if left == 0 {
                break;
            }
            pieces.push(size.min(left));
            left -= size.min(left);
        }
        (left == 0).then_some(pieces)
    }

    /// The host where room for a piece costs the fewest restarts.
    fn cheapest(&self, gpu: usize, piece: u32, workers: u32) -> Option<Eviction> {
        let hosts = self.up[gpu].nodes.iter().filter(|&&host| !self.floor.is_hidden(host));
        let evictions = hosts.filter_map(|&host| self.eviction(host, piece, workers));
        let order = |e: &Eviction| (e.slots.len(), e.host);
        evictions.min_by(|a, b| a.cost.total_cmp(&b.cost).then(order(a).cmp(&order(b))))
    }

    /// The jobs that would leave a host so that a piece of a gang has room; `None`: not all that it takes may leave.
    fn eviction(&self, host: NodeId, piece: u32, workers: u32) -> Option<Eviction> {
        let cluster = self.state.cluster();
        if (cluster.nodes()[host.0].gpus() as u32) < piece {
            return None;
        }
        let (mut free, mut here) = (0, Vec::<(u32, Slot)>::new());
        for gpu in cluster.gpus_of(host) {
            match self.floor.owner(gpu) {
                None => free += 1,
                Some(slot) if self.may_leave(slot, workers) => {
                    match here.iter_mut().find(|(_, known)| *known == slot) {
                        Some((count, _)) => *count += 1,
                        None => here.push((1, slot)),
                    }
                }
                Some(_) => {}
            }
        }
        here.sort_unstable();
        // The smallest first until it is enough; then those that are not needed after all stay.
        let needed = piece.saturating_sub(free);
        let mut room = 0;
        let mut leave: Vec<(u32, Slot)> = Vec::new();
        for job in here {
            if room >= needed {
                break;
            }
            room += job.0;
            leave.push(job);
        }
        if room < needed {
            return None;
        }
        leave.retain(|(count, _)| {
            let stays = room - count >= needed;
            room -= if stays { *count } else { 0 };
            !stays
        });
        let slots: Vec<Slot> = leave.into_iter().map(|(_, slot)| slot).collect();
        let cost = |&slot: &Slot| f64::from(self.state.at(slot).spec.workers) * self.restart(slot);
        let cost = slots.iter().map(cost).sum();
        Some(Eviction { host, slots, cost })
    }

    /// Whether a job could make room for a gang of so many workers: it stays on one type, is smaller, and can afford it.
    fn may_leave(&self, slot: Slot, workers: u32) -> bool {
        let Some(index) = self.pick_of[slot.0] else { return false };
        self.placed.gpus[index].is_none()
            && self.placed.serves[index].is_none()
            && matches!(self.picks[index].types, Types::One(_))
            && self.state.at(slot).spec.workers < workers
            && self.state.may_move(slot)
            && self.state.closed_to(self.state.at(slot)).is_empty()
    }

    /// Takes their GPUs from jobs that make room: they are placed after the gang.
    fn evict(&mut self, eviction: &Eviction, serves: Slot) -> NodeId {
        for &slot in &eviction.slots {
            for &gpu in self.state.target(slot).map_or(&[][..], |lease| &lease.gpus) {
                self.floor.disown(gpu);
            }
            if let Some(index) = self.pick_of[slot.0] {
                self.placed.serves[index] = Some(serves);
                self.enqueue(index);
            }
        }
        eviction.host
    }

    /// Whether a gang that has no room now is to wait for it: it would be much faster, and has not waited for long.
    fn wait_for_room(&self, index: usize, gpu: usize, workers: u32) -> Option<PlannedWait> {
        let pick = &self.picks[index];
        let job = self.state.at(pick.slot);
        let has_place = self.state.target(pick.slot).is_some();
        let waited = job.room.as_ref().map_or(0, |(rounds, _)| *rounds);
        if has_place || waited >= self.state.settings().patience || self.is_urgent(index) {
            return None;
        }
        let needed = hosts_needed(&self.up[gpu].sizes, workers);
        let without = self.emptiest_hosts(gpu, workers).max(needed + 1);
        let kept = self.kept(pick.slot, gpu, workers, without - needed);
        let wait = || PlannedWait {
            job: job.spec.id,
            gpu: TypeId(gpu),
            hosts: (needed, without),
            gain: 1.0 / kept.max(1e-3),
        };
        (kept < WORTH_WAITING).then(wait)
    }

    /// On how many hosts a gang would stand now.
    fn emptiest_hosts(&self, gpu: usize, workers: u32) -> u32 {
        let mut left = workers;
        let free = self.floor.hosts(gpu).emptiest_first();
        let taken = free.take_while(|&free| {
            let more = left > 0;
            left = left.saturating_sub(free);
            more
        });
        taken.count() as u32
    }

    /// Whether a job that stays is on more hosts than it needs, all of one type.
    fn is_spread(&self, slot: Slot) -> bool {
        let Some(lease) = self.state.target(slot) else { return false };
        let Some(gpu) = self.state.single_type(&lease.gpus) else { return false };
        let mut hosts: Vec<NodeId> = lease.gpus.iter().map(|gpu| gpu.node).collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts.len() as u32 > hosts_needed(&self.up[gpu].sizes, lease.gpus.len() as u32)
    }
}

/// So many GPUs of a type, or as many as there are, on the emptiest hosts.
pub(super) fn take_emptiest(
    floor: &mut Floor<'_>,
    gpu: usize,
    count: u32,
    slot: Slot,
) -> Vec<GpuId> {
    let (mut left, mut own) = (count, Vec::new());
    while left > 0 {
        let hosts = floor.hosts(gpu);
        let Some(host) = hosts.tightest(left).or_else(|| hosts.emptiest()) else { break };
        let given = floor.own_on(host, left, slot);
        left -= given.len() as u32;
        own.extend(given);
    }
    own
}
