//! Jobs that are held, edited, delayed, and made to wait for others, step by step.

use super::check::check;
use super::life::{created, empty, train};
use crate::world::tokens::KEYS_MAX;
use crate::world::{
    Action, Change, Index, NewJob, NewSweep, Reason, RunEnding, SubmitKey, World, timestamp,
};
use oef_api::types::{Dependency, DependencyCondition, JobPatch, JobState, JobSubmit};
use oef_sched::{JobId, NodeSpec, Obstacle, Time};

/// A cluster of two GPUs with one tenant.
struct Story {
    world: World,
    at: u64,
    actions: Vec<Action>,
}

impl Story {
    fn new() -> Story {
        let mut story = Story { world: empty(), at: 1_000, actions: Vec::new() };
        story.then(Change::NodeUp(NodeSpec { name: "n".into(), gpu_type: "g".into(), gpus: 2 }));
        story.then(created("ada", 1.0));
        story.then(Change::Round { kept: false });
        story
    }

    fn then(&mut self, change: Change) {
        self.at += 1_000;
        (_, self.actions) = self.world.happen(Time(self.at), change).expect("taken");
        check(&self.world);
    }

    fn submit_as(&mut self, jobs: Vec<JobSubmit>, sweep: Option<NewSweep>) -> Vec<JobId> {
        let first = self.world.next_job;
        let jobs: Vec<NewJob> = (first..).zip(jobs).map(|(id, spec)| NewJob { id, spec }).collect();
        let ids = jobs.iter().map(|job| JobId(job.id)).collect();
        self.then(Change::Submitted { jobs, key: None, sweep });
        ids
    }

    fn submit(&mut self, spec: JobSubmit) -> JobId {
        self.submit_as(vec![spec], None)[0]
    }

    fn patch(&mut self, job: JobId, patch: JobPatch) {
        self.then(Change::JobChanged { job, by: "its owner".into(), patch });
    }

    fn end(&mut self, job: JobId, ending: RunEnding) {
        let generation = self.world.jobs[&job].run().expect("a run").generation;
        self.then(Change::ended(job, generation, ending, "it ended"));
    }

    fn state(&self, job: JobId) -> JobState {
        self.world.jobs[&job].state
    }

    fn told(&self, job: JobId) -> (JobState, String) {
        (self.state(job), self.world.jobs[&job].reason.to_string())
    }
}

fn after(job: JobId, when: DependencyCondition) -> JobSubmit {
    JobSubmit { after: vec![Dependency { job: job.0, when }], ..train() }
}

fn held(held: bool) -> JobPatch {
    JobPatch { held: Some(held), ..JobPatch::default() }
}

#[test]
fn a_running_job_that_is_held_saves_its_work_and_waits_until_it_is_released() {
    let mut story = Story::new();
    let job = story.submit(train());
    story.patch(job, held(true));
    assert!(matches!(story.actions[..], [Action::Stop { .. }]), "{:?}", story.actions);
    assert_eq!(story.told(job), (JobState::Stopping, "held by its owner".into()));
    story.end(job, RunEnding::Checkpointed);
    assert_eq!(story.state(job), JobState::Queued);
    story.then(Change::Round { kept: false });
    assert_eq!(story.state(job), JobState::Queued, "two GPUs are idle, and it does not start");
    assert_eq!(story.world.sched.obstacle_of(job), Some(Obstacle::Held));
    story.patch(job, held(false));
    assert_eq!(story.state(job), JobState::Starting);
    let mut history = story.world.jobs[&job].history.iter();
    let released = Reason::Released { by: "its owner".into() };
    assert!(history.any(|change| change.reason == released), "{history:?}");
}

#[test]
fn an_edit_changes_what_it_names_and_says_so() {
    let mut story = Story::new();
    let job = story.submit(JobSubmit { held: true, ..train() });
    let labels = [("lr".to_string(), Some("0.1".to_string()))].into();
    let patch = JobPatch {
        name: Some("new".into()),
        priority: Some(7),
        types: Some(vec!["g".into()]),
        gpu_memory_gib: Some(Some(16.0)),
        now: Some(true),
        labels,
        max_run_s: Some(Some(60.0)),
        ..JobPatch::default()
    };
    story.patch(job, patch);
    let entry = &story.world.jobs[&job];
    let said = "name, priority, gpu types, gpu memory, start at once, labels, time limit changed by its owner";
    assert_eq!(entry.reason.to_string(), said);
    assert_eq!((entry.name(), entry.spec.max_run_s), ("new", Some(60.0)));
    let sched = story.world.sched.job(job).expect("live").spec();
    assert_eq!((sched.priority, sched.types.as_deref()), (7, Some(&["g".to_string()][..])));
    assert_eq!((sched.memory, sched.now), (Some(16 * 1024), true));
    story.patch(job, JobPatch { max_run_s: Some(None), ..JobPatch::default() });
    assert_eq!(story.world.jobs[&job].spec.max_run_s, None);
}

#[test]
fn a_job_starts_when_the_one_before_it_ended_as_it_should() {
    let cases = [
        (DependencyCondition::Finished, RunEnding::Finished, true),
        (DependencyCondition::Finished, RunEnding::Failed, false),
        (DependencyCondition::Finished, RunEnding::TimedOut, false),
        (DependencyCondition::Ended, RunEnding::Failed, true),
        (DependencyCondition::Ended, RunEnding::Finished, true),
        (DependencyCondition::Failed, RunEnding::TimedOut, true),
        (DependencyCondition::Failed, RunEnding::Failed, true),
        (DependencyCondition::Failed, RunEnding::Finished, false),
    ];
    for (when, ending, starts) in cases {
        let mut story = Story::new();
        let first = story.submit(train());
        let second = story.submit(after(first, when));
        let third = story.submit(after(second, DependencyCondition::Finished));
        assert_eq!(story.state(second), JobState::Queued);
        story.end(first, ending);
        let case = format!("{when:?} {ending:?}");
        match starts {
            true => {
                assert_eq!(story.state(second), JobState::Starting, "{case}");
                assert_eq!(story.state(third), JobState::Queued, "{case}");
            }
            // And who waits for one that will never start does not start either.
            false => {
                let (state, why) = story.told(second);
                assert_eq!(state, JobState::Cancelled, "{case}");
                assert!(why.starts_with("it was to start after job 1"), "{why}");
                let (state, why) = story.told(third);
                assert_eq!(state, JobState::Cancelled, "{case}");
                assert!(why.ends_with("that job was cancelled"), "{why}");
            }
        }
    }
}

