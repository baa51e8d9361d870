//! The paper's worked examples, with the corrected numbers, and the smallest cases where a claim fails.

mod common;

use common::{bundle, entry, matrix, near, outcome, valid};
use oef_core::Mechanism::{self, Cooperative, Efficiency, GandivaFair, Gavel, Noncooperative};
use oef_core::{Options, ProblemSpec, WorkloadSpec, solve};
use oef_oracle::check;

const TWO: [&[f64]; 2] = [&[1.0, 2.0], &[1.0, 5.0]];
const THREE: [&[f64]; 3] = [&[1.0, 2.0], &[1.0, 3.0], &[1.0, 4.0]];

/// One example: the rows of a problem with one GPU of each type, and what comes out.
struct Example {
    name: &'static str,
    rows: &'static [&'static [f64]],
    mechanism: Mechanism,
    /// The throughputs of the tenants.
    throughputs: &'static [f64],
}

const EXAMPLES: &[Example] = &[
    Example {
        name: "cooperative on three tenants: (1,0), (0,.5), (0,.5)",
        rows: &THREE,
        mechanism: Cooperative,
        throughputs: &[1.0, 1.5, 2.0],
    },
    Example {
        name: "efficiency on three tenants: the slow GPU is worth 1 to all, and evens out the others",
        rows: &THREE,
        mechanism: Efficiency,
        throughputs: &[3.0 / 7.0, 4.0 / 7.0, 4.0],
    },
    Example {
        name: "gavel on three tenants without a cap: 54/49 of the equal split each",
        rows: &THREE,
        mechanism: Gavel,
        throughputs: &[54.0 / 49.0, 72.0 / 49.0, 90.0 / 49.0],
    },
    Example {
        name: "gandiva-fair on three tenants",
        rows: &THREE,
        mechanism: GandivaFair,
        throughputs: &[53.0 / 45.0, 7.0 / 5.0, 16.0 / 9.0],
    },
    Example {
        name: "cooperative on two tenants: (1,.25), (0,.75)",
        rows: &TWO,
        mechanism: Cooperative,
        throughputs: &[1.5, 3.75],
    },
    Example {
        name: "noncooperative on two tenants",
        rows: &TWO,
        mechanism: Noncooperative,
        throughputs: &[15.0 / 7.0, 15.0 / 7.0],
    },
    Example {
        name: "noncooperative on <1,2; 1,4>: (1,.5), (0,.5)",
        rows: &[&[1.0, 2.0], &[1.0, 4.0]],
        mechanism: Noncooperative,
        throughputs: &[2.0, 2.0],
    },
];

#[test]
fn the_paper_s_examples() {
    for example in EXAMPLES {
        let spec = matrix(&vec![1.0; example.rows[0].len()], example.rows);
        let (problem, outcome) = outcome(&spec, example.mechanism);
        let found = check::throughputs(&problem, &outcome.shares);
        let right = found.iter().zip(example.throughputs).all(|(f, t)| near(*f, *t, 1e-9));
        assert!(right, "{}: {found:?}, not {:?}", example.name, example.throughputs);
    }
}

#[test]
fn efficiency_gives_the_three_tenants_five_in_total() {
    let (problem, outcome) = outcome(&matrix(&[1.0, 1.0], &THREE), Efficiency);
    assert!(near(outcome.shares.total(&problem), 5.0, 1e-9));
}

#[test]
fn cooperative_shares_are_the_paper_s() {
    let (problem, found) = outcome(&matrix(&[1.0, 1.0], &THREE), Cooperative);
    shares_are(&problem, &found, &[("u1", [1.0, 0.0]), ("u2", [0.0, 0.5]), ("u3", [0.0, 0.5])]);
    let (problem, found) = outcome(&matrix(&[1.0, 1.0], &TWO), Cooperative);
    shares_are(&problem, &found, &[("u1", [1.0, 0.25]), ("u2", [0.0, 0.75])]);
}

#[test]
fn gavel_with_one_gpu_per_tenant_gives_the_paper_s_numbers() {
    let problem = valid(&matrix(&[1.0, 1.0], &THREE));
    let options = Options { gavel_cap: Some(1.0), ..Options::default() };
    let found = solve(&problem, Gavel, &options).unwrap();
    let found = check::throughputs(&problem, &found.shares);
    for (found, right) in found.iter().zip([12.0 / 11.0, 16.0 / 11.0, 20.0 / 11.0]) {
        assert!(near(*found, right, 1e-9), "{found} instead of {right}");
    }
}

#[test]
fn gandiva_fair_trades_at_the_paper_s_prices() {
    let prices = |fast: f64| {
        let rows: [&[f64]; 3] = [&[1.0, fast], THREE[1], THREE[2]];
        let (_, found) = outcome(&matrix(&[1.0, 1.0], &rows), GandivaFair);
        found.trades.iter().map(|t| t.price).collect::<Vec<f64>>()
    };
    for (found, right) in [(prices(2.0), [3.0, 2.5]), (prices(2.8), [3.0, 2.9])] {
        assert_eq!(found.len(), 2);
        assert!(found.iter().zip(right).all(|(f, r)| near(*f, r, 1e-9)), "{found:?}");
    }
}

