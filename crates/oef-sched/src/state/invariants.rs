//! Every invariant of a state that is broken, in words. It knows the state and nothing of how it came about.

use super::State;
use crate::cluster::Health;
use crate::ids::{GpuId, NodeId, Slot};
use crate::job::{Job, Lease, Phase};
use crate::promise::Rooms;
use crate::settings::RoundingRule;
use crate::tenant::Workload;
use std::collections::BTreeSet;

impl State {
    /// For tests that need a state that is hard to come by.
    pub(crate) fn workloads_mut(&mut self) -> &mut [Workload] {
        &mut self.workloads
    }

    /// The next round solves again.
    pub(crate) fn invalidate_shares(&mut self) {
        self.entitlement.invalidate();
    }
}

/// Lists what is wrong.
pub(crate) fn broken(state: &State) -> Vec<String> {
    let mut wrong = Vec::new();
    jobs(state, &mut wrong);
    gpus(state, &mut wrong);
    workloads(state, &mut wrong);
    tenants(state, &mut wrong);
    accounts(state, &mut wrong);
    wrong
}

/// Waiting jobs for which there are GPUs that nobody owns. Jobs that cannot afford another restart are left
/// out: they may have to leave a type to a gang that is owed it. So are gangs that wait for room, for a bounded time. While
/// a job is kept from a node that is to be out, a GPU may be idle until the next event.
pub(crate) fn idle_in_vain(state: &State) -> Vec<String> {
    let free = state.cluster.free();
    let waiting = state.jobs().filter(|job| job.phase == Phase::Queued && job.room.is_none());
    let mut limits = Rooms::limits(state);
    limits.iter_mut().for_each(|rooms| rooms.charge_owned(state));
    let could = waiting.filter(|job| {
        let room = |j: &usize| state.may_use(job, *j);
        let closed = state.closed_to(job);
        let closed_on = |j: usize| {
            let nodes =
                closed.iter().filter(|node| state.cluster.nodes()[node.0].gpu_type().0 == j);
            let up = nodes.filter(|node| state.cluster.nodes()[node.0].health() == Health::Up);
            up.map(|&node| state.cluster.free_on(node)).sum::<u32>()
        };
        let least = |j: usize| limits.as_ref().map_or(u32::MAX, |l| l.least(job.spec.tenant, j));
        let there = (0..free.len()).filter(room).map(|j| (free[j] - closed_on(j)).min(least(j)));
        let total: u32 = if job.spec.one_type { there.max().unwrap_or(0) } else { there.sum() };
        let may = job.spec.workers <= state.room(job.spec.tenant);
        may && total >= job.spec.workers && state.may_be_stopped_again(job)
    });
    could.map(|job| format!("job {} waits beside free {free:?}", job.spec.id)).collect()
}

fn jobs(state: &State, wrong: &mut Vec<String>) {
    for (id, &slot) in &state.by_id {
        let Some(job) = state.jobs[slot.0].as_ref() else {
            wrong.push(format!("job {id} has an empty slot"));
            continue;
        };
        let may_not = state.obstacle(slot).is_some();
        if job.phase == Phase::Held && (!may_not || job.place.is_some()) {
            wrong.push(format!("job {id} is held, and nobody holds it"));
        }
        if may_not && matches!(job.phase, Phase::Queued | Phase::Assigned { .. }) {
            wrong.push(format!("job {id} is to be held, but is {:?}", job.phase));
        }
        let counts = job.phase != Phase::Held;
        let waiting = counts
            && state.workloads[job.row().0].classes[job.class]
                .waiting
                .contains(&state.waiting_key(slot));
        if waiting != (job.phase == Phase::Queued) {
            wrong.push(format!("job {id} waits: {waiting}, but is {:?}", job.phase));
        }
        let places = state.target(slot).is_some();
        if places != job.place.is_some() {
            wrong.push(format!("job {id} has place {:?} in {:?}", job.place, job.phase));
        }
        if let Some(lease) = state.target(slot) {
            owns(state, slot, lease, wrong);
            if lease.generation != job.generation {
                wrong.push(format!("job {id} has an old lease as its target"));
            }
        }
        match &job.phase {
            Phase::Running { lease, .. } | Phase::Stopping { lease, .. } => {
                holds(state, slot, lease, wrong);
                if lease.generation > job.generation {
                    wrong.push(format!("job {id} has a lease of the future"));
                }
            }
            Phase::Assigned { lease, .. } => {
                let idle = lease.gpus.iter().all(|&gpu| state.cluster.holder(gpu).is_none());
                let late = lease.gpus.iter().any(|gpu| state.ends_too_late(slot, gpu.node));
                if idle && !late && state.may_hold(job.spec.tenant, &lease.gpus) {
                    wrong.push(format!("job {id} could start and does not"));
                }
            }
            Phase::Queued | Phase::Held => {}
        }
    }
    let used = state.jobs.iter().filter(|job| job.is_some()).count();
    let vacant: BTreeSet<Slot> = state.vacant.iter().copied().collect();
    if used != state.by_id.len() || vacant.len() + used != state.jobs.len() {
        wrong.push("slots are lost".into());
    }
}

