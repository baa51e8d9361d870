//! A good start changes nothing.

use super::*;
use crate::ProblemSpec;
use crate::instance::{Alike, LastOrder};
use proptest::prelude::*;
use std::cell::Cell;

/// Numbers between 0 and 1 from a seed.
fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state ^ (state >> 29)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A cluster as it lives: a few programs that run in gangs of several sizes, types of very different number, tenants who want
/// a little or very much, some of them without end.
fn cluster(n: usize, k: usize, seed: u64) -> Instance {
    let mut next = numbers(seed);
    let counts: Vec<f64> = (0..k).map(|_| (4.0 + 400.0 * next().powi(3)).round()).collect();
    let models: Vec<Vec<f64>> = (0..1 + n / 8)
        .map(|_| {
            let steep = next();
            let speed = |j: usize, u: f64| (1.0 + steep * j as f64) * (0.7 + 0.6 * u);
            (0..k).map(|j| if next() < 0.05 { 0.0 } else { speed(j, next()) }).collect()
        })
        .collect();
    let (mut rows, mut wants) = (Vec::new(), Vec::new());
    for _ in 0..n {
        let model = &models[(next() * models.len() as f64) as usize];
        let gang = [1.0, 1.0, 0.9, 0.8][(next() * 4.0) as usize];
        rows.push(model.iter().map(|w| w.max(1e-3) * gang).collect::<Vec<f64>>());
        let fair = counts.iter().sum::<f64>() / n as f64;
        let weight = [1.0, 1.0, 2.5][(next() * 3.0) as usize];
        let demand = (fair * (3.0 * next()).exp2() * next()).max(0.01);
        wants.push((weight, (next() > 0.05).then_some(demand)));
    }
    let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
    let mut spec = ProblemSpec::from_matrix(&counts, &rows);
    for (tenant, (weight, demand)) in spec.tenants.iter_mut().zip(wants) {
        (tenant.weight, tenant.demand) = (weight, demand);
    }
    Instance::new(&spec.validate().unwrap(), None, Alike::Equal, &mut LastOrder::default())
}

/// Throughput over target.
fn levels(instance: &Instance, target: &[f64], x: &[f64]) -> Vec<f64> {
    let k = instance.width();
    let own = |l: usize| crate::shares::dot(instance.profile(l), &x[l * k..][..k]) / target[l];
    (0..instance.rows()).map(own).collect()
}

/// The least level of somebody who could use more, and the most that anybody can have.
fn first(instance: &Instance, target: &[f64], levels: &[f64]) -> (f64, f64) {
    let most = |l: usize| {
        let fastest = instance.profile(l).iter().copied().fold(0.0, f64::max);
        instance.demand[l] * fastest / target[l]
    };
    let rows = 0..instance.rows();
    let wants_more = rows.clone().filter(|&l| levels[l] < most(l) * (1.0 - 1e-9));
    (wants_more.map(|l| levels[l]).fold(INF, f64::min), rows.map(most).fold(0.0, f64::max))
}

/// The shares, and their gap.
fn from_nothing(instance: &Instance, target: &[f64]) -> (Vec<f64>, f64) {
    let polytope = Polytope::new(instance);
    let wanted: Vec<Level> = (0..instance.rows()).map(|l| polytope.level(l, target[l])).collect();
    let (simplex, gap) =
        leximin(Simplex::scaling(polytope.program.clone()), &wanted, &|| false).unwrap();
    (polytope.shares(&simplex), gap)
}

/// Every round starts near its end: without that each row is moved several times, and from nothing ten to twenty times.
#[test]
fn a_cluster_that_fills_up_takes_few_pivots() {
    // Nobody can use more than this part of an equal split: from mostly idle to all in use.
    for (part, pivots_per_row) in [(0.3, 1.0), (0.6, 1.5), (1.0, 1.5), (INF, 3.0)] {
        let (mut rows, mut pivots) = (0, [0, 0]);
        for seed in 1..=6 {
            let mut instance = cluster(150, 3 + seed as usize, seed);
            let fair = instance.capacity.iter().sum::<f64>() / instance.rows() as f64;
            instance.demand.iter_mut().for_each(|demand| *demand = demand.min(fair * part));
            rows += instance.rows();
            let targets = [instance.weight.clone(), instance.equal_splits()];
            for (target, pivots) in targets.iter().zip(&mut pivots) {
                let found = lexicographic(&instance, target, &|| false).unwrap();
                assert!(found.gap <= OPTIMALITY_TOLERANCE, "gap {}", found.gap);
                *pivots += found.pivots;
            }
        }
        let most = rows as f64 * pivots_per_row;
        let few = pivots.iter().all(|&pivots| pivots as f64 <= most);
        assert!(few, "part {part}: {pivots:?} pivots for {rows} rows");
    }
}

