use super::scene::{BEGIN_MS, ROUND_MS, job};
use super::{Scene, admin, of, viewer};
use crate::view;
use crate::world::{Change, Drain, RunEnding, RunningJobs};
use jiff::Timestamp;
use oef_api::types::{Ending, JobState, JobSubmit, JobsQuery};
use oef_core::Mechanism;
use oef_sched::JobId;

/// A cluster too small for what is asked of it, and many jobs of two tenants.
fn crowded(jobs: u64) -> Scene {
    let mut scene = Scene::new(Mechanism::Cooperative, &[("n1", "slow", 2)]);
    for tenant in ["alice", "bob"] {
        scene.tenant(tenant, 1.0);
        scene.workload(tenant, "train", &[("slow", 1.0)]);
    }
    for n in 0..jobs {
        let tenant = if n % 3 == 0 { "alice" } else { "bob" };
        let labels = [("kind".to_string(), format!("{}", n % 10))].into();
        scene.submit_as(JobSubmit { labels, ..job(tenant, "train", 1) });
    }
    scene.round();
    scene
}

fn query(text: &str) -> JobsQuery {
    let mut query = JobsQuery::default();
    for part in text.split_whitespace() {
        match part.split_once('=').expect("key=value") {
            ("tenant", value) => query.tenant = Some(value.into()),
            ("state", value) => query.state = Some(value.into()),
            ("label", value) => query.label = Some(value.into()),
            ("limit", value) => query.limit = value.parse().ok(),
            ("after", value) => query.after = Some(value.into()),
            ("all", _) => query.all = true,
            other => panic!("{other:?}"),
        }
    }
    query
}

#[test]
fn pages_follow_one_another_newest_first_without_gaps_or_repeats() {
    let scene = crowded(250);
    for (text, expected) in [
        ("limit=100", (1..=250).collect::<Vec<u64>>()),
        ("limit=7 tenant=alice", (1..=250).filter(|n| n % 3 == 1).collect()),
        ("limit=3 state=queued label=kind=4", (1..=250).filter(|n| n % 10 == 5).collect()),
        ("limit=250 label=kind", (1..=250).collect()),
        ("limit=9 label=nothing", vec![]),
        ("limit=10 state=finished,failed", vec![]),
    ] {
        let mut seen = Vec::new();
        let mut asked = query(text);
        loop {
            let page = view::jobs(&scene.world, &admin(), &asked).expect("a good question");
            assert!(page.jobs.len() <= asked.limit.unwrap_or(100) as usize);
            seen.extend(page.jobs.iter().map(|job| job.id));
            match page.next {
                Some(next) => asked.after = Some(next),
                None => break,
            }
        }
        assert!(seen.is_sorted_by(|a, b| a > b), "{text}: {seen:?}");
        seen.reverse();
        assert_eq!(seen, expected, "{text}");
    }
}

#[test]
fn what_cannot_be_listed_is_said_with_the_field() {
    let scene = crowded(5);
    for (text, field) in [
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("after=x", "after"),
        ("state=sleeping", "state"),
        ("tenant=carol", "tenant"),
    ] {
        let problem = view::jobs(&scene.world, &admin(), &query(text)).expect_err(text);
        assert_eq!(problem.field.as_deref(), Some(field), "{problem:?}");
        assert!(problem.hint.is_some(), "{problem:?}");
    }
}

#[test]
fn a_tenant_lists_and_sees_its_own_jobs_and_cannot_tell_whether_there_are_others() {
    let scene = crowded(10);
    let own = view::jobs(&scene.world, &of("alice"), &query("all=1")).expect("its own");
    assert!(own.jobs.iter().all(|job| job.tenant == "alice") && own.jobs.len() == 4);
    let foreign = view::jobs(&scene.world, &of("alice"), &query("tenant=bob"));
    let unknown = view::jobs(&scene.world, &of("alice"), &query("tenant=carol"));
    let (foreign, unknown) = (foreign.expect_err("not its own"), unknown.expect_err("not there"));
    assert_eq!((foreign.status, &foreign.kind), (unknown.status, &unknown.kind));
    let foreign = view::job(&scene.world, &of("alice"), 2).expect_err("bob's");
    let unknown = view::job(&scene.world, &of("alice"), 999).expect_err("not there");
    assert_eq!((foreign.status, foreign.kind), (404, unknown.kind));
    assert!(view::why(&scene.world, &of("alice"), 2).is_err());
    assert!(view::job(&scene.world, &of("alice"), 1).is_ok());
    let nobody = crate::caller::Caller { tenant: None, ..of("alice") };
    assert!(view::jobs(&scene.world, &nobody, &query("all=1")).expect("nothing").jobs.is_empty());
}

