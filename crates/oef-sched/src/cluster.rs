//! The machines: which GPUs there are, which are healthy, who holds them and who owns them.
//!
//! A GPU's *holder* computes on it now, or is being stopped there. Its *owner* is the job whose lease it is
//! in: the holder itself, or the one that starts as soon as the holder is gone. GPUs without an owner are
//! *free*: they can be given away.

use crate::hosts::Hosts;
use crate::ids::{GpuId, NodeId, Slot};
use crate::window::NodeWindow;
use oef_core::TypeId;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

/// More GPUs than any machine has; a description with more is a mistake.
pub(crate) const GPUS_PER_NODE_MAX: u32 = 1024;

/// A machine as somebody describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NodeSpec {
    /// Unique name.
    pub name: String,
    /// The name of the type of all its GPUs.
    pub gpu_type: String,
    /// How many there are.
    pub gpus: u32,
}

/// Whether a node may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Health {
    /// It may.
    Up,
    /// It may not, but what runs there may end first. Its GPUs do not count.
    Closing,
    /// It may not: its GPUs do not count, and what ran there has to go elsewhere.
    Down,
}

/// One machine with its GPUs, all of one type.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Node {
    name: String,
    gpu: TypeId,
    health: Health,
    holders: Vec<Option<Slot>>,
    owners: Vec<Option<Slot>>,
    /// GPUs without an owner.
    free: u32,
    /// From when on it is to be out.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    window: Option<NodeWindow>,
}

impl Node {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type of its GPUs.
    pub fn gpu_type(&self) -> TypeId {
        self.gpu
    }

    /// Whether it may be used.
    pub fn health(&self) -> Health {
        self.health
    }

    /// How many GPUs it has.
    pub fn gpus(&self) -> usize {
        self.holders.len()
    }

    /// From when on it is to be out, as far as that is planned.
    pub fn window(&self) -> Option<NodeWindow> {
        self.window
    }
}

/// All machines.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Cluster {
    types: Vec<String>,
    nodes: Vec<Node>,
    by_name: BTreeMap<String, NodeId>,
    capacity: Vec<u32>,
    /// GPUs that nobody holds on healthy nodes, by type.
    idle: Vec<u32>,
    /// GPUs that nobody owns on healthy nodes, by type.
    free: Vec<u32>,
    /// Healthy nodes by type and number of free GPUs.
    hosts: Vec<Hosts>,
    /// Nodes that are to be out.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    planned_out: Vec<NodeId>,
    /// The healthy nodes by type, listed when somebody asks after a change.
    #[cfg_attr(feature = "serde", serde(skip))]
    up: Listed,
}

/// What follows from the nodes and is listed when it is needed. It is no part of the state, so it shows nothing.
#[derive(Clone, Default)]
struct Listed(OnceLock<Vec<UpNodes>>);

impl fmt::Debug for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("_")
    }
}

/// The healthy nodes of a type.
#[derive(Clone, Debug, Default)]
pub(crate) struct UpNodes {
    /// In the order in which they appeared.
    pub(crate) nodes: Vec<NodeId>,
    /// How many GPUs they have, the largest first.
    pub(crate) sizes: Vec<u32>,
}

impl Cluster {
    /// The gpu types, in the order in which they appeared. Types never disappear.
    pub fn types(&self) -> &[String] {
        &self.types
    }

    /// The nodes, in the order in which they appeared.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Healthy GPUs of each type.
    pub fn capacity(&self) -> &[u32] {
        &self.capacity
    }

    /// Healthy GPUs of all types.
    pub fn total(&self) -> u32 {
        self.capacity.iter().sum()
    }

    /// Healthy GPUs of a type that nobody holds.
    pub fn idle(&self) -> &[u32] {
        &self.idle
    }

    /// The type of that name.
    pub fn type_named(&self, name: &str) -> Option<TypeId> {
        self.types.iter().position(|t| t == name).map(TypeId)
    }

    /// The node of that name.
    pub fn node_named(&self, name: &str) -> Option<NodeId> {
        self.by_name.get(name).copied()
    }

