//! Whether jobs become slow together: then something else slows them down, and it says nothing about profiles.

use crate::ids::JobId;
use std::collections::{BTreeMap, BTreeSet};

/// Below this part of its usual rate a job is slow, as a logarithm: `ln(0.6)`, beyond the noise of two windows
/// (0.8 / 1.2). Nearer to it, honest noise would be left out at one end only.
pub(super) const SLOW: f64 = -0.510_825_623_765_990_7;
/// What alike runs did before is usual, too, but a run may be off as a whole: `ln(0.8)`.
pub(super) const OTHER_RUN: f64 = -0.223_143_551_314_209_7;
/// Fewer jobs on a node are no crowd: one that becomes slow there may be so by itself.
const ON_A_NODE: u32 = 2;
/// In the whole cluster it takes more: jobs of one tenant may well do the same at the same time.
const IN_ALL: u32 = 6;

/// How many of some jobs are slow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Count {
    slow: u32,
    all: u32,
}

impl Count {
    fn add(&mut self, slow: bool) {
        self.all += 1;
        self.slow += u32::from(slow);
    }

    fn remove(&mut self, slow: bool) {
        self.all = self.all.saturating_sub(1);
        self.slow = self.slow.saturating_sub(u32::from(slow));
    }

    /// More than half of them, and not few.
    fn most(self, least: u32) -> bool {
        self.all >= least && 2 * self.slow > self.all
    }
}

/// The pace of every job whose usual rate is known.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Pace {
    jobs: BTreeMap<JobId, (usize, bool)>,
    nodes: BTreeMap<usize, Count>,
    all: Count,
    /// Nodes on which most jobs are slow, or `None` for all of them, as they were told.
    told: BTreeSet<Option<usize>>,
}

/// Whether a slow job is slow alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Crowd {
    /// The node on which most jobs are slow; `None`: it is so everywhere.
    pub node: Option<usize>,
    /// It was not so a moment ago.
    pub is_new: bool,
}

impl Pace {
    /// A job's window was slow or not. With whom it is slow, if it is.
    pub fn set(&mut self, job: JobId, node: usize, slow: bool) -> Option<Crowd> {
        self.remove(job);
        self.jobs.insert(job, (node, slow));
        self.all.add(slow);
        let here = self.nodes.entry(node).or_default();
        here.add(slow);
        let (on_node, everywhere) = (here.most(ON_A_NODE), self.all.most(IN_ALL));
        for (place, crowded) in [(Some(node), on_node), (None, everywhere)] {
            if !crowded {
                self.told.remove(&place);
            }
        }
        let node = match (everywhere, on_node) {
            (true, _) => None,
            (false, true) => Some(node),
            (false, false) => return None,
        };
        slow.then(|| Crowd { node, is_new: self.told.insert(node) })
    }

    /// A job's run is over.
    pub fn remove(&mut self, job: JobId) {
        let Some((node, slow)) = self.jobs.remove(&job) else { return };
        self.all.remove(slow);
        if let Some(count) = self.nodes.get_mut(&node) {
            count.remove(slow);
            if count.all == 0 {
                self.nodes.remove(&node);
                self.told.remove(&Some(node));
            }
        }
    }
}
