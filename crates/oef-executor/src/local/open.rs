//! The executor as a value.

use super::clean::Cleaning;
use super::isolation::Isolation;
use super::lanes::{Lanes, Work};
use super::site::Site;
use super::watch::Watched;
use crate::cgroup::ControlGroups;
use crate::checkpoints::{CheckpointConfig, Locations};
use crate::device::Device;
use crate::error::ExecutorError;
use crate::event::{Cursor, Event};
use crate::event_log::EventLog;
use crate::executor::Executor;
use crate::gpus;
use crate::launch::Shell;
use crate::logs::{LogChunk, LogQuery};
use crate::order::{Known, Order, Unknown};
use crate::records::{Lock, RunFolder, RunsFolder};
use oef_sched::{Generation, JobId, Span};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// What a local executor needs to know.
#[derive(Clone, Debug)]
pub struct LocalConfig {
    /// Its state folder; made if it is not there. One executor at a time.
    pub dir: PathBuf,
    /// The program that is the runner, with its first arguments; it calls
    /// [`runner::run`](crate::runner::run) with the rest.
    pub runner: Vec<OsString>,
    /// The GPUs.
    pub devices: Vec<Device>,
    /// Where CUDA's multi-process service listens, if it runs.
    pub mps_pipe_dir: Option<PathBuf>,
    /// Where checkpoints are, and how they are moved.
    pub checkpoints: CheckpointConfig,
    /// How jobs are kept apart.
    pub isolation: Isolation,
    /// How often it is read what real GPUs do; nothing: never.
    pub read_gpus_every: Duration,
}

/// A process that was just forked has its parent's lock too, until it is another program: a moment after
/// the last executor ended its lock may still be there.
const LET_GO: Duration = Duration::from_secs(1);

/// When the daemon stops, orders that were given are carried out first, but for what takes longer than this:
/// the next start does it.
const CLOSE_LIMIT: Duration = Duration::from_secs(5);

/// Starts whose endings are not acknowledged.
pub(super) type Table = BTreeMap<(JobId, Generation), Arc<Mutex<Watched>>>;

/// Runs jobs as processes on this machine.
#[derive(Debug)]
pub struct LocalExecutor {
    inner: Arc<Inner>,
    watcher: Option<JoinHandle<()>>,
}

/// What the executor's threads share.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) runs: RunsFolder,
    pub(super) config: LocalConfig,
    pub(super) locations: Locations,
    pub(crate) events: EventLog,
    pub(super) lanes: Lanes,
    pub(super) cleaning: Arc<Cleaning>,
    pub(super) is_closed: AtomicBool,
    /// Where runners run; none: on this machine.
    pub(super) site: Option<Arc<dyn Site>>,
    /// When the watcher last came by.
    pub(super) last_pass: Mutex<Instant>,
    /// Where jobs have control groups.
    pub(super) groups: Option<ControlGroups>,
    watched: Mutex<Table>,
    /// Held for as long as this executor is there.
    _alone: Lock,
}

impl LocalExecutor {
    /// Takes a state folder. Nothing that runs there is touched before
    /// [`resume`](Executor::resume).
    pub fn open(config: LocalConfig) -> Result<LocalExecutor, ExecutorError> {
        let executor = LocalExecutor::open_at(config, None)?;
        executor.inner.tell_nodes();
        executor.read_gpus()?;
        Ok(executor)
    }

    /// Who reads has no hold on this executor: a driver that hangs must not keep its folder.
    fn read_gpus(&self) -> Result<(), ExecutorError> {
        let config = &self.inner.config;
        let (inner, every) = (Arc::downgrade(&self.inner), config.read_gpus_every);
        let span = Span(u64::try_from(every.as_millis()).unwrap_or(u64::MAX));
        let tell = move |gpus| {
            let inner = inner.upgrade().filter(|inner| !inner.is_closed());
            inner.map(|inner| inner.events.push(Event::Readings { gpus, every: span })).is_some()
        };
        gpus::begin_reading(&config.devices, every, tell).map_err(ExecutorError::Thread)
    }

