//! Mid-round: what comes free is handed out at once and counted; debts outlive absence.

use super::world::{Answers, World};
use crate::*;
use oef_core::{Mechanism, TypeId};

fn max_min() -> Settings {
    Settings { mechanism: Mechanism::MaxMin, restart_part: 0.0, ..Settings::default() }
}

fn half_a_round(world: &mut World) {
    world.wait(Span::from_seconds(150.0));
}

#[test]
fn a_job_that_ends_in_mid_round_makes_room_at_once() {
    let mut world = World::new(max_min(), &[("k80", 1, 1)]);
    let a = world.tenant("a", 1.0, &[1.0]);
    let b = world.tenant("b", 1.0, &[1.0]);
    let (first, second) = (world.submit(a, 1), world.submit(b, 1));
    world.tick();
    half_a_round(&mut world);
    let actions = world.finish(first);
    assert!(matches!(&actions[..], [Action::Start { job, .. }] if *job == second), "{actions:?}");
    let deficits = |w: WorkloadKey| world.state.workloads()[w.0].deficit_on(0);
    // Half of a GPU for half of a round each; the first had a whole one.
    assert_eq!((deficits(a), deficits(b)), (-0.25, 0.25));
}

#[test]
fn a_node_that_dies_sends_its_jobs_elsewhere_and_one_that_comes_is_used_at_once() {
    let mut world = World::new(max_min(), &[("k80", 2, 2)]);
    let workload = world.tenant("a", 1.0, &[1.0]);
    let gang = world.submit(workload, 2);
    let pair = [world.submit(workload, 1), world.submit(workload, 1)];
    world.tick();
    let host = world.hosts(gang)[0];
    half_a_round(&mut world);
    world.answers = Answers::Late;
    let node = format!("k80-{host}");
    let actions = world.happen(EventKind::NodeDown { node: node.clone() });
    assert!(matches!(&actions[..], [Action::Preempt { why: StopReason::NodeDown, .. }]));
    assert_eq!(world.state.cluster().capacity(), [2]);
    world.answer(0);
    assert!(!world.runs(gang) && pair.iter().all(|&job| world.runs(job)));
    let back = NodeSpec { name: node, gpu_type: "k80".into(), gpus: 2 };
    let actions = world.happen(EventKind::NodeUp(back));
    assert!(matches!(&actions[..], [Action::Start { job, .. }] if *job == gang), "{actions:?}");
}

#[test]
fn a_node_that_closes_takes_no_more_jobs_and_lets_those_end_that_run() {
    let mut world = World::new(max_min(), &[("k80", 2, 2)]);
    let (a, b) = (world.tenant("a", 1.0, &[1.0]), world.tenant("b", 1.0, &[1.0]));
    let jobs: Vec<JobId> = (0..4).map(|_| world.submit(a, 1)).collect();
    world.tick();
    let node = format!("k80-{}", world.hosts(jobs[0])[0]);
    let there: Vec<JobId> =
        jobs.iter().copied().filter(|&job| world.hosts(job) == world.hosts(jobs[0])).collect();
    let actions = world.happen(EventKind::NodeClosing { node: node.clone() });
    assert!(actions.is_empty(), "{actions:?}");
    assert_eq!(world.state.cluster().capacity(), [2]);
    // Another tenant is owed half of what is left and more: those on the node stay all the same.
    let others: Vec<JobId> = (0..4).map(|_| world.submit(b, 1)).collect();
    world.ticks(20);
    assert!(there.iter().all(|&job| world.runs(job)), "they may end");
    assert_eq!(others.iter().filter(|&&job| world.runs(job)).count(), 2, "the rest is the other's");
    world.finish(there[0]);
    world.ticks(3);
    let on_node = |job: &JobId| world.runs(*job) && world.hosts(*job) == world.hosts(there[1]);
    assert_eq!(jobs.iter().chain(&others).filter(|job| on_node(job)).count(), 1, "nobody came");
    let back = NodeSpec { name: node.clone(), gpu_type: "k80".into(), gpus: 2 };
    world.happen(EventKind::NodeUp(back));
    assert_eq!(world.state.cluster().capacity(), [4]);
    world.happen(EventKind::NodeClosing { node: node.clone() });
    world.happen(EventKind::NodeDown { node });
    assert!(!world.runs(there[1]), "down is down");
}

#[test]
fn a_job_on_its_way_from_a_dead_node_keeps_its_new_place() {
    let mut world = World::new(max_min(), &[("k80", 1, 1), ("v100", 1, 1)]);
    let workload = world.tenant("a", 1.0, &[1.0, 2.0]);
    let (first, second) = (world.submit(workload, 1), world.submit(workload, 1));
    world.tick();
    world.finish(first);
    world.answers = Answers::Late;
    world.tick();
    assert_eq!(world.stopping.len(), 1, "it is told to move to the faster type");
    world.happen(EventKind::NodeDown { node: "k80-0".into() });
    world.answer(0);
    assert_eq!(world.runs_on(second), "v100");
}

