//! Edge cases that every mechanism has to survive, with answers worked out by hand.

use oef_core::{Mechanism, Options, Outcome, Problem, ProblemSpec, Status, TenantId, solve};

fn matrix(counts: &[f64], rows: &[&[f64]]) -> ProblemSpec {
    ProblemSpec::from_matrix(counts, rows)
}

fn solved(problem: &Problem, mechanism: Mechanism) -> Outcome {
    let outcome = solve(problem, mechanism, &Options::default()).expect("an answer");
    assert_eq!(outcome.solver.status, Status::Optimal, "{mechanism}: {:?}", outcome.solver);
    outcome
}

fn assert_shares(problem: &Problem, outcome: &Outcome, want: &[&[f64]]) {
    for (t, want) in want.iter().enumerate() {
        let got = outcome.shares.of_tenant(problem, TenantId(t));
        let close = got.iter().zip(*want).all(|(g, w)| (g - w).abs() < 1e-7);
        assert!(close, "{}: tenant {t} got {got:?}, not {want:?}", outcome.mechanism);
    }
}

#[test]
fn nash_with_a_tie_at_the_optimum() {
    let problem = matrix(&[1.0, 1.0], &[&[1.0, 2.0], &[1.0, 3.0], &[1.0, 4.0]]).validate().unwrap();
    let outcome = solved(&problem, Mechanism::Nash);
    assert_shares(&problem, &outcome, &[&[1.0, 0.0], &[0.0, 0.5], &[0.0, 0.5]]);
}

#[test]
fn nash_keeps_to_demands_and_hands_the_rest_on() {
    let mut spec = matrix(&[2.0, 2.0], &[&[1.0, 2.0], &[1.0, 3.0]]);
    spec.tenants[1].demand = Some(0.5);
    let problem = spec.validate().unwrap();
    let outcome = solved(&problem, Mechanism::Nash);
    assert_shares(&problem, &outcome, &[&[2.0, 1.5], &[0.0, 0.5]]);
}

#[test]
fn nothing_to_share_is_optimal_everywhere() {
    let mut idle = matrix(&[1.0, 1.0], &[&[1.0, 2.0]]);
    idle.tenants[0].demand = Some(0.0);
    let absent = matrix(&[0.0, 1.0], &[&[1.0, 0.0]]);
    for spec in [idle, absent] {
        let problem = spec.validate().unwrap();
        for mechanism in Mechanism::ALL {
            let outcome = solved(&problem, mechanism);
            assert_eq!(outcome.solver.gap, 0.0, "{mechanism}");
            assert_eq!(outcome.shares.total(&problem), 0.0, "{mechanism}");
            assert!(outcome.prices.iter().all(|p| *p == 0.0), "{mechanism}: {:?}", outcome.prices);
        }
    }
}

#[test]
fn a_tenant_that_wants_nothing_takes_nothing() {
    let mut spec = matrix(&[1.0, 1.0], &[&[1.0, 2.0], &[1.0, 3.0]]);
    spec.tenants[0].demand = Some(0.0);
    let problem = spec.validate().unwrap();
    for mechanism in Mechanism::ALL {
        assert_shares(&problem, &solved(&problem, mechanism), &[&[0.0, 0.0], &[1.0, 1.0]]);
    }
}

#[test]
fn levels_under_a_cap_have_prices() {
    // Gavel's <1,2;1,3;1,4> with one GPU each: everybody at 12/11 of its equal split.
    let problem = matrix(&[1.0, 1.0], &[&[1.0, 2.0], &[1.0, 3.0], &[1.0, 4.0]]).validate().unwrap();
    let options = Options { gavel_cap: Some(1.0), ..Options::default() };
    let capped = solve(&problem, Mechanism::Gavel, &options).unwrap();
    assert!(capped.prices.iter().any(|p| *p > 0.0), "{:?}", capped.prices);
    // A cap that does not bind changes nothing, prices included.
    let mut spec = matrix(&[2.0, 2.0], &[&[1.0, 2.0], &[1.0, 3.0]]);
    let free = solved(&spec.validate().unwrap(), Mechanism::Noncooperative);
    spec.tenants[0].demand = Some(3.9);
    let limited = solved(&spec.validate().unwrap(), Mechanism::Noncooperative);
    for (a, b) in free.prices.iter().zip(&limited.prices) {
        assert!((a - b).abs() < 1e-9 * a, "{:?} {:?}", free.prices, limited.prices);
    }
}
