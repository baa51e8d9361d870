//! Jobs of a higher priority take the GPUs of their tenant's other jobs, and of nobody else's.

use super::dice::Dice;
use super::scenario::{Turmoil, WILD, live_on, settings, world as random_world};
use super::world::{Answers, World};
use crate::planning::{between_tenants, select};
use crate::state::ledger;
use crate::*;
use oef_core::Mechanism;
use proptest::prelude::*;

const TURMOIL: Turmoil = Turmoil { gangs: &[1, 1, 1, 2, 4], ..WILD };

/// Four GPUs; a tenant with two workloads, and another one.
fn lab() -> (World, [WorkloadKey; 3]) {
    let settings = Settings { mechanism: Mechanism::MaxMin, ..Settings::default() };
    let mut world = World::new(settings, &[("k80", 1, 4)]);
    let train = world.tenant("a", 1.0, &[1.0]);
    let tenant = world.state.workloads()[train.0].tenant;
    let debug = world.workload(tenant, "debug", 1.0, &[1.0]);
    let other = world.tenant("b", 1.0, &[1.0]);
    (world, [train, debug, other])
}

fn urgent(world: &mut World, workload: WorkloadKey, workers: u32, now: bool) -> JobId {
    let spec = JobSpec { priority: 10, now, ..world.spec(workload, workers) };
    world.submit_spec(spec)
}

fn running(world: &World, jobs: &[JobId]) -> usize {
    jobs.iter().filter(|job| world.runs(**job)).count()
}

/// What everybody is entitled to, and is owed.
fn accounts(state: &State) -> Vec<String> {
    let rows = state.workloads().iter();
    rows.map(|w| format!("{} {:?} {:?} {} {}", w.name, w.share, w.deficit, w.extra, w.cut))
        .collect()
}

#[test]
fn a_higher_priority_takes_the_tenants_own_gpus_at_the_next_round() {
    let (mut world, [train, debug, other]) = lab();
    let low: Vec<JobId> = (0..4).map(|_| world.submit(train, 1)).collect();
    let theirs: Vec<JobId> = (0..4).map(|_| world.submit(other, 1)).collect();
    world.ticks(2);
    assert_eq!((running(&world, &low), running(&world, &theirs)), (2, 2));
    world.answers = Answers::Late;
    let gang = urgent(&mut world, debug, 2, false);
    assert_eq!(world.state_of(gang), Some(JobState::Queued), "the round is not over");
    let before = world.state.clone();
    let actions = world.tick();
    let stops = actions.iter().filter_map(|action| match action {
        Action::Preempt { job, why, .. } => Some((*job, why.to_string())),
        _ => None,
    });
    let stops: Vec<(JobId, String)> = stops.collect();
    let said =
        format!("gave its GPUs to job {gang} of the same tenant, which has a higher priority");
    assert_eq!(stops.len(), 2, "{actions:?}");
    for (job, why) in &stops {
        assert!(low.contains(job) && *why == said, "{job}: {why}");
        assert!(before.job(*job).is_some_and(|job| job.state() == JobState::Running));
    }
    assert_eq!(world.state_of(gang), Some(JobState::Starting));
    world.answer(0);
    world.answer(0);
    assert!(world.runs(gang));
    assert_eq!(world.state.job(gang).and_then(Job::started_because), Some(StartReason::Urgent));
    assert_eq!(running(&world, &theirs), 2, "nobody else gives up anything");
    world.answers = Answers::AtOnce;
    for round in 0..20 {
        world.tick();
        let sentence = why(&world.state, low[0]).map(|forecast| forecast.sentence);
        let said = format!(
            "job {gang} of its tenant has a higher priority and runs on its GPUs: it waits until that job ends"
        );
        assert_eq!(sentence.as_deref(), Some(said.as_str()), "round {round}");
        let accounts = accounts(&world.state);
        let theirs = running(&world, &theirs);
        assert!(world.runs(gang) && theirs >= 2, "round {round}: {theirs}, {accounts:#?}");
    }
    world.finish(gang);
    assert_eq!((running(&world, &low), running(&world, &theirs)), (2, 2));
}

#[test]
fn at_once_means_at_once_and_once_in_a_round() {
    let (mut world, [train, debug, other]) = lab();
    let low: Vec<JobId> = (0..4).map(|_| world.submit(train, 1)).collect();
    let theirs: Vec<JobId> = (0..4).map(|_| world.submit(other, 1)).collect();
    world.ticks(2);
    world.wait(Span::from_seconds(10.0));
    let first = urgent(&mut world, debug, 1, true);
    assert!(world.runs(first), "{:?}", world.state_of(first));
    let second = urgent(&mut world, debug, 1, true);
    assert_eq!(world.state_of(second), Some(JobState::Queued), "one did so in this round");
    assert_eq!((running(&world, &low), running(&world, &theirs)), (1, 2));
    world.tick();
    assert!(world.runs(second));
    assert_eq!((running(&world, &low), running(&world, &theirs)), (0, 2));
    // Equal priorities displace nobody.
    world.wait(Span::from_seconds(10.0));
    let third = urgent(&mut world, debug, 1, true);
    assert_eq!(world.state_of(third), Some(JobState::Queued));
}