#[test]
fn a_viewer_sees_neither_commands_nor_output() {
    let mut scene = Scene::two_tenants(Mechanism::Cooperative);
    let id = scene.placed()[0];
    scene.started(id);
    scene.ended(id, RunEnding::Failed, "exit code 3", Some("first\npassword: hunter2\n"));
    let whole = view::job(&scene.world, &admin(), id).expect("there");
    assert_eq!(whole.state, JobState::Failed);
    assert_eq!(whole.spec.map(|spec| spec.command), Some(vec!["train".into(), "--secret".into()]));
    let seen = serde_json::to_string(&whole.runs).expect("JSON");
    assert!(seen.contains("hunter2") && whole.reason.contains("hunter2"), "{seen}");
    let shown = [
        serde_json::to_string(&view::job(&scene.world, &viewer(), id).expect("there")),
        serde_json::to_string(&view::why(&scene.world, &viewer(), id).expect("there")),
        serde_json::to_string(&view::jobs(&scene.world, &viewer(), &query("all=1")).expect("some")),
    ];
    for text in shown.map(|text| text.expect("JSON")) {
        assert!(!text.contains("hunter2") && !text.contains("--secret"), "{text}");
        assert!(text.contains("exit code 3"), "{text}");
    }
}

#[test]
fn a_job_tells_its_life() {
    let mut scene = Scene::two_tenants(Mechanism::Cooperative);
    let id = scene.placed()[0];
    scene.now += 1_000;
    scene.started(id);
    scene.now += 4_000;
    scene.progress(id, 40.0);
    let job = view::job(&scene.world, &admin(), id).expect("there");
    assert_eq!((job.state, job.ran_s, job.progress.steps), (JobState::Running, 4.0, 40.0));
    assert_eq!(job.gpus.len(), 1);
    assert_eq!(job.gpus, job.runs.as_ref().expect("whole")[0].gpus);
    scene.ended(id, RunEnding::Finished, "all done", None);
    let job = view::job(&scene.world, &admin(), id).expect("remembered");
    assert_eq!((job.state, job.ran_s, job.gpus.len()), (JobState::Finished, 4.0, 0));
    let states: Vec<JobState> = job.history.expect("whole").iter().map(|c| c.state).collect();
    let life = [JobState::Queued, JobState::Starting, JobState::Running, JobState::Finished];
    assert_eq!(states, life);
    let runs = job.runs.expect("whole");
    assert_eq!(runs[0].ending, Some(Ending::Finished));
    assert_eq!(job.ended, Timestamp::from_millisecond((BEGIN_MS + 5_000) as i64).ok());
}

#[test]
fn why_a_job_waits_is_said_with_the_start_to_expect() {
    let scene = crowded(7);
    let waiting: Vec<u64> = (1..=7).filter(|id| !scene.placed().contains(id)).collect();
    for id in waiting {
        let why = view::why(&scene.world, &admin(), id).expect("there");
        assert_eq!(why.state, JobState::Queued);
        let round = why.expected_round.expect("it will have its turn");
        let start = BEGIN_MS + (round - 1) * ROUND_MS;
        assert_eq!(why.expected_start, Timestamp::from_millisecond(start as i64).ok());
        assert!(["behind", "saving", "protected"].contains(&why.kind.as_str()), "{why:?}");
        let listed = view::job(&scene.world, &admin(), id).expect("there");
        assert_eq!(listed.reason, why.sentence);
        let data = listed.reason_data.expect("as data, too");
        assert_eq!((Some(&data), &data.kind), (why.reason_data.as_ref(), &why.kind));
        assert!(data.fields.keys().any(|key| ["next", "deficit", "within_ms"].contains(&&**key)));
        let figures = why.details.iter().any(|d| d.contains("share 1.00 slow; holds "));
        assert!(figures, "{why:?}");
    }
}

