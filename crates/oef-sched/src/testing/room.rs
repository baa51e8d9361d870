//! Room for gangs: who makes it, who waits for it, who pays, and what gangs are promised.

use super::dice::Dice;
use super::scenario::profile;
use super::world::World;
use crate::gang::{GangFigures, Stands};
use crate::state::ledger::limit;
use crate::*;
use oef_core::{Mechanism, WorkloadId};
use proptest::prelude::*;

fn max_min() -> Settings {
    Settings { mechanism: Mechanism::MaxMin, restart_part: 0.0, ..Settings::default() }
}

/// Two hosts of 8; twelve single jobs of one tenant, of which six on each host stay.
fn scattered() -> (World, WorkloadKey, WorkloadKey) {
    let mut world = World::new(max_min(), &[("a100", 2, 8)]);
    let small = world.tenant("small", 3.0, &[1.0]);
    let big = world.tenant("big", 1.0, &[1.0]);
    let jobs: Vec<JobId> = (0..16).map(|_| world.submit(small, 1)).collect();
    world.tick();
    for host in 0..2 {
        let here = jobs.iter().copied().filter(|&job| world.hosts(job) == [host]);
        for job in here.take(2).collect::<Vec<_>>() {
            world.finish(job);
        }
    }
    (world, small, big)
}

#[test]
fn small_jobs_make_room_for_a_gang_and_are_paid_for_it() {
    let (mut world, small, big) = scattered();
    let gang = world.submit(big, 4);
    let row = world.state.job(gang).map(Job::row).expect("a job");
    world.ticks(2);
    assert_eq!(world.hosts(gang).len(), 1, "two and two were free");
    let moved = world.state.jobs().filter(|job| job.restarts() > 0 && job.spec().workers == 1);
    assert_eq!(moved.count(), 2, "no more than needed moved");
    let restart = 14.0 / 300.0;
    let got = world.state.workloads()[small.0].deficit_on(0);
    let paid = world.state.workloads()[row.0].deficit_on(0);
    // Everything else is the same for both: nobody waits, so that time moves no account.
    assert!(
        (got - 2.0 * restart).abs() < 1e-9 && (paid + 2.0 * restart).abs() < 1e-9,
        "{got} {paid}"
    );
    let before: Vec<Vec<GpuId>> = world.state.placements().into_iter().map(|p| p.gpus).collect();
    world.ticks(5);
    let after: Vec<Vec<GpuId>> = world.state.placements().into_iter().map(|p| p.gpus).collect();
    assert_eq!(before, after, "no move without gain");
}

#[test]
fn with_packed_placement_the_gang_stays_spread() {
    let (mut world, _, big) = scattered();
    let settings = Settings { placement: PlacementRule::Packed, ..max_min() };
    world.state.set_settings(settings);
    let gang = world.submit(big, 4);
    world.ticks(5);
    assert_eq!(world.hosts(gang).len(), 2);
}

/// Jobs that were promised a long run make no room: the gang waits while others can use its GPUs, and no longer than it
/// may.
#[test]
fn a_gang_waits_for_room_for_a_bounded_time_and_says_so() {
    let mut world = World::new(max_min(), &[("a100", 2, 8)]);
    let small = world.tenant("small", 1.0, &[1.0]);
    let big = world.tenant("big", 3.0, &[1.0]);
    for n in 0..16 {
        let spec = world.spec(small, 1);
        let stays = n % 8 > 1;
        let min_run = stays.then_some(Span::from_seconds(1e6));
        world.submit_spec(JobSpec { min_run, ..spec });
    }
    world.tick();
    let gang = world.submit(big, 4);
    let mut waited = 0;
    for _ in 0..20 {
        world.tick();
        if world.runs(gang) {
            break;
        }
        let forecast = why(&world.state, gang).expect("a job");
        if let Some(WaitReason::Room { hosts, .. }) = forecast.waits {
            waited += 1;
            assert_eq!(hosts, (1, 2));
            let begin = "waits for one host with 4 a100: 1.3 times as fast as over 2 hosts; expected in round ";
            assert!(forecast.sentence.starts_with(begin), "{}", forecast.sentence);
            assert_eq!(world.state.cluster().idle(), [0], "what it waits for is lent");
        }
    }
    assert_eq!((waited, world.hosts(gang).len()), (world.state.settings().patience, 2));
}

/// By GPUs instead of jobs, one gang of 8 would count like eight jobs, and keep these waiting.
#[test]
fn every_job_of_a_workload_counts_alike_whatever_its_size() {
    let mut world = World::new(max_min(), &[("a100", 1, 8)]);
    let workload = world.tenant("a", 1.0, &[1.0]);
    let other = world.tenant("b", 3.0, &[1.0]);
    for (workload, workers) in
        [(workload, 1), (workload, 1), (workload, 1), (workload, 8), (other, 8)]
    {
        world.submit(workload, workers);
    }
    let question = world.state.question().expect("jobs have come");
    let rows = &question.problem().tenants[0].workloads;
    let weights: Vec<f64> = rows.iter().map(|row| row.weight).collect();
    assert_eq!(weights.len(), 2);
    assert!((weights[0] / weights[1] - 3.0).abs() < 1e-9, "{weights:?}");
}

