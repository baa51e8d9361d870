//! Jobs from their submission to their end.

use crate::common::{Cluster, block_on, shell, training};
use oef_api::parsed::Workers;
use oef_api::types::{JobBatch, JobState, JobSubmit, LogQuery};
use oef_sched::JobId;
use oef_server::caller::Caller;
use oef_server::daemon::StopJobs;
use std::collections::BTreeMap;
use std::process::Command;

pub const TESTS: &[(&str, fn())] = &[
    ("a_job_runs_and_is_done", a_job_runs_and_is_done),
    ("a_script_sees_its_own_environment_only", a_script_sees_its_own_environment_only),
    ("a_failing_job_says_why", a_failing_job_says_why),
    ("a_program_that_is_not_there_is_told", a_program_that_is_not_there_is_told),
    (
        "a_warm_job_is_forked_and_a_stop_ends_its_launcher",
        a_warm_job_is_forked_and_a_stop_ends_its_launcher,
    ),
    ("tenants_take_turns", tenants_take_turns),
    ("a_gang_runs_whole", a_gang_runs_whole),
    ("a_running_job_is_cancelled", a_running_job_is_cancelled),
    ("a_job_is_stopped_after_its_time", a_job_is_stopped_after_its_time),
    ("a_key_makes_a_submission_safe_to_repeat", a_key_makes_a_submission_safe_to_repeat),
    ("a_round_has_a_certificate", a_round_has_a_certificate),
    ("many_submissions_share_a_transaction", many_submissions_share_a_transaction),
];

fn a_job_runs_and_is_done() {
    let cluster = Cluster::new("slow=2,fast=2");
    let out = cluster.path("out");
    let id = cluster.submit(shell("alice", &format!("echo $OEF_GPU_TYPE > {}", out.display())));
    cluster.wait(id, JobState::Finished);
    let text = std::fs::read_to_string(out).expect("written");
    assert!(["slow", "fast"].contains(&text.trim()), "{text}");
    let states =
        |id| cluster.look(id, |job| job.history.iter().map(|c| c.state).collect::<Vec<_>>());
    let life = [JobState::Queued, JobState::Starting, JobState::Running, JobState::Finished];
    assert_eq!(states(id), life);
}

fn a_script_sees_its_own_environment_only() {
    let cluster = Cluster::new("g=1");
    let job = JobSubmit {
        script: Some("echo \"$GREETING, $OEF_TENANT\"; env | grep -c OEF_TOKEN; pwd".into()),
        command: Vec::new(),
        env: BTreeMap::from([("GREETING".to_string(), "hello".to_string())]),
        ..shell("alice", "")
    };
    let id = cluster.submit(job);
    cluster.wait(id, JobState::Finished);
    let log = cluster.daemon.logs(&Caller::admin(), id, &LogQuery::default()).expect("a log");
    assert!(log.text.starts_with("hello, alice\n0\n"), "{}", log.text);
    assert!(log.text.contains(&format!("/jobs/{id}/work")), "{}", log.text);
}

fn a_failing_job_says_why() {
    let cluster = Cluster::new("g=1");
    let job = JobSubmit { retries: 1, ..shell("alice", "echo no luck >&2; exit 3") };
    let id = cluster.submit(job);
    cluster.wait_until("a first failure", |world| world.jobs[&JobId(id)].failures > 0);
    let reason = cluster.look(id, |job| job.reason.to_string());
    assert!(reason.contains("exit code 3; tried again in 5s (retry 1 of 1)"), "{reason}");
    cluster.wait(id, JobState::Failed);
    let reason = cluster.look(id, |job| job.reason.to_string());
    assert!(reason.contains("gave up after 2 failures; its last line: no luck"), "{reason}");
}

