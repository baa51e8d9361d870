//! Limits of tenants, and what jobs say for themselves.

use super::dice::Dice;
use super::scenario::{WILD, live_on, settings, world};
use super::world::{Answers, World};
use crate::*;
use oef_core::Mechanism;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn no_tenant_has_more_than_it_may_once_a_round_has_begun(seed: u64, paper: bool) {
        let dice = &mut Dice(seed);
        let mut settings = settings(dice);
        if paper {
            settings.rounding = RoundingRule::Paper;
        }
        let mut world = world(dice, settings, 4);
        for tenant in 0..3 {
            let gpus = Some(dice.between(0, 8));
            world.happen(EventKind::Limit { tenant: TenantKey(tenant), gpus });
        }
        for _ in 0..80 {
            // That nobody starts beyond a limit is checked after every step.
            live_on(&mut world, dice, WILD);
        }
        world.wait(Span(1));
        world.begin_round();
        let state = &world.state;
        for (t, tenant) in state.tenants().iter().enumerate() {
            let limit = tenant.limit().unwrap_or(u32::MAX);
            // An operator let these end on their nodes, whatever the limit.
            let finish = state.placed_of(TenantKey(t)).filter(|&slot| state.is_finishing(slot));
            let finish: u32 = finish.map(|slot| state.at(slot).spec.workers).sum();
            let owned = state.owned_by(TenantKey(t));
            prop_assert!(owned - finish <= limit, "{owned} - {finish} > {limit}");
            let holds = tenant.holds();
            prop_assert!(holds - finish.min(holds) <= limit, "{holds} - {finish} > {limit}");
            let share: f64 = tenant.workloads().iter().map(|w| {
                state.workloads()[w.0].share.iter().sum::<f64>()
            }).sum();
            prop_assert!(share <= f64::from(limit) + 1e-6, "{share} > {limit}");
        }
    }
}

fn eight() -> World {
    let settings =
        Settings { mechanism: Mechanism::MaxMin, restart_part: 0.0, ..Settings::default() };
    World::new(settings, &[("k80", 2, 4)])
}

fn limit(world: &mut World, tenant: usize, gpus: impl Into<Option<u32>>) -> Vec<Action> {
    world.happen(EventKind::Limit { tenant: TenantKey(tenant), gpus: gpus.into() })
}

fn said(world: &World, job: JobId) -> String {
    why(&world.state, job).map(|forecast| forecast.sentence).unwrap_or_default()
}

#[test]
fn a_tenant_with_a_limit_leaves_the_rest_to_others() {
    let mut world = eight();
    let a = world.tenant("a", 1.0, &[1.0]);
    let b = world.tenant("b", 1.0, &[1.0]);
    limit(&mut world, 0, 2);
    world.submit_many(a, 1, 8);
    let gang = world.submit(a, 3);
    world.submit_many(b, 1, 8);
    world.tick();
    let used = |world: &World| [0, 1].map(|t| world.state.owned_by(TenantKey(t)));
    assert_eq!(used(&world), [2, 6]);
    assert_eq!([a, b].map(|w| world.state.workloads()[w.0].share_on(0)), [2.0, 6.0]);
    let waits = world.state.jobs().find(|job| job.state() == JobState::Queued);
    let waits = waits.map_or(JobId(0), |job| job.spec().id);
    assert_eq!(said(&world, waits), "needs 1 GPU; its tenant has 2 of the 2 it may have");
    assert_eq!(said(&world, gang), "needs 3 GPUs at once; its tenant may have 2");
    // Nobody else wants them, and still.
    for job in world.state.jobs().map(|job| job.spec().id).collect::<Vec<_>>() {
        if world.state.job(job).is_some_and(|job| job.spec().workload == b) {
            world.happen(EventKind::Cancelled { job });
        }
    }
    world.ticks(2);
    assert_eq!(used(&world), [2, 0]);
    limit(&mut world, 0, None);
    assert_eq!(used(&world), [8, 0], "what is idle is handed out at once");
}

#[test]
fn a_lower_limit_stops_the_surplus_when_the_next_round_begins() {
    let mut world = eight();
    let a = world.tenant("a", 1.0, &[1.0]);
    world.submit_many(a, 2, 4);
    world.tick();
    let actions = limit(&mut world, 0, 5);
    assert_eq!((actions, world.state.tenants()[0].holds()), (vec![], 8));
    // Even of jobs that have just begun.
    world.wait(Span(1));
    let actions = world.begin_round();
    let over = |a: &&Action| matches!(a, Action::Preempt { why: StopReason::OverLimit, .. });
    assert_eq!(actions.iter().filter(over).count(), 2, "{actions:?}");
    assert_eq!(world.state.tenants()[0].holds(), 4);
}

