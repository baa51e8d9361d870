//! Problems and results that were written down are the same when they are read again.
#![cfg(feature = "serde")]

use oef_core::{Mechanism, Options, Outcome, Problem, ProblemSpec, solve};

fn problem() -> Problem {
    let rows: [&[f64]; 3] = [&[1.0, 2.1, 0.3], &[0.0, 3.7, 1.0], &[2.0, 5.0, 1.0 / 3.0]];
    let mut spec = ProblemSpec::from_matrix(&[2.0, 1.0, 4.0], &rows);
    let mut second = spec.tenants[2].workloads[0].clone();
    second.name = "second".into();
    spec.tenants[2].workloads.push(second);
    spec.tenants[1].demand = Some(1.1);
    spec.validate().unwrap()
}

#[test]
fn problems_and_outcomes_come_back_as_they_were() {
    let problem = problem();
    let text = serde_json::to_string(&problem).unwrap();
    assert_eq!(serde_json::from_str::<Problem>(&text).unwrap(), problem);
    for mechanism in Mechanism::ALL {
        let outcome = solve(&problem, mechanism, &Options::default()).unwrap();
        let text = serde_json::to_string(&outcome).unwrap();
        assert!(text.contains(&format!("\"mechanism\":\"{mechanism}\"")), "{text}");
        assert_eq!(serde_json::from_str::<Outcome>(&text).unwrap(), outcome);
    }
    let spec = ProblemSpec::from(&problem);
    let text = serde_json::to_string(&spec).unwrap();
    assert_eq!(serde_json::from_str::<ProblemSpec>(&text).unwrap(), spec);
}

#[test]
fn a_gap_without_bound_comes_back() {
    let problem = problem();
    let mut outcome = solve(&problem, Mechanism::MaxMin, &Options::default()).unwrap();
    outcome.solver.gap = f64::INFINITY;
    let text = serde_json::to_string(&outcome).unwrap();
    assert_eq!(serde_json::from_str::<Outcome>(&text).unwrap(), outcome);
}

#[test]
fn what_is_no_problem_is_not_read_as_one() {
    let good = serde_json::to_value(problem()).unwrap();
    let wrong = [
        ("/reference", "7"),
        ("/types/0/capacity", "-1.0"),
        ("/workloads/0/speedup", "[1.0]"),
        ("/workloads/3/tenant", "0"),
        ("/tenants/0/workloads/end", "4"),
        ("/tenants/1/weight", "-2.0"),
    ];
    for (place, value) in wrong {
        let mut bad = good.clone();
        *bad.pointer_mut(place).unwrap() = serde_json::from_str(value).unwrap();
        let read = serde_json::from_value::<Problem>(bad);
        let message = read.expect_err(place).to_string();
        assert!(message.contains("this is not a valid problem"), "{place}: {message}");
    }
}
