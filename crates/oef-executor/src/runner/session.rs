//! One start of a job, from taking the locks to writing down how it ended.

use super::conclusion::{Exit, Gone, SAVED, Told, WorkerEnd, judge};
use super::fetching::Fetching;
use super::gang::Gang;
use super::prepare::prepare;
use super::probe::ProbeRun;
use super::progress::{Follower, cut};
use super::stage::note;
use crate::clock::now_ms;
use crate::ending::{Ending, FailReason};
use crate::event::{Progress, WorkerExit};
use crate::launch::Shell;
use crate::log_file;
use crate::logs::{LogFrom, Stream};
use crate::records::{Lock, Phase, RunFolder, RunSpec, Status, Wanted, read_json};
use crate::remove_tree::remove_tree;
use oef_sched::Span;
use rustix::process::{getpid, set_child_subreaper, setsid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A shared file system that is away for so long is not coming back soon; nobody could say what the job does.
const SHARED_AWAY: Duration = Duration::from_secs(300);

/// How often the runner looks at its workers and orders: what a person does not notice.
const POLL: Duration = Duration::from_millis(50);

/// The same for a profile run, whose lines are timed by when they are seen.
const PROBE_POLL: Duration = Duration::from_millis(5);

/// How often progress is read, and the status written at most.
const STATUS_EVERY: Duration = Duration::from_millis(250);

/// The executor looks at a lock for microseconds; another runner keeps it.
const LOOKED_AT: Duration = Duration::from_secs(1);

/// What an earlier start of the job may need to end, beyond its grace time.
const OTHER_ENDS: Duration = Duration::from_secs(60);

/// The other workers of a gang that fails only need to write their last lines.
const FAILED_GRACE: Span = Span(10_000);

/// After `SIGKILL` it is sent again, in case a process was born meanwhile.
const KILL_AGAIN: Duration = Duration::from_secs(1);

/// How long the ending waits for a full disk between tries.
const WRITE_AGAIN: Duration = Duration::from_millis(200);

/// How long to wait before something is tried again for which the system had no room; twice as long each time.
const TRY_AGAIN_FIRST: Duration = Duration::from_millis(250);
const TRY_AGAIN_MAX: Duration = Duration::from_secs(15);

/// The lines of output that come with a failure, and the most bytes that they may have.
const LAST_LINES: u32 = 20;
const LAST_LINES_BYTES: u64 = 4096;

/// Runs a start to its end.
pub(super) fn run(run: &RunFolder) -> io::Result<()> {
    let orders = Orders::new(run)?;
    // Only for people who look at a list of processes.
    let _ = rustix::thread::set_name(c"oef-runner");
    // Out of the reach of the daemon's terminal. Fails only for one that leads its group already.
    let _ = setsid();
    set_child_subreaper(Some(getpid()))?;
    let Some(_alive) = Lock::take_within(&run.lock_file(), LOOKED_AT, || false)? else {
        return Ok(());
    };
    if Status::read(run)?.is_some() {
        // Somebody ran it, or decided that it shall not run: a lease is for one start.
        return Ok(());
    }
    let mut session = Session {
        run,
        orders,
        status: Status { runner: Some(getpid().as_raw_nonzero().get()), ..Status::new(run) },
        written: Instant::now(),
        is_changed: false,
        _job: None,
    };
    session.status.write(run)?;
    let ending = session.attempt();
    session.end(ending);
    Ok(())
}

struct Session<'a> {
    run: &'a RunFolder,
    orders: Orders<'a>,
    status: Status,
    written: Instant,
    is_changed: bool,
    /// Held until the ending is written.
    _job: Option<Lock>,
}

