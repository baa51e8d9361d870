//! A state folder, an executor on it, and jobs to run there.
#![allow(dead_code, reason = "every test binary uses a part of it, and one may use all")]

use oef_executor::checkpoints::CheckpointConfig;
use oef_executor::local::{LocalConfig, LocalExecutor};
use oef_executor::{
    Checkpoints, Cursor, Device, DeviceId, DeviceKind, Ending, Event, Executor, Held, Known,
    Launch, LeaseEvent, LogQuery, Order, Program, Progress, Stream,
};
use oef_sched::{Generation, JobId};
use std::fs;
use std::io::{self, Write as _};
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
    pub seen: Vec<Seen>,
    pub cursor: Cursor,
}

/// What was told of a lease.
#[derive(Clone, Debug)]
pub struct Seen {
    pub about: (JobId, Generation),
    pub event: LeaseEvent,
}

impl Seen {
    pub fn progress(&self) -> Option<Progress> {
        match self.event {
            LeaseEvent::Progress(progress) => Some(progress),
            _ => None,
        }
    }

    pub fn ending(&self) -> Option<Ending> {
        match &self.event {
            LeaseEvent::Ended { ending, .. } => Some(ending.clone()),
            _ => None,
        }
    }

    pub fn is_start(&self) -> bool {
        matches!(self.event, LeaseEvent::Started { .. })
    }
}

impl World {
    pub fn new() -> World {
        let folder = tempfile::tempdir().expect("a folder");
        let executor = open(folder.path());
        World { folder, executor, seen: Vec::new(), cursor: Cursor::default() }
    }

    /// With another executor on the same folder.
    pub fn with(config: impl FnOnce(LocalConfig) -> LocalConfig) -> World {
        let folder = tempfile::tempdir().expect("a folder");
        let config = config(config_in(folder.path()));
        let executor = LocalExecutor::open(config).expect("an executor");
        World { folder, executor, seen: Vec::new(), cursor: Cursor::default() }
    }

    /// The daemon ends, however, and another begins.
    pub fn restart(self) -> World {
        let World { folder, executor, seen, .. } = self;
        drop(executor);
        let executor = open(folder.path());
        World { folder, executor, seen, cursor: Cursor::default() }
    }

    /// What a daemon does first.
    pub fn resume(&self, held: &[Held]) {
        let known = Known { held: held.to_vec(), ..Known::default() };
        self.executor.resume(known).expect("resumed");
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("there").join(name)
    }

    pub fn run_dir(&self, launch: &Launch) -> PathBuf {
        self.path(&format!("state/runs/{}/{}", launch.job, launch.generation))
    }

    /// A job that runs a program.
    pub fn job(&self, id: u64, command: &[&str]) -> Launch {
        let env = ["PATH", "PYENV_ROOT"].iter();
        Launch {
            tenant: "vision".into(),
            workload: "vgg16".into(),
            // As the daemon gives it to every job.
            env: env.filter_map(|name| Some(((*name).into(), std::env::var(name).ok()?))).collect(),
            workdir: Some(self.path(".")),
            checkpoints: Checkpoints {
                own_dir: Some(self.path(&format!("checkpoints/{id}"))),
                ..Checkpoints::default()
            },
            ..Launch::first(JobId(id), command_of(command), devices(1))
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
        self.executor.order(Order::Start(Box::new(launch.clone())));
    }

    pub fn stop(&self, launch: &Launch, why: &str) {
        let (job, generation) = (launch.job, launch.generation);
        self.executor.order(Order::Stop { job, generation, why: why.into() });
    }

    pub fn look(&mut self) {
        for (cursor, event) in self.executor.events(self.cursor, Duration::from_millis(5)) {
            self.cursor = cursor;
            if let Event::Lease { job, generation, event } = event {
                self.seen.push(Seen { about: (job, generation), event });
            }
        }
    }

    /// All that was seen is journalled.
    pub fn acknowledge(&self) {
        self.executor.order(Order::Acknowledge(self.cursor));
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
        }
    }

