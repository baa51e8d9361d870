//! The nodes of one gpu type, by the number of their free GPUs: which host fits a gang best is one look.

use crate::ids::NodeId;
use std::collections::BTreeSet;

/// Healthy nodes with free GPUs.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Hosts {
    /// By number of free GPUs; nodes with none stand nowhere.
    by_free: Vec<BTreeSet<NodeId>>,
}

impl Hosts {
    pub fn insert(&mut self, node: NodeId, free: u32) {
        let free = free as usize;
        if free == 0 {
            return;
        }
        if self.by_free.len() <= free {
            self.by_free.resize(free + 1, BTreeSet::new());
        }
        self.by_free[free].insert(node);
    }

    pub fn remove(&mut self, node: NodeId, free: u32) {
        if let Some(nodes) = self.by_free.get_mut(free as usize) {
            nodes.remove(&node);
        }
    }

    /// The host that has the fewest GPUs over after a gang; the oldest of several.
    pub fn tightest(&self, gang: u32) -> Option<NodeId> {
        let enough = self.by_free.get(gang as usize..)?;
        enough.iter().find_map(|nodes| nodes.first().copied())
    }

    /// The host with the most free GPUs.
    pub fn emptiest(&self) -> Option<NodeId> {
        self.by_free.iter().rev().find_map(|nodes| nodes.first().copied())
    }

    /// The free GPUs of each, the most first.
    pub fn from_the_emptiest(&self) -> impl Iterator<Item = u32> + '_ {
        let filed = self.by_free.iter().enumerate().rev();
        filed.flat_map(|(free, nodes)| nodes.iter().map(move |_| free as u32))
    }

    /// The oldest host with any free GPU.
    pub fn oldest(&self) -> Option<NodeId> {
        self.by_free.iter().filter_map(|nodes| nodes.first().copied()).min()
    }

    /// All of them with their free GPUs.
    #[cfg(test)]
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, u32)> + '_ {
        let filed = self.by_free.iter().enumerate();
        filed.flat_map(|(free, nodes)| nodes.iter().map(move |&node| (node, free as u32)))
    }
}