    /// The same for runners that run elsewhere, whose nodes others tell.
    pub(crate) fn open_at(
        config: LocalConfig,
        site: Option<Arc<dyn Site>>,
    ) -> Result<LocalExecutor, ExecutorError> {
        let made = ExecutorError::file(&config.dir, "made");
        // What jobs are given in their environment is nobody else's business.
        let mut private = DirBuilder::new();
        private.recursive(true).mode(0o700).create(config.dir.join("runs")).map_err(made)?;
        // Absolute, because runners start elsewhere; without links, because it is compared.
        let dir = config.dir.canonicalize().map_err(ExecutorError::file(&config.dir, "found"))?;
        let lock_file = dir.join("executor.lock");
        let lock = Lock::take_within(&lock_file, LET_GO, || false);
        let lock = lock.map_err(ExecutorError::file(&lock_file, "locked"))?;
        let Some(alone) = lock else { return Err(ExecutorError::FolderInUse(dir)) };
        let inner = Arc::new(Inner {
            runs: RunsFolder::new(dir.join("runs")),
            locations: Locations::new(&dir, &config.checkpoints),
            groups: config.isolation.begin(&dir),
            config: LocalConfig { dir, ..config },
            events: EventLog::default(),
            lanes: Lanes::default(),
            cleaning: Arc::default(),
            is_closed: AtomicBool::new(false),
            site,
            last_pass: Mutex::new(Instant::now()),
            watched: Mutex::default(),
            _alone: alone,
        });
        let watching = Arc::clone(&inner);
        let spawned =
            thread::Builder::new().name("watcher".into()).spawn(move || watching.watch_all());
        let watcher = spawned.map_err(ExecutorError::Thread)?;
        Cleaning::begin(&inner)?;
        Ok(LocalExecutor { inner, watcher: Some(watcher) })
    }
}

impl LocalExecutor {
    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }
}

impl Inner {
    /// Follows a start from now on.
    pub(super) fn watch(&self, watched: Watched) {
        let key = (watched.run.job(), watched.run.generation());
        self.watched().entry(key).or_insert_with(|| Arc::new(Mutex::new(watched)));
    }

    pub(super) fn is_watched(&self, run: &RunFolder) -> bool {
        self.watched().contains_key(&(run.job(), run.generation()))
    }

    /// Whether something is still to be done or told of a job.
    pub(crate) fn is_live(&self, job: JobId) -> bool {
        let all = (job, Generation(0))..=(job, Generation(u64::MAX));
        self.lanes.has(job) || self.watched().range(all).next().is_some()
    }

    /// The table stays whole whatever happened to a thread that held it. Nobody waits for files while it is held.
    pub(super) fn watched(&self) -> MutexGuard<'_, Table> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }
}

impl Executor for LocalExecutor {
    fn order(&self, order: Order) {
        let inner = &self.inner;
        match order {
            Order::Start(launch) => inner.enqueue(launch.job, Work::Start(launch)),
            Order::Keep { job, generation, until } => {
                inner.enqueue(job, Work::Keep { generation, until });
            }
            Order::Stop { job, generation, why } => {
                inner.enqueue(job, Work::Stop { generation, why });
            }
            Order::Retire(job) => inner.cleaning.retire([job]),
            Order::Forget(job) => inner.cleaning.forget(job),
            Order::EndTenant(tenant) => inner.cleaning.end_launchers(tenant),
            Order::Acknowledge(cursor) => {
                for key in inner.events.acknowledge(cursor) {
                    inner.watched().remove(&key);
                    if let Some(site) = &inner.site {
                        site.forget(key.0, key.1);
                    }
                }
            }
        }
    }

    fn events(&self, after: Cursor, wait: Duration) -> Vec<(Cursor, Event)> {
        self.inner.events.after(after, wait)
    }

    fn unknown(&self, known: &Known) -> Unknown {
        self.inner.unknown(known)
    }

    fn resume(&self, known: Known) -> Result<JobId, ExecutorError> {
        self.inner.resume(known)
    }

    fn logs(&self, job: JobId, query: LogQuery) -> Result<LogChunk, ExecutorError> {
        self.inner.read_logs(job, query)
    }

    fn open_shell(&self, job: JobId, generation: Generation, shell: Shell) -> bool {
        self.inner.enqueue(job, Work::Shell { generation, shell: Box::new(shell) });
        true
    }

    fn last_pass(&self) -> Option<Duration> {
        let passed = self.inner.last_pass.lock().unwrap_or_else(PoisonError::into_inner);
        Some(passed.elapsed())
    }

    fn close(&self) {
        self.inner.lanes.wait_until_idle(CLOSE_LIMIT);
        if self.inner.site.is_none() {
            self.inner.end_launchers();
        }
    }
}

impl Drop for LocalExecutor {
    /// Lets the folder go when the work in hand is done; what was ordered and not begun is done by the next start.
    fn drop(&mut self) {
        self.inner.is_closed.store(true, Ordering::Relaxed);
        self.inner.cleaning.end();
        if let Some(watcher) = self.watcher.take() {
            let _ = watcher.join();
        }
        self.inner.lanes.wait_until_idle(CLOSE_LIMIT);
        if let Some(groups) = &self.inner.groups {
            groups.close();
        }
    }
}
