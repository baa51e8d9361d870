//! What will happen, in the order of time.

use oef_sched::{Generation, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something to come. At the same instant the order is that of the variants: what frees GPUs comes before what
/// wants them, and the round begins last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Entry {
    /// A job does its last step, if it still runs under this lease.
    Ends(usize, Generation),
    /// One of the scenario's happenings.
    Happens(usize),
    /// A job of the trace is submitted.
    Arrives(usize),
    /// A round begins.
    Tick,
}

/// The entries to come.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    heap: BinaryHeap<Reverse<(Time, Entry)>>,
}

impl Agenda {
    pub fn add(&mut self, at: Time, entry: Entry) {
        self.heap.push(Reverse((at, entry)));
    }

    pub fn next(&mut self) -> Option<(Time, Entry)> {
        self.heap.pop().map(|Reverse(entry)| entry)
    }
}
