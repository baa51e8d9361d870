//! A life in which everything happens that a record can be about, and everything that is computed where a record is
//! applied: figures of profiles, costs of restarts, turns that become longer.

use super::life::{Life, created, train};
use crate::world::{
    Change, Drain, GroupChange, MEANING, NewJob, NewSweep, NotificationSpec, ProfileEntry,
    Receiver, RunEnd, RunEnding, RunningJobs, SubmitKey, Telemetry, TenantChange, TokenEntry,
    Utilised, Window, timestamp,
};
use oef_api::parsed::Workers;
use oef_api::types::{
    JobPatch, JobState, JobSubmit, Measured, Probe, Provenance, Role, SettingsPatch,
};
use oef_sched::{Generation, JobId, NodeSpec, Promises, Span, Time};
use serde_json::json;
use std::collections::BTreeMap;

/// When it begins, as every [`Life`].
const START_MS: u64 = 1_700_000_000_000;
/// What is planned for then stays planned, whenever the sample is opened.
const FUTURE_MS: u64 = 4_102_444_800_000;

/// The life, with its journal.
pub fn everything() -> Life {
    let mut life = Life::new(1);
    tenants(&mut life);
    runs(&mut life);
    profiles(&mut life);
    stops(&mut life);
    nodes(&mut life);
    notices(&mut life);
    rest(&mut life);
    life
}

fn name<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().expect("it is right")
}

fn tenants(life: &mut Life) {
    life.then(1, Change::GroupPut { name: name("lab"), weight: name("2"), parent: None });
    life.then(1, Change::GroupPut { name: name("team"), weight: name("1"), parent: None });
    life.then(1, Change::GroupRemoved { name: "team".into() });
    let group = Some(GroupChange::Into("lab".into()));
    life.then(
        1,
        Change::TenantChanged(TenantChange {
            name: "ada".into(),
            group,
            ..TenantChange::default()
        }),
    );
    life.then(1, Change::TenantUser { name: "ada".into(), user: Some("ann".into()) });
    let promises = |guarantee: u32, limit: u32| Promises {
        guarantee: BTreeMap::from([("slow".into(), guarantee)]),
        limit: BTreeMap::from([("fast".into(), limit)]),
    };
    life.then(1, Change::TenantPromises { name: "ada".into(), promises: promises(1, 4) });
    life.then(1, Change::GroupPromises { name: "lab".into(), promises: promises(2, 4) });
    let token = TokenEntry {
        hash: "5f".into(),
        role: Role::Viewer,
        tenant: None,
        note: Some("a screen".into()),
        created_ms: START_MS,
        expires_ms: None,
    };
    life.then(1, Change::TokenCreated { id: 1, token: token.clone() });
    life.then(1, Change::TokenCreated { id: 2, token });
    life.then(1, Change::TokenRevoked { id: 2 });
}

/// Submits such jobs and has a round begin; the numbers of the jobs.
fn submit(life: &mut Life, specs: Vec<JobSubmit>) -> Vec<JobId> {
    let first = life.world.next_job;
    let jobs: Vec<NewJob> = (first..).zip(specs).map(|(id, spec)| NewJob { id, spec }).collect();
    let ids = jobs.iter().map(|job| JobId(job.id)).collect();
    let key = SubmitKey { token: 1, key: format!("k{first}"), digest: "d".into() };
    let sweep = Some(NewSweep { at_once: None });
    life.then(100, Change::Submitted { jobs, key: Some(key), sweep });
    round(life);
    ids
}

fn round(life: &mut Life) {
    if let Some(shares) = life.shares() {
        life.then(1, shares);
    }
    life.then(10_000, Change::Round { kept: false });
}

fn lease(life: &Life, job: JobId) -> Generation {
    life.world.jobs[&job].run().unwrap_or_else(|| panic!("job {job} has a run")).generation
}

