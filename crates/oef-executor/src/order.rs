//! What an executor is told.

use crate::event::Cursor;
use crate::launch::Launch;
use oef_sched::{Generation, JobId, Time};
use std::collections::{BTreeMap, BTreeSet};

/// One thing to do. Doing it twice is the same as doing it once.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// Start a job on free GPUs.
    Start(Box<Launch>),
    /// Let a job run on: its lease is longer now.
    Keep {
        /// The job.
        job: JobId,
        /// Of its lease.
        generation: Generation,
        /// The new end.
        until: Time,
    },
    /// Let a job save its work and end, or kill it after its grace time. It goes before starts. An
    /// [`Ended`](crate::LeaseEvent::Ended) follows.
    Stop {
        /// The job.
        job: JobId,
        /// Of its lease.
        generation: Generation,
        /// Why, for the job's owner to read.
        why: String,
    },
    /// A job has ended for good: of its checkpoints only the last good ones are kept.
    Retire(JobId),
    /// Remove everything that is kept of a job once it has ended: output, records, folders, checkpoints. A
    /// folder that its owner named is the owner's and stays.
    Forget(JobId),
    /// A tenant was removed: what is kept running for it, besides its jobs, ends.
    EndTenant(String),
    /// All events up to this one are journalled and need not be told again.
    Acknowledge(Cursor),
}

/// A lease that the journal says is held: its job was started, and no ending is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// As it was, or should have been, started.
    pub launch: Launch,
    /// Why it was told to stop, if it was.
    pub stop: Option<String>,
}

/// What the journal knows when a daemon starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    /// The leases that are held.
    pub held: Vec<Held>,
    /// Every job.
    pub jobs: BTreeSet<JobId>,
    /// Those of them that have ended for good.
    pub retired: BTreeSet<JobId>,
    /// The latest lease of each of the others; 0: it had none.
    pub leases: BTreeMap<JobId, Generation>,
    /// Jobs from this number on were never given out by this journal: what there is of them is kept.
    pub next: JobId,
}

/// What an executor has of jobs and leases that the journal never gave out. A start is ordered when it is journalled: so
/// the journal is shorter than it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unknown {
    /// Jobs with numbers that were never given out.
    pub jobs: BTreeSet<JobId>,
    /// Jobs that are known and were started under a later lease than is known.
    pub started: BTreeSet<JobId>,
}
