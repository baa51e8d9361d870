//! `nash`: the market with incomes by weight, `max sum_l pi_l log(w_l.x_l)` with `sum_l x_l <= m`.
//!
//! The optimum is the equilibrium of a market (Eisenberg and Gale): at prices `p` every row spends its
//! weight on the types with the best `w_lj / p_j`, and everything is sold. Nobody can afford better
//! than what it has, hence no envy and a sharing incentive; and it is Pareto efficient.
//!
//! An interior-point method finds utilities and prices: each row is a `k x k` block (diagonal plus
//! rank one), and what couples them is one `k x k` system for the prices. The shares are then a vertex
//! among those that give the rows these utilities from the types they buy.

use crate::instance::Instance;
use crate::linalg::solve_spd;
use crate::lp::LpError;
use crate::market::{Allocation, Levelling, MarketState, lexicographic};
use crate::scaled::Scaled;

/// Steps; 20 to 40 are usual, from ten rows to a hundred thousand.
const STEPS_MAX: usize = 300;
/// Complementarity at which utilities are exact to about twelve digits.
const CONVERGED: f64 = 1e-14;
/// Part of the way to the boundary that a step may take.
const TO_BOUNDARY: f64 = 0.995;

/// Computes the shares of the rows of an instance without caps.
pub(crate) fn solve(instance: &Instance, stop: &dyn Fn() -> bool) -> Result<Allocation, LpError> {
    let scaled = Scaled::new(instance);
    let mut point = Point::start(&scaled);
    let mut steps = 0;
    while !point.is_optimal(&scaled) {
        if steps == STEPS_MAX {
            break;
        }
        if stop() {
            return Err(LpError::Stopped);
        }
        point.step(&scaled);
        steps += 1;
    }
    point.finish(instance, &scaled, steps, stop)
}

/// Bundles `y`, their duals `s` (zero where a type is not usable) and prices `p`, in scaled units:
/// stationarity `v_lj / u_l - p_j + s_lj = 0`, complementarity `y s = mu`, `sum_l weight_l y_l = 1`.
struct Point {
    y: Vec<f64>,
    s: Vec<f64>,
    p: Vec<f64>,
}

struct Direction {
    y: Vec<f64>,
    s: Vec<f64>,
    p: Vec<f64>,
}

impl Point {
    /// The equal split, with prices above everybody's value.
    fn start(scaled: &Scaled) -> Self {
        let (n, k) = (scaled.n, scaled.k);
        let mut p = vec![0.0_f64; k];
        for l in 0..n {
            for (p, v) in p.iter_mut().zip(scaled.value(l)) {
                *p = p.max(1.1 * v);
            }
        }
        let usable = |e: usize| scaled.value[e] > 0.0;
        let y = (0..n * k).map(|e| if usable(e) { 1.0 } else { 0.0 }).collect();
        let s =
            (0..n * k).map(|e| if usable(e) { p[e % k] - scaled.value[e] } else { 0.0 }).collect();
        Point { y, s, p }
    }

    /// Complementarity per unit of weight.
    fn mu(&self, scaled: &Scaled) -> f64 {
        let sum: f64 = (0..scaled.n).map(|l| scaled.weight[l] * self.row_gap(scaled, l)).sum();
        sum / scaled.k as f64
    }

    fn row_gap(&self, scaled: &Scaled, l: usize) -> f64 {
        let range = l * scaled.k..(l + 1) * scaled.k;
        self.y[range.clone()].iter().zip(&self.s[range]).map(|(y, s)| y * s).sum()
    }

    fn utility(&self, scaled: &Scaled, l: usize) -> f64 {
        scaled.utility(l, &self.y, l)
    }

    /// Small complementarity, and each row's spending and each type's sales add up.
    fn is_optimal(&self, scaled: &Scaled) -> bool {
        if self.mu(scaled) > CONVERGED {
            return false;
        }
        let sold = self.sold(scaled);
        if sold.iter().any(|sold| (sold - 1.0).abs() > 1e-11) {
            return false;
        }
        (0..scaled.n).all(|l| {
            let u = self.utility(scaled, l);
            (0..scaled.k).all(|j| {
                let e = l * scaled.k + j;
                let residual = scaled.value[e] / u - self.p[j] + self.s[e];
                scaled.value[e] == 0.0 || residual.abs() <= 1e-10 * self.p[j]
            })
        })
    }

