//! Jobs that are held, tried again, lost, or suspended with their tenant.

use super::world::{Answers, World};
use crate::*;
use oef_core::Mechanism;

/// Four GPUs, two tenants.
fn world() -> (World, WorkloadKey, WorkloadKey) {
    let settings = Settings { mechanism: Mechanism::MaxMin, ..Settings::default() };
    let mut world = World::new(settings, &[("k80", 1, 4)]);
    let a = world.tenant("a", 1.0, &[1.0]);
    let b = world.tenant("b", 1.0, &[1.0]);
    (world, a, b)
}

fn reason(world: &World, job: JobId) -> Option<WaitReason> {
    why(&world.state, job).and_then(|forecast| forecast.waits)
}

#[test]
fn a_held_job_waits_for_nothing_and_counts_as_nothing() {
    let (mut world, a, b) = world();
    let jobs = [world.submit(a, 1), world.submit(a, 1)];
    world.submit_many(b, 1, 4);
    world.tick();
    world.answers = Answers::Late;
    let actions = world.happen(EventKind::Hold { job: jobs[0] });
    assert!(matches!(&actions[..], [Action::Preempt { why: StopReason::Held, .. }]), "{actions:?}");
    assert_eq!(world.state_of(jobs[0]), Some(JobState::Stopping));
    world.answer(0);
    assert_eq!(world.state_of(jobs[0]), Some(JobState::Held));
    assert_eq!(reason(&world, jobs[0]), Some(WaitReason::Held));
    assert_eq!(world.state.workloads()[a.0].wanted(), 1);
    world.happen(EventKind::Hold { job: jobs[1] });
    world.answer(0);
    assert_eq!(world.state.workloads()[b.0].used_on(0), 4, "who waits has the GPUs");
    assert_eq!(world.state.active().collect::<Vec<_>>(), [b], "nobody of a wants anything");
    world.wait(Span::from_seconds(100.0));
    world.happen(EventKind::Release { job: jobs[0] });
    assert_eq!(world.state_of(jobs[0]), Some(JobState::Queued));
    assert_eq!(world.state.job(jobs[0]).map(|job| job.waiting_since), Some(world.now));
}

#[test]
fn a_release_while_the_job_is_still_stopping_lets_it_wait_afterwards() {
    let (mut world, a, _) = world();
    let job = world.submit(a, 1);
    world.tick();
    world.answers = Answers::Late;
    world.happen(EventKind::Hold { job });
    world.happen(EventKind::Release { job });
    let actions = world.answer(0);
    assert!(matches!(&actions[..], [Action::Start { .. }]), "{actions:?}");
}

#[test]
fn a_queued_a_starting_and_a_held_job_can_be_cancelled_or_held() {
    let (mut world, a, b) = world();
    world.submit_many(a, 1, 4);
    world.tick();
    world.answers = Answers::Late;
    let jobs: Vec<JobId> = (0..6).map(|_| world.submit(b, 1)).collect();
    world.ticks(3);
    let in_state =
        |world: &World, state| jobs.iter().copied().find(|&j| world.state_of(j) == Some(state));
    for state in [JobState::Starting, JobState::Queued] {
        let job = in_state(&world, state).expect("there is one");
        world.happen(EventKind::Hold { job });
        assert_eq!(world.state_of(job), Some(JobState::Held), "{state:?}");
        world.happen(EventKind::Cancelled { job });
        assert_eq!(world.state_of(job), None);
    }
}

#[test]
fn a_job_that_is_tried_again_keeps_what_it_has() {
    let (mut world, a, _) = world();
    let job = world.submit(a, 2);
    world.tick();
    let generation = world.generation(job);
    world.wait(Span::from_seconds(60.0));
    world.happen(EventKind::Progress { job, generation, steps: 7.0 });
    world.happen(EventKind::Failed { job, generation, retry: true });
    assert_eq!(world.state_of(job), Some(JobState::Held));
    assert_eq!(world.state.cluster().idle(), [4]);
    world.wait(Span::from_seconds(60.0));
    let actions = world.happen(EventKind::Release { job });
    assert!(matches!(&actions[..], [Action::Start { .. }]), "{actions:?}");
    let again = world.state.job(job).expect("it is live");
    let kept = (again.steps(), again.restarts(), again.ran(), again.generation());
    assert_eq!(kept, (7.0, 1, Span::from_seconds(60.0), Generation(2)));
    let generation = world.generation(job);
    world.happen(EventKind::Failed { job, generation, retry: false });
    assert_eq!(world.state_of(job), None);
}

#[test]
fn a_job_that_failed_while_it_was_being_cancelled_is_not_tried_again() {
    let (mut world, a, _) = world();
    let job = world.submit(a, 1);
    world.tick();
    world.answers = Answers::Late;
    world.happen(EventKind::Cancelled { job });
    let generation = world.generation(job);
    world.happen(EventKind::Failed { job, generation, retry: true });
    assert_eq!(world.state_of(job), None);
}

#[test]
fn a_job_whose_processes_vanished_comes_back() {
    let (mut world, a, _) = world();
    let job = world.submit(a, 2);
    world.tick();
    let generation = world.generation(job);
    let actions = world.happen(EventKind::Lost { job, generation });
    assert!(matches!(&actions[..], [Action::Start { .. }]), "it finds its GPUs: {actions:?}");
    assert_eq!(world.state.job(job).map(Job::restarts), Some(1));
    let stale = world.happen(EventKind::Lost { job, generation });
    assert!(matches!(world.refused, Some(Refusal::StaleLease { .. })), "{stale:?}");
}

#[test]
fn a_suspended_tenant_has_nothing_until_it_is_resumed() {
    let (mut world, a, b) = world();
    let (runs, held) = (world.submit(a, 1), world.submit(a, 1));
    world.submit_many(b, 1, 6);
    world.tick();
    world.happen(EventKind::Hold { job: held });
    let tenant = TenantKey(0);
    let actions = world.happen(EventKind::Suspend { tenant, suspended: true });
    let stops =
        |action: &Action| matches!(action, Action::Preempt { why: StopReason::Suspended, .. });
    assert_eq!(actions.iter().filter(|action| stops(action)).count(), 1, "{actions:?}");
    let new = world.submit(a, 1);
    world.ticks(2);
    for job in [runs, held, new] {
        assert_eq!(world.state_of(job), Some(JobState::Held));
        assert_eq!(reason(&world, job), Some(WaitReason::Suspended));
    }
    assert_eq!(world.state.workloads()[b.0].used_on(0), 4);
    assert!(world.state.tenants()[0].is_suspended());
    world.happen(EventKind::Suspend { tenant, suspended: false });
    assert_eq!(world.state_of(held), Some(JobState::Held), "it was held for itself");
    world.ticks(3);
    assert!(world.runs(runs) && world.runs(new));
}
