//! The daemon ends, and another one goes on.

use crate::common::{Cluster, Guarded, block_on, options, shell, training};
use oef_api::types::{
    JobBatch, JobState, JobSubmit, NodeHealth, NodePatch, Role, SettingsPatch, TenantPatch,
    TokenCreate,
};
use oef_sched::JobId;
use oef_server::caller::Caller;
use oef_server::daemon::{Daemon, StopJobs};
use std::path::Path;
use std::time::Duration;

pub const TESTS: &[(&str, fn())] = &[
    ("a_running_job_is_found_again", a_running_job_is_found_again),
    ("a_job_that_ended_meanwhile_is_found", a_job_that_ended_meanwhile_is_found),
    ("jobs_that_were_saved_go_on", jobs_that_were_saved_go_on),
    ("a_stop_at_any_moment_saves_the_jobs", a_stop_at_any_moment_saves_the_jobs),
    ("what_was_set_stays_set", what_was_set_stays_set),
    ("other_gpus_than_before", other_gpus_than_before),
    (
        "tokens_are_void_where_tenants_are_not_trusted",
        tokens_are_void_where_tenants_are_not_trusted,
    ),
    (
        "numbers_of_unknown_folders_are_not_used_again",
        numbers_of_unknown_folders_are_not_used_again,
    ),
    (
        "an_older_copy_does_not_kill_what_runs_until_it_is_accepted",
        an_older_copy_does_not_kill_what_runs_until_it_is_accepted,
    ),
    ("a_forgotten_job_leaves_nothing", a_forgotten_job_leaves_nothing),
    ("a_second_daemon_is_refused", a_second_daemon_is_refused),
    ("a_journal_that_cannot_be_written", a_journal_that_cannot_be_written),
];

fn a_running_job_is_found_again() {
    let cluster = Cluster::new("g=1");
    let id = cluster.submit(training("alice", 150, 20));
    cluster.wait(id, JobState::Running);
    let before = cluster.look(id, |job| job.run().map(|run| run.generation));
    let cluster = cluster.restart(StopJobs::LeaveRunning);
    let after = cluster.look(id, |job| (job.state, job.run().map(|run| run.generation)));
    assert_eq!(after, (JobState::Running, before), "the same run goes on");
    cluster.wait(id, JobState::Finished);
    assert_eq!(cluster.look(id, |job| (job.telemetry.steps, job.restarts)), (150.0, 0));
}

fn a_job_that_ended_meanwhile_is_found() {
    let cluster = Cluster::new("g=1");
    let (go, done) = (cluster.path("go"), cluster.path("done"));
    let script = format!(
        "while [ ! -e {} ]; do sleep 0.05; done; echo x > {}",
        go.display(),
        done.display()
    );
    let id = cluster.submit(shell("alice", &script));
    cluster.wait(id, JobState::Running);
    cluster.daemon.stop(StopJobs::LeaveRunning);
    std::fs::write(&go, "").expect("written");
    while !done.exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let cluster = cluster.restart(StopJobs::LeaveRunning);
    cluster.wait(id, JobState::Finished);
    assert_eq!(cluster.look(id, |job| job.runs.len()), 1, "it ran once");
}

fn jobs_that_were_saved_go_on() {
    let cluster = Cluster::new("g=2");
    let ids = [0, 1].map(|_| cluster.submit(training("alice", 100, 20)));
    for id in ids {
        cluster.wait_until("some steps", |world| world.jobs[&JobId(id)].telemetry.steps > 5.0);
    }
    cluster.daemon.stop(StopJobs::Checkpoint);
    for id in ids {
        assert_eq!(cluster.state(id), JobState::Queued, "stopped, with its work saved");
    }
    let cluster = cluster.restart(StopJobs::LeaveRunning);
    for id in ids {
        cluster.wait(id, JobState::Finished);
        assert_eq!(cluster.look(id, |job| (job.telemetry.steps, job.restarts)), (100.0, 1));
    }
}

/// Whatever a job is doing just then, it is stopped, and goes on with the next start.
fn a_stop_at_any_moment_saves_the_jobs() {
    let mut cluster = Cluster::new("slow=1,fast=1");
    let ids = ["alice", "bob", "cy"].map(|tenant| cluster.submit(training(tenant, 100_000, 20)));
    for moment in 0..8 {
        std::thread::sleep(Duration::from_millis(90 * moment));
        cluster.daemon.stop(StopJobs::Checkpoint);
        for id in ids {
            let (state, reason) = cluster.look(id, |job| (job.state, job.reason.to_string()));
            assert_eq!(state, JobState::Queued, "job {id} at moment {moment}: {reason}");
        }
        cluster = cluster.restart(StopJobs::LeaveRunning);
    }
    assert!(ids.iter().all(|&id| cluster.look(id, |job| job.failures) == 0));
}

