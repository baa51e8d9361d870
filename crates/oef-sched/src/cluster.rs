//! The machines: which GPUs there are, which are healthy, and who holds them.

use crate::ids::{GpuId, NodeId, Slot};
use oef_core::TypeId;

/// A machine as somebody describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
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
pub enum Health {
    /// It may.
    Up,
    /// It may not: its GPUs do not count, and what ran there has to go elsewhere.
    Down,
}

/// One machine with its GPUs, all of one type.
#[derive(Clone, Debug)]
pub struct Node {
    name: String,
    gpu: TypeId,
    health: Health,
    /// Who computes on each GPU now (or is being stopped there).
    holders: Vec<Option<Slot>>,
    /// Who was promised each GPU as soon as its holder is gone.
    heirs: Vec<Option<Slot>>,
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
}

/// All machines.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    types: Vec<String>,
    nodes: Vec<Node>,
    capacity: Vec<u32>,
    /// GPUs that nobody holds on healthy nodes, by type.
    idle: Vec<u32>,
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
        self.nodes.iter().position(|n| n.name == name).map(NodeId)
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
            TypeId(self.types.len() - 1)
        })
    }

    /// Adds a healthy node.
    pub(crate) fn add_node(&mut self, spec: &NodeSpec) -> NodeId {
        let gpu = self.add_type(&spec.gpu_type);
        let none = vec![None; spec.gpus as usize];
        let name = spec.name.clone();
        self.nodes.push(Node { name, gpu, health: Health::Up, heirs: none.clone(), holders: none });
        self.capacity[gpu.0] += spec.gpus;
        self.idle[gpu.0] += spec.gpus;
        NodeId(self.nodes.len() - 1)
    }

    /// Marks a node as usable or not. Who holds its GPUs goes on holding them until told otherwise.
    pub(crate) fn set_health(&mut self, id: NodeId, health: Health) {
        let node = &mut self.nodes[id.0];
        if node.health == health {
            return;
        }
        node.health = health;
        let all = node.holders.len() as u32;
        let idle = node.holders.iter().filter(|h| h.is_none()).count() as u32;
        let (capacity, free) = (&mut self.capacity[node.gpu.0], &mut self.idle[node.gpu.0]);
        match health {
            Health::Up => (*capacity, *free) = (*capacity + all, *free + idle),
            Health::Down => (*capacity, *free) = (*capacity - all, *free - idle),
        }
    }

    pub(crate) fn holder(&self, gpu: GpuId) -> Option<Slot> {
        self.nodes[gpu.node.0].holders[gpu.index as usize]
    }

    pub(crate) fn heir(&self, gpu: GpuId) -> Option<Slot> {
        self.nodes[gpu.node.0].heirs[gpu.index as usize]
    }

    pub(crate) fn hold(&mut self, gpu: GpuId, slot: Slot) {
        let node = &mut self.nodes[gpu.node.0];
        debug_assert!(node.holders[gpu.index as usize].is_none(), "a GPU has one holder");
        node.holders[gpu.index as usize] = Some(slot);
        if node.health == Health::Up {
            self.idle[node.gpu.0] -= 1;
        }
    }

    pub(crate) fn release(&mut self, gpu: GpuId) {
        let node = &mut self.nodes[gpu.node.0];
        if node.holders[gpu.index as usize].take().is_some() && node.health == Health::Up {
            self.idle[node.gpu.0] += 1;
        }
    }

    pub(crate) fn promise(&mut self, gpu: GpuId, slot: Option<Slot>) {
        self.nodes[gpu.node.0].heirs[gpu.index as usize] = slot;
    }

    /// The GPUs of a node.
    pub(crate) fn gpus_of(&self, node: NodeId) -> impl Iterator<Item = GpuId> + use<> {
        (0..self.nodes[node.0].holders.len() as u32).map(move |index| GpuId { node, index })
    }
}
