//! A cluster that Slurm runs by itself: its nodes and everybody's jobs are told, and nothing is touched.

use super::cluster::{self, GpuNode, NodeState, Told};
use super::command::{Slurm, SlurmError};
use super::limits::account_weights;
use super::others::{Accounts, others_of};
use super::settings::Rules;
use crate::clock::now_ms;
use crate::ending::Ending;
use crate::error::ExecutorError;
use crate::event::{Cursor, Event, LeaseEvent, NodeEvent, OtherJob};
use crate::event_log::EventLog;
use crate::executor::Executor;
use crate::logs::{LogChunk, LogQuery};
use crate::order::{Known, Order};
use oef_sched::{Generation, JobId};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tracing::{info, warn};

/// Nodes are asked for with every so many questions for jobs.
const NODES_EVERY: u32 = 5;

/// While Slurm does not answer it is asked less and less often, up to this.
const PAUSE_MAX: Duration = Duration::from_secs(15);

/// What is observed, and how.
#[derive(Clone, Debug)]
pub struct ObserverConfig {
    /// Where replies are kept that nobody can read.
    pub dir: PathBuf,
    /// How Slurm is called.
    pub slurm: Slurm,
    /// The partition; none: all.
    pub partition: Option<String>,
    /// Only these of its nodes; none: all.
    pub nodes: Option<String>,
    /// How often Slurm is asked.
    pub poll: Duration,
    /// Which accounts are whose.
    pub rules: Rules,
}

/// Tells what Slurm does. Orders are answered as if they were carried out: who runs where is Slurm's decision, and a
/// start only says that it was noticed.
#[derive(Debug)]
pub struct SlurmObserver {
    shared: Arc<Shared>,
    poller: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    config: ObserverConfig,
    events: EventLog,
    is_closed: Mutex<bool>,
    changed: Condvar,
}

impl SlurmObserver {
    /// Begins to ask Slurm. It need not answer yet.
    pub fn open(mut config: ObserverConfig) -> Result<SlurmObserver, ExecutorError> {
        std::fs::create_dir_all(&config.dir).map_err(ExecutorError::file(&config.dir, "made"))?;
        config.slurm.keep = Some(config.dir.clone());
        let shared = Arc::new(Shared {
            config,
            events: EventLog::default(),
            is_closed: Mutex::new(false),
            changed: Condvar::new(),
        });
        let asked = Arc::clone(&shared);
        let spawned = thread::Builder::new().name("slurm".into()).spawn(move || asked.run());
        Ok(SlurmObserver { shared, poller: Some(spawned.map_err(ExecutorError::Thread)?) })
    }
}

impl Shared {
    fn is_closed(&self) -> MutexGuard<'_, bool> {
        self.is_closed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut looked = Looked::default();
        let (mut failures, mut outage) = (0u32, None);
        for count in 0u32.. {
            match self.look(&mut looked, count.is_multiple_of(NODES_EVERY)) {
                Ok(()) => {
                    failures = 0;
                    if outage.take().is_some() {
                        info!("Slurm answers again");
                    }
                }
                Err(error) => {
                    failures = failures.saturating_add(1);
                    let text = error.to_string();
                    if outage.replace(text.clone()).as_ref() != Some(&text) {
                        warn!(error = text, "Slurm could not be asked; what was seen last counts");
                    }
                }
            }
            let poll = self.config.poll;
            let pause = poll.saturating_mul(1 << failures.min(8)).min(PAUSE_MAX.max(poll));
            let open = self.is_closed();
            let waited = self.changed.wait_timeout_while(open, pause, |is_closed| !*is_closed);
            let (is_closed, _) = waited.unwrap_or_else(PoisonError::into_inner);
            if *is_closed {
                return;
            }
        }
    }

    fn look(&self, looked: &mut Looked, with_nodes: bool) -> Result<(), SlurmError> {
        let ObserverConfig { slurm, partition, nodes, .. } = &self.config;
        let is_first = !looked.is_listed;
        if with_nodes || is_first {
            let rows = slurm.nodes(partition.as_deref(), nodes.as_deref())?;
            looked.see_nodes(cluster::nodes_of(&rows)).into_iter().for_each(|event| {
                self.events.push(Event::Node(event));
            });
            if !std::mem::replace(&mut looked.is_listed, true) {
                self.events.push(Event::NodesListed);
            }
        }
        if is_first {
            // Without accounting nobody says, and all weigh the same.
            looked.weights = account_weights(slurm).unwrap_or_default();
        }
        let accounts = Accounts { rules: &self.config.rules, weights: &looked.weights };
        let others = others_of(slurm.others(partition.as_deref())?, &looked.nodes, &accounts);
        if looked.others.as_ref() != Some(&others) {
            looked.others = Some(others.clone());
            self.events.push(Event::Others(others));
        }
        Ok(())
    }
}