#[test]
fn who_was_promised_a_longer_run_or_has_no_restarts_left_stays() {
    let (mut world, [train, debug, other]) = lab();
    let promised = JobSpec { min_run: Some(Span::from_seconds(1e6)), ..world.spec(train, 1) };
    let low = [world.submit_spec(promised), world.submit(train, 1)];
    world.submit_many(other, 1, 4);
    world.ticks(2);
    assert_eq!(running(&world, &low), 2);
    let gang = urgent(&mut world, debug, 2, true);
    world.ticks(3);
    assert!(world.runs(low[0]) && !world.runs(gang), "a gang of two finds one GPU only");
    let settings =
        Settings { free_restarts: 0, waste_budget: 0.0, ..world.state.settings().clone() };
    world.happen(EventKind::Settings(Box::new(settings)));
    let single = urgent(&mut world, debug, 1, true);
    world.tick();
    assert!(running(&world, &low) == 2 && !world.runs(single), "no restart is left");
}

#[test]
fn its_tenant_pays_for_an_urgent_job_and_is_owed_nothing_for_it_afterwards() {
    let (mut world, [train, debug, other]) = lab();
    world.submit_many(train, 1, 8);
    world.submit_many(other, 1, 8);
    world.ticks(4);
    let job = urgent(&mut world, debug, 2, true);
    let held = |world: &World| world.state.owned_by(TenantKey(1));
    let mut theirs = 0;
    for _ in 0..40 {
        world.tick();
        theirs += held(&world);
    }
    assert!(world.runs(job));
    world.finish(job);
    for _ in 0..60 {
        world.tick();
        theirs += held(&world);
    }
    assert!((199..=201).contains(&theirs), "two GPUs in each of 100 rounds, not {theirs}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Whatever happens: a plan in mid-round that displaces somebody, and what urgent jobs pay, change no account and no
    /// share of another tenant, and what a tenant is owed in all stays.
    #[test]
    fn no_other_tenants_account_changes(seed: u64) {
        let dice = &mut Dice(seed);
        let settings = settings(dice);
        let mut world = random_world(dice, settings, 4);
        world.answers = Answers::Late;
        for _ in 0..80 {
            live_on(&mut world, dice, TURMOIL);
            let before = accounts(&world.state);
            let mut paid = world.state.clone();
            ledger::settle_urgent(&mut paid);
            for t in 0..paid.tenants().len() {
                let owed = |state: &State, j: usize| -> f64 {
                    let own = state.tenants()[t].workloads().iter();
                    own.map(|w| state.workloads()[w.0].deficit_on(j)).sum()
                };
                for j in 0..paid.cluster().types().len() {
                    prop_assert!((owed(&paid, j) - owed(&world.state, j)).abs() < 1e-9);
                }
                let touched = paid.jobs().any(|job| {
                    job.spec().tenant.0 == t && job.started_because() == Some(StartReason::Urgent)
                });
                if !touched {
                    let own = |state: &State| -> Vec<Vec<f64>> {
                        let own = state.tenants()[t].workloads().iter();
                        own.map(|w| state.workloads()[w.0].deficit.clone()).collect()
                    };
                    prop_assert_eq!(own(&paid), own(&world.state));
                }
            }
            let planned = plan(&world.state, Scope::Fill);
            let by = |stop: &PlannedStop| match stop.why {
                StopReason::Displaced { by } => world.state.job(by).map(|job| job.spec()),
                _ => None,
            };
            for stop in &planned.stops {
                let victim = world.state.job(stop.job).expect("it is live").spec();
                let by = by(stop).expect("only urgent jobs stop others in mid-round");
                prop_assert!(by.tenant == victim.tenant && by.priority > victim.priority && by.now);
            }
            if !planned.stops.is_empty() {
                let kind = EventKind::Planned(Box::new(planned));
                let mut state = world.state.clone();
                apply(&mut state, Event { at: world.state.now(), kind }).expect("it can be done");
                prop_assert_eq!(accounts(&state), before);
            }
        }
    }

    /// In a round nobody but the tenant itself gives way: what all others are given is what they would be given without
    /// urgent jobs, or more.
    #[test]
    fn only_jobs_of_the_same_tenant_are_displaced(seed: u64) {
        let dice = &mut Dice(seed);
        let settings = settings(dice);
        let mut world = random_world(dice, settings, 4);
        for _ in 0..60 {
            live_on(&mut world, dice, TURMOIL);
            let (given, between) = (select(&world.state, Scope::Round, 1.0), between_tenants(&world.state, Scope::Round, 1.0));
            for pick in &between.picks {
                let spec = &world.state.at(pick.slot).spec;
                let gives_way = given.picks.iter().any(|urgent| {
                    let by = &world.state.at(urgent.slot).spec;
                    urgent.why == StartReason::Urgent && by.tenant == spec.tenant && by.priority > spec.priority
                });
                prop_assert!(gives_way || given.picks.contains(pick), "{pick:?}");
            }
            let planned = plan(&world.state, Scope::Round);
            for stop in &planned.stops {
                let StopReason::Displaced { by } = stop.why else { continue };
                let spec = |job| world.state.job(job).expect("it is live").spec();
                prop_assert_eq!(spec(by).tenant, spec(stop.job).tenant);
                prop_assert!(spec(by).priority > spec(stop.job).priority);
            }
        }
    }
}
