//! What the scheduler wants done. The executor has nothing left to decide.

use crate::ids::{Generation, GpuId, JobId};
use crate::job::Lease;
use crate::reason::{StartReason, StopReason};
use crate::time::Time;
use std::borrow::Cow;
use thiserror::Error;

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Action {
    /// Start a job on these GPUs, which are free.
    Start {
        /// The job.
        job: JobId,
        /// Its right to the GPUs.
        lease: Lease,
        /// Why now and there.
        why: StartReason,
    },
    /// Let a job run on: its lease is longer now.
    Keep {
        /// The job.
        job: JobId,
        /// Of its lease.
        generation: Generation,
        /// The new end.
        until: Time,
    },
    /// Checkpoint and stop a job; answer with [`Preempted`](crate::EventKind::Preempted).
    Preempt {
        /// The job.
        job: JobId,
        /// Of its lease.
        generation: Generation,
        /// Why.
        why: StopReason,
    },
    /// Checkpoint and stop a job that will go on elsewhere; answer with
    /// [`Preempted`](crate::EventKind::Preempted), and a [`Start`](Action::Start) follows when its new GPUs are free.
    Migrate {
        /// The job.
        job: JobId,
        /// Of the lease that ends.
        generation: Generation,
        /// Where it will go on.
        to: Vec<GpuId>,
        /// Why.
        why: StopReason,
    },
}

/// What applying an event brings about, or why it changes nothing.
pub type Applied = Result<Vec<Action>, Refusal>;

/// Why an event was not taken.
#[derive(Clone, Debug, PartialEq, Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Refusal {
    /// Time went back.
    #[error("the event's time lies {0} ms before the last one")]
    TimeWentBack(u64),
    /// Nobody knows the job.
    #[error("there is no live job {0}")]
    UnknownJob(JobId),
    /// The number is not greater than that of all jobs before.
    #[error("job {0} was submitted before, or its number is not the greatest so far")]
    UsedJob(JobId),
    /// There is one of that name.
    #[error("there is a `{0}` already")]
    KnownName(String),
    /// A plan that cannot be carried out in this state.
    #[error("the plan cannot be carried out: {0}")]
    BadPlan(String),
    /// Nobody knows the tenant.
    #[error("there is no such tenant")]
    UnknownTenant,
    /// Nobody knows the group.
    #[error("there is no such group")]
    UnknownGroup,
    /// A group would stand in itself.
    #[error("group `{group}` cannot stand in `{parent}`, which is or stands in `{group}`")]
    Cycle {
        /// The group.
        group: String,
        /// Where it was to stand.
        parent: String,
    },
    /// Nobody knows the workload, or it is another tenant's.
    #[error("there is no such workload of that tenant")]
    UnknownWorkload,
    /// Nobody knows the node.
    #[error("there is no node `{0}`")]
    UnknownNode(String),
    /// The node came back with other GPUs.
    #[error("node `{0}` is known with other GPUs; give a changed machine another name")]
    ChangedNode(String),
    /// The lease is not the job's current one.
    #[error("job {job} runs under lease {current}, not {given}")]
    StaleLease {
        /// The job.
        job: JobId,
        /// Its generation.
        current: Generation,
        /// What the event said.
        given: Generation,
    },
    /// The job is in a state in which this cannot happen.
    #[error("job {job} is {state}, so that cannot have happened")]
    WrongState {
        /// The job.
        job: JobId,
        /// Its state, in a word.
        state: Cow<'static, str>,
    },
    /// A number makes no sense.
    #[error("{0}")]
    BadValue(Cow<'static, str>),
}

pub(crate) fn bad(what: &'static str) -> Refusal {
    Refusal::BadValue(what.into())
}

pub(crate) fn wrong(job: JobId, state: &'static str) -> Refusal {
    Refusal::WrongState { job, state: state.into() }
}
