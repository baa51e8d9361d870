//! Guarantees and limits by gpu type: handed out before the shares, counted in them, and the certificate is about the rest.

mod common;

use common::{holds, mechanisms};
use oef_core::{
    Field, Mechanism, Options, Problem, ProblemSpec, TenantId, TypeId, audit, beyond, solve,
};
use oef_oracle::families::{Family, Size, problems};
use proptest::prelude::*;

const ALL: &[Family] = &Family::ALL;

fn two() -> ProblemSpec {
    ProblemSpec::from_matrix(&[8.0, 8.0], &[&[1.0, 2.0], &[1.0, 2.0]])
}

fn shares(spec: &ProblemSpec, mechanism: Mechanism) -> Vec<Vec<f64>> {
    let problem = spec.validate().expect("a valid problem");
    let found = solve(&problem, mechanism, &Options::default()).expect("an answer");
    problem.tenant_ids().map(|t| found.shares.of_tenant(&problem, t)).collect()
}

#[track_caller]
fn near(a: f64, b: f64, what: &str) {
    assert!((a - b).abs() <= 1e-6, "{what}: {a}, not {b}");
}

fn on(gpu: &str, gpus: f64) -> (String, f64) {
    (gpu.into(), gpus)
}

#[test]
fn a_guarantee_counts_in_the_share() {
    let mut spec = two();
    spec.tenants[0].guarantee = vec![on("g2", 2.0)];
    for mechanism in mechanisms() {
        // Equal profiles: what is handed out first is a part of what both would have had.
        let found = shares(&spec, mechanism);
        let worth = |t: usize| found[t][0] + 2.0 * found[t][1];
        assert!(found[0][1] >= 2.0 - 1e-9, "{mechanism}: {found:?}");
        if mechanism != Mechanism::Efficiency {
            near(worth(0), 12.0, "the guaranteed one has its equal split");
            near(worth(1), 12.0, "and so has the other");
        }
    }
}

#[test]
fn a_guarantee_beyond_the_equal_split_is_honoured_and_leaves_little_else() {
    let mut spec = two();
    spec.tenants[0].guarantee = vec![on("g2", 8.0)];
    let found = shares(&spec, Mechanism::Cooperative);
    near(found[0][1], 8.0, "all of g2");
    near(found[1][1], 0.0, "none of g2");
    assert!(found[0][0] < 0.1 && found[1][0] > 7.9, "{found:?}");
}

#[test]
fn what_a_tenant_cannot_use_of_its_guarantee_is_lent_out() {
    let mut spec = two();
    spec.tenants[0].guarantee = vec![on("g2", 6.0)];
    spec.tenants[0].demand = Some(1.0);
    let found = shares(&spec, Mechanism::Nash);
    near(found[0][1], 1.0, "what it can use");
    near(found[1][1], 7.0, "the rest");
}

#[test]
fn a_limit_holds_and_the_rest_goes_to_others() {
    let mut spec = two();
    spec.tenants[0].limit = vec![on("g2", 1.0)];
    spec.tenants[1].limit = vec![on("g1", 0.0)];
    for mechanism in mechanisms() {
        let found = shares(&spec, mechanism);
        assert!(found[0][1] <= 1.0 && found[1][0] == 0.0, "{mechanism}: {found:?}");
        near(found[0][0], 8.0, "nobody else can use g1");
        near(found[1][1], 7.0, "the other has the rest of g2");
    }
}

#[test]
fn a_tenant_that_may_run_nowhere_gets_nothing() {
    let mut spec = two();
    spec.tenants[0].limit = vec![on("g1", 0.0), on("g2", 0.0)];
    for mechanism in mechanisms() {
        let found = shares(&spec, mechanism);
        assert_eq!(found[0], [0.0, 0.0], "{mechanism}");
        near(found[1].iter().sum(), 16.0, "all goes to the other");
    }
}

#[test]
fn what_cannot_be_kept_is_refused_with_its_place() {
    type Edit = fn(&mut ProblemSpec);
    let cases: [(Edit, Field, &str); 6] = [
        (
            |s| {
                s.tenants[0].guarantee = vec![on("g2", 5.0)];
                s.tenants[1].guarantee = vec![on("g2", 4.0)];
            },
            Field::TenantGuarantee(1),
            "guarantees of `g2` add up to 9, and there are 8",
        ),
        (
            |s| {
                s.tenants[1].guarantee = vec![on("g1", 2.0)];
                s.tenants[1].limit = vec![on("g1", 1.0)];
            },
            Field::TenantGuarantee(1),
            "tenant `u2` is guaranteed 2 of `g1`, and its limit there is 1",
        ),
        (
            |s| s.tenants[0].limit = vec![on("g1", f64::NAN)],
            Field::TenantLimit(0),
            "tenant `u1` has limit NaN on `g1`",
        ),
        (
            |s| s.tenants[0].guarantee = vec![on("g1", -1.0)],
            Field::TenantGuarantee(0),
            "tenant `u1` has guarantee -1 on `g1`",
        ),
        (
            |s| s.tenants[0].guarantee = vec![on("h100", 1.0)],
            Field::TenantGuarantee(0),
            "tenant `u1` has a guarantee for `h100`, which is not a gpu type here",
        ),
        (
            |s| s.tenants[0].limit = vec![on("g1", 1.0), on("g1", 2.0)],
            Field::TenantLimit(0),
            "tenant `u1` has two limits for `g1`",
        ),
    ];
    for (edit, field, message) in cases {
        let mut spec = two();
        edit(&mut spec);
        let errors = spec.validate().expect_err(message).0;
        assert_eq!((&errors[0].field, errors[0].message.as_str()), (&field, message));
        assert!(!errors[0].hint.is_empty());
    }
}

