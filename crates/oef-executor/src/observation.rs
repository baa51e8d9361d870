//! What an executor saw.

use crate::checkpoints::Transfer;
use crate::ending::Ending;
use crate::measured::Measured;
use crate::wire;
use oef_sched::{Generation, JobId};
use serde::{Deserialize, Serialize};

/// Something that happened to a job. Instants are milliseconds since 1970, by the clock of the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observation {
    /// It is not started yet, and this is what it waits for.
    Preparing {
        /// The job.
        #[serde(with = "wire::job_id")]
        job: JobId,
        /// Of its lease.
        #[serde(with = "wire::generation")]
        generation: Generation,
        /// In a sentence without a subject, as in `brings its checkpoint from rtx3090-0`.
        detail: String,
    },
    /// The transfer of its checkpoint is over, well or not. For figures: what follows from it is told as well.
    Transferred {
        /// The job.
        #[serde(with = "wire::job_id")]
        job: JobId,
        /// Of its lease.
        #[serde(with = "wire::generation")]
        generation: Generation,
        /// What it took.
        transfer: Transfer,
    },
    /// Its workers run.
    Started {
        /// The job.
        #[serde(with = "wire::job_id")]
        job: JobId,
        /// Of its lease.
        #[serde(with = "wire::generation")]
        generation: Generation,
        /// When.
        at_ms: u64,
    },
    /// It told how far it is; only the latest word is passed on.
    Progress {
        /// The job.
        #[serde(with = "wire::job_id")]
        job: JobId,
        /// Of its lease.
        #[serde(with = "wire::generation")]
        generation: Generation,
        /// Steps since its first start.
        steps: f64,
        /// Steps or samples a second, as the job counts them.
        #[serde(default)]
        throughput: Option<f64>,
        /// What it is training to make small.
        #[serde(default)]
        loss: Option<f64>,
        /// The steps that its last checkpoint holds.
        #[serde(default)]
        checkpoint: Option<f64>,
        /// The part of the time of late that it waited for its data.
        #[serde(default)]
        wait: Option<f64>,
        /// Lines of its progress file that nobody could read, so far.
        #[serde(default)]
        skipped_lines: u64,
        /// What a profile run has measured.
        #[serde(default)]
        measured: Option<Measured>,
        /// When that was read.
        at_ms: u64,
    },
    /// It is over, and its GPUs are free.
    Ended {
        /// The job.
        #[serde(with = "wire::job_id")]
        job: JobId,
        /// Of its lease.
        #[serde(with = "wire::generation")]
        generation: Generation,
        /// How.
        ending: Ending,
        /// When.
        at_ms: u64,
    },
}

impl Observation {
    /// The job that it is about, and of which lease.
    pub fn about(&self) -> (JobId, Generation) {
        match self {
            Observation::Preparing { job, generation, .. }
            | Observation::Transferred { job, generation, .. }
            | Observation::Started { job, generation, .. }
            | Observation::Progress { job, generation, .. }
            | Observation::Ended { job, generation, .. } => (*job, *generation),
        }
    }
}
