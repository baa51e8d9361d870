//! Groups: one weight for all that stand in it, whoever of them is there.

use super::dice::Dice;
use super::world::World;
use crate::*;
use oef_core::Mechanism;
use proptest::prelude::*;

/// Sixteen GPUs of two types.
fn world(mechanism: Mechanism) -> World {
    let settings = Settings { mechanism, ..Settings::default() };
    World::new(settings, &[("k80", 2, 4), ("v100", 2, 4)])
}

/// A tenant in a group with so many jobs of one GPU.
fn join(
    world: &mut World,
    name: &str,
    weight: f64,
    group: Option<GroupKey>,
    jobs: u32,
) -> WorkloadKey {
    let workload = world.tenant(name, weight, &[1.0, 2.0]);
    let tenant = world.state.workloads()[workload.0].tenant;
    world.happen(EventKind::TenantGroup { tenant, group });
    world.submit_many(workload, 1, jobs);
    workload
}

fn gpus(world: &World, workload: WorkloadKey) -> f64 {
    let workload = &world.state.workloads()[workload.0];
    workload.share_on(0) + workload.share_on(1)
}

/// What a share does for its workload.
fn speed(world: &World, workload: WorkloadKey) -> f64 {
    let workload = &world.state.workloads()[workload.0];
    workload.share_on(0) + 2.0 * workload.share_on(1)
}

fn effective(world: &World, workload: WorkloadKey) -> Option<f64> {
    let tenant = world.state.workloads()[workload.0].tenant;
    world.state.tenants()[tenant.0].effective_weight()
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * (1.0 + b.abs())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_group_counts_as_one_tenant_of_its_weight(
        weight in 0.2..5.0f64, first in 0.2..5.0f64, second in 0.2..5.0f64, which in 0usize..8
    ) {
        let mut world = world(Mechanism::ALL[which]);
        prop_assume!(Mechanism::ALL[which] != Mechanism::Efficiency);
        let group = world.state.group("g", weight, None);
        let one = join(&mut world, "one", first, group, 20);
        let two = join(&mut world, "two", second, group, 20);
        let alone = join(&mut world, "alone", weight, None, 20);
        world.tick();
        let together = speed(&world, one) + speed(&world, two);
        prop_assert!(near(together, 12.0) && near(speed(&world, alone), 12.0), "{together}");
        prop_assert!(near(speed(&world, one) * second, speed(&world, two) * first));
    }

    #[test]
    fn who_is_away_leaves_its_part_to_its_siblings(seed: u64) {
        let dice = &mut Dice(seed);
        let mut world = world(Mechanism::MaxMin);
        // A random forest of groups, three deep at most, and tenants anywhere.
        let mut groups: Vec<(GroupKey, u32)> = Vec::new();
        for g in 0..dice.between(2, 6) {
            let inside = groups.iter().copied().filter(|&(_, depth)| depth < 3).collect::<Vec<_>>();
            let parent = (!inside.is_empty() && dice.chance(0.6)).then(|| dice.one_of(&inside));
            let key = world.state.group(&format!("g{g}"), 0.5 + dice.real(), parent.map(|p| p.0));
            groups.push((key.expect("the parent is there"), parent.map_or(1, |p| p.1 + 1)));
        }
        let mut all = Vec::new();
        for t in 0..dice.between(2, 9) {
            let group = dice.chance(0.8).then(|| dice.one_of(&groups).0);
            let workload = join(&mut world, &format!("t{t}"), 0.5 + dice.real(), group, 30);
            all.push(workload);
        }
        world.tick();
        let top = |world: &World, w: WorkloadKey| {
            let tenant = world.state.workloads()[w.0].tenant;
            let mut at = world.state.tenants()[tenant.0].group();
            let mut top = None;
            while let Some(group) = at {
                (top, at) = (Some(group), world.state.groups()[group.0].parent);
            }
            top
        };
        let sums = |world: &World| {
            let mut sums = vec![0.0; groups.len()];
            for &w in &all {
                if let (Some(group), Some(weight)) = (top(world, w), effective(world, w)) {
                    sums[group.0] += weight;
                }
            }
            sums
        };
        let whole = |world: &World, sums: &[f64]| {
            sums.iter().enumerate().all(|(g, &sum)| sum == 0.0 || near(sum, world.state.groups()[g].weight))
        };
        let before = sums(&world);
        prop_assert!(whole(&world, &before), "{before:?}");
        // One leaves: all other groups count as before, and so does its own while anybody is left.
        let gone = dice.one_of(&all);
        let others: Vec<Option<f64>> = all.iter().map(|&w| effective(&world, w)).collect();
        let tenant = world.state.workloads()[gone.0].tenant;
        world.happen(EventKind::Suspend { tenant, suspended: true });
        world.tick();
        prop_assert!(whole(&world, &sums(&world)));
        prop_assert_eq!(effective(&world, gone), None);
        for (&w, before) in all.iter().zip(others) {
            let stays = w != gone && (top(&world, w).is_none() || top(&world, w) != top(&world, gone));
            if stays {
                let now = effective(&world, w).zip(before);
                prop_assert!(now.is_some_and(|(now, before)| near(now, before)), "{now:?}");
            }
        }
    }
}

