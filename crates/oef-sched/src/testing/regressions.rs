//! Mistakes that were made once, as small as they get.

use super::world::World;
use crate::*;
use oef_core::Mechanism;

fn max_min() -> Settings {
    Settings { mechanism: Mechanism::MaxMin, restart_part: 0.0, ..Settings::default() }
}

/// Queues were cut off at the number of GPUs: a small job behind many gangs stood beside an idle GPU.
#[test]
fn a_small_job_behind_many_gangs_finds_the_idle_gpu() {
    let mut world = World::new(max_min(), &[("k80", 1, 3)]);
    let workload = world.tenant("a", 1.0, &[1.0]);
    world.submit_many(workload, 2, 10);
    let small = world.submit(workload, 1);
    world.tick();
    assert!(world.runs(small));
}

/// A claim on a type without a share any more was never paid, and went before all others for ever.
#[test]
fn an_old_claim_is_paid_once() {
    let mut world = World::new(max_min(), &[("k80", 1, 2)]);
    let a = world.tenant("a", 1.0, &[1.0]);
    let b = world.tenant("b", 1.0, &[1.0]);
    world.submit_many(a, 1, 3);
    world.submit_many(b, 1, 3);
    world.ticks(3);
    let workloads = world.state.workloads_mut();
    workloads[a.0].deficit[0] += 2.0;
    workloads[b.0].deficit[0] -= 2.0;
    workloads[b.0].share[0] += workloads[a.0].share[0];
    workloads[a.0].share[0] = 0.0;
    let mut had = 0;
    for _ in 0..20 {
        world.tick();
        had += world.state.workloads()[a.0].used_on(0);
    }
    assert!(had <= 5, "{had}");
}

/// The lease of a job whose GPUs came free late ended before it began.
#[test]
fn a_late_start_has_a_lease_of_its_round() {
    let mut world = World::new(max_min(), &[("k80", 1, 1)]);
    let a = world.tenant("a", 1.0, &[1.0]);
    let b = world.tenant("b", 1.0, &[1.0]);
    world.submit(a, 1);
    world.tick();
    let job = world.submit(b, 1);
    world.answers = super::world::Answers::Late;
    while world.stopping.is_empty() {
        world.tick();
    }
    world.ticks(3);
    world.answer(0);
    let until = world.state.job(job).and_then(Job::lease).map(|lease| lease.until);
    assert!(world.runs(job) && until > Some(world.now), "{until:?}");
}

/// A gang held GPUs of a type that it was owed nothing of by what it was owed of another.
#[test]
fn a_gang_across_types_does_not_pay_on_one_with_the_other() {
    let mut world = World::new(max_min(), &[("k80", 1, 8), ("v100", 1, 4)]);
    let across = world.tenant("across", 1.0, &[1.0, 4.0]);
    world.submit_many(across, 3, 4);
    let whole = world.tenant("whole", 1.0, &[1.0, 0.0]);
    let gang = world.submit(whole, 8);
    let ran = (0..60).filter(|_| {
        world.tick();
        world.runs(gang)
    });
    assert!(ran.count() >= 25);
}

/// Numbers without a limit ended in a panic, or in all of the memory.
#[test]
fn numbers_have_limits() {
    let mut world = World::new(max_min(), &[("k80", 1, 1)]);
    let workload = world.tenant("a", 1.0, &[1.0]);
    for _ in 0..3 {
        let spec = world.spec(workload, u32::MAX);
        let actions = world.happen(EventKind::Submitted(spec));
        assert!(matches!(world.refused, Some(Refusal::BadValue(_))), "{actions:?}");
    }
    let node = NodeSpec { name: "big".into(), gpu_type: "k80".into(), gpus: u32::MAX };
    let actions = world.happen(EventKind::NodeUp(node));
    assert!(matches!(world.refused, Some(Refusal::BadValue(_))), "{actions:?}");
}

/// A gang across types used a type that it had no share of for nothing, and whoever had one starved.
#[test]
fn a_gang_across_types_pays_for_the_types_without_a_share() {
    let mut world = World::new(max_min(), &[("k80", 1, 6), ("v100", 1, 4)]);
    let small = world.tenant("small", 1.0, &[0.0, 1.0]);
    let job = world.submit(small, 1);
    let rival = world.tenant("rival", 1.0, &[1.0, 2.0]);
    world.submit_many(rival, 8, 2);
    let across = world.tenant("across", 1.0, &[1.0, 2.0]);
    world.submit_many(across, 8, 2);
    world.tick();
    // As a mechanism might give them.
    for (w, share) in [(small, [0.0, 1.0]), (rival, [0.0, 3.0]), (across, [6.0, 0.0])] {
        world.state.workloads_mut()[w.0].share = share.to_vec();
    }
    let ran = (0..100).filter(|_| {
        world.tick();
        world.runs(job)
    });
    assert!(ran.count() >= 40);
}