#[test]
fn a_dependency_that_has_ended_already_is_over_and_one_that_cannot_come_ends_the_job() {
    let mut story = Story::new();
    let first = story.submit(train());
    story.end(first, RunEnding::Finished);
    let met = story.submit(after(first, DependencyCondition::Finished));
    assert_eq!(story.state(met), JobState::Starting);
    let never = story.submit(after(first, DependencyCondition::Failed));
    assert_eq!(story.state(never), JobState::Cancelled);
}

#[test]
fn a_job_with_a_start_time_waits_for_it() {
    let mut story = Story::new();
    let start = Time(story.at + 60_000);
    let job = story.submit(JobSubmit { not_before: Some(timestamp(start)), ..train() });
    assert_eq!(story.world.sched.obstacle_of(job), Some(Obstacle::NotBefore { at: start }));
    assert_eq!(story.world.index.next_wakeup(), Some((start, job)));
    story.at = start.0;
    story.then(Change::Released { job });
    assert_eq!(story.state(job), JobState::Starting);
    assert_eq!(story.world.index.next_wakeup(), None);
    let past = Some(timestamp(Time(5)));
    let job = story.submit(JobSubmit { not_before: past, ..train() });
    assert_eq!(story.state(job), JobState::Starting, "a time that has passed is none");
    let job = story.submit(JobSubmit { not_before: Some(timestamp(Time(1 << 40))), ..train() });
    story.patch(job, JobPatch { not_before: Some(None), ..JobPatch::default() });
    assert_eq!(story.world.index.next_wakeup(), None);
    story.then(Change::Cancelled { job, by: "its owner".into(), why: None });
}

#[test]
fn a_sweep_with_a_limit_runs_so_many_at_once() {
    let mut story = Story::new();
    let jobs = story.submit_as(vec![train(); 3], Some(NewSweep { at_once: Some(1) }));
    let states = |story: &Story| jobs.iter().map(|&job| story.state(job)).collect::<Vec<_>>();
    use JobState::{Finished, Queued, Starting};
    assert_eq!(states(&story), [Starting, Queued, Queued], "there is a second GPU");
    story.end(jobs[0], RunEnding::Finished);
    assert_eq!(states(&story), [Finished, Starting, Queued]);
    assert_eq!(story.world.jobs[&jobs[2]].sweep_id(), Some(jobs[0].0));
}

/// Whoever submits and cancels without end takes nothing of others: neither records nor, with them, logs and checkpoints.
#[test]
fn a_tenant_with_many_ended_jobs_loses_its_own_first() {
    let mut story = Story::new();
    story.then(Change::Memory { ended_jobs_max: 5, events_max: 20 });
    story.then(created("bob", 1.0));
    let of = |tenant: &str| JobSubmit { tenant: tenant.parse().ok(), held: true, ..train() };
    let mut end = |tenant: &str| {
        let job = story.submit(of(tenant));
        story.then(Change::Cancelled { job, by: "its owner".into(), why: None });
        (job, story.world.jobs.keys().copied().collect::<Vec<_>>())
    };
    let bobs = [end("bob").0, end("bob").0];
    let adas: Vec<_> = (0..10).map(|_| end("ada").0).collect();
    let (last, left) = end("ada");
    assert_eq!(left, [&bobs[..], &adas[8..], &[last]].concat());
    let (third, left) = end("bob");
    assert_eq!(
        left,
        [&bobs[1..], &adas[8..], &[last, third]].concat(),
        "as many: the last by name"
    );
}

/// Whoever submits with a new key each time makes nobody else forget theirs. Before version 5 the first of all went.
#[test]
fn a_caller_with_many_keys_loses_its_own_first() {
    for (meaning, forgets) in [(4, ["7/first", "7/second"]), (5, ["8/0", "8/1"])] {
        let mut world = Story::new().world;
        world.meaning = meaning;
        let mut submit = |token: u64, key: String| {
            let key = SubmitKey { token, key, digest: String::new() };
            world.remember_key(&key, Vec::new());
        };
        submit(7, "first".into());
        submit(7, "second".into());
        for n in 0..KEYS_MAX {
            submit(8, n.to_string());
        }
        assert_eq!((world.keys.len(), world.key_order.len()), (KEYS_MAX, KEYS_MAX));
        let known: Vec<&str> = ["7/first", "7/second", "8/0", "8/1"]
            .into_iter()
            .filter(|key| !world.keys.contains_key(*key))
            .collect();
        assert_eq!(known, forgets, "version {meaning}");
        assert_eq!(Index::of(&world), world.index);
    }
}

#[test]
fn a_time_limit_is_told_with_the_whole_time_that_was_allowed() {
    let mut story = Story::new();
    let job = story.submit(JobSubmit { max_run_s: Some(20.0), ..train() });
    story.end(job, RunEnding::TimedOut);
    assert_eq!(story.told(job), (JobState::TimedOut, "reached its time limit of 20s".into()));
    assert_eq!(story.world.totals.timed_out, 1);
}
