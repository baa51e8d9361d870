//! The audit on results whose properties are known.

use super::*;
use crate::mechanism::{Mechanism, Outcome, SolverReport, Status};
use crate::problem::{Problem, ProblemSpec};
use crate::shares::{Shares, equal_split};
use crate::{TenantId, TypeId, WorkloadId};
use proptest::prelude::*;
use proptest::strategy::ValueTree;

/// An outcome with these shares and no word from a solver.
pub(crate) fn outcome(problem: &Problem, rows: &[&[f64]]) -> Outcome {
    let mut shares = Shares::zero(problem);
    for (l, row) in rows.iter().enumerate() {
        for (j, &gpus) in row.iter().enumerate() {
            shares.set(WorkloadId(l), TypeId(j), gpus);
        }
    }
    let solver = SolverReport {
        status: Status::Optimal,
        method: "by hand".into(),
        gap: 0.0,
        canonical: true,
        iterations: 0,
    };
    Outcome {
        mechanism: Mechanism::MaxMin,
        shares,
        first: None,
        prices: Vec::new(),
        trades: Vec::new(),
        solver,
    }
}

fn problem(counts: &[f64], rows: &[&[f64]]) -> Problem {
    ProblemSpec::from_matrix(counts, rows).validate().unwrap()
}

fn near(found: f64, wanted: f64) -> bool {
    (found - wanted).abs() <= 1e-6 * wanted.abs().max(1.0)
}

