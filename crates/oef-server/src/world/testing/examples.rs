//! Lives of single jobs, step by step, with what people are told.

use super::check::check;
use super::life::{created, empty, train};
use crate::world::{Action, Change, JobEntry, NewJob, Record, RunEnd, RunEnding, Telemetry, World};
use oef_api::types::{JobState, JobSubmit};
use oef_sched::{Generation, JobId, NodeSpec, Time};

/// A cluster of two GPUs with one tenant, and one job.
struct Story {
    world: World,
    at: u64,
    actions: Vec<Action>,
}

const JOB: JobId = JobId(1);

impl Story {
    fn new(retries: u32) -> Story {
        let mut story = Story { world: empty(), at: 1_000, actions: Vec::new() };
        story.then(Change::NodeUp(NodeSpec { name: "n".into(), gpu_type: "g".into(), gpus: 2 }));
        story.then(created("ada", 1.0));
        story.then(Change::Round { kept: false });
        story.then(submit(1, retries));
        story
    }

    fn then(&mut self, change: Change) {
        self.at += 1_000;
        (_, self.actions) = self.world.happen(Time(self.at), change).expect("taken");
        check(&self.world);
    }

    fn refused(&mut self, change: Change) -> String {
        let record = Record { at: Time(self.at), change };
        self.world.apply(&record).expect_err("refused").to_string()
    }

    fn generation(&self) -> Generation {
        self.world.jobs[&JOB].run().expect("a run").generation
    }

    fn started(&mut self) {
        let generation = self.generation();
        self.then(Change::Started { job: JOB, generation, at_ms: None, host: None });
    }

    fn ended(&mut self, ending: RunEnding, detail: &str) {
        let (generation, last_lines) = (self.generation(), Some("a\nlast words\n".to_string()));
        let detail = detail.to_string();
        let ended = Change::Ended(RunEnd {
            job: JOB,
            generation,
            ending,
            detail,
            last_lines,
            at_ms: None,
            exit: None,
            outcome: None,
        });
        self.then(ended);
    }

    /// It waits before another try, and has it then. For how many seconds it waited.
    fn tried_again(&mut self) -> u64 {
        assert_eq!(self.state(), JobState::Queued, "{}", self.reason());
        let due = self.job().retry_at.expect("it is tried again");
        let wait = due.since(Time(self.at));
        self.at = due.0;
        self.then(Change::Released { job: JOB });
        assert_eq!(self.state(), JobState::Starting);
        wait.0 / 1_000
    }

    fn progress(&mut self, steps: f64) {
        let telemetry = Telemetry { steps, ..Telemetry::default() };
        let generation = self.generation();
        self.then(Change::Progress { job: JOB, generation, telemetry });
    }

    fn saved(&mut self, steps: f64, checkpoint: Option<f64>) {
        let telemetry = Telemetry { steps, checkpoint, ..Telemetry::default() };
        let generation = self.generation();
        self.then(Change::Progress { job: JOB, generation, telemetry });
    }

    fn job(&self) -> &JobEntry {
        &self.world.jobs[&JOB]
    }

    fn state(&self) -> JobState {
        self.world.jobs[&JOB].state
    }

    fn reason(&self) -> String {
        self.world.jobs[&JOB].reason.to_string()
    }
}

fn submit(id: u64, retries: u32) -> Change {
    let spec = JobSubmit { retries, ..train() };
    Change::Submitted { jobs: vec![NewJob { id, spec }], key: None, sweep: None }
}

