//! Memory of past usage: within bounds, 1 for equals, made up for in the end, and nothing where it is off.

use super::dice::Dice;
use super::scenario::{WILD, live_on, settings, world};
use super::world::World;
use crate::*;
use oef_core::Mechanism;
use proptest::prelude::*;

const HOUR: f64 = 3600.0;

fn remembering(mechanism: Mechanism, hours: f64) -> Settings {
    let usage_half_life = Some(Span::from_seconds(hours * HOUR));
    Settings { mechanism, usage_half_life, ..Settings::default() }
}

fn factor(world: &World, workload: WorkloadKey) -> f64 {
    let tenant = world.state.workloads()[workload.0].tenant;
    world.state.past_usage(tenant).map_or(1.0, |past| past.factor)
}

fn gpus(world: &World, workload: WorkloadKey) -> f64 {
    let workload = &world.state.workloads()[workload.0];
    (0..world.state.cluster().types().len()).map(|j| workload.share_on(j)).sum()
}

fn rounds(world: &mut World, count: u32) {
    (0..count).for_each(|_| drop(world.tick()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn multipliers_stay_within_their_bounds(seed: u64, bound in 1.0..8.0f64) {
        let dice = &mut Dice(seed);
        let usage_half_life = Some(Span::from_seconds(f64::from(dice.between(1, 9999))));
        let settings = Settings { usage_half_life, usage_bound: bound, ..settings(dice) };
        let mut world = world(dice, settings, 4);
        for _ in 0..80 {
            live_on(&mut world, dice, WILD);
            for t in 0..world.state.tenants().len() {
                let Some(past) = world.state.past_usage(TenantKey(t)) else { continue };
                let within = 1.0 / bound - 1e-12..=bound + 1e-12;
                prop_assert!(within.contains(&past.factor), "{past:?}");
                prop_assert!(past.used_hours >= 0.0 && past.split_hours > 0.0, "{past:?}");
            }
        }
    }

    #[test]
    fn equal_users_count_alike(which in 0usize..8, weight in 0.3..3.0f64, idle in 0u32..3) {
        let mut world = World::new(remembering(Mechanism::ALL[which], 2.0), &[("k80", 2, 4)]);
        let all: Vec<WorkloadKey> =
            (0..4).map(|i| world.tenant(&format!("t{i}"), weight, &[1.0])).collect();
        for i in 0..idle {
            world.tenant(&format!("idle{i}"), 1.0, &[1.0]);
        }
        all.iter().for_each(|&w| world.submit_many(w, 1, 2));
        rounds(&mut world, 40);
        for &w in &all {
            prop_assert!((factor(&world, w) - 1.0).abs() < 1e-12, "{}", factor(&world, w));
        }
    }
}

#[test]
fn nothing_is_remembered_while_it_is_off() {
    let mut world = World::new(Settings::default(), &[("k80", 1, 4)]);
    let one = world.tenant("one", 1.0, &[1.0]);
    let two = world.tenant("two", 1.0, &[1.0]);
    world.submit_many(one, 1, 8);
    rounds(&mut world, 50);
    world.submit_many(two, 1, 8);
    rounds(&mut world, 1);
    assert_eq!((gpus(&world, one), gpus(&world, two)), (2.0, 2.0));
    assert_eq!(world.state.past_usage(TenantKey(0)), None);
}

#[test]
fn who_was_idle_gets_more_until_it_has_caught_up() {
    let mut world = World::new(remembering(Mechanism::MaxMin, 10.0), &[("k80", 1, 10)]);
    let busy = world.tenant("busy", 1.0, &[1.0]);
    let idle = world.tenant("idle", 1.0, &[1.0]);
    world.submit_many(busy, 1, 20);
    // Eight half-lives, alone: nobody to be compared with.
    rounds(&mut world, 8 * 120);
    assert_eq!(gpus(&world, busy), 10.0);
    world.submit_many(idle, 1, 20);
    rounds(&mut world, 2);
    let (less, more) = (factor(&world, busy), factor(&world, idle));
    assert!((0.5..0.52).contains(&less) && (1.95..=2.0).contains(&more), "{less} {more}");
    assert!((gpus(&world, idle) - 8.0).abs() < 0.1, "{}", gpus(&world, idle));
    // What it gets beyond its half, in half-lives of its half: at most 0.57, as the book derives.
    let (mut extra, mut last) = (0.0, f64::INFINITY);
    for _ in 0..10 * 120 {
        let more = gpus(&world, idle) / 5.0 - 1.0;
        // But for the steps of the multiplier it falls all the time.
        assert!(more <= last + 0.02, "it falls: {more} after {last}");
        (extra, last) = (extra + more / 120.0, more);
        world.tick();
    }
    assert!((0.5..0.58).contains(&extra), "{extra}");
    assert!(last < 0.02, "{last}");
}

#[test]
fn a_new_tenant_starts_as_the_others_and_not_at_the_top() {
    let mut world = World::new(remembering(Mechanism::Nash, 10.0), &[("k80", 1, 8)]);
    let old = world.tenant("old", 1.0, &[1.0]);
    world.submit_many(old, 1, 20);
    rounds(&mut world, 500);
    let new = world.tenant("new", 1.0, &[1.0]);
    rounds(&mut world, 1);
    world.submit_many(new, 1, 20);
    rounds(&mut world, 2);
    assert!((factor(&world, new) - 1.0).abs() < 0.05, "{}", factor(&world, new));
}

#[test]
fn groups_count_by_what_all_in_them_used() {
    let mut world = World::new(remembering(Mechanism::MaxMin, 2.0), &[("k80", 1, 12)]);
    let busy_group = world.state.group("busy", 1.0, None);
    let idle_group = world.state.group("idle", 1.0, None);
    let join = |world: &mut World, name: &str, group| {
        let workload = world.tenant(name, 1.0, &[1.0]);
        let tenant = world.state.workloads()[workload.0].tenant;
        world.happen(EventKind::TenantGroup { tenant, group });
        workload
    };
    let worker = join(&mut world, "worker", busy_group);
    let sleeper = join(&mut world, "sleeper", busy_group);
    let other = join(&mut world, "other", idle_group);
    world.submit_many(worker, 1, 30);
    rounds(&mut world, 500);
    for w in [sleeper, other] {
        world.submit_many(w, 1, 30);
    }
    rounds(&mut world, 2);
    // The idle group counts 2 beside 1/2; in the busy group the sleeper counts four times its sibling.
    let all = [worker, sleeper, other].map(|w| gpus(&world, w));
    for (had, expected) in all.iter().zip([0.48, 1.92, 9.6]) {
        assert!((had - expected).abs() < 0.02, "{all:?}");
    }
}

#[test]
fn no_gpus_and_a_suspension_stop_the_clock() {
    let mut world = World::new(remembering(Mechanism::MaxMin, 1.0), &[("k80", 1, 4)]);
    let one = world.tenant("one", 1.0, &[1.0]);
    world.tenant("two", 1.0, &[1.0]);
    world.submit_many(one, 1, 4);
    rounds(&mut world, 30);
    world.happen(EventKind::NodeDown { node: "k80-0".into() });
    let before = world.state.past_usage(TenantKey(1));
    rounds(&mut world, 1);
    let counted = world.state.past_usage(TenantKey(1));
    rounds(&mut world, 100);
    assert_eq!(world.state.past_usage(TenantKey(1)), counted);
    assert!(before.is_some() && counted.is_some());
    world.happen(EventKind::NodeUp(NodeSpec {
        name: "k80-0".into(),
        gpu_type: "k80".into(),
        gpus: 4,
    }));
    world.happen(EventKind::Suspend { tenant: TenantKey(1), suspended: true });
    rounds(&mut world, 50);
    let usage = |past: Option<PastUsage>| past.map(|past| past.usage);
    assert_eq!(usage(world.state.past_usage(TenantKey(1))), usage(counted));
}

#[test]
fn another_half_life_keeps_the_usage_and_off_forgets_it() {
    let mut world = World::new(remembering(Mechanism::MaxMin, 1.0), &[("k80", 1, 4)]);
    let one = world.tenant("one", 1.0, &[1.0]);
    world.tenant("two", 1.0, &[1.0]);
    world.submit_many(one, 1, 4);
    rounds(&mut world, 30);
    let usage = |world: &World| world.state.past_usage(TenantKey(0)).map(|past| past.usage);
    let before = usage(&world).expect("it is remembered");
    world.state.set_settings(remembering(Mechanism::MaxMin, 7.0));
    assert!((usage(&world).expect("still") - before).abs() < 1e-12);
    world.state.set_settings(Settings::default());
    assert_eq!(usage(&world), None);
    world.state.set_settings(remembering(Mechanism::MaxMin, 7.0));
    rounds(&mut world, 1);
    assert!((usage(&world).expect("again") - 1.0).abs() < 0.01);
}
