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

/// The ways to follow the path, one after another until one gets to its end.
const PACES: [Pace; 4] = [Pace::Long, Pace::Close(0.2), Pace::Close(0.01), Pace::Close(1e-3)];
/// Where the path is left for the equations of its end; closer to it if that did not do.
const MU_END: [f64; 3] = [1e-12, 1e-14, 1e-16];
/// A stop before this gap is reached is a stop before any answer.
const GAP_MAX: f64 = 0.1;

/// Computes the shares of the rows of an instance, within capacities and demands.
pub(crate) fn solve(instance: &Instance, stop: &dyn Fn() -> bool) -> Result<Allocation, LpError> {
    let market = Market::new(instance);
    let mut best: Option<Allocation> = None;
    let mut steps = 0;
    for pace in PACES {
        let mut walk = Walk::new(&market);
        for mu in MU_END {
            let arrived = walk.go(pace, mu, stop);
            for (price, y) in answers(&market, &walk) {
                let pivots = steps + walk.steps;
                let found = Allocation { pivots, ..allocation(instance, &market, &price, &y) };
                let found = Allocation { method: method(pace), ..found };
                if best.as_ref().is_none_or(|best| found.gap < best.gap) {
                    best = Some(found);
                }
            }
            let gap = best.as_ref().map_or(f64::INFINITY, |best| best.gap);
            if gap <= OPTIMALITY_TOLERANCE {
                return best.ok_or(LpError::NotConverged);
            }
            if stop() {
                return best.filter(|_| gap <= GAP_MAX).ok_or(LpError::Stopped);
            }
            if !arrived {
                break;
            }
        }
        steps += walk.steps;
    }
    best.ok_or(LpError::NotConverged)
}

/// What the report says of a walk.
fn method(pace: Pace) -> &'static str {
    match pace {
        Pace::Long => "central path of the market, then exact on its support",
        _ => "central path of the market through its turns, then exact on its support",
    }
}

/// Prices and bundles that a walk suggests, the best first: the sparse equilibrium at its end, the same with
/// bundles as they came, and its last point.
fn answers(market: &Market, walk: &Walk<'_>) -> Vec<(Vec<f64>, Vec<f64>)> {
    let mut found = Equilibrium::near(market, &walk.point);
    let mut answers = Vec::new();
    if found.settle() {
        let settled = (found.price.clone(), found.y.clone());
        vertex::make_sparse(&mut found);
        found.converge();
        answers.push((found.price, found.y));
        answers.push(settled);
    }
    answers.push((walk.point.price.clone(), walk.point.y.clone()));
    answers
}

/// Shares within capacities and demands, with what the prices prove of them.
fn allocation(instance: &Instance, market: &Market, price: &[f64], y: &[f64]) -> Allocation {
    let mut x = market.shares(y);
    instance.fit(&mut x);
    let gap = market.gap(price, &market.bundles(&x));
    let price = market.prices(instance, price, &x);
    let canonical = gap <= OPTIMALITY_TOLERANCE;
    Allocation { x, price, gap, canonical, pivots: 0, method: "" }
}
