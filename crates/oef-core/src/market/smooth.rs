//! Prices that are nearly right, by Newton's method on a smoothed dual.
//!
//! At prices `p` row `l` pays `q_l = min_j cost_lj p_j` for its target. The dual of the level program
//! is `min sum_j p_j / sum_l q_l(p)`, that of the total program `min sum_j p_j - sum_l q_l(p)` above
//! floors for the prices. Both are piecewise linear in `k` variables; with the choice of a type
//! softened by a temperature they are smooth, and the logarithms of the prices follow the minimum
//! while the temperature falls. A pass over the rows costs one product per entry: only rows that
//! hesitate need an exponential. Nothing rests on the result but the size of the master program.

use super::master::Goal;
use crate::linalg::solve_spd;

/// Temperatures fall by this factor.
const COOLING: f64 = 0.55;
/// The first temperature: prices may be off by a factor.
const HOT: f64 = 0.4;
/// From here on the whole problem is looked at, not a sample.
const WARM: f64 = 0.02;
/// Rows of the sample: its prices are good to a few per cent.
const SAMPLE: usize = 2_000;
/// Newton steps per temperature at most.
const STEPS: usize = 4;
/// The same for the total program: its floors rest on single rows, of which a sample knows little.
const STEPS_TOTAL: usize = 40;

#[derive(Clone, Copy)]
pub(super) struct Smooth<'a> {
    pub goal: Goal,
    /// Part of a type's capacity that a row needs for its target, rows in the order of `rows`.
    pub cost: &'a [f64],
    pub types: usize,
    pub rows: &'a [usize],
    /// Least prices (zeros for the level program).
    pub floor: &'a [f64],
}