fn a_program_that_is_not_there_is_told() {
    let cluster = Cluster::new("g=1");
    let nowhere = |program: &str| JobSubmit { command: vec![program.into()], ..shell("a", "") };
    for program in ["/no/such/program", "no-such-program"] {
        let id = cluster.submit(JobSubmit { retries: 3, ..nowhere(program) });
        cluster.wait(id, JobState::Failed);
        let (reason, starts) = cluster.look(id, |job| (job.reason.to_string(), job.runs.len()));
        assert!(reason.contains(&format!("`{program}`")), "{reason}");
        assert_eq!(starts, 1, "another try would not help");
    }
}

#[expect(clippy::print_stdout, reason = "a test that shows nothing has to say so")]
fn a_warm_job_is_forked_and_a_stop_ends_its_launcher() {
    let version = "import sys; sys.exit(sys.version_info < (3, 9))";
    if !Command::new("python3").args(["-c", version]).status().is_ok_and(|s| s.success()) {
        return println!("not run: there is no Python 3.9");
    }
    let cluster = Cluster::new("g=1");
    let write = |name: &str, text: &str| std::fs::write(cluster.path(name), text).expect("written");
    std::fs::create_dir(cluster.path("modules")).expect("made");
    write("modules/heavy.py", "import os; WHO = os.getpid()\n");
    write("train.py", "import os, heavy; print(heavy.WHO, os.getpid())\n");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/src");
    let path = format!("{source}:{}", cluster.path("modules").display());
    let job = JobSubmit {
        command: vec!["python3".into(), "train.py".into()],
        warm: vec!["heavy".into()],
        workdir: Some(cluster.path(".").display().to_string()),
        env: BTreeMap::from([("PYTHONPATH".to_string(), path)]),
        ..shell("alice", "")
    };
    let id = cluster.submit(job);
    cluster.wait(id, JobState::Finished);
    let log = cluster.daemon.logs(&Caller::admin(), id, &LogQuery::default()).expect("a log");
    let (launcher, worker) = log.text.trim().split_once(' ').expect("two numbers");
    assert_ne!(launcher, worker);
    let process = std::path::PathBuf::from(format!("/proc/{launcher}/exe"));
    assert!(process.exists(), "it waits for the next start");
    cluster.daemon.stop(StopJobs::LeaveRunning);
    cluster.wait_until("its end", |_| !process.exists());
}

fn tenants_take_turns() {
    let cluster = Cluster::new("g=1");
    let ids = ["alice", "bob"].map(|tenant| cluster.submit(training(tenant, 180, 20)));
    for id in ids {
        cluster.wait(id, JobState::Finished);
    }
    let both = |look: fn(&oef_server::world::JobEntry) -> u32| ids.map(|id| cluster.look(id, look));
    let restarts: u32 = both(|job| job.restarts).iter().sum();
    assert!(restarts > 0, "they share one GPU: somebody was stopped and went on");
    for id in ids {
        let (steps, trace) = (cluster.look(id, |job| job.telemetry.steps), cluster.path("state"));
        assert_eq!(steps, 180.0);
        let trace = trace.join(format!("jobs/{id}/checkpoint/trace.jsonl"));
        assert!(trace.is_file(), "{}", trace.display());
    }
    let world = cluster.daemon.with_world(|world| world.clone());
    for tenant in ["alice", "bob"] {
        let rounds = &world.tenants[tenant].delivered;
        assert!(rounds.iter().any(|r| r.delivered > 0.0 && r.promised > 0.0), "{rounds:?}");
    }
}

fn a_gang_runs_whole() {
    let cluster = Cluster::new("g=4");
    let ranks = cluster.path("ranks");
    let script = format!("echo $RANK of $WORLD_SIZE >> {}", ranks.display());
    let id = cluster.submit(JobSubmit { workers: Workers::up_to(4), ..shell("alice", &script) });
    cluster.wait(id, JobState::Finished);
    let text = std::fs::read_to_string(ranks).expect("written");
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort();
    assert_eq!(lines, ["0 of 4", "1 of 4", "2 of 4", "3 of 4"]);
    let gang = JobSubmit { workers: Workers::up_to(5), ..shell("alice", "true") };
    let problem = cluster.try_submit(gang).expect_err("refused");
    assert_eq!(
        (problem.kind.as_str(), problem.field.as_deref()),
        ("gang_too_large", Some("workers"))
    );
    assert!(problem.detail.contains("4 g"), "{problem}");
}

