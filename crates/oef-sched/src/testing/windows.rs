//! Nodes that are to be out: who is started there, who goes elsewhere, and why one waits.

use super::dice::Dice;
use super::scenario::{CALM, WILD, live_on, settings, submit, world};
use super::world::World;
use crate::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

const LEAD: Span = Span(600_000);

fn plan_out(world: &mut World, node: &str, seconds: f64) -> Time {
    let from = world.now + Span::from_seconds(seconds);
    let window = Some(NodeWindow { from, lead: LEAD });
    world.happen(EventKind::NodePlannedOut { node: node.into(), window });
    from
}

fn limited(world: &mut World, workload: WorkloadKey, workers: u32, seconds: Option<f64>) -> JobId {
    let mut spec = world.spec(workload, workers);
    spec.max_run = seconds.map(Span::from_seconds);
    world.submit_spec(spec)
}

fn nodes_of(world: &World, job: JobId) -> BTreeSet<String> {
    let lease = world.state.job(job).and_then(Job::lease).map(|lease| lease.gpus.clone());
    let node = |gpu: &GpuId| world.state.cluster().nodes()[gpu.node.0].name().to_string();
    lease.unwrap_or_default().iter().map(node).collect()
}

#[test]
fn a_long_job_goes_elsewhere_and_a_short_one_may_start() {
    let mut world = World::new(Settings::default(), &[("k80", 2, 2)]);
    let one = world.tenant("one", 1.0, &[1.0]);
    plan_out(&mut world, "k80-0", 7200.0);
    let long: Vec<JobId> = (0..3).map(|_| limited(&mut world, one, 1, Some(10_000.0))).collect();
    let short = limited(&mut world, one, 1, Some(1000.0));
    let open = limited(&mut world, one, 1, None);
    world.tick();
    // Two long jobs fill the other node; the third waits, and does not keep the short ones from starting.
    for job in &long[..2] {
        assert_eq!(nodes_of(&world, *job), BTreeSet::from(["k80-1".to_string()]));
    }
    for job in [short, open] {
        assert_eq!(nodes_of(&world, job), BTreeSet::from(["k80-0".to_string()]));
    }
    assert!(nodes_of(&world, long[2]).is_empty());
    assert_eq!(world.state.windows_ahead_of(long[2]).len(), 1);
    world.happen(EventKind::Cancelled { job: short });
    let why = why(&world.state, long[2]).expect("it is there");
    assert!(matches!(why.waits, Some(WaitReason::Window { .. })), "{why:?}");
    assert!(why.sentence.contains("k80-0") && why.sentence.contains("2h"), "{}", why.sentence);
    // Nothing is planned any more: it starts at once.
    world.happen(EventKind::NodePlannedOut { node: "k80-0".into(), window: None });
    assert_eq!(nodes_of(&world, long[2]), BTreeSet::from(["k80-0".to_string()]));
}

#[test]
fn a_job_of_unknown_length_is_not_started_within_the_lead() {
    let mut world = World::new(Settings::default(), &[("k80", 1, 2)]);
    let one = world.tenant("one", 1.0, &[1.0]);
    plan_out(&mut world, "k80-0", 500.0);
    let open = limited(&mut world, one, 1, None);
    let short = limited(&mut world, one, 1, Some(100.0));
    world.tick();
    assert!(nodes_of(&world, open).is_empty());
    assert!(!nodes_of(&world, short).is_empty());
}

#[test]
fn another_type_is_used_where_the_best_one_is_to_be_out() {
    let mut world = World::new(Settings::default(), &[("k80", 1, 2), ("v100", 1, 2)]);
    let one = world.tenant("one", 1.0, &[1.0, 3.0]);
    plan_out(&mut world, "v100-0", 3600.0);
    let long = limited(&mut world, one, 1, Some(10_000.0));
    world.tick();
    assert_eq!(nodes_of(&world, long), BTreeSet::from(["k80-0".to_string()]));
}

#[test]
fn what_a_job_has_run_counts() {
    let mut world = World::new(Settings::default(), &[("k80", 1, 1)]);
    let one = world.tenant("one", 1.0, &[1.0]);
    let job = limited(&mut world, one, 1, Some(2000.0));
    world.tick();
    assert_eq!(world.state.length_left(job), Some(Span::from_seconds(2000.0)));
    (0..4).for_each(|_| drop(world.tick()));
    assert_eq!(world.state.length_left(job), Some(Span::from_seconds(800.0)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn no_job_of_known_length_is_started_across_a_window(seed: u64, wild: bool) {
        let dice = &mut Dice(seed);
        let settings = settings(dice);
        let mut world = world(dice, settings, 4);
        let turmoil = if wild { WILD } else { CALM };
        let mut placed_before: BTreeSet<(JobId, Generation)> = BTreeSet::new();
        for _ in 0..60 {
            if dice.chance(0.3) {
                let nodes = world.state.cluster().nodes();
                let node = nodes[dice.below(nodes.len())].name().to_string();
                let leases = world.state.jobs().filter(|job| job.lease().is_some());
                placed_before.extend(leases.map(|job| (job.spec().id, job.generation())));
                plan_out(&mut world, &node, f64::from(dice.between(1, 4000)));
            }
            for _ in 0..dice.between(0, 3) {
                let id = submit(&mut world, dice, turmoil);
                let max = Span::from_seconds(f64::from(dice.between(60, 6000)));
                if world.state.job(id).is_some() && dice.chance(0.7) {
                    world.change(id, JobChange { max_run: Some(Some(max)), ..JobChange::default() });
                    // It may have been started in the meantime, without a limit.
                    let job = world.state.job(id).filter(|job| job.lease().is_some());
                    placed_before.extend(job.map(|job| (id, job.generation())));
                }
            }
            live_on(&mut world, dice, turmoil);
            let now = world.state.now();
            for job in world.state.jobs().filter(|job| job.state() == JobState::Running) {
                let key = (job.spec().id, job.generation());
                let (Some(lease), Some(left)) = (job.lease(), world.state.length_left(key.0)) else { continue };
                if job.spec().max_run.is_none() || placed_before.contains(&key) {
                    continue;
                }
                for gpu in &lease.gpus {
                    let node = &world.state.cluster().nodes()[gpu.node.0];
                    let ends = now + left;
                    let in_time = node.window().is_none_or(|window| ends <= window.from || left == Span(0));
                    prop_assert!(in_time, "job {} on {} until {ends:?}: {:?}", key.0, node.name(), node.window());
                }
            }
        }
    }
}