fn owns(state: &State, slot: Slot, lease: &Lease, wrong: &mut Vec<String>) {
    let id = state.at(slot).spec.id;
    let distinct: BTreeSet<GpuId> = lease.gpus.iter().copied().collect();
    let workers = state.at(slot).spec.workers as usize;
    if distinct.len() != workers || lease.gpus.len() != workers {
        wrong.push(format!("job {id} of {workers} workers has {:?}", lease.gpus));
    }
    if state.at(slot).spec.one_type && state.single_type(&lease.gpus).is_none() {
        wrong.push(format!("job {id} is to run on one type, and has {:?}", lease.gpus));
    }
    for &gpu in &lease.gpus {
        if state.cluster.owner(gpu) != Some(slot) {
            wrong.push(format!("job {id} does not own {gpu:?}"));
        }
        if state.cluster.nodes()[gpu.node.0].health() == Health::Down {
            wrong.push(format!("job {id} is placed on a node that is down"));
        }
    }
}

fn holds(state: &State, slot: Slot, lease: &Lease, wrong: &mut Vec<String>) {
    for &gpu in &lease.gpus {
        if state.cluster.holder(gpu) != Some(slot) {
            wrong.push(format!("job {} does not hold {gpu:?}", state.at(slot).spec.id));
        }
    }
}

fn gpus(state: &State, wrong: &mut Vec<String>) {
    let cluster = &state.cluster;
    let types = cluster.types().len();
    let (mut capacity, mut idle, mut free) = (vec![0; types], vec![0; types], vec![0; types]);
    let mut filed = Vec::new();
    for (n, node) in cluster.nodes().iter().enumerate() {
        let mut unowned = 0;
        for gpu in cluster.gpus_of(NodeId(n)) {
            let (holder, owner) = (cluster.holder(gpu), cluster.owner(gpu));
            unowned += u32::from(owner.is_none());
            let up = u32::from(node.health() == Health::Up);
            capacity[node.gpu_type().0] += up;
            idle[node.gpu_type().0] += up * u32::from(holder.is_none());
            free[node.gpu_type().0] += up * u32::from(owner.is_none());
            let known = |slot: Slot| state.jobs.get(slot.0).is_some_and(|job| job.is_some());
            if holder.into_iter().chain(owner).any(|slot| !known(slot)) {
                wrong.push(format!("{gpu:?} belongs to a job that is gone"));
                continue;
            }
            let of = |slot: Slot| state.target(slot).is_some_and(|l| l.gpus.contains(&gpu));
            if owner.is_some_and(|slot| !of(slot)) {
                wrong.push(format!("{gpu:?} has an owner that does not know"));
            }
            let of = |slot: Slot| state.at(slot).lease().is_some_and(|l| l.gpus.contains(&gpu));
            if holder.is_some_and(|slot| !of(slot)) {
                wrong.push(format!("{gpu:?} has a holder that does not know"));
            }
        }
        if cluster.free_on(NodeId(n)) != unowned {
            wrong.push(format!("node {n} counts its free GPUs wrongly"));
        }
        if node.health() == Health::Up && unowned > 0 {
            filed.push((node.gpu_type().0, NodeId(n), unowned));
        }
    }
    if (capacity.as_slice(), idle.as_slice(), free.as_slice())
        != (cluster.capacity(), cluster.idle(), cluster.free())
    {
        wrong.push("the counts of the cluster are wrong".into());
    }
    let mut index: Vec<(usize, NodeId, u32)> = (0..types)
        .flat_map(|j| cluster.hosts(j).iter().map(move |(node, free)| (j, node, free)))
        .collect();
    index.sort_by_key(|&(_, node, _)| node);
    if index != filed {
        wrong.push("the hosts are filed wrongly".into());
    }
}

