//! Jobs that are held, tried again, lost, or suspended with their tenant; and the order of those that wait.

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
    let actions = world.hold(jobs[0], true);
    assert!(matches!(&actions[..], [Action::Preempt { why: StopReason::Held, .. }]), "{actions:?}");
    assert_eq!(world.state_of(jobs[0]), Some(JobState::Stopping));
    world.answer(0);
    assert_eq!(world.state_of(jobs[0]), Some(JobState::Held));
    assert_eq!(reason(&world, jobs[0]), Some(WaitReason::Blocked(Obstacle::Held)));
    assert_eq!(world.state.workloads()[a.0].wanted(), 1);
    world.hold(jobs[1], true);
    world.answer(0);
    assert_eq!(world.state.workloads()[b.0].used_on(0), 4, "who waits has the GPUs");
    assert_eq!(world.state.active().collect::<Vec<_>>(), [b], "nobody of a wants anything");
    world.wait(Span::from_seconds(100.0));
    world.hold(jobs[0], false);
    assert_eq!(world.state_of(jobs[0]), Some(JobState::Queued));
    assert_eq!(world.state.job(jobs[0]).map(|job| job.waiting_since), Some(world.now));
}

#[test]
fn a_release_while_the_job_is_still_stopping_lets_it_wait_afterwards() {
    let (mut world, a, _) = world();
    let job = world.submit(a, 1);
    world.tick();
    world.answers = Answers::Late;
    world.hold(job, true);
    world.hold(job, false);
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
        world.hold(job, true);
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
    world.hold(held, true);
    let tenant = TenantKey(0);
    let actions = world.happen(EventKind::Suspend { tenant, suspended: true });
    let stops =
        |action: &Action| matches!(action, Action::Preempt { why: StopReason::Suspended, .. });
    assert_eq!(actions.iter().filter(|action| stops(action)).count(), 1, "{actions:?}");
    let new = world.submit(a, 1);
    world.ticks(2);
    for job in [runs, held, new] {
        assert_eq!(world.state_of(job), Some(JobState::Held));
        assert_eq!(reason(&world, job), Some(WaitReason::Blocked(Obstacle::Suspended)));
    }
    assert_eq!(world.state.workloads()[b.0].used_on(0), 4);
    assert!(world.state.tenants()[0].is_suspended());
    world.happen(EventKind::Suspend { tenant, suspended: false });
    assert_eq!(world.state_of(held), Some(JobState::Held), "it was held for itself");
    world.ticks(3);
    assert!(world.runs(runs) && world.runs(new));
}

/// The jobs of a sweep of which so many may be at once.
fn sweep(world: &mut World, of: WorkloadKey, jobs: u64, at_once: u32) -> Vec<JobId> {
    let specs: Vec<JobSpec> = (0..jobs).map(|_| world.spec(of, 1)).collect();
    let limit = SweepLimit { sweep: specs[0].id, jobs: at_once };
    let all = specs.into_iter().map(|spec| JobSpec { sweep: Some(limit), ..spec });
    all.map(|spec| world.submit_spec(spec)).collect()
}

fn running(world: &World, jobs: &[JobId]) -> Vec<JobId> {
    jobs.iter().copied().filter(|&job| world.runs(job)).collect()
}

#[test]
fn no_more_jobs_of_a_sweep_run_than_its_limit_and_the_next_takes_the_place_of_one_that_ends() {
    let (mut world, a, _) = world();
    let jobs = sweep(&mut world, a, 5, 2);
    world.ticks(2);
    assert_eq!(running(&world, &jobs), jobs[..2], "four GPUs are there, two may be used");
    assert_eq!(world.state.workloads()[a.0].wanted(), 2, "the others are no demand");
    let full = WaitReason::Blocked(Obstacle::SweepLimit { limit: 2 });
    assert_eq!(reason(&world, jobs[4]), Some(full));
    world.finish(jobs[0]);
    assert_eq!(running(&world, &jobs), jobs[1..3]);
    world.hold(jobs[1], true);
    assert_eq!(running(&world, &jobs), jobs[2..4], "who is held leaves its place");
    world.hold(jobs[1], false);
    assert_eq!(running(&world, &jobs), jobs[2..4], "and waits for its turn again");
    world.happen(EventKind::Cancelled { job: jobs[2] });
    assert_eq!(running(&world, &jobs), [jobs[1], jobs[3]], "the older one is next");
    for job in [jobs[1], jobs[3], jobs[4]] {
        world.finish(job);
    }
    assert!(jobs.iter().all(|&job| world.state_of(job).is_none()));
    assert!(world.state.sweep(jobs[0]).is_none(), "nothing is left of it");
}