/// Guarantees and limits for some tenants, drawn from a seed; a guarantee is within the limit, all of them within the counts.
fn with_promises(spec: &ProblemSpec, seed: u64) -> ProblemSpec {
    let mut state = seed;
    let mut real = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut spec = spec.clone();
    let mut free: Vec<f64> = spec.gpus.iter().map(|g| g.count).collect();
    for tenant in &mut spec.tenants {
        for (j, gpu) in spec.gpus.iter().enumerate() {
            let guarantee = if real() < 0.3 { real() * free[j] * 0.7 } else { 0.0 };
            if guarantee > 0.0 {
                free[j] -= guarantee;
                tenant.guarantee.push((gpu.name.clone(), guarantee));
            }
            if real() < 0.3 {
                let limit = guarantee + real() * gpu.count * 0.6;
                tenant.limit.push((gpu.name.clone(), limit));
            }
        }
    }
    spec
}

fn tenant_share(problem: &Problem, shares: &oef_core::Shares, t: TenantId, gpu: TypeId) -> f64 {
    shares.of_tenant(problem, t)[gpu.0]
}

proptest! {
    #![proptest_config(common::cases(96))]

    #[test]
    fn guarantees_and_limits_hold_within_counts_and_demands(
        spec in problems(ALL, Size::MIDDLE), seed in any::<u64>(),
    ) {
        let spec = with_promises(&spec, seed);
        for mechanism in mechanisms() {
            let problem = spec.validate().expect("a valid problem");
            let found = solve(&problem, mechanism, &Options::default()).expect("an answer");
            let usable = problem.usable_guarantees();
            for t in problem.tenant_ids() {
                for gpu in (0..problem.types().len()).map(TypeId) {
                    let has = tenant_share(&problem, &found.shares, t, gpu);
                    let least = tenant_share(&problem, &usable, t, gpu);
                    holds(has >= least * (1.0 - 1e-9), &spec, || format!("{mechanism}: {has} < {least}"));
                    let limit = problem.tenants()[t.0].limit_on(gpu).unwrap_or(f64::INFINITY);
                    holds(has <= limit + 1e-9, &spec, || format!("{mechanism}: {has} > {limit}"));
                }
            }
            let certificate = audit(&problem, &found);
            let c = &certificate;
            holds(
                c.capacity.holds && c.demand.holds && c.guarantee.holds && c.limit.holds,
                &spec,
                || format!("{mechanism}: {certificate:?}"),
            );
        }
    }

    /// What a mechanism promises holds for the problem beyond the guarantees, and the certificate is about it.
    #[test]
    fn the_promises_of_the_mechanism_hold_beyond(
        spec in problems(&[Family::Ordered, Family::General, Family::Tied, Family::Demand], Size::MIDDLE),
        seed in any::<u64>(),
    ) {
        let spec = with_promises(&spec, seed);
        for mechanism in [Mechanism::Cooperative, Mechanism::Nash] {
            let problem = spec.validate().expect("a valid problem");
            let found = solve(&problem, mechanism, &Options::default()).expect("an answer");
            let certificate = audit(&problem, &found);
            let c = &certificate;
            let text = || format!("{mechanism}: {certificate:#?}");
            if found.solver.status == oef_core::Status::Optimal {
                holds(c.envy_free.holds && c.sharing_incentive.holds, &spec, text);
                holds(mechanism != Mechanism::Nash || c.pareto_efficient.holds, &spec, text);
            }
            match beyond(&problem, &found) {
                None => prop_assert!(!problem.has_guarantees_or_limits() && !c.beyond),
                Some((left, rest)) => {
                    prop_assert!(c.beyond);
                    // The mechanism's own answer to what is left is what lies beyond.
                    let again = solve(&left, mechanism, &Options::default()).expect("an answer");
                    for t in left.tenant_ids() {
                        let (a, b) = (again.shares.throughput(&left, t), rest.throughput(&left, t));
                        holds((a - b).abs() <= 1e-6 * (1.0 + a.abs()), &spec, || format!("{mechanism}: {a}, {b}"));
                    }
                }
            }
        }
    }

    /// A limit that cannot bind and a guarantee of nothing change no share.
    #[test]
    fn promises_of_no_consequence_change_nothing(spec in problems(ALL, Size::MIDDLE)) {
        let mut idle = spec.clone();
        for tenant in &mut idle.tenants {
            tenant.limit = spec.gpus.iter().map(|g| (g.name.clone(), g.count + 1.0)).collect();
            tenant.guarantee = spec.gpus.iter().map(|g| (g.name.clone(), 0.0)).collect();
        }
        for mechanism in mechanisms() {
            let (plain, with) = (spec.validate().unwrap(), idle.validate().unwrap());
            let plain = solve(&plain, mechanism, &Options::default()).unwrap();
            let with = solve(&with, mechanism, &Options::default()).unwrap();
            prop_assert_eq!(plain.shares, with.shares);
        }
    }

    /// A problem that was written down with its guarantees is the same problem.
    #[test]
    fn a_problem_is_described_with_its_guarantees(
        spec in problems(ALL, Size::MIDDLE), seed in any::<u64>(),
    ) {
        let problem = with_promises(&spec, seed).validate().expect("a valid problem");
        let again = ProblemSpec::from(&problem).validate().expect("a valid problem");
        for (a, b) in problem.tenants().iter().zip(again.tenants()) {
            for gpu in (0..problem.types().len()).map(TypeId) {
                prop_assert_eq!(a.guarantee_on(gpu), b.guarantee_on(gpu));
                prop_assert_eq!(a.limit_on(gpu), b.limit_on(gpu));
            }
        }
    }
}
