//! The daemon: all that the HTTP side and `oef up` see of it.

mod commands;
mod gauges;
mod metrics;
mod reads;
mod subscription;

pub use gauges::{Gauges, GpuGauges, TenantGauges};
pub use metrics::{Measure, Metrics, NoMetrics};
pub use reads::Page;
pub use subscription::{Delivery, Subscription};

use crate::caller::Caller;
use crate::world::World;
use oef_api::types::SettingsPatch;
use oef_executor::{Executor, ExecutorError};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use thiserror::Error;

/// How a daemon is started.
pub struct Options {
    /// The state folder.
    pub state_dir: PathBuf,
    /// What the scheduler starts with in a new folder.
    pub first: oef_sched::Settings,
    /// Settings that count from this start on; what is none stays as it was (or as in `first`).
    pub settings: SettingsPatch,
    /// How much is remembered.
    pub memory: Memory,
    /// What carries the plans out.
    pub executor: Arc<dyn Executor>,
    /// Who keeps the figures.
    pub metrics: Arc<dyn Metrics>,
    /// The secret of the daemon's owner, an admin: it lives as long as the daemon and is never stored.
    pub owner_secret: Option<String>,
    /// Variables of the daemon's environment that jobs get, on top of those on the allow-list.
    pub environment: BTreeMap<String, String>,
    /// Output that is kept of each worker's stream.
    pub log_limit_bytes: u64,
    /// A computation of shares is cut short after so long.
    pub solve_limit: Duration,
}

/// How much is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Ended jobs.
    pub ended_jobs_max: usize,
    /// Events.
    pub events_max: usize,
    /// Rounds with their certificates.
    pub rounds_max: u64,
}

impl Default for Memory {
    /// Weeks of a busy cluster; some hundred megabytes at most.
    fn default() -> Self {
        Memory { ended_jobs_max: 50_000, events_max: 10_000, rounds_max: 10_000 }
    }
}

/// What happens to jobs when the daemon stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopJobs {
    /// They go on under their runners; the next start finds them.
    LeaveRunning,
    /// They are told to write a checkpoint and stop; the next start goes on with them.
    Checkpoint,
}

/// Why a daemon could not be started.
#[derive(Debug, Error)]
pub enum StartError {
    /// The executor could not be brought back to what the journal says.
    #[error("the jobs of before could not be found again")]
    Recover(#[source] ExecutorError),
    /// The journal is not what this program wrote.
    #[error(
        "record {seq} of the journal cannot be used: {why}; `oef journal check` tells more, and a backup may help"
    )]
    Journal {
        /// The record.
        seq: u64,
        /// What is wrong.
        why: String,
    },
    /// A setting that is given makes no sense.
    #[error("{0}")]
    Setting(String),
    /// A thread could not be started.
    #[error("a thread could not be started")]
    Thread(#[source] std::io::Error),
}

/// A running daemon. Cheap to clone: all clones are the same one.
#[derive(Clone)]
pub struct Daemon {
    inner: Arc<Inner>,
}

struct Inner {
    world: RwLock<World>,
}

impl Daemon {
    /// Opens the state folder, replays its journal, finds the jobs of before, and starts to work.
    pub fn start(options: Options) -> Result<Daemon, StartError> {
        let _ = options;
        Err(StartError::Setting("not yet".into()))
    }

    /// Stops cleanly: no more commands are taken, what was taken is durable, a snapshot is written. Blocks
    /// until then; with [`StopJobs::Checkpoint`] until the jobs have stopped, or their grace time is over.
    pub fn stop(&self, jobs: StopJobs) {
        let _ = jobs;
    }

    /// Whether commands are taken.
    pub fn is_ready(&self) -> bool {
        false
    }

    /// Whose secret that is.
    pub fn authenticate(&self, secret: &str) -> Option<Caller> {
        let _ = secret;
        None
    }

    /// Looks at the world for a moment. Nothing changes meanwhile, so it must be short.
    pub fn with_world<R>(&self, look: impl FnOnce(&World) -> R) -> R {
        look(&self.inner.world.read().unwrap_or_else(PoisonError::into_inner))
    }
}
