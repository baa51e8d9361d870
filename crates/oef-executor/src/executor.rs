//! The interface between a daemon and what runs its jobs.

use crate::device::Device;
use crate::error::ExecutorError;
use crate::logs::{LogChunk, LogQuery};
use crate::observation::Observation;
use crate::order::{Held, Order, Recovered};
use oef_sched::{Generation, JobId};

/// Carries orders out and tells what it sees. It never decides which job runs where.
///
/// The daemon's side of the bargain: journal first, then [`perform`](Executor::perform); journal what
/// [`observe`](Executor::observe) tells, then [`acknowledge`](Executor::acknowledge) endings; after a
/// start of its own, call [`recover`](Executor::recover) once before anything else. Then a job is never
/// started twice, and no ending is lost, wherever the daemon is killed.
pub trait Executor: Send + Sync {
    /// The GPUs that there are.
    fn devices(&self) -> Vec<Device>;

    /// Carries an order out, as far as that is immediate; what comes of it is observed. An order that
    /// was carried out before changes nothing.
    fn perform(&self, order: Order) -> Result<(), ExecutorError>;

    /// What is new since the last call, in the order in which it happened for each job. Never waits
    /// for a job.
    fn observe(&self) -> Vec<Observation>;

    /// The ending of this start is journalled: it need not be told again.
    fn acknowledge(&self, job: JobId, generation: Generation);

    /// Takes up the work after a restart of the daemon. `held` are the leases that the journal says
    /// are running. What runs is found again; what should have been started and was not is started;
    /// what has ended is told by the next [`observe`](Executor::observe); what runs and nobody holds
    /// is killed.
    fn recover(&self, held: &[Held]) -> Result<Vec<Recovered>, ExecutorError>;

    /// A part of what a job wrote.
    fn logs(&self, job: JobId, query: LogQuery) -> Result<LogChunk, ExecutorError>;

    /// Removes what is kept of a job that has ended: its output and its records. Its checkpoints are
    /// its owner's and stay.
    fn forget(&self, job: JobId) -> Result<(), ExecutorError>;

    /// The daemon was told to stop and will not ask for anything any more. Jobs go on; what only helps to
    /// start others ends.
    fn close(&self) {}
}
