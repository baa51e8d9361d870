//! Reading what runners write, and noticing when one is gone.

use crate::clock::now_ms;
use crate::ending::Ending;
use crate::observation::Observation;
use crate::processes;
use crate::records::{Lock, Phase, ProgressRecord, RunFolder, Status};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, Instant, SystemTime};
use tracing::warn;

/// A runner writes its first status within milliseconds; a machine that swaps may need longer.
const BEGIN_LIMIT: Duration = Duration::from_secs(30);

/// How often it is looked whether a runner that says nothing new still lives.
const LIVENESS_EVERY: Duration = Duration::from_millis(250);

/// What is shown of the words of a runner that did not begin.
const RUNNER_LOG_BYTES: usize = 500;

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
    progress_told: Option<ProgressRecord>,
    is_ended_told: bool,
}

impl Watched {
    pub(super) fn new(run: RunFolder) -> Watched {
        let now = Instant::now();
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
        }
    }

    /// One whose files cannot tell how it ended.
    pub(super) fn over(run: RunFolder, ending: Ending) -> Watched {
        let status = Some(Status::new(&run).ended(ending, now_ms()));
        Watched { status, ..Watched::new(run) }
    }

    /// The runner has nothing left to do once its ending is written.
    pub(super) fn bury_runner(&self) {
        if let Some(pid) = self.status.as_ref().and_then(|status| status.runner) {
            processes::bury(pid);
        }
    }

    /// Adds what is new.
    pub(super) fn look(&mut self, told: &mut Vec<Observation>) {
        if self.is_ended_told {
            return;
        }
        let is_new = self.read();
        if !is_new && self.looked_alive.elapsed() >= LIVENESS_EVERY {
            self.looked_alive = Instant::now();
            self.look_alive();
        }
        self.tell(told);
    }

    /// Reads the status if it is another than before.
    fn read(&mut self) -> bool {
        let Ok(metadata) = fs::metadata(self.run.status_file()) else { return false };
        let mark = metadata.modified().ok().map(|modified| (metadata.ino(), modified));
        if mark == self.seen && mark.is_some() {
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
    fn look_alive(&mut self) {
        let has_begun = self.status.is_some();
        if self.status.as_ref().is_some_and(Status::is_ended) {
            return;
        }
        if !has_begun && self.since.elapsed() < BEGIN_LIMIT {
            return;
        }
        if matches!(self.run.path().try_exists(), Ok(false)) {
            // The runner sees that too, and ends the job.
            let detail = "its folder was removed".to_string();
            *self = Watched::over(self.run.clone(), Ending::Vanished { detail });
            return;
        }
        let Ok(Some(_lock)) = Lock::try_take(&self.run.lock_file()) else { return };
        // Whoever held the lock may have written something last.
        if self.read() {
            return;
        }
        let left = processes::find(self.run.path());
        for found in &left {
            processes::kill_one(found, self.run.path());
        }
        if left.is_empty() {
            self.bury();
        }
    }

    /// Writes the ending of a start whose runner is gone; the caller holds its lock.
    fn bury(&mut self) {
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
        let status = self.status.clone().unwrap_or_else(|| Status::new(&self.run));
        let status = status.ended(ending, now_ms());
        warn!(job = %self.run.job(), generation = %self.run.generation(), "the runner is gone");
        match status.write(&self.run) {
            Ok(()) => self.status = Some(status),
            Err(error) => {
                warn!(file = %self.run.status_file().display(), %error, "not written");
            }
        }
    }

    /// What the runner complained about, if it did.
    fn words(&self) -> String {
        let log = fs::read(self.run.runner_log()).unwrap_or_default();
        let tail = &log[log.len().saturating_sub(RUNNER_LOG_BYTES)..];
        match String::from_utf8_lossy(tail).trim() {
            "" => String::new(),
            words => format!(": {words}"),
        }
    }

    fn tell(&mut self, told: &mut Vec<Observation>) {
        let Some(status) = &self.status else { return };
        let (job, generation) = (self.run.job(), self.run.generation());
        if status.detail != self.detail_told && !self.is_started_told {
            self.detail_told.clone_from(&status.detail);
            let told_now = status.detail.clone();
            told.extend(told_now.map(|detail| Observation::Preparing { job, generation, detail }));
        }
        if let Some(transfer) = status.transfer
            && !self.is_transfer_told
        {
            self.is_transfer_told = true;
            told.push(Observation::Transferred { job, generation, transfer });
        }
        if let Some(at_ms) = status.started_ms
            && !self.is_started_told
        {
            self.is_started_told = true;
            told.push(Observation::Started { job, generation, at_ms });
        }
        if status.progress != self.progress_told
            && let Some(progress) = status.progress
        {
            self.progress_told = Some(progress);
            told.push(Observation::Progress {
                job,
                generation,
                steps: progress.steps,
                throughput: progress.throughput,
                loss: progress.loss,
                checkpoint: progress.checkpoint,
                wait: progress.wait,
                skipped_lines: progress.skipped_lines,
                measured: progress.measured,
                at_ms: progress.at_ms,
            });
        }
        if let Phase::Ended { ending, at_ms } = &status.phase {
            self.is_ended_told = true;
            let (ending, at_ms) = (ending.clone(), *at_ms);
            told.push(Observation::Ended { job, generation, ending, at_ms });
        }
    }
}
