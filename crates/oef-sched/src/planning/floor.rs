//! Who would own which GPU: a draft on top of the cluster, which stays as it is.

use crate::cluster::{Cluster, Health};
use crate::hosts::Hosts;
use crate::ids::{GpuId, NodeId, Slot};
use std::collections::BTreeMap;

/// The cluster with some owners changed. Only what is touched is copied.
pub(crate) struct Floor<'a> {
    cluster: &'a Cluster,
    owners: BTreeMap<GpuId, Option<Slot>>,
    free: BTreeMap<NodeId, u32>,
    /// By type; `None`: as in the cluster.
    hosts: Vec<Option<Hosts>>,
    /// Nodes that the job that is being placed may not use.
    hidden: Vec<NodeId>,
}

impl<'a> Floor<'a> {
    pub fn new(cluster: &'a Cluster) -> Self {
        let hosts = vec![None; cluster.types().len()];
        Floor { cluster, owners: BTreeMap::new(), free: BTreeMap::new(), hosts, hidden: Vec::new() }
    }

    pub fn owner(&self, gpu: GpuId) -> Option<Slot> {
        self.owners.get(&gpu).copied().unwrap_or_else(|| self.cluster.owner(gpu))
    }

    pub fn hosts(&self, gpu: usize) -> &Hosts {
        self.hosts[gpu].as_ref().unwrap_or_else(|| self.cluster.hosts(gpu))
    }

    /// GPUs of a node that are nobody's.
    pub fn free_on(&self, id: NodeId) -> u32 {
        self.free.get(&id).copied().unwrap_or_else(|| self.cluster.free_on(id))
    }

    /// Gives a GPU to a job.
    pub fn own(&mut self, gpu: GpuId, slot: Slot) {
        if self.owner(gpu).is_none() {
            self.refile(gpu.node, |free| free.saturating_sub(1));
        }
        self.owners.insert(gpu, Some(slot));
    }

    /// Takes a GPU back from its owner.
    pub fn disown(&mut self, gpu: GpuId) {
        if self.owner(gpu).is_some() {
            self.owners.insert(gpu, None);
            self.refile(gpu.node, |free| free + 1);
        }
    }

    /// Gives a job free GPUs of one node, those that nobody holds first; as many as asked for, or as
    /// there are.
    pub fn own_on(&mut self, node: NodeId, count: u32, slot: Slot) -> Vec<GpuId> {
        let all = self.cluster.gpus_of(node);
        let mut gpus: Vec<GpuId> = all.filter(|&gpu| self.owner(gpu).is_none()).collect();
        if gpus.len() > count as usize {
            gpus.sort_by_key(|&gpu| (self.cluster.holder(gpu).is_some(), gpu));
            gpus.truncate(count as usize);
            gpus.sort();
        }
        for &gpu in &gpus {
            self.own(gpu, slot);
        }
        gpus
    }

    /// Whether a node may not be used by the job that is being placed.
    pub fn is_hidden(&self, node: NodeId) -> bool {
        self.hidden.contains(&node)
    }

    /// Takes nodes out of sight while a job is placed that may not use them; none: all are there again.
    pub fn hide(&mut self, nodes: Vec<NodeId>) {
        for node in std::mem::replace(&mut self.hidden, nodes) {
            self.file(node, |hosts, free| hosts.insert(node, free));
        }
        for node in self.hidden.clone() {
            self.file(node, |hosts, free| hosts.remove(node, free));
        }
    }

    fn file(&mut self, id: NodeId, change: impl Fn(&mut Hosts, u32)) {
        let free = self.free_on(id);
        let node = &self.cluster.nodes()[id.0];
        if node.health() == Health::Up {
            let j = node.gpu_type().0;
            change(self.hosts[j].get_or_insert_with(|| self.cluster.hosts(j).clone()), free);
        }
    }

    fn refile(&mut self, id: NodeId, change: impl Fn(u32) -> u32) {
        let before = self.free_on(id);
        let after = change(before);
        self.free.insert(id, after);
        let node = &self.cluster.nodes()[id.0];
        if node.health() == Health::Up && !self.is_hidden(id) {
            let j = node.gpu_type().0;
            let hosts = self.hosts[j].get_or_insert_with(|| self.cluster.hosts(j).clone());
            hosts.remove(id, before);
            hosts.insert(id, after);
        }
    }
}
