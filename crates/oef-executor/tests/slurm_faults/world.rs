//! An executor on a real Slurm, and what it told.

use crate::common::{PROGRAM, with_variable};
use crate::slurm_lab::Lab;
use oef_executor::slurm::{Slurm, SlurmConfig, SlurmExecutor};
use oef_executor::{
    Cursor, DeviceId, Ending, Event, Executor, Known, Launch, LeaseEvent, NodeEvent, Order, Program,
};
use oef_sched::{Generation, JobId};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Generous: reached only when something hangs.
const DEADLINE: Duration = Duration::from_secs(90);

/// One cluster for all, and one test at a time: what is done to it is felt by everybody.
fn lab() -> (MutexGuard<'static, ()>, &'static Lab) {
    static LAB: OnceLock<Lab> = OnceLock::new();
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let settings = [("LAB_ACCOUNTING", "0"), ("LAB_SLURMD_TIMEOUT", "6"), ("LAB_KILL_WAIT", "5")];
    (alone, LAB.get_or_init(|| Lab::up(&settings)))
}

pub struct World {
    pub lab: &'static Lab,
    pub folder: PathBuf,
    pub executor: SlurmExecutor,
    cursor: Cursor,
    pub heard: Vec<Event>,
    _alone: MutexGuard<'static, ()>,
}

impl World {
    pub fn new() -> World {
        World::with(|_, _| {})
    }

    /// With other settings than the usual ones.
    pub fn with(change: impl FnOnce(&mut SlurmConfig, &Path)) -> World {
        let (alone, lab) = lab();
        let folder = tempfile::Builder::new().prefix("world-").tempdir_in(&lab.dir);
        let folder = folder.expect("a folder").keep();
        let slurm =
            Slurm { conf: Some(lab.conf()), limit: Duration::from_secs(30), ..Slurm::default() };
        let runner = vec![PROGRAM.into(), "runner".into()];
        let mut config = SlurmConfig::new(folder.join("state"), runner, slurm, Some("gpu".into()));
        config.poll = Duration::from_millis(250);
        change(&mut config, &folder);
        let executor = SlurmExecutor::open(config).expect("an executor");
        executor.resume(Known::default()).expect("resumed");
        let (cursor, heard) = (Cursor(0), Vec::new());
        let mut world = World { lab, folder, executor, cursor, heard, _alone: alone };
        world.until("nodes", |world| world.heard.contains(&Event::NodesListed).then_some(()));
        world
    }

    /// Runs until it is told to stop, and says then that it saved its work.
    pub fn job(&self, id: u64, devices: &[&str]) -> Launch {
        let runs = self.folder.join("runs");
        let script = format!(
            "trap 'exit 75' TERM; [ $RANK = 0 ] || mark=.others; echo $OEF_GENERATION >> {}-$OEF_JOB_ID$mark; \
             while [ ! -e {}/finish-$OEF_JOB_ID ]; do sleep 0.05; done",
            runs.display(),
            self.folder.display()
        );
        let devices = devices.iter().map(|device| DeviceId(device.to_string())).collect();
        let plain = Launch::first(JobId(id), Program::Script(script.into_bytes()), devices);
        Launch { tenant: "vision".into(), workload: "vgg16".into(), ..plain }
    }

    pub fn start(&self, launch: &Launch) {
        self.executor.order(Order::Start(Box::new(launch.clone())));
    }

    pub fn stop(&self, launch: &Launch) {
        let (job, generation) = (launch.job, launch.generation);
        self.executor.order(Order::Stop { job, generation, why: "others are owed more".into() });
    }

    pub fn until<T>(&mut self, what: &str, find: impl Fn(&World) -> Option<T>) -> T {
        let began = Instant::now();
        loop {
            if let Some(found) = find(self) {
                return found;
            }
            assert!(began.elapsed() < DEADLINE, "no {what}; heard: {:#?}", self.heard);
            for (cursor, event) in self.executor.events(self.cursor, Duration::from_millis(20)) {
                self.cursor = cursor;
                self.heard.push(event);
            }
        }
    }

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

    pub fn runs(&mut self, launch: &Launch, count: usize) {
        self.until("run", |world| (world.starts(launch.job) >= count).then_some(()));
    }

    /// Waits until every worker of a gang runs that was started once.
    pub fn all_run(&mut self, launch: &Launch) {
        self.runs(launch, 1);
        let others = format!("runs-{}.others", launch.job);
        let count = launch.devices.len() - 1;
        self.until("run of all", |world| (world.lines(&others) == count).then_some(()));
    }

    /// How often its first worker was started.
    pub fn starts(&self, job: JobId) -> usize {
        self.lines(&format!("runs-{job}"))
    }

    fn lines(&self, file: &str) -> usize {
        fs::read_to_string(self.folder.join(file)).unwrap_or_default().lines().count()
    }

    pub fn ending(&mut self, launch: &Launch) -> Ending {
        let ending = self.until("ending", |world| {
            world.told(launch).into_iter().find_map(|event| match event {
                LeaseEvent::Ended { ending, .. } => Some(ending),
                _ => None,
            })
        });
        self.executor.order(Order::Acknowledge(self.cursor));
        ending
    }

    pub fn finish(&mut self, launch: &Launch) -> Ending {
        fs::write(self.folder.join(format!("finish-{}", launch.job)), "").expect("written");
        self.ending(launch)
    }

    pub fn is_running(&self, launch: &Launch) -> bool {
        let path = self.folder.join(format!("state/runs/{}/{}", launch.job, launch.generation));
        !with_variable(&format!("OEF_RUN_DIR={}", path.display())).is_empty()
    }

    pub fn node_word(&mut self, node: &str, is_meant: impl Fn(&NodeEvent) -> bool) -> NodeEvent {
        self.until(&format!("word of {node}"), |world| {
            let of = world.heard.iter().filter_map(|event| match event {
                Event::Node(event) => Some(event),
                _ => None,
            });
            of.filter(|event| is_meant(event)).last().cloned()
        })
    }

    pub fn slurm_id(&self, launch: &Launch) -> String {
        let path =
            self.folder.join(format!("state/runs/{}/{}/slurm.json", launch.job, launch.generation));
        let text = fs::read_to_string(path).expect("submitted");
        text.split("\"id\":").nth(1).expect("an id").trim_end_matches(['}', '\n']).to_string()
    }
}

pub fn next(launch: &Launch) -> Launch {
    let generation = Generation(launch.generation.0 + 1);
    Launch { generation, restart: launch.restart + 1, ..launch.clone() }
}
