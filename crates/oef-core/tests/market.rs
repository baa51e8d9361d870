//! `nash` on many random problems of every family, with demands, weights and ties: how many answers are
//! proven to be equilibria, and what the certificate says of them.
//!
//! `OEF_LONG=1` makes it 10,000 problems; `OEF_SEED=i` only the `i`th.

#![allow(clippy::print_stdout, reason = "a long run tells what it counted")]
#![allow(clippy::disallowed_methods, reason = "a test is asked for more or less from outside")]

mod common;

use oef_core::{Mechanism, Options, ProblemSpec, Status, audit, solve};
use oef_oracle::families::{Family, Size, problem};
use oef_oracle::problem_file;

/// A small generator with a fixed stream.
struct Dice(u64);

impl Dice {
    fn real(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, n: usize) -> usize {
        (self.real() * n as f64) as usize
    }
}

/// A problem of some family; half of its tenants have a demand, from a small part of an equal split to more
/// than there is of use, some of them just what an equal split is.
fn market(seed: u64) -> (Family, ProblemSpec) {
    let mut dice = Dice(seed);
    let family = Family::ALL[seed as usize % Family::ALL.len()];
    let size =
        [Size { rows: 30, types: 9 }, Size { rows: 8, types: 9 }, Size { rows: 4, types: 9 }];
    let mut spec = problem(family, size[dice.below(3)], seed);
    let gpus: f64 = spec.gpus.iter().map(|g| g.count).sum();
    if dice.below(2) == 0 {
        spec.tenants
            .iter_mut()
            .for_each(|t| t.weight = [1.0, 2.0, 0.5 + dice.real()][dice.below(3)]);
    }
    let weight: f64 = spec.tenants.iter().map(|t| t.weight).sum();
    for tenant in &mut spec.tenants {
        let split = gpus * tenant.weight / weight;
        if dice.below(2) == 0 {
            tenant.demand = Some(match dice.below(5) {
                0 => split,
                1 => (1 + dice.below(4)) as f64,
                2 => split * 0.1 * 30_f64.powf(dice.real()),
                _ => split * (0.3 + 0.9 * dice.real()),
            });
        }
    }
    (family, spec)
}

#[test]
fn nearly_every_market_has_an_equilibrium_that_is_found() {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let count = if std::env::var("OEF_LONG").is_ok() { 10_000 } else { 1_000 };
    let count = number("OEF_COUNT").unwrap_or(count);
    let seeds = number("OEF_SEED").map_or(0..count, |seed| seed..seed + 1);
    let mut unproven = Vec::new();
    let mut failed = Vec::new();
    let mut steps = Vec::new();
    let mut worst = 0.0_f64;
    for seed in seeds {
        let (family, spec) = market(seed);
        let problem = spec.validate().expect("a valid problem");
        let outcome = solve(&problem, Mechanism::Nash, &Options::default()).expect("an answer");
        steps.push(outcome.solver.iterations);
        let certificate = audit(&problem, &outcome);
        let worth = [
            certificate.envy_free.worst,
            1.0 - certificate.sharing_incentive.worst,
            certificate.pareto_efficient.bound,
        ];
        if outcome.solver.status == Status::Feasible {
            unproven.push((seed, family, outcome.solver.gap, worth));
        } else {
            let most = worth.into_iter().fold(0.0, f64::max);
            worst = worst.max(most);
            if most > 1e-6 {
                failed.push((seed, family, worth, problem_file(&spec)));
            }
        }
    }
    steps.sort_unstable();
    println!(
        "{} problems, {} not proven, {} proven that fail, the worst of the others {worst:e}, steps {} (median) {} (most)",
        steps.len(),
        unproven.len(),
        failed.len(),
        steps[steps.len() / 2],
        steps[steps.len() - 1]
    );
    for item in unproven.iter().take(60) {
        println!("{item:?}");
    }
    for item in failed.iter().take(10) {
        println!("FAILED {:?} {:?} {:?}", item.0, item.1, item.2);
    }
}
