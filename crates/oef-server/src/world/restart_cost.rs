//! What a restart of a workload's jobs costs, as it was seen: from the order to start until the first step, and from the
//! order to stop until the end.
//!
//! The middle of the last few counts, so that one slow disk changes nothing. The scheduler bounds what it takes of it: how
//! long a job takes is in its tenant's hands.

use super::{JobEntry, World};
use oef_sched::{EventKind, JobId, Span, Time, WorkloadKey};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Starts and stops that are remembered of a workload.
const REMEMBERED: usize = 9;
/// Starts before they count: fewer may be chance.
const ENOUGH: usize = 3;
/// The scheduler is told of another cost when it differs by this part.
const OTHERWISE: f64 = 0.1;

/// The last starts and stops of a workload's jobs, in milliseconds, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RestartTimes {
    /// From the order to start until the first step.
    pub starts: VecDeque<u64>,
    /// From the order to stop until the end.
    pub stops: VecDeque<u64>,
}

impl RestartTimes {
    /// Whether nothing was seen.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty() && self.stops.is_empty()
    }

    /// What a restart costs; `None`: too little was seen.
    pub fn cost(&self) -> Option<Span> {
        let stop = middle(&self.stops).unwrap_or(0);
        let start = middle(&self.starts).filter(|_| self.starts.len() >= ENOUGH)?;
        Some(Span(start.saturating_add(stop)))
    }
}

fn middle(times: &VecDeque<u64>) -> Option<u64> {
    let mut times: Vec<u64> = times.iter().copied().collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

fn remember(times: &mut VecDeque<u64>, time: Span) {
    if times.len() >= REMEMBERED {
        times.pop_front();
    }
    times.push_back(time.0);
}

impl World {
    /// A job told how far it is: its first step since its start is seen once.
    pub(super) fn stepped(&mut self, id: JobId) {
        let Some(job) = self.jobs.get_mut(&id).map(std::sync::Arc::make_mut) else { return };
        let (workload, steps) = (job.workload, job.telemetry.steps);
        let is_probe = job.spec.probe.is_some();
        let Some(run) = job.run_mut().filter(|run| run.stepped.is_none()) else { return };
        if steps <= run.steps_before || is_probe {
            return;
        }
        run.stepped = Some(self.at);
        let took = self.at.since(run.began);
        self.restart_seen(workload, |times| remember(&mut times.starts, took));
    }

    /// A run that was told to stop has ended.
    pub(super) fn stopped(&mut self, before: &JobEntry, ended: Time) {
        let run = before.run().filter(|run| run.started.is_some() && before.spec.probe.is_none());
        let Some(ordered) = run.and_then(|run| run.stop_at) else { return };
        let took = ended.since(ordered);
        self.restart_seen(before.workload, |times| remember(&mut times.stops, took));
    }

    fn restart_seen(&mut self, key: WorkloadKey, note: impl FnOnce(&mut RestartTimes)) {
        if self.meaning < super::GANG_FIGURES_COUNT {
            return;
        }
        let Some(entry) = self.workloads.get_mut(&key) else { return };
        note(&mut entry.restarts);
        let Some(cost) = entry.restarts.cost() else { return };
        let known = self.sched.workloads().get(key.0).and_then(|known| known.measured_restart());
        let differs =
            |known: Span| known.0.abs_diff(cost.0) as f64 > OTHERWISE * known.0.max(cost.0) as f64;
        if known.is_none_or(differs) {
            // It cannot be refused: the workload is known.
            let _ = self.step(EventKind::RestartCost { workload: key, cost: Some(cost) });
        }
    }
}
