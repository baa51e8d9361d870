use super::*;
use crate::ids::TenantId;
use crate::mechanism::{Mechanism, Options};
use crate::problem::ProblemSpec;

fn lie(rows: &[&[f64]], mechanism: Mechanism, tenant: usize) -> Lie {
    let problem = ProblemSpec::from_matrix(&vec![1.0; rows[0].len()], rows).validate().unwrap();
    search(&problem, mechanism, TenantId(tenant), &Options::default(), Effort::QUICK).unwrap()
}

#[test]
fn under_reporting_pays_in_noncooperative_and_over_reporting_does_not() {
    let found = lie(&[&[1.0, 2.0], &[1.0, 5.0]], Mechanism::Noncooperative, 1);
    assert!((found.honest - 15.0 / 7.0).abs() < 1e-9);
    assert_eq!(found.direction, Direction::Under);
    // The supremum is 3.75, just above the other's ratio of 2.
    assert!(found.best > 3.7499 && found.best <= 3.75 + 1e-9, "{found:?}");
    assert!((found.report[0].speedup[1] - 2.0).abs() < 1e-4);
    assert!(found.over.unwrap().throughput <= found.honest * (1.0 + 1e-9));
}

#[test]
fn nobody_can_lie_about_an_equal_split() {
    for tenant in 0..3 {
        let found = lie(&[&[1.0, 2.0], &[1.0, 3.0], &[1.0, 4.0]], Mechanism::MaxMin, tenant);
        assert_eq!((found.direction, found.best), (Direction::None, found.honest));
        assert_eq!(found.report[0].speedup[0], 1.0);
    }
}

#[test]
fn in_cooperative_the_first_tenant_gains_by_over_reporting() {
    // The paper's lie: tenant 1 of <1,2;1,5> reports 4 and truly gets 1.75 where honesty brings 1.5.
    let found = lie(&[&[1.0, 2.0], &[1.0, 5.0]], Mechanism::Cooperative, 0);
    assert!((found.honest - 1.5).abs() < 1e-9, "{found:?}");
    assert!(found.over.as_ref().unwrap().throughput >= 1.75, "{found:?}");
}

#[test]
fn over_reporting_never_pays_in_noncooperative() {
    let cases: [&[&[f64]]; 3] = [
        &[&[1.0, 1.5, 2.0], &[1.0, 2.0, 3.5], &[1.0, 2.5, 4.5]],
        &[&[1.0, 0.5, 3.0], &[1.0, 2.0, 0.1], &[1.0, 1.0, 1.0], &[1.0, 7.0, 2.0]],
        &[&[1.0, 2.0], &[1.0, 2.0], &[1.0, 9.0]],
    ];
    for rows in cases {
        for tenant in 0..rows.len() {
            let found = lie(rows, Mechanism::Noncooperative, tenant);
            let over = found.over.as_ref().unwrap().throughput;
            assert!(
                over <= found.honest * (1.0 + 1e-8),
                "{rows:?} {tenant}: {over} {}",
                found.honest
            );
        }
    }
}

#[test]
fn a_search_that_is_stopped_gives_what_it_has() {
    let problem =
        ProblemSpec::from_matrix(&[1.0, 1.0], &[&[1.0, 2.0], &[1.0, 5.0]]).validate().unwrap();
    let stop = || true;
    let options = Options { stop: Some(&stop), ..Options::default() };
    let found = search(&problem, Mechanism::MaxMin, TenantId(0), &options, Effort::QUICK).unwrap();
    assert_eq!((found.evaluations, found.complete), (0, false));
    assert_eq!(found.best, found.honest);
}
