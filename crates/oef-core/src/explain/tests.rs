use super::*;
use crate::ids::{TenantId, TypeId};
use crate::mechanism::{Mechanism, Options};
use crate::problem::{Problem, ProblemSpec};

fn three() -> Problem {
    ProblemSpec::from_matrix(&[1.0, 1.0], &[&[1.0, 2.0], &[1.0, 3.0], &[1.0, 4.0]])
        .validate()
        .unwrap()
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * b.abs().max(1.0)
}

#[test]
fn cooperative_shows_who_would_envy_whom() {
    let problem = three();
    let found = explain(&problem, Mechanism::Cooperative, &Options::default()).unwrap();
    assert!(near(found.total, 4.5));
    // Tenant 1 values half a fast GPU as its slow one; tenants 2 and 3 hold the same.
    let ties: Vec<(usize, usize)> =
        found.envy_ties.iter().map(|t| (t.envious.0, t.envied.0)).collect();
    assert_eq!(ties, [(0, 1), (0, 2), (1, 2), (2, 1)]);
    assert_eq!(found.tenants[1].would_envy, [TenantId(2)]);
    assert_eq!(found.tenants[2].envied_by, [TenantId(0), TenantId(1)]);
    assert!(found.types.iter().all(|t| t.exhausted));
}

#[test]
fn one_more_gpu_is_the_difference_of_two_results() {
    let problem = three();
    let found = explain(&problem, Mechanism::MaxMin, &Options::default()).unwrap();
    let more = found.types[1].one_more.as_ref().unwrap();
    assert!(near(more.total, 3.0));
    assert!(more.tenants.iter().zip([2.0, 3.0, 4.0]).all(|(gain, w)| near(*gain, w / 3.0)));
    assert!(found.envy_ties.is_empty() && found.tenants.iter().all(|t| t.at_floor));
    assert!(found.tenants.iter().all(|t| t.holdings.len() == 2));
    let stranger = explain_with(&problem, &mut |p| {
        let mut outcome = crate::solve(p, Mechanism::MaxMin, &Options::default())?;
        outcome.solver.status = crate::Status::Feasible;
        Ok(outcome)
    });
    assert!(
        stranger.unwrap().types.iter().all(|t| t.one_more.is_none()),
        "no difference of guesses"
    );
}

#[test]
fn prices_explain_what_is_held_in_noncooperative() {
    let problem = three();
    let found = explain(&problem, Mechanism::Noncooperative, &Options::default()).unwrap();
    for reason in &found.tenants {
        for holding in reason.holdings.iter().filter(|h| h.gpus > 1e-6) {
            assert!(holding.best, "{holding:?}");
        }
    }
    assert!(found.types[1].price.unwrap() > found.types[0].price.unwrap());
    assert_eq!(found.types[0].gpu, TypeId(0));
}

#[test]
fn sentences_say_it_and_keep_to_one_tenant_when_asked() {
    let problem = three();
    let found = explain(&problem, Mechanism::Cooperative, &Options::default()).unwrap();
    let all = found.sentences(&problem, None);
    assert_eq!(all[0], "Under cooperative the cluster does 4.5, where one g1 counts 1.");
    assert!(all.iter().any(|s| s.starts_with("u1 would envy u2, u3")), "{all:#?}");
    let one = found.sentences(&problem, Some(TenantId(1)));
    assert!(one.iter().all(|s| s.contains("u2")), "{one:#?}");
    assert!(
        one.iter().any(|s| s.starts_with("u2 does 1.5, 1.125 times its equal split of 1.333")),
        "{one:#?}"
    );
    assert!(one.iter().any(|s| s.contains("One more g2")), "{one:#?}");
}

#[test]
fn every_mechanism_can_be_explained() {
    let mut spec = ProblemSpec::from_matrix(
        &[2.0, 1.0, 0.0],
        &[&[1.0, 2.0, 4.0], &[0.0, 3.0, 1.0], &[1.0, 4.0, 0.0]],
    );
    spec.tenants[0].demand = Some(0.5);
    let problem = spec.validate().unwrap();
    for mechanism in Mechanism::ALL {
        let found = explain(&problem, mechanism, &Options::default());
        let found = found.unwrap_or_else(|error| panic!("{mechanism}: {error}"));
        assert!(found.sentences(&problem, None).len() > problem.tenants().len(), "{mechanism}");
    }
}

/// What holds without a demand is not said of a tenant that has all it can use.
#[test]
fn no_sentence_is_false_under_a_demand() {
    let rows: [&[f64]; 3] = [&[1.0, 2.0], &[1.0, 3.0], &[1.0, 4.0]];
    let mut spec = ProblemSpec::from_matrix(&[2.0, 1.0], &rows);
    spec.tenants[0].demand = Some(0.25);
    let problem = spec.validate().unwrap();
    for mechanism in Mechanism::ALL {
        let found = explain(&problem, mechanism, &Options::default()).unwrap();
        let sentences = found.sentences(&problem, Some(TenantId(0)));
        let any = |part: &str| sentences.iter().any(|s| s.contains(part));
        if found.tenants[0].at_demand {
            assert!(any("as many GPUs as it can use"), "{mechanism}: {sentences:#?}");
            for part in ["value for money", "sharing incentive", "cannot be given more", "envy"] {
                assert!(!any(part), "{mechanism}: {sentences:#?}");
            }
        }
    }
    spec.tenants.iter_mut().for_each(|tenant| tenant.demand = Some(0.25));
    let problem = spec.validate().unwrap();
    for mechanism in Mechanism::ALL {
        let found = explain(&problem, mechanism, &Options::default()).unwrap();
        let slow = &found.types[0];
        assert!(slow.price.is_none_or(|p| p == 0.0), "{mechanism}: {:?}", slow.price);
        let idle = "2 of 2 g1 are idle: nobody can use more of them";
        assert!(found.sentences(&problem, None).iter().any(|s| s.starts_with(idle)));
    }
}

#[test]
fn only_a_constraint_of_the_mechanism_binds() {
    let problem = three();
    for mechanism in Mechanism::ALL {
        let found = explain(&problem, mechanism, &Options::default()).unwrap();
        let said = found.sentences(&problem, None).join("\n");
        let binds = said.contains("the sharing incentive binds");
        assert_eq!(binds, mechanism == Mechanism::Incentive, "{mechanism}: {said}");
    }
}

#[test]
fn what_a_cap_keeps_idle_is_not_what_nobody_can_use() {
    let problem = three();
    let options = Options { gavel_cap: Some(0.25), stop: None };
    let found = explain(&problem, Mechanism::Gavel, &options).unwrap();
    let said = found.sentences(&problem, None);
    assert!(said[1].starts_with("1 of 1 g1 are idle; the price is 0"), "{said:#?}");
    assert!(said[2].starts_with("0.25 of 1 g2 are idle; the price is 0"), "{said:#?}");
}
