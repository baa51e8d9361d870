//! What is to be done after a record was applied. Replaying the journal does none of it.

use oef_sched::{Generation, JobId, Time};

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Start a job: its last run says where.
    Start {
        /// The job.
        job: JobId,
        /// Of its lease.
        generation: Generation,
    },
    /// Let a job run on until then.
    Keep {
        /// The job.
        job: JobId,
        /// Of its lease.
        generation: Generation,
        /// The new end of its lease.
        until: Time,
    },
    /// Have a job write a checkpoint and stop.
    Stop {
        /// The job.
        job: JobId,
        /// Of its lease.
        generation: Generation,
        /// Why, in a sentence for its owner.
        why: String,
    },
    /// Remove what is kept of a job outside the journal: its output and its folder.
    Forget {
        /// The job.
        job: JobId,
    },
}
