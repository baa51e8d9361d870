//! The executor as a value.

use super::watch::Watched;
use crate::device::Device;
use crate::error::ExecutorError;
use crate::executor::Executor;
use crate::logs::{LogChunk, LogQuery};
use crate::observation::Observation;
use crate::order::{Held, Order, Recovered};
use crate::records::{Lock, RunFolder, RunsFolder};
use oef_sched::{Generation, JobId};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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
}

/// A process that was just forked has its parent's lock too, until it is another program: a moment after
/// the last executor ended its lock may still be there.
const LET_GO: Duration = Duration::from_secs(1);

/// Starts whose endings are not acknowledged.
pub(super) type Table = BTreeMap<(JobId, Generation), Watched>;

/// Runs jobs as processes on this machine.
#[derive(Debug)]
pub struct LocalExecutor {
    pub(super) runs: RunsFolder,
    pub(super) config: LocalConfig,
    pub(super) watched: Mutex<Table>,
    /// Held for as long as this executor is there.
    _alone: Lock,
}

impl LocalExecutor {
    /// Takes a state folder. Nothing that runs there is touched before
    /// [`recover`](Executor::recover).
    pub fn open(config: LocalConfig) -> Result<LocalExecutor, ExecutorError> {
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
        Ok(LocalExecutor {
            runs: RunsFolder::new(dir.join("runs")),
            config: LocalConfig { dir, ..config },
            watched: Mutex::new(BTreeMap::new()),
            _alone: alone,
        })
    }

    /// Observes a start from now on.
    pub(super) fn watch(&self, run: &RunFolder) {
        let key = (run.job(), run.generation());
        self.watched().entry(key).or_insert_with(|| Watched::new(run.clone()));
    }

    /// The table stays whole whatever happened to a thread that held it.
    pub(super) fn watched(&self) -> MutexGuard<'_, Table> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Executor for LocalExecutor {
    fn devices(&self) -> Vec<Device> {
        self.config.devices.clone()
    }

    fn perform(&self, order: Order) -> Result<(), ExecutorError> {
        match order {
            Order::Start(launch) => self.start(*launch),
            Order::Keep { job, generation, until } => self.keep(job, generation, until),
            Order::Stop { job, generation, why } => self.stop(job, generation, why),
        }
    }

    fn observe(&self) -> Vec<Observation> {
        let mut told = Vec::new();
        for watched in self.watched().values_mut() {
            watched.look(&mut told);
        }
        told
    }

    fn acknowledge(&self, job: JobId, generation: Generation) {
        if let Some(watched) = self.watched().remove(&(job, generation)) {
            watched.bury_runner();
        }
    }

    fn recover(&self, held: &[Held]) -> Result<Vec<Recovered>, ExecutorError> {
        self.take_up(held)
    }

    fn logs(&self, job: JobId, query: LogQuery) -> Result<LogChunk, ExecutorError> {
        self.read_logs(job, query)
    }

    fn forget(&self, job: JobId) -> Result<(), ExecutorError> {
        self.remove(job)
    }

    fn close(&self) {
        self.end_launchers();
    }
}