#[test]
fn a_small_job_runs_where_the_gang_before_it_is_beyond_the_limit() {
    let mut world = eight();
    let a = world.tenant("a", 1.0, &[1.0]);
    limit(&mut world, 0, 3);
    let gangs = [world.submit(a, 2), world.submit(a, 2)];
    let small = world.submit(a, 1);
    world.tick();
    assert!(world.runs(gangs[0]) && !world.runs(gangs[1]) && world.runs(small));
}

#[test]
fn jobs_that_are_still_stopping_count() {
    let mut world = eight();
    let a = world.tenant("a", 1.0, &[1.0]);
    limit(&mut world, 0, 4);
    let low = world.submit(a, 4);
    world.tick();
    let mut spec = world.spec(a, 4);
    spec.priority = 1;
    let high = world.submit_spec(spec);
    world.answers = Answers::Late;
    world.tick();
    // There are four idle GPUs, and yet it has to wait until the other has stopped.
    assert_eq!(world.state_of(high), Some(JobState::Starting));
    world.answer(0);
    assert!(world.runs(high) && !world.runs(low));
}

#[test]
fn two_workloads_of_a_tenant_share_its_limit() {
    let mut world = eight();
    let a = world.tenant("a", 1.0, &[1.0]);
    let second = world.workload(TenantKey(0), "second", 3.0, &[1.0]);
    limit(&mut world, 0, 4);
    world.submit_many(a, 1, 8);
    world.submit_many(second, 1, 8);
    world.tick();
    let share = |world: &World| [a, second].map(|w| world.state.workloads()[w.0].share_on(0));
    assert_eq!(share(&world), [1.0, 3.0]);
    world.happen(EventKind::WorkloadWeight { workload: second, weight: 1.0 });
    world.tick();
    assert_eq!(share(&world), [2.0, 2.0]);
}

#[test]
fn a_gang_as_large_as_the_limit_gets_its_turn_among_staggered_jobs() {
    let mut world = eight();
    let round = world.state.settings().round;
    let settings = Settings { min_run: round.times(3), ..world.state.settings().clone() };
    world.state.set_settings(settings);
    let small = world.tenant("a", 1.0, &[1.0]);
    let other = world.workload(TenantKey(0), "gangs", 1.0, &[1.0]);
    limit(&mut world, 0, 4);
    world.tick();
    // They begin one after the other, and each lasts four rounds: no round finds all of them unprotected.
    let mut running = std::collections::VecDeque::new();
    for _ in 0..4 {
        running.push_back(world.submit(small, 1));
        world.tick();
    }
    let gang = world.submit(other, 4);
    let waited = (0..100).find(|_| {
        world.wait(Span(round.0 / 2));
        running.push_back(world.submit(small, 1));
        if let Some(job) = running.pop_front().filter(|&job| world.runs(job)) {
            world.finish(job);
        }
        world.tick();
        world.runs(gang)
    });
    assert!(waited.is_some_and(|rounds| rounds < 40), "{waited:?}");
}

#[test]
fn a_job_may_ask_for_more_or_less_protection_than_others() {
    let mut world = eight();
    let round = world.state.settings().round;
    let a = world.tenant("a", 1.0, &[1.0]);
    let b = world.tenant("b", 1.0, &[1.0]);
    let mut long = world.spec(a, 8);
    long.min_run = Some(round.times(5));
    let long = world.submit_spec(long);
    world.tick();
    let other = world.submit(b, 8);
    let waited = (1..30).find(|_| {
        world.tick();
        world.runs(other)
    });
    assert!(waited >= Some(5) && !world.runs(long), "{waited:?}");
}

#[test]
fn a_waiting_job_with_a_new_priority_has_a_new_place() {
    let mut world = eight();
    let a = world.tenant("a", 1.0, &[1.0]);
    let jobs = [world.submit(a, 8), world.submit(a, 8), world.submit(a, 8)];
    world.tick();
    world.change(jobs[2], JobChange { priority: Some(1), ..JobChange::default() });
    world.finish(jobs[0]);
    assert!(world.runs(jobs[2]) && !world.runs(jobs[1]));
}
