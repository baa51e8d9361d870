//! Nodes that are to be out from some time on: who may still be started there.
//!
//! A job that says how long it runs is started on such a node only if it ends before. One that does not say is started if at
//! least a turn is left, and is stopped when the time comes.

use crate::ids::{JobId, NodeId, Slot};
use crate::job::Job;
use crate::state::State;
use crate::time::{Span, Time};

/// From when on a node is to be out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NodeWindow {
    /// When it begins.
    pub from: Time,
    /// How long before no job starts there that does not say how long it runs.
    pub lead: Span,
}

impl State {
    /// How long a job runs from now on at most, if that is known: what is left of its time limit; or, at the pace that it has
    /// shown so far, of its steps, if that is less.
    pub fn length_left(&self, job: JobId) -> Option<Span> {
        self.slot_of(job).and_then(|slot| self.left_of(self.at(slot)))
    }

    fn left_of(&self, job: &Job) -> Option<Span> {
        let ran = job.ran + self.running_for(job);
        let limit = job.spec.max_run.map(|max| max - ran);
        let steps = job.spec.steps.filter(|_| job.steps > 0.0 && ran.0 > 0).map(|all| {
            let left = (all - job.steps).max(0.0);
            Span::from_seconds(left * ran.seconds() / job.steps)
        });
        match (limit, steps) {
            (Some(limit), Some(steps)) => Some(limit.min(steps)),
            (limit, steps) => limit.or(steps),
        }
    }

    /// Whether a job may not be started on a node, because the node is to be out before it ends.
    pub(crate) fn is_closed_to(&self, job: &Job, node: NodeId) -> bool {
        let Some(window) = self.cluster().nodes()[node.0].window() else { return false };
        let length = self.left_of(job).unwrap_or(window.lead);
        self.now() + length > window.from
    }

    /// Whether a job that says how long it runs would still run when a node is to be out.
    pub(crate) fn ends_too_late(&self, slot: Slot, node: NodeId) -> bool {
        let job = self.at(slot);
        self.left_of(job).is_some() && self.is_closed_to(job, node)
    }

    /// The nodes on which a job may not be started for that reason.
    pub(crate) fn closed_to(&self, job: &Job) -> Vec<NodeId> {
        let planned = self.cluster().planned_out().iter().copied();
        planned.filter(|&node| self.is_closed_to(job, node)).collect()
    }

    /// The nodes that a waiting job is kept from because they are to be out before it ends, each with its window.
    pub fn windows_ahead_of(&self, job: JobId) -> Vec<(&str, NodeWindow)> {
        let Some(job) = self.job(job) else { return Vec::new() };
        let nodes = self.closed_to(job).into_iter().filter_map(|id| {
            let node = &self.cluster().nodes()[id.0];
            let usable = self.may_use(job, node.gpu_type().0);
            node.window().filter(|_| usable).map(|window| (node.name(), window))
        });
        nodes.collect()
    }
}
