//! The paper's rounding: where it hands out more than there is, and where it leaves idle what somebody could
//! use. Ours does neither on the same input.

use super::world::World;
use crate::*;
use oef_core::Mechanism;

fn world(rounding: RoundingRule, gpus: u32, tenants: u32, gang: u32) -> World {
    let settings = Settings { mechanism: Mechanism::MaxMin, rounding, ..Settings::default() };
    let mut world = World::new(settings, &[("k80", 1, gpus)]);
    for t in 0..tenants {
        let workload = world.tenant(&format!("t{t}"), 1.0, &[1.0]);
        world.submit_many(workload, gang, gpus);
    }
    world
}

fn used(world: &World) -> u32 {
    world.state.workloads().iter().map(|w| w.used_on(0)).sum()
}

#[test]
fn two_shares_of_one_and_a_half_round_to_four_gpus_of_three() {
    let mut paper = world(RoundingRule::Paper, 3, 2, 1);
    paper.tick();
    assert_eq!(paper.state.plan().overcommitted, 1);
    assert_eq!(used(&paper), 3, "who comes last goes without");
    let mut ours = world(RoundingRule::Deficit, 3, 2, 1);
    for _ in 0..20 {
        ours.tick();
        assert_eq!((ours.state.plan().overcommitted, used(&ours)), (0, 3));
    }
}

#[test]
fn three_shares_of_a_third_round_to_nothing() {
    let mut paper = world(RoundingRule::Paper, 1, 3, 1);
    paper.tick();
    assert_eq!((used(&paper), paper.state.plan().overcommitted), (0, 0));
    let mut ours = world(RoundingRule::Deficit, 1, 3, 1);
    for _ in 0..20 {
        ours.tick();
        assert_eq!(used(&ours), 1);
    }
}

#[test]
fn the_papers_deviations_forget_what_was_not_there() {
    // Both are granted two of three in the first round; the second tenant gets one and owes for two.
    let mut paper = world(RoundingRule::Paper, 3, 2, 1);
    let mut had = [0, 0];
    for _ in 0..100 {
        paper.tick();
        for (had, workload) in had.iter_mut().zip(paper.state.workloads()) {
            *had += workload.used_on(0);
        }
    }
    assert!(had[0] > had[1] + 20, "{had:?}");
}

#[test]
fn another_rounding_begins_with_empty_accounts() {
    let mut world = world(RoundingRule::Paper, 3, 2, 1);
    world.ticks(3);
    let settings = Settings { rounding: RoundingRule::Deficit, ..world.state.settings().clone() };
    world.state.set_settings(settings);
    assert!(world.state.workloads().iter().all(|w| w.deficits() == [0.0]));
    world.ticks(5);
    assert_eq!(used(&world), 3);
}