    fn sold(&self, scaled: &Scaled) -> Vec<f64> {
        let mut sold = vec![0.0; scaled.k];
        for l in 0..scaled.n {
            for (sold, y) in sold.iter_mut().zip(&self.y[l * scaled.k..][..scaled.k]) {
                *sold += scaled.weight[l] * y;
            }
        }
        sold
    }

    /// One predictor-corrector step.
    fn step(&mut self, scaled: &Scaled) {
        let mu = self.mu(scaled);
        let affine = self.direction(scaled, 0.0, None);
        let (a, b) = self.step_lengths(&affine);
        let after = self.moved(&affine, a, b).mu(scaled);
        let sigma = (after / mu).clamp(0.0, 1.0).powi(3).max(1e-4);
        let full = self.direction(scaled, sigma * mu, Some(&affine));
        let (a, b) = self.step_lengths(&full);
        // The objective is not quadratic: primal and dual move together unless both go all the way.
        let step = TO_BOUNDARY * a.min(b);
        *self = self.moved(&full, step.min(1.0), step.min(1.0));
    }

    fn moved(&self, direction: &Direction, primal: f64, dual: f64) -> Point {
        let add =
            |x: &[f64], d: &[f64], step: f64| x.iter().zip(d).map(|(x, d)| x + step * d).collect();
        Point {
            y: add(&self.y, &direction.y, primal),
            s: add(&self.s, &direction.s, dual),
            p: add(&self.p, &direction.p, dual),
        }
    }

    fn step_lengths(&self, direction: &Direction) -> (f64, f64) {
        let limit = |x: &[f64], d: &[f64]| {
            let blocking = x.iter().zip(d).filter(|&(_, &d)| d < 0.0).map(|(x, d)| -x / d);
            blocking.fold(1.0 / TO_BOUNDARY, f64::min)
        };
        let prices = limit(&self.p, &direction.p);
        (limit(&self.y, &direction.y), limit(&self.s, &direction.s).min(prices))
    }

    /// The Newton direction towards complementarity `mu`, with the second-order term of `affine`.
    ///
    /// Per row, `H dy = g - dp` with `H = diag(s / y) + v v' / u^2` and
    /// `g = v / u - p + s + (mu - y s - dy ds) / y`; the sales give `(sum weight H^-1) dp = ...`.
    fn direction(&self, scaled: &Scaled, mu: f64, affine: Option<&Direction>) -> Direction {
        let (n, k) = (scaled.n, scaled.k);
        let mut matrix = vec![0.0; k * k];
        let mut rhs: Vec<f64> = self.sold(scaled).iter().map(|sold| sold - 1.0).collect();
        let mut g = vec![0.0; n * k];
        let (mut inverse, mut solved, mut dv) = (vec![0.0; k], vec![0.0; k], vec![0.0; k]);
        for l in 0..n {
            self.row_terms(scaled, l, mu, affine, &mut g[l * k..][..k]);
            let scale = self.row_inverse(scaled, l, &mut inverse, &mut dv);
            apply(&inverse, &dv, scale, &g[l * k..][..k], &mut solved);
            let weight = scaled.weight[l];
            for a in 0..k {
                rhs[a] += weight * solved[a];
                matrix[a * k + a] += weight * inverse[a];
                for b in 0..=a {
                    matrix[a * k + b] -= weight * scale * dv[a] * dv[b];
                }
            }
        }
        let p = solve_spd(&mut matrix, &mut rhs);
        let (mut y, mut s) = (vec![0.0; n * k], vec![0.0; n * k]);
        for l in 0..n {
            let scale = self.row_inverse(scaled, l, &mut inverse, &mut dv);
            let reduced: Vec<f64> = (0..k).map(|j| g[l * k + j] - p[j]).collect();
            apply(&inverse, &dv, scale, &reduced, &mut y[l * k..][..k]);
            for j in 0..k {
                let e = l * k + j;
                if scaled.value[e] > 0.0 {
                    let second = affine.map_or(0.0, |a| a.y[e] * a.s[e]);
                    s[e] = (mu - self.y[e] * self.s[e] - second - self.s[e] * y[e]) / self.y[e];
                }
            }
        }
        Direction { y, s, p }
    }