#[test]
fn a_job_is_submitted_starts_runs_and_finishes() {
    let mut story = Story::new(0);
    assert_eq!(story.state(), JobState::Starting);
    assert!(matches!(story.actions[..], [Action::Start { job: JOB, .. }]));
    assert_eq!(story.reason(), "starts on 1 g on n: the GPUs would have been idle");
    story.started();
    assert_eq!((story.state(), story.reason()), (JobState::Running, "runs on 1 g on n".into()));
    story.ended(RunEnding::Finished, "it finished");
    assert_eq!(
        (story.state(), story.reason()),
        (JobState::Finished, "all its work is done".into())
    );
    assert_eq!(story.world.jobs[&JOB].ran_ms, 1_000);
    assert!(
        story
            .refused(Change::Cancelled { job: JOB, by: "x".into(), why: None })
            .contains("has ended")
    );
}

#[test]
fn a_failed_job_is_tried_again_with_growing_waits_and_says_why_it_gave_up() {
    let mut story = Story::new(2);
    for (retry, wait) in [(1, "5s"), (2, "10s")] {
        story.started();
        story.ended(RunEnding::Failed, "worker 0 ended with exit code 3");
        let told = format!(
            "failed: worker 0 ended with exit code 3; tried again in {wait} (retry {retry} of 2)"
        );
        assert_eq!((story.state(), story.reason()), (JobState::Queued, told));
        let due = story.world.index.next_wakeup().expect("a time").0;
        assert_eq!(story.world.index.due_wakeups(due).collect::<Vec<_>>(), [JOB]);
        story.then(Change::Released { job: JOB });
        assert_eq!(story.state(), JobState::Starting, "its GPU is free");
    }
    story.started();
    story.ended(RunEnding::Failed, "worker 0 ended with exit code 3");
    assert_eq!(story.state(), JobState::Failed);
    assert_eq!(
        story.reason(),
        "worker 0 ended with exit code 3; gave up after 3 failures; its last line: last words"
    );
    let job = &story.world.jobs[&JOB];
    assert_eq!((job.failures, job.restarts, job.runs.len()), (3, 2, 3));
    let detail = job.runs[2].detail.as_deref().expect("told");
    assert_eq!(detail, "worker 0 ended with exit code 3\na\nlast words");
}

#[test]
fn what_can_never_start_is_not_tried_again() {
    let mut story = Story::new(5);
    story.ended(RunEnding::Impossible, "there is no program `xx`");
    assert_eq!(story.state(), JobState::Failed);
    assert!(story.reason().starts_with("there is no program `xx`"), "{}", story.reason());
}

#[test]
fn a_lost_job_waits_again_and_fails_only_if_it_never_gets_anywhere() {
    let mut story = Story::new(0);
    story.started();
    for steps in [10.0, 20.0] {
        story.progress(steps);
        story.ended(RunEnding::Lost, "it vanished");
        assert_eq!(story.state(), JobState::Starting, "it moved on: it starts again at once");
        let mut waits = Vec::new();
        for _ in 2..=9 {
            story.ended(RunEnding::Lost, "it vanished");
            waits.push(story.tried_again());
            assert_eq!(story.world.jobs[&JOB].failures, 0);
        }
        assert_eq!(waits, [5, 10, 20, 40, 80, 160, 320, 600], "what loses it is not in a hurry");
    }
    story.ended(RunEnding::Lost, "it vanished");
    assert_eq!(story.state(), JobState::Failed, "ten times without a step");
}

/// Running out of descriptors, memory or disk is never a job's failure.
#[test]
fn a_job_that_the_machine_has_no_room_for_is_tried_for_ever_and_seldom() {
    let mut story = Story::new(0);
    for time in 1..=30 {
        story.ended(RunEnding::Hindered, "too many open files");
        assert!(story.reason().starts_with("too many open files; tried again in "), "{time}");
        let wait = story.tried_again();
        let expected = [5, 10, 20, 40, 80, 160, 320];
        assert_eq!(wait, expected.get(time - 1).copied().unwrap_or(600), "{time}");
        assert_eq!((story.job().failures, story.job().losses), (0, 0));
    }
    story.started();
    story.progress(1.0);
    story.ended(RunEnding::Hindered, "too many open files");
    assert_eq!(story.tried_again(), 5, "it moved on");
    // It counts as no loss, either.
    for _ in 0..9 {
        story.ended(RunEnding::Lost, "it vanished");
        assert_ne!(story.state(), JobState::Failed);
        if story.state() == JobState::Queued {
            story.tried_again();
        }
    }
    assert_eq!(story.job().losses, 9);
}

