//! Bounds on the gain from prices, by weak duality, and prices that may give a good one.
//!
//! For given prices p, trader i contributes the least of D_i q - s_i u_i over q >= 0, where
//! s_i(q) = min_j (p_j + q) / W_ij must be at least 1; without a demand q = 0. The bound is valid for
//! any p and any q, so neither has to be found exactly.

use super::exchange::Exchange;

/// An upper bound on the gain, from the best multiple of the given prices; infinite where these prices
/// prove nothing.
pub(super) fn bound(exchange: &Exchange, prices: &[f64]) -> f64 {
    let usable =
        prices.len() == exchange.types.len() && prices.iter().all(|p| p.is_finite() && *p >= 0.0);
    if !usable || exchange.traders() == 0 {
        return if exchange.traders() == 0 { 0.0 } else { f64::INFINITY };
    }
    // Without demands the bound grows with the multiple: the least that makes every s_i >= 1 is best.
    // With demands q can take over for some, so the multiple that serves the others is tried as well,
    // and the prices as they are.
    let free = multiple(exchange, prices, false);
    let all = multiple(exchange, prices, true);
    let mut least = f64::INFINITY;
    for factor in [free, all, free.max(1.0)] {
        if factor.is_finite() && factor > 0.0 {
            let scaled: Vec<f64> = prices.iter().map(|p| p * factor).collect();
            least = least.min(bound_at(exchange, &scaled));
        }
    }
    least.max(0.0)
}

/// The least multiple of the prices with which every type is worth its price to nobody at a loss:
/// s_i >= 1, for the traders without a demand, or for all.
fn multiple(exchange: &Exchange, prices: &[f64], all: bool) -> f64 {
    let mut factor = 0.0_f64;
    for i in (0..exchange.traders()).filter(|&i| all || exchange.demand[i].is_none()) {
        for (w, p) in exchange.values_of(i).iter().zip(prices).filter(|(w, _)| **w > 0.0) {
            factor = factor.max(w / p);
        }
    }
    if factor > 0.0 { factor } else { 1.0 }
}

fn bound_at(exchange: &Exchange, prices: &[f64]) -> f64 {
    let worth: f64 = prices.iter().zip(&exchange.capacity).map(|(p, m)| p * m).sum();
    let traders: f64 = (0..exchange.traders()).map(|i| trader_term(exchange, i, prices)).sum();
    worth + traders
}

/// The least of D q - s(q) u, by bisection on its slope.
fn trader_term(exchange: &Exchange, trader: usize, prices: &[f64]) -> f64 {
    let floor = exchange.floor[trader];
    let Some(demand) = exchange.demand[trader] else {
        return -best_rate(exchange, trader, prices, 0.0).0 * floor;
    };
    // Value and slope at q; the slope grows with q.
    let at = |q: f64| {
        let (rate, growth) = best_rate(exchange, trader, prices, q);
        (demand * q - rate * floor, demand - growth * floor)
    };
    let mut low = 0.0_f64;
    for (w, p) in exchange.values_of(trader).iter().zip(prices) {
        low = low.max(w - p);
    }
    let mut high =
        low + prices.iter().fold(0.0_f64, |a, p| a.max(*p)).max(low).max(f64::MIN_POSITIVE);
    // A trader that makes the most of its demand has slope 0 for ever: rounding must not decide.
    let flat = -demand * 1e-12;
    let mut least = at(low).0;
    if at(low).1 >= flat {
        return least;
    }
    for _ in 0..DOUBLINGS {
        if at(high).1 >= flat {
            break;
        }
        high *= 2.0;
    }
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (low + high);
        if at(middle).1 >= flat { high = middle } else { low = middle }
    }
    least = least.min(at(low).0).min(at(high).0);
    least
}

/// Enough to reach any q that speedups between 1e-9 and 1e9 can ask for.
const DOUBLINGS: usize = 80;
/// Halves the interval down to neighbouring doubles.
const BISECTIONS: usize = 90;

/// s_i(q) = min_j (p_j + q) / W_ij, and how it grows with q.
fn best_rate(exchange: &Exchange, trader: usize, prices: &[f64], q: f64) -> (f64, f64) {
    let mut best = (f64::INFINITY, 0.0);
    for (&w, &p) in exchange.values_of(trader).iter().zip(prices) {
        if w > 0.0 {
            let rate = (p + q) / w;
            if rate < best.0 {
                best = (rate, 1.0 / w);
            }
        }
    }
    best
}

/// Prices that support what is held, if any do. A trader that holds type j and could use type h
/// supports p with p_j / W_ij <= p_h / W_ih, that is log p_j - log p_h <= log (W_ij / W_ih): a system
/// of difference constraints between the types, solved as shortest paths. Traders at their demand
/// are left out: their q gives them room.
pub(super) fn supporting_prices(exchange: &Exchange) -> Vec<f64> {
    let k = exchange.types.len();
    let mut limit = vec![f64::INFINITY; k * k];
    for i in 0..exchange.traders() {
        let (w, x) = (exchange.values_of(i), &exchange.held[i * k..][..k]);
        let used: f64 = x.iter().sum();
        if exchange.demand[i].is_some_and(|d| used >= d * (1.0 - HELD)) {
            continue;
        }
        for j in (0..k).filter(|&j| w[j] * x[j] > HELD * exchange.floor[i]) {
            for h in (0..k).filter(|&h| w[h] > 0.0) {
                limit[j * k + h] = limit[j * k + h].min(w[j] / w[h]);
            }
        }
    }
    limit.iter_mut().for_each(|ratio| *ratio = ratio.ln());
    let mut log_price = vec![0.0_f64; k];
    for _ in 0..k {
        for j in 0..k {
            for h in 0..k {
                log_price[j] = log_price[j].min(log_price[h] + limit[j * k + h]);
            }
        }
    }
    log_price.into_iter().map(f64::exp).collect()
}

/// A holding that makes less than this part of the trader's throughput says nothing about prices; the
/// bound counts it all the same.
const HELD: f64 = 1e-9;