    fn row_terms(
        &self,
        scaled: &Scaled,
        l: usize,
        mu: f64,
        affine: Option<&Direction>,
        g: &mut [f64],
    ) {
        let u = self.utility(scaled, l);
        for (j, g) in g.iter_mut().enumerate() {
            let e = l * scaled.k + j;
            if scaled.value[e] > 0.0 {
                let second = affine.map_or(0.0, |a| a.y[e] * a.s[e]);
                *g = scaled.value[e] / u - self.p[j] + (mu - second) / self.y[e];
            }
        }
    }

    /// `H^-1 = diag(inverse) - scale dv dv'` (Sherman and Morrison); zero where a type is unusable.
    fn row_inverse(&self, scaled: &Scaled, l: usize, inverse: &mut [f64], dv: &mut [f64]) -> f64 {
        let u = self.utility(scaled, l);
        let mut quadratic = 0.0;
        for j in 0..scaled.k {
            let e = l * scaled.k + j;
            inverse[j] = if scaled.value[e] > 0.0 { self.y[e] / self.s[e] } else { 0.0 };
            dv[j] = inverse[j] * scaled.value[e];
            quadratic += dv[j] * scaled.value[e];
        }
        1.0 / (u * u + quadratic)
    }

    /// From utilities and prices to a vertex of the shares.
    fn finish(
        self,
        instance: &Instance,
        scaled: &Scaled,
        steps: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<Allocation, LpError> {
        let k = scaled.k;
        let utility: Vec<f64> = (0..scaled.n).map(|l| self.utility(scaled, l)).collect();
        let gap = self.gap(scaled, &utility);
        let smeared = scaled.to_shares(instance, &self.y);
        let target: Vec<f64> = (0..scaled.n)
            .map(|l| crate::shares::dot(instance.profile(l), &smeared[l * k..][..k]))
            .collect();
        // What a row buys: its bundle is worth more there than the price is above its value.
        let bought =
            |l: usize, j: usize| self.y[l * k + j] * self.p[j] > self.s[l * k + j] * utility[l];
        let held = vec![true; scaled.n];
        let levelling = Levelling { instance, target: &target, held: &held, allowed: &bought };
        let vertex = lexicographic(&levelling, &mut MarketState::default(), stop);
        let mut x = vertex.map_or(smeared, |vertex| vertex.x);
        scaled.fit(instance, &mut x);
        let total: f64 = instance.speedup.iter().zip(&x).map(|(w, x)| w * x).sum();
        let spent: f64 = self.p.iter().sum();
        let price =
            (self.p.iter().zip(&instance.capacity)).map(|(p, m)| p / spent * total / m).collect();
        Ok(Allocation { x, price, gap, pivots: steps })
    }

    /// Distance in the weighted mean of log utilities to what the prices prove: at prices `p` no row
    /// can reach more than `weight max_j v_lj / p_j`, whatever it spends its weight on.
    fn gap(&self, scaled: &Scaled, utility: &[f64]) -> f64 {
        let spent: f64 = self.p.iter().sum();
        let excess = (0..scaled.n).map(|l| {
            let best = scaled.value(l).iter().zip(&self.p).map(|(v, p)| v / p).fold(0.0, f64::max);
            scaled.weight[l] * (best * spent / utility[l]).ln()
        });
        excess.sum::<f64>().abs()
    }
}

fn apply(inverse: &[f64], dv: &[f64], scale: f64, g: &[f64], out: &mut [f64]) {
    let along: f64 = scale * dv.iter().zip(g).map(|(a, b)| a * b).sum::<f64>();
    for j in 0..g.len() {
        out[j] = inverse[j] * g[j] - along * dv[j];
    }
}