#[test]
fn a_gang_is_promised_what_it_can_have_where_it_can_stand() {
    // On one host it loses nothing; over hosts nine tenths. Only `fast` has no host for it.
    let mut world = World::new(max_min(), &[("slow", 1, 8), ("fast", 4, 2)]);
    let tenant = world.state.tenant("a", 1.0);
    let gangs = [(Stands::Together, [1.0, 3.0]), (Stands::Spread, [0.1, 0.3])];
    let gangs =
        gangs.map(|(stands, on)| GangFigures { workers: 8, stands, throughput: on.to_vec() });
    let profile =
        Profile { gangs: gangs.to_vec(), ..Profile::new(vec![1.0, 3.0], Provenance::Measured) };
    let workload = world.state.workload(tenant, "lm", 1.0, profile).expect("the tenant is there");
    let gang = world.submit(workload, 8);
    let single = world.submit(workload, 1);
    world.tick();
    let (problem, _) = world.state.entitlement().answer().expect("shares");
    let speedups = |job: JobId| {
        let row = world.state.job(job).map(Job::row).expect("a job");
        let l = world.state.entitlement().workloads().iter().position(|w| *w == row);
        problem.workloads()[WorkloadId(l.expect("in the problem")).0].speedup.clone()
    };
    let close = |found: Vec<f64>, expected: [f64; 2]| {
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
    };
    close(speedups(gang), [1.0, 0.3]);
    close(speedups(single), [1.0, 3.0]);
    assert_eq!(
        world.runs_on(gang),
        "slow",
        "a gang that gains nothing from fast GPUs is not given them"
    );
    assert_eq!(world.runs_on(single), "fast");
    // The host goes, and what the gang is worth there with it.
    world.happen(EventKind::NodeUp(NodeSpec {
        name: "b".into(),
        gpu_type: "fast".into(),
        gpus: 8,
    }));
    let row = world.state.job(gang).map(Job::row).expect("a job");
    assert!((world.state.workloads()[row.0].profile.on(1) - 3.0).abs() < 1e-12);
    world.happen(EventKind::NodeDown { node: "b".into() });
    assert!((world.state.workloads()[row.0].profile.on(1) - 0.3).abs() < 1e-12);
}

#[test]
fn turns_are_in_proportion_to_the_restart_and_the_gang() {
    let settings = Settings::default();
    let seconds = |workers: u32| settings.turn_of(workers).seconds();
    assert!((seconds(1) - 14.0 / 0.03).abs() < 0.01);
    assert!((seconds(8) - 4.0 * seconds(1)).abs() < 0.01);
    let none = Settings { restart_part: 0.0, ..Settings::default() };
    assert_eq!((none.turn_of(8), none.stickiness_for(none.turn_of(8))), (Span(0), none.stickiness));
}

/// A world of gangs in which everybody always has some that wait, and nothing ends.
fn crowd(seed: u64, settings: Settings) -> World {
    let dice = &mut Dice(seed);
    let types = dice.between(1, 3) as usize;
    let nodes: Vec<(&str, u32, u32)> = ["k80", "p100", "v100"][..types]
        .iter()
        .map(|name| (*name, dice.between(1, 4), dice.one_of(&[2, 4, 8])))
        .collect();
    let mut world = World::new(settings, &nodes);
    world.checked = false;
    for t in 0..dice.between(2, 5) {
        let speeds = profile(dice, types);
        let workload = world.tenant(&format!("t{t}"), dice.one_of(&[1.0, 2.0]), &speeds);
        for _ in 0..dice.between(1, 3) {
            world.submit_many(workload, dice.one_of(&[1, 1, 2, 4, 8]), dice.between(1, 8));
        }
    }
    world
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Restarts cost the set part of the GPU time at most, and some that are free at the beginning.
    #[test]
    fn restarts_cost_a_set_part_of_the_gpu_time_at_most(seed: u64, part in 1..10u32) {
        let part = f64::from(part) / 100.0;
        let settings = Settings { mechanism: Mechanism::MaxMin, restart_part: part, ..Settings::default() };
        let mut world = crowd(seed, settings);
        let rounds = 300;
        world.ticks(rounds);
        let state = &world.state;
        let cost = state.settings().restart_cost.seconds();
        let weigh = |job: &Job, seconds: f64| f64::from(job.spec().workers) * seconds;
        let wasted: f64 = state.jobs().map(|job| weigh(job, f64::from(job.restarts()) * cost)).sum();
        let free: f64 = state.jobs().map(|job| weigh(job, f64::from(state.settings().free_restarts + 1) * cost)).sum();
        let all = f64::from(state.cluster().total() * rounds) * state.settings().round.seconds();
        prop_assert!(wasted <= part * all + free, "{wasted} of {all}, {free} free");
    }

    /// Payments for room are between accounts: nothing is made or lost, and who is moved for another is never poorer.
    #[test]
    fn every_account_stays_bounded_with_room_and_turns(seed: u64) {
        let settings = Settings { mechanism: Mechanism::MaxMin, ..Settings::default() };
        let mut world = crowd(seed, settings);
        for _ in 0..100 {
            world.tick();
            for workload in world.state.workloads() {
                for (j, &deficit) in workload.deficits().iter().enumerate() {
                    let most = limit(workload, j, world.state.settings());
                    prop_assert!(deficit.abs() <= most + 1e-6, "{deficit} beyond {most}");
                }
            }
        }
    }

    /// What one type has is what all rows are promised at most, and no row more than its gangs can use.
    #[test]
    fn rows_of_gangs_are_promised_what_there_is(seed: u64) {
        let mut world = crowd(seed, Settings::default());
        world.tick();
        let Some((problem, outcome)) = world.state.entitlement().answer() else { return Ok(()) };
        for (l, row) in problem.workloads().iter().enumerate() {
            let given: f64 = outcome.shares.of_workload(WorkloadId(l)).iter().sum();
            prop_assert!(given <= row.demand.unwrap_or(f64::INFINITY) + 1e-6);
        }
        let weights: f64 = problem.workloads().iter().map(|row| row.weight).sum();
        prop_assert!((weights - problem.total_weight()).abs() < 1e-6 * weights);
    }
}
