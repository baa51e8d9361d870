//! A short life of a daemon that uses everything that is kept: the samples of state folders are made by it.

use crate::common::{Cluster, block_on, options, quick, shell};
use jiff::Timestamp;
use oef_api::parsed::Workers;
use oef_api::types::{
    Dependency, DependencyCondition, GangPut, GroupPut, JobBatch, JobPatch, JobState, JobSubmit,
    Limits, NodeHealth, NodePatch, NotificationCreate, Role, SettingsPatch, TenantCreate,
    TokenCreate, WorkloadPut,
};
use oef_server::caller::Caller;
use oef_server::daemon::{Daemon, StopJobs};
use oef_server::replay::Replay;
use oef_server::store::{OpenMode, Store, journal};
use oef_server::world::World;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub const TESTS: &[(&str, fn())] =
    &[("a_life_with_everything_is_kept", a_life_with_everything_is_kept)];

/// The GPUs of that life.
pub const GPUS: &str = "slow=2,fast=2";

/// Far in the future, and the same whenever the sample is made.
const FUTURE_S: i64 = 4_102_444_800;

/// With `OEF_WRITE_SAMPLE=NAME` the folder is kept among the samples: once for each form that is released.
fn a_life_with_everything_is_kept() {
    let cluster = begin(Cluster::new(GPUS));
    // A clean stop leaves a snapshot; what comes later is in records alone.
    let cluster = go_on(cluster.restart(StopJobs::LeaveRunning));
    let copy = cluster.path("copy");
    std::fs::create_dir(&copy).expect("room");
    journal::backup(&cluster.path("state"), &copy.join("oef.db")).expect("a backup");
    if let Some(name) = std::env::var_os("OEF_WRITE_SAMPLE") {
        let sample = data(&format!("{}.db", name.to_string_lossy()));
        std::fs::copy(copy.join("oef.db"), sample).expect("written");
    }
    let kept = load(&copy);
    assert_eq!(kept.drains.len() + kept.windows.len(), 2);
    assert!(kept.usage.periods.values().any(|period| !period.tenants.is_empty()));
    let jobs: BTreeMap<_, _> = kept.jobs.iter().map(|(id, job)| (id.0, job.state)).collect();
    let live = cluster.daemon.with_world(|world| {
        world.jobs.iter().map(|(id, job)| (id.0, job.state)).collect::<BTreeMap<_, _>>()
    });
    assert_eq!(jobs, live);
}

pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// The world that a folder holds; nothing is started.
pub fn load(folder: &Path) -> World {
    let store = Store::open(folder, OpenMode::Existing).expect("it opens");
    let loaded = store.load().expect("it is whole");
    let mut replay = Replay::default();
    if let Some(snapshot) = &loaded.snapshot {
        replay.snapshot(snapshot).expect("it is read");
    }
    for record in loaded.records {
        replay.record(&record.expect("the chain holds")).expect("it is replayed");
    }
    replay.finish()
}

/// A daemon on a folder that somebody else made.
pub fn open(folder: &Path) -> Result<Daemon, String> {
    let mut options = options(folder, GPUS);
    options.settings = SettingsPatch { round_s: Some(2.0), ..quick() };
    Daemon::start(options).map_err(|error| error.to_string())
}

fn begin(cluster: Cluster) -> Cluster {
    let (daemon, admin) = (&cluster.daemon, Caller::admin());
    let rounds = SettingsPatch { round_s: Some(2.0), ..SettingsPatch::default() };
    block_on(daemon.patch_settings(&admin, rounds)).expect("taken");
    block_on(daemon.put_group(
        &admin,
        "lab",
        GroupPut { weight: "2".parse().ok(), ..GroupPut::default() },
    ))
    .expect("taken");
    for (name, group) in [("vision", Some("lab".to_string())), ("speech", None)] {
        let limits = Limits { gpus: Some(3), jobs: Some(100) };
        let tenant = TenantCreate {
            weight: "2".parse().ok(),
            group,
            limits,
            ..TenantCreate::named(name.parse().expect("a name"))
        };
        block_on(daemon.create_tenant(&admin, tenant)).expect("taken");
    }
    let gang = GangPut { gpu_type: "slow".into(), workers: 2, spread: false, throughput: 0.9 };
    let resnet = WorkloadPut {
        throughput: Some(BTreeMap::from([("slow".into(), 1.0), ("fast".into(), 3.0)])),
        gangs: vec![gang],
        ..WorkloadPut::default()
    };
    block_on(daemon.put_workload(&admin, "vision", "resnet", resnet)).expect("taken");
    let viewer = TokenCreate {
        role: Role::Viewer,
        tenant: None,
        note: Some("a screen".into()),
        expires_in_s: None,
    };
    let token = block_on(daemon.create_token(&admin, viewer.clone())).expect("taken");
    block_on(daemon.revoke_token(&admin, token.token.id)).expect("taken");
    block_on(daemon.create_token(&admin, viewer)).expect("taken");
    // Nobody delivers its notices here: they wait.
    let tell = NotificationCreate {
        tenant: Some("vision".into()),
        url: Some("http://127.0.0.1:9/told".into()),
        command: None,
        secret: Some("a secret of the sample".into()),
        on: Vec::new(),
    };
    block_on(daemon.add_notification(&admin, tell)).expect("taken");
    ends(&cluster);
    waits(&cluster);
    cluster
}

