//! What holds for every mechanism: nobody is given what is not there or cannot be used, and nothing
//! useful is left over.

mod common;

use common::{holds, mechanisms, shares};
use oef_oracle::check;
use oef_oracle::families::{Family, Size, problems};
use proptest::prelude::*;

const ALL: &[Family] = &Family::ALL;
/// Demands, and types that somebody cannot use.
const SCARCE: &[Family] = &[Family::Demand, Family::SharedDemand, Family::Degenerate];

proptest! {
    #![proptest_config(common::cases(96))]

    #[test]
    fn capacity_is_never_exceeded(spec in problems(ALL, Size::MIDDLE)) {
        for mechanism in mechanisms() {
            let (problem, shares) = shares(&spec, mechanism);
            let excess = check::capacity_excess(&problem, &shares);
            holds(excess <= 1e-9, &spec, || format!("{mechanism}: {excess:e} too much"));
        }
    }

    #[test]
    fn demand_is_never_exceeded_and_nothing_useful_idles(spec in problems(SCARCE, Size::MIDDLE)) {
        for mechanism in mechanisms() {
            let (problem, shares) = shares(&spec, mechanism);
            let excess = check::demand_excess(&problem, &shares);
            holds(excess <= 1e-9, &spec, || format!("{mechanism}: {excess:e} above a demand"));
            let idle = check::useful_idle(&problem, &shares);
            holds(idle <= 1e-7, &spec, || format!("{mechanism}: {idle} of a type idles"));
        }
    }

    #[test]
    fn nobody_holds_what_it_cannot_use(spec in problems(ALL, Size::MIDDLE)) {
        for mechanism in mechanisms() {
            let (problem, shares) = shares(&spec, mechanism);
            for (l, workload) in problem.workloads().iter().enumerate() {
                for (j, speedup) in workload.speedup.iter().enumerate() {
                    let held = shares.get(oef_core::WorkloadId(l), oef_core::TypeId(j));
                    holds(*speedup > 0.0 || held == 0.0, &spec, || {
                        format!("{mechanism}: workload {l} holds {held} useless GPUs of type {j}")
                    });
                }
            }
        }
    }
}
