//! Everybody gets its turn: gangs larger than a share, jobs within a workload, workloads within a tenant.

use super::fairness::{Fixed, Kind};
use super::world::World;
use crate::state::ledger::limit;
use crate::*;
use oef_core::Mechanism;
use proptest::prelude::*;

fn max_min() -> Settings {
    Settings { mechanism: Mechanism::MaxMin, restart_part: 0.0, ..Settings::default() }
}

/// Rounds within which a workload runs something: what others can be ahead of it on a type where its gangs
/// fit, twice, divided by what it is credited there. Infinite where they fit on no type that it has a share
/// of: such a gang runs when the other types happen to be idle.
fn patience(state: &State, workload: &Workload) -> f64 {
    let capacity = state.cluster().capacity();
    let rounds = (0..capacity.len())
        .filter(|&j| capacity[j] >= workload.gang_max && workload.share_on(j) > 1e-6)
        .map(|j| {
            let limits = state.workloads().iter().map(|w| limit(w, j, state.settings()));
            2.0 * limits.sum::<f64>() / workload.share_on(j)
        });
    rounds.fold(f64::INFINITY, f64::min) + 10.0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_workload_starves_whose_gangs_fit_where_it_has_a_share(seed: u64, min_run in 0..3u64) {
        let gangs = &[1, 2, 3, 4, 8];
        let mut fixed = Fixed::new(seed, &Kind { gangs, stickiness: 1.0, min_run, budget: true });
        let mut idle = vec![0u32; fixed.had.len()];
        // Gangs that fit on no single type take several at once, and others may wait longer for them.
        let capacity = fixed.world.state.cluster().capacity();
        let spans = |w: &Workload| w.classes.iter().any(|c| c.spans(&w.profile, capacity));
        prop_assume!(!fixed.world.state.workloads().iter().any(spans));
        for _ in 0..200 {
            fixed.round();
            let state = &fixed.world.state;
            for (w, workload) in state.workloads().iter().enumerate() {
                idle[w] = if workload.used.iter().any(|&u| u > 0) { 0 } else { idle[w] + 1 };
                let patience = patience(state, workload);
                prop_assert!(f64::from(idle[w]) <= patience, "{} > {patience}", idle[w]);
            }
        }
    }

    #[test]
    fn every_job_of_a_workload_gets_its_turn(jobs in 2u32..12, gpus in 1u32..4, turn in 0u64..4) {
        let round = Span::from_seconds(300.0);
        let settings = Settings { turn: round.times(turn), ..max_min() };
        let mut world = World::new(settings, &[("k80", 1, gpus)]);
        let workload = world.tenant("a", 1.0, &[1.0]);
        world.submit_many(workload, 1, jobs);
        // The budget lets a job restart once in so many rounds; nobody waits longer than all others' turns.
        let rounds = jobs * (turn as u32 + 2);
        world.ticks(rounds);
        for job in world.state.jobs() {
            prop_assert!(job.state() == JobState::Running || job.ran() > Span(0), "{job:?}");
        }
    }
}

#[test]
fn a_gang_of_eight_gets_its_turn_among_jobs_whose_protection_is_staggered() {
    let round = Span::from_seconds(300.0);
    let settings = Settings { min_run: round.times(3), ..max_min() };
    let mut world = World::new(settings, &[("k80", 1, 8)]);
    let small: Vec<WorkloadKey> =
        (0..9).map(|t| world.tenant(&format!("t{t}"), 1.0, &[1.0])).collect();
    world.tick();
    // Eight arrive one after the other, so that no round finds all of them unprotected at once.
    for (i, &workload) in small.iter().enumerate() {
        world.submit_many(workload, 1, 3);
        if i % 3 == 2 {
            world.tick();
        }
    }
    let big = world.tenant("big", 1.0, &[1.0]);
    let gang = world.submit(big, 8);
    let waited = (0..200).find(|_| {
        world.tick();
        world.runs(gang)
    });
    assert!(waited.is_some_and(|rounds| rounds < 60), "{waited:?}");
}

#[test]
fn a_gang_that_fits_on_no_single_type_gets_its_turn() {
    let mut world = World::new(max_min(), &[("k80", 1, 4), ("p100", 1, 4)]);
    let small = world.tenant("small", 1.0, &[1.0, 2.0]);
    world.submit_many(small, 1, 12);
    let big = world.tenant("big", 1.0, &[1.0, 2.0]);
    let gang = world.submit(big, 6);
    let ran = (0..100).filter(|_| {
        world.tick();
        world.runs_on(gang) == "+"
    });
    let ran = ran.count();
    assert!((40..=80).contains(&ran), "{ran}");
}

#[test]
fn a_higher_priority_goes_first_and_then_the_longest_starved() {
    let settings = Settings { turn: Span(0), ..max_min() };
    let mut world = World::new(settings, &[("k80", 1, 1)]);
    let workload = world.tenant("a", 1.0, &[1.0]);
    let low: Vec<JobId> = (0..3).map(|_| world.submit(workload, 1)).collect();
    let mut spec = world.spec(workload, 1);
    spec.priority = 5;
    let high = world.submit_spec(spec);
    world.tick();
    assert!(world.runs(high));
    world.ticks(5);
    assert!(world.runs(high), "a lower class does not displace it");
    world.finish(high);
    let order: Vec<JobId> = (0..6)
        .filter_map(|_| {
            let now = low.iter().copied().find(|&job| world.runs(job));
            world.tick();
            now
        })
        .collect();
    assert_eq!(order, [low[0], low[1], low[2], low[0], low[1], low[2]]);
}

