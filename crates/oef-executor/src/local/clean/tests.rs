//! Copies of checkpoints that nobody needs are removed, and no others.

use super::*;
use crate::checkpoints::{CheckpointConfig, Keeping, Transport};
use crate::device::{Device, DeviceId, DeviceKind};
use crate::event::Progress;
use crate::executor::Executor as _;
use crate::launch::Launch;
use crate::local::site::{Fate, Site};
use crate::local::{LocalConfig, LocalExecutor};
use crate::order::Order;
use crate::records::{Durability, RunFolder, write_json};
use crate::testing::launch;
use crate::users::User;
use oef_sched::Generation;
use std::sync::mpsc;

/// Two hosts, and one job that has moved from `a` to `b`.
struct Scene {
    home: tempfile::TempDir,
    stale: usize,
}

impl Scene {
    fn new() -> Scene {
        let scene = Scene { home: tempfile::tempdir().expect("a folder"), stale: 0 };
        ["a", "b"].iter().for_each(|host| scene.copy(host, "7"));
        scene
    }

    fn open(&self) -> LocalExecutor {
        LocalExecutor::open(self.config()).expect("an executor")
    }

    fn config(&self) -> LocalConfig {
        let device = |host: &str| Device {
            host: host.into(),
            index: 0,
            gpu_type: "g".into(),
            kind: DeviceKind::Emulated,
        };
        LocalConfig {
            dir: self.home.path().into(),
            runner: Vec::new(),
            devices: vec![device("a"), device("b")],
            mps_pipe_dir: None,
            checkpoints: CheckpointConfig {
                place: Keeping::Node,
                stale: self.stale,
                ..CheckpointConfig::default()
            },
            isolation: Default::default(),
            read_gpus_every: Default::default(),
        }
    }

    fn copy(&self, host: &str, name: &str) {
        let folder = self.home.path().join("nodes").join(host).join("checkpoints").join(name);
        fs::create_dir_all(&folder).expect("made");
        fs::write(folder.join("model"), host).expect("written");
    }

    /// The records of a start on a host: since when it runs, which step was saved before, and which it told.
    fn start(&self, job: u64, generation: u64, host: &str, since: Option<u64>, told: f64) {
        let executor = self.open();
        let inner = executor.inner();
        let run = inner.runs.run(JobId(job), Generation(generation));
        fs::create_dir_all(run.path()).expect("made");
        let mut launch = launch(job, &["true"]);
        launch.checkpoints.saved = 100.0;
        let device = inner.config.devices.iter().find(|device| device.host == host);
        let spec = inner.spec(&launch, device.cloned().into_iter().collect());
        write_json(&run.launch_file(), &spec, Durability::Process).expect("written");
        let progress = Progress { checkpoint: Some(told), ..Progress::default() };
        let mut status = Status::new(&run);
        (status.started_ms, status.progress) = (since, Some(progress));
        status.write(&run).expect("written");
    }

    fn end(&self, job: u64, generation: u64) {
        let executor = self.open();
        let run = executor.inner().runs.run(JobId(job), Generation(generation));
        let status = Status::read(&run).expect("read").expect("there");
        status.ended(crate::Ending::Checkpointed, 1).write(&run).expect("written");
    }

    /// Sweeps, and says what is left.
    fn left(&self, retired: &[u64]) -> Vec<String> {
        let executor = self.open();
        let inner = executor.inner();
        inner.cleaning.retire(retired.iter().map(|job| JobId(*job)));
        inner.sweep();
        inner.lanes.wait_until_idle(Duration::from_secs(60));
        inner.trash().iter().for_each(|path| remove_trash(path));
        let mut left = Vec::new();
        for host in ["a", "b"] {
            for entry in fs::read_dir(inner.locations.host_dir(host)).expect("there").flatten() {
                left.push(format!("{host}/{}", entry.file_name().to_string_lossy()));
            }
        }
        left.sort();
        left
    }
}

#[test]
fn an_older_copy_goes_when_the_new_host_has_a_newer_checkpoint_and_not_before() {
    let mut scene = Scene::new();
    scene.start(7, 1, "a", Some(10), 100.0);
    scene.end(7, 1);
    scene.start(7, 2, "b", Some(20), 100.0);
    assert_eq!(scene.left(&[]), ["a/7", "b/7"], "the new host has reported nothing yet");
    scene.start(7, 2, "b", Some(20), 200.0);
    scene.stale = 1;
    assert_eq!(scene.left(&[]), ["a/7", "b/7"], "one may stay");
    scene.stale = 0;
    assert_eq!(scene.left(&[]), ["b/7"]);
}