    pub(crate) fn type_of(&self, gpu: GpuId) -> TypeId {
        self.nodes[gpu.node.0].gpu
    }

    /// Adds a gpu type if it is new.
    pub(crate) fn add_type(&mut self, name: &str) -> TypeId {
        self.type_named(name).unwrap_or_else(|| {
            self.types.push(name.into());
            self.capacity.push(0);
            self.idle.push(0);
            self.free.push(0);
            self.hosts.push(Hosts::default());
            self.up = Listed::default();
            TypeId(self.types.len() - 1)
        })
    }

    /// Adds a healthy node.
    pub(crate) fn add_node(&mut self, spec: &NodeSpec) -> NodeId {
        let gpu = self.add_type(&spec.gpu_type);
        let count = spec.gpus.min(GPUS_PER_NODE_MAX);
        let (name, none) = (spec.name.clone(), vec![None; count as usize]);
        let (health, owners) = (Health::Up, none.clone());
        let window = None;
        self.nodes.push(Node { name, gpu, health, owners, holders: none, free: count, window });
        let id = NodeId(self.nodes.len() - 1);
        self.by_name.entry(spec.name.clone()).or_insert(id);
        self.capacity[gpu.0] += count;
        self.idle[gpu.0] += count;
        self.free[gpu.0] += count;
        self.hosts[gpu.0].insert(id, count);
        self.up = Listed::default();
        id
    }

    /// Marks a node as usable or not. Who holds or owns its GPUs goes on doing so until told otherwise.
    pub(crate) fn set_health(&mut self, id: NodeId, health: Health) {
        let node = &mut self.nodes[id.0];
        let was_up = std::mem::replace(&mut node.health, health) == Health::Up;
        if was_up == (health == Health::Up) {
            return;
        }
        self.up = Listed::default();
        let (j, all) = (node.gpu.0, node.holders.len() as u32);
        let idle = node.holders.iter().filter(|h| h.is_none()).count() as u32;
        if was_up {
            self.capacity[j] -= all;
            self.idle[j] -= idle;
            self.free[j] -= node.free;
            self.hosts[j].remove(id, node.free);
        } else {
            self.capacity[j] += all;
            self.idle[j] += idle;
            self.free[j] += node.free;
            self.hosts[j].insert(id, node.free);
        }
    }

    /// Says from when on a node is to be out, or that it is not to be.
    pub(crate) fn plan_out(&mut self, id: NodeId, window: Option<NodeWindow>) {
        self.nodes[id.0].window = window;
        self.planned_out.retain(|&other| other != id);
        if window.is_some() {
            self.planned_out.push(id);
            self.planned_out.sort();
        }
    }

    /// The nodes that are to be out.
    pub(crate) fn planned_out(&self) -> &[NodeId] {
        &self.planned_out
    }

    /// Whether nobody holds a GPU of a node.
    pub fn is_unused(&self, node: &Node) -> bool {
        node.holders.iter().all(Option::is_none)
    }

    /// Whether a GPU is part of the capacity: its node is up.
    pub(crate) fn counts(&self, gpu: GpuId) -> bool {
        self.nodes[gpu.node.0].health == Health::Up
    }

    pub(crate) fn holder(&self, gpu: GpuId) -> Option<Slot> {
        self.nodes[gpu.node.0].holders[gpu.index as usize]
    }

    pub(crate) fn owner(&self, gpu: GpuId) -> Option<Slot> {
        self.nodes[gpu.node.0].owners[gpu.index as usize]
    }

    /// Healthy GPUs that nobody owns, by type.
    pub(crate) fn free(&self) -> &[u32] {
        &self.free
    }

    pub(crate) fn hosts(&self, gpu: usize) -> &Hosts {
        &self.hosts[gpu]
    }

    /// The fewest hosts of a type on which a gang can stand, if all their GPUs were free; all of them where it cannot.
    pub fn hosts_needed(&self, gpu: usize, workers: u32) -> u32 {
        hosts_needed(&self.up()[gpu].sizes, workers)
    }

