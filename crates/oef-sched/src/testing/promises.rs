//! Guarantees and limits by gpu type, of tenants and groups.

use super::dice::Dice;
use super::scenario::{Turmoil, WILD, live_on, settings, world};
use super::world::{World, held_on};
use crate::*;
use oef_core::Mechanism;
use proptest::prelude::*;

/// Somebody is given guarantees and limits, or none.
pub(crate) fn promise(world: &mut World, dice: &mut Dice) {
    let types = world.state.cluster().types().to_vec();
    let mut draw = |chance: f64, most: u32| {
        let some = types.iter().filter(|_| dice.chance(chance)).cloned().collect::<Vec<_>>();
        some.into_iter().map(|name| (name, dice.between(0, most))).collect()
    };
    let promises = Promises { guarantee: draw(0.5, 4), limit: draw(0.5, 6) };
    match dice.below(6) {
        n if n < 4 => {
            let tenant = TenantKey(dice.below(world.state.tenants().len()));
            world.happen(EventKind::TenantPromises { tenant, promises });
        }
        n => {
            world.happen(EventKind::GroupPromises { group: GroupKey(n - 4), promises });
        }
    }
}

fn promises(guarantee: &[(&str, u32)], limit: &[(&str, u32)]) -> Promises {
    let map = |of: &[(&str, u32)]| of.iter().map(|&(name, n)| (name.into(), n)).collect();
    Promises { guarantee: map(guarantee), limit: map(limit) }
}

fn set(world: &mut World, tenant: usize, guarantee: &[(&str, u32)], limit: &[(&str, u32)]) {
    let promises = promises(guarantee, limit);
    world.happen(EventKind::TenantPromises { tenant: TenantKey(tenant), promises });
}

fn promised_life(seed: u64, paper: bool) {
    let dice = &mut Dice(seed);
    let mut settings = settings(dice);
    if paper {
        settings.rounding = RoundingRule::Paper;
    }
    let mut world = world(dice, settings, 5);
    for _ in 0..120 {
        live_on(&mut world, dice, WILD);
        if dice.chance(0.15) {
            promise(&mut world, dice);
        }
    }
}

/// A job that was protected, and beyond a limit by gpu type, was no candidate for another type: it waited beside idle GPUs.
#[test]
fn nothing_is_idle_beside_a_job_that_is_beyond_a_limit_by_type() {
    promised_life(11_158_084_515_378_854_900, false);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// The checker of the world looks at every start, every invariant and at what is idle in vain.
    #[test]
    fn no_limit_by_type_is_exceeded_in_any_life(seed: u64, paper: bool) {
        promised_life(seed, paper);
    }

    #[test]
    fn who_has_jobs_has_its_guarantee_when_the_next_round_has_begun(seed: u64) {
        let dice = &mut Dice(seed);
        let turmoil = Turmoil { changes: false, restricted: false, ..WILD };
        let settings = settings(dice);
        let mut world = world(dice, settings, 4);
        for _ in 0..dice.between(20, 120) {
            live_on(&mut world, dice, turmoil);
        }
        let guaranteed = TenantKey(dice.below(4));
        let gpu = dice.below(world.state.cluster().types().len());
        let name = world.state.cluster().types()[gpu].clone();
        let workload = world.state.workloads().iter().position(|w| {
            w.tenant == guaranteed && w.profile.on(gpu) > 0.0 && w.gang_of().is_none()
        });
        let capacity = world.state.cluster().capacity()[gpu];
        prop_assume!(workload.is_some() && capacity > 0);
        let gpus = dice.between(1, capacity);
        set(&mut world, guaranteed.0, &[(&name, gpus)], &[]);
        for _ in 0..gpus {
            let mut spec = world.spec(WorkloadKey(workload.unwrap_or(0)), 1);
            spec.types = Some(vec![name.clone()]);
            world.submit_spec(spec);
        }
        while !world.stopping.is_empty() {
            world.answer(0);
        }
        world.tick();
        while !world.stopping.is_empty() {
            world.answer(0);
        }
        let held = held_on(&world.state, guaranteed, &name);
        // An operator let these end on nodes that close, whatever the guarantees.
        let state = &world.state;
        let finish = (0..4).map(TenantKey).filter(|&t| t != guaranteed).flat_map(|t| {
            state.placed_of(t).filter(|&slot| state.is_finishing(slot)).collect::<Vec<_>>()
        });
        let finish = finish.flat_map(|slot| state.target(slot).map_or(&[][..], |l| &l.gpus));
        let cluster = state.cluster();
        let kept = finish.filter(|&&g| cluster.counts(g) && cluster.type_of(g).0 == gpu).count();
        let left = cluster.capacity()[gpu] - kept as u32;
        prop_assert!(held >= gpus.min(left), "{held} of {gpus} guaranteed, {left} can be had");
    }
}

