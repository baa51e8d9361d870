//! The interface between a daemon and what runs its jobs.

use crate::error::ExecutorError;
use crate::event::{Cursor, Event};
use crate::launch::Shell;
use crate::logs::{LogChunk, LogQuery};
use crate::order::{Known, Order, Unknown};
use oef_sched::{Generation, JobId};
use std::time::Duration;

/// Carries orders out and tells what its nodes and leases do. It never decides which job runs where.
///
/// The daemon's side of the bargain: after a start of its own, call [`resume`](Executor::resume) once before
/// anything else; journal first, then [`order`](Executor::order); journal the
/// [`events`](Executor::events), then [`Order::Acknowledge`] them. Then no job is started twice and no
/// ending is lost, wherever either side is killed.
///
/// Work for one job or node never waits for another's.
pub trait Executor: Send + Sync {
    /// Takes an order and returns at once; what becomes of it is told as events. An order is tried until
    /// it is carried out or can never be. An order that was carried out before changes nothing.
    fn order(&self, order: Order);

    /// What happened after `after`, oldest first; for each job in the order in which it happened. Without
    /// anything new it waits, up to `wait`. The same question gets the same answer until the events are
    /// acknowledged; of progress and preparation only the last word is kept.
    fn events(&self, after: Cursor, wait: Duration) -> Vec<(Cursor, Event)>;

    /// What was started here that a journal does not know. It may be asked before [`resume`](Executor::resume), and
    /// changes nothing.
    fn unknown(&self, _known: &Known) -> Unknown {
        Unknown::default()
    }

    /// Takes up the work after a restart of the daemon. Nodes are told before, from when the executor was opened:
    /// leases name their GPUs. What runs is found again; what
    /// should have been started and was not is started; what runs and nobody holds is killed; what is kept
    /// of jobs that nobody knows any more is removed. Gives a number that no job ever had here, nor any after it.
    fn resume(&self, known: Known) -> Result<JobId, ExecutorError>;

    /// A part of what a job wrote. May wait for files.
    fn logs(&self, job: JobId, query: LogQuery) -> Result<LogChunk, ExecutorError>;

    /// How long ago it last looked at everything that it looks after; none: it does not say.
    fn last_pass(&self) -> Option<Duration> {
        None
    }

    /// Whether it only tells what a cluster does by itself: it starts and stops nothing, so nothing is to be planned.
    fn observes(&self) -> bool {
        false
    }

    /// Has a shell started beside a run of a job. False: it starts none. Like an order, it returns at once; it is not
    /// told what became of it, and it is not taken up after a restart.
    fn open_shell(&self, _job: JobId, _run: Generation, _shell: Shell) -> bool {
        false
    }

    /// The daemon was told to stop and will not ask for anything any more. Jobs go on; what only helps to
    /// start others ends.
    fn close(&self) {}
}