/// A job that has GPUs starts, and tells how far it is.
fn start(life: &mut Life, job: JobId, steps: f64) {
    let generation = lease(life, job);
    life.then(10, Change::Preparing { job, generation, detail: "brings 5 %".into() });
    let host = Some("n".to_string());
    life.then(900, Change::Started { job, generation, at_ms: None, host });
    let telemetry = Telemetry { steps, throughput: Some(2.0), ..Telemetry::default() };
    life.then(1_100, Change::Progress { job, generation, telemetry });
}

fn end(life: &mut Life, job: JobId, ending: RunEnding) {
    let generation = lease(life, job);
    let (detail, last_lines) = ("it ended".into(), Some("one\nlast".into()));
    let (at_ms, exit, outcome) = (None, None, None);
    life.then(
        700,
        Change::Ended(RunEnd { job, generation, ending, detail, last_lines, at_ms, exit, outcome }),
    );
}

/// Jobs that run, a gang of which one worker has ended, and one that the cluster's own scheduler looks after.
fn runs(life: &mut Life) {
    let gang = JobSubmit { workers: Workers::up_to(2), ..train() };
    let jobs = submit(life, vec![train(), train(), train(), gang]);
    for (place, &job) in jobs.iter().enumerate() {
        start(life, job, 3.0 + place as f64);
    }
    let (job, generation) = (jobs[3], lease(life, jobs[3]));
    life.then(1, Change::WorkersFinished { job, generation, ranks: vec![1] });
    end(life, job, RunEnding::Hindered);
    life.then(600_000, Change::Released { job });
    end(life, job, RunEnding::Lost);
    end(life, jobs[0], RunEnding::Finished);
    end(life, jobs[1], RunEnding::Failed);
    let job = NewJob { id: life.world.next_job, spec: JobSubmit { held: true, ..train() } };
    life.then(1, Change::Noticed { job: Box::new(job), origin: "slurm 7".into() });
    let utilised = Utilised {
        tenant: "ada".into(),
        workload: "w".into(),
        gpu_type: "slow".into(),
        measured_ms: 9_000,
        busy_ms: 4_500.5,
    };
    life.then(1, Change::Utilised { rows: vec![utilised] });
}

/// A told profile, profile runs of which one fails, a gpu type that is new, and a judgement.
fn profiles(life: &mut Life) {
    let throughput = BTreeMap::from([("slow".to_string(), 1.0), ("fast".to_string(), 2.5)]);
    let profile = ProfileEntry::plain(throughput, Provenance::Declared, START_MS, "told".into());
    let profile = Some(Box::new(profile));
    let (tenant, weight, told) = ("bob".to_string(), Some(name("3")), None);
    life.then(1, Change::WorkloadPut { tenant, name: name("vgg"), weight, profile, told });
    let probe =
        |gpu: &str| JobSubmit { probe: Some(Probe::default()), types: vec![gpu.into()], ..train() };
    let probes = submit(life, vec![probe("slow"), probe("fast")]);
    for &job in &probes {
        start(life, job, 0.0);
    }
    let (job, generation) = (probes[0], lease(life, probes[0]));
    let measured = Measured {
        batch_seconds: 0.25,
        spread: 0.01,
        batches: 20,
        timed: true,
        lots: 1,
        wait: None,
    };
    let telemetry = Telemetry { steps: 25.0, measured: Some(measured), ..Telemetry::default() };
    life.then(1, Change::Progress { job, generation, telemetry });
    end(life, job, RunEnding::Finished);
    end(life, probes[1], RunEnding::Failed);
    let up = NodeSpec { name: "n3".into(), gpu_type: "new".into(), gpus: 2 };
    life.then(1, Change::NodeUp(up));
    let workload = life.world.tenants["bob"].workloads["vgg"];
    let seen = json!({"throughput": [1.0, 2.0, 2.0], "seen": [true, true, false]});
    let judgement =
        json!({"workload": workload, "news": "learnt", "profile": seen, "written": 8.0});
    let judgements = vec![serde_json::from_value(judgement).expect("a judgement")];
    life.then(1, Change::Judged { judgements });
}

