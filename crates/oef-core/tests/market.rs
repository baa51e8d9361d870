//! `nash` on many random problems of every family, with demands, weights and ties: how many answers are
//! proven to be equilibria, and what the certificate says of them.
//!
//! `OEF_LONG=1` makes it 10,000 problems; `OEF_SEED=i` only the `i`th.

#![allow(clippy::print_stdout, reason = "a long run tells what it counted")]
#![allow(clippy::disallowed_methods, reason = "a test is asked for more or less from outside")]

mod common;

use common::{matrix, near, outcome, valid};
use oef_core::{Mechanism, Options, Outcome, Problem, ProblemSpec, Status, audit, solve};
use oef_oracle::families::{Family, Size, problem, settle};
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
    settle(&mut spec);
    (family, spec)
}

/// What a certificate measures: envy, what the least favoured lacks of its equal split, and what could be
/// gained at nobody's cost.
fn figures(problem: &Problem, outcome: &Outcome) -> [f64; 3] {
    let certificate = audit(problem, outcome);
    assert!(certificate.capacity.holds && certificate.demand.holds, "{certificate:?}");
    let short = 1.0 - certificate.sharing_incentive.worst;
    [certificate.envy_free.worst, short, certificate.pareto_efficient.bound]
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

#[test]
fn an_equilibrium_is_found_and_has_no_envy_the_sharing_incentive_and_pareto_efficiency() {
    let count = if std::env::var("OEF_LONG").is_ok() { 10_000 } else { 1_000 };
    let seeds = number("OEF_SEED").map_or(0..count, |seed| seed..seed + 1);
    let (mut turned, mut unproven, mut failed) = (0, Vec::new(), Vec::new());
    let (mut most, mut steps) = (0.0_f64, Vec::new());
    for seed in seeds {
        let (family, spec) = market(seed);
        let problem = valid(&spec);
        let outcome = solve(&problem, Mechanism::Nash, &Options::default()).expect("an answer");
        steps.push(outcome.solver.iterations);
        turned += usize::from(outcome.solver.method.contains("turns"));
        let figures = figures(&problem, &outcome);
        let worst = figures.into_iter().fold(0.0, f64::max);
        if outcome.solver.status == Status::Feasible {
            unproven.push((seed, family, outcome.solver.gap, worst));
        } else if worst > 1e-6 {
            failed.push((seed, family, figures, problem_file(&spec)));
        } else {
            most = most.max(worst);
        }
    }
    steps.sort_unstable();
    let (median, longest) = (steps[steps.len() / 2], steps[steps.len() - 1]);
    println!(
        "{} markets: the path turns in {turned}, {} are not proven {unproven:?}; \
         the certificate of the others is within {most:.1e}; {median} steps (median), {longest} (most)",
        steps.len(),
        unproven.len(),
    );
    assert!(failed.is_empty(), "{} fail, the first: {:?}", failed.len(), failed[0]);
    // Measured: none of 10,000.
    assert!(unproven.len() <= 1 + steps.len() / 1_000, "{unproven:?}");
}

/// `"10 10 | 1 2 d2 | 1 2"`: counts, then tenants of weight 1 with speedups and perhaps a demand. Their
/// throughputs.
fn throughputs(text: &str) -> Vec<f64> {
    let mut parts = text.split('|');
    let numbers = |part: &str| -> Vec<f64> {
        part.split_whitespace().filter_map(|word| word.parse().ok()).collect()
    };
    let counts = numbers(parts.next().unwrap());
    let rows: Vec<(Vec<f64>, Option<f64>)> = parts
        .map(|part| (numbers(part), part.split_once('d').map(|(_, d)| d.trim().parse().unwrap())))
        .collect();
    let profiles: Vec<&[f64]> = rows.iter().map(|(row, _)| row.as_slice()).collect();
    let mut spec = matrix(&counts, &profiles);
    for (tenant, (_, demand)) in spec.tenants.iter_mut().zip(&rows) {
        tenant.demand = *demand;
    }
    let (problem, outcome) = outcome(&spec, Mechanism::Nash);
    assert_eq!(outcome.solver.status, Status::Optimal);
    problem.tenant_ids().map(|t| outcome.shares.throughput(&problem, t)).collect()
}

#[track_caller]
fn gives(text: &str, expected: &[f64]) {
    let found = throughputs(text);
    let same = found.iter().zip(expected).all(|(found, right)| near(*found, *right, 1e-9));
    assert!(same, "{text}: {found:?} and not {expected:?}");
}

#[test]
fn who_has_enough_keeps_its_money() {
    gives("10 10 | 1 2 d2 | 1 2 | 1 2", &[4.0, 13.0, 13.0]);
}

#[test]
fn an_income_too_small_for_the_fastest_buys_some_slow_ones_as_well() {
    // Prices 1/4 and 3/4: the first buys 1/4 and 5/4, the second the rest.
    gives("2 2 | 1 2 d1.5 | 1 3", &[2.75, 4.0]);
}

#[test]
fn of_equally_fast_types_the_cheaper_one_is_taken() {
    gives("2 2 | 1 1 d1 | 1 3", &[1.0, 7.0]);
}

#[test]
fn what_nobody_needs_costs_nothing() {
    gives("5 2 | 1 3 d1 | 1 2 d1", &[3.0, 2.0]);
    gives("5 1 | 1 3 d1 | 1 2 d1", &[2.0, 1.5]);
}

#[test]
fn without_demands_it_is_the_market_of_eisenberg_and_gale() {
    gives("1 1 | 1 2 | 1 3 | 1 4", &[1.0, 1.5, 2.0]);
}