    fn until_seen<T>(
        &mut self,
        what: &str,
        launch: &Launch,
        find: impl Fn(&Seen) -> Option<T>,
    ) -> T {
        let about = (launch.job, launch.generation);
        let of = |seen: &&Seen| seen.about == about;
        self.until(what, |world| world.seen.iter().filter(of).find_map(&find))
    }

    pub fn ending(&mut self, launch: &Launch) -> Ending {
        let ending = self.until_seen("ending", launch, Seen::ending);
        self.acknowledge();
        ending
    }

    pub fn run(&mut self, launch: &Launch) -> Ending {
        self.start(launch);
        self.ending(launch)
    }

    pub fn started(&mut self, launch: &Launch) {
        self.until_seen("start", launch, |seen| seen.is_start().then_some(()));
    }

    /// Waits until a job has told this many steps.
    pub fn steps(&mut self, launch: &Launch, least: f64) {
        let is_far = |progress: &Progress| progress.steps >= least;
        self.until_seen("progress", launch, |seen| seen.progress().filter(is_far));
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
    LocalExecutor::open(config_in(folder)).expect("an executor")
}

pub fn config_in(folder: &Path) -> LocalConfig {
    LocalConfig {
        dir: folder.join("state"),
        runner: vec![PROGRAM.into(), "runner".into()],
        devices: gpus("rtx3090-0", 4),
        mps_pipe_dir: None,
        checkpoints: CheckpointConfig::default(),
        isolation: Default::default(),
        read_gpus_every: Default::default(),
    }
}

pub fn gpus(host: &str, count: u32) -> Vec<Device> {
    let device = |index| Device {
        host: host.into(),
        index,
        gpu_type: "rtx3090".into(),
        kind: DeviceKind::Emulated,
    };
    (0..count).map(device).collect()
}

pub fn devices(count: u32) -> Vec<DeviceId> {
    gpus("rtx3090-0", count).iter().map(Device::id).collect()
}

pub fn command_of<T: ToString>(words: &[T]) -> Program {
    Program::Command(words.iter().map(T::to_string).collect())
}

/// Writes a program. By another process: one that this one forks meanwhile would have it open for writing, and
/// then it cannot be run.
pub fn write_program(path: &Path, text: &str) {
    let draft = path.with_extension("draft");
    fs::write(&draft, text).expect("written");
    let script = "cp \"$0\" \"$1.new\" && chmod 755 \"$1.new\" && mv \"$1.new\" \"$1\"";
    let mut command = std::process::Command::new("sh");
    let done = command.args(["-c", script]).arg(&draft).arg(path).status();
    assert!(done.expect("sh").success());
}

/// Where a job leaves its checkpoints.
pub fn checkpoint_dir(launch: &Launch) -> &Path {
    launch.checkpoints.own_dir.as_deref().expect("a folder")
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
        // A worker has its part of the folder of its start.
        let own = format!("{variable}/job");
        let is_meant = |item: &[u8]| item == variable.as_bytes() || item == own.as_bytes();
        environment.split(|byte| *byte == 0).any(is_meant)
    })
    .collect()
}

pub fn kill(pid: i32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid).expect("a pid");
    // It may have ended just now.
    match rustix::process::kill_process(pid, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => {}
        Err(error) => panic!("{pid:?}: {error}"),
    }
}

/// Whether this is root. Otherwise the test is left out, and says so.
pub fn is_root(test: &str) -> bool {
    rustix::process::geteuid().is_root() || left_out(test, "root")
}

/// Says that a test is left out. Not by `eprintln!`, which is swallowed where a test passes: `scripts/test.sh` counts
/// these lines.
pub fn left_out(test: &str, needs: &str) -> bool {
    let _ = writeln!(io::stderr(), "left out, {test} needs {needs}");
    false
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