impl Smooth<'_> {
    /// Prices from scratch, with the doubt that is left in them: the hot part of the way on a sample.
    pub fn search(&self, stop: &dyn Fn() -> bool) -> (Vec<f64>, f64) {
        let step = self.rows.len().div_ceil(SAMPLE);
        let rows: Vec<usize> = self.rows.iter().copied().step_by(step).collect();
        let sample = Smooth { rows: &rows, ..*self };
        let mut price = sample.first_guess();
        if step > 1 {
            // In the total program the targets of the sample stand for those of all.
            let scale = if self.goal == Goal::Total { step as f64 } else { 1.0 };
            let floor: Vec<f64> = self.floor.iter().map(|f| f / scale).collect();
            let sample = Smooth { floor: &floor, ..sample };
            sample.follow(&mut price, HOT, WARM, stop);
            for (p, f) in price.iter_mut().zip(self.floor) {
                *p = (*p * scale).max(*f);
            }
            self.follow(&mut price, WARM, self.cold(), stop);
        } else {
            self.follow(&mut price, HOT, self.cold(), stop);
        }
        (price, 10.0 * self.cold())
    }

    /// The doubt that is left in the prices of a similar problem: one row more or less moves them by
    /// some break points.
    pub fn doubt_in_known(&self) -> f64 {
        15.0 * self.cold()
    }

    /// The last temperature. Where rows change their choice lies about `1 / n` apart in the prices.
    fn cold(&self) -> f64 {
        (0.3 / self.rows.len() as f64).clamp(1e-7, 1e-3)
    }

    /// The total program's dual is linear along a ray of prices, and not less further out: the prices
    /// come down until one of them is at its floor.
    fn lower(&self, price: &mut [f64]) {
        if self.goal == Goal::Total {
            let most = price.iter().zip(self.floor).map(|(p, f)| f / p).fold(0.0, f64::max);
            price.iter_mut().for_each(|p| *p *= most.min(1.0));
        }
    }

    /// Follows the minimum from one temperature down to another.
    fn follow(&self, price: &mut [f64], from: f64, to: f64, stop: &dyn Fn() -> bool) {
        let mut temperature = from;
        let steps = if self.goal == Goal::Total { STEPS_TOTAL } else { STEPS };
        loop {
            for _ in 0..steps {
                if self.newton(price, temperature) < 0.05 * temperature.min(0.2) || stop() {
                    break;
                }
            }
            self.lower(price);
            if temperature <= to {
                return;
            }
            temperature = (temperature * COOLING).max(to);
        }
    }

    /// A start that knows nothing: a type is worth what it is worth to the average row.
    fn first_guess(&self) -> Vec<f64> {
        let mut price = vec![0.0; self.types];
        for &row in self.rows {
            let cost = &self.cost[row * self.types..][..self.types];
            let least = cost.iter().copied().fold(f64::INFINITY, f64::min);
            for (p, c) in price.iter_mut().zip(cost) {
                *p += least / c;
            }
        }
        price.iter().zip(self.floor).map(|(p, f)| p.max(*f).max(f64::MIN_POSITIVE)).collect()
    }

    /// One damped Newton step in the logarithms; returns the greatest change.
    fn newton(&self, price: &mut [f64], temperature: f64) -> f64 {
        let k = self.types;
        let (demand, mut curvature) = self.demand(price, temperature);
        let all: f64 = price.iter().sum();
        let wanted: f64 = demand.iter().sum();
        let (supply_unit, demand_unit) = match self.goal {
            Goal::Level => (1.0 / all, 1.0 / wanted),
            Goal::Total => (1.0, 1.0),
        };
        let mut gradient: Vec<f64> =
            (0..k).map(|j| price[j] * supply_unit - demand[j] * demand_unit).collect();
        let total: f64 = price.iter().sum::<f64>() * supply_unit;
        for a in 0..k {
            for b in 0..=a {
                curvature[a * k + b] *= demand_unit / temperature;
            }
            // Where nobody hesitates there is no curvature; a share of the supply keeps steps finite.
            curvature[a * k + a] += price[a] * supply_unit + 1e-6 * total;
            let at_floor = price[a] <= self.floor[a] * (1.0 + 1e-12);
            if at_floor && self.floor[a] > 0.0 && gradient[a] > 0.0 {
                gradient[a] = 0.0;
                curvature[a * k + a] += 1e12 * total;
            }
        }
        let step = solve_spd(&mut curvature, &mut gradient);
        let most = step.iter().fold(0.0_f64, |m, s| m.max(s.abs()));
        let damp = (3.0 * temperature / most.max(f64::MIN_POSITIVE)).min(1.0);
        for j in 0..k {
            price[j] =
                (price[j] * (-step[j] * damp).exp()).max(self.floor[j]).max(f64::MIN_POSITIVE);
        }
        if self.goal == Goal::Level {
            let all: f64 = price.iter().sum();
            for p in price.iter_mut() {
                *p = (*p / all).max(1e-12);
            }
        }
        most * damp
    }

    /// Money asked for each type, and `sum_l q_l (diag(s_l) - s_l s_l')` over the softened choices
    /// `s_l` (lower triangle).
    fn demand(&self, price: &[f64], temperature: f64) -> (Vec<f64>, Vec<f64>) {
        let k = self.types;
        let (mut demand, mut curvature) = (vec![0.0; k], vec![0.0; k * k]);
        let reach = (25.0 * temperature).exp_m1();
        let mut product = vec![0.0; k];
        let mut choice: Vec<(usize, f64)> = Vec::with_capacity(k);
        for &row in self.rows {
            let cost = &self.cost[row * k..][..k];
            let mut least = f64::INFINITY;
            for j in 0..k {
                product[j] = cost[j] * price[j];
                least = least.min(product[j]);
            }
            let limit = least * (1.0 + reach);
            if product.iter().filter(|&&p| p <= limit).count() == 1 {
                let only = product.iter().position(|&p| p <= limit).unwrap_or(0);
                demand[only] += least;
                continue;
            }
            choice.clear();
            choice.extend((0..k).filter(|&j| product[j] <= limit).map(|j| (j, product[j])));
            let mut sum = 0.0;
            for (_, c) in &mut choice {
                *c = (-(*c / least).ln() / temperature).exp();
                sum += *c;
            }
            for &(a, s) in &choice {
                let part = s / sum;
                demand[a] += least * part;
                curvature[a * k + a] += least * part;
                for &(b, t) in &choice {
                    if b <= a {
                        curvature[a * k + b] -= least * part * t / sum;
                    }
                }
            }
        }
        (demand, curvature)
    }
}
