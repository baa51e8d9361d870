//! A job that was chosen to run, and on which types.

use crate::ids::Slot;
use crate::reason::StartReason;
use crate::state::State;

/// The gpu types of a gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Types {
    /// All workers on one.
    One(usize),
    /// So many workers on each.
    Many(Vec<(usize, u32)>),
}

impl Types {
    /// Calls with each type and how many of the workers are there.
    pub fn each(&self, workers: u32, mut call: impl FnMut(usize, u32)) {
        match self {
            Types::One(gpu) => call(*gpu, workers),
            Types::Many(counts) => counts.iter().for_each(|&(gpu, count)| call(gpu, count)),
        }
    }
}

/// The types of the GPUs that a job owns, with how many of each.
pub(crate) fn count_types(state: &State, slot: Slot) -> Vec<(usize, u32)> {
    let mut counts = vec![0; state.cluster().types().len()];
    for &gpu in state.target(slot).map_or(&[][..], |lease| &lease.gpus) {
        counts[state.cluster().type_of(gpu).0] += 1;
    }
    counts.into_iter().enumerate().filter(|&(_, n)| n > 0).collect()
}

/// A job that was chosen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pick {
    pub slot: Slot,
    pub types: Types,
    /// It stays on the GPUs that it has.
    pub stays: bool,
    pub why: StartReason,
}