#[test]
fn a_job_that_stops_by_itself_goes_on_unless_it_never_does_anything() {
    let mut story = Story::new(0);
    story.started();
    story.progress(10.0);
    story.ended(RunEnding::Checkpointed, "it saved its work and stopped");
    assert_eq!(story.state(), JobState::Starting);
    story.started();
    story.ended(RunEnding::Checkpointed, "it saved its work and stopped");
    assert_eq!(story.state(), JobState::Failed, "no step in a short run");
}

#[test]
fn a_running_job_is_stopped_before_it_is_cancelled() {
    let mut story = Story::new(3);
    story.started();
    story.then(Change::Cancelled { job: JOB, by: "its owner".into(), why: None });
    assert!(matches!(story.actions[..], [Action::Stop { job: JOB, .. }]), "{:?}", story.actions);
    assert_eq!(story.state(), JobState::Stopping);
    let again = story.refused(Change::Cancelled { job: JOB, by: "its owner".into(), why: None });
    assert!(again.contains("cancelled already"), "{again}");
    story.ended(RunEnding::Failed, "worker 0 ended with exit code 1");
    assert_eq!(
        (story.state(), story.reason()),
        (JobState::Cancelled, "cancelled by its owner".into())
    );
    assert_eq!(story.world.jobs[&JOB].failures, 0);
}

#[test]
fn work_since_the_last_checkpoint_is_counted_as_wasted() {
    let mut story = Story::new(3);
    story.started();
    let telemetry = Telemetry { steps: 5.0, checkpoint: Some(5.0), ..Telemetry::default() };
    let generation = story.generation();
    story.then(Change::Progress { job: JOB, generation, telemetry });
    assert_eq!(story.world.totals.wasted_ms, 0);
    story.ended(RunEnding::Lost, "it vanished");
    assert_eq!(story.world.totals.wasted_ms, 1_000, "one worker, a second after its checkpoint");
}

#[test]
fn a_halted_world_goes_on_where_it_was() {
    let mut story = Story::new(0);
    story.started();
    story.then(Change::Halted { halted: true });
    assert_eq!(story.state(), JobState::Stopping);
    assert_eq!(story.reason(), "the daemon stops; it goes on with the next start");
    story.ended(RunEnding::Checkpointed, "it saved its work and stopped");
    assert_eq!(story.state(), JobState::Queued);
    story.then(Change::Halted { halted: false });
    assert_eq!(story.state(), JobState::Starting);
}

#[test]
fn a_tenant_that_comes_again_sees_nothing_of_the_one_before() {
    let mut story = Story::new(0);
    story.started();
    story.ended(RunEnding::Finished, "it finished");
    story.then(submit(2, 0));
    story.then(Change::TenantRemoved { name: "ada".into() });
    assert!(story.actions.contains(&Action::Forget { job: JOB }), "{:?}", story.actions);
    assert!(!story.world.jobs.contains_key(&JOB));
    assert_eq!(story.world.jobs[&JobId(2)].state, JobState::Stopping);
    assert_eq!(
        story.refused(submit(3, 0)),
        "there is no tenant `ada`",
        "nothing is taken for somebody who is not there"
    );
    let again = || created("ada", 2.0);
    assert!(story.refused(again()).contains("still being stopped"));
    let generation = story.world.jobs[&JobId(2)].run().expect("a run").generation;
    let ending = RunEnding::Checkpointed;
    story.then(Change::ended(JobId(2), generation, ending, "it saved its work"));
    assert!(story.world.jobs.is_empty() && story.world.ended.is_empty());
    story.then(again());
    assert_eq!(story.world.tenants["ada"].live, 0);
}

