//! The paper's trades, and what no trade may do.

use super::super::testing::{
    check_against_max_min, large_problem, no_order_matters, problem, random_problem, twins_agree,
};
use crate::shares::equal_split;
use crate::{Mechanism, Options, Problem, Shares, Trade, solve};
use proptest::prelude::*;

fn trade(problem: &Problem) -> (Shares, Vec<Trade>) {
    let outcome = solve(problem, Mechanism::GandivaFair, &Options::default()).unwrap();
    (outcome.shares, outcome.trades)
}

fn max_min(problem: &Problem) -> Shares {
    solve(problem, Mechanism::MaxMin, &Options::default()).unwrap().shares
}

fn prices(text: &str) -> Vec<f64> {
    trade(&problem(text)).1.iter().map(|t| t.price).collect()
}

fn throughputs(text: &str) -> Vec<f64> {
    let problem = problem(text);
    let shares = trade(&problem).0;
    problem.tenant_ids().map(|t| shares.throughput(&problem, t)).collect()
}

fn close(got: &[f64], want: &[f64]) -> bool {
    got.len() == want.len()
        && got.iter().zip(want).all(|(g, w)| (g - w).abs() <= 1e-9 * w.abs().max(1.0))
}

#[test]
fn worked_examples() {
    let three = [1.0 + 8.0 / 45.0, 1.4, 16.0 / 9.0];
    let cases: [(&str, &str, &[f64], &[f64]); 9] = [
        ("the paper's three tenants", "1 1 | a: 1 2 | b: 1 3 | c: 1 4", &[3.0, 2.5], &three),
        // What a truly gets: 1 slow GPU and 1 - 4/9 - 1/3 - 1/8.7 fast ones, which it values at 2.8.
        (
            "the lie 2.8 raises the second price",
            "1 1 | a: 1 2.8 | b: 1 3 | c: 1 4",
            &[3.0, 2.9],
            &[1.0 + 2.8 * (2.0 / 9.0 - 1.0 / 8.7), 3.0 * (1.0 / 3.0 + 1.0 / 8.7), 16.0 / 9.0],
        ),
        (
            "two tenants meet in the middle",
            "1 1 | a: 1 2 | b: 1 4",
            &[3.0],
            &[0.5 + 0.5 + 2.0 / 3.0, 8.0 / 3.0],
        ),
        (
            "a tenant as slow as the seller sets no price",
            "1 1 | a: 1 2 | b d1.9: 1 2 | c: 1 4",
            &[3.0],
            &[1.0, 10.0 / 9.0, 16.0 / 9.0],
        ),
        ("nobody gains, nobody trades", "1 1 | a: 1 2 | b: 1 2", &[], &[1.5, 1.5]),
        ("one tenant", "1 1 | a: 1 2", &[], &[3.0]),
        ("one type", "2 | a: 1 | b: 1", &[], &[1.0, 1.0]),
        ("no slow GPUs to pay with", "0 2 | a: 1 2 | b: 1 4", &[], &[2.0, 4.0]),
        ("nothing is paid to one that cannot use it", "1 1 | a: 0 2 | b: 1 4", &[], &[2.0, 3.0]),
    ];
    for (what, text, want_prices, want) in cases {
        assert!(close(&prices(text), want_prices), "{what}: prices {:?}", prices(text));
        assert!(close(&throughputs(text), want), "{what}: {:?}", throughputs(text));
    }
}

#[test]
fn alike_tenants_trade_as_one_and_each_trade_is_listed() {
    let problem = problem("2 2 | a: 1 2 | b: 1 4 | c: 1 2 | d: 1 4");
    let (shares, trades) = trade(&problem);
    let amounts: Vec<f64> = trades.iter().map(|t| t.amount).collect();
    assert!(close(&amounts, &[1.0 / 6.0, 1.0 / 6.0]), "{trades:?}");
    twins_agree(&problem, &shares);
}

#[test]
fn a_seller_is_paid_no_more_than_its_demand_allows() {
    // Both hold half of each type; a could use 1.2 GPUs, so it sells a tenth of a fast GPU for 0.3.
    let problem = problem("1 1 | a d1.2: 1 2 | b: 1 4");
    let (shares, trades) = trade(&problem);
    assert!(close(&[trades[0].amount], &[0.1]), "{trades:?}");
    let a: f64 = shares.of_tenant(&problem, crate::TenantId(0)).iter().sum();
    assert!(close(&[a], &[1.2]));
}

#[test]
fn the_pair_with_the_greatest_gap_trades_first() {
    let problem = problem("1 1 1 | a: 1 2 3 | b: 1 3 9");
    let (_, trades) = trade(&problem);
    assert_eq!((trades[0].slow.0, trades[0].fast.0), (0, 2));
    assert!(close(&[trades[0].price], &[6.0]));
}

#[test]
fn many_different_profiles() {
    for limited in [false, true] {
        let problem = large_problem(1_000, 10, limited);
        let shares = trade(&problem).0;
        let (before, after) = (max_min(&problem).total(&problem), shares.total(&problem));
        assert!(after > before, "{after} after trading, {before} before");
        for t in problem.tenant_ids() {
            let (own, split) = (shares.throughput(&problem, t), equal_split(&problem, t));
            assert!(own >= split * (1.0 - 1e-9), "{own} below the equal split {split}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn neither_side_loses_and_no_order_matters(seed: u64) {
        let problem = random_problem(seed);
        let (shares, trades) = trade(&problem);
        check_against_max_min(&problem, &shares, &max_min(&problem), seed);
        twins_agree(&problem, &shares);
        for t in &trades {
            let ratio = |l: crate::WorkloadId| {
                let w = &problem.workloads()[l.0].speedup;
                w[t.fast.0] / w[t.slow.0]
            };
            let (buyer, seller) = (ratio(t.buyer), ratio(t.seller));
            assert!(
                seller * (1.0 - 1e-9) <= t.price && t.price <= buyer * (1.0 + 1e-9),
                "seed {seed}: {t:?}"
            );
        }
        no_order_matters(&problem, &shares, seed, |other| {
            let (other_shares, other_trades) = trade(other);
            assert_eq!(trades.len(), other_trades.len(), "seed {seed}");
            other_shares
        });
    }
}