impl Session<'_> {
    fn attempt(&mut self) -> Ending {
        let launch: RunSpec = match read_json(&self.run.launch_file_of_runner()) {
            Ok(Some(launch)) => launch,
            Ok(None) => return Ending::Refused { why: "it has no launch.json".to_string() },
            Err(error) => return Ending::Refused { why: format!("launch.json: {error}") },
        };
        if launch.slurm.is_some() {
            self.orders.patience.set(SHARED_AWAY);
        }
        if let Some(ending) = self.take_job(&launch) {
            return ending;
        }
        let prepared = self.insist(|| match prepare(&launch, self.run) {
            Err(FailReason::System { detail }) => Err(detail),
            done => Ok(done),
        });
        match prepared {
            Ok(Ok(())) => {}
            // What it has is on another host: that this one cannot take it is no failure of the job.
            Ok(Err(reason @ FailReason::CheckpointDir { .. })) if launch.fetch.is_some() => {
                return Ending::Refused { why: Ending::failed(reason).to_string() };
            }
            Ok(Err(reason)) => return Ending::failed(reason),
            Err(told) => return unbegun(&told),
        }
        if let Some(ending) = self.fetch(&launch) {
            return ending;
        }
        match self.insist(|| Gang::start(&launch, self.run)) {
            Ok(gang) => self.watch(&launch, gang),
            Err(told) => unbegun(&told),
        }
    }

    /// Tries until the system has room for it: that it has none is no failure of the job. An error is the order
    /// to stop that came meanwhile.
    fn insist<T>(&self, mut attempt: impl FnMut() -> Result<T, String>) -> Result<T, Told> {
        let mut wait = TRY_AGAIN_FIRST;
        loop {
            let detail = match attempt() {
                Ok(done) => return Ok(done),
                Err(detail) => detail,
            };
            note(&detail);
            let detail = Some(format!("waits for the system: {detail}"));
            // A full disk: it is said again soon.
            let _ = Status { detail, ..self.status.clone() }.write(self.run);
            let until = Instant::now() + wait;
            while Instant::now() < until {
                if let Some(told) = self.orders.look() {
                    return Err(told);
                }
                sleep(POLL);
            }
            wait = (wait * 2).min(TRY_AGAIN_MAX);
        }
    }

    /// Waits until nothing else of the job runs; an ending if that makes no sense any more.
    fn take_job(&mut self, launch: &RunSpec) -> Option<Ending> {
        let limit = OTHER_ENDS + duration(launch.grace);
        let path = self.run.job_folder().lock_file();
        let mut told = None;
        let lock = Lock::take_within(&path, limit, || {
            told = self.orders.look();
            told.is_some()
        });
        match (lock, told.or_else(|| self.orders.look())) {
            (_, Some(told)) => Some(unbegun(&told)),
            (Ok(Some(lock)), None) => {
                self._job = Some(lock);
                None
            }
            (Ok(None), None) => {
                Some(Ending::Refused { why: "an earlier start of it does not end".to_string() })
            }
            (Err(error), None) => Some(Ending::Refused { why: format!("its lock: {error}") }),
        }
    }

    /// Brings the job's checkpoint, if it lies elsewhere; an ending if it cannot be started without.
    fn fetch(&mut self, launch: &RunSpec) -> Option<Ending> {
        let fetch = launch.fetch.as_ref()?;
        let (run, orders, status) = (self.run, &self.orders, &mut self.status);
        let (live, user) = (launch.checkpoint_dir.as_path(), launch.user.as_ref());
        let fetching = Fetching { run, fetch, live, user };
        fetching.run(&|| orders.look(), &mut |detail, transfer| {
            status.detail = detail.or_else(|| status.detail.take());
            status.transfer = transfer;
            // A full disk: it is said again soon.
            let _ = status.write(run);
        })
    }

    /// Follows the gang until its last process is gone.
    fn watch(&mut self, launch: &RunSpec, mut gang: Gang) -> Ending {
        let begun = Instant::now();
        self.status.started_ms = Some(now_ms());
        self.status.pids = gang.pids();
        self.phase(Phase::Running);
        let mut progress = Follower::new(self.run.progress_file(0));
        let mut looked = Instant::now();
        let mut course = Course::default();
        let mut probe = ProbeRun::of(launch);
        let poll = if probe.is_some() { PROBE_POLL } else { POLL };
        loop {
            for (rank, exit) in gang.look() {
                // Who stops a job may tell its workers, too, as Slurm does, and they may end before the order is seen.
                if exit == Exit::Signal(SIGTERM) && course.told.is_none() {
                    course.told = self.orders.look();
                }
                let after_stop = course.kill_at.is_some() || course.told.is_some();
                course.ends.push(WorkerEnd { rank, exit, after_stop });
            }
            if gang.is_over() {
                break;
            }
            if course.kill_at.is_none() {
                let max_run = launch.max_run.filter(|limit| begun.elapsed() >= duration(*limit));
                let told = self.orders.look().or(max_run.map(Told::MaxRun));
                let told = told.or_else(|| probe.as_ref()?.told(begun.elapsed()));
                if let Some(grace) = course.stop(told, launch.grace) {
                    course.kill_at = Some(Instant::now() + duration(grace));
                    gang.tell(launch.stop_signal);
                    self.phase(Phase::Stopping);
                }
            } else if course.kill_at.is_some_and(|at| Instant::now() >= at) {
                course.was_killed = true;
                course.kill_at = Some(Instant::now() + KILL_AGAIN);
                gang.kill();
            }
            if let Some(probe) = &mut probe {
                probe.see(begun.elapsed(), progress.look().as_ref());
            }
            if looked.elapsed() >= STATUS_EVERY {
                looked = Instant::now();
                gang.reap_orphans();
                for shell in self.orders.new_shells() {
                    if let Err(error) = gang.open_shell(launch, &shell) {
                        note(&format!("a shell could not be started: {error}"));
                    }
                }
                self.progress(progress.look());
            }
            sleep(poll);
        }
        gang.clear();
        let last = progress.look();
        self.progress(last);
        self.cut_progress(launch);
        self.status.exits = course.ends.iter().map(exit).collect();
        let ending = course.ending(launch.grace);
        let ending = match probe {
            Some(probe) => self.conclude(launch, probe, (ending, last), &course),
            None => ending,
        };
        self.explain(launch, ending)
    }

    /// A job may have written more than anybody wants to keep.
    fn cut_progress(&self, launch: &RunSpec) {
        for rank in (0..).take(launch.devices.len()) {
            let path = self.run.progress_file(rank);
            if let Err(error) = cut(&path) {
                note(&format!("`{}` could not be cut: {error}", path.display()));
            }
        }
    }

    /// A profile run has ended: its figure is its last word, and its checkpoints are nobody's.
    fn conclude(
        &mut self,
        launch: &RunSpec,
        mut probe: ProbeRun,
        (ending, last): (Ending, Option<Progress>),
        course: &Course,
    ) -> Ending {
        // Its last lines may have come with its end, all at once; only its own measurement is still of use.
        let last = last.filter(|last| last.measured.is_some());
        probe.see(Duration::MAX, last.as_ref());
        let (ending, measured) = probe.finish(ending, course.told.as_ref());
        // Its own figure goes where it does not count.
        if measured.is_some() || self.status.progress.is_some_and(|told| told.measured.is_some()) {
            let progress = self.status.progress.get_or_insert_default();
            progress.measured = measured;
            self.is_changed = true;
        }
        if let Err(error) = remove_tree(&launch.checkpoint_dir) {
            note(&format!("the checkpoints of the profile run could not be removed: {error}"));
        }
        ending
    }

    fn phase(&mut self, phase: Phase) {
        self.status.phase = phase;
        self.is_changed = true;
        self.write();
    }

    fn progress(&mut self, progress: Option<Progress>) {
        // A figure counts once it was compared with what the runner timed: at the end.
        let progress = progress.map(|progress| Progress { measured: None, ..progress });
        if self.status.progress != progress {
            self.status.progress = progress;
            self.is_changed = true;
        }
        if self.is_changed && self.written.elapsed() >= STATUS_EVERY {
            self.write();
        }
    }

    fn write(&mut self) {
        self.written = Instant::now();
        // A full disk: it is tried again at the next change or look.
        self.is_changed = self.status.write(self.run).is_err();
    }

    /// What the job's owner should read beside a failure.
    fn explain(&self, launch: &RunSpec, ending: Ending) -> Ending {
        let Ending::Failed { reason, rank: Some(rank), code, signal, .. } = ending else {
            return ending;
        };
        if let Ok(Some(reason)) = read_json::<FailReason>(&self.run.start_error_file(rank)) {
            return Ending::failed(reason);
        }
        let tail = |stream| {
            let path = self.run.log_file(rank, stream);
            let from = LogFrom::LastLines(LAST_LINES);
            let read = log_file::read(&path, launch.log_limit_bytes, from, LAST_LINES_BYTES);
            let bytes = read.map(|chunk| chunk.bytes).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let err = tail(Stream::Err);
        let last_lines = if err.trim().is_empty() { tail(Stream::Out) } else { err };
        Ending::Failed { reason, rank: Some(rank), code, signal, last_lines }
    }

    /// Writes down how it ended, however long the disk is full.
    fn end(self, ending: Ending) {
        let status = self.status.ended(ending, now_ms());
        let mut is_noted = false;
        while let Err(error) = status.write(self.run) {
            if self.orders.is_abandoned() {
                return;
            }
            if !is_noted {
                note(&format!("the ending could not be written yet: {error}"));
                is_noted = true;
            }
            sleep(WRITE_AGAIN);
        }
    }
}