/// A job that was just started, and protected, on a type that its tenant may no longer have: it moves to another.
#[test]
fn who_is_beyond_a_limit_by_type_moves_to_where_there_is_room() {
    let mut world = four_and_four();
    let a = world.tenant("a", 1.0, &[1.0, 2.0]);
    let job = world.submit(a, 1);
    world.tick();
    assert_eq!(world.runs_on(job), "v100");
    set(&mut world, 0, &[], &[("v100", 0)]);
    let actions = world.tick();
    assert_eq!(world.runs_on(job), "k80", "{actions:?}");
    assert!(matches!(actions[..], [Action::Migrate { .. }, ..]), "{actions:?}");
}

fn four_and_four() -> World {
    let round = Span::from_seconds(300.0);
    let settings =
        Settings { mechanism: Mechanism::MaxMin, min_run: round.times(10), ..Settings::default() };
    World::new(settings, &[("k80", 1, 4), ("v100", 1, 4)])
}

fn held(world: &World, tenant: usize) -> [u32; 2] {
    ["k80", "v100"].map(|name| held_on(&world.state, TenantKey(tenant), name))
}

#[test]
fn a_guarantee_is_lent_out_while_unused_and_taken_back_within_a_round() {
    let mut world = four_and_four();
    let a = world.tenant("a", 1.0, &[1.0, 2.0]);
    let b = world.tenant("b", 100.0, &[1.0, 2.0]);
    set(&mut world, 0, &[("v100", 3)], &[]);
    world.submit_many(b, 1, 8);
    world.tick();
    assert_eq!(held(&world, 1), [4, 4], "nobody else wants them");
    // Every job of b is within its minimum run time, and b is owed nearly everything.
    world.submit_many(a, 1, 5);
    world.tick();
    assert_eq!(held(&world, 0), [0, 3], "taken back");
    assert_eq!(held(&world, 1), [4, 1]);
    let share = world.state.workloads()[a.0].share_on(1);
    assert!(share >= 3.0, "a guarantee counts in the share: {share}");
    let runs = world.state.jobs().find(|j| j.spec().tenant == TenantKey(0) && j.lease().is_some());
    let said = why(&world.state, runs.expect("one runs").spec().id).expect("known").sentence;
    assert!(said.contains("its tenant is guaranteed these GPUs"), "{said}");
    world.ticks(3);
    assert_eq!(held(&world, 0)[1], 3, "and kept");
}

#[test]
fn who_is_within_its_own_guarantee_is_not_preempted_for_another() {
    let mut world = four_and_four();
    let a = world.tenant("a", 1.0, &[1.0, 2.0]);
    let b = world.tenant("b", 1.0, &[1.0, 2.0]);
    set(&mut world, 0, &[("v100", 2)], &[]);
    set(&mut world, 1, &[("v100", 2)], &[]);
    world.submit_many(b, 1, 8);
    world.tick();
    world.submit_many(a, 1, 8);
    world.tick();
    assert_eq!((held(&world, 0)[1], held(&world, 1)[1]), (2, 2));
}

