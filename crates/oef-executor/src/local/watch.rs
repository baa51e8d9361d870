//! Reading what runners write, and noticing when one is gone.

use super::enforce::{Deadlines, Enforced};
use super::lanes::Work;
use super::open::Inner;
use super::site::{Fate, Site};
use crate::clock::now_ms;
use crate::ending::Ending;
use crate::event::LeaseEvent;
use crate::event::Progress;
use crate::exhaustion::is_exhausted;
use crate::processes;
use crate::records::{Lock, Phase, RunFolder, RunSpec, Status, Wanted, read_json};
use crate::untrusted;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::sync::{Arc, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};
use tracing::warn;

/// Often enough that a person sees no delay, seldom enough that looking costs nothing.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How often it is looked for what jobs left behind.
const ORPHANS_EVERY: Duration = Duration::from_secs(1);

/// A runner writes its first status within milliseconds; a machine that swaps may need longer.
const BEGIN_LIMIT: Duration = Duration::from_secs(30);

/// One of which no process is left after this will write none.
const BEGIN_LEAST: Duration = Duration::from_secs(1);

/// How often it is looked whether a runner that says nothing new still lives.
const LIVENESS_EVERY: Duration = Duration::from_millis(250);

/// The last word of a runner elsewhere is seen within this, once its cluster says that it is over.
const SETTLES: Duration = Duration::from_millis(700);

/// A runner on a node that its cluster has lost is waited for so long, if its lock is still held: its grace time, and
/// what a file system needs to find out that a machine is gone.
const FENCE_LIMIT: Duration = Duration::from_secs(180);
/// A longer log is that of a runner that did begin.
const RUNNER_LOG_READ: u64 = 1 << 20;

/// What is shown of the words of a runner that did not begin.
const RUNNER_LOG_BYTES: usize = 500;

impl Inner {
    /// Reads what runners write, and sets lanes off whose waits are over, until the executor is closed.
    pub(super) fn watch_all(self: Arc<Self>) {
        let mut ended: Vec<i32> = Vec::new();
        let mut orphans = Instant::now();
        while !self.is_closed() {
            let all: Vec<_> = self.watched().values().cloned().collect();
            for watched in all {
                let mut watched = watched.lock().unwrap_or_else(PoisonError::into_inner);
                ended.extend(watched.look(&self));
            }
            *self.last_pass.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            ended.retain(|pid| !processes::reap(*pid));
            self.set_off_due();
            if orphans.elapsed() >= ORPHANS_EVERY {
                orphans = Instant::now();
                self.kill_orphans();
            }
            sleep(LOOK_EVERY);
        }
    }
}

/// A start whose ending is not acknowledged, and what was told of it.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) run: RunFolder,
    since: Instant,
    looked_alive: Instant,
    /// Of the status that was read last: every status is a new file.
    seen: Option<(u64, SystemTime)>,
    status: Option<Status>,
    detail_told: Option<String>,
    is_transfer_told: bool,
    is_started_told: bool,
    progress_told: Option<Progress>,
    is_ended_told: bool,
    /// Since when it is over where it ran, although its runner has not said so.
    over_since: Option<Instant>,
    pub(super) deadlines: Deadlines,
}

impl Watched {
    pub(super) fn new(run: RunFolder) -> Watched {
        let (now, deadlines) = (Instant::now(), Deadlines::of(&run));
        Watched {
            run,
            since: now,
            looked_alive: now,
            seen: None,
            status: None,
            detail_told: None,
            is_transfer_told: false,
            is_started_told: false,
            progress_told: None,
            is_ended_told: false,
            over_since: None,
            deadlines,
        }
    }

    /// One whose files cannot tell how it ended.
    pub(super) fn over(run: RunFolder, ending: Ending) -> Watched {
        let status = Some(Status::new(&run).ended(ending, now_ms()));
        Watched { status, ..Watched::new(run) }
    }

