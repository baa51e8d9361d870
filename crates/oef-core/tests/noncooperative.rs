//! The theorems of `noncooperative`.

mod common;

use common::{holds, near, seeds, shares, valid};
use oef_core::Mechanism::Noncooperative;
use oef_core::{ProblemSpec, WorkloadId};
use oef_oracle::families::{Family, Size, problems};
use oef_oracle::{Random, check, plain};
use proptest::prelude::*;

/// Families with every entry positive, where the plain program is the whole answer.
const POSITIVE: &[Family] = &Family::POSITIVE;
/// The same without the huge range, where a relative slack of 1e-9 is worth a thousand GPUs to another.
const TAME: &[Family] =
    &[Family::Ordered, Family::General, Family::Tied, Family::Weighted, Family::MultiWorkload];
const ORDERED: &[Family] = &[Family::Ordered];
const LARGE: Size = Size { rows: 120, types: 10 };

proptest! {
    #![proptest_config(common::cases(96))]

    #[test]
    fn noncooperative_equalises(spec in problems(POSITIVE, LARGE)) {
        let (problem, shares) = shares(&spec, Noncooperative);
        let level = |(l, w): (usize, &oef_core::problem::Workload)| {
            shares.workload_throughput(&problem, WorkloadId(l)) / w.weight
        };
        let levels: Vec<f64> = problem.workloads().iter().enumerate().map(level).collect();
        for level in &levels {
            holds(near(*level, levels[0], 1e-9), &spec, || format!("levels differ: {levels:?}"));
        }
    }

    #[test]
    fn noncooperative_is_pareto_efficient(spec in problems(TAME, Size::SMALL)) {
        let (problem, shares) = shares(&spec, Noncooperative);
        let gain = check::pareto_gain(&problem, &shares, 1e-10);
        holds(gain < 1e-6, &spec, || format!("{gain} more is possible"));
    }

    #[test]
    fn noncooperative_reaches_the_highest_level(spec in problems(POSITIVE, Size::MIDDLE)) {
        let (problem, shares) = shares(&spec, Noncooperative);
        let own = shares.workload_throughput(&problem, WorkloadId(0)) / problem.workloads()[0].weight;
        if let Some(level) = plain::noncooperative_level(&problem) {
            holds(near(own, level, 1e-7), &spec, || format!("{own} instead of {level}"));
        }
    }

    #[test]
    fn over_reporting_never_pays(spec in problems(TAME, Size::MIDDLE), seed in seeds()) {
        let liar = Random::new(seed).between(0, spec.tenants.len() - 1);
        let gains = gains_of_over_reporting(&spec, &[liar], seed);
        holds(gains[0] <= 1e-7, &spec, || format!("tenant {liar} gains {} (seed {seed})", gains[0]));
    }

    #[test]
    fn over_reporting_never_pays_a_whole_coalition(spec in problems(TAME, Size::MIDDLE), seed in seeds()) {
        let mut random = Random::new(seed);
        let size = random.between(1, spec.tenants.len());
        let coalition = random.order(spec.tenants.len())[..size].to_vec();
        let gains = gains_of_over_reporting(&spec, &coalition, seed);
        let least = gains.iter().copied().fold(f64::INFINITY, f64::min);
        holds(least <= 1e-7, &spec, || format!("all of {coalition:?} gain {gains:?} (seed {seed})"));
    }

    #[test]
    fn noncooperative_takes_adjacent_types_if_ratios_are_ordered(spec in problems(ORDERED, LARGE)) {
        let (problem, outcome) = common::outcome(&spec, Noncooperative);
        let found = oef_core::audit(&problem, &outcome).adjacent;
        holds(found.holds, &spec, || format!("{found:?}"));
    }

    #[test]
    fn noncooperative_has_at_most_n_plus_k_minus_1_non_zeros(spec in problems(POSITIVE, LARGE)) {
        let (problem, shares) = shares(&spec, Noncooperative);
        let found = check::non_zeros(&problem, &shares);
        let bound = problem.workloads().len() + problem.types().len() - 1;
        holds(found <= bound, &spec, || format!("{found} non-zeros, and {bound} are enough"));
    }
}

/// What each liar truly gains, relative to what honesty gives it, if all of them report more than the
/// truth on some types at once.
fn gains_of_over_reporting(spec: &ProblemSpec, liars: &[usize], seed: u64) -> Vec<f64> {
    let mut honest = spec.clone();
    // The reference stays what it is, or the lie would change what everybody is measured in.
    honest.reference = Some(valid(spec).types()[valid(spec).reference().index()].name.clone());
    let reference = honest.reference.clone().unwrap();
    let mut lied = honest.clone();
    let mut random = Random::new(seed ^ 0x5eed);
    for &liar in liars {
        for workload in &mut lied.tenants[liar].workloads {
            for (gpu, throughput) in &mut workload.throughput {
                if *gpu != reference && random.one_in(2) {
                    *throughput *= 1.0 + random.between(1, 32) as f64 / 16.0;
                }
            }
        }
    }
    let (truth, before) = shares(&honest, Noncooperative);
    let (_, after) = shares(&lied, Noncooperative);
    let true_value = |shares: &oef_core::Shares, t| shares.throughput(&truth, t);
    let gain = |t| true_value(&after, t) / true_value(&before, t) - 1.0;
    liars.iter().map(|&l| gain(oef_core::TenantId(l))).collect()
}
