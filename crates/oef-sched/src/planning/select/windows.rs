//! GPUs that are there for some jobs only, because their nodes are to be out soon.
//!
//! Of the nodes of a type, those that a longer job may use are among those that a shorter one may use. So it is enough to
//! count: every chosen job takes what is out soonest among what it may use, and what is left elsewhere is open to longer ones.
//! The placement serves the jobs with the fewest nodes first, so that it finds what was counted here.

use super::deficit::Selection;
use super::pick::Types;
use crate::cluster::Health;
use crate::ids::{NodeId, Slot};
use crate::job::Job;
use crate::plan::Scope;
use crate::state::State;
use std::collections::BTreeSet;

/// Where the jobs that were chosen before stand, once they have their places.
pub(crate) struct Draft {
    /// So many jobs were chosen before.
    pub settled: usize,
    /// By node: GPUs that are nobody's.
    pub free: Vec<u32>,
    /// Jobs that are to stop and could stay, because nobody was given their GPUs.
    pub could_stay: BTreeSet<Slot>,
}

/// The nodes of each type that are to be out, the soonest first.
pub(super) fn planned_out(state: &State) -> Vec<Vec<NodeId>> {
    let cluster = state.cluster();
    let mut by_type = vec![Vec::new(); cluster.types().len()];
    for &id in cluster.planned_out() {
        let node = &cluster.nodes()[id.0];
        if node.health() == Health::Up {
            by_type[node.gpu_type().0].push(id);
        }
    }
    let from = |id: &NodeId| cluster.nodes()[id.0].window().map(|window| window.from);
    by_type.iter_mut().for_each(|nodes| nodes.sort_by_key(|id| (from(id), *id)));
    by_type
}

impl Selection<'_> {
    /// Of the GPUs of a type that are not yet given, those on which a job may be started.
    pub(super) fn open_to(&self, job: &Job, gpu: usize) -> u32 {
        let nodes = &self.planned_out[gpu];
        if !nodes.iter().any(|&node| self.state.is_closed_to(job, node)) {
            return self.free[gpu];
        }
        let mut left: Vec<u32> = nodes.iter().map(|&node| self.left_on(node)).collect();
        let place = |node: NodeId| nodes.iter().position(|&other| other == node);
        let own = self.state.slot_of(job.spec.id);
        let settled = self.draft.as_ref().map_or(0, |draft| draft.settled);
        for pick in self.picks[settled..].iter().filter(|pick| Some(pick.slot) != own) {
            if pick.stays {
                for at in self.gpus_of(pick.slot).filter_map(place) {
                    left[at] = left[at].saturating_sub(1);
                }
                continue;
            }
            let chosen = self.state.at(pick.slot);
            let mut wanted = 0;
            pick.types
                .each(chosen.spec.workers, |j, count| wanted += if j == gpu { count } else { 0 });
            for (left, &node) in left.iter_mut().zip(nodes) {
                if !self.state.is_closed_to(chosen, node) {
                    let taken = wanted.min(*left);
                    (*left, wanted) = (*left - taken, wanted - taken);
                }
            }
        }
        let closed =
            nodes.iter().zip(left).filter(|(node, _)| self.state.is_closed_to(job, **node));
        self.free[gpu].saturating_sub(closed.map(|(_, left)| left).sum())
    }

    /// Whether what is left of a type, or of several, is open to a job.
    pub(super) fn is_open_to(&self, job: &Job, types: &Types) -> bool {
        let mut open = true;
        types.each(job.spec.workers, |gpu, count| open &= self.open_to(job, gpu) >= count);
        open
    }

    /// The GPUs of a node that can be given in this selection.
    fn left_on(&self, node: NodeId) -> u32 {
        if let Some(draft) = &self.draft {
            return draft.free[node.0];
        }
        match self.reach {
            Scope::Round => self.state.cluster().nodes()[node.0].gpus() as u32,
            Scope::Fill => {
                let displaced = self.displaced.iter().flat_map(|&(slot, _)| self.gpus_of(slot));
                let freed = displaced.filter(|&other| other == node).count();
                self.state.cluster().free_on(node) + freed as u32
            }
        }
    }

    /// Whether a running job's GPUs are still there for it.
    pub(super) fn may_stay(&self, slot: Slot) -> bool {
        self.draft.as_ref().is_none_or(|draft| draft.could_stay.contains(&slot))
    }

    /// The node of each GPU that a job owns.
    fn gpus_of(&self, slot: Slot) -> impl Iterator<Item = NodeId> + '_ {
        let gpus = self.state.target(slot).map_or(&[][..], |lease| &lease.gpus);
        gpus.iter().map(|gpu| gpu.node)
    }

    /// Of the GPUs of a type that a job would leave, those on which another may be started.
    pub(super) fn leaves_open(&self, slot: Slot, gpu: usize, on: u32, job: &Job) -> u32 {
        let nodes = &self.planned_out[gpu];
        if !nodes.iter().any(|&node| self.state.is_closed_to(job, node)) {
            return on;
        }
        let cluster = self.state.cluster();
        let open = self.gpus_of(slot).filter(|&node| {
            cluster.nodes()[node.0].gpu_type().0 == gpu && !self.state.is_closed_to(job, node)
        });
        on.min(open.count() as u32)
    }
}
