//! A state folder, an executor on it, and jobs to run there.
#![allow(dead_code, reason = "every test binary uses a part of it, and one may use all")]

use oef_executor::local::{LocalConfig, LocalExecutor};
use oef_executor::{
    Device, DeviceKind, Ending, Executor, Held, Launch, LogQuery, Observation, Order, StopSignal,
    Stream,
};
use oef_sched::{Generation, JobId, Span, Time};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Generous: reached only when something hangs.
const DEADLINE: Duration = Duration::from_secs(60);

/// The program of this crate that has the runner and the demonstration job.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_oef-runner");

/// A state folder with an executor.
pub struct World {
    pub folder: TempDir,
    pub executor: LocalExecutor,
    pub seen: Vec<Observation>,
}

impl World {
    pub fn new() -> World {
        let folder = tempfile::tempdir().expect("a folder");
        let executor = open(folder.path());
        World { folder, executor, seen: Vec::new() }
    }

    /// The daemon ends, however, and another begins.
    pub fn restart(self) -> World {
        let World { folder, executor, seen } = self;
        drop(executor);
        let executor = open(folder.path());
        World { folder, executor, seen }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("there").join(name)
    }

    pub fn run_dir(&self, launch: &Launch) -> PathBuf {
        self.path(&format!("state/runs/{}/{}", launch.job, launch.generation))
    }

    /// A job that runs a program.
    pub fn job(&self, id: u64, command: &[&str]) -> Launch {
        Launch {
            job: JobId(id),
            generation: Generation(1),
            tenant: "vision".into(),
            workload: "vgg16".into(),
            name: format!("job {id}"),
            command: command.iter().map(|word| word.to_string()).collect(),
            env: BTreeMap::new(),
            workdir: self.path("."),
            checkpoint_dir: self.path(&format!("checkpoints/{id}")),
            fetch: None,
            devices: devices(1),
            restart: 0,
            stop_signal: StopSignal::Term,
            grace: Span(20_000),
            max_run: None,
            until: Time(0),
            log_limit_bytes: 1 << 20,
            warm: Vec::new(),
            probe: None,
        }
    }

    /// A job that runs a script.
    pub fn script(&self, id: u64, script: &str) -> Launch {
        self.job(id, &["bash", "-c", script])
    }

    /// A job that runs the demonstration.
    pub fn demo(&self, id: u64, options: &str) -> Launch {
        let mut command = vec![PROGRAM, "demo-job"];
        command.extend(options.split_whitespace());
        self.job(id, &command)
    }

    pub fn start(&self, launch: &Launch) {
        self.executor.perform(Order::Start(Box::new(launch.clone()))).expect("started");
    }

    pub fn stop(&self, launch: &Launch, why: &str) {
        let (job, generation) = (launch.job, launch.generation);
        self.executor.perform(Order::Stop { job, generation, why: why.into() }).expect("told");
    }

    pub fn look(&mut self) {
        self.seen.extend(self.executor.observe());
    }

    /// Looks until something of the job is seen.
    pub fn until<T>(&mut self, what: &str, find: impl Fn(&World) -> Option<T>) -> T {
        let start = Instant::now();
        loop {
            self.look();
            if let Some(found) = find(self) {
                return found;
            }
            assert!(start.elapsed() < DEADLINE, "no {what}; seen: {:#?}", self.seen);
            sleep(Duration::from_millis(5));
        }
    }

    pub fn ending(&mut self, launch: &Launch) -> Ending {
        let about = (launch.job, launch.generation);
        let ending = self.until("ending", |world| {
            world.seen.iter().find_map(|seen| match seen {
                Observation::Ended { ending, .. } if seen.about() == about => Some(ending.clone()),
                _ => None,
            })
        });
        self.executor.acknowledge(about.0, about.1);
        ending
    }

    pub fn run(&mut self, launch: &Launch) -> Ending {
        self.start(launch);
        self.ending(launch)
    }

    pub fn started(&mut self, launch: &Launch) {
        let about = (launch.job, launch.generation);
        let is_start = |seen: &Observation| matches!(seen, Observation::Started { .. });
        self.until("start", |world| {
            world.seen.iter().find(|seen| is_start(seen) && seen.about() == about).map(|_| ())
        });
    }

    /// Waits until a job has told this many steps.
    pub fn steps(&mut self, launch: &Launch, least: f64) {
        let about = (launch.job, launch.generation);
        self.until("progress", |world| {
            world.seen.iter().find_map(|seen| match seen {
                Observation::Progress { steps, .. } if seen.about() == about && *steps >= least => {
                    Some(())
                }
                _ => None,
            })
        });
    }

    /// Waits until a file has something in it.
    pub fn file(&mut self, path: &Path) -> String {
        self.until(&path.display().to_string(), |_| {
            fs::read_to_string(path).ok().filter(|text| text.ends_with('\n'))
        })
    }

    pub fn output(&self, launch: &Launch, rank: u32, stream: Stream) -> String {
        let generation = Some(launch.generation);
        let query = LogQuery { generation, rank, ..LogQuery::start(stream) };
        self.executor.logs(launch.job, query).expect("output").text
    }

    pub fn held(launch: &Launch) -> Held {
        Held { launch: launch.clone(), stop: None }
    }

    /// The runner's process id, by the folder in its environment.
    pub fn runner_pid(&self, launch: &Launch) -> i32 {
        let variable = format!("OEF_RUNNER_DIR={}", self.run_dir(launch).display());
        let found = with_variable(&variable);
        *found.first().expect("a runner")
    }
}

pub fn open(folder: &Path) -> LocalExecutor {
    open_with(folder, None)
}

pub fn open_with(folder: &Path, mps_pipe_dir: Option<PathBuf>) -> LocalExecutor {
    LocalExecutor::open(LocalConfig {
        dir: folder.join("state"),
        runner: vec![PROGRAM.into(), "runner".into()],
        devices: devices(4),
        mps_pipe_dir,
    })
    .expect("an executor")
}

pub fn devices(count: u32) -> Vec<Device> {
    let device = |index| Device {
        host: "rtx3090-0".into(),
        index,
        gpu_type: "rtx3090".into(),
        kind: DeviceKind::Emulated,
    };
    (0..count).map(device).collect()
}

/// The same job under its next lease.
pub fn next(launch: &Launch) -> Launch {
    let generation = Generation(launch.generation.0 + 1);
    Launch { generation, restart: launch.restart + 1, ..launch.clone() }
}

/// Processes with this in their environment, those of ended ones excepted.
pub fn with_variable(variable: &str) -> Vec<i32> {
    let entries = fs::read_dir("/proc").expect("proc").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|item| item == variable.as_bytes())
    })
    .collect()
}

pub fn kill(pid: i32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid).expect("a pid");
    rustix::process::kill_process(pid, signal).expect("sent");
}

/// Waits without looking at the executor.
pub fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < DEADLINE, "no {what}");
        sleep(Duration::from_millis(5));
    }
}

/// A process is there and has not ended.
pub fn is_alive(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}