/// The ending of a start that was told to stop before its workers ran.
pub(super) fn unbegun(told: &Told) -> Ending {
    match told {
        Told::Superseded(_) => Ending::Refused { why: told.why() },
        told => Ending::Stopped { detail: format!("{}; it had not begun", told.why()) },
    }
}

fn exit(end: &WorkerEnd) -> WorkerExit {
    let (code, signal) = match end.exit {
        Exit::Code(code) => (Some(code), None),
        Exit::Signal(signal) => (None, Some(signal)),
    };
    WorkerExit { rank: end.rank, code, signal, after_stop: end.after_stop }
}

/// How a gang goes to its end.
#[derive(Debug, Default)]
struct Course {
    ends: Vec<WorkerEnd>,
    told: Option<Told>,
    /// Set once it was told to stop.
    kill_at: Option<Instant>,
    was_killed: bool,
}

impl Course {
    /// The grace time, if it is time to stop the gang: it is wanted, or one of it has ended badly.
    fn stop(&mut self, told: Option<Told>, grace: Span) -> Option<Span> {
        if let Some(bad) = self.ends.iter().find(|end| end.exit != Exit::Code(0)) {
            let saved = bad.exit == Exit::Code(SAVED);
            return Some(if saved { grace } else { grace.min(FAILED_GRACE) });
        }
        self.told = Some(told?);
        Some(grace)
    }