/// A token that was made while all tenants were trusted is one for everything the daemon can.
fn tokens_are_void_where_tenants_are_not_trusted() {
    let cluster = Cluster::new("g=1");
    let admin = Caller::admin();
    let create = |role, tenant: Option<&str>| {
        let tenant = tenant.map(String::from);
        let create = TokenCreate { role, tenant, note: None, expires_in_s: None };
        block_on(cluster.daemon.create_token(&admin, create)).expect("taken").secret
    };
    cluster.submit(shell("alice", "true"));
    let (tenant, viewer) = (create(Role::Tenant, Some("alice")), create(Role::Viewer, None));
    assert!(cluster.daemon.authenticate(&tenant).is_some());
    let Cluster { folder, gpus, daemon } = cluster;
    drop(daemon);
    let start = |trust_tenants| {
        let mut options = options(&folder.path().join("state"), &gpus);
        options.budgets.trust_tenants = trust_tenants;
        Guarded::start(options)
    };
    let daemon = start(false);
    assert!(daemon.authenticate(&tenant).is_none(), "it runs jobs as the daemon");
    assert!(daemon.authenticate(&viewer).is_some());
    let other = TenantPatch { user: Some(Some("nobody".into())), ..Default::default() };
    block_on(daemon.patch_tenant(&admin, "alice", other)).expect("taken");
    assert!(daemon.authenticate(&tenant).is_some(), "its jobs are another user's now");
    drop(daemon);
    assert!(start(true).authenticate(&tenant).is_some());
}

fn what_was_set_stays_set() {
    let cluster = Cluster::new("g=4,h=4");
    let admin = Caller::admin();
    cluster.submit(shell("alice", "true"));
    let daemon = &cluster.daemon;
    let token = block_on(async {
        let suspend =
            TenantPatch { suspended: Some(true), weight: "2.5".parse().ok(), ..Default::default() };
        daemon.patch_tenant(&admin, "alice", suspend).await.expect("taken");
        let down = NodePatch::health(NodeHealth::Down);
        daemon.patch_node(&admin, "g-0", down).await.expect("taken");
        let nash = SettingsPatch { mechanism: Some("nash".into()), ..Default::default() };
        daemon.patch_settings(&admin, nash).await.expect("taken");
        let create = TokenCreate {
            role: Role::Tenant,
            tenant: Some("alice".into()),
            note: None,
            expires_in_s: None,
        };
        daemon.create_token(&admin, create).await.expect("taken")
    });
    let cluster = cluster.restart(StopJobs::LeaveRunning);
    let daemon = &cluster.daemon;
    let tenant = daemon.tenant(&admin, "alice").expect("there");
    assert_eq!((tenant.suspended, tenant.weight), (true, 2.5));
    assert_eq!(daemon.settings(&admin).expect("there").mechanism, "nash");
    let nodes = daemon.cluster(&admin).expect("there").nodes;
    let health: Vec<_> = nodes.iter().map(|node| (node.name.as_str(), node.health)).collect();
    assert_eq!(health, [("g-0", NodeHealth::Down), ("h-0", NodeHealth::Up)]);
    let caller = daemon.authenticate(&token.secret).expect("valid");
    assert_eq!((caller.role, caller.tenant.as_deref()), (Role::Tenant, Some("alice")));
    assert!(daemon.authenticate("oef_wrong").is_none());
    let id = cluster.submit(shell("alice", "true"));
    let why = daemon.why(&admin, id).expect("there");
    assert!(why.sentence.contains("suspended"), "{}", why.sentence);
    block_on(daemon.revoke_token(&admin, token.token.id)).expect("taken");
    assert!(daemon.authenticate(&token.secret).is_none());
}

fn other_gpus_than_before() {
    let mut cluster = Cluster::new("g=4,h=2");
    let done = cluster.submit(shell("alice", "true"));
    cluster.wait(done, JobState::Finished);
    cluster.gpus = "g=2,new=1".into();
    let cluster = cluster.restart(StopJobs::LeaveRunning);
    let types = cluster.daemon.cluster(&Caller::admin()).expect("there").types;
    let types: Vec<_> = types.iter().map(|t| (t.gpu_type.as_str(), t.capacity)).collect();
    assert_eq!(types, [("g", 2), ("h", 0), ("new", 1)]);
    let gpus = |name: &str| JobSubmit { types: vec![name.into()], ..shell("alice", "true") };
    cluster.wait(cluster.submit(gpus("new")), JobState::Finished);
    cluster.wait(cluster.submit(gpus("g")), JobState::Finished);
}

/// Whoever restores an older backup has folders of jobs that its journal does not know.
fn numbers_of_unknown_folders_are_not_used_again() {
    let cluster = Cluster::new("g=1");
    let first = cluster.submit(shell("alice", "true"));
    cluster.wait(first, JobState::Finished);
    let old = cluster.path("state/jobs/40/checkpoint");
    std::fs::create_dir_all(&old).expect("made");
    let cluster = cluster.restart(StopJobs::LeaveRunning);
    assert_eq!(cluster.submit(shell("alice", "true")), 41);
    assert!(old.is_dir(), "it may be somebody's work");
}