#[test]
fn a_job_for_a_type_that_is_out_is_told_which_nodes_and_why() {
    let mut scene = Scene::new(Mechanism::Cooperative, &[("n1", "slow", 1), ("n2", "slow", 1)]);
    scene.tenant("alice", 1.0);
    let drain = Drain {
        reason: Some("new fan".into()),
        by: "the operator".into(),
        running: RunningJobs::Stop,
        until: None,
    };
    for (node, drain) in [("n1", Some(drain)), ("n2", None)] {
        scene.apply(Change::NodeDrained { node: node.into(), drained: true, drain });
    }
    let id = scene.submit_as(job("alice", "odd", 1));
    scene.round();
    let why = view::why(&scene.world, &admin(), id).expect("there");
    assert_eq!(why.kind, "none_up");
    let data = serde_json::to_value(&why.reason_data).expect("JSON");
    assert_eq!(data, serde_json::json!({"kind": "none_up", "gpu": "slow"}));
    for line in ["node n1 is out: new fan", "node n2 is out: taken out by an operator"] {
        assert!(why.details.iter().any(|detail| detail == line), "{why:?}");
    }
}

#[test]
fn a_job_that_is_tried_again_says_when() {
    let mut scene = Scene::new(Mechanism::Cooperative, &[("n1", "slow", 1)]);
    scene.tenant("alice", 1.0);
    let id = scene.submit_as(JobSubmit { retries: 3, ..job("alice", "odd", 1) });
    scene.round();
    scene.started(id);
    scene.ended(id, RunEnding::Failed, "exit code 3", Some("no such file"));
    let why = view::why(&scene.world, &admin(), id).expect("there");
    assert_eq!((why.state, why.kind.as_str()), (JobState::Queued, "backing_off"));
    assert!(why.sentence.contains("tried again in"), "{why:?}");
    assert_eq!(why.expected_start, Timestamp::from_millisecond((BEGIN_MS + 5_000) as i64).ok());
    assert!(why.details.iter().any(|d| d.contains("is an estimate")), "{why:?}");
    assert!(why.details.iter().any(|d| d.contains("no such file")), "{why:?}");
    let listed = view::jobs(&scene.world, &admin(), &JobsQuery::default()).expect("one");
    assert_eq!(listed.jobs[0].reason, why.sentence);
    let data = serde_json::to_value(&listed.jobs[0].reason_data).expect("JSON");
    let expected = serde_json::json!({"kind": "retry", "detail": "exit code 3", "wait_ms": 5000, "retry": 1, "retries": 3});
    assert_eq!(data, expected);
}

#[test]
fn why_a_job_ended_or_runs_is_its_reason() {
    let mut scene = crowded(3);
    let id = scene.placed()[0];
    let starting = view::why(&scene.world, &admin(), id).expect("there");
    assert_eq!((starting.state, starting.kind.as_str()), (JobState::Starting, "starting"));
    scene.started(id);
    let runs = view::why(&scene.world, &admin(), id).expect("there");
    assert_eq!(runs.kind, "running");
    let reason = scene.world.sched.job(JobId(id)).and_then(|job| job.started_because());
    assert_eq!(Some(runs.sentence.as_str()), reason.map(|why| why.to_string()).as_deref());
    scene.apply(Change::Cancelled { job: JobId(id), by: "alice".into(), why: None });
    scene.ended(id, RunEnding::Checkpointed, "it saved its work", None);
    let ended = view::why(&scene.world, &admin(), id).expect("there");
    assert_eq!((ended.state, ended.kind.as_str()), (JobState::Cancelled, "cancelled"));
    assert_eq!(ended.sentence, "cancelled by alice");
}
