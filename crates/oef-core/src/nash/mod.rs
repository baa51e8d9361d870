//! `nash`: the market with incomes by weight and with demands.
//!
//! An equilibrium is prices `p` and shares `x` with `sum_l x_l <= m` such that every row has a best bundle
//! among those that it can pay and use, `p.x_l <= weight_l` and `1.x_l <= demand_l`, the cheapest of the best,
//! and whatever has a price is sold out (Hylland and Zeckhauser; without demands Eisenberg and Gale, the
//! maximum of `sum_l weight_l log(w_l.x_l)`). Then
//!
//! - nobody envies: all choose from the same prices with the same income per weight;
//! - nobody is below what it can use of its equal split, which it can pay;
//! - it is Pareto efficient: whatever is at least as good for everybody and better for one costs more than
//!   all that is sold.
//!
//! There always is an equilibrium, with demands perhaps several. [`path`] follows the central path of these
//! conditions from prices at which nobody buys, where it is unique, to one of them; [`finish`] solves the
//! conditions exactly with the sets that the path ends with; [`vertex`] makes the bundles sparse; and
//! [`Market::gap`] says how far the shares are from an equilibrium at the prices, however they were found.

mod finish;
mod market;
mod newton;
mod path;
mod point;
mod vertex;

use crate::OPTIMALITY_TOLERANCE;
use crate::allocation::Allocation;
use crate::instance::Instance;
use crate::lp::LpError;
use finish::Equilibrium;
use market::Market;
use path::{Pace, Walk};
use point::MarketPoint;

/// The ways to follow the path, one after another until one gets to its end.
const PACES: [Pace; 4] = [Pace::Long, Pace::Close(0.2), Pace::Close(0.01), Pace::Close(1e-3)];
/// Where the path is left for the equations of its end; closer to it if that did not do.
const MU_END: [f64; 3] = [1e-12, 1e-14, 1e-16];
/// Shares that are farther than this from an equilibrium are no answer: the plain division, which nobody envies and
/// nobody loses by, is a better one.
const GAP_MAX: f64 = 0.01;

/// In the report, of a path along long steps and of one that keeps close: where the equations of its end were solved,
const EXACT: [&str; 2] = [
    "central path of the market, then exact on its support",
    "central path of the market through its turns, then exact on its support",
];
/// and where the point of the path itself is the answer.
const ON_THE_PATH: [&str; 2] = [
    "central path of the market, not made exact",
    "central path of the market through its turns, not made exact",
];

/// Computes the shares of the rows of an instance, within capacities and demands.
pub(crate) fn solve(instance: &Instance, stop: &dyn Fn() -> bool) -> Result<Allocation, LpError> {
    let market = Market::new(instance);
    let proven = |found: &Allocation| found.gap <= OPTIMALITY_TOLERANCE;
    let mut best: Option<Allocation> = None;
    let mut pivots = 0;
    for pace in PACES {
        let mut walk = Walk::new(&market);
        for mu in MU_END {
            let arrived = walk.go(pace, mu, stop);
            let report = |method: [&'static str; 2]| {
                let method = method[usize::from(pace != Pace::Long)];
                let closed = Allocation::closed_form(Vec::new(), Vec::new(), method);
                Allocation { pivots: pivots + walk.steps, ..closed }
            };
            let (exact, raw) = (report(EXACT), report(ON_THE_PATH));
            for (price, y) in equilibria(&market, &walk.point) {
                let found = allocation(instance, &market, &price, &y, &exact);
                if proven(&found) {
                    return Ok(found);
                }
                keep_better(&mut best, found);
            }
            let (price, y) = (&walk.point.price, &walk.point.y);
            keep_better(&mut best, allocation(instance, &market, price, y, &raw));
            if !arrived || stop() {
                break;
            }
        }
        let near = best.as_ref().is_some_and(|best| best.gap <= GAP_MAX);
        if best.as_ref().is_some_and(proven) || (stop() && near) {
            break;
        }
        if stop() {
            return Err(LpError::Stopped);
        }
        pivots += walk.steps;
    }
    best.filter(|best| best.gap <= GAP_MAX).ok_or(LpError::NotConverged)
}

fn keep_better(best: &mut Option<Allocation>, found: Allocation) {
    if best.as_ref().is_none_or(|best| found.gap < best.gap) {
        *best = Some(found);
    }
}

/// Prices and bundles of the equilibrium that a point is near to: sparse ones, and as they came.
fn equilibria(market: &Market, point: &MarketPoint) -> Vec<(Vec<f64>, Vec<f64>)> {
    let mut found = Equilibrium::near(market, point);
    if !found.settle() {
        return Vec::new();
    }
    let settled = (found.price.clone(), found.y.clone());
    vertex::make_sparse(&mut found);
    found.converge();
    vec![(found.price, found.y), settled]
}

/// Shares within capacities and demands, with what the prices prove of them.
fn allocation(
    instance: &Instance,
    market: &Market,
    price: &[f64],
    y: &[f64],
    report: &Allocation,
) -> Allocation {
    let mut x = market.shares(y);
    instance.fit(&mut x);
    let gap = market.gap(price, &market.bundles(&x));
    let price = market.prices(instance, price, &x);
    Allocation { x, price, gap, canonical: gap <= OPTIMALITY_TOLERANCE, ..report.clone() }
}