    /// Tells what is new; gives the runner's process id when it has nothing left to do.
    fn look(&mut self, inner: &Arc<Inner>) -> Option<i32> {
        if self.is_ended_told {
            return None;
        }
        let is_new = self.read();
        if !is_new && self.looked_alive.elapsed() >= LIVENESS_EVERY {
            self.looked_alive = Instant::now();
            match &inner.site {
                Some(site) => self.look_at_site(inner, &**site),
                None => match self.enforce(inner) {
                    Enforced::No => self.look_alive(inner),
                    Enforced::Killing => {}
                    Enforced::Over(ending) => self.end(ending),
                },
            }
        }
        self.tell(inner);
        // A runner elsewhere is no child of ours, whatever number it names.
        let is_over = self.is_ended_told && inner.site.is_none();
        self.status.as_ref().filter(|_| is_over).and_then(|status| status.runner)
    }

    /// Reads the status if it is another than before.
    fn read(&mut self) -> bool {
        let Ok(metadata) = fs::symlink_metadata(self.run.status_file()) else { return false };
        let mark = metadata.modified().ok().map(|modified| (metadata.ino(), modified));
        if self.is_ended() || (mark == self.seen && mark.is_some()) {
            return false;
        }
        match Status::read(&self.run) {
            Ok(Some(status)) => {
                self.seen = mark;
                self.status = Some(status);
                true
            }
            Ok(None) => false,
            Err(error) => {
                self.seen = mark;
                warn!(file = %self.run.status_file().display(), %error, "not read");
                false
            }
        }
    }

    /// A runner holds its lock while it lives. One that is gone without an ending gets one here, after
    /// everything that it started is gone too.
    fn look_alive(&mut self, inner: &Inner) {
        let has_begun = self.status.is_some();
        if self.is_ended() {
            return;
        }
        if matches!(self.run.path().try_exists(), Ok(false)) {
            // The runner sees that too, and ends the job.
            let detail = "its folder was removed".to_string();
            *self = Watched::over(self.run.clone(), Ending::Vanished { detail });
            return;
        }
        if !has_begun && !self.is_overdue() {
            return;
        }
        let Ok(Some(_lock)) = Lock::try_take(&self.run.lock_file()) else { return };
        // Whoever held the lock may have written something last.
        if self.read() {
            return;
        }
        if !inner.kill_whole(&self.run) {
            self.end_lost();
        }
    }

    /// The same for a runner elsewhere: what its cluster says counts, and its lock where that is seen.
    fn look_at_site(&mut self, inner: &Arc<Inner>, site: &dyn Site) {
        let run = self.run.clone();
        let has_begun = self.status.is_some();
        if self.status.as_ref().is_some_and(Status::is_ended) {
            return;
        }
        self.enforce_at_site(inner);
        let why = match site.fate(&run, self.since, has_begun) {
            Fate::Alive => {
                self.over_since = None;
                return;
            }
            Fate::Waits(detail) => {
                if !has_begun && self.detail_told.as_ref() != Some(&detail) {
                    self.detail_told = Some(detail.clone());
                    inner.events.lease(run.job(), run.generation(), LeaseEvent::Preparing(detail));
                }
                return;
            }
            Fate::Lost => {
                warn!(job = %run.job(), generation = %run.generation(), "lost before it began; started again");
                self.since = Instant::now();
                inner.enqueue(run.job(), Work::Respawn { generation: run.generation() });
                return;
            }
            Fate::Over(why) => why,
        };
        let over = self.over_since.get_or_insert_with(Instant::now).elapsed();
        // Its last word may be on its way through a shared file system.
        if self.read() || over < SETTLES {
            return;
        }
        // A node that was lost may still run it: it is told to stop, and its GPUs and its job wait for that.
        if !matches!(Lock::try_take(&run.lock_file()), Ok(Some(_))) && over < FENCE_LIMIT {
            let fenced = inner.want_stop(&run, &why);
            if let Err(error) = fenced {
                warn!(job = %run.job(), %error, "not fenced yet");
            }
            return;
        }
        if self.read() {
            return;
        }
        self.end_at_site(inner, &why);
    }

    fn end_at_site(&mut self, inner: &Inner, why: &str) {
        let stop = read_json::<Wanted>(&self.run.order_file()).ok().flatten().and_then(|w| w.stop);
        let ending = match (&self.status, stop) {
            (None, Some(stop)) => {
                Ending::Stopped { detail: format!("{}; it had not begun", stop.why) }
            }
            (None, None) => Ending::Refused { why: format!("{why}{}", self.words()) },
            (Some(_), _) => {
                let vanished = || Ending::Vanished { detail: why.to_string() };
                self.enforced(inner).unwrap_or_else(vanished)
            }
        };
        self.end(ending);
    }

