//! Whether a job may wait for GPUs at all, whatever GPUs there are: one condition, in one place.

use crate::ids::{JobId, Slot};
use crate::job::Job;
use crate::state::State;
use crate::time::Time;
use std::collections::BTreeSet;
use std::fmt;

/// What has to be over before a job starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
pub struct Gate {
    /// Its owner holds it.
    pub held: bool,
    /// It starts at this time or later; the driver takes this away when the time has come.
    pub not_before: Option<Time>,
    /// Jobs that have to end first; the driver takes those out that have.
    pub after: Vec<JobId>,
}

impl Gate {
    /// Nothing has to be over.
    pub const OPEN: Gate = Gate { held: false, not_before: None, after: Vec::new() };
}

/// Jobs that were submitted together, of which only some run at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SweepLimit {
    /// The first job of the sweep.
    pub sweep: JobId,
    /// How many of its jobs may run or wait for GPUs at once.
    pub jobs: u32,
}

/// Why a job may not start now. It then counts nowhere: neither in the demand of its tenant nor in its queue.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Obstacle {
    /// Its tenant is suspended.
    Suspended,
    /// Its owner holds it.
    Held,
    /// It waits for these jobs to end.
    Dependency {
        /// Those that have not ended yet.
        jobs: Vec<JobId>,
    },
    /// Its time has not come.
    NotBefore {
        /// When it comes.
        at: Time,
    },
    /// It failed, and is tried again after a while.
    BackingOff,
    /// As many jobs of its sweep as may be at once are running or waiting for GPUs.
    SweepLimit {
        /// How many that are.
        limit: u32,
    },
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::Suspended => f.write_str("its tenant is suspended"),
            Obstacle::Held => f.write_str("is held until it is released"),
            Obstacle::Dependency { jobs } => {
                let shown: Vec<String> = jobs.iter().take(5).map(JobId::to_string).collect();
                let more = match jobs.len().saturating_sub(5) {
                    0 => String::new(),
                    n => format!(" and {n} more"),
                };
                let noun = if jobs.len() == 1 { "job" } else { "jobs" };
                write!(f, "waits for {noun} {}{more} to end", shown.join(", "))
            }
            Obstacle::NotBefore { .. } => f.write_str("its start time has not come"),
            Obstacle::BackingOff => f.write_str("waits before another try"),
            Obstacle::SweepLimit { limit: 1 } => {
                f.write_str("one job of its sweep at a time: it waits for its turn")
            }
            Obstacle::SweepLimit { limit } => {
                write!(f, "{limit} jobs of its sweep at a time: it waits for its turn")
            }
        }
    }
}

/// The live jobs of a sweep with a limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Sweep {
    /// All of them.
    pub members: BTreeSet<JobId>,
    /// Those that run or wait for GPUs.
    pub open: BTreeSet<JobId>,
}

impl State {
    /// Why a job may not start now; `None`: it may.
    pub(crate) fn obstacle(&self, slot: Slot) -> Option<Obstacle> {
        let job = self.at(slot);
        self.own_obstacle(job).or_else(|| self.sweep_is_full(job))
    }

    /// The same without the limit of its sweep.
    pub(crate) fn own_obstacle(&self, job: &Job) -> Option<Obstacle> {
        let gate = &job.spec.gate;
        if self.tenants()[job.spec.tenant.0].suspended {
            return Some(Obstacle::Suspended);
        }
        if gate.held {
            return Some(Obstacle::Held);
        }
        if !gate.after.is_empty() {
            return Some(Obstacle::Dependency { jobs: gate.after.clone() });
        }
        if let Some(at) = gate.not_before {
            return Some(Obstacle::NotBefore { at });
        }
        job.backing_off.then_some(Obstacle::BackingOff)
    }

    fn sweep_is_full(&self, job: &Job) -> Option<Obstacle> {
        let limit = job.spec.sweep?;
        let open = &self.sweep(limit.sweep)?.open;
        let is_full = !open.contains(&job.spec.id) && open.len() >= limit.jobs as usize;
        is_full.then_some(Obstacle::SweepLimit { limit: limit.jobs })
    }
}