#[test]
fn a_promise_on_a_node_that_dies_is_taken_back() {
    let mut world = World::new(max_min(), &[("k80", 1, 2)]);
    let a = world.tenant("a", 1.0, &[1.0]);
    let b = world.tenant("b", 1.0, &[1.0]);
    world.submit_many(a, 1, 2);
    world.tick();
    world.answers = Answers::Late;
    world.submit_many(b, 1, 2);
    world.ticks(2);
    assert!(world.state.jobs().any(|job| job.state() == JobState::Starting));
    world.happen(EventKind::NodeDown { node: "k80-0".into() });
    while !world.stopping.is_empty() {
        world.answer(0);
    }
    assert!(world.state.jobs().all(|job| job.state() == JobState::Queued));
}

#[test]
fn who_leaves_in_debt_is_still_in_debt_when_it_comes_back() {
    let mut world = World::new(max_min(), &[("k80", 1, 2)]);
    let settings = Settings { min_run: Span::from_seconds(900.0), ..max_min() };
    world.state.set_settings(settings);
    let a = world.tenant("a", 1.0, &[1.0]);
    let b = world.tenant("b", 1.0, &[1.0]);
    let first = [world.submit(a, 1), world.submit(a, 1)];
    world.tick();
    world.submit_many(b, 1, 4);
    world.ticks(2);
    // Its jobs could not be stopped yet: it had two GPUs where one was due.
    for job in first {
        world.finish(job);
    }
    let debt = |world: &World| world.state.workloads()[a.0].deficit_on(0);
    let before = debt(&world);
    assert!(before < -0.9, "{before}");
    world.ticks(5);
    assert_eq!(debt(&world), before);
    world.submit_many(a, 1, 4);
    assert_eq!(debt(&world), before);
    let mut had = [0, 0];
    for _ in 0..30 {
        world.tick();
        had[0] += world.state.workloads()[a.0].used_on(0);
        had[1] += world.state.workloads()[b.0].used_on(0);
    }
    assert!(had[0] < had[1], "{had:?}: the debt is paid back");
}

#[test]
fn a_changed_weight_changes_what_is_due_and_leaves_old_accounts() {
    let mut world = World::new(max_min(), &[("k80", 1, 4)]);
    let a = world.tenant("a", 1.0, &[1.0]);
    let b = world.tenant("b", 1.0, &[1.0]);
    world.submit_many(a, 1, 6);
    world.submit_many(b, 1, 6);
    world.ticks(3);
    let before: Vec<f64> = world.state.workloads().iter().map(|w| w.deficit_on(0)).collect();
    world.happen(EventKind::Weight { tenant: TenantKey(0), weight: 3.0 });
    let after: Vec<f64> = world.state.workloads().iter().map(|w| w.deficit_on(0)).collect();
    assert_eq!(before, after);
    let mut had = 0;
    for _ in 0..40 {
        world.tick();
        had += world.state.workloads()[a.0].used_on(0);
    }
    assert!(had.abs_diff(120) <= 3, "{had} of 120");
}

#[test]
fn a_job_may_name_a_type_before_there_is_one() {
    let mut world = World::new(max_min(), &[("k80", 1, 1)]);
    let workload = world.tenant("a", 1.0, &[1.0, 2.0]);
    let mut spec = world.spec(workload, 1);
    spec.types = Some(vec!["h200".into()]);
    let job = world.submit_spec(spec);
    world.tick();
    assert_eq!(why(&world.state, job).and_then(|f| f.waits), Some(WaitReason::CannotRun));
    let node = NodeSpec { name: "new".into(), gpu_type: "h200".into(), gpus: 1 };
    world.happen(EventKind::NodeUp(node));
    assert_eq!(world.runs_on(job), "h200");
}

#[test]
fn a_job_for_a_type_whose_nodes_are_down_waits_for_one() {
    let mut world = World::new(max_min(), &[("k80", 1, 1), ("v100", 1, 1)]);
    let workload = world.tenant("a", 1.0, &[1.0, 2.0]);
    world.happen(EventKind::NodeDown { node: "v100-0".into() });
    let mut spec = world.spec(workload, 1);
    spec.types = Some(vec!["v100".into()]);
    let job = world.submit_spec(spec);
    world.tick();
    let forecast = why(&world.state, job).expect("a job");
    assert_eq!(forecast.waits, Some(WaitReason::NoneUp { gpu: TypeId(1) }));
    assert_eq!(forecast.sentence, "no GPU of type v100 is up: it waits for one");
}

#[test]
fn of_jobs_that_came_at_one_instant_the_first_submitted_is_first() {
    // The slot of an ended job is used again: the order of jobs is by number, not by slot.
    let mut world = World::new(max_min(), &[("k80", 1, 1)]);
    let workload = world.tenant("a", 1.0, &[1.0]);
    let [one, two] = [world.submit(workload, 1), world.submit(workload, 1)];
    world.tick();
    world.happen(EventKind::Cancelled { job: two });
    world.happen(EventKind::Cancelled { job: one });
    let [three, four] = [world.submit(workload, 1), world.submit(workload, 1)];
    assert!(world.runs(three) && !world.runs(four));
}
