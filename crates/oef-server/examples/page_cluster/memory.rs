//! An executor that only keeps books: jobs run for so many seconds as the second word of their command says.

use oef_executor::{
    CheckpointLocation, Cursor, DeviceId, Ending, Event, Executor, ExecutorError, Known, Launch,
    LeaseEvent, LogChunk, LogQuery, NodeEvent, Order, Program, Progress, WorkerExit,
};
use oef_sched::{Generation, JobId};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How often somebody looks which jobs are done, and how far the others are.
const LOOK: Duration = Duration::from_millis(250);
/// A job tells its progress so often.
const TELL: Duration = Duration::from_secs(4);

/// Nodes and jobs in memory.
pub struct MemoryExecutor {
    inner: Mutex<Inner>,
    news: Condvar,
}

#[derive(Default)]
struct Inner {
    last: u64,
    events: VecDeque<(Cursor, Event)>,
    running: BTreeMap<(JobId, Generation), Running>,
}

struct Running {
    since: Instant,
    told: Instant,
    steps_before: f64,
    seconds: u64,
    workers: u32,
}

impl MemoryExecutor {
    /// With these nodes: name, type, GPUs.
    pub fn new(nodes: &[(String, String, u32)]) -> Self {
        let mut inner = Inner::default();
        for (node, gpu_type, gpus) in nodes {
            let devices = (0..*gpus).map(|index| DeviceId(format!("{node}/{index}"))).collect();
            let (node, gpu_type) = (node.clone(), gpu_type.clone());
            inner.push(Event::Node(NodeEvent::Joined { node, gpu_type, devices }));
        }
        inner.push(Event::NodesListed);
        MemoryExecutor { inner: Mutex::new(inner), news: Condvar::new() }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn push(&mut self, event: Event) {
        self.last += 1;
        self.events.push_back((Cursor(self.last), event));
    }

    fn start(&mut self, launch: &Launch) {
        let seconds = match &launch.program {
            Program::Command(words) => words.get(1).and_then(|word| word.parse().ok()),
            Program::Script(_) => None,
        };
        let now = Instant::now();
        let running = Running {
            since: now,
            told: now,
            steps_before: 0.0,
            seconds: seconds.unwrap_or(60),
            workers: launch.devices.len() as u32,
        };
        self.running.insert((launch.job, launch.generation), running);
        let event =
            LeaseEvent::Started { at_ms: now_ms(), checkpoints: Some(CheckpointLocation::Shared) };
        self.push(Event::Lease { job: launch.job, generation: launch.generation, event });
    }

    fn end(&mut self, key: (JobId, Generation), ending: Ending, code: i32, after_stop: bool) {
        let Some(running) = self.running.remove(&key) else { return };
        let exit = |rank| WorkerExit { rank, code: Some(code), signal: None, after_stop };
        let exits = (0..running.workers).map(exit).collect();
        let event = LeaseEvent::Ended { ending, exits, at_ms: now_ms() };
        self.push(Event::Lease { job: key.0, generation: key.1, event });
    }

    /// Ends what is done, and tells how far the rest is.
    fn look(&mut self) {
        let now = Instant::now();
        let done = |r: &Running| r.since.elapsed().as_secs() >= r.seconds;
        let ended: Vec<_> = self.running.iter().filter(|(_, r)| done(r)).map(|(k, _)| *k).collect();
        for key in ended {
            self.end(key, Ending::Finished, 0, false);
        }
        let mut told = Vec::new();
        for (key, running) in &mut self.running {
            if now.duration_since(running.told) < TELL {
                continue;
            }
            running.told = now;
            let steps = running.steps_before + 5.0 * running.since.elapsed().as_secs_f64();
            let progress = Progress {
                steps,
                throughput: Some(5.0 * f64::from(running.workers)),
                loss: Some(8.0 / (1.0 + steps / 400.0)),
                checkpoint: Some((steps / 100.0).floor() * 100.0),
                at_ms: now_ms(),
                ..Progress::default()
            };
            told.push((*key, progress));
        }
        // A tenth of them: a large cluster tells less about each.
        for ((job, generation), progress) in
            told.into_iter().filter(|((job, _), _)| job.0 % 10 == 1)
        {
            self.push(Event::Lease { job, generation, event: LeaseEvent::Progress(progress) });
        }
    }
}

impl Executor for MemoryExecutor {
    fn order(&self, order: Order) {
        let mut inner = self.inner();
        match order {
            Order::Start(launch) => inner.start(&launch),
            Order::Stop { job, generation, .. } => {
                inner.end((job, generation), Ending::Checkpointed, 75, true);
            }
            Order::Acknowledge(upto) => {
                while inner.events.front().is_some_and(|(at, _)| *at <= upto) {
                    inner.events.pop_front();
                }
            }
            Order::Keep { .. } | Order::Retire(_) | Order::Forget(_) | Order::EndTenant(_) => {}
        }
        self.news.notify_all();
    }

    fn events(&self, after: Cursor, wait: Duration) -> Vec<(Cursor, Event)> {
        let began = Instant::now();
        let mut inner = self.inner();
        loop {
            inner.look();
            let found: Vec<_> =
                inner.events.iter().filter(|(at, _)| *at > after).cloned().collect();
            if !found.is_empty() || began.elapsed() >= wait {
                return found;
            }
            inner = self.news.wait_timeout(inner, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn resume(&self, known: Known) -> Result<JobId, ExecutorError> {
        let mut inner = self.inner();
        for held in &known.held {
            inner.start(&held.launch);
        }
        Ok(known.next)
    }

    fn logs(&self, _: JobId, _: LogQuery) -> Result<LogChunk, ExecutorError> {
        Ok(LogChunk {
            generation: Generation(1),
            text: String::new(),
            next: 0,
            is_end: false,
            left_out_bytes: 0,
            workers: 1,
        })
    }
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
