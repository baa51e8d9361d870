//! A cluster that is nothing but memory, for tests of whatever uses an executor, with faults on demand.
//!
//! A [`SimCluster`] is what would be outside: nodes, and jobs that outlive the executor. A [`SimExecutor`] is
//! connected to it. What a job does is the first word of its command: `finish`, `fail` (the next word is the
//! code), `run` (until it is told to stop, then it saves), or `hang` (its start never gets anywhere).

use crate::clock::now_ms;
use crate::device::DeviceId;
use crate::ending::{Ending, FailReason};
use crate::error::ExecutorError;
use crate::event::{Cursor, Event, LeaseEvent, NodeEvent, WorkerExit};
use crate::event_log::EventLog;
use crate::executor::Executor;
use crate::launch::{CheckpointLocation, Launch, Program, RunAs};
use crate::logs::{LogChunk, LogQuery};
use crate::order::{Known, Order};
use oef_sched::{Generation, JobId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How often something happens.
const TICK: Duration = Duration::from_millis(1);

/// The exit code by which a job says that it saved its work.
const SAVED: i32 = 75;

type Key = (JobId, Generation);

/// Nodes and jobs that no executor takes along when it ends.
#[derive(Clone, Debug, Default)]
pub struct SimCluster(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    nodes: BTreeMap<String, Node>,
    /// What happened to nodes since the cluster is there.
    node_events: Vec<NodeEvent>,
    newest: BTreeMap<JobId, Generation>,
    leases: BTreeMap<Key, Lease>,
    /// How often the workers of a job were started.
    runs: BTreeMap<JobId, u32>,
    /// There is no room for another process.
    is_full: bool,
    /// Orders get lost on their way.
    loses_orders: bool,
}

#[derive(Debug)]
struct Node {
    gpu_type: String,
    devices: Vec<DeviceId>,
    usable: BTreeSet<DeviceId>,
}

#[derive(Debug)]
struct Lease {
    launch: Option<Launch>,
    stop: Option<String>,
    phase: Phase,
}

#[derive(Clone, Debug, PartialEq)]
enum Phase {
    Waiting,
    Running,
    Ended(Ending, Vec<WorkerExit>),
}

impl SimCluster {
    /// A cluster with so many GPUs on each of these nodes.
    pub fn new(nodes: &[(&str, &str, u32)]) -> SimCluster {
        let cluster = SimCluster::default();
        for (name, gpu_type, gpus) in nodes {
            let devices: Vec<DeviceId> =
                (0..*gpus).map(|index| DeviceId(format!("{name}/{index}"))).collect();
            let usable = devices.iter().cloned().collect();
            let node = Node { gpu_type: gpu_type.to_string(), devices, usable };
            cluster.state().nodes.insert(name.to_string(), node);
        }
        cluster
    }

    /// A node goes, with all that runs there.
    pub fn leave(&self, node: &str) {
        let reason = "it does not answer".to_string();
        self.change(node, |_| false, NodeEvent::Left { node: node.into(), reason });
    }

    /// A node takes no more jobs. Those that run there go on.
    pub fn drain(&self, node: &str, reason: &str) {
        let reason = reason.to_string();
        self.state().node_events.push(NodeEvent::Drained { node: node.into(), reason });
    }

    /// A node is there again, whole.
    pub fn join(&self, node: &str) {
        let state = self.state();
        let Some(known) = state.nodes.get(node) else { return };
        let event = joined(node, known);
        drop(state);
        self.change(node, |_| true, event);
    }

    /// Others use these GPUs of a node.
    pub fn use_by_others(&self, node: &str, used: &[DeviceId]) {
        let devices = self.state().nodes.get(node).map_or(Vec::new(), |node| node.devices.clone());
        let event = NodeEvent::Changed {
            node: node.into(),
            usable: devices.iter().filter(|device| !used.contains(device)).cloned().collect(),
            used_by_others: used.to_vec(),
            reason: "used by others".into(),
        };
        self.change(node, |device| !used.contains(device), event);
    }

    fn change(&self, name: &str, is_usable: impl Fn(&DeviceId) -> bool, event: NodeEvent) {
        let mut state = self.state();
        if let Some(node) = state.nodes.get_mut(name) {
            node.usable = node.devices.iter().filter(|device| is_usable(device)).cloned().collect();
            state.node_events.push(event);
        }
    }

    /// Kills what stands beside a job, and the job with it.
    pub fn kill(&self, job: JobId, generation: Generation) {
        if let Some(lease) = self.state().leases.get_mut(&(job, generation))
            && lease.phase == Phase::Running
        {
            let detail = "it was killed".to_string();
            lease.phase = Phase::Ended(Ending::Vanished { detail }, Vec::new());
        }
    }

    /// There is no room for another process from now on, or there is again.
    pub fn set_full(&self, is_full: bool) {
        self.state().is_full = is_full;
    }

    /// Orders get lost from now on, or arrive again.
    pub fn set_losing_orders(&self, loses_orders: bool) {
        self.state().loses_orders = loses_orders;
    }

    /// How often the workers of a job were started.
    pub fn runs(&self, job: JobId) -> u32 {
        self.state().runs.get(&job).copied().unwrap_or(0)
    }

    /// Whether anything of a job runs.
    pub fn is_running(&self, job: JobId) -> bool {
        let state = self.state();
        state.leases.iter().any(|((of, _), lease)| *of == job && lease.phase == Phase::Running)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn joined(name: &str, node: &Node) -> NodeEvent {
    let (gpu_type, devices) = (node.gpu_type.clone(), node.devices.clone());
    NodeEvent::Joined { node: name.into(), gpu_type, devices }
}

impl State {
    /// Lets everything happen that can happen now.
    fn tick(&mut self) {
        let State { nodes, newest, leases, runs, is_full, .. } = self;
        let busy: BTreeSet<JobId> = leases
            .iter()
            .filter(|(_, lease)| lease.phase == Phase::Running)
            .map(|((job, _), _)| *job)
            .collect();
        for ((job, generation), lease) in leases.iter_mut() {
            let Some(launch) = &lease.launch else { continue };
            if newest.get(job).is_some_and(|newest| newest > generation) {
                lease.stop.get_or_insert_with(|| "a newer lease took its place".to_string());
            }
            let is_there = |device| nodes.values().any(|node| node.usable.contains(device));
            let has_gpus = launch.devices.iter().all(is_there);
            let (word, code) = words(&launch.program);
            let stop = lease.stop.as_ref();
            let next = match (&lease.phase, stop) {
                (Phase::Waiting, Some(why)) => Some(Phase::Ended(unbegun(why), Vec::new())),
                (Phase::Waiting, None) if !has_gpus => {
                    let why = "its GPUs are not here any more".to_string();
                    Some(Phase::Ended(Ending::Refused { why }, Vec::new()))
                }
                (Phase::Waiting, None) if word == "hang" || *is_full || busy.contains(job) => None,
                (Phase::Waiting, None) => {
                    *runs.entry(*job).or_default() += 1;
                    Some(Phase::Running)
                }
                (Phase::Running, _) if !has_gpus => {
                    let detail = "its node is gone".to_string();
                    Some(Phase::Ended(Ending::Vanished { detail }, Vec::new()))
                }
                (Phase::Running, _) if word == "finish" => {
                    Some(Phase::Ended(Ending::Finished, exits(launch, 0, false)))
                }
                (Phase::Running, _) if word == "fail" => {
                    let ending = Ending::Failed {
                        reason: FailReason::Exit,
                        rank: Some(0),
                        code: Some(code),
                        signal: None,
                        last_lines: String::new(),
                    };
                    Some(Phase::Ended(ending, exits(launch, code, false)))
                }
                (Phase::Running, Some(_)) => {
                    Some(Phase::Ended(Ending::Checkpointed, exits(launch, SAVED, true)))
                }
                _ => None,
            };
            lease.phase = next.unwrap_or(lease.phase.clone());
        }
    }

    /// What can never be started, by what is wrong with it.
    fn problem(launch: &Launch) -> Option<String> {
        let has_command = !matches!(&launch.program, Program::Command(words) if words.is_empty());
        match &launch.run_as {
            RunAs::User(name) => Some(format!("there is no user `{name}`")),
            RunAs::Daemon if !has_command => Some("it has no command".to_string()),
            RunAs::Daemon => None,
        }
    }
}

fn words(program: &Program) -> (&str, i32) {
    match program {
        Program::Script(_) => ("finish", 0),
        Program::Command(words) => {
            let code = words.get(1).and_then(|word| word.parse().ok()).unwrap_or(1);
            (words.first().map_or("", String::as_str), code)
        }
    }
}

fn exits(launch: &Launch, code: i32, after_stop: bool) -> Vec<WorkerExit> {
    let ranks = (0..).take(launch.devices.len());
    ranks.map(|rank| WorkerExit { rank, code: Some(code), signal: None, after_stop }).collect()
}

fn unbegun(why: &str) -> Ending {
    Ending::Stopped { detail: format!("{why}; it had not begun") }
}

/// An executor whose nodes and jobs are simulated.
#[derive(Debug)]
pub struct SimExecutor {
    cluster: SimCluster,
    events: EventLog,
    told: Mutex<Told>,
}

/// What was told of the cluster.
#[derive(Debug, Default)]
struct Told {
    node_events: usize,
    /// Of which leases it is told, and how far that is.
    leases: BTreeMap<Key, Stage>,
    /// Jobs to forget when all is told.
    forgotten: BTreeSet<JobId>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    #[default]
    Nothing,
    Waits,
    Started,
    Ended,
}

impl SimExecutor {
    /// Connects to a cluster, and tells its nodes.
    pub fn open(cluster: &SimCluster) -> SimExecutor {
        let (events, mut told) = (EventLog::default(), Told::default());
        let state = cluster.state();
        let there = state.nodes.iter().filter(|(_, node)| !node.usable.is_empty());
        there.for_each(|(name, node)| events.push(Event::Node(joined(name, node))));
        events.push(Event::NodesListed);
        told.node_events = state.node_events.len();
        drop(state);
        SimExecutor { cluster: cluster.clone(), events, told: Mutex::new(told) }
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self, launch: &Launch) {
        let (job, generation) = (launch.job, launch.generation);
        let mut state = self.cluster.state();
        let newest = state.newest.get(&job).copied().unwrap_or_default();
        let void = match State::problem(launch) {
            Some(why) => Some(Ending::Impossible { why }),
            None if newest > generation => {
                Some(Ending::Refused { why: format!("lease {newest} took its place") })
            }
            None => None,
        };
        if let Some(ending) = void {
            let ended = LeaseEvent::Ended { ending, exits: Vec::new(), at_ms: now_ms() };
            self.events.lease(job, generation, ended);
            return;
        }
        state.newest.insert(job, generation);
        state.leases.entry((job, generation)).or_insert_with(|| Lease {
            launch: Some(launch.clone()),
            stop: None,
            phase: Phase::Waiting,
        });
        drop(state);
        self.told().leases.entry((job, generation)).or_default();
    }

    fn stop(&self, job: JobId, generation: Generation, why: &str) {
        let mut state = self.cluster.state();
        let lease = state.leases.entry((job, generation)).or_insert_with(|| Lease {
            launch: None,
            stop: None,
            phase: Phase::Ended(unbegun(why), Vec::new()),
        });
        lease.stop.get_or_insert(why.to_string());
        drop(state);
        self.told().leases.entry((job, generation)).or_default();
    }

    /// Lets things happen and tells them.
    fn look(&self) {
        let mut state = self.cluster.state();
        state.tick();
        let mut told = self.told();
        for event in &state.node_events[told.node_events..] {
            self.events.push(Event::Node(event.clone()));
        }
        told.node_events = state.node_events.len();
        for ((job, generation), stage) in &mut told.leases {
            let Some(lease) = state.leases.get(&(*job, *generation)) else { continue };
            let tell = |event| self.events.lease(*job, *generation, event);
            if lease.phase == Phase::Waiting && *stage < Stage::Waits {
                *stage = Stage::Waits;
                tell(LeaseEvent::Preparing("waits for the system".to_string()));
            }
            let has_run = !matches!(&lease.phase, Phase::Waiting)
                && !matches!(&lease.phase, Phase::Ended(_, exits) if exits.is_empty());
            if has_run && *stage < Stage::Started {
                *stage = Stage::Started;
                let checkpoints = Some(CheckpointLocation::Shared);
                tell(LeaseEvent::Started { at_ms: now_ms(), checkpoints });
            }
            if let Phase::Ended(ending, exits) = &lease.phase
                && *stage < Stage::Ended
            {
                *stage = Stage::Ended;
                let (ending, exits) = (ending.clone(), exits.clone());
                tell(LeaseEvent::Ended { ending, exits, at_ms: now_ms() });
            }
        }
        let Told { leases, forgotten, .. } = &mut *told;
        forgotten.retain(|job| {
            let is_live = leases.keys().any(|(of, _)| of == job);
            if !is_live {
                state.leases.retain(|(of, _), _| of != job);
            }
            is_live
        });
    }
}

impl Executor for SimExecutor {
    fn order(&self, order: Order) {
        if self.cluster.state().loses_orders {
            return;
        }
        match order {
            Order::Start(launch) => self.start(&launch),
            Order::Keep { .. } | Order::Retire(_) | Order::EndTenant(_) => {}
            Order::Stop { job, generation, why } => self.stop(job, generation, &why),
            Order::Forget(job) => drop(self.told().forgotten.insert(job)),
            Order::Acknowledge(cursor) => {
                let ended = self.events.acknowledge(cursor);
                let mut told = self.told();
                ended.iter().for_each(|key| _ = told.leases.remove(key));
            }
        }
    }

    fn events(&self, after: Cursor, wait: Duration) -> Vec<(Cursor, Event)> {
        let began = Instant::now();
        loop {
            self.look();
            let found = self.events.after(after, Duration::ZERO);
            if !found.is_empty() || began.elapsed() >= wait {
                return found;
            }
            sleep(TICK);
        }
    }

    fn resume(&self, known: Known) -> Result<JobId, ExecutorError> {
        let held: BTreeSet<Key> =
            known.held.iter().map(|held| (held.launch.job, held.launch.generation)).collect();
        let mut state = self.cluster.state();
        state.leases.retain(|key, _| held.contains(key) || known.jobs.contains(&key.0));
        for (_, lease) in state.leases.iter_mut().filter(|(key, _)| !held.contains(*key)) {
            if !matches!(lease.phase, Phase::Ended(..)) {
                let detail = "its lease had ended; it was killed".to_string();
                lease.phase = Phase::Ended(Ending::Stopped { detail }, Vec::new());
            }
        }
        let last = state.runs.last_key_value().map_or(0, |(job, _)| job.0.saturating_add(1));
        drop(state);
        for held in known.held {
            let (job, generation) = (held.launch.job, held.launch.generation);
            let is_new = !self.cluster.state().leases.contains_key(&(job, generation));
            if let Some(why) = &held.stop {
                self.stop(job, generation, why);
            } else if is_new {
                self.start(&held.launch);
            }
            self.told().leases.entry((job, generation)).or_default();
        }
        Ok(JobId(last.max(known.next.0)))
    }

    fn logs(&self, job: JobId, query: LogQuery) -> Result<LogChunk, ExecutorError> {
        let state = self.cluster.state();
        let mut leases = state.leases.iter().rev().filter(|((of, _), _)| *of == job);
        let is_asked = |generation| query.generation.is_none_or(|asked| asked == generation);
        let Some(((_, generation), lease)) = leases.find(|((_, g), _)| is_asked(*g)) else {
            return Err(ExecutorError::NoOutput(job));
        };
        let workers = lease.launch.as_ref().map_or(0, |launch| launch.devices.len());
        Ok(LogChunk {
            generation: *generation,
            workers: u32::try_from(workers).unwrap_or(u32::MAX),
            text: String::new(),
            left_out_bytes: 0,
            next: 0,
            is_end: matches!(lease.phase, Phase::Ended(..)),
        })
    }
}