/// Solves with a stop at the first question, at the second, and so on, as long as it is heard.
fn stopped_everywhere(
    solve: impl Fn(&dyn Fn() -> bool) -> Result<Allocation, LpError>,
    mut see: impl FnMut(Allocation),
) -> [usize; 2] {
    let mut seen = [0; 2];
    for calls in 0.. {
        let (asked, heard) = (Cell::new(0), Cell::new(false));
        let stop = || {
            heard.set(heard.get() || asked.get() >= calls);
            asked.replace(asked.get() + 1) >= calls
        };
        let found = solve(&stop);
        if !heard.get() {
            return seen;
        }
        match found {
            Ok(found) => {
                seen[1] += 1;
                see(found);
            }
            Err(error) => {
                assert_eq!(error, LpError::Stopped);
                seen[0] += 1;
            }
        }
    }
    seen
}

fn assert_feasible(instance: &Instance, x: &[f64]) {
    let k = instance.width();
    for (j, capacity) in instance.capacity.iter().enumerate() {
        assert!(x.iter().skip(j).step_by(k).sum::<f64>() <= capacity * (1.0 + 1e-9), "type {j}");
    }
    for (l, demand) in instance.demand.iter().enumerate() {
        assert!(x[l * k..][..k].iter().sum::<f64>() <= demand * (1.0 + 1e-9), "row {l}");
    }
}

#[test]
fn levels_that_were_reached_before_a_stop_stand() {
    let mut kept = 0;
    for seed in 1..=4 {
        let instance = cluster(60, 4, seed);
        let target = instance.weight.clone();
        let best = lexicographic(&instance, &target, &|| false).unwrap();
        let best = levels(&instance, &target, &best.x);
        let (least, _) = first(&instance, &target, &best);
        let solve = |stop: &dyn Fn() -> bool| lexicographic(&instance, &target, stop);
        kept += stopped_everywhere(solve, |found| {
            assert_feasible(&instance, &found.x);
            assert!(found.gap <= 1.0 && !(found.method == STOPPED && found.canonical));
            for (own, best) in levels(&instance, &target, &found.x).iter().zip(&best) {
                assert!(*own >= best.min(least) * (1.0 - 1e-9), "{own}, {least} of {best}");
            }
        })[1];
    }
    assert!(kept > 8, "{kept} stops left an answer");
}

#[test]
fn a_total_that_was_stopped_is_feasible_and_its_gap_is_true() {
    let mut kept = [0; 2];
    for (seed, floors) in (1..=4).flat_map(|seed| [(seed, false), (seed, true)]) {
        let instance = cluster(60, 4, seed);
        let sum = |x: &[f64]| crate::shares::dot(&instance.speedup, x);
        let best = sum(&total(&instance, floors, &|| false).unwrap().x);
        let solve = |stop: &dyn Fn() -> bool| total(&instance, floors, stop);
        kept[usize::from(floors)] += stopped_everywhere(solve, |found| {
            assert_feasible(&instance, &found.x);
            let total = sum(&found.x);
            assert!(total >= best * (1.0 - found.gap) * (1.0 - 1e-9), "{total} of {best}");
        })[1];
    }
    assert!(kept[0] > 8 && kept[1] > 4, "{kept:?} stops left an answer");
}

/// Of a thousand problems one is not proven, by one way or the other: a row that hardly matters to the others (a dual of 4e-8)
/// multiplies the rounding of its round.
const NOT_PROVEN_MAX: u32 = 3;

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, max_global_rejects: NOT_PROVEN_MAX, ..ProptestConfig::default() })]

    #[test]
    fn the_start_changes_nothing(seed: u64, n in 2..60_usize, k in 1..7_usize, split: bool) {
        let instance = cluster(n, k, seed);
        let target = if split { instance.equal_splits() } else { instance.weight.clone() };
        let found = lexicographic(&instance, &target, &|| false).unwrap();
        let (plain, gap) = from_nothing(&instance, &target);
        prop_assume!(found.gap.max(gap) <= OPTIMALITY_TOLERANCE);
        let (own, plain) =
            (levels(&instance, &target, &found.x), levels(&instance, &target, &plain));
        let all: f64 = target.iter().sum();
        for ((a, b), target) in own.iter().zip(&plain).zip(&target) {
            // A gap is what is missing times the part of all targets that misses it.
            let open = (found.gap + gap) * all / target;
            prop_assert!((a - b).abs() <= (1e-9 + open) * b, "{a}, not {b}; open {open}");
        }
        let (first, most) = first(&instance, &target, &own);
        let wanted: Vec<(usize, f64)> = target.iter().copied().enumerate().collect();
        let level = outset(&instance, &instance.capacity, &wanted, &|| false).level;
        let first = first.min(most);
        prop_assert!(level >= first * (1.0 - 1e-9), "{level} is no bound of {first}");
        prop_assert!(level <= first * 1.1, "{level} is far above {first}");
    }
}