    /// Whether a runner that has written nothing will write nothing any more.
    fn is_overdue(&self) -> bool {
        let is_there = || !processes::find(self.run.path()).is_empty();
        match self.since.elapsed() {
            waited if waited < BEGIN_LEAST => false,
            waited if waited < BEGIN_LIMIT => !is_there(),
            _ => true,
        }
    }

    /// Writes the ending of a start whose runner is gone; the caller holds its lock.
    fn end_lost(&mut self) {
        let ending = match &self.status {
            Some(status) if status.started_ms.is_some() => Ending::Vanished {
                detail: "its runner and its processes are gone; they were killed, or the machine \
                         was restarted"
                    .to_string(),
            },
            Some(_) => Ending::Vanished {
                detail: "its runner is gone; it had not started the job's workers".to_string(),
            },
            None => Ending::Refused { why: format!("its runner did not begin{}", self.words()) },
        };
        warn!(job = %self.run.job(), generation = %self.run.generation(), "the runner is gone");
        self.end(ending);
    }

    pub(super) fn is_ended(&self) -> bool {
        self.status.as_ref().is_some_and(Status::is_ended)
    }

    /// Writes an ending for a start that has no runner any more. A full disk: it is tried again.
    fn end(&mut self, ending: Ending) {
        let status = self.status.clone().unwrap_or_else(|| Status::new(&self.run));
        let status = status.ended(ending, now_ms());
        match status.decide(&self.run) {
            Err(error) if is_exhausted(&error) => {
                warn!(file = %self.run.status_file().display(), %error, "not written");
            }
            written => {
                if let Err(error) = written {
                    // It counts all the same; after a restart its folder tells nothing, and it counts as vanished.
                    warn!(file = %self.run.status_file().display(), %error, "not written");
                }
                self.status = Some(status);
            }
        }
    }

    /// What the runner complained about, if it did.
    fn words(&self) -> String {
        let log = untrusted::read(&self.run.runner_log(), RUNNER_LOG_READ).unwrap_or_default();
        let tail = &log[log.len().saturating_sub(RUNNER_LOG_BYTES)..];
        match String::from_utf8_lossy(tail).trim() {
            "" => String::new(),
            words => format!(": {words}"),
        }
    }

    fn tell(&mut self, inner: &Inner) {
        let Some(status) = &self.status else { return };
        let tell = |event| inner.events.lease(self.run.job(), self.run.generation(), event);
        if status.detail != self.detail_told && !self.is_started_told {
            self.detail_told.clone_from(&status.detail);
            status
                .detail
                .clone()
                .into_iter()
                .for_each(|detail| tell(LeaseEvent::Preparing(detail)));
        }
        if let Some(transfer) = status.transfer
            && !self.is_transfer_told
        {
            self.is_transfer_told = true;
            tell(LeaseEvent::Transferred(transfer));
        }
        if let Some(at_ms) = status.started_ms
            && !self.is_started_told
        {
            self.is_started_told = true;
            self.deadlines.started();
            let spec = read_json::<RunSpec>(&self.run.launch_file()).ok().flatten();
            let checkpoints = spec.and_then(|spec| inner.locations.location(&spec));
            tell(LeaseEvent::Started { at_ms, checkpoints });
        }
        if status.progress != self.progress_told
            && let Some(progress) = status.progress
        {
            self.progress_told = Some(progress);
            tell(LeaseEvent::Progress(progress));
        }
        if let Phase::Ended { ending, at_ms } = &status.phase {
            // Its GPUs are free when nothing runs there any more, whatever is written somewhere.
            if inner.kill_leftovers(&self.run) {
                return;
            }
            self.is_ended_told = true;
            let (ending, exits, at_ms) = (ending.clone(), status.exits.clone(), *at_ms);
            tell(LeaseEvent::Ended { ending, exits, at_ms });
        }
    }
}
