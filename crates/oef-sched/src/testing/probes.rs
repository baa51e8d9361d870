//! Profile runs get their turn on a busy cluster, at the cost of their own tenant.

use super::dice::Dice;
use super::world::World;
use crate::*;
use oef_core::{Mechanism, WorkloadId};
use proptest::prelude::*;

/// A busy cluster: every tenant has more jobs than there are GPUs.
fn busy(mechanism: Mechanism, nodes: &[(&str, u32, u32)], rows: &[&[f64]]) -> World {
    let mut world = World::new(Settings { mechanism, ..Settings::default() }, nodes);
    let total = world.state.cluster().total();
    for (t, speeds) in rows.iter().enumerate() {
        let workload = world.tenant(&format!("t{t}"), 1.0, speeds);
        world.submit_many(workload, 1, total + 1);
    }
    world.ticks(3);
    world
}

/// Submits a profile run of a workload.
fn probe(world: &mut World, of: WorkloadKey, gpu_type: &str, workers: u32) -> JobId {
    let workload = world.state.probe_workload(of, gpu_type).expect("both are known");
    let types = Some(vec![gpu_type.to_string()]);
    let spec = JobSpec { types, ..world.spec(workload, workers) };
    world.submit_spec(spec)
}

/// Rounds until a job runs.
fn rounds_until(world: &mut World, job: JobId, most: u32) -> Option<u32> {
    (0..=most).find(|_| {
        let runs = world.runs(job);
        if !runs {
            world.tick();
        }
        runs
    })
}

const ENVY_FREE_EXTREMES: [&[f64]; 2] = [&[1.0, 1.1], &[1.0, 4.0]];

#[test]
fn a_pinned_job_may_wait_for_ever_where_its_workload_has_no_share() {
    let nodes = [("fast", 1, 2), ("slow", 1, 2)];
    let rows: Vec<&[f64]> = vec![&[4.0, 1.0], &[1.1, 1.0], &[1.1, 1.0]];
    let mut world = busy(Mechanism::Cooperative, &nodes, &rows);
    assert!(world.state.workloads()[0].share_on(1) < 1e-6, "its share is on the fast type");
    let pinned =
        JobSpec { types: Some(vec!["slow".into()]), priority: 9, ..world.spec(WorkloadKey(0), 1) };
    let pinned = world.submit_spec(pinned);
    assert_eq!(rounds_until(&mut world, pinned, 60), None);
    // The same as a profile run has its turn, and its workload's own shares are still on the fast type.
    let run = probe(&mut world, WorkloadKey(0), "slow", 1);
    let waited = rounds_until(&mut world, run, 60).expect("it has its turn");
    assert!(waited <= 3, "{waited}");
    assert!(world.state.workloads()[0].share_on(1) < 1e-6);
}

#[test]
fn a_type_on_which_the_workload_cannot_run_by_its_profile_can_be_tried() {
    let mut world = busy(Mechanism::Cooperative, &[("a", 1, 2), ("b", 1, 2)], &ENVY_FREE_EXTREMES);
    let blind = world.tenant("blind", 1.0, &[1.0, 0.0]);
    world.submit_many(blind, 1, 5);
    let run = probe(&mut world, blind, "b", 1);
    assert!(rounds_until(&mut world, run, 20).is_some());
    assert_eq!(world.runs_on(run), "b");
    assert_eq!(world.state.probe_workload(blind, "c"), None);
}

/// Mechanisms under which nobody is left with less than its part of an equal split.
fn promises_incentive(mechanism: Mechanism) -> bool {
    !matches!(mechanism, Mechanism::Noncooperative | Mechanism::Efficiency)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The bound: a run of `g` workers whose share is `x` GPUs of its type waits no more than
    /// `2 (1 + s) g / x + 5` rounds, `s` being the stickiness, whatever the others do.
    #[test]
    fn profile_runs_have_their_turn_on_every_type(seed: u64) {
        let dice = &mut Dice(seed);
        let mechanisms = [Mechanism::Cooperative, Mechanism::Noncooperative, Mechanism::MaxMin, Mechanism::Nash];
        let mechanism = dice.one_of(&mechanisms);
        let gpus = dice.one_of(&[1, 2, 4]);
        let nodes = [("a", 1, gpus), ("b", 2, 2), ("c", 1, dice.one_of(&[2, 4, 8]))];
        let tenants = dice.between(2, 6) as usize;
        let speeds: Vec<[f64; 3]> =
            (0..tenants).map(|_| [1.0, 1.0 + 3.0 * dice.real(), 1.0 + 6.0 * dice.real()]).collect();
        let rows: Vec<&[f64]> = speeds.iter().map(|row| row.as_slice()).collect();
        let mut world = busy(mechanism, &nodes, &rows);
        let own = WorkloadKey(dice.below(tenants));
        let gpu = dice.below(3);
        let name = ["a", "b", "c"][gpu];
        let workers = dice.one_of(&[1, 1, 2]).min(world.state.cluster().capacity()[gpu]);
        let job = probe(&mut world, own, name, workers);
        if !world.runs(job) {
            world.tick();
        }
        let under = world.state.job(job).unwrap().row();
        let share = world.state.workloads()[under.0].share_on(gpu);
        prop_assert!(share > 0.0, "{mechanism} gives no share");
        let (problem, _) = world.state.entitlement().answer().unwrap();
        let l = world.state.entitlement().workloads().iter().position(|w| *w == under).unwrap();
        if promises_incentive(mechanism) {
            let part = problem.workloads()[WorkloadId(l).0].weight / problem.total_weight();
            let equal = part * problem.types()[gpu].capacity;
            prop_assert!(share >= equal.min(f64::from(workers)) - 1e-6, "{mechanism} {share} < {equal}");
        }
        let s = world.state.settings().stickiness;
        let bound = 2.0 * (1.0 + s) * f64::from(workers) / share + 5.0;
        let waited = rounds_until(&mut world, job, bound.ceil() as u32 + 1);
        prop_assert!(waited.is_some_and(|w| f64::from(w) <= bound), "{mechanism} {waited:?} > {bound}");
    }
}
