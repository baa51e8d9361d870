//! The certificate says what is so: against checkers written from the definitions, and on the known
//! counterexamples.

mod common;

use common::{holds, matrix, mechanisms, near, outcome};
use oef_core::Mechanism::{Cooperative, Noncooperative};
use oef_core::{ProblemSpec, audit};
use oef_oracle::check;
use oef_oracle::families::{Family, Size, problems};
use proptest::prelude::*;

const ALL: &[Family] = &Family::ALL;
/// One workload per tenant, so that nobody can move throughput between its own workloads; and no huge
/// range, where a relative slack of 1e-9 is worth a thousand GPUs to another.
const SINGLE: &[Family] =
    &[Family::Ordered, Family::General, Family::Tied, Family::Weighted, Family::Demand];

proptest! {
    #![proptest_config(common::cases(96))]

    #[test]
    fn the_audit_finds_the_envy_that_is_there(spec in problems(ALL, Size::MIDDLE)) {
        for mechanism in mechanisms() {
            let (problem, outcome) = outcome(&spec, mechanism);
            let (found, right) =
                (audit(&problem, &outcome).envy_free, check::tenant_envy(&problem, &outcome.shares));
            same_figure(&spec, "envy", found.worst, right);
            holds(found.holds == found.witness.is_none(), &spec, || "a witness, or none".into());
            holds(!found.holds || right < 2e-7, &spec, || format!("{mechanism}: envy of {right}"));
        }
    }

    #[test]
    fn the_audit_finds_who_is_below_its_equal_split(spec in problems(ALL, Size::MIDDLE)) {
        for mechanism in mechanisms() {
            let (problem, outcome) = outcome(&spec, mechanism);
            let found = audit(&problem, &outcome).sharing_incentive;
            let right = check::tenant_sharing_incentive(&problem, &outcome.shares);
            // Who can get nothing has all of nothing, which is no shortfall: 1.
            let splits = problem.tenant_ids().map(|t| oef_core::equal_split(&problem, t));
            let right = if splits.fold(f64::INFINITY, f64::min) > 0.0 { right } else { right.min(1.0) };
            same_figure(&spec, "sharing incentive", found.worst, right);
            holds(!found.holds || right > 1.0 - 2e-7, &spec, || format!("{mechanism}: {right}"));
        }
    }

    #[test]
    fn the_audit_counts_what_is_handed_out(spec in problems(ALL, Size::MIDDLE)) {
        for mechanism in mechanisms() {
            let (problem, outcome) = outcome(&spec, mechanism);
            let found = audit(&problem, &outcome);
            let capacity = check::capacity_excess(&problem, &outcome.shares);
            let demand = check::demand_excess(&problem, &outcome.shares);
            holds(found.capacity.holds == (capacity <= 1e-7), &spec, || format!("{capacity:e}"));
            holds(found.demand.holds == (demand <= 1e-7), &spec, || format!("{demand:e}"));
        }
    }

    #[test]
    fn the_audit_finds_the_gain_that_is_possible(spec in problems(SINGLE, Size::SMALL)) {
        for mechanism in mechanisms() {
            let (problem, outcome) = outcome(&spec, mechanism);
            let found = audit(&problem, &outcome).pareto_efficient;
            // The gain with a little slack is no less than the true one, that without no more.
            let above = check::pareto_gain(&problem, &outcome.shares, 1e-9);
            let below = check::pareto_gain(&problem, &outcome.shares, 0.0);
            let told = || format!("{mechanism}: {found:?}, and the gain is {below} to {above}");
            holds(found.worst <= above + 1e-7, &spec, told);
            holds(found.bound >= below - 1e-7, &spec, told);
            holds(!found.holds || below <= 1e-6, &spec, told);
            holds(found.witness.is_none() || above > 1e-8, &spec, told);
        }
    }
}

fn same_figure(spec: &ProblemSpec, what: &str, found: f64, right: f64) {
    let same = near(found, right, 1e-7) || (found - right).abs() < 1e-9;
    holds(same, spec, || format!("{what}: the audit says {found}, and it is {right}"));
}

#[test]
fn the_certificate_shows_that_cooperative_is_not_pareto_efficient() {
    let rows: [&[f64]; 3] = [&[1.0, 1.5, 2.0], &[1.0, 2.0, 3.5], &[1.0, 2.5, 4.5]];
    let (problem, outcome) = outcome(&matrix(&[1.0, 1.0, 1.0], &rows), Cooperative);
    let found = audit(&problem, &outcome);
    assert!(found.envy_free.holds && found.sharing_incentive.holds);
    assert!(!found.pareto_efficient.holds);
    let better = found.pareto_efficient.witness.expect("better shares");
    assert!(check::capacity_excess(&problem, &better.shares) < 1e-9);
    for t in problem.tenant_ids() {
        let (before, after) =
            (outcome.shares.throughput(&problem, t), better.shares.throughput(&problem, t));
        assert!(after >= before * (1.0 - 1e-9), "{t:?} falls from {before} to {after}");
    }
    assert!(better.shares.total(&problem) > outcome.shares.total(&problem) * (1.0 + 1e-4));
}

#[test]
fn the_certificate_shows_that_noncooperative_breaks_the_sharing_incentive() {
    let rows: [&[f64]; 2] = [&[1.0, 2.0], &[1.0, 5.0]];
    let (problem, outcome) = outcome(&matrix(&[1.0, 1.0], &rows), Noncooperative);
    let found = audit(&problem, &outcome);
    assert!(found.pareto_efficient.holds && found.optimality.holds);
    let short = found.sharing_incentive.witness.expect("a tenant below its equal split");
    assert_eq!(problem.tenants()[short.tenant.index()].name, "u2");
    assert!(near(short.throughput, 15.0 / 7.0, 1e-9) && near(short.equal_split, 3.0, 1e-12));
    let envy = found.envy_free.witness.expect("envy");
    assert_eq!(problem.tenants()[envy.envious.index()].name, "u2");
}

#[test]
fn the_certificate_shows_a_type_left_out_between_two() {
    let rows: [&[f64]; 2] = [&[1.0, 2.0, 4.0], &[1.0, 7.0, 5.0]];
    let (problem, outcome) = outcome(&matrix(&[1.0, 1.0, 1.0], &rows), Cooperative);
    let found = audit(&problem, &outcome).adjacent;
    assert!(!found.holds);
    let skipped = found.witness.expect("a workload that leaves a type out");
    let name = |gpu: oef_core::TypeId| problem.types()[gpu.index()].name.as_str();
    assert_eq!(problem.tenants()[skipped.tenant.index()].name, "u1");
    assert_eq!(skipped.held.iter().map(|&gpu| name(gpu)).collect::<Vec<_>>(), ["g1", "g3"]);
    assert_eq!(name(skipped.skipped), "g2");
}
