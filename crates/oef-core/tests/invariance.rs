//! What must not change an answer: names, orders, units, and how weight is written down.

mod common;

use common::{by_name, holds, mechanisms, named_shares, near, seeds, valid};
use oef_core::{Mechanism, ProblemSpec, TenantSpec};
use oef_oracle::Random;
use oef_oracle::families::{Family, Size, problems, settle};
use proptest::prelude::*;

const ALL: &[Family] = &Family::ALL;
const FREE: &[Family] = &Family::WITHOUT_DEMAND;
const SIZE: Size = Size { rows: 12, types: 5 };

proptest! {
    #![proptest_config(common::cases(64))]

    #[test]
    fn weights_equal_replication(spec in problems(FREE, SIZE), seed in seeds()) {
        let mut random = Random::new(seed);
        let (mut weighted, mut replicated) = (spec.clone(), spec.clone());
        replicated.tenants.clear();
        for tenant in &mut weighted.tenants {
            let copies = random.between(1, 3);
            for copy in 1..=copies {
                let name = format!("{}#{copy}", tenant.name);
                replicated.tenants.push(TenantSpec { name, ..tenant.clone() });
            }
            tenant.weight *= copies as f64;
        }
        settle(&mut weighted);
        replicated.reference = weighted.reference.clone();
        same_sums(&weighted, &replicated);
    }

    #[test]
    fn merging_equal_profiles_changes_nothing(spec in problems(FREE, SIZE), seed in seeds()) {
        let mut random = Random::new(seed);
        let mut apart = spec.clone();
        let split = random.between(0, spec.tenants.len() - 1);
        apart.tenants[split].weight *= 0.25;
        let mut twin = apart.tenants[split].clone();
        twin.weight *= 3.0;
        twin.name = format!("{}#2", twin.name);
        let place = random.between(0, apart.tenants.len());
        apart.tenants.insert(place, twin);
        same_sums(&spec, &apart);
    }

    #[test]
    fn permuting_changes_nothing(spec in problems(ALL, SIZE), seed in seeds()) {
        let permuted = permuted(&spec, &mut Random::new(seed));
        for mechanism in mechanisms() {
            let (found, other) = (named_shares(&spec, mechanism), named_shares(&permuted, mechanism));
            holds(found == other, &spec, || {
                let differing = found.iter().zip(&other).find(|(a, b)| a != b);
                format!("{mechanism}: {differing:?} after permuting (seed {seed})")
            });
        }
    }

    #[test]
    fn the_names_of_types_change_nothing(spec in problems(ALL, SIZE), seed in seeds()) {
        // Which type is the reference goes by names where several would do.
        let spec = ProblemSpec::from(&valid(&spec));
        let renamed = renamed(&spec, &Random::new(seed).order(spec.gpus.len()));
        for mechanism in blind_to_names() {
            let (before, after) = (by_name(&spec, mechanism), by_name(&renamed, mechanism));
            same(&spec, mechanism, &before, &after, 1.0);
        }
    }

    #[test]
    fn scaling_counts_scales_shares(spec in problems(ALL, SIZE)) {
        for factor in [2.0, 0.37] {
            let mut scaled = spec.clone();
            scaled.gpus.iter_mut().for_each(|gpu| gpu.count *= factor);
            for tenant in &mut scaled.tenants {
                let own = tenant.workloads.iter_mut().map(|w| &mut w.demand);
                for demand in own.chain([&mut tenant.demand]).flatten() {
                    *demand *= factor;
                }
            }
            for mechanism in mechanisms() {
                let (before, after) = (by_name(&spec, mechanism), by_name(&scaled, mechanism));
                same(&spec, mechanism, &before, &after, factor);
            }
        }
    }

    #[test]
    fn scaling_a_throughput_row_changes_nothing(spec in problems(ALL, SIZE), seed in seeds()) {
        let mut random = Random::new(seed);
        let mut scaled = spec.clone();
        for workload in scaled.tenants.iter_mut().flat_map(|t| &mut t.workloads) {
            let factor = random.pick(&[1.0, 4.0, 0.1, 1000.0]);
            workload.throughput.iter_mut().for_each(|(_, thr)| *thr *= factor);
        }
        for mechanism in mechanisms() {
            let (before, after) = (by_name(&spec, mechanism), by_name(&scaled, mechanism));
            same(&spec, mechanism, &before, &after, 1.0);
        }
    }

    #[test]
    fn equal_tenants_get_equal_throughput(spec in problems(ALL, SIZE), seed in seeds()) {
        let mut random = Random::new(seed);
        let mut spec = spec;
        let original = spec.tenants[random.between(0, spec.tenants.len() - 1)].clone();
        spec.tenants.push(TenantSpec { name: "twin".into(), ..original.clone() });
        settle(&mut spec);
        for mechanism in mechanisms() {
            let found = by_name(&spec, mechanism);
            let of = |name: &str| found.iter().find(|(n, _)| n == name).unwrap().1;
            let (one, other) = (of(&original.name), of("twin"));
            holds(near(one, other, 1e-9), &spec, || {
                format!("{mechanism}: {} has {one}, its twin {other}", original.name)
            });
        }
    }
}