    /// The healthy nodes, by type.
    pub(crate) fn up(&self) -> &[UpNodes] {
        self.up.0.get_or_init(|| {
            let mut up = vec![UpNodes::default(); self.types.len()];
            for (id, node) in self.nodes.iter().enumerate() {
                if node.health == Health::Up {
                    up[node.gpu.0].nodes.push(NodeId(id));
                    up[node.gpu.0].sizes.push(node.holders.len() as u32);
                }
            }
            up.iter_mut().for_each(|of| of.sizes.sort_unstable_by(|a, b| b.cmp(a)));
            up
        })
    }

    /// Free GPUs of a node, whether it may be used or not.
    pub(crate) fn free_on(&self, node: NodeId) -> u32 {
        self.nodes[node.0].free
    }

    pub(crate) fn hold(&mut self, gpu: GpuId, slot: Slot) {
        let node = &mut self.nodes[gpu.node.0];
        debug_assert!(node.holders[gpu.index as usize].is_none(), "a GPU has one holder");
        let before = node.holders[gpu.index as usize].replace(slot);
        if before.is_none() && node.health == Health::Up {
            self.idle[node.gpu.0] -= 1;
        }
    }

    pub(crate) fn release(&mut self, gpu: GpuId) {
        let node = &mut self.nodes[gpu.node.0];
        if node.holders[gpu.index as usize].take().is_some() && node.health == Health::Up {
            self.idle[node.gpu.0] += 1;
        }
    }

    /// Gives a GPU to a job.
    pub(crate) fn own(&mut self, gpu: GpuId, slot: Slot) {
        debug_assert!(self.owner(gpu).is_none(), "a GPU has one owner");
        if self.nodes[gpu.node.0].owners[gpu.index as usize].replace(slot).is_none() {
            self.refile(gpu.node, |free| free - 1);
        }
    }

    /// Takes a GPU back from its owner.
    pub(crate) fn disown(&mut self, gpu: GpuId) {
        if self.nodes[gpu.node.0].owners[gpu.index as usize].take().is_some() {
            self.refile(gpu.node, |free| free + 1);
        }
    }

    fn refile(&mut self, id: NodeId, change: impl Fn(u32) -> u32) {
        let node = &mut self.nodes[id.0];
        let (before, after) = (node.free, change(node.free));
        node.free = after;
        if node.health == Health::Up {
            let j = node.gpu.0;
            self.hosts[j].remove(id, before);
            self.hosts[j].insert(id, after);
            self.free[j] = self.free[j] + after - before;
        }
    }

    /// The GPUs of a node.
    pub(crate) fn gpus_of(&self, node: NodeId) -> impl Iterator<Item = GpuId> + use<> {
        (0..self.nodes[node.0].holders.len() as u32).map(move |index| GpuId { node, index })
    }
}

/// The fewest of some hosts, the largest first, that a gang needs; all where they are too few.
pub(crate) fn hosts_needed(sizes: &[u32], workers: u32) -> u32 {
    let mut room = 0;
    let needed = sizes.iter().take_while(|&&size| {
        let more = room < workers;
        room += size;
        more
    });
    (needed.count() as u32).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_counted_as_they_are_up() {
        let mut cluster = Cluster::default();
        let node = |name: &str, gpus| NodeSpec { name: name.into(), gpu_type: "a".into(), gpus };
        let small = cluster.add_node(&node("small", 2));
        assert_eq!(cluster.hosts_needed(0, 4), 1);
        let large = cluster.add_node(&node("large", 4));
        assert_eq!(cluster.hosts_needed(0, 4), 1);
        assert_eq!(cluster.hosts_needed(0, 5), 2);
        cluster.set_health(large, Health::Closing);
        assert_eq!(cluster.up()[0].nodes, [small]);
        assert_eq!(cluster.up()[0].sizes, [2]);
        cluster.set_health(large, Health::Down);
        cluster.set_health(large, Health::Up);
        assert_eq!(cluster.up()[0].sizes, [4, 2]);
        cluster.add_type("b");
        assert_eq!(cluster.hosts_needed(1, 1), 1);
    }
}
