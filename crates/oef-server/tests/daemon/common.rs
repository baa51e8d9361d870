//! A state folder, a daemon on it, and jobs.

use oef_api::types::{ApiError, JobBatch, JobState, JobSubmit, SettingsPatch, Submitted};
use oef_executor::local::{LocalConfig, LocalExecutor};
use oef_sched::JobId;
use oef_server::caller::Caller;
use oef_server::daemon::{Daemon, Options, StopJobs};
use oef_server::world::{JobEntry, World};
use std::future::Future;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Generous: reached only when something hangs.
const DEADLINE: Duration = Duration::from_secs(60);

/// A folder with a daemon that works on it. The daemon stands first, so that it is stopped before its folder goes.
pub struct Cluster {
    pub daemon: Guarded,
    pub gpus: String,
    pub folder: TempDir,
}

/// A daemon that does not outlive its test, nor do its jobs.
pub struct Guarded(Daemon);

impl Guarded {
    pub fn start(options: Options) -> Guarded {
        Guarded(Daemon::start(options).expect("a start"))
    }
}

impl Deref for Guarded {
    type Target = Daemon;
    fn deref(&self) -> &Daemon {
        &self.0
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.0.stop(StopJobs::Checkpoint);
    }
}

/// The options of a daemon on a folder.
pub fn options(dir: &Path, gpus: &str) -> Options {
    let program = std::env::current_exe().expect("a path").into_os_string();
    let executor = LocalExecutor::open(LocalConfig {
        dir: dir.to_path_buf(),
        runner: vec![program, "runner".into()],
        devices: oef_executor::gpus::emulated(gpus).expect("gpus"),
        mps_pipe_dir: None,
        checkpoints: Default::default(),
        isolation: Default::default(),
        read_gpus_every: Default::default(),
    });
    let mut options = Options::new(dir.into(), Arc::new(executor.expect("an executor")));
    options.settings = quick();
    options
}

/// Rounds that follow each other so quickly that nobody has to wait for them.
pub fn quick() -> SettingsPatch {
    SettingsPatch {
        round_s: Some(0.3),
        min_run_s: Some(0.0),
        grace_s: Some(20.0),
        stickiness: Some(0.0),
        ..SettingsPatch::default()
    }
}

impl Cluster {
    pub fn new(gpus: &str) -> Cluster {
        let folder = tempfile::tempdir().expect("a folder");
        let daemon = Daemon::start(options(&folder.path().join("state"), gpus)).expect("a start");
        Cluster { folder, gpus: gpus.into(), daemon: Guarded(daemon) }
    }

    /// The same folder with another daemon.
    pub fn restart(self, jobs: StopJobs) -> Cluster {
        let Cluster { folder, gpus, daemon } = self;
        daemon.stop(jobs);
        drop(daemon);
        let daemon = Daemon::start(options(&folder.path().join("state"), &gpus));
        Cluster { folder, gpus, daemon: Guarded(daemon.expect("a start")) }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("there").join(name)
    }

    pub fn submit(&self, job: JobSubmit) -> u64 {
        let submitted = self.try_submit(job).expect("taken");
        submitted.ids[0]
    }

    pub fn try_submit(&self, job: JobSubmit) -> Result<Submitted, ApiError> {
        let batch = JobBatch::of(vec![job]);
        block_on(self.daemon.submit(&Caller::admin(), batch, None))
    }

    pub fn state(&self, id: u64) -> JobState {
        self.look(id, |job| job.state)
    }

    pub fn look<R>(&self, id: u64, look: impl FnOnce(&JobEntry) -> R) -> R {
        self.daemon.with_world(|world| look(world.jobs.get(&JobId(id)).expect("a job")))
    }

    /// Waits until a job is in a state.
    pub fn wait(&self, id: u64, state: JobState) {
        self.wait_until(&format!("job {id} {}", state.name()), |world| {
            let job = world.jobs.get(&JobId(id)).expect("a job");
            assert!(
                job.state == state || !job.state.is_final(),
                "job {id} is {:?}, not {state:?}: {}",
                job.state,
                job.reason
            );
            job.state == state
        });
    }

    /// Waits until something is so.
    pub fn wait_until(&self, what: &str, is_so: impl Fn(&World) -> bool) {
        let began = Instant::now();
        while !self.daemon.with_world(&is_so) {
            assert!(began.elapsed() < DEADLINE, "waited for too long: {what}");
            sleep(Duration::from_millis(20));
        }
    }
}

/// A job of the shell's.
pub fn shell(tenant: &str, script: &str) -> JobSubmit {
    JobSubmit {
        tenant: tenant.parse().ok(),
        command: vec!["/bin/sh".into(), "-c".into(), script.into()],
        ..JobSubmit::default()
    }
}

/// A job that makes so many steps, saves its work, and goes on where it was.
pub fn training(tenant: &str, steps: u32, step_ms: u32) -> JobSubmit {
    let program = std::env::current_exe().expect("a path").to_string_lossy().into_owned();
    let text = |x: u32| x.to_string();
    let command = [
        program,
        "demo-job".into(),
        "--steps".into(),
        text(steps),
        "--step-ms".into(),
        text(step_ms),
        "--checkpoint-every".into(),
        "5".into(),
    ];
    JobSubmit { tenant: tenant.parse().ok(), command: command.into(), ..JobSubmit::default() }
}

pub fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(future)
}