fn a_running_job_is_cancelled() {
    let cluster = Cluster::new("g=1");
    let id = cluster.submit(training("alice", 100_000, 20));
    let waits = cluster.submit(shell("alice", "true"));
    cluster.wait(id, JobState::Running);
    let job = block_on(cluster.daemon.cancel(&Caller::admin(), id)).expect("taken");
    assert_eq!(job.state, JobState::Stopping);
    cluster.wait(id, JobState::Cancelled);
    cluster.wait(waits, JobState::Finished);
    let problem = block_on(cluster.daemon.cancel(&Caller::admin(), id)).expect_err("over");
    assert_eq!(problem.status, 409);
}

fn a_job_is_stopped_after_its_time() {
    let cluster = Cluster::new("g=1");
    let job = JobSubmit { max_run_s: Some(0.5), ..training("alice", 100_000, 20) };
    let id = cluster.submit(job);
    cluster.wait(id, JobState::TimedOut);
    let reason = cluster.look(id, |job| job.reason.to_string());
    assert!(reason.contains("time limit of 0.5s"), "{reason}");
}

fn a_key_makes_a_submission_safe_to_repeat() {
    let cluster = Cluster::new("g=1");
    let batch = |count: usize| JobBatch {
        name: Some("sweep".into()),
        ..JobBatch::of(vec![shell("alice", "true"); count])
    };
    let submit = |count: usize| {
        block_on(cluster.daemon.submit(&Caller::admin(), batch(count), Some("key-1".into())))
    };
    let first = submit(3).expect("taken");
    assert_eq!(first.ids.len(), 3);
    assert_eq!(submit(3).expect("known").ids, first.ids);
    assert_eq!(submit(2).expect_err("something else").status, 409);
    let label = cluster.look(first.ids[0], |job| job.spec.labels["array"].clone());
    assert_eq!(label, "sweep");
    assert_eq!(cluster.daemon.with_world(|world| world.totals.submitted), 3);
}

fn a_round_has_a_certificate() {
    let cluster = Cluster::new("slow=1,fast=1");
    let ids = ["alice", "bob"].map(|tenant| cluster.submit(training(tenant, 200, 20)));
    let admin = Caller::admin();
    let both = |_: &_| cluster.daemon.round(&admin, None).is_ok_and(|r| r.shares.len() == 2);
    cluster.wait_until("a round with both", both);
    let round = cluster.daemon.round(&admin, None).expect("a round");
    assert!(round.audit.is_some_and(|audit| audit.capacity.holds && audit.envy_free.holds));
    let again = cluster.daemon.round(&admin, Some(round.round)).expect("kept");
    assert_eq!(again.round, round.round);
    for id in ids {
        block_on(cluster.daemon.cancel(&admin, id)).expect("taken");
    }
}

fn many_submissions_share_a_transaction() {
    let cluster = Cluster::new("g=1");
    let blocker = cluster.submit(training("alice", 100_000, 20));
    let daemon = &cluster.daemon;
    std::thread::scope(|scope| {
        for tenant in ["a", "b", "c", "d", "e", "f", "g", "h"] {
            scope.spawn(move || {
                for _ in 0..25 {
                    let batch = JobBatch::of(vec![shell(tenant, "true")]);
                    block_on(daemon.submit(&Caller::admin(), batch, None)).expect("taken");
                }
            });
        }
    });
    let (submitted, ids) = cluster.daemon.with_world(|world| {
        (world.totals.submitted, world.jobs.keys().map(|id| id.0).collect::<Vec<u64>>())
    });
    assert_eq!(submitted, 201);
    assert_eq!(ids, (1..=201).collect::<Vec<u64>>(), "numbers in order, none twice");
    block_on(cluster.daemon.cancel(&Caller::admin(), blocker)).expect("taken");
}
