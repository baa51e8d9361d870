//! On which GPUs of which nodes.
//!
//! Jobs that stay keep their GPUs. The others come by size, the biggest gang first: on the host where it
//! leaves the fewest GPUs over, or else on the fewest hosts. GPUs that are idle now come before GPUs that
//! somebody has yet to leave. At last, gangs that run on more hosts than they need move together where
//! that pays.

use crate::cluster::{Cluster, Health};
use crate::ids::{GpuId, NodeId, Slot};
use crate::reason::StartReason;
use crate::select::{Pick, Types};
use crate::settings::PlacementRule;
use crate::state::State;
use std::collections::BTreeSet;

/// A chosen job with its GPUs.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub slot: Slot,
    /// `None`: those that it has.
    pub gpus: Option<Vec<GpuId>>,
    pub why: StartReason,
}

/// Gives every chosen job its GPUs.
pub(crate) fn place(state: &State, picks: Vec<Pick>, may_move: bool) -> Vec<Placed> {
    let mut room = Room::new(state, &picks);
    let mut order: Vec<usize> = (0..picks.len()).filter(|&i| !picks[i].stays).collect();
    if state.settings.placement == PlacementRule::Packed {
        order.sort_by_key(|&i| std::cmp::Reverse(state.at(picks[i].slot).spec.workers));
    }
    let mut gpus: Vec<Option<Vec<GpuId>>> = vec![None; picks.len()];
    for i in order {
        let workers = state.at(picks[i].slot).spec.workers;
        gpus[i] = Some(match &picks[i].types {
            Types::One(gpu) => room.take(*gpu, workers),
            Types::Many(counts) => counts.iter().flat_map(|&(gpu, n)| room.take(gpu, n)).collect(),
        });
    }
    let mut placed: Vec<Placed> = picks
        .into_iter()
        .zip(gpus)
        .map(|(pick, gpus)| Placed { slot: pick.slot, gpus, why: pick.why })
        .collect();
    if may_move && state.settings.placement == PlacementRule::Packed {
        bring_together(state, &mut placed, &mut room);
    }
    placed
}

/// Moves gangs that are spread over hosts onto one, where one has room and the move pays.
fn bring_together(state: &State, placed: &mut [Placed], room: &mut Room<'_>) {
    let slower = 1.0 - state.settings.spread_loss.clamp(0.0, 1.0);
    let (cost, horizon) = (state.settings.restart_cost.seconds(), state.settings.horizon.seconds());
    if horizon - cost <= slower * horizon {
        return;
    }
    for job in placed.iter_mut().filter(|job| job.gpus.is_none()) {
        let Some(lease) = state.target(job.slot) else { continue };
        let one_host = lease.gpus.iter().all(|g| g.node == lease.gpus[0].node);
        let (false, Some(gpu)) = (one_host, state.single_type(&lease.gpus)) else { continue };
        if state.is_protected(job.slot) {
            continue;
        }
        if let Some(node) = room.best_host(gpu, lease.gpus.len() as u32) {
            job.gpus = Some(room.take_on(gpu, node, lease.gpus.len() as u32));
            job.why = StartReason::Better;
            for &left in &lease.gpus {
                room.give(gpu, left);
            }
        }
    }
}

/// GPUs that can be given, by type and node.
struct Room<'a> {
    cluster: &'a Cluster,
    rule: PlacementRule,
    /// Free GPUs of each node; the last is taken first.
    gpus: Vec<Vec<GpuId>>,
    /// By type and number of free GPUs: the nodes.
    hosts: Vec<Vec<BTreeSet<NodeId>>>,
}