fn resnet(script: &str) -> JobSubmit {
    JobSubmit { workload: "resnet".parse().ok(), ..shell("vision", script) }
}

/// Jobs that end in every way.
fn ends(cluster: &Cluster) {
    let told = r#"echo '{"step": 5, "checkpoint": 5}' >> "$OEF_PROGRESS_FILE"; sleep 1"#;
    let finished = cluster.submit(resnet(told));
    let failed = cluster.submit(shell("speech", "exit 3"));
    let too_long = JobSubmit { max_run_s: Some(0.5), ..shell("speech", "sleep 60") };
    let timed_out = cluster.submit(too_long);
    let gang = cluster.submit(JobSubmit { workers: Workers::up_to(2), ..resnet(told) });
    let cancelled = cluster.submit(JobSubmit { held: true, ..shell("speech", "true") });
    block_on(cluster.daemon.cancel(&Caller::admin(), cancelled)).expect("taken");
    cluster.wait(finished, JobState::Finished);
    cluster.wait(failed, JobState::Failed);
    cluster.wait(timed_out, JobState::TimedOut);
    cluster.wait(gang, JobState::Finished);
    let after = vec![Dependency { job: failed, when: DependencyCondition::Failed }];
    let repair = cluster.submit(JobSubmit { after, ..shell("speech", "true") });
    cluster.wait(repair, JobState::Finished);
    let again = block_on(cluster.daemon.resubmit(&Caller::admin(), finished)).expect("taken");
    cluster.wait(again.ids[0], JobState::Finished);
}

/// Jobs that wait for something else than GPUs.
fn waits(cluster: &Cluster) {
    let (daemon, admin) = (&cluster.daemon, Caller::admin());
    let held = cluster.submit(JobSubmit { held: true, ..resnet("true") });
    let edit = JobPatch {
        priority: Some(7),
        name: Some("edited".into()),
        labels: BTreeMap::from([("lr".into(), Some("0.1".into()))]),
        ..JobPatch::default()
    };
    block_on(daemon.patch_job(&admin, held, edit)).expect("taken");
    let after = vec![Dependency { job: held, when: DependencyCondition::Ended }];
    cluster.submit(JobSubmit { after, ..resnet("true") });
    let not_before = Timestamp::from_second(FUTURE_S).ok();
    cluster.submit(JobSubmit { not_before, ..shell("speech", "true") });
    let released = cluster.submit(JobSubmit { held: true, ..shell("speech", "true") });
    let release = JobPatch { held: Some(false), ..JobPatch::default() };
    block_on(daemon.patch_job(&admin, released, release)).expect("taken");
    cluster.wait(released, JobState::Finished);
}

/// Jobs that still run when it ends.
fn runs(cluster: &Cluster) {
    let on = |gpu: &str| JobSubmit { types: vec![gpu.into()], ..resnet("sleep 600") };
    let gang = cluster.submit(JobSubmit { workers: Workers::up_to(2), ..on("fast") });
    let urgent = cluster.submit(JobSubmit { now: true, priority: 5, ..on("slow") });
    cluster.wait(gang, JobState::Running);
    cluster.wait(urgent, JobState::Running);
}

fn go_on(cluster: Cluster) -> Cluster {
    let (daemon, admin) = (&cluster.daemon, Caller::admin());
    let jobs = (0..3).map(|_| shell("speech", "true")).collect();
    let sweep = JobBatch { name: Some("sweep".into()), jobs, at_once: Some(1) };
    let sweep = block_on(daemon.submit(&admin, sweep, Some("once".into()))).expect("taken");
    for id in sweep.ids {
        cluster.wait(id, JobState::Finished);
    }
    runs(&cluster);
    let drain = NodePatch {
        reason: Some("new fan".into()),
        let_finish: true,
        ..NodePatch::health(NodeHealth::Down)
    };
    block_on(daemon.patch_node(&admin, "slow-0", drain)).expect("taken");
    let window = NodePatch {
        reason: Some("maintenance".into()),
        from: Timestamp::from_second(FUTURE_S).ok(),
        until: Timestamp::from_second(FUTURE_S + 3600).ok(),
        ..NodePatch::health(NodeHealth::Down)
    };
    block_on(daemon.patch_node(&admin, "fast-0", window)).expect("taken");
    cluster
}
