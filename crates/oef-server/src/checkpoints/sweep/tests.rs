//! What is kept, and what goes.

use super::*;
use crate::checkpoints::CheckpointSettings;
use crate::world::lives::new_entry;
use crate::world::{Home, JobEntry, RunEntry};
use oef_api::types::{GpuRef, JobState};
use oef_sched::{Generation, NodeSpec, WorkloadKey};
use std::collections::BTreeMap;

const JOB: JobId = JobId(7);

/// Two hosts, and one job that has moved from `a` to `b`.
struct Scene {
    home: tempfile::TempDir,
    world: World,
    stale: usize,
}

impl Scene {
    fn new() -> Scene {
        let mut world = World::new(Default::default(), Default::default());
        for name in ["a", "b"] {
            let spec = NodeSpec { name: name.into(), gpu_type: "g".into(), gpus: 1 };
            let change = crate::world::Change::NodeUp(spec);
            world.happen(Time(1), change).expect("taken");
        }
        let mut scene = Scene { home: tempfile::tempdir().expect("a folder"), world, stale: 0 };
        scene.with(JOB, |job| job.home = at("b", 10, false));
        for host in ["a", "b"] {
            scene.copy(host, "7");
        }
        scene
    }

    fn with(&mut self, id: JobId, change: impl FnOnce(&mut JobEntry)) {
        let mut job = new_entry(Default::default(), WorkloadKey(0), Time(1));
        job.state = JobState::Running;
        if let Some(known) = self.world.jobs.get(&id) {
            job = JobEntry::clone(known);
        }
        change(&mut job);
        self.world.jobs.insert(id, Arc::new(job));
    }

    fn copy(&self, host: &str, name: &str) {
        let folder = self.home.path().join("nodes").join(host).join("checkpoints").join(name);
        fs::create_dir_all(&folder).expect("made");
        fs::write(folder.join("model"), host).expect("written");
    }

    /// Sweeps, and says what is left.
    fn left(&self) -> Vec<String> {
        let settings = CheckpointSettings { stale: self.stale, ..CheckpointSettings::default() };
        let sweeper = Sweeper {
            places: Places::new(self.home.path(), &settings),
            hosts: BTreeMap::new(),
            shared: Arc::new(Shared::new(self.world.clone(), 0)),
        };
        sweeper.sweep(&AtomicBool::new(false));
        let mut left = Vec::new();
        for host in ["a", "b"] {
            let folder = self.home.path().join("nodes").join(host).join("checkpoints");
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                left.push(format!("{host}/{}", entry.file_name().to_string_lossy()));
            }
        }
        left.sort();
        left
    }
}

fn at(host: &str, since: u64, has_newer: bool) -> Option<Home> {
    let saved = if has_newer { 200.0 } else { 100.0 };
    let host = Some(host.to_string());
    Some(Home { host, since: Time(since), saved, saved_before: 100.0 })
}

fn run_on(host: &str) -> RunEntry {
    let gpu = GpuRef { node: host.into(), index: 0, gpu_type: "g".into() };
    RunEntry {
        generation: Generation(3),
        gpus: vec![gpu],
        rate: 1.0,
        until: Time(99),
        steps_before: 0.0,
        began: Time(20),
        started: None,
        stop: None,
        ended: None,
        ending: None,
        detail: None,
    }
}

#[test]
fn an_older_copy_goes_when_the_new_host_has_a_newer_checkpoint_and_not_before() {
    let mut scene = Scene::new();
    assert_eq!(scene.left(), ["a/7", "b/7"], "the new host has told nothing yet");
    scene.with(JOB, |job| job.home = at("b", 10, true));
    scene.stale = 1;
    assert_eq!(scene.left(), ["a/7", "b/7"], "one may stay");
    scene.stale = 0;
    assert_eq!(scene.left(), ["b/7"]);
}

#[test]
fn a_copy_on_a_host_where_the_job_is_about_to_start_stays() {
    let mut scene = Scene::new();
    scene.copy("a", ".7.oef-incoming");
    scene.with(JOB, |job| {
        job.home = at("b", 10, true);
        job.runs.push(run_on("a"));
    });
    assert_eq!(scene.left(), ["a/.7.oef-incoming", "a/7", "b/7"]);
    scene.with(JOB, |job| {
        if let Some(run) = job.runs.last_mut() {
            run.ended = Some(Time(30));
        }
    });
    assert_eq!(scene.left(), ["b/7"]);
}

#[test]
fn of_an_ended_job_the_last_hosts_copy_stays() {
    let mut scene = Scene::new();
    scene.stale = 100;
    scene.copy("b", ".7.oef-incoming");
    scene.with(JOB, |job| job.state = JobState::Finished);
    assert_eq!(scene.left(), ["b/7"]);
}

#[test]
fn the_jobs_that_moved_last_keep_theirs() {
    let mut scene = Scene::new();
    for (id, since) in [(1, 30), (2, 20), (3, 40)] {
        scene.copy("a", &id.to_string());
        scene.with(JobId(id), |job| job.home = at("b", since, true));
    }
    scene.stale = 2;
    assert_eq!(scene.left(), ["a/1", "a/3", "a/7", "b/7"]);
}

#[test]
fn what_nobody_knows_stays_for_a_while() {
    let mut scene = Scene::new();
    scene.copy("a", "99");
    scene.copy("a", "notes");
    scene.copy("a", ".55.oef-trash");
    assert_eq!(scene.left(), ["a/7", "a/99", "a/notes", "b/7"], "what was put aside goes at once");
    let folder = scene.home.path().join("nodes/a/checkpoints/99");
    let old = SystemTime::now() - UNKNOWN_AGE - Duration::from_secs(1);
    for path in [folder.join("model"), folder] {
        fs::File::open(path).and_then(|file| file.set_modified(old)).expect("set");
    }
    assert_eq!(scene.left(), ["a/7", "a/notes", "b/7"]);
    scene.world.jobs.clear();
    assert_eq!(scene.left(), ["a/7", "a/notes", "b/7"], "not old yet");
}

#[test]
fn nodes_that_are_gone_are_hosts_by_their_names() {
    assert_eq!(host_of_gone("box"), "box");
    assert_eq!(host_of_gone("box:4xh200"), "box");
}
