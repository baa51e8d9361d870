//! Figures from a real cluster.

use super::run::Figure;
use oef_executor::slurm::{Slurm, SlurmConfig, SlurmExecutor};
use oef_executor::{
    Cursor, DeviceId, Ending, Event, Executor, Known, Launch, LeaseEvent, NodeEvent, Order, Program,
};
use oef_sched::{Generation, JobId};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

/// Longer than this, nothing comes any more.
const LIMIT: Duration = Duration::from_secs(180);

/// A job whose checkpoint takes half a second.
const TRAINS: &str = "trap 'sleep 0.5; exit 75' TERM; while :; do sleep 0.05; done";

/// An executor on a cluster, and what it told.
pub(super) struct Bench {
    executor: SlurmExecutor,
    cursor: Cell<Cursor>,
    started: RefCell<BTreeSet<(JobId, Generation)>>,
    ended: RefCell<BTreeMap<(JobId, Generation), Ending>>,
    devices: RefCell<Vec<DeviceId>>,
}

impl Bench {
    pub(super) fn open(
        slurm: Slurm,
        partition: Option<String>,
        dir: &Path,
    ) -> Result<Bench, String> {
        let dir = std::path::absolute(dir.join("state")).map_err(|error| error.to_string())?;
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let runner = vec![program.into(), "runner".into()];
        let executor = SlurmExecutor::open(SlurmConfig::new(dir, runner, slurm, partition));
        let executor = executor.map_err(|error| error.to_string())?;
        executor.resume(Known::default()).map_err(|error| error.to_string())?;
        let bench = Bench {
            executor,
            cursor: Cell::default(),
            started: RefCell::default(),
            ended: RefCell::default(),
            devices: RefCell::default(),
        };
        bench.until("list of nodes", || !bench.devices.borrow().is_empty())?;
        Ok(bench)
    }

    /// All GPUs move to other jobs: every job is told to stop, saves its work, and starts on another node.
    pub(super) fn hand_over(&self) -> Result<Figure, String> {
        let devices = self.devices.borrow().clone();
        let all = devices.len();
        let launch = |at: usize, generation: u64, shift: usize| {
            let device = devices[(at + shift) % all].clone();
            job(at as u64 + 1, generation, device, TRAINS)
        };
        for at in 0..all {
            self.start(launch(at, 1, 0));
        }
        self.until("first start", || self.started.borrow().len() >= all)?;
        let begun = Instant::now();
        for at in 0..all {
            let (job, generation) = (JobId(at as u64 + 1), Generation(1));
            self.executor.order(Order::Stop { job, generation, why: "a new plan".into() });
        }
        // As the daemon does it: what is free is taken by who was planned there.
        let mut is_begun = vec![false; all];
        while self.started.borrow().len() < 2 * all {
            self.listen();
            for at in 0..all {
                let before = (at + all / 2) % all;
                let frees = (JobId(before as u64 + 1), Generation(1));
                let own = (JobId(at as u64 + 1), Generation(1));
                let ended = self.ended.borrow();
                if !is_begun[at] && ended.contains_key(&frees) && ended.contains_key(&own) {
                    is_begun[at] = true;
                    self.start(launch(at, 2, all / 2));
                }
            }
            if begun.elapsed() > LIMIT {
                return Err("not all GPUs changed hands".to_string());
            }
        }
        let value = begun.elapsed().as_secs_f64();
        for at in 0..all {
            let (job, generation) = (JobId(at as u64 + 1), Generation(2));
            self.executor.order(Order::Stop { job, generation, why: "measured".into() });
        }
        self.until("end", || self.ended.borrow().len() >= 2 * all)?;
        Ok(Figure {
            name: format!("all {all} GPUs move to other jobs"),
            value,
            unit: "s",
            bar: 5.0,
        })
    }

    /// Many short jobs, from the first order to the last end.
    pub(super) fn launch(&self, count: u64) -> Result<Figure, String> {
        let devices = self.devices.borrow().clone();
        let before = self.ended.borrow().len() as u64;
        let begun = Instant::now();
        for (at, device) in (0..count).zip(devices.iter().cycle()) {
            self.start(job(10_000 + at, 1, device.clone(), "true"));
        }
        self.until("launches", || self.ended.borrow().len() as u64 >= before + count)?;
        let value = begun.elapsed().as_secs_f64();
        Ok(Figure { name: format!("{count} launches"), value, unit: "s", bar: 15.0 })
    }

    fn start(&self, launch: Launch) {
        self.executor.order(Order::Start(Box::new(launch)));
    }

    fn until(&self, what: &str, is_so: impl Fn() -> bool) -> Result<(), String> {
        let begun = Instant::now();
        while !is_so() {
            if begun.elapsed() > LIMIT {
                return Err(format!("no {what} within {} s", LIMIT.as_secs()));
            }
            self.listen();
        }
        Ok(())
    }

    fn listen(&self) {
        for (cursor, event) in self.executor.events(self.cursor.get(), Duration::from_millis(10)) {
            self.cursor.set(cursor);
            match event {
                Event::Node(NodeEvent::Joined { devices, .. }) => {
                    self.devices.borrow_mut().extend(devices);
                }
                Event::Lease { job, generation, event: LeaseEvent::Started { .. } } => {
                    self.started.borrow_mut().insert((job, generation));
                }
                Event::Lease { job, generation, event: LeaseEvent::Ended { ending, .. } } => {
                    self.ended.borrow_mut().insert((job, generation), ending);
                }
                _ => {}
            }
        }
    }
}

fn job(id: u64, generation: u64, device: DeviceId, script: &str) -> Launch {
    let program = Program::Script(script.as_bytes().to_vec());
    Launch {
        generation: Generation(generation),
        tenant: "bench".into(),
        workload: "bench".into(),
        ..Launch::first(JobId(id), program, vec![device])
    }
}