#[test]
fn a_job_of_a_higher_class_displaces_one_of_its_own_workload() {
    let mut world = World::new(max_min(), &[("k80", 1, 1)]);
    let workload = world.tenant("a", 1.0, &[1.0]);
    let low = world.submit(workload, 1);
    world.tick();
    let mut spec = world.spec(workload, 1);
    spec.priority = 1;
    let high = world.submit_spec(spec);
    world.tick();
    assert!(world.runs(high) && !world.runs(low));
}

#[test]
fn workloads_of_a_tenant_share_in_proportion_to_their_weights() {
    let mut world = World::new(max_min(), &[("k80", 1, 8)]);
    let other = world.tenant("other", 1.0, &[1.0]);
    world.submit_many(other, 1, 8);
    let tenant = world.state.tenant("a", 1.0);
    let one = world.workload(tenant, "one", 1.0, &[1.0]);
    let three = world.workload(tenant, "three", 3.0, &[1.0]);
    world.submit_many(one, 1, 8);
    world.submit_many(three, 1, 8);
    let mut had = [0u32; 3];
    for _ in 0..100 {
        world.tick();
        for (had, key) in had.iter_mut().zip([other, one, three]) {
            *had += world.state.workloads()[key.0].used_on(0);
        }
    }
    assert!(had.iter().zip([400, 100, 300]).all(|(&had, due)| had.abs_diff(due) <= 3), "{had:?}");
}

#[test]
fn a_tenant_with_one_job_keeps_the_best_part_of_its_share() {
    let settings = Settings { mechanism: Mechanism::Noncooperative, ..Settings::default() };
    let mut world = World::new(settings, &[("k80", 2, 4), ("v100", 2, 4)]);
    let one = world.tenant("one", 1.0, &[1.0, 3.0]);
    let job = world.submit(one, 1);
    let many = world.tenant("many", 1.0, &[1.0, 3.0]);
    world.submit_many(many, 1, 30);
    for _ in 0..20 {
        world.tick();
        assert_eq!(world.runs_on(job), "v100");
    }
    let shares = |w: WorkloadKey| world.state.workloads()[w.0].share.clone();
    assert!(shares(one)[0] < 1e-9 && (shares(one)[1] - 1.0).abs() < 1e-9, "{:?}", shares(one));
    assert!((shares(many).iter().sum::<f64>() - 15.0).abs() < 1e-6, "no share is wasted");
}

#[test]
fn a_gang_that_can_never_run_wastes_no_share() {
    let mut world = World::new(max_min(), &[("k80", 1, 4), ("v100", 1, 4)]);
    let monster = world.tenant("monster", 1.0, &[1.0, 2.0]);
    world.submit(monster, 9);
    let picky = world.tenant("picky", 1.0, &[1.0, 2.0]);
    for _ in 0..8 {
        let mut spec = world.spec(picky, 1);
        spec.types = Some(vec!["k80".into()]);
        world.submit_spec(spec);
    }
    let small = world.tenant("small", 1.0, &[1.0, 2.0]);
    world.submit_many(small, 1, 8);
    world.tick();
    let share = |w: WorkloadKey| world.state.workloads()[w.0].share.clone();
    assert_eq!((share(monster), share(picky)), (vec![0.0, 0.0], vec![2.0, 0.0]));
    assert_eq!(share(small), [2.0, 4.0]);
}

#[test]
fn a_job_on_a_slower_type_than_its_workload_is_entitled_to_gets_there() {
    let mut world = World::new(max_min(), &[("k80", 1, 2), ("v100", 1, 2)]);
    let early = world.tenant("early", 1.0, &[1.0, 3.0]);
    world.submit_many(early, 1, 4);
    world.tick();
    let late = world.tenant("late", 1.0, &[1.0, 3.0]);
    let jobs = [world.submit(late, 1), world.submit(late, 1)];
    let mut fast = 0;
    for _ in 0..50 {
        world.tick();
        fast += jobs.iter().filter(|&&job| world.runs_on(job) == "v100").count();
    }
    assert!(fast.abs_diff(50) <= 4, "one of two fast GPUs is theirs: {fast} of 100");
}

/// A measured restart cost makes turns as long as it says, within four times the setting, for gangs as well.
#[test]
fn turns_follow_the_measured_cost_of_a_restart_within_bounds() {
    let settings = Settings { mechanism: Mechanism::MaxMin, ..Settings::default() };
    let mut world = World::new(settings, &[("a", 1, 8)]);
    let workload = world.tenant("ada", 1.0, &[1.0]);
    let (single, gang) = (world.submit(workload, 1), world.submit(workload, 4));
    world.tick();
    let turn = |world: &World, job| {
        let budget = world.state.restart_budget(job).expect("a live job");
        (budget.is_measured, budget.cost.seconds(), budget.turn.seconds().round())
    };
    let usual = world.state.settings().turn_of(1).seconds().round();
    assert_eq!(turn(&world, single), (false, 14.0, usual));
    for (measured, counted) in [(28.0, 28.0), (3600.0, 56.0), (0.1, 3.5)] {
        let cost = Some(Span::from_seconds(measured));
        world.happen(EventKind::RestartCost { workload, cost });
        let expected = f64::round(counted / 0.03);
        assert_eq!(turn(&world, single), (true, counted, expected));
        assert_eq!(turn(&world, gang), (true, counted, f64::round(counted / 0.03 * 3.0)));
    }
}
