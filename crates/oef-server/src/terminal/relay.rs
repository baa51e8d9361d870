//! What the two ends of a terminal say, kept until the other end has read it.
//!
//! Each direction is a row of bytes with offsets. Who reads from an offset has everything before it; who writes keeps its
//! bytes until they were read. So a connection that breaks, an answer that is lost, and a daemon that is started again lose
//! nothing and repeat nothing: both ends ask again and continue.

use oef_api::limits::{TERMINAL_CHUNK, TERMINAL_WINDOW};
use oef_sched::{Generation, JobId};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Terminals of one tenant: each holds a GPU, so that nobody needs many.
const TENANT_MAX: usize = 64;
/// Terminals in all: half a mebibyte each.
const ALL_MAX: usize = 1024;
/// What was not seen for so long after its run is forgotten.
const KEPT: Duration = Duration::from_secs(60);

/// All terminals.
#[derive(Default)]
pub(crate) struct Relay {
    sessions: Mutex<BTreeMap<TerminalId, Arc<Session>>>,
}

/// A job, and the number of a shell beside it; none: its own terminal.
pub(crate) type TerminalId = (JobId, Option<u64>);

/// The terminal of one run.
pub(crate) struct Session {
    pub(crate) run: Generation,
    /// The hash of the secret of a shell's client; that of a job is in the job.
    pub(crate) key_hash: Option<String>,
    tenant: String,
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

struct State {
    to_client: Queue,
    to_job: Queue,
    client_seen: Instant,
    job_seen: Instant,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Client,
    Job,
}

/// There are as many as there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    Own(usize),
    All(usize),
}

/// The reader asks for what is not there any more, or was never written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap;

/// What became of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Put {
    /// The next offset, and what was read.
    Taken { next: u64, read: u64 },
    /// There is no room; the same.
    Full { next: u64, read: u64 },
    /// The reader has not come: nobody knows where it is.
    Unread,
}

impl Relay {
    /// The terminal of a run: made where there is none. One that is forgotten although it is in use comes again, and
    /// continues.
    pub(crate) fn open(
        &self,
        terminal: TerminalId,
        run: Generation,
        tenant: &str,
        key_hash: Option<String>,
    ) -> Result<Arc<Session>, Full> {
        let mut sessions = self.lock();
        if let Some(known) = sessions.get(&terminal).filter(|known| known.run == run) {
            return Ok(Arc::clone(known));
        }
        if sessions.len() >= TENANT_MAX {
            sessions.retain(|_, known| known.is_recent());
        }
        let others = sessions.iter().filter(|(other, _)| **other != terminal);
        if others.clone().count() >= ALL_MAX {
            return Err(Full::All(ALL_MAX));
        }
        if others.filter(|(_, known)| known.tenant == tenant).count() >= TENANT_MAX {
            return Err(Full::Own(TENANT_MAX));
        }
        let session = Arc::new(Session { key_hash, ..Session::new(run, tenant) });
        sessions.insert(terminal, Arc::clone(&session));
        Ok(session)
    }

    /// The terminal there, if there is one.
    pub(crate) fn find(&self, terminal: TerminalId) -> Option<Arc<Session>> {
        self.lock().get(&terminal).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<TerminalId, Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    fn new(run: Generation, tenant: &str) -> Session {
        let now = Instant::now();
        let (to_client, to_job) = (Queue::default(), Queue::default());
        let state = State { to_client, to_job, client_seen: now, job_seen: now };
        Session {
            run,
            key_hash: None,
            tenant: tenant.into(),
            state: Mutex::new(state),
            changed: watch::Sender::new(()),
        }
    }

    /// What was written for this end from an offset on.
    pub(crate) fn take(&self, end: End, from: u64) -> Result<Vec<u8>, Gap> {
        let mut state = self.state(end);
        let queue = state.queue(end);
        let before = queue.read;
        let taken = queue.take(from);
        if queue.read != before {
            self.changed.send_replace(());
        }
        taken
    }

    /// Bytes of this end for the other.
    pub(crate) fn put(&self, end: End, at: u64, bytes: &[u8]) -> Put {
        let mut state = self.state(end);
        let queue = state.queue(end.other());
        let before = queue.bytes.len();
        let put = queue.put(at, bytes);
        if queue.bytes.len() != before {
            self.changed.send_replace(());
        }
        put
    }

    /// For how long the other end was not seen.
    pub(crate) fn alone(&self, end: End) -> Duration {
        let state = self.state(end);
        let seen = if end == End::Client { state.job_seen } else { state.client_seen };
        seen.elapsed()
    }

    /// Hears of every change from now on.
    pub(crate) fn listen(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    fn is_recent(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.client_seen.max(state.job_seen).elapsed() < KEPT
    }

    fn state(&self, end: End) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match end {
            End::Client => state.client_seen = Instant::now(),
            End::Job => state.job_seen = Instant::now(),
        }
        state
    }
}

impl State {
    /// What is for this end.
    fn queue(&mut self, end: End) -> &mut Queue {
        match end {
            End::Client => &mut self.to_client,
            End::Job => &mut self.to_job,
        }
    }
}

impl End {
    fn other(self) -> End {
        match self {
            End::Client => End::Job,
            End::Job => End::Client,
        }
    }
}

/// One direction.
#[derive(Debug, Default)]
struct Queue {
    /// The offset of the first byte; none: the reader has not said yet where it is.
    read: Option<u64>,
    bytes: VecDeque<u8>,
}

impl Queue {
    fn take(&mut self, from: u64) -> Result<Vec<u8>, Gap> {
        let read = *self.read.get_or_insert(from);
        let done = from.checked_sub(read).ok_or(Gap)?;
        let done =
            usize::try_from(done).ok().filter(|done| *done <= self.bytes.len()).ok_or(Gap)?;
        self.bytes.drain(..done);
        self.read = Some(from);
        Ok(self.bytes.iter().take(TERMINAL_CHUNK).copied().collect())
    }