#[test]
fn what_a_member_cannot_use_goes_to_its_siblings_first() {
    let mut world = world(Mechanism::MaxMin);
    let group = world.state.group("g", 1.0, None);
    let little = join(&mut world, "little", 1.0, group, 1);
    let much = join(&mut world, "much", 1.0, group, 30);
    let alone = join(&mut world, "alone", 1.0, None, 30);
    world.tick();
    let shares = [little, much, alone].map(|w| gpus(&world, w));
    assert!(near(shares[0], 1.0) && near(shares[1], 7.0) && near(shares[2], 8.0), "{shares:?}");
    // It wants more: nobody outside of its group feels it.
    world.submit_many(little, 1, 30);
    world.tick();
    let shares = [little, much, alone].map(|w| gpus(&world, w));
    assert!(near(shares[0], 4.0) && near(shares[1], 4.0) && near(shares[2], 8.0), "{shares:?}");
}

#[test]
fn weights_are_divided_three_deep() {
    let mut world = world(Mechanism::MaxMin);
    let company = world.state.group("company", 3.0, None);
    let lab = world.state.group("lab", 2.0, company);
    let team = world.state.group("team", 1.0, lab);
    let single = join(&mut world, "single", 1.0, None, 30);
    let sales = join(&mut world, "sales", 1.0, company, 30);
    let prof = join(&mut world, "prof", 3.0, lab, 30);
    let [ann, bob] = ["ann", "bob"].map(|name| join(&mut world, name, 1.0, team, 30));
    world.tick();
    let all = [single, sales, prof, ann, bob];
    let counted = all.map(|w| effective(&world, w).unwrap_or(0.0));
    let expected = [1.0, 1.0, 1.5, 0.25, 0.25];
    assert!(counted.iter().zip(expected).all(|(&a, b)| near(a, b)), "{counted:?}");
    let shares = all.map(|w| gpus(&world, w));
    assert!(shares.iter().zip(expected).all(|(&a, b)| near(a, 4.0 * b)), "{shares:?}");
    // The whole of a group moves, with its weight.
    world.happen(EventKind::GroupParent { group: GroupKey(1), parent: None });
    world.happen(EventKind::GroupWeight { group: GroupKey(1), weight: 4.0 });
    world.tick();
    let counted = all.map(|w| effective(&world, w).unwrap_or(0.0));
    let expected = [1.0, 3.0, 3.0, 0.5, 0.5];
    assert!(counted.iter().zip(expected).all(|(&a, b)| near(a, b)), "{counted:?}");
}

#[test]
fn a_group_cannot_stand_in_itself() {
    let mut world = world(Mechanism::MaxMin);
    let outer = world.state.group("outer", 1.0, None);
    let inner = world.state.group("inner", 1.0, outer);
    assert_eq!(world.state.group("outer", 5.0, inner), outer, "it is found by its name");
    assert_eq!(world.state.group("other", 1.0, Some(GroupKey(9))), None);
    for parent in [outer, inner] {
        let actions = world.happen(EventKind::GroupParent { group: GroupKey(0), parent });
        let Some(refusal) = &world.refused else { panic!("{actions:?}") };
        assert!(refusal.to_string().starts_with("group `outer` cannot stand in `"), "{refusal}");
    }
}