/// The paper's problems and shares, and what holds of them: EF, SI, PE, adjacent.
#[test]
fn known_results_have_their_known_properties() {
    type Rows<'a> = &'a [&'a [f64]];
    type Case<'a> = (&'a str, &'a [f64], Rows<'a>, Rows<'a>, [bool; 4]);
    let w3: Rows = &[&[1.0, 2.0], &[1.0, 3.0], &[1.0, 4.0]];
    let w2: Rows = &[&[1.0, 2.0], &[1.0, 5.0]];
    let third = 1.0 / 3.0;
    let equal: Rows = &[&[third, third], &[third, third], &[third, third]];
    let cases: [Case; 6] = [
        (
            "cooperative",
            &[1.0, 1.0],
            w3,
            &[&[1.0, 0.0], &[0.0, 0.5], &[0.0, 0.5]],
            [true, true, true, true],
        ),
        (
            "efficiency",
            &[1.0, 1.0],
            w3,
            &[&[1.0, 0.0], &[0.0, 0.0], &[0.0, 1.0]],
            [false, false, true, true],
        ),
        ("max-min", &[1.0, 1.0], w3, equal, [true, true, false, true]),
        ("cooperative", &[1.0, 1.0], w2, &[&[1.0, 0.25], &[0.0, 0.75]], [true, true, true, true]),
        (
            "noncooperative",
            &[1.0, 1.0],
            w2,
            &[&[1.0, 4.0 / 7.0], &[0.0, 3.0 / 7.0]],
            [false, false, true, true],
        ),
        ("idle", &[1.0, 1.0], w2, &[&[0.5, 0.5], &[0.25, 0.5]], [false, false, false, true]),
    ];
    for (name, counts, w, x, wanted) in cases {
        let problem = problem(counts, w);
        let found = audit(&problem, &outcome(&problem, x));
        let holds = [
            found.envy_free.holds,
            found.sharing_incentive.holds,
            found.pareto_efficient.holds,
            found.adjacent.holds,
        ];
        assert_eq!(holds, wanted, "{name} on {w:?}: {found:?}");
        assert!(found.capacity.holds && found.demand.holds, "{name}");
        assert_ne!(found.pareto_efficient.proof, ParetoProof::BoundOnly, "{name}: {found:?}");
    }
}

#[test]
fn noncooperative_breaks_the_sharing_incentive_and_the_witness_says_by_how_much() {
    let problem = problem(&[1.0, 1.0], &[&[1.0, 2.0], &[1.0, 5.0]]);
    let found = audit(&problem, &outcome(&problem, &[&[1.0, 4.0 / 7.0], &[0.0, 3.0 / 7.0]]));
    assert!(near(found.sharing_incentive.worst, 5.0 / 7.0));
    let short = found.sharing_incentive.witness.unwrap();
    assert_eq!(short.tenant, TenantId(1));
    assert!(near(short.throughput, 15.0 / 7.0) && near(short.equal_split, 3.0));
    let envy = found.envy_free.witness.unwrap();
    assert_eq!((envy.envious, envy.envied), (TenantId(1), TenantId(0)));
    assert!(near(envy.own, 15.0 / 7.0) && near(envy.other, 1.0 + 20.0 / 7.0));
    assert!(near(found.envy_free.worst, (27.0 - 15.0) / 15.0));
}

/// The smallest instance on which cooperative is not Pareto efficient.
#[test]
fn cooperative_is_not_pareto_efficient_and_the_certificate_says_so() {
    let w: &[&[f64]] = &[&[1.0, 1.5, 2.0], &[1.0, 2.0, 3.5], &[1.0, 2.5, 4.5]];
    let problem = problem(&[1.0, 1.0, 1.0], w);
    let result =
        crate::solve(&problem, Mechanism::Cooperative, &crate::Options::default()).unwrap();
    let found = audit(&problem, &result);
    assert!(found.envy_free.holds && found.sharing_incentive.holds, "{found:?}");
    assert!(!found.pareto_efficient.holds && found.optimality.holds, "{found:?}");
    assert!((found.pareto_efficient.worst - 0.003401).abs() < 1e-5, "{found:?}");
}

#[test]
fn max_min_shares_can_be_improved_and_the_witness_shows_how() {
    let w: &[&[f64]] = &[&[1.0, 1.5, 2.0], &[1.0, 2.0, 3.5], &[1.0, 2.5, 4.5]];
    let problem = problem(&[1.0, 1.0, 1.0], w);
    let third = [1.0 / 3.0; 3];
    let result = outcome(&problem, &[&third, &third, &third]);
    let found = audit(&problem, &result).pareto_efficient;
    assert!(!found.holds && found.proof == ParetoProof::Program, "{found:?}");
    assert!(near(found.worst, found.bound), "{found:?}");
    let witness = found.witness.unwrap();
    let gain: f64 = witness.gains.iter().map(|(_, gain)| gain).sum();
    assert!(near(gain / result.shares.total(&problem), found.worst));
    for t in problem.tenant_ids() {
        assert!(
            witness.shares.throughput(&problem, t) >= result.shares.throughput(&problem, t) - 1e-9
        );
    }
}

/// Who holds as many GPUs as it can use and lacks a hair of its floor must swap, not take.
#[test]
fn a_gain_is_found_although_those_at_their_demand_can_take_nothing_more() {
    let w: &[&[f64]] = &[
        &[33.0, 44.0, 79.0, 171.0, 359.0, 736.0],
        &[33.0, 71.0, 81.0, 138.0, 294.0, 510.0],
        &[
            70.67738291522882,
            134.41220890212793,
            237.72274329731283,
            372.63276687202443,
            400.79758764467164,
            735.6244632397011,
        ],
    ];
    let mut spec = ProblemSpec::from_matrix(&[2.0, 1.0, 4.0, 2.5, 2.5, 2.0], w);
    spec.tenants[1].demand = Some(2.0);
    spec.tenants[2].demand = Some(1.0);
    spec.tenants[2].weight = 2.0;
    let problem = spec.validate().unwrap();
    let result =
        crate::solve(&problem, Mechanism::MaxMin, &crate::Options::default()).expect("a division");
    let found = audit(&problem, &result).pareto_efficient;
    assert!(found.proof == ParetoProof::Program && near(found.worst, found.bound), "{found:?}");
    assert!(found.witness.is_some() && found.worst > 0.001, "{found:?}");
}

#[test]
fn overuse_and_negative_shares_are_found() {
    let problem = problem(&[1.0, 1.0], &[&[1.0, 2.0], &[1.0, 5.0]]);
    let over = audit(&problem, &outcome(&problem, &[&[1.0, 0.5], &[0.5, 0.5]]));
    assert!(!over.capacity.holds && near(over.capacity.worst, 0.5));
    assert_eq!(over.capacity.witness.unwrap().gpu, TypeId(0));
    assert!(!over.pareto_efficient.holds);
    for bad in [-0.5, f64::NAN, f64::INFINITY] {
        let found = audit(&problem, &outcome(&problem, &[&[1.0, bad], &[0.0, 0.5]]));
        assert!(!found.capacity.holds && found.capacity.worst.is_finite(), "{bad}: {found:?}");
    }
}

#[test]
fn demand_counts_only_what_a_tenant_can_use() {
    let mut spec = ProblemSpec::from_matrix(&[4.0, 4.0], &[&[1.0, 2.0], &[1.0, 5.0]]);
    spec.tenants[0].demand = Some(1.0);
    let problem = spec.validate().unwrap();
    let result = outcome(&problem, &[&[0.0, 1.0], &[4.0, 3.0]]);
    let found = audit(&problem, &result);
    assert!(found.envy_free.holds && found.sharing_incentive.holds, "{found:?}");
    assert!(found.pareto_efficient.holds, "{found:?}");
    let over = audit(&problem, &outcome(&problem, &[&[1.0, 1.0], &[3.0, 3.0]])).demand;
    assert!(!over.holds && near(over.worst, 1.0));
    assert_eq!(over.witness.unwrap().tenant, TenantId(0));
}

#[test]
fn a_tenant_without_throughput_envies_by_a_finite_figure() {
    let problem = problem(&[1.0, 1.0], &[&[1.0, 2.0], &[1.0, 5.0]]);
    let found = audit(&problem, &outcome(&problem, &[&[0.0, 0.0], &[1.0, 1.0]]));
    // The other's bundle is worth 3, and the equal split 1.5.
    assert!(near(found.envy_free.worst, 2.0), "{found:?}");
    assert_eq!(found.sharing_incentive.worst, 0.0);
    assert!(found.pareto_efficient.holds, "{found:?}");
    let matrix = envy_matrix(&problem, &outcome(&problem, &[&[0.0, 0.0], &[1.0, 1.0]]).shares);
    assert_eq!(matrix.row(TenantId(0)), [1.0, 2.0]);
    assert_eq!(matrix.row(TenantId(1)), [0.0, 1.0]);
}

#[test]
fn a_tenant_that_can_only_run_on_absent_types_is_not_wronged() {
    let problem = problem(&[1.0, 0.0], &[&[1.0, 0.0], &[0.0, 5.0]]);
    let found = audit(&problem, &outcome(&problem, &[&[1.0, 0.0], &[0.0, 0.0]]));
    assert!(found.envy_free.holds && found.sharing_incentive.holds, "{found:?}");
    assert!(found.pareto_efficient.holds && found.sharing_incentive.worst == 1.0, "{found:?}");
}

#[test]
fn a_skipped_type_is_named() {
    let problem = problem(&[1.0, 1.0, 1.0], &[&[1.0, 2.0, 3.0], &[1.0, 2.5, 4.0]]);
    let found = audit(&problem, &outcome(&problem, &[&[1.0, 0.0, 0.5], &[0.0, 1.0, 0.5]])).adjacent;
    let witness = found.witness.unwrap();
    assert!(!found.holds && found.worst == 0.5);
    assert_eq!((witness.tenant, witness.skipped), (TenantId(0), TypeId(1)));
    assert_eq!(witness.held, [TypeId(0), TypeId(2)]);
}

/// Problems with everything in them: weights, demands, several workloads, types that some cannot use,
/// and speedups over `decades` powers of ten.
fn any_problem(decades: f64) -> impl Strategy<Value = Problem> {
    (1_usize..5, 1_usize..7).prop_flat_map(move |(k, n)| {
        let speed = prop_oneof![
            4 => (-decades..decades).prop_map(|e| 10_f64.powf(e)),
            2 => (1..4_u8).prop_map(f64::from),
            1 => Just(0.0),
        ];
        let workload = prop::collection::vec(speed, k);
        let tenant = (
            prop::collection::vec(workload, 1..3),
            0.2..5.0,
            prop::option::weighted(0.3, 0.1..8.0),
        );
        let counts = prop::collection::vec(prop_oneof![4 => 0.5..8.0, 1 => Just(0.0)], k);
        (counts, prop::collection::vec(tenant, n)).prop_filter_map("valid", |(counts, tenants)| {
            let mut spec = ProblemSpec::from_matrix(&counts, &[]);
            for (t, (rows, weight, demand)) in tenants.into_iter().enumerate() {
                let names: Vec<String> = spec.gpus.iter().map(|g| g.name.clone()).collect();
                let mut tenant = crate::TenantSpec::simple(format!("u{t}"), Vec::new());
                (tenant.weight, tenant.demand) = (weight, demand);
                tenant.workloads = (rows.into_iter().enumerate())
                    .map(|(l, row)| crate::WorkloadSpec {
                        name: format!("w{l}"),
                        weight: 1.0,
                        demand: None,
                        throughput: names.iter().cloned().zip(row).collect(),
                        single: Vec::new(),
                    })
                    .collect();
                spec.tenants.push(tenant);
            }
            spec.validate().ok()
        })
    })
}

/// Feasible shares: random parts of each type, cut down to the demands.
fn with_shares(decades: f64) -> impl Strategy<Value = (Problem, Outcome)> {
    any_problem(decades).prop_flat_map(|problem| {
        let (n, k) = (problem.workloads().len(), problem.types().len());
        let parts = prop::collection::vec(prop_oneof![Just(0.0), 0.0..1.0], n * k);
        (Just(problem), parts).prop_map(move |(problem, parts)| {
            let mut rows: Vec<Vec<f64>> = parts.chunks(k).map(<[f64]>::to_vec).collect();
            for j in 0..k {
                let sum: f64 = rows.iter().map(|r| r[j]).sum();
                let capacity = problem.types()[j].capacity;
                rows.iter_mut().for_each(|r| r[j] *= capacity / sum.max(1.0));
            }
            for (row, workload) in rows.iter_mut().zip(problem.workloads()) {
                let used: f64 = row.iter().sum();
                let demand = workload.demand.unwrap_or(f64::INFINITY);
                if used > demand {
                    row.iter_mut().for_each(|x| *x *= demand / used);
                }
            }
            let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
            let outcome = outcome(&problem, &rows);
            (problem, outcome)
        })
    })
}

/// The verdict on Pareto efficiency stands on what anybody can check: the witness by counting, and the
/// figure by the bound that meets it.
fn pareto_is_sound(problem: &Problem, result: &Outcome) -> Result<(), TestCaseError> {
    let found = pareto_efficiency(problem, &result.shares, &result.prices);
    let decided = found.proof != ParetoProof::BoundOnly;
    prop_assert!(found.worst <= found.bound && found.bound.is_finite(), "{:?}", found);
    prop_assert!(!decided || found.holds == found.witness.is_none(), "{:?}", found);
    let Some(witness) = found.witness else { return Ok(()) };
    prop_assert!(!found.holds);
    prop_assert!(!decided || found.bound - found.worst <= 1e-6 * (1.0 + found.bound));
    for (j, gpu) in problem.types().iter().enumerate() {
        prop_assert!(witness.shares.used(TypeId(j)) <= gpu.capacity * (1.0 + 1e-9));
    }
    for (l, workload) in problem.workloads().iter().enumerate() {
        let throughput = |shares: &Shares| shares.workload_throughput(problem, WorkloadId(l));
        let (now, then) = (throughput(&result.shares), throughput(&witness.shares));
        prop_assert!(then >= now * (1.0 - 1e-9), "{} loses: {now} {then}", workload.name);
        let used: f64 = witness.shares.of_workload(WorkloadId(l)).iter().sum();
        prop_assert!(used <= workload.demand.unwrap_or(f64::MAX) * (1.0 + 1e-9));
    }
    Ok(())
}

/// Hard instances may end with bounds only; they must be rare.
#[test]
fn pareto_efficiency_is_nearly_always_decided() {
    for (decades, open_max) in [(1.0, 1), (3.0, 5)] {
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let mut open = 0;
        for _ in 0..1000 {
            let (problem, result) = with_shares(decades).new_tree(&mut runner).unwrap().current();
            let found = pareto_efficiency(&problem, &result.shares, &[]);
            open += usize::from(found.proof == ParetoProof::BoundOnly);
        }
        assert!(open <= open_max, "{open} of 1000 over {decades} decades");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn pareto_verdicts_can_be_checked_by_hand((problem, result) in with_shares(1.0)) {
        pareto_is_sound(&problem, &result)?;
    }

    #[test]
    fn pareto_verdicts_can_be_checked_over_a_huge_range((problem, result) in with_shares(4.4)) {
        pareto_is_sound(&problem, &result)?;
    }

    #[test]
    fn the_worst_envy_is_the_largest_of_the_matrix((problem, result) in with_shares(1.0)) {
        let matrix = envy_matrix(&problem, &result.shares);
        let found = audit(&problem, &result).envy_free;
        let largest = problem.tenant_ids().flat_map(|t| matrix.row(t).to_vec()).fold(1.0, f64::max);
        let own = |t: TenantId| result.shares.throughput(&problem, t);
        if problem.tenant_ids().all(|t| own(t) > 1e-9) {
            prop_assert!(near(found.worst, largest - 1.0), "{} {}", found.worst, largest);
        }
        if let Some(w) = found.witness {
            prop_assert!(near(w.other, matrix.ratio(w.envious, w.envied) * w.own) || w.own <= 1e-9);
        }
    }

    #[test]
    fn equal_splits_are_those_of_each_tenant(problem in any_problem(2.0)) {
        for (t, split) in problem.tenant_ids().zip(equal_splits(&problem)) {
            prop_assert!(near(split, equal_split(&problem, t)));
        }
    }
}