#[test]
fn a_copy_on_a_host_where_the_job_is_about_to_start_stays() {
    let scene = Scene::new();
    scene.copy("a", ".7.oef-incoming");
    scene.start(7, 1, "b", Some(10), 200.0);
    scene.end(7, 1);
    scene.start(7, 2, "a", None, 0.0);
    assert_eq!(scene.left(&[]), ["a/.7.oef-incoming", "a/7", "b/7"]);
    scene.end(7, 2);
    assert_eq!(scene.left(&[]), ["b/7"]);
}

#[test]
fn of_a_job_that_has_ended_for_good_the_last_hosts_copy_stays() {
    let mut scene = Scene::new();
    scene.stale = 100;
    scene.start(7, 1, "a", Some(10), 100.0);
    scene.start(7, 2, "b", Some(20), 100.0);
    (1..=2).for_each(|generation| scene.end(7, generation));
    assert_eq!(scene.left(&[7]), ["b/7"]);
}

#[test]
fn the_jobs_that_moved_last_keep_theirs() {
    let mut scene = Scene::new();
    scene.start(7, 1, "b", Some(10), 200.0);
    for (id, since) in [(1, 30), (2, 20), (3, 40)] {
        ["a", "b"].iter().for_each(|host| scene.copy(host, &id.to_string()));
        scene.start(id, 1, "b", Some(since), 200.0);
    }
    scene.stale = 2;
    assert_eq!(scene.left(&[]), ["a/1", "a/3", "b/1", "b/2", "b/3", "b/7"]);
}

#[test]
fn what_nobody_knows_stays_for_a_while() {
    let scene = Scene::new();
    scene.start(7, 1, "b", Some(10), 100.0);
    for name in ["99", "notes", ".55.oef-trash"] {
        scene.copy("a", name);
    }
    let expected = ["a/7", "a/99", "a/notes", "b/7"];
    assert_eq!(scene.left(&[]), expected, "what was put aside goes at once");
    let folder = scene.home.path().join("nodes/a/checkpoints/99");
    let old = SystemTime::now() - UNKNOWN_AGE - Duration::from_secs(1);
    for path in [folder.join("model"), folder] {
        fs::File::open(path).and_then(|file| file.set_modified(old)).expect("set");
    }
    assert_eq!(scene.left(&[]), ["a/7", "a/notes", "b/7"]);
}

/// A cluster on which nothing runs, and which does not come back from removing the copies of job 1 before it may.
#[derive(Debug)]
struct Hanging(Mutex<mpsc::Receiver<()>>);

impl Site for Hanging {
    fn user(&self, _: &Launch) -> Result<Option<User>, String> {
        Ok(None)
    }

    fn devices(&self, _: &[DeviceId]) -> Result<Result<Vec<Device>, String>, ExecutorError> {
        Ok(Err("there are none".into()))
    }

    fn hosts(&self) -> BTreeSet<String> {
        ["a".to_string()].into()
    }

    fn complete(&self, _: &mut RunSpec, _: &Launch) {}

    fn spawn(&self, _: &RunFolder, _: &dyn Fn() -> bool) -> Result<(), ExecutorError> {
        Ok(())
    }

    fn stop(&self, _: &RunFolder) {}

    fn fate(&self, _: &RunFolder, _: Instant, _: bool) -> Fate {
        Fate::Alive
    }

    fn kill_unheld(&self, _: &BTreeSet<(JobId, Generation)>) {}

    fn kill(&self, _: &RunFolder) {}

    fn remove_copies(&self, spec: &RunSpec, _: &str, _: &Path) -> Result<(), ExecutorError> {
        if spec.job == JobId(1) {
            let _ = self.0.lock().expect("alone").recv();
        }
        Ok(())
    }

    fn forget(&self, _: JobId, _: Generation) {}
}

#[test]
fn a_job_whose_disk_hangs_keeps_no_other_from_being_forgotten() {
    let scene = Scene::new();
    [1, 2].iter().for_each(|job| scene.start(*job, 1, "a", Some(10), 100.0));
    let (go_on, waits) = mpsc::channel();
    let config = LocalConfig {
        checkpoints: CheckpointConfig { transport: Transport::Ssh, ..scene.config().checkpoints },
        ..scene.config()
    };
    let site: Arc<dyn Site> = Arc::new(Hanging(Mutex::new(waits)));
    let executor = LocalExecutor::open_at(config, Some(site)).expect("an executor");
    [1, 2].iter().for_each(|job| executor.order(Order::Forget(JobId(*job))));
    let is_there = |job| executor.inner().runs.job(JobId(job)).path().exists();
    let began = Instant::now();
    let until_gone = |job| {
        while is_there(job) {
            assert!(began.elapsed() < Duration::from_secs(60), "job {job} is still there");
            thread::sleep(Duration::from_millis(5));
        }
    };
    until_gone(2);
    assert!(is_there(1), "its copies are still being removed");
    go_on.send(()).expect("it waits");
    until_gone(1);
}
