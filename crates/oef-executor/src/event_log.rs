//! The events of an executor, kept until they are acknowledged.

use crate::event::{Cursor, Event, LeaseEvent};
use oef_sched::{Generation, JobId};
use std::collections::VecDeque;
use std::mem::discriminant;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Events, oldest first. As long as nobody acknowledges any, a lease has at most one of each kind here.
#[derive(Debug, Default)]
pub struct EventLog {
    log: Mutex<Log>,
    grown: Condvar,
}

#[derive(Debug, Default)]
struct Log {
    last: Cursor,
    events: VecDeque<(Cursor, Event)>,
}

impl EventLog {
    /// Tells an event; of the last of its kind of the same lease nobody needs to hear any more.
    pub fn push(&self, event: Event) {
        let mut log = self.log();
        log.events.retain(|(_, known)| !is_replaced(known, &event));
        log.last.0 += 1;
        let cursor = log.last;
        log.events.push_back((cursor, event));
        self.grown.notify_all();
    }

    pub(crate) fn lease(&self, job: JobId, generation: Generation, event: LeaseEvent) {
        self.push(Event::Lease { job, generation, event });
    }

    /// What came after a cursor; without anything it waits, up to `wait`.
    pub fn after(&self, after: Cursor, wait: Duration) -> Vec<(Cursor, Event)> {
        let is_old = |log: &mut Log| log.last <= after;
        let waited = self.grown.wait_timeout_while(self.log(), wait, is_old);
        let (log, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let from = log.events.partition_point(|(cursor, _)| *cursor <= after);
        log.events.range(from..).cloned().collect()
    }

    /// Drops what is acknowledged; gives the leases whose endings are among it.
    pub fn acknowledge(&self, up_to: Cursor) -> Vec<(JobId, Generation)> {
        let mut log = self.log();
        let count = log.events.partition_point(|(cursor, _)| *cursor <= up_to);
        let dropped = log.events.drain(..count);
        let ended = dropped.filter_map(|(_, event)| match event {
            Event::Lease { job, generation, event: LeaseEvent::Ended { .. } } => {
                Some((job, generation))
            }
            _ => None,
        });
        ended.collect()
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether nobody needs to hear an event any more because another of its kind came.
fn is_replaced(known: &Event, new: &Event) -> bool {
    if let (Event::Others(_), Event::Others(_)) | (Event::Readings { .. }, Event::Readings { .. }) =
        (known, new)
    {
        return true;
    }
    let (
        Event::Lease { job, generation, event: known },
        Event::Lease { job: of, generation: under, event: new },
    ) = (known, new)
    else {
        return false;
    };
    (job, generation) == (of, under) && discriminant(known) == discriminant(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;

    fn said(events: &[(Cursor, Event)]) -> Vec<(u64, String)> {
        let words = |event: &Event| match event {
            Event::Lease { job, event: LeaseEvent::Preparing(detail), .. } => {
                format!("{job} {detail}")
            }
            other => format!("{other:?}"),
        };
        events.iter().map(|(cursor, event)| (cursor.0, words(event))).collect()
    }

    #[test]
    fn events_are_told_again_until_they_are_acknowledged() {
        let log = EventLog::default();
        let tell = |job, text: &str| {
            log.lease(JobId(job), Generation(1), LeaseEvent::Preparing(text.into()));
        };
        assert!(log.after(Cursor(0), NOW).is_empty());
        tell(1, "a");
        tell(2, "b");
        let both = [(1, "1 a".to_string()), (2, "2 b".to_string())];
        assert_eq!(said(&log.after(Cursor(0), NOW)), both);
        assert_eq!(said(&log.after(Cursor(0), NOW)), both, "again");
        assert_eq!(said(&log.after(Cursor(1), NOW)), both[1..]);
        log.acknowledge(Cursor(1));
        assert_eq!(said(&log.after(Cursor(0), NOW)), both[1..]);
        tell(2, "c");
        assert_eq!(said(&log.after(Cursor(0), NOW)), [(3, "2 c".to_string())], "the last word");
    }

    #[test]
    fn acknowledged_endings_are_named() {
        let log = EventLog::default();
        let ended =
            || LeaseEvent::Ended { ending: crate::Ending::Finished, exits: vec![], at_ms: 1 };
        log.lease(JobId(1), Generation(4), ended());
        log.lease(JobId(2), Generation(5), ended());
        assert_eq!(log.acknowledge(Cursor(1)), [(JobId(1), Generation(4))]);
        assert_eq!(log.acknowledge(Cursor(9)), [(JobId(2), Generation(5))]);
        assert_eq!(log.acknowledge(Cursor(9)), []);
    }
}