impl<'a> Room<'a> {
    fn new(state: &'a State, picks: &[Pick]) -> Self {
        let cluster = &state.cluster;
        let mut taken: Vec<Vec<bool>> =
            cluster.nodes().iter().map(|node| vec![false; node.gpus()]).collect();
        for pick in picks.iter().filter(|pick| pick.stays) {
            for gpu in state.target(pick.slot).into_iter().flat_map(|lease| &lease.gpus) {
                taken[gpu.node.0][gpu.index as usize] = true;
            }
        }
        let types = cluster.types().len();
        let mut room = Room {
            cluster,
            rule: state.settings.placement,
            gpus: vec![Vec::new(); taken.len()],
            hosts: vec![Vec::new(); types],
        };
        for (n, taken) in taken.iter().enumerate() {
            room.open(NodeId(n), taken);
        }
        room
    }

    fn open(&mut self, id: NodeId, taken: &[bool]) {
        let node = &self.cluster.nodes()[id.0];
        if node.health() != Health::Up {
            return;
        }
        let mut free: Vec<GpuId> =
            self.cluster.gpus_of(id).filter(|g| !taken[g.index as usize]).collect();
        // Taken from the end: idle ones first, and the lower index first.
        free.sort_by_key(|&g| (self.cluster.holder(g).is_none(), std::cmp::Reverse(g.index)));
        self.file(node.gpu_type().0, id, free.len());
        self.gpus[id.0] = free;
    }

    fn file(&mut self, gpu: usize, node: NodeId, free: usize) {
        let hosts = &mut self.hosts[gpu];
        if hosts.len() <= free {
            hosts.resize(free + 1, BTreeSet::new());
        }
        if free > 0 {
            hosts[free].insert(node);
        }
    }

    fn take(&mut self, gpu: usize, count: u32) -> Vec<GpuId> {
        if self.rule == PlacementRule::FirstFree {
            return self.take_first(gpu, count);
        }
        if let Some(node) = self.best_host(gpu, count) {
            return self.take_on(gpu, node, count);
        }
        // No host is large enough: the emptiest ones together.
        let mut taken = Vec::new();
        while let (true, Some(node)) = ((taken.len() as u32) < count, self.emptiest(gpu)) {
            let left = count - taken.len() as u32;
            match self.best_host(gpu, left) {
                Some(last) => taken.extend(self.take_on(gpu, last, left)),
                None => taken.extend(self.take_on(gpu, node, self.gpus[node.0].len() as u32)),
            }
        }
        taken
    }

    /// The host that has the fewest GPUs over after a gang.
    fn best_host(&self, gpu: usize, count: u32) -> Option<NodeId> {
        let hosts = self.hosts[gpu].get(count as usize..)?;
        hosts.iter().find_map(|hosts| hosts.first().copied())
    }

    fn emptiest(&self, gpu: usize) -> Option<NodeId> {
        self.hosts[gpu].iter().rev().find_map(|hosts| hosts.first().copied())
    }

    fn take_on(&mut self, gpu: usize, node: NodeId, count: u32) -> Vec<GpuId> {
        let free = self.gpus[node.0].len();
        self.hosts[gpu][free].remove(&node);
        let left = free.saturating_sub(count as usize);
        let mut taken = self.gpus[node.0].split_off(left);
        taken.sort();
        self.file(gpu, node, left);
        taken
    }

    fn take_first(&mut self, gpu: usize, count: u32) -> Vec<GpuId> {
        let mut nodes: Vec<NodeId> = self.hosts[gpu].iter().flatten().copied().collect();
        nodes.sort();
        let mut taken = Vec::new();
        for node in nodes {
            let left = count as usize - taken.len();
            let here = left.min(self.gpus[node.0].len());
            if here > 0 {
                taken.extend(self.take_on(gpu, node, here as u32));
            }
        }
        taken
    }

    fn give(&mut self, gpu: usize, id: GpuId) {
        let free = self.gpus[id.node.0].len();
        if free > 0 {
            self.hosts[gpu][free].remove(&id.node);
        }
        self.gpus[id.node.0].insert(0, id);
        self.file(gpu, id.node, free + 1);
    }
}
