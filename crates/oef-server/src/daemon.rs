//! The daemon: all that the HTTP side and `oef up` see of it.

mod commands;
mod gauges;
mod live;
mod metrics;
mod notifications;
mod reads;
mod subscription;

pub use gauges::{Gauges, GpuGauges, ReadingGauges, TenantGauges};
pub(crate) use live::Sample;
pub use metrics::{Measure, Metrics, NoMetrics, NoticeEnd};
pub use subscription::{Delivery, Subscription};

use crate::caller::Caller;
use crate::engine::{self, Budgets, Message, Shared};
use crate::notify::NotifySettings;
use crate::secret;
use crate::store::{Archive, Keep, StoreError};
use crate::terminal::TerminalEndpoint;
use crate::world::World;
use oef_api::types::SettingsPatch;
use oef_executor::{Executor, ExecutorError, Shell};
use oef_sched::{Generation, JobId};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Sender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use thiserror::Error;

/// How a daemon is started.
pub struct Options {
    /// The state folder.
    pub state_dir: PathBuf,
    /// What the scheduler starts with in a new folder. What depends on the length of a round follows it.
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
    /// Variables for every job, on top of those of the daemon's environment that jobs may have.
    pub environment: BTreeMap<String, String>,
    /// Output that is kept of each worker's stream.
    pub log_limit_bytes: u64,
    /// A computation of shares is cut short after so long.
    pub solve_limit: Duration,
    /// How much one tenant may have.
    pub budgets: Budgets,
    /// What notifications may do.
    pub notify: Arc<NotifySettings>,
    /// How jobs in a terminal reach the daemon; none: they cannot.
    pub terminal: Option<Arc<TerminalEndpoint>>,
}

impl Options {
    /// The usual ones.
    pub fn new(state_dir: PathBuf, executor: Arc<dyn Executor>) -> Options {
        Options {
            state_dir,
            first: oef_sched::Settings::default(),
            settings: SettingsPatch::default(),
            memory: Memory::default(),
            executor,
            metrics: Arc::new(NoMetrics),
            owner_secret: None,
            environment: BTreeMap::new(),
            log_limit_bytes: LOG_LIMIT_BYTES,
            solve_limit: SOLVE_LIMIT,
            budgets: Budgets::default(),
            notify: Arc::default(),
            terminal: None,
        }
    }
}

/// Enough for the output of a day's training, and a hundred jobs fit on any disk.
const LOG_LIMIT_BYTES: u64 = 16 * 1024 * 1024;
/// The shares of a thousand unlike tenants take some seconds; with more the best so far has to do.
const SOLVE_LIMIT: Duration = Duration::from_secs(60);

/// How much is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Ended jobs.
    pub ended_jobs_max: usize,
    /// Events.
    pub events_max: usize,
    /// Rounds with their certificates.
    pub rounds_max: u64,
    /// Bytes of them on the disk.
    pub round_bytes_max: u64,
}

impl Default for Memory {
    /// Weeks of a busy cluster; some hundred megabytes at most.
    fn default() -> Self {
        Memory {
            ended_jobs_max: 50_000,
            events_max: 10_000,
            rounds_max: 10_000,
            round_bytes_max: Keep::default().round_bytes,
        }
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
    /// The state folder cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The executor could not be brought back to what the journal says.
    #[error("could not recover running jobs: {0}")]
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
    /// What was started is more than the journal knows: it is shorter than it was.
    #[error(
        "{what}: an older copy was put in its place. Put the whole folder as it was in place; or, if this is all that is \
         left, take it as it is with `oef journal accept`: what runs of these jobs is then killed, and their files stay"
    )]
    Beyond {
        /// Which jobs.
        what: String,
    },
    /// The first records could not be written.
    #[error("the journal cannot be written: the disk may be full; the log says more")]
    NotDurable,
    /// A setting that is given makes no sense.
    #[error("{0}")]
    Setting(String),
    /// A thread could not be started.
    #[error("a thread could not be started: {0}")]
    Thread(#[source] std::io::Error),
}

