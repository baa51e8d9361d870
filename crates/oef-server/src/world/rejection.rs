//! Why a record cannot be applied. It is not written: whoever waits for it is told this. Before records meant 2 such records
//! were written, and are rejected again by whoever reads them.

use super::MEANING;
use oef_sched::{JobId, Refusal};
use thiserror::Error;

/// Why a record changed nothing.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Rejection {
    /// Its time lies before the last one's.
    #[error("its time lies {0} ms before the last record's")]
    TimeWentBack(u64),
    /// Nobody knows the tenant.
    #[error("there is no tenant `{0}`")]
    UnknownTenant(String),
    /// There is one of that name.
    #[error("there is a tenant `{0}` already")]
    TenantExists(String),
    /// One of that name was removed, and its last jobs are still being stopped.
    #[error(
        "the last jobs of the tenant `{0}` that was removed are still being stopped; try again in a moment"
    )]
    TenantLeaves(String),
    /// Nobody knows the group.
    #[error("there is no group `{0}`")]
    UnknownGroup(String),
    /// A group that is needed.
    #[error("group `{group}` has members: {members}")]
    GroupInUse {
        /// The group.
        group: String,
        /// Some of them.
        members: String,
    },
    /// A group would stand within itself.
    #[error("group `{group}` would stand within itself")]
    GroupCycle {
        /// The group.
        group: String,
    },
    /// Nobody knows the job.
    #[error("there is no job {0}")]
    UnknownJob(JobId),
    /// The job has ended.
    #[error("job {0} has ended")]
    JobEnded(JobId),
    /// The job is not in a state in which that can happen.
    #[error("job {0} is not in a state in which that can happen")]
    WrongState(JobId),
    /// A number that was used before.
    #[error("number {0} was used before")]
    UsedNumber(u64),
    /// The key was used before, and these jobs came of it.
    #[error("this was submitted before with the same key")]
    Repeated(Vec<JobId>),
    /// A job is cancelled already.
    #[error("job {0} is being cancelled already")]
    CancelledAlready(JobId),
    /// Nobody knows the token.
    #[error("there is no token {0}")]
    UnknownToken(u64),
    /// Nobody knows the notification.
    #[error("there is no notification {0}")]
    UnknownNotification(u64),
    /// Nobody knows the node.
    #[error("there is no node `{0}`")]
    UnknownNode(String),
    /// There may be no more.
    #[error("{0}")]
    LimitReached(String),
    /// Records of a version that this program does not know.
    #[error(
        "its records have version {0}, and this program knows them up to version {MEANING}: open the folder with the \
         version of oef that wrote it, or a newer one"
    )]
    UnknownMeaning(u32),
    /// A value makes no sense.
    #[error("{0}")]
    Bad(String),
    /// The scheduler refuses it.
    #[error(transparent)]
    Scheduler(#[from] Refusal),
}
