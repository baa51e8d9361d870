//! What the engine is told.

use super::command::{Command, Done};
use crate::caller::Caller;
use crate::daemon::StopJobs;
use oef_api::types::ApiError;
use oef_executor::{Cursor, Event};
use oef_sched::Answer;
use std::sync::mpsc::SyncSender;
use std::time::Duration;
use tokio::sync::oneshot;

/// Where the answer to a command goes.
pub(crate) type Reply = oneshot::Sender<Result<Done, ApiError>>;

/// Something that the engine has to deal with.
pub(crate) enum Message {
    /// Somebody wants something changed.
    Command {
        /// Who.
        caller: Caller,
        /// What.
        command: Box<Command>,
        /// Who waits for the answer.
        reply: Reply,
    },
    /// The executor tells what happened.
    Happened(Vec<(Cursor, Event)>),
    /// Shares were computed.
    Solved {
        /// The shares.
        answer: Box<Answer>,
        /// How long it took.
        took: Duration,
    },
    /// A snapshot was written, or could not be.
    SnapshotTried {
        /// Up to which record, where it was written.
        saved: Option<u64>,
    },
    /// The daemon is to stop.
    Stop {
        /// What happens to jobs.
        jobs: StopJobs,
        /// Told when all is done.
        done: SyncSender<()>,
    },
}