fn tenants(state: &State, wrong: &mut Vec<String>) {
    for (t, tenant) in state.tenants.iter().enumerate() {
        let own = state.jobs().filter(|job| job.spec.tenant.0 == t);
        let holds = own.filter_map(|job| match &job.phase {
            Phase::Running { lease, .. } | Phase::Stopping { lease, .. } => Some(lease.gpus.len()),
            _ => None,
        });
        if holds.sum::<usize>() != tenant.holds as usize {
            wrong.push(format!("tenant {t} counts its GPUs wrongly: {}", tenant.holds));
        }
        let cap = tenant.limit.unwrap_or(u32::MAX);
        if tenant.workloads.iter().any(|w| state.workloads[w.0].cap != cap) {
            wrong.push(format!("a workload of tenant {t} does not know its limit"));
        }
    }
}

fn workloads(state: &State, wrong: &mut Vec<String>) {
    let types = state.cluster.types().len();
    let mut placed = vec![0; types];
    for (w, workload) in state.workloads.iter().enumerate() {
        let counts = |job: &&Job| job.row().0 == w && job.phase != Phase::Held;
        let own = || state.jobs().filter(counts);
        let mut used = vec![0; types];
        for job in own() {
            let slot = state.by_id[&job.spec.id];
            for &gpu in state.target(slot).map_or(&[][..], |lease| &lease.gpus) {
                used[state.cluster.type_of(gpu).0] += 1;
                placed[state.cluster.type_of(gpu).0] += u32::from(state.cluster.counts(gpu));
            }
        }
        if (0..types).any(|j| workload.used_on(j) != used[j]) {
            wrong.push(format!("workload {w} uses {used:?}, counted {:?}", workload.used));
        }
        let listed = workload.placed.iter().enumerate();
        if listed.into_iter().any(|(at, &slot)| state.at(slot).place != Some(at)) {
            wrong.push(format!("workload {w} lists its placed jobs wrongly"));
        }
        if own().filter(|job| job.place.is_some()).count() != workload.placed.len() {
            wrong.push(format!("workload {w} does not list all placed jobs"));
        }
        let waits: usize = workload.classes.iter().map(|class| class.waiting.len()).sum();
        let queued = own().filter(|job| job.phase == Phase::Queued).count();
        let live: u32 = workload.classes.iter().map(|class| class.live).sum();
        let wanted: u64 = own().map(|job| u64::from(job.spec.workers)).sum();
        let gang_max = own().map(|job| job.spec.workers).max().unwrap_or(0);
        let counted = (workload.waits as usize, waits, live as usize, workload.wanted);
        if counted != (queued, queued, own().count(), wanted) || workload.gang_max != gang_max {
            wrong.push(format!("workload {w} counts its jobs wrongly"));
        }
        if state.active.iter().any(|key| key.0 == w) != (own().count() > 0) {
            wrong.push(format!("workload {w} is active without jobs, or the reverse"));
        }
    }
    if placed.iter().zip(state.cluster.capacity()).any(|(placed, capacity)| placed > capacity) {
        wrong.push(format!("{placed:?} GPUs are given away of {:?}", state.cluster.capacity()));
    }
}

fn accounts(state: &State, wrong: &mut Vec<String>) {
    if state.settings.rounding == RoundingRule::Paper {
        return;
    }
    for workload in &state.workloads {
        let sound = workload.deficit.iter().all(|d| d.is_finite());
        if !sound || !workload.extra.is_finite() || workload.extra < 0.0 {
            let (deficit, extra) = (&workload.deficit, workload.extra);
            wrong.push(format!("{}: accounts {deficit:?}, extra {extra}", workload.name));
        }
    }
}
