//! Emulated GPUs: jobs that run for their time and report on their way, without a process.

use oef_executor::{
    CheckpointLocation, Cursor, DeviceId, Ending, Event, Executor, ExecutorError, Known, Launch,
    LeaseEvent, LogChunk, LogQuery, NodeEvent, Order, Program, Progress, WorkerExit,
};
use oef_sched::{Generation, JobId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The gpu type of every second node.
pub(super) const SLOW: &str = "slow";
/// The gpu type of the others.
pub(super) const FAST: &str = "fast";

/// GPUs of a node.
const NODE_GPUS: u32 = 8;
/// A job tells how far it is so often.
const REPORT_EVERY: Duration = Duration::from_secs(10);
/// How often it is looked what is due.
const TICK: Duration = Duration::from_millis(20);
/// The exit code of a job that saved its work.
const SAVED: i32 = 75;

type Key = (JobId, Generation);

/// The nodes, and what runs there.
pub(super) struct Emulated(Mutex<State>);

struct State {
    began: Instant,
    last: u64,
    log: VecDeque<(Cursor, Event)>,
    running: BTreeMap<Key, Job>,
    /// How long those ran that were stopped on their way.
    saved: BTreeMap<JobId, Duration>,
    /// What is due when.
    due: BTreeSet<(Duration, Key)>,
}

struct Job {
    until: Duration,
    /// When it would have begun, had it never been stopped.
    since: Duration,
    /// Steps in a second.
    throughput: f64,
    workers: u32,
}

impl Emulated {
    /// So many GPUs, on nodes of eight; half of them are fast.
    pub fn new(gpus: u32) -> Emulated {
        let mut state = State {
            began: Instant::now(),
            last: 0,
            log: VecDeque::new(),
            running: BTreeMap::new(),
            saved: BTreeMap::new(),
            due: BTreeSet::new(),
        };
        for node in 0..gpus.div_ceil(NODE_GPUS) {
            let devices = (0..NODE_GPUS).map(|gpu| DeviceId(format!("n{node}/{gpu}"))).collect();
            let gpu_type = if is_fast(node) { FAST } else { SLOW }.to_string();
            state.tell(Event::Node(NodeEvent::Joined {
                node: format!("n{node}"),
                gpu_type,
                devices,
            }));
        }
        state.tell(Event::NodesListed);
        Emulated(Mutex::new(state))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Jobs that run now.
    pub fn running(&self) -> usize {
        self.state().running.len()
    }
}

fn is_fast(node: u32) -> bool {
    node % 2 == 1
}

/// Whether a GPU is on a fast node.
fn is_on_fast(DeviceId(name): &DeviceId) -> bool {
    let node = name.strip_prefix('n').and_then(|rest| rest.split('/').next());
    node.and_then(|number| number.parse().ok()).is_some_and(is_fast)
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl State {
    fn tell(&mut self, event: Event) {
        self.last += 1;
        self.log.push_back((Cursor(self.last), event));
    }

    fn tell_lease(&mut self, (job, generation): Key, event: LeaseEvent) {
        self.tell(Event::Lease { job, generation, event });
    }

    fn start(&mut self, launch: &Launch) {
        let Program::Command(words) = &launch.program else { return };
        let number = |at: usize| words.get(at).and_then(|word| word.parse().ok()).unwrap_or(1.0);
        let key = (launch.job, launch.generation);
        let now = self.began.elapsed();
        let done = self.saved.remove(&launch.job).unwrap_or_default();
        let is_fast = launch.devices.first().is_some_and(is_on_fast);
        let job = Job {
            until: now + Duration::from_secs_f64(number(1)).saturating_sub(done),
            since: now.saturating_sub(done),
            throughput: if is_fast { number(2) } else { 1.0 },
            workers: u32::try_from(launch.devices.len()).unwrap_or(u32::MAX),
        };
        let next = job.until.min(now + REPORT_EVERY);
        if self.running.insert(key, job).is_none() {
            let checkpoints = Some(CheckpointLocation::Shared);
            self.tell_lease(key, LeaseEvent::Started { at_ms: now_ms(), checkpoints });
            self.due.insert((next, key));
        }
    }

    fn stop(&mut self, key: Key) {
        if let Some(job) = self.running.get(&key) {
            self.saved.insert(key.0, self.began.elapsed().saturating_sub(job.since));
        }
        self.end(key, Ending::Checkpointed, SAVED);
    }

    fn end(&mut self, key: Key, ending: Ending, code: i32) {
        let workers = self.running.remove(&key).map_or(0, |job| job.workers);
        let after_stop = code == SAVED;
        let exit = |rank| WorkerExit { rank, code: Some(code), signal: None, after_stop };
        let exits = (0..workers).map(exit).collect();
        self.tell_lease(key, LeaseEvent::Ended { ending, exits, at_ms: now_ms() });
    }

    /// Ends and reports that are due.
    fn tick(&mut self) {
        let now = self.began.elapsed();
        while let Some(&(at, key)) = self.due.first() {
            if at > now {
                return;
            }
            self.due.pop_first();
            let Some(job) = self.running.get(&key) else { continue };
            if job.until <= now {
                self.end(key, Ending::Finished, 0);
                continue;
            }
            let steps = (now - job.since).as_secs_f64() * job.throughput;
            self.due.insert((job.until.min(now + REPORT_EVERY), key));
            let progress = Progress {
                steps,
                throughput: Some(job.throughput),
                checkpoint: Some(steps),
                at_ms: now_ms(),
                ..Progress::default()
            };
            self.tell_lease(key, LeaseEvent::Progress(progress));
        }
    }
}

impl Executor for Emulated {
    fn order(&self, order: Order) {
        let mut state = self.state();
        match order {
            Order::Start(launch) => state.start(&launch),
            Order::Stop { job, generation, .. } => state.stop((job, generation)),
            Order::Acknowledge(cursor) => {
                while state.log.front().is_some_and(|(known, _)| *known <= cursor) {
                    state.log.pop_front();
                }
            }
            Order::Retire(job) | Order::Forget(job) => drop(state.saved.remove(&job)),
            Order::Keep { .. } | Order::EndTenant(_) => {}
        }
    }

    fn events(&self, after: Cursor, wait: Duration) -> Vec<(Cursor, Event)> {
        let began = Instant::now();
        loop {
            let mut state = self.state();
            state.tick();
            let first = state.log.partition_point(|(cursor, _)| *cursor <= after);
            let new: Vec<_> = state.log.iter().skip(first).cloned().collect();
            drop(state);
            if !new.is_empty() || began.elapsed() >= wait {
                return new;
            }
            sleep(TICK.min(wait));
        }
    }

    fn resume(&self, known: Known) -> Result<JobId, ExecutorError> {
        Ok(known.next)
    }

    fn logs(&self, job: JobId, _: LogQuery) -> Result<LogChunk, ExecutorError> {
        Err(ExecutorError::NoOutput(job))
    }
}
