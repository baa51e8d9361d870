//! What an executor is told.

use crate::launch::Launch;
use crate::wire;
use oef_sched::{Generation, JobId, Time};
use serde::{Deserialize, Serialize};

/// One thing to do. Doing it twice is the same as doing it once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Start a job on free GPUs.
    Start(Box<Launch>),
    /// Let a job run on: its lease is longer now.
    Keep {
        /// The job.
        #[serde(with = "wire::job_id")]
        job: JobId,
        /// Of its lease.
        #[serde(with = "wire::generation")]
        generation: Generation,
        /// The new end.
        #[serde(with = "wire::time")]
        until: Time,
    },
    /// Let a job save its work and end, or kill it after its grace time. An
    /// [`Ended`](crate::Observation::Ended) follows.
    Stop {
        /// The job.
        #[serde(with = "wire::job_id")]
        job: JobId,
        /// Of its lease.
        #[serde(with = "wire::generation")]
        generation: Generation,
        /// Why, for the job's owner to read.
        why: String,
    },
}

/// A lease that the journal says is held: its job was started, and no ending is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// As it was, or should have been, started.
    pub launch: Launch,
    /// Why it was told to stop, if it was.
    pub stop: Option<String>,
}

/// What became of a held lease while the daemon was away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovered {
    /// The job.
    #[serde(with = "wire::job_id")]
    pub job: JobId,
    /// Of its lease.
    #[serde(with = "wire::generation")]
    pub generation: Generation,
    /// What was found.
    pub found: Found,
}

/// How a lease was found after the daemon was away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// It runs, or is about to.
    Running,
    /// It has ended; the next [`observe`](crate::Executor::observe) tells how.
    Ended,
    /// It had never been started, and is now.
    Started,
    /// Nobody holds it, yet it ran: it was killed.
    Killed,
}