/// A running daemon. Cheap to clone: all clones are the same one.
#[derive(Clone)]
pub struct Daemon {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    archive: Archive,
    executor: Arc<dyn Executor>,
    /// The engine's thread, until it is stopped.
    engine: Mutex<Option<JoinHandle<()>>>,
    inbox: Sender<Message>,
    owner: Option<String>,
    /// Whether tenants whose jobs run as the daemon does may have tokens.
    trust_tenants: bool,
    notify: Arc<NotifySettings>,
    terminal: Option<Arc<TerminalEndpoint>>,
    since: Instant,
}

impl Inner {
    fn stop(&self, jobs: StopJobs) {
        let engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(thread) = engine else { return };
        let (done, is_done) = sync_channel(1);
        if self.inbox.send(Message::Stop { jobs, done }).is_ok() {
            // An engine that ended otherwise hangs up.
            let _ = is_done.recv();
        }
        let _ = thread.join();
    }
}

impl Drop for Inner {
    /// Nobody is left who could stop it.
    fn drop(&mut self) {
        self.stop(StopJobs::LeaveRunning);
    }
}

impl Daemon {
    /// Opens the state folder, replays its journal, recovers running jobs, and starts to work.
    pub fn start(options: Options) -> Result<Daemon, StartError> {
        let running = engine::start(&options)?;
        let daemon = Daemon {
            inner: Arc::new(Inner {
                shared: running.shared,
                archive: running.archive,
                executor: options.executor,
                engine: Mutex::new(Some(running.thread)),
                inbox: running.inbox,
                owner: options.owner_secret.as_deref().map(secret::hash),
                trust_tenants: options.budgets.trust_tenants,
                notify: options.notify,
                terminal: options.terminal,
                since: Instant::now(),
            }),
        };
        daemon.warn_of_void_tokens();
        Ok(daemon)
    }

    /// Stops cleanly: no more commands are taken, what was taken is durable, a snapshot is written. Blocks
    /// until then; with [`StopJobs::Checkpoint`] until the jobs have stopped, or their grace time is over.
    pub fn stop(&self, jobs: StopJobs) {
        self.inner.stop(jobs);
    }

    /// How jobs in a terminal reach the daemon.
    pub(crate) fn terminal(&self) -> Option<&TerminalEndpoint> {
        self.inner.terminal.as_deref()
    }

    /// Has a shell started beside a run of a job; whether there can be some. Nothing of it is journalled.
    pub(crate) fn order_shell(&self, job: JobId, run: Generation, shell: Shell) -> bool {
        self.inner.executor.open_shell(job, run, shell)
    }

    /// Whether commands are taken.
    pub fn is_ready(&self) -> bool {
        self.inner.shared.ready.load(Ordering::Relaxed)
    }

    /// What keeps it from doing what it is there for, a sentence each; none: nothing does.
    pub fn problems(&self) -> Vec<String> {
        if !self.is_ready() {
            return vec!["the daemon takes no commands now: it starts or stops".into()];
        }
        self.inner.shared.health.problems(self.inner.executor.last_pass())
    }

    /// Why the journal could not be written the last time it was tried; none: it was.
    pub fn journal_error(&self) -> Option<String> {
        self.inner.shared.health.journal_error()
    }

    /// Whose secret that is; none: nobody's, or it is void.
    pub fn authenticate(&self, given: &str) -> Option<Caller> {
        let hash = secret::hash(given);
        if self.inner.owner.as_deref().is_some_and(|owner| secret::same(owner, &hash)) {
            return Some(Caller::owner());
        }
        let id = self.with_world(|world| {
            let id = world.index.token_of(&hash)?;
            let token = world.tokens.get(&id)?;
            secret::same(&token.hash, &hash).then_some(id)
        })?;
        self.holder(id)
    }

    /// Looks at the world for a moment. Nothing changes meanwhile, so it must be short.
    pub fn with_world<R>(&self, look: impl FnOnce(&World) -> R) -> R {
        look(&self.inner.shared.world())
    }
}
