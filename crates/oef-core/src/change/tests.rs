use super::*;
use crate::mechanism::{Mechanism, Options};
use crate::problem::{ProblemSpec, TenantSpec};

fn spec() -> ProblemSpec {
    ProblemSpec::from_matrix(&[1.0, 1.0], &[&[1.0, 2.0], &[1.0, 5.0]])
}

fn name(name: &str) -> String {
    name.into()
}

#[test]
fn changes_that_name_nothing_known_say_what_is_near() {
    let set = |tenant: &str, workload: Option<&str>, gpu: &str| Change::SetThroughput {
        tenant: name(tenant),
        workload: workload.map(name),
        gpu: name(gpu),
        value: 3.0,
    };
    let cases = [
        (
            Change::SetWeight { tenant: name("u9"), weight: 2.0 },
            "there is no tenant `u9`; did you mean `u1`?",
        ),
        (Change::RemoveTenant { tenant: name("vision-lab") }, "there is no tenant `vision-lab`"),
        (
            Change::SetCapacity { gpu: name("g"), count: 2.0 },
            "there is no gpu type `g`; did you mean `g1`?",
        ),
        (set("u1", None, "h100-pcie"), "there is no gpu type `h100-pcie`"),
        (
            set("u1", Some("defalt"), "g1"),
            "tenant `u1` has no workload `defalt`; did you mean `default`?",
        ),
        (Change::AddTenant(TenantSpec::simple("u1", vec![])), "there is a tenant `u1` already"),
    ];
    for (change, message) in cases {
        assert_eq!(apply(&spec(), &[change]).unwrap_err().to_string(), message);
    }
}

#[test]
fn changes_are_made_one_after_the_other() {
    let changes = [
        Change::AddGpus { gpu: name("g3"), count: 2.0 },
        Change::SetThroughput { tenant: name("u1"), workload: None, gpu: name("g3"), value: 7.0 },
        Change::AddGpus { gpu: name("g1"), count: 3.0 },
        Change::SetDemand { tenant: name("u1"), demand: Some(1.0) },
        Change::RemoveTenant { tenant: name("u2") },
    ];
    let changed = apply(&spec(), &changes).unwrap();
    assert_eq!(changed.gpus.iter().map(|g| g.count).collect::<Vec<_>>(), [4.0, 1.0, 2.0]);
    assert_eq!(changed.tenants.len(), 1);
    assert_eq!(changed.tenants[0].demand, Some(1.0));
    assert_eq!(changed.tenants[0].workloads[0].throughput[2], (name("g3"), 7.0));
}

#[test]
fn a_what_if_keeps_the_reference_type_and_shows_everybody() {
    let problem = spec().validate().unwrap();
    let newcomer = TenantSpec::simple("u3", vec![(name("g1"), 4.0), (name("g2"), 1.0)]);
    let changes = [Change::RemoveTenant { tenant: name("u1") }, Change::AddTenant(newcomer)];
    let found = whatif(&problem, &changes, Mechanism::MaxMin, &Options::default()).unwrap();
    assert_eq!(found.problem.reference(), problem.reference());
    let names: Vec<&str> = found.tenants.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["u1", "u2", "u3"]);
    assert!(found.tenants[0].after.is_none() && found.tenants[2].before.is_none());
    assert_eq!(found.tenants[0].gain(), -1.5);
    assert_eq!(found.tenants[1].gain(), 0.0);
    assert_eq!(
        found.total.1 - found.total.0,
        found.tenants.iter().map(TenantDifference::gain).sum::<f64>()
    );
}

#[test]
fn a_what_if_that_cannot_be_says_why() {
    let problem = spec().validate().unwrap();
    let ask =
        |change| whatif(&problem, &[change], Mechanism::MaxMin, &Options::default()).unwrap_err();
    let bad = ask(Change::SetWeight { tenant: name("u1"), weight: f64::NAN });
    assert!(matches!(bad, WhatIfError::Invalid(_)), "{bad}");
    let unknown = ask(Change::SetWeight { tenant: name("u7"), weight: 1.0 });
    assert!(matches!(unknown, WhatIfError::Change(_)), "{unknown}");
}