/// A job that is stopped again and again and never saves its work.
fn stops(life: &mut Life) {
    let suspend = |suspended| {
        let name = "ada".into();
        Change::TenantChanged(TenantChange {
            name,
            suspended: Some(suspended),
            ..TenantChange::default()
        })
    };
    let job = submit(life, vec![JobSubmit { priority: 9, ..train() }])[0];
    for times in 1..=3 {
        start(life, job, 3.0 * f64::from(times));
        life.then(60_000, suspend(true));
        let stopping: Vec<JobId> =
            life.world.index.newest(None, &[JobState::Stopping], None).collect();
        assert!(stopping.contains(&job));
        for job in stopping {
            end(life, job, RunEnding::Stopped);
        }
        life.then(1, suspend(false));
        round(life);
    }
    assert!(life.world.sched.job(job).expect("it lives").spec().min_run.is_some(), "a longer turn");
}

fn nodes(life: &mut Life) {
    let drain = |running| Drain {
        reason: Some("a fan".into()),
        by: "the operator".into(),
        running,
        until: Some(Time(FUTURE_MS + 3_600_000)),
    };
    let window = Window {
        node: "n2".into(),
        from: Time(FUTURE_MS),
        lead: Span(60_000),
        drain: drain(RunningJobs::Stop),
        ahead: true,
    };
    life.then(1, Change::WindowPlanned { id: 1, window: window.clone() });
    life.then(1, Change::WindowPlanned { id: 2, window });
    life.then(1, Change::WindowDropped { id: 2 });
    let reason = Some("ECC errors".to_string());
    life.then(1, Change::NodeReason { node: "n3".into(), reason });
    life.then(1, Change::NodeDown { node: "n3".into() });
    let (node, drain) = ("n1".into(), Some(drain(RunningJobs::Finish)));
    life.then(1, Change::NodeDrained { node, drained: true, drain });
}

fn notices(life: &mut Life) {
    let spec = NotificationSpec {
        tenant: Some("ada".into()),
        receiver: Receiver::Command("tell".into()),
        on: JobState::ENDED.to_vec(),
        any_address: false,
        with_output: true,
    };
    for id in [1, 2] {
        life.then(1, Change::NotificationAdded { id, spec: Box::new(spec.clone()) });
    }
    life.then(1, Change::NotificationRemoved { id: 2 });
    life.then(1, Change::NotificationTested { id: 1, notice: "test-1".into() });
    let (notice, detail) = ("test-1".to_string(), "200".into());
    life.then(1, Change::Notified { id: 1, notice, delivered: true, detail });
}

fn rest(life: &mut Life) {
    let due = timestamp(life.world.sched.now() + Span(60_000));
    let later = JobSubmit { not_before: Some(due), ..train() };
    let jobs = submit(life, vec![later, JobSubmit { held: true, ..train() }]);
    life.then(60_000, Change::Released { job: jobs[0] });
    let patch = JobPatch { priority: Some(4), ..JobPatch::default() };
    life.then(1, Change::JobChanged { job: jobs[1], by: "its owner".into(), patch });
    life.then(1, Change::Cancelled { job: jobs[1], by: "its owner".into(), why: None });
    let patch = SettingsPatch {
        round_s: Some(20.0),
        guard: Some("replace".into()),
        ..SettingsPatch::default()
    };
    life.then(1, Change::Settings(patch));
    life.then(1, Change::Memory { ended_jobs_max: 10, events_max: 40 });
    life.then(1, Change::Meaning { version: MEANING });
    life.then(1, Change::Halted { halted: true });
    life.then(1, Change::Halted { halted: false });
    life.then(1, created("cy", 1.0));
    life.then(1, Change::TenantRemoved { name: "cy".into() });
    round(life);
}