    fn put(&mut self, at: u64, bytes: &[u8]) -> Put {
        let Some(read) = self.read else { return Put::Unread };
        let end = read + self.bytes.len() as u64;
        let room = TERMINAL_WINDOW.saturating_sub(self.bytes.len());
        // What was sent before is not taken again, and where something is missing, it is asked for.
        let known = end.checked_sub(at).and_then(|known| usize::try_from(known).ok());
        let new = known.and_then(|known| bytes.get(known..)).unwrap_or_default();
        if room == 0 && (!new.is_empty() || bytes.is_empty()) {
            return Put::Full { next: end, read };
        }
        let new = &new[..new.len().min(room)];
        self.bytes.extend(new);
        Put::Taken { next: end + new.len() as u64, read }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_arrive_once_whatever_is_sent_again() {
        let session = Session::new(Generation(1), "a");
        assert_eq!(session.put(End::Job, 0, b"early"), Put::Unread);
        assert_eq!(session.take(End::Client, 0), Ok(Vec::new()));
        assert_eq!(session.put(End::Job, 0, b"hello "), Put::Taken { next: 6, read: 0 });
        // The answer was lost: it is sent again, with more.
        assert_eq!(session.put(End::Job, 0, b"hello world"), Put::Taken { next: 11, read: 0 });
        assert_eq!(session.take(End::Client, 0), Ok(b"hello world".to_vec()));
        assert_eq!(session.take(End::Client, 0), Ok(b"hello world".to_vec()), "asked again");
        assert_eq!(session.take(End::Client, 6), Ok(b"world".to_vec()));
        assert_eq!(session.take(End::Client, 5), Err(Gap));
        assert_eq!(session.take(End::Client, 12), Err(Gap));
        assert_eq!(session.put(End::Job, 11, b""), Put::Taken { next: 11, read: 6 });
        assert_eq!(session.take(End::Job, 0), Ok(Vec::new()), "the other direction is its own");
    }

    #[test]
    fn a_daemon_that_was_started_again_asks_for_what_it_lost() {
        let session = Session::new(Generation(1), "a");
        // The reader had 100 bytes, and the writer had sent 120.
        assert_eq!(session.put(End::Job, 120, b"x"), Put::Unread);
        assert_eq!(session.take(End::Client, 100), Ok(Vec::new()));
        assert_eq!(session.put(End::Job, 120, b"x"), Put::Taken { next: 100, read: 100 });
        assert_eq!(session.put(End::Job, 100, &[b'y'; 21]), Put::Taken { next: 121, read: 100 });
        assert_eq!(session.take(End::Client, 100), Ok(vec![b'y'; 21]));
    }

    #[test]
    fn there_is_an_end_to_what_waits() {
        let session = Session::new(Generation(1), "a");
        assert_eq!(session.take(End::Job, 0), Ok(Vec::new()));
        let much = vec![0; TERMINAL_WINDOW + 5];
        let window = TERMINAL_WINDOW as u64;
        assert_eq!(session.put(End::Client, 0, &much), Put::Taken { next: window, read: 0 });
        assert_eq!(session.put(End::Client, window, b"x"), Put::Full { next: window, read: 0 });
        assert_eq!(session.put(End::Client, window, b""), Put::Full { next: window, read: 0 });
        let read = session.take(End::Job, 10).expect("there");
        assert_eq!(read.len(), TERMINAL_CHUNK);
        assert_eq!(
            session.put(End::Client, window, &[1; 20]),
            Put::Taken { next: window + 10, read: 10 }
        );
    }

    #[test]
    fn one_tenant_never_has_them_all() {
        let relay = Relay::default();
        let open = |job: usize, shell: Option<u64>, tenant: &str| {
            relay.open((JobId(job as u64), shell), Generation(1), tenant, None).map(|_| ())
        };
        for job in 1..TENANT_MAX {
            assert_eq!(open(job, None, "a"), Ok(()));
        }
        assert_eq!(open(1, Some(7), "a"), Ok(()), "a shell is one of them");
        assert_eq!(open(1, Some(8), "a"), Err(Full::Own(TENANT_MAX)));
        assert_eq!(open(1, None, "a"), Ok(()), "it is there already");
        assert_eq!(open(TENANT_MAX, None, "b"), Ok(()));
    }
}
