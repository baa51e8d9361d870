//! A job that was chosen to run, and on which types.

use crate::ids::Slot;
use crate::reason::StartReason;

/// How much of the plan may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// A round begins: everything that is not protected may move.
    Round,
    /// In mid-round: only what is idle is handed out.
    Fill,
}

/// The gpu types of a gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Types {
    /// All workers on one.
    One(usize),
    /// So many workers on each.
    Many(Vec<(usize, u32)>),
}

impl Types {
    pub fn counts(&self, workers: u32) -> Vec<(usize, u32)> {
        match self {
            Types::One(gpu) => vec![(*gpu, workers)],
            Types::Many(counts) => counts.clone(),
        }
    }
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
