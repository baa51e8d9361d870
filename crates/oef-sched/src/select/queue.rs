//! The candidates of one workload during a selection.

use crate::ids::{Slot, WorkloadKey};
use crate::state::State;

/// A running job that may stay or go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub slot: Slot,
    /// The type of its GPUs; `None`: several.
    pub gpu: Option<usize>,
    pub workers: u32,
    pub priority: i32,
    /// It has had its turn: a waiting job of the same class goes first.
    pub had_its_turn: bool,
}

/// The jobs of one workload that are not yet picked.
#[derive(Debug)]
pub(crate) struct Queue {
    pub workload: WorkloadKey,
    /// Running jobs that may be stopped, who should stay longest first.
    pub held: Vec<Held>,
    /// Queued jobs, who is next first.
    pub waiting: Vec<Slot>,
    /// What it is owed of each type, with the share of the round and without what it was given in it.
    pub owed: Vec<f64>,
    /// GPUs given beyond any entitlement in this selection.
    pub extra: f64,
}

impl Queue {
    pub fn new(state: &State, workload: WorkloadKey, rounds: f64) -> Self {
        let of = &state.workloads[workload.0];
        let types = state.cluster.types().len();
        // No more jobs than GPUs can be picked; a long queue need not be looked at whole.
        let most = state.cluster.total() as usize;
        Queue {
            workload,
            held: Vec::new(),
            waiting: of.waiting.iter().take(most).map(|&(_, _, slot)| slot).collect(),
            owed: (0..types).map(|j| of.deficit_on(j) + of.share_on(j) * rounds).collect(),
            extra: 0.0,
        }
    }

    /// The next waiting job that may use a type and could fit there.
    pub fn next_waiting(&self, state: &State, gpu: usize) -> Option<Slot> {
        let capacity = state.cluster.capacity()[gpu];
        self.waiting.iter().copied().find(|&slot| {
            let job = state.at(slot);
            job.spec.workers <= capacity && job.may_use(gpu)
        })
    }

    /// The next running job on a type.
    pub fn next_held(&self, gpu: usize) -> Option<Held> {
        self.held.iter().copied().find(|h| h.gpu == Some(gpu))
    }

    /// A running job elsewhere for which a move to this type pays.
    pub fn next_mover(&self, state: &State, gpu: usize) -> Option<Held> {
        let profile = &state.workloads[self.workload.0].profile;
        let capacity = state.cluster.capacity()[gpu];
        self.held.iter().rev().copied().find(|h| {
            let now = match h.gpu {
                Some(on) => profile.on(on),
                None => slowest(state, h.slot),
            };
            h.gpu != Some(gpu)
                && h.workers <= capacity
                && state.at(h.slot).may_use(gpu)
                && state.settings.move_pays(profile.on(gpu), now)
        })
    }

    pub fn drop_waiting(&mut self, slot: Slot) {
        // Nearly always the first.
        if let Some(at) = self.waiting.iter().position(|&s| s == slot) {
            self.waiting.remove(at);
        }
    }

    pub fn drop_held(&mut self, slot: Slot) {
        self.held.retain(|h| h.slot != slot);
    }
}

/// The pace of a gang across types: that of the slowest.
pub(crate) fn slowest(state: &State, slot: Slot) -> f64 {
    let profile = &state.workloads[state.at(slot).spec.workload.0].profile;
    let gpus = state.target(slot).map_or(&[][..], |lease| &lease.gpus);
    gpus.iter().map(|&g| profile.on(state.cluster.type_of(g).0)).fold(f64::INFINITY, f64::min)
}
