//! The simulated cluster, and the network between it and the daemon.
//!
//! It keeps an executor's side of the bargain, as `local` does with processes and files: orders may come twice, late and in
//! any order, a start under an older lease than was ever seen is refused, and an end is told again until it is acknowledged.
//! It passes the suite of all executors (`conformance`).

#[cfg(test)]
mod conformance;
mod leases;

use super::dice::Dice;
use super::plants::Plant;
use super::story::Kind;
use super::time::SimTime;
use oef_executor::{
    CheckpointLocation, Cursor, DeviceId, Ending, Event, EventLog, Executor, ExecutorError,
    FailReason, Known, Launch, LeaseEvent, LogChunk, LogQuery, NodeEvent, Order, Program, Progress,
    RunAs, Unknown, WorkerExit,
};
use oef_sched::{Generation, JobId};
use oef_server::invariants::{Broken, Invariant};
use oef_server::world::World;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A job that is told to stop and listens needs so long to save its work.
const SAVES_IN_MS: u64 = 1_000;
/// What an order takes at least: a daemon may die meanwhile.
const LATENCY_MS: u64 = 30;
/// What a slow network takes at most.
const DELAY_MAX_MS: u64 = 20_000;
/// A job tells how far it is so long after its start.
const TELLS_AFTER_MS: u64 = 10_000;
/// The exit code of a job that saved its work.
const SAVED: i32 = 75;

type Key = (JobId, Generation);

/// The nodes and what runs there; it outlives daemons.
#[derive(Clone)]
pub(super) struct Cluster(Arc<Mutex<State>>);

/// A daemon's connection to it.
pub(super) struct Line(Cluster);

struct State {
    time: SimTime,
    dice: Dice,
    plant: Option<Plant>,
    nodes: Vec<Node>,
    newest: BTreeMap<JobId, Generation>,
    leases: BTreeMap<Key, Lease>,
    /// Those whose end was heard: what a runner leaves behind, until its job is forgotten.
    over: BTreeMap<Key, Lease>,
    /// Work that was saved.
    saved: BTreeMap<JobId, u64>,
    /// Starts of each job, and under which lease the last was.
    begun: BTreeMap<JobId, (u32, Generation)>,
    is_slow: bool,
    broken: Option<Broken>,
    line: LineState,
}

/// What is gone with the daemon.
#[derive(Default)]
struct LineState {
    orders: Vec<(u64, u64, Order)>,
    pending: Vec<(u64, u64, Event)>,
    due_of: BTreeMap<JobId, u64>,
    log: EventLog,
    told: BTreeMap<Key, Stage>,
    /// Jobs to forget as soon as the ends of all their leases were heard.
    forgotten: BTreeSet<JobId>,
    next: u64,
}

struct Node {
    name: &'static str,
    gpu_type: &'static str,
    gpus: u32,
    is_up: bool,
    /// Its cluster sends no more jobs there.
    is_closed: bool,
    foreign: u32,
}

struct Lease {
    launch: Option<Launch>,
    stop: Option<(u64, String)>,
    phase: Phase,
    /// Processes that are still there although an end was told (only where a mistake is planted).
    ghost_until: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
enum Phase {
    Waiting,
    Running { since: u64 },
    Ended { ending: Ending, exits: Vec<WorkerExit>, at_ms: u64 },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    #[default]
    Nothing,
    Started,
    Told,
    Ended,
}

impl Cluster {
    pub fn new(time: &SimTime, seed: u64, plant: Option<Plant>) -> Cluster {
        let nodes = [("s0", "slow", 4), ("f0", "fast", 2), ("f1", "fast", 4)];
        Cluster::of(&nodes, time, seed, plant)
    }

