//! `incentive` and `efficiency`: the most total throughput, with or without a floor for everybody,
//! then the max-min of throughput over equal split among the optima.

use super::levels::{Levelling, MarketState};
use super::lexicographic;
use super::master::{Goal, Master, Position};
use super::smooth::Smooth;
use crate::allocation::Allocation;
use crate::instance::Instance;
use crate::lp::LpError;

/// Relative difference below which a type is as good as the best for a row.
const TIED: f64 = 1e-9;

/// `max sum_l w_l.x_l` with `sum_l x_l <= m`: each type to the rows that are fastest on it.
pub(crate) fn efficiency(
    instance: &Instance,
    stop: &dyn Fn() -> bool,
) -> Result<Allocation, LpError> {
    let (n, k) = (instance.rows(), instance.width());
    let mut price = vec![0.0_f64; k];
    for l in 0..n {
        for (p, w) in price.iter_mut().zip(instance.profile(l)) {
            *p = p.max(*w);
        }
    }
    share_surplus(instance, &price, &vec![0.0; n], stop)
}

/// `max sum_l w_l.x_l` with `w_l.x_l >= w_l.e_l` and `sum_l x_l <= m`.
pub(crate) fn incentive(
    instance: &Instance,
    stop: &dyn Fn() -> bool,
) -> Result<Allocation, LpError> {
    let (n, k) = (instance.rows(), instance.width());
    let floors: Vec<f64> = (0..n).map(|l| instance.equal_split(l)).collect();
    let cost: Vec<f64> = (0..n * k)
        .map(|e| floors[e / k] / (instance.speedup[e] * instance.capacity[e % k]))
        .collect();
    let all: f64 = floors.iter().sum();
    let worth: Vec<f64> = floors.iter().map(|f| f / all).collect();
    let rows: Vec<usize> = (0..n).collect();
    let master =
        Master { goal: Goal::Total, cost: &cost, types: k, rows: &rows, held: &[], worth: &worth };
    let mut position = Position::default();
    if n <= EXPLICIT_MAX {
        master.classify_all_explicit(&mut position);
        master.solve(&mut position, stop)?;
    } else {
        let floor = best_use(instance, all);
        let smooth =
            Smooth { goal: Goal::Total, cost: &cost, types: k, rows: &rows, floor: &floor };
        let (price, doubt) = smooth.search(stop);
        master.solve_near(&price, doubt, &mut position, stop)?;
    }
    let price: Vec<f64> = (0..k).map(|j| position.price[j] * all / instance.capacity[j]).collect();
    let mut allocation = share_surplus(instance, &price, &floors, stop)?;
    allocation.pivots += position.pivots;
    Ok(allocation)
}

/// Rows up to which the master starts with every row explicit.
const EXPLICIT_MAX: usize = 40;

/// What a type's whole capacity adds to the total where it adds most: nobody sells below that.
fn best_use(instance: &Instance, all: f64) -> Vec<f64> {
    let best = |j: usize| (0..instance.rows()).map(|l| instance.profile(l)[j]).fold(0.0, f64::max);
    (0..instance.width()).map(|j| best(j) * instance.capacity[j] / all).collect()
}

/// Among the optima at these prices: rows buy only where their value for money is best; those that
/// would pay more than a GPU's worth of total keep to their floor, the others rise together.
fn share_surplus(
    instance: &Instance,
    price: &[f64],
    floors: &[f64],
    stop: &dyn Fn() -> bool,
) -> Result<Allocation, LpError> {
    let rate: Vec<f64> = (0..instance.rows())
        .map(|l| instance.profile(l).iter().zip(price).map(|(w, p)| w / p).fold(0.0, f64::max))
        .collect();
    let held: Vec<bool> = rate.iter().map(|&r| r < 1.0 - TIED).collect();
    // A row that is held at nothing takes no part.
    let target: Vec<f64> = (0..instance.rows())
        .map(|l| if held[l] { floors[l] } else { instance.equal_split(l) })
        .collect();
    let tied = |l: usize, j: usize| instance.profile(l)[j] >= rate[l] * price[j] * (1.0 - TIED);
    let levelling = Levelling { instance, target: &target, held: &held, allowed: Some(&tied) };
    let mut allocation = lexicographic(&levelling, &mut MarketState::default(), stop)?;
    let total: f64 = instance.speedup.iter().zip(&allocation.x).map(|(w, x)| w * x).sum();
    // Weak duality: total <= m.p - sum_l floor_l (1 / rate_l - 1).
    let spent: f64 = price.iter().zip(&instance.capacity).map(|(p, m)| p * m).sum();
    let floor: f64 = floors.iter().zip(&rate).map(|(f, r)| f * (1.0 / r.min(1.0) - 1.0)).sum();
    allocation.gap = ((spent - floor - total) / total).abs();
    allocation.price = price.to_vec();
    allocation.method = "column generation, levels on the optimal face";
    Ok(allocation)
}