    fn ending(&self, grace: Span) -> Ending {
        let Course { ends, told, was_killed, .. } = self;
        judge(&Gone { ends, told: told.as_ref(), was_killed: *was_killed, grace })
    }
}

/// Everything by which a start can be told to stop.
struct Orders<'a> {
    run: &'a RunFolder,
    terminated: Arc<AtomicBool>,
    /// How long its folder may be away: a shared file system may come back.
    patience: Cell<Duration>,
    gone_since: Cell<Option<Instant>>,
    /// The last shell that was seen.
    shell: Cell<u64>,
}

impl Orders<'_> {
    fn new(run: &RunFolder) -> io::Result<Orders<'_>> {
        let terminated = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGTERM, Arc::clone(&terminated))?;
        for ignored in [SIGHUP, SIGINT, SIGQUIT] {
            // Caught, not ignored: workers would inherit an ignored signal.
            signal_hook::flag::register(ignored, Arc::new(AtomicBool::new(false)))?;
        }
        let (patience, gone_since, shell) = Default::default();
        Ok(Orders { run, terminated, patience, gone_since, shell })
    }

    /// Its folder was removed: nobody can find it any more, and nobody would read how it ended.
    fn is_abandoned(&self) -> bool {
        if !matches!(self.run.path().try_exists(), Ok(false)) {
            self.gone_since.set(None);
            return false;
        }
        let since = self.gone_since.get().unwrap_or_else(Instant::now);
        self.gone_since.set(Some(since));
        since.elapsed() >= self.patience.get()
    }

    /// Shells that were asked for since the last look.
    fn new_shells(&self) -> Vec<Shell> {
        let wanted: Wanted = read_json(&self.run.order_file()).ok().flatten().unwrap_or_default();
        let mut new = wanted.shells;
        new.retain(|shell| shell.id > self.shell.get());
        self.shell.set(new.iter().map(|shell| shell.id).fold(self.shell.get(), u64::max));
        new
    }

    fn look(&self) -> Option<Told> {
        if self.is_abandoned() {
            return Some(Told::Abandoned);
        }
        let newest = self.run.job_folder().newest().ok().flatten();
        if let Some(newer) = newest.filter(|newest| *newest > self.run.generation()) {
            return Some(Told::Superseded(newer));
        }
        if let Ok(Some(Wanted { stop: Some(stop), .. })) = read_json(&self.run.order_file()) {
            return Some(Told::Order(stop.why));
        }
        self.terminated.load(Ordering::Relaxed).then_some(Told::Terminated)
    }
}

fn duration(span: Span) -> Duration {
    Duration::from_millis(span.0)
}