/// Tenants for whom both types are equally fast: which of them they take decides what is used up, and with it what others
/// may have. Under `cooperative` the total was 8.67 with one name and 9.14 with the other.
#[test]
fn of_equally_fast_types_none_is_taken_for_its_name() {
    let rows: [&[f64]; 6] =
        [&[3.0, 2.0], &[0.0, 1.5], &[1.5, 3.0], &[1.5, 1.5], &[1.5, 1.5], &[1.0, 0.0]];
    let mut spec = ProblemSpec::from_matrix(&[3.5, 3.5], &rows);
    let demands = [Some(2.0), Some(0.5), None, Some(1.0), Some(0.5), None];
    spec.tenants.iter_mut().zip(demands).for_each(|(tenant, demand)| tenant.demand = demand);
    spec.reference = Some("g1".into());
    let renamed = renamed(&spec, &[1, 0]);
    for mechanism in blind_to_names() {
        let (before, after) = (by_name(&spec, mechanism), by_name(&renamed, mechanism));
        same(&spec, mechanism, &before, &after, 1.0);
    }
}

/// All but `gandiva-fair`, whose trades go by the names of types where gaps are equal.
fn blind_to_names() -> impl Iterator<Item = Mechanism> {
    mechanisms().into_iter().filter(|mechanism| *mechanism != Mechanism::GandivaFair)
}

/// Tenants, their workloads, types and entries in another order; the names stay.
fn permuted(spec: &ProblemSpec, random: &mut Random) -> ProblemSpec {
    fn shuffle<T: Clone>(items: &mut [T], random: &mut Random) {
        let order = random.order(items.len());
        let moved: Vec<T> = order.into_iter().map(|i| items[i].clone()).collect();
        items.clone_from_slice(&moved);
    }
    let mut permuted = spec.clone();
    shuffle(&mut permuted.gpus, random);
    shuffle(&mut permuted.tenants, random);
    for tenant in &mut permuted.tenants {
        shuffle(&mut tenant.workloads, random);
        for workload in &mut tenant.workloads {
            shuffle(&mut workload.throughput, random);
        }
    }
    permuted
}

/// The same problem, in which the types have each other's names.
fn renamed(spec: &ProblemSpec, order: &[usize]) -> ProblemSpec {
    let names: Vec<&String> = spec.gpus.iter().map(|gpu| &gpu.name).collect();
    let rename = |name: &mut String| {
        let at = names.iter().position(|known| *known == name);
        name.clone_from(names[order[at.expect("a type of the problem")]]);
    };
    let mut renamed = spec.clone();
    renamed.reference.iter_mut().for_each(rename);
    renamed.gpus.iter_mut().for_each(|gpu| rename(&mut gpu.name));
    for workload in renamed.tenants.iter_mut().flat_map(|t| &mut t.workloads) {
        let speeds = workload.throughput.iter_mut().chain(&mut workload.single);
        speeds.for_each(|(name, _)| rename(name));
    }
    renamed
}

/// Every mechanism gives each tenant as much as all its copies (`name#2`) together.
fn same_sums(one: &ProblemSpec, copies: &ProblemSpec) {
    for mechanism in mechanisms() {
        let mut sums: Vec<(String, f64)> =
            by_name(one, mechanism).into_iter().map(|(name, _)| (name, 0.0)).collect();
        for (name, value) in by_name(copies, mechanism) {
            let base = name.split('#').next().unwrap();
            sums.iter_mut().find(|(n, _)| n == base).unwrap().1 += value;
        }
        same(one, mechanism, &by_name(one, mechanism), &sums, 1.0);
    }
}

fn same(
    spec: &ProblemSpec,
    mechanism: Mechanism,
    before: &[(String, f64)],
    after: &[(String, f64)],
    factor: f64,
) {
    for ((name, before), (_, after)) in before.iter().zip(after) {
        holds(near(before * factor, *after, 1e-6), spec, || {
            format!("{mechanism}: {name} has {before}, then {after} (factor {factor})")
        });
    }
}
