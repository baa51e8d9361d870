//! The theorems of `cooperative`, `nash` and `incentive`: envy, sharing incentive, efficiency.

mod common;

use common::{holds, near, shares};
use oef_core::Mechanism::{self, Cooperative, Efficiency, Gavel, Incentive, MaxMin, Nash};
use oef_core::ProblemSpec;
use oef_oracle::check;
use oef_oracle::families::{Family, Size, problems};
use proptest::prelude::*;

const FREE: &[Family] = &Family::WITHOUT_DEMAND;
/// Those without a demand, and those in which tenants with one workload have one.
const LIMITED: &[Family] = &[
    Family::Ordered,
    Family::General,
    Family::Tied,
    Family::Degenerate,
    Family::HugeRange,
    Family::Weighted,
    Family::MultiWorkload,
    Family::Demand,
];
/// Without the huge range, where a relative slack of 1e-9 is worth a thousand GPUs to another.
const TAME: &[Family] = &[
    Family::Ordered,
    Family::General,
    Family::Tied,
    Family::Degenerate,
    Family::Weighted,
    Family::MultiWorkload,
];
const TAME_LIMITED: &[Family] = &[
    Family::Ordered,
    Family::General,
    Family::Tied,
    Family::Degenerate,
    Family::Weighted,
    Family::MultiWorkload,
    Family::Demand,
    Family::Demand,
    Family::Demand,
];

proptest! {
    #![proptest_config(common::cases(96))]

    #[test]
    fn cooperative_has_no_envy(spec in problems(FREE, Size::MIDDLE)) {
        has_no_envy(&spec, Cooperative, 1e-8);
    }

    #[test]
    fn cooperative_keeps_the_sharing_incentive(spec in problems(FREE, Size::MIDDLE)) {
        keeps_the_sharing_incentive(&spec, Cooperative, 1e-8);
    }

    #[test]
    fn nash_has_no_envy(spec in problems(LIMITED, Size::MIDDLE)) {
        has_no_envy(&spec, Nash, 1e-7);
    }

    #[test]
    fn nash_keeps_the_sharing_incentive(spec in problems(LIMITED, Size::MIDDLE)) {
        keeps_the_sharing_incentive(&spec, Nash, 1e-7);
    }

    #[test]
    fn nash_is_pareto_efficient(spec in problems(TAME_LIMITED, Size::SMALL)) {
        is_pareto_efficient(&spec, Nash);
    }

    #[test]
    fn incentive_is_pareto_efficient(spec in problems(TAME, Size::SMALL)) {
        is_pareto_efficient(&spec, Incentive);
    }

    #[test]
    fn incentive_keeps_the_sharing_incentive(spec in problems(FREE, Size::MIDDLE)) {
        keeps_the_sharing_incentive(&spec, Incentive, 1e-8);
    }

    #[test]
    fn efficiency_and_gavel_are_pareto_efficient(spec in problems(TAME, Size::SMALL)) {
        is_pareto_efficient(&spec, Efficiency);
        is_pareto_efficient(&spec, Gavel);
    }

    #[test]
    fn gavel_keeps_the_sharing_incentive(spec in problems(FREE, Size::MIDDLE)) {
        keeps_the_sharing_incentive(&spec, Gavel, 1e-8);
    }

    #[test]
    fn max_min_has_no_envy_and_keeps_the_sharing_incentive(spec in problems(FREE, Size::MIDDLE)) {
        has_no_envy(&spec, MaxMin, 1e-9);
        keeps_the_sharing_incentive(&spec, MaxMin, 1e-9);
    }

    #[test]
    fn weaker_constraints_never_lower_the_total(spec in problems(FREE, Size::MIDDLE)) {
        let total = |mechanism: Mechanism| {
            let (problem, shares) = shares(&spec, mechanism);
            shares.total(&problem)
        };
        let totals = [MaxMin, Cooperative, Incentive, Efficiency].map(total);
        for pair in totals.windows(2) {
            let grows = pair[1] > pair[0] || near(pair[0], pair[1], 1e-8);
            // Max-min hands what somebody cannot use to the others, and so may envy it.
            let is_plain = spec.tenants.iter().flat_map(|t| &t.workloads)
                .all(|w| w.throughput.iter().all(|(_, thr)| *thr > 0.0));
            holds(grows || !is_plain, &spec, || format!("totals {totals:?}"));
        }
    }
}

fn has_no_envy(spec: &ProblemSpec, mechanism: Mechanism, tolerance: f64) {
    let (problem, shares) = shares(spec, mechanism);
    let envy = check::envy(&problem, &shares);
    holds(envy <= tolerance, spec, || format!("{mechanism}: envy of {envy}"));
}

fn keeps_the_sharing_incentive(spec: &ProblemSpec, mechanism: Mechanism, tolerance: f64) {
    let (problem, shares) = shares(spec, mechanism);
    let least = check::sharing_incentive(&problem, &shares);
    holds(least >= 1.0 - tolerance, spec, || format!("{mechanism}: {least} of the equal split"));
}

fn is_pareto_efficient(spec: &ProblemSpec, mechanism: Mechanism) {
    let (problem, shares) = shares(spec, mechanism);
    let gain = check::pareto_gain(&problem, &shares, 1e-9);
    holds(gain < 1e-6, spec, || format!("{mechanism}: {gain} more is possible"));
}