#[test]
fn guarantees_beyond_what_is_up_are_cut_in_proportion_and_why_says_so() {
    let mut world = World::new(
        Settings { mechanism: Mechanism::MaxMin, ..Settings::default() },
        &[("k80", 2, 4)],
    );
    let a = world.tenant("a", 1.0, &[1.0]);
    let b = world.tenant("b", 1.0, &[1.0]);
    set(&mut world, 0, &[("k80", 6)], &[]);
    set(&mut world, 1, &[("k80", 2)], &[]);
    world.submit_many(a, 1, 8);
    world.submit_many(b, 1, 8);
    world.tick();
    assert_eq!([0, 1].map(|t| held_on(&world.state, TenantKey(t), "k80")), [6, 2]);
    world.happen(EventKind::NodeDown { node: "k80-1".into() });
    world.tick();
    assert_eq!([0, 1].map(|t| held_on(&world.state, TenantKey(t), "k80")), [3, 1]);
    assert_eq!(world.state.entitlement().trouble(), None);
    let said = why_tenant(&world.state, TenantKey(0)).expect("known").promises.join(" ");
    assert!(said.contains("is guaranteed 6 of k80"), "{said}");
    assert!(said.contains("now cut to 3, as more is guaranteed than the 4 of k80"), "{said}");
}

#[test]
fn a_limit_by_type_holds_for_idle_gpus_and_is_named() {
    let mut world = four_and_four();
    let a = world.tenant("a", 1.0, &[1.0, 2.0]);
    set(&mut world, 0, &[], &[("v100", 1), ("k80", 2)]);
    world.submit_many(a, 1, 8);
    let gang = world.submit(a, 4);
    world.ticks(2);
    assert_eq!(held(&world, 0), [2, 1], "the rest stays idle");
    let waits = world.state.jobs().find(|job| job.state() == JobState::Queued);
    let said = |id: JobId| why(&world.state, id).expect("known").sentence;
    let single = said(waits.expect("one waits").spec().id);
    assert!(
        single.contains("its tenant may have 2 of k80 at once, and its other jobs leave too few"),
        "{single}"
    );
    assert!(said(gang).contains("its tenant may have 2 of k80"), "{}", said(gang));
    // A lower limit stops the surplus when the next round begins, whatever their minimum run time.
    set(&mut world, 0, &[], &[("v100", 1), ("k80", 0)]);
    world.tick();
    assert_eq!(held(&world, 0), [0, 1]);
    set(&mut world, 0, &[], &[]);
    assert_eq!(held(&world, 0), [4, 4], "what is idle is handed out at once");
}

#[test]
fn guarantees_and_limits_of_a_group_are_those_of_its_members_together() {
    let mut world = four_and_four();
    let group = world.state.group("lab", 1.0, None).expect("new");
    let a = world.tenant("a", 1.0, &[1.0, 2.0]);
    let b = world.tenant("b", 1.0, &[1.0, 2.0]);
    let c = world.tenant("c", 100.0, &[1.0, 2.0]);
    for tenant in [0, 1] {
        let tenant = TenantKey(tenant);
        world.happen(EventKind::TenantGroup { tenant, group: Some(group) });
    }
    let both = promises(&[("v100", 2)], &[("v100", 2), ("k80", 1)]);
    world.happen(EventKind::GroupPromises { group, promises: both });
    world.submit_many(c, 1, 8);
    world.tick();
    world.submit_many(a, 1, 4);
    world.submit_many(b, 1, 4);
    world.tick();
    assert_eq!((held(&world, 0)[1], held(&world, 1)[1]), (1, 1), "divided by weight");
    for job in world.state.jobs().map(|job| job.spec().id).collect::<Vec<_>>() {
        if world.state.job(job).is_some_and(|job| job.spec().workload == c) {
            world.happen(EventKind::Cancelled { job });
        }
    }
    world.ticks(2);
    let sum = |j: usize| held(&world, 0)[j] + held(&world, 1)[j];
    assert_eq!([sum(0), sum(1)], [1, 2], "the limits of the group");
}