/// Database, log and the end in its second place are all older: nothing in the journal itself shows it.
fn an_older_copy_does_not_kill_what_runs_until_it_is_accepted() {
    let cluster = Cluster::new("g=2");
    let first = cluster.submit(training("alice", 100_000, 20));
    cluster.wait(first, JobState::Running);
    cluster.daemon.stop(StopJobs::Checkpoint);
    let state = cluster.path("state");
    let (older, newer) = (cluster.path("older"), cluster.path("newer"));
    copy_journal(&state, &older);

    let cluster = cluster.restart(StopJobs::LeaveRunning);
    cluster.wait(cluster.submit(shell("alice", "true")), JobState::Finished);
    let beats = cluster.path("beats");
    let script = format!("while sleep 0.05; do echo x >> {}; done", beats.display());
    let runs = cluster.submit(shell("alice", &script));
    let size = || std::fs::metadata(&beats).map_or(0, |meta| meta.len());
    let goes_on = || {
        let (before, began) = (size(), std::time::Instant::now());
        while size() <= before {
            assert!(began.elapsed() < Duration::from_secs(30), "it was killed");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    cluster.wait(first, JobState::Running);
    cluster.wait(runs, JobState::Running);
    goes_on();
    let Cluster { folder, gpus, daemon } = cluster;
    daemon.stop(StopJobs::LeaveRunning);
    drop(daemon);

    copy_journal(&state, &newer);
    copy_journal(&older, &state);
    let refused = Daemon::start(options(&state, &gpus)).err().expect("refused").to_string();
    for part in ["jobs 2, 3", "job 1 ran again", "journal accept"] {
        assert!(refused.contains(part), "`{part}`: {refused}");
    }
    goes_on();

    // With what was there before it goes on as if nothing had happened.
    copy_journal(&newer, &state);
    let daemon = Guarded::start(options(&state, &gpus));
    let cluster = Cluster { folder, gpus, daemon };
    assert_eq!(cluster.state(runs), JobState::Running);
    let Cluster { folder, gpus, daemon } = cluster;
    daemon.stop(StopJobs::LeaveRunning);
    drop(daemon);

    copy_journal(&older, &state);
    oef_server::store::journal::accept(&state).expect("taken as it is");
    // Also more than once, as long as the journal has not caught up.
    for _ in 0..2 {
        let daemon = Guarded::start(options(&state, &gpus));
        assert!(daemon.with_world(|world| !world.jobs.contains_key(&JobId(runs))));
        daemon.stop(StopJobs::LeaveRunning);
    }
    let after = size();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(size(), after, "what nobody holds is killed");
    let daemon = Guarded::start(options(&state, &gpus));
    let cluster = Cluster { folder, gpus, daemon };
    assert_eq!(cluster.submit(shell("alice", "true")), 4, "no number is given out twice");
}

/// Everything of the journal, as it is, from one folder to another.
fn copy_journal(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("made");
    for name in ["oef.db", "oef.db-wal", "oef.db-shm", "journal.head"] {
        let _ = std::fs::remove_file(to.join(name));
        if from.join(name).exists() {
            std::fs::copy(from.join(name), to.join(name)).expect("copied");
        }
    }
}

fn a_forgotten_job_leaves_nothing() {
    let cluster = Cluster::new("g=1");
    let id = cluster.submit(shell("alice", "echo x > here"));
    cluster.wait(id, JobState::Finished);
    let folder = cluster.path(&format!("state/jobs/{id}"));
    assert!(folder.join("work/here").is_file());
    block_on(cluster.daemon.remove_tenant(&Caller::admin(), "alice")).expect("taken");
    let began = std::time::Instant::now();
    while folder.exists() {
        assert!(began.elapsed() < Duration::from_secs(30), "its folder is still there");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(cluster.daemon.job(&Caller::admin(), id).is_err());
}

fn a_second_daemon_is_refused() {
    let cluster = Cluster::new("g=1");
    let other = cluster.folder.path().join("executor");
    let mut options = options(&other, "g=1");
    options.state_dir = cluster.folder.path().join("state");
    let refused = Daemon::start(options).err().expect("refused").to_string();
    assert!(refused.contains("in use"), "{refused}");
    cluster.wait(cluster.submit(shell("alice", "true")), JobState::Finished);
}

/// Another program holds the database: the same to the engine as a disk that is full for a while.
fn a_journal_that_cannot_be_written() {
    let cluster = Cluster::new("g=1");
    let runs = cluster.submit(training("alice", 50, 20));
    cluster.wait(runs, JobState::Running);
    let file = cluster.path("state/oef.db");
    let holder = rusqlite::Connection::open(file).expect("opened");
    holder.execute_batch("BEGIN IMMEDIATE").expect("held");
    let batch = JobBatch::of(vec![shell("alice", "true")]);
    let problem = block_on(cluster.daemon.submit(&Caller::admin(), batch, None));
    let problem = problem.expect_err("not durable, so not taken");
    assert_eq!((problem.kind.as_str(), problem.status), ("unavailable", 503));
    assert!(problem.hint.is_some(), "{problem}");
    assert_eq!(cluster.daemon.with_world(|world| world.jobs.len()), 1, "nothing was changed");
    holder.execute_batch("ROLLBACK").expect("let go");
    cluster.wait(runs, JobState::Finished);
    cluster.wait(cluster.submit(shell("alice", "true")), JobState::Finished);
}