#[test]
fn promised_and_delivered_are_counted_over_time() {
    let mut story = Story::new(0);
    story.then(Change::Round { kept: true });
    let account = &story.world.tenants["ada"].account;
    assert_eq!(account.delivered_rate, 1.0, "one GPU of the only type");
    let (_, delivered) = account.at(Time(story.at));
    assert_eq!(delivered, 1_000.0, "a second since it was started");
    let question = story.world.sched.question().expect("somebody came");
    let answer = Box::new(question.answer(&oef_core::Options::default()));
    story.then(Change::Shares { answer, solve_ms: 1 });
    story.then(Change::Round { kept: false });
    story.then(Change::Round { kept: false });
    let last = story.world.tenants["ada"].delivered.back().expect("a round");
    assert_eq!((last.promised, last.delivered), (1.0, 1.0));
}

#[test]
fn what_a_job_waits_for_is_one_line_of_its_history() {
    let mut story = Story::new(0);
    let generation = story.generation();
    let history = story.job().history.len();
    for detail in ["brings its checkpoint from a: 1 MiB, 2 %", "has its checkpoint from a: 50 MiB"]
    {
        story.then(Change::Preparing { job: JOB, generation, detail: detail.into() });
        assert_eq!((story.job().state, story.reason()), (JobState::Starting, detail.into()));
    }
    assert_eq!(story.job().history.len(), history + 1);
    story.started();
    assert_eq!(story.job().state, JobState::Running);
    assert_eq!(story.job().history.len(), history + 2);
    story.ended(RunEnding::Lost, "gone");
    let (ran, generation) = (story.job().ran_ms, story.generation());
    story.then(Change::Preparing { job: JOB, generation, detail: "brings".into() });
    story.ended(RunEnding::Hindered, "its checkpoint could not be brought");
    assert_eq!(story.job().ran_ms, ran, "waiting is not running");
    story.tried_again();
    story.started();
    let generation = story.generation();
    let late = Change::Preparing { job: JOB, generation, detail: "late".into() };
    story.refused(late);
    assert_eq!(story.job().state, JobState::Running);
}

#[test]
fn a_jobs_checkpoints_are_where_its_workers_were_seen_last() {
    let mut story = Story::new(9);
    let start_on = |story: &mut Story, host: Option<&str>| {
        let (generation, host) = (story.generation(), host.map(String::from));
        story.then(Change::Started { job: JOB, generation, at_ms: None, host });
    };
    let location = |story: &Story| story.job().checkpoints.clone().expect("a place");
    assert_eq!(story.job().checkpoints, None);
    start_on(&mut story, Some("a"));
    assert_eq!(location(&story).host.as_deref(), Some("a"));
    let since = location(&story).since;
    story.saved(20.0, Some(10.0));
    assert!(location(&story).has_newer());
    story.ended(RunEnding::Lost, "gone");
    start_on(&mut story, Some("a"));
    assert_eq!(location(&story).since, since, "it never left");
    story.ended(RunEnding::Lost, "gone");
    story.tried_again();
    // A start that never came to run changes nothing.
    story.ended(RunEnding::Hindered, "its checkpoint could not be brought");
    story.tried_again();
    assert_eq!(location(&story).host.as_deref(), Some("a"));
    start_on(&mut story, Some("b"));
    assert_eq!(location(&story).host.as_deref(), Some("b"));
    // The same checkpoint told again is not a newer one, nor is a line without any.
    story.saved(11.0, None);
    story.saved(12.0, Some(10.0));
    assert!(!location(&story).has_newer());
    story.saved(22.0, Some(20.0));
    assert!(location(&story).has_newer());
    story.ended(RunEnding::Lost, "gone");
    start_on(&mut story, None);
    assert_eq!(location(&story).host, None, "in a folder that all hosts see");
}