    /// A cluster of these nodes: name, gpu type, GPUs.
    fn of(
        nodes: &[(&'static str, &'static str, u32)],
        time: &SimTime,
        seed: u64,
        plant: Option<Plant>,
    ) -> Cluster {
        let node = |&(name, gpu_type, gpus): &(&'static str, &'static str, u32)| Node {
            name,
            gpu_type,
            gpus,
            is_up: true,
            is_closed: false,
            foreign: 0,
        };
        let nodes = nodes.iter().map(node).collect();
        Cluster(Arc::new(Mutex::new(State {
            time: time.clone(),
            dice: Dice::new(seed ^ 0xc105),
            plant,
            nodes,
            newest: BTreeMap::new(),
            leases: BTreeMap::new(),
            over: BTreeMap::new(),
            saved: BTreeMap::new(),
            begun: BTreeMap::new(),
            is_slow: false,
            broken: None,
            line: LineState::default(),
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new daemon connects: what was on its way to the old one is gone.
    pub fn connect(&self) -> Line {
        let mut state = self.state();
        state.line = LineState::default();
        let joined: Vec<Event> =
            state.nodes.iter().filter(|n| n.is_up).flat_map(|n| state.about(n)).collect();
        joined.into_iter().for_each(|event| state.line.log.push(event));
        state.line.log.push(Event::NodesListed);
        Line(self.clone())
    }

    pub fn node_name(&self, node: u8) -> String {
        let state = self.state();
        state.nodes[usize::from(node) % state.nodes.len()].name.into()
    }

    /// A node dies or comes back.
    pub fn set_up(&self, node: u8, is_up: bool) {
        let mut state = self.state();
        let at = usize::from(node) % state.nodes.len();
        if state.nodes[at].is_up == is_up {
            return;
        }
        state.nodes[at].is_up = is_up;
        let name = state.nodes[at].name;
        if is_up {
            let events = state.about(&state.nodes[at]);
            events.into_iter().for_each(|event| state.send(None, event));
            return;
        }
        state.end_on(name);
        if !state.has(Plant::NodeLeftUntold) {
            let reason = "it does not answer".into();
            state.send(None, Event::Node(NodeEvent::Left { node: name.into(), reason }));
        }
    }

    /// Others use a GPU of a node, or no longer.
    pub fn set_foreign(&self, node: u8, on: bool) {
        let mut state = self.state();
        let at = usize::from(node) % state.nodes.len();
        let foreign = u32::from(on);
        if state.nodes[at].foreign == foreign {
            return;
        }
        state.nodes[at].foreign = foreign;
        if state.nodes[at].is_up {
            let event = state.nodes[at].changed();
            state.send(None, event);
        }
    }

    /// The cluster lets a node take no more jobs, or takes it back in.
    pub fn set_closed(&self, node: u8, is_closed: bool) {
        let mut state = self.state();
        let at = usize::from(node) % state.nodes.len();
        if state.nodes[at].is_closed == is_closed {
            return;
        }
        state.nodes[at].is_closed = is_closed;
        if state.nodes[at].is_up {
            let events = state.about(&state.nodes[at]);
            events.into_iter().for_each(|event| state.send(None, event));
        }
    }

    /// What stands beside a running job is killed, and the job with it.
    pub fn kill(&self, nth: u8) {
        let mut state = self.state();
        let running: Vec<Key> = state.running().map(|(key, _)| *key).collect();
        if !running.is_empty() {
            let key = running[usize::from(nth) % running.len()];
            state.end(key, Ending::Vanished { detail: "it was killed".into() }, None);
        }
    }

    pub fn set_slow(&self, is_slow: bool) {
        self.state().is_slow = is_slow;
    }

    /// Nodes that are gone.
    pub fn gone(&self) -> Vec<&'static str> {
        self.state().nodes.iter().filter(|node| !node.is_up).map(|node| node.name).collect()
    }

    /// Whether something was started that a world does not know.
    pub fn has_more_than(&self, world: &World) -> bool {
        self.state().newest.iter().any(|(id, newest)| match world.jobs.get(id) {
            None => id.0 >= world.next_job,
            Some(job) if job.state.is_final() => false,
            Some(job) => job.runs.last().is_none_or(|run| run.generation < *newest),
        })
    }

    /// What the nodes saw that must never be.
    pub fn broken(&self) -> Option<Broken> {
        self.state().broken.take()
    }

    /// Whether anything of a job runs.
    pub fn is_running(&self, job: JobId) -> bool {
        self.state().running().any(|((of, _), _)| *of == job)
    }

    /// When something happens next, in simulated milliseconds; none: nothing is under way.
    pub fn next(&self) -> Option<u64> {
        let state = self.state();
        let line = &state.line;
        let sent = line
            .orders
            .iter()
            .map(|(due, ..)| *due)
            .chain(line.pending.iter().map(|(due, ..)| *due));
        let running = state.running().map(|(_, lease)| state.due(lease));
        sent.chain(running).min()
    }

    pub fn tick(&self) {
        self.state().tick();
    }
}

impl Node {
    fn devices(&self) -> Vec<DeviceId> {
        (0..self.gpus).map(|index| DeviceId(format!("{}/{index}", self.name))).collect()
    }

    fn usable(&self) -> Vec<DeviceId> {
        let is_there = self.is_up && !self.is_closed;
        let usable = if is_there { self.gpus.saturating_sub(self.foreign) } else { 0 };
        self.devices().into_iter().skip((self.gpus - usable) as usize).collect()
    }

    fn changed(&self) -> Event {
        let usable = self.usable();
        let used_by_others = self.devices().into_iter().filter(|d| !usable.contains(d)).collect();
        let (node, reason) = (self.name.into(), "used by others".into());
        Event::Node(NodeEvent::Changed { node, usable, used_by_others, reason })
    }
}

impl Lease {
    fn words(&self) -> (Kind, u64) {
        let words = self.command();
        let kind = words.get(1).map_or(Kind::Works, |word| Kind::named(word));
        (kind, words.get(2).and_then(|word| word.parse().ok()).unwrap_or(1_000))
    }

    /// The code with which it fails.
    fn code(&self) -> i32 {
        self.command().get(3).and_then(|word| word.parse().ok()).unwrap_or(1)
    }

    fn command(&self) -> &[String] {
        match &self.launch {
            Some(Launch { program: Program::Command(words), .. }) => words,
            _ => &[],
        }
    }

    fn workers(&self) -> u32 {
        let devices = self.launch.as_ref().map_or(0, |launch| launch.devices.len());
        u32::try_from(devices).unwrap_or(u32::MAX)
    }
}

impl Executor for Line {
    fn order(&self, order: Order) {
        let mut state = self.0.state();
        let due = state.now() + LATENCY_MS + state.delay();
        // Now and then an order comes twice.
        let twice = matches!(order, Order::Start(_) | Order::Stop { .. }) && state.dice.once_in(6);
        for copy in 0..=usize::from(twice) {
            state.line.next += 1;
            let number = state.line.next;
            // A copy may be much later than the first.
            let later = if copy > 0 { state.dice.below(2 * DELAY_MAX_MS) } else { 0 };
            state.line.orders.push((due + later, number, order.clone()));
        }
    }

    fn events(&self, after: Cursor, _wait: Duration) -> Vec<(Cursor, Event)> {
        let mut state = self.0.state();
        state.tick();
        state.line.log.after(after, Duration::ZERO)
    }

    fn unknown(&self, known: &Known) -> Unknown {
        let state = self.0.state();
        if state.has(Plant::RunnersNotAsked) {
            return Unknown::default();
        }
        let is_later = |(job, newest): &(&JobId, &Generation)| {
            known.leases.get(job).is_some_and(|k| *newest > k)
        };
        Unknown {
            jobs: state.newest.range(known.next..).map(|(job, _)| *job).collect(),
            started: state.newest.iter().filter(is_later).map(|(job, _)| *job).collect(),
        }
    }

    fn resume(&self, known: Known) -> Result<JobId, ExecutorError> {
        Ok(self.0.state().resume(known))
    }

    fn logs(&self, job: JobId, _: LogQuery) -> Result<LogChunk, ExecutorError> {
        let state = self.0.state();
        let leases = state.leases.iter().chain(&state.over);
        let last = leases.filter(|((of, _), _)| *of == job).max_by_key(|(key, _)| **key);
        let ((_, generation), lease) = last.ok_or(ExecutorError::NoOutput(job))?;
        Ok(LogChunk {
            generation: *generation,
            workers: lease.workers(),
            text: String::new(),
            left_out_bytes: 0,
            next: 0,
            is_end: matches!(lease.phase, Phase::Ended { .. }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oef_executor::{Checkpoints, StopSignal};
    use oef_sched::{Span, Time};

    fn launch(ms: u64) -> Launch {
        Launch {
            job: JobId(1),
            generation: Generation(1),
            tenant: "t0".into(),
            workload: "default".into(),
            name: "job 1".into(),
            program: Program::Command(vec!["job".into(), "works".into(), ms.to_string()]),
            run_as: RunAs::Daemon,
            env: BTreeMap::new(),
            workdir: None,
            checkpoints: Checkpoints::default(),
            devices: vec![DeviceId("s0/0".into())],
            restart: 0,
            finished: BTreeSet::new(),
            stop_signal: StopSignal::Term,
            grace: Span(30_000),
            max_run: None,
            until: Time(u64::MAX),
            log_limit_bytes: 1,
            warm: Vec::new(),
            probe: None,
            terminal: None,
        }
    }

    /// A stop that would be carried out in the very millisecond in which the job tells of itself was never carried out.
    #[test]
    fn a_stop_is_carried_out_whenever_it_comes() {
        for told in [1, TELLS_AFTER_MS - SAVES_IN_MS, TELLS_AFTER_MS, TELLS_AFTER_MS + 1] {
            let time = SimTime::default();
            let cluster = Cluster::new(&time, 1, None);
            cluster.state().start(launch(600_000));
            cluster.tick();
            assert!(cluster.is_running(JobId(1)));
            time.advance(told);
            cluster.tick();
            cluster.state().stop(JobId(1), Generation(1), "test".into());
            time.advance(SAVES_IN_MS);
            cluster.tick();
            assert!(!cluster.is_running(JobId(1)), "told after {told} ms");
        }
    }
}