#[test]
fn a_job_waits_until_everything_before_it_is_over() {
    let (mut world, a, _) = world();
    let first = world.submit(a, 1);
    let at = Time(1_000_000);
    let gate = Gate { held: true, not_before: Some(at), after: vec![first] };
    let spec = JobSpec { gate: gate.clone(), ..world.spec(a, 1) };
    let job = world.submit_spec(spec);
    world.ticks(2);
    let blocked = |world: &World| match reason(world, job) {
        Some(WaitReason::Blocked(obstacle)) => Some(obstacle),
        _ => None,
    };
    let open = |world: &mut World, gate: &Gate| {
        world.change(job, JobChange { gate: Some(gate.clone()), ..JobChange::default() });
    };
    assert_eq!(blocked(&world), Some(Obstacle::Held));
    let gate = Gate { held: false, ..gate };
    open(&mut world, &gate);
    assert_eq!(blocked(&world), Some(Obstacle::Dependency { jobs: vec![first] }));
    let gate = Gate { after: Vec::new(), ..gate };
    open(&mut world, &gate);
    assert_eq!(blocked(&world), Some(Obstacle::NotBefore { at }));
    assert!(!world.runs(job));
    open(&mut world, &Gate::OPEN);
    assert!(world.runs(job), "there are free GPUs: it starts at once");
}

#[test]
fn other_types_for_the_only_job_of_a_workload_leave_its_balance_as_it_was() {
    let settings = Settings { mechanism: Mechanism::MaxMin, ..Settings::default() };
    let mut world = World::new(settings, &[("k80", 1, 1), ("v100", 1, 1)]);
    let a = world.tenant("a", 1.0, &[1.0, 1.0]);
    let b = world.tenant("b", 1.0, &[1.0, 1.0]);
    world.submit_many(b, 1, 2);
    world.tick();
    world.answers = Answers::Late;
    let job = world.submit(a, 1);
    world.tick();
    world.hold(job, true);
    world.hold(job, false);
    let since = world.state.job(job).map(|job| job.waiting_since);
    let balance = world.state.workloads()[a.0].deficit.clone();
    let types = Some(Some(vec!["v100".to_string()]));
    let memory = Some(Some(16_000));
    world.change(job, JobChange { types, memory, priority: Some(3), ..JobChange::default() });
    let job = world.state.job(job).expect("it is live");
    assert_eq!((job.spec().priority, job.spec().types.as_deref()), (3, Some(&["v100".into()][..])));
    assert_eq!(job.spec().memory, Some(16_000));
    assert_eq!(Some(job.waiting_since), since, "its place in the queue is by its first wait");
    assert_eq!(world.state.workloads()[a.0].deficit, balance);
}

/// The jobs of a tenant in the order in which they had the one GPU, of four: two with steps, one that was held for a while,
/// and one without steps.
fn order_of_starts(order: Order) -> Vec<usize> {
    let settings = Settings { mechanism: Mechanism::MaxMin, ..Settings::default() };
    let mut world = World::new(settings, &[("k80", 1, 1)]);
    let a = world.tenant("a", 1.0, &[1.0]);
    let first = world.submit(a, 1);
    world.tick();
    let jobs: Vec<JobId> = [Some(30.0), Some(20.0), Some(10.0), None]
        .into_iter()
        .map(|steps| {
            let spec = JobSpec { steps, ..world.spec(a, 1) };
            world.wait(Span(1_000));
            world.submit_spec(spec)
        })
        .collect();
    world.hold(jobs[0], true);
    world.wait(Span(1_000));
    world.hold(jobs[0], false);
    world.happen(EventKind::Order { tenant: TenantKey(0), order });
    world.finish(first);
    let mut seen = Vec::new();
    while let Some(runs) = jobs.iter().position(|&job| world.runs(job)) {
        seen.push(runs);
        world.finish(jobs[runs]);
    }
    seen
}

#[test]
fn waiting_jobs_start_in_the_order_of_their_tenant() {
    assert_eq!(order_of_starts(Order::Fair), [1, 2, 3, 0], "by the start of the wait");
    assert_eq!(order_of_starts(Order::Fifo), [0, 1, 2, 3], "by the submission");
    assert_eq!(order_of_starts(Order::Shortest), [2, 1, 0, 3], "by the steps that are left");
}