/// What was seen last.
#[derive(Default)]
struct Looked {
    nodes: BTreeMap<String, GpuNode>,
    told: BTreeMap<String, Told>,
    is_listed: bool,
    weights: BTreeMap<String, f64>,
    others: Option<Vec<OtherJob>>,
}

impl Looked {
    fn see_nodes(&mut self, nodes: BTreeMap<String, GpuNode>) -> Vec<NodeEvent> {
        let mut events = Vec::new();
        for node in nodes.values() {
            let known = self.told.get(&node.host);
            if matches!(node.state, NodeState::Silent(_)) && known.is_some() {
                continue;
            }
            // All jobs are told as what they are: nothing is in use by strangers.
            let told = cluster::telling(node, Vec::new());
            if known != Some(&told) {
                events.extend(cluster::events(node, known, &told));
                self.told.insert(node.host.clone(), told);
            }
        }
        let gone: Vec<String> =
            self.told.keys().filter(|host| !nodes.contains_key(*host)).cloned().collect();
        for host in gone {
            self.told.remove(&host);
            let reason = "not in Slurm's list of nodes any more".to_string();
            events.push(NodeEvent::Left { node: host, reason });
        }
        self.nodes = nodes;
        events
    }
}

impl SlurmObserver {
    fn noticed(&self, job: JobId, generation: Generation) {
        let event = LeaseEvent::Started { at_ms: now_ms(), checkpoints: None };
        self.shared.events.lease(job, generation, event);
    }

    fn left(&self, job: JobId, generation: Generation) {
        let (ending, exits) = (Ending::Checkpointed, Vec::new());
        let event = LeaseEvent::Ended { ending, exits, at_ms: now_ms() };
        self.shared.events.lease(job, generation, event);
    }
}

impl Executor for SlurmObserver {
    fn order(&self, order: Order) {
        match order {
            Order::Start(launch) => self.noticed(launch.job, launch.generation),
            Order::Stop { job, generation, .. } => self.left(job, generation),
            Order::Acknowledge(cursor) => drop(self.shared.events.acknowledge(cursor)),
            Order::Keep { .. } | Order::Retire(_) | Order::Forget(_) | Order::EndTenant(_) => {}
        }
    }

    fn events(&self, after: Cursor, wait: Duration) -> Vec<(Cursor, Event)> {
        self.shared.events.after(after, wait)
    }

    fn resume(&self, known: Known) -> Result<JobId, ExecutorError> {
        for held in known.held {
            let (job, generation) = (held.launch.job, held.launch.generation);
            self.noticed(job, generation);
            if held.stop.is_some() {
                self.left(job, generation);
            }
        }
        Ok(known.next)
    }

    fn logs(&self, job: JobId, _query: LogQuery) -> Result<LogChunk, ExecutorError> {
        Err(ExecutorError::NoOutput(job))
    }

    fn observes(&self) -> bool {
        true
    }
}

impl Drop for SlurmObserver {
    fn drop(&mut self) {
        *self.shared.is_closed() = true;
        self.shared.changed.notify_all();
        if let Some(poller) = self.poller.take() {
            let _ = poller.join();
        }
    }
}
