//! A lane for each job: its orders are carried out one after the other, and no other job's order waits for them.
//!
//! A lane is a queue and, while there is something in it, a thread. What cannot be done now (there is no room for
//! a file, a process, a thread) stays in the queue without a thread, and is tried again after a while.

use super::open::Inner;
use crate::error::{ExecutorError, sentence};
use crate::event::LeaseEvent;
use crate::launch::{Launch, Shell};
use crate::order::Held;
use oef_sched::{Generation, JobId, Time};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tracing::warn;

/// What is tried again is tried again after this, and each further time after twice as long...
const RETRY_FIRST: Duration = Duration::from_millis(250);
/// ... up to this: whoever makes room should not have to wait for long.
const RETRY_MAX: Duration = Duration::from_secs(15);

/// Orders open files and start programs; they do not recurse.
const STACK_BYTES: usize = 512 << 10;

/// One thing to do for a job.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Work {
    Start(Box<Launch>),
    /// A lease that was held when the daemon started.
    Resume(Box<Held>),
    Keep {
        generation: Generation,
        until: Time,
    },
    Stop {
        generation: Generation,
        why: String,
    },
    /// A shell beside it.
    Shell {
        generation: Generation,
        shell: Box<Shell>,
    },
    /// A cluster does not know it any more, although it never began.
    Respawn {
        generation: Generation,
    },
    /// The copy of its checkpoints on this host is not needed any more.
    Discard {
        host: String,
    },
}

impl Work {
    fn is_stop(&self) -> bool {
        matches!(self, Work::Stop { .. })
    }

    /// The lease that it would begin.
    fn begins(&self) -> Option<Generation> {
        match self {
            Work::Start(launch) => Some(launch.generation),
            Work::Resume(held) => Some(held.launch.generation),
            _ => None,
        }
    }
}

/// All lanes that have something to do.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    lanes: Mutex<BTreeMap<JobId, Lane>>,
    idle: Condvar,
}

#[derive(Debug, Default)]
struct Lane {
    queue: VecDeque<Work>,
    has_thread: bool,
    /// When the first is tried again.
    due: Option<Instant>,
    failures: u32,
}

impl Lane {
    /// Stops go first; of several that only lengthen a lease the last one counts.
    fn add(&mut self, work: Work) {
        match &work {
            Work::Stop { .. } => {
                let at = self.queue.iter().position(|work| !work.is_stop());
                self.queue.insert(at.unwrap_or(self.queue.len()), work);
            }
            Work::Keep { .. } => {
                self.queue.retain(|known| !matches!(known, Work::Keep { .. }));
                self.queue.push_back(work);
            }
            _ => self.queue.push_back(work),
        }
    }
}

impl Lanes {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<JobId, Lane>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn has(&self, job: JobId) -> bool {
        self.lock().contains_key(&job)
    }

    /// Whether a lease is to stop: what is being done to begin it is in vain.
    pub(super) fn is_to_stop(&self, job: JobId, generation: Generation) -> bool {
        let is_meant =
            |work: &Work| matches!(work, Work::Stop { generation: of, .. } if *of == generation);
        self.lock().get(&job).is_some_and(|lane| lane.queue.iter().any(is_meant))
    }

    /// Takes the start of a lease out of a job's queue, if it is there.
    pub(super) fn take_start(&self, job: JobId, generation: Generation) {
        if let Some(lane) = self.lock().get_mut(&job) {
            lane.queue.retain(|work| work.begins() != Some(generation));
        }
    }

    /// Waits until no lane works. Those that wait for another try do not count.
    pub(super) fn wait_until_idle(&self, limit: Duration) {
        let is_busy =
            |lanes: &mut BTreeMap<JobId, Lane>| lanes.values().any(|lane| lane.has_thread);
        let _ = self.idle.wait_timeout_while(self.lock(), limit, is_busy);
    }
}

impl Inner {
    /// Has something done for a job. Returns at once.
    pub(super) fn enqueue(self: &Arc<Self>, job: JobId, work: Work) {
        let mut lanes = self.lanes.lock();
        let lane = lanes.entry(job).or_default();
        lane.add(work);
        if !lane.has_thread {
            self.set_off(job, lane);
        }
    }

    /// Starts the lanes whose waits are over.
    pub(super) fn set_off_due(self: &Arc<Self>) {
        let now = Instant::now();
        for (job, lane) in self.lanes.lock().iter_mut() {
            if !lane.has_thread && lane.due.is_some_and(|due| due <= now) {
                self.set_off(*job, lane);
            }
        }
    }

    fn set_off(self: &Arc<Self>, job: JobId, lane: &mut Lane) {
        let inner = Arc::clone(self);
        let thread = thread::Builder::new().name(format!("job-{job}")).stack_size(STACK_BYTES);
        match thread.spawn(move || inner.work_off(job)) {
            Ok(_) => (lane.has_thread, lane.due) = (true, None),
            Err(error) => {
                warn!(%job, %error, "no thread for its orders");
                lane.due = Some(Instant::now() + RETRY_FIRST);
            }
        }
    }

    fn work_off(self: &Arc<Self>, job: JobId) {
        while let Some(work) = self.next_work(job) {
            if let Err(error) = self.carry_out(job, &work)
                && !self.postpone(job, work, &error)
            {
                break;
            }
        }
        self.lanes.idle.notify_all();
    }

    /// The next in the queue; none: the lane is closed.
    fn next_work(&self, job: JobId) -> Option<Work> {
        let mut lanes = self.lanes.lock();
        let lane = lanes.get_mut(&job)?;
        let next = lane.queue.pop_front().filter(|_| !self.is_closed());
        if next.is_none() {
            lanes.remove(&job);
        }
        next
    }

    /// Puts something back that could not be done; true: there is something else to be done first.
    fn postpone(&self, job: JobId, work: Work, error: &ExecutorError) -> bool {
        warn!(%job, error = sentence(error), "an order could not be carried out yet");
        if let Some(generation) = work.begins() {
            let detail = format!("waits for the system: {}", sentence(error));
            self.events.lease(job, generation, LeaseEvent::Preparing(detail));
        }
        let mut lanes = self.lanes.lock();
        let Some(lane) = lanes.get_mut(&job) else { return false };
        let stops = lane.queue.iter().take_while(|work| work.is_stop()).count();
        lane.queue.insert(stops, work);
        if stops > 0 {
            return true;
        }
        let wait = RETRY_FIRST.saturating_mul(1u32.checked_shl(lane.failures).unwrap_or(u32::MAX));
        lane.failures = lane.failures.saturating_add(1);
        lane.due = Some(Instant::now() + wait.min(RETRY_MAX));
        lane.has_thread = false;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_go_first_and_of_longer_leases_the_last_counts() {
        let keep = |until| Work::Keep { generation: Generation(1), until: Time(until) };
        let stop = |why: &str| Work::Stop { generation: Generation(1), why: why.into() };
        let mut lane = Lane::default();
        for work in [keep(1), stop("a"), keep(2), stop("b")] {
            lane.add(work);
        }
        assert_eq!(lane.queue, [stop("a"), stop("b"), keep(2)]);
    }
}