#[test]
fn a_lie_pays_the_liar_under_cooperative() {
    let truth = valid(&matrix(&[1.0, 1.0], &TWO));
    let mut lie = matrix(&[1.0, 1.0], &TWO);
    *entry(&mut lie.tenants[0], 1) = 4.0;
    let (_, found) = outcome(&lie, Cooperative);
    let liar = found.shares.throughput(&truth, truth.tenant_named("u1").unwrap());
    assert!(near(liar, 1.75, 1e-9), "the liar has {liar}");
    assert!(near(found.shares.total(&truth), 4.875, 1e-9));
}

#[test]
fn a_lie_does_not_pay_the_liar_under_noncooperative() {
    let (problem, found) =
        outcome(&matrix(&[1.0, 1.0], &[&[1.0, 3.0], &[1.0, 4.0]]), Noncooperative);
    // u1 reports <1,3> instead of <1,2>, and truly has 1 + 2 * 3/7 < 2 with its (1, 3/7).
    shares_are(&problem, &found, &[("u1", [1.0, 3.0 / 7.0]), ("u2", [0.0, 4.0 / 7.0])]);
}

#[test]
fn a_weight_of_two_counts_as_two_tenants() {
    let mut spec = matrix(&[1.0, 1.0], &TWO);
    spec.tenants[1].weight = 2.0;
    let (problem, found) = outcome(&spec, Noncooperative);
    shares_are(&problem, &found, &[("u1", [1.0, 1.0 / 3.0]), ("u2", [0.0, 2.0 / 3.0])]);
    let level = found.shares.throughput(&problem, problem.tenant_named("u1").unwrap());
    assert!(near(level, 5.0 / 3.0, 1e-9));
}

#[test]
fn two_workloads_are_two_virtual_tenants() {
    let spec = two_workloads();
    let (problem, found) = outcome(&spec, Noncooperative);
    let found = check::throughputs(&problem, &found.shares);
    for (found, right) in found.iter().zip([45.0 / 37.0, 45.0 / 37.0, 90.0 / 37.0]) {
        assert!(near(*found, right, 1e-9), "{found} instead of {right}");
    }
    shares_are(
        &problem,
        &outcome(&spec, Noncooperative).1,
        &[("u1", [1.0, 4.0 / 37.0 + 15.0 / 37.0]), ("u2", [0.0, 18.0 / 37.0])],
    );
}

#[test]
fn cooperative_is_not_always_pareto_efficient() {
    let rows: [&[f64]; 3] = [&[1.0, 1.5, 2.0], &[1.0, 2.0, 3.5], &[1.0, 2.5, 4.5]];
    let (problem, found) = outcome(&matrix(&[1.0, 1.0, 1.0], &rows), Cooperative);
    let gain = check::pareto_gain(&problem, &found.shares, 0.0);
    assert!(gain > 1e-3, "only {gain} more is possible");
}

#[test]
fn noncooperative_breaks_the_sharing_incentive() {
    let (problem, found) = outcome(&matrix(&[1.0, 1.0], &TWO), Noncooperative);
    let least = check::sharing_incentive(&problem, &found.shares);
    assert!(near(least, 15.0 / 7.0 / 3.0, 1e-9), "{least}");
}

#[test]
fn under_reporting_pays_under_noncooperative() {
    let truth = valid(&matrix(&[1.0, 1.0], &TWO));
    for (report, gets) in [(3.0, 3.0), (2.1, 3.66)] {
        let mut lie = matrix(&[1.0, 1.0], &TWO);
        *entry(&mut lie.tenants[1], 1) = report;
        let (_, found) = outcome(&lie, Noncooperative);
        let liar = found.shares.throughput(&truth, truth.tenant_named("u2").unwrap());
        assert!(near(liar, gets, 1e-2), "{liar} with the report {report}");
    }
}

/// Tenant 1 with the workloads <1,2> and <1,3>, tenant 2 with <1,5>; a weight of 2 each, so that every
/// workload of tenant 1 counts one.
fn two_workloads() -> ProblemSpec {
    let mut spec = matrix(&[1.0, 1.0], &TWO);
    spec.tenants.iter_mut().for_each(|t| t.weight = 2.0);
    let throughput = vec![("g1".into(), 1.0), ("g2".into(), 3.0)];
    spec.tenants[0].workloads.push(WorkloadSpec {
        demand: None,
        name: "second".into(),
        weight: 1.0,
        throughput,
        single: Vec::new(),
    });
    spec
}

fn shares_are(problem: &oef_core::Problem, found: &oef_core::Outcome, right: &[(&str, [f64; 2])]) {
    for (tenant, right) in right {
        let bundle = bundle(problem, &found.shares, tenant);
        let same = bundle.iter().zip(right).all(|(b, r)| (b - r).abs() < 1e-9);
        assert!(same, "{tenant} has {bundle:?}, and should have {right:?}");
    }
}
