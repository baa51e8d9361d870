//! A daemon as far as an executor can tell: a journal, orders, and events that are heard.

use super::bed::{Bed, Does};
use oef_executor::{
    Cursor, DeviceId, Ending, Event, Executor, Held, Known, Launch, LeaseEvent, NodeEvent, Order,
    WorkerExit,
};
use oef_sched::{Generation, JobId};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Generous: reached only when something hangs.
const DEADLINE: Duration = Duration::from_secs(60);

pub struct Daemon {
    /// None for the moment in which there is no executor.
    executor: Option<Box<dyn Executor>>,
    pub bed: Box<dyn Bed>,
    pub cursor: Cursor,
    /// The journal: leases that are held, and every job.
    pub held: BTreeMap<JobId, Held>,
    pub jobs: BTreeSet<JobId>,
    pub heard: Vec<Event>,
}

impl Daemon {
    pub fn new(mut bed: Box<dyn Bed>) -> Daemon {
        let executor = Some(bed.open());
        let (held, jobs) = (BTreeMap::new(), BTreeSet::new());
        Daemon { executor, bed, cursor: Cursor(0), held, jobs, heard: Vec::new() }
    }

    pub fn executor(&self) -> &dyn Executor {
        self.executor.as_deref().expect("an executor")
    }

    /// The executor is killed, another takes its place, and hears what is journalled.
    pub fn restart(&mut self) -> JobId {
        self.executor = None;
        self.executor = Some(self.bed.open());
        self.cursor = Cursor(0);
        self.heard.clear();
        let next = self.jobs.last().map_or(JobId(0), |last| JobId(last.0 + 1));
        let held = self.held.values().cloned().collect();
        self.executor()
            .resume(Known { held, jobs: self.jobs.clone(), next, ..Known::default() })
            .expect("resumed")
    }

    /// A job on the first GPU.
    pub fn job(&self, id: u64, does: Does) -> Launch {
        let (_, devices) = &self.bed.nodes()[0];
        self.job_on(id, does, devices[..1].to_vec())
    }

    pub fn job_on(&self, id: u64, does: Does, devices: Vec<DeviceId>) -> Launch {
        let plain = Launch::first(JobId(id), self.bed.program(does), devices);
        Launch { tenant: "vision".into(), workload: "vgg16".into(), ..plain }
    }

    pub fn journal(&mut self, launch: &Launch) {
        self.jobs.insert(launch.job);
        self.held.insert(launch.job, Held { launch: launch.clone(), stop: None });
    }

    pub fn journal_stop(&mut self, launch: &Launch) {
        if let Some(held) = self.held.get_mut(&launch.job) {
            held.stop = Some("others are owed more".into());
        }
    }

    pub fn order_start(&self, launch: &Launch) {
        self.executor().order(Order::Start(Box::new(launch.clone())));
    }

    pub fn order_stop(&self, launch: &Launch) {
        let (job, generation, why) =
            (launch.job, launch.generation, "others are owed more".to_string());
        self.executor().order(Order::Stop { job, generation, why });
    }

    /// Journals a start, then orders it.
    pub fn start(&mut self, launch: &Launch) {
        self.journal(launch);
        self.order_start(launch);
    }

    pub fn stop(&mut self, launch: &Launch) {
        self.journal_stop(launch);
        self.order_stop(launch);
    }

    pub fn listen(&mut self) {
        for (cursor, event) in self.executor().events(self.cursor, Duration::from_millis(5)) {
            assert!(cursor > self.cursor, "cursors grow");
            self.cursor = cursor;
            self.heard.push(event);
        }
    }

    pub fn until<T>(&mut self, what: &str, find: impl Fn(&Daemon) -> Option<T>) -> T {
        let began = Instant::now();
        loop {
            if let Some(found) = find(self) {
                return found;
            }
            assert!(began.elapsed() < DEADLINE, "no {what}; heard: {:#?}", self.heard);
            self.listen();
        }
    }

    /// What was told of a lease.
    pub fn told(&self, launch: &Launch) -> Vec<LeaseEvent> {
        let about = (launch.job, launch.generation);
        let of = |event: &Event| match event {
            Event::Lease { job, generation, event } if (*job, *generation) == about => {
                Some(event.clone())
            }
            _ => None,
        };
        self.heard.iter().filter_map(of).collect()
    }

    pub fn node_events(&self) -> Vec<NodeEvent> {
        let of = |event: &Event| match event {
            Event::Node(event) => Some(event.clone()),
            _ => None,
        };
        self.heard.iter().filter_map(of).collect()
    }

    fn started(&mut self, launch: &Launch) {
        let is_start = |event: &LeaseEvent| matches!(event, LeaseEvent::Started { .. });
        self.until("start", |daemon| daemon.told(launch).iter().any(is_start).then_some(()));
    }

    /// Waits until a job runs for the first time, and has got so far that it can be stopped.
    pub fn runs(&mut self, launch: &Launch) {
        self.runs_again(launch, 1);
    }

    pub fn runs_again(&mut self, launch: &Launch, runs: u32) {
        self.started(launch);
        self.until("run", |daemon| (daemon.bed.runs(launch.job) >= runs).then_some(()));
    }

    /// Waits for an ending, journals and acknowledges it.
    pub fn ended(&mut self, launch: &Launch) -> (Ending, Vec<WorkerExit>) {
        let ended = self.until("ending", |daemon| {
            daemon.told(launch).into_iter().find_map(|event| match event {
                LeaseEvent::Ended { ending, exits, .. } => Some((ending, exits)),
                _ => None,
            })
        });
        self.held.remove(&launch.job);
        self.executor().order(Order::Acknowledge(self.cursor));
        ended
    }

    pub fn ending(&mut self, launch: &Launch) -> Ending {
        self.ended(launch).0
    }

    pub fn run(&mut self, launch: &Launch) -> Ending {
        self.start(launch);
        self.ending(launch)
    }
}

/// The same job under its next lease.
pub fn next(launch: &Launch) -> Launch {
    let generation = Generation(launch.generation.0 + 1);
    Launch { generation, restart: launch.restart + 1, ..launch.clone() }
}
