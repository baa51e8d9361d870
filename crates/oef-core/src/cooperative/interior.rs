//! A structured interior-point method for the cooperative program.
//!
//! Unknowns: a bundle `y_i >= 0` and a utility `u_l` per row; `own`: `v_l.y_l >= u_l`; `envy`:
//! `u_l >= v_l.y_i` for the pairs in play; capacity `sum_i weight_i y_i <= 1`; maximise
//! `sum_l worth_l u_l`. In the Newton system every bundle is a `k x k` block that can be eliminated on
//! its own, which leaves one dense symmetric `n x n` system in the utilities with `k` border columns
//! for the capacities (see [`super::newton`]).
//!
//! Pairs come into play as the path approaches them, within the one run: from the nearest neighbours
//! at first, near-active ones while complementarity is large, violated ones at any time.

use super::debts::Debts;
use super::newton::{Newton, Targets};
use crate::linalg::dot;
use crate::scaled::Scaled;
use ndarray::{Array2, ArrayView2};

/// Iterations; 15 to 45 are usual.
const ITERATIONS_MAX: usize = 120;
/// Part of the way to the boundary that a step may take.
const TO_BOUNDARY: f64 = 0.995;
/// Rounds in which multipliers are brought into line for a bound.
const ALIGNMENTS: usize = 30;
/// Short steps in a row after which the arithmetic is at its end.
const STUCK_MAX: usize = 3;
/// Correctors per iteration: each is a solve, against the factorisation that a longer step saves.
const CORRECTORS_MAX: usize = 2;
/// While complementarity is above this, pairs come into play before they are violated.
const EARLY: f64 = 1e-4;
/// How near (relative to the root of complementarity) is near enough for that.
const NEAR: f64 = 0.1;
/// Slack of a pair that comes into play violated, relative to the root of complementarity.
const ROOM: f64 = 0.1;
/// Complementarity aimed at is at least this part of the primal residual.
const BALANCE: f64 = 1e-3;
/// Pairs that come into play per row and iteration at most.
const ADDED_MAX: usize = 2;
/// Complementarity below which the pairs in play stay as they are; what they miss by then is found by
/// the check of the vertex.
const SETTLED: f64 = 1e-9;

/// A point of the path: primal and dual variables with their slacks.
#[derive(Clone, Debug)]
pub(super) struct Point {
    /// Bundles and their reduced costs (both unused where a row cannot use a type).
    pub y: Vec<f64>,
    pub v: Vec<f64>,
    pub u: Vec<f64>,
    /// Slack and multiplier of `own`.
    pub a: Vec<f64>,
    pub alpha: Vec<f64>,
    /// Slack and multiplier of the capacities.
    pub c: Vec<f64>,
    pub p: Vec<f64>,
    /// The envy pairs in play, ordered by the envied row.
    pub pairs: Pairs,
}

/// Envy pairs with slack and multiplier.
#[derive(Clone, Debug, Default)]
pub(super) struct Pairs {
    /// Where the pairs that envy row `i` begin.
    pub start: Vec<usize>,
    /// The envious row.
    pub envious: Vec<usize>,
    pub s: Vec<f64>,
    pub z: Vec<f64>,
}

/// Program data in units of order one: capacities are `n`, weights and worths of order one.
pub(super) struct Data<'a> {
    pub scaled: &'a Scaled,
    pub n: usize,
    pub k: usize,
    pub weight: Vec<f64>,
    pub worth: Vec<f64>,
}

impl<'a> Data<'a> {
    pub fn new(scaled: &'a Scaled) -> Self {
        let size = scaled.n as f64;
        Data {
            scaled,
            n: scaled.n,
            k: scaled.k,
            weight: scaled.weight.iter().map(|w| w * size).collect(),
            worth: scaled.worth.iter().map(|w| w * size).collect(),
        }
    }

    pub fn value(&self, l: usize) -> &[f64] {
        self.scaled.value(l)
    }

    pub fn usable(&self, i: usize, j: usize) -> bool {
        self.scaled.value[i * self.k + j] > 0.0
    }
}

/// Where a run ended: at the optimum, or wherever it was stopped or got stuck. Which of these is for
/// the bound to tell.
pub(super) struct Run {
    pub point: Point,
    pub iterations: usize,
    /// What the multipliers of pairs that came or went still owe to the dual equations.
    pub debts: Debts,
}

/// Follows the path from the given point until complementarity is below `accuracy`.
pub(super) fn follow(data: &Data<'_>, start: Point, accuracy: f64, stop: &dyn Fn() -> bool) -> Run {
    let mut point = start;
    let mut debts = Debts::default();
    let mut stuck = 0;
    for iteration in 0..ITERATIONS_MAX {
        let mu = point.mu();
        let (primal, dual) = Targets::residuals(data, &point).norms();
        let arrived = mu < accuracy && primal < 1e-9 && dual < 1e-7;
        if arrived || stuck > STUCK_MAX || stop() {
            return Run { point, iterations: iteration, debts };
        }
        let (primal, dual) = iterate(data, &mut point, mu);
        stuck = if primal.min(dual) < 0.05 { stuck + 1 } else { 0 };
        debts.pay(dual);
        let before = point.pairs.clone();
        point.adapt_pairs(data);
        debts.take(&before, &point.pairs);
    }
    Run { point, iterations: ITERATIONS_MAX, debts }
}

/// One predictor-corrector step; returns the step lengths, primal and dual.
fn iterate(data: &Data<'_>, point: &mut Point, mu: f64) -> (f64, f64) {
    let newton = Newton::new(data, point);
    let residuals = Targets::residuals(data, point);
    let affine = newton.solve(data, point, &residuals.aimed_at(point, 0.0, None));
    let (primal, dual) = point.step_lengths(&affine);
    let after = point.mu_after(&affine, primal, dual);
    let sigma = (after / mu).clamp(0.0, 1.0).powi(3).max(1e-6);
    // Products must not vanish before the equations hold: a pair that came late still has to move.
    let target = (sigma * mu).max(BALANCE * residuals.norms().0);
    let mut full = newton.solve(data, point, &residuals.aimed_at(point, target, Some(&affine)));
    let (primal, dual) = point.step_lengths(&full);
    let (primal, dual) = correct(data, point, &newton, &mut full, target, primal, dual);
    let (primal, dual) = ((TO_BOUNDARY * primal).min(1.0), (TO_BOUNDARY * dual).min(1.0));
    point.advance(&full, primal, dual);
    (primal, dual)
}

/// Gondzio's correctors: products that the step would leave far from the target are pulled back,
/// as long as that lengthens the step.
fn correct(
    data: &Data<'_>,
    point: &Point,
    newton: &Newton,
    direction: &mut Point,
    target: f64,
    primal: f64,
    dual: f64,
) -> (f64, f64) {
    let (mut primal, mut dual) = (primal, dual);
    for _ in 0..CORRECTORS_MAX {
        let (wish_primal, wish_dual) = ((primal + 0.3).min(1.0), (dual + 0.3).min(1.0));
        let pull = Targets::pull_back(data, point, direction, wish_primal, wish_dual, target);
        let mut trial = newton.solve(data, point, &pull);
        trial.add(direction);
        let (p, d) = point.step_lengths(&trial);
        if p + d < primal + dual + 0.05 {
            break;
        }
        *direction = trial;
        (primal, dual) = (p, d);
        if primal > 0.95 && dual > 0.95 {
            break;
        }
    }
    (primal, dual)
}

impl Point {
    /// A first point: equal bundles, everything with room.
    pub fn start(data: &Data<'_>, pairs: &[(usize, usize)]) -> Self {
        let (n, k) = (data.n, data.k);
        let y: Vec<f64> =
            (0..n * k).map(|e| if data.usable(e / k, e % k) { 0.9 } else { 0.0 }).collect();
        let mut point = Point {
            y,
            v: vec![0.0; n * k],
            u: vec![0.85; n],
            a: vec![0.1; n],
            alpha: data.worth.clone(),
            c: vec![0.1 * n as f64; k],
            p: vec![0.0; k],
            pairs: Pairs::default(),
        };
        let first: Vec<_> = pairs.iter().map(|&(l, i)| (l, i, 0.1, 0.1)).collect();
        point.pairs = Pairs::from_list(n, &first);
        for i in 0..n {
            for r in point.pairs.range(i) {
                point.alpha[point.pairs.envious[r]] += point.pairs.z[r];
            }
        }
        // Prices that leave every bundle a positive reduced cost.
        let gain = point.gain(data);
        for j in 0..k {
            let users = (0..n).filter(|&i| data.usable(i, j));
            let most = users.map(|i| gain[i * k + j] / data.weight[i]).fold(0.0, f64::max);
            point.p[j] = 1.1 * most + 0.05;
        }
        for i in 0..n {
            for j in (0..k).filter(|&j| data.usable(i, j)) {
                point.v[i * k + j] = data.weight[i] * point.p[j] - gain[i * k + j];
            }
        }
        point
    }

    /// `alpha_i v_i - sum_l z_li v_l` per bundle: what a unit of each type is worth there.
    pub fn gain(&self, data: &Data<'_>) -> Vec<f64> {
        let (n, k) = (data.n, data.k);
        let mut gain = vec![0.0; n * k];
        for i in 0..n {
            let row = &mut gain[i * k..][..k];
            for (g, v) in row.iter_mut().zip(data.value(i)) {
                *g = self.alpha[i] * v;
            }
            for r in self.pairs.range(i) {
                let z = self.pairs.z[r];
                for (g, v) in row.iter_mut().zip(data.value(self.pairs.envious[r])) {
                    *g -= z * v;
                }
            }
        }
        gain
    }

    /// What the multipliers prove: no envy-free bundles have a greater total (in units of `n`). Any
    /// `z >= 0` do; in the middle of the path they are first brought into line, row by row, with what
    /// the prices leave room for.
    pub fn bound(&self, data: &Data<'_>) -> f64 {
        let mut aligned = self.clone();
        let mut best = aligned.bound_of_multipliers(data);
        for _ in 0..ALIGNMENTS {
            aligned.align(data);
            best = best.min(aligned.bound_of_multipliers(data));
        }
        best
    }

    /// `alpha` is made consistent with `z`, and prices cover every bundle's gain.
    fn bound_of_multipliers(&mut self, data: &Data<'_>) -> f64 {
        let (n, k) = (data.n, data.k);
        self.alpha.copy_from_slice(&data.worth);
        for (r, &l) in self.pairs.envious.iter().enumerate() {
            self.alpha[l] += self.pairs.z[r];
        }
        let gain = self.gain(data);
        for j in 0..k {
            let users = (0..n).filter(|&i| data.usable(i, j));
            self.p[j] = users.map(|i| gain[i * k + j] / data.weight[i]).fold(0.0, f64::max);
        }
        self.p.iter().sum()
    }

    /// Rows whose gain stands out above a typical price let go of some of their own envy.
    fn align(&mut self, data: &Data<'_>) {
        let (n, k) = (data.n, data.k);
        let gain = self.gain(data);
        let mut typical = vec![0.0; k];
        for (j, typical) in typical.iter_mut().enumerate() {
            let users = (0..n).filter(|&i| data.usable(i, j));
            let mut prices: Vec<f64> = users.map(|i| gain[i * k + j] / data.weight[i]).collect();
            prices.sort_by(f64::total_cmp);
            *typical = prices
                .get(prices.len().saturating_sub(1 + prices.len() / 50))
                .copied()
                .unwrap_or(0.0);
        }
        let mut shrink = vec![1.0_f64; n];
        for i in 0..n {
            let excess = (0..k)
                .filter(|&j| data.usable(i, j) && typical[j] > 0.0)
                .map(|j| gain[i * k + j] / data.weight[i] / typical[j])
                .fold(1.0, f64::max);
            let own = self.alpha[i] - data.worth[i];
            if excess > 1.0 && own > 0.0 {
                // alpha_i should fall by the excess, as far as its own envy makes it up.
                let fall = self.alpha[i] * (1.0 - 1.0 / excess);
                shrink[i] = (1.0 - fall / own).clamp(0.0, 1.0);
            }
        }
        for (r, &l) in self.pairs.envious.iter().enumerate() {
            self.pairs.z[r] *= shrink[l];
        }
    }

    /// Mean complementarity.
    pub fn mu(&self) -> f64 {
        let count = self.y.len() + self.a.len() + self.c.len() + self.pairs.s.len();
        let sum = dot(&self.y, &self.v)
            + dot(&self.a, &self.alpha)
            + dot(&self.c, &self.p)
            + dot(&self.pairs.s, &self.pairs.z);
        sum / count as f64
    }

    fn mu_after(&self, d: &Point, primal: f64, dual: f64) -> f64 {
        let mut moved = self.clone();
        moved.advance(d, primal, dual);
        moved.mu()
    }

    fn step_lengths(&self, d: &Point) -> (f64, f64) {
        let limit = |x: &[f64], d: &[f64]| {
            let blocking = x.iter().zip(d).filter(|&(_, &d)| d < 0.0).map(|(x, d)| -x / d);
            blocking.fold(1.0 / TO_BOUNDARY, f64::min)
        };
        let primal = limit(&self.y, &d.y).min(limit(&self.a, &d.a));
        let primal = primal.min(limit(&self.c, &d.c)).min(limit(&self.pairs.s, &d.pairs.s));
        let dual = limit(&self.v, &d.v).min(limit(&self.alpha, &d.alpha));
        let dual = dual.min(limit(&self.p, &d.p)).min(limit(&self.pairs.z, &d.pairs.z));
        (primal, dual)
    }

    fn advance(&mut self, d: &Point, primal: f64, dual: f64) {
        let add = |x: &mut [f64], d: &[f64], step: f64| {
            for (x, d) in x.iter_mut().zip(d) {
                *x += step * d;
            }
        };
        add(&mut self.y, &d.y, primal);
        add(&mut self.u, &d.u, primal);
        add(&mut self.a, &d.a, primal);
        add(&mut self.c, &d.c, primal);
        add(&mut self.pairs.s, &d.pairs.s, primal);
        add(&mut self.v, &d.v, dual);
        add(&mut self.alpha, &d.alpha, dual);
        add(&mut self.p, &d.p, dual);
        add(&mut self.pairs.z, &d.pairs.z, dual);
    }

    pub fn add(&mut self, other: &Point) {
        self.advance(other, 1.0, 1.0);
    }

    /// Utilities of every row with every bundle, `[l, i]`.
    pub fn utilities(&self, data: &Data<'_>) -> Array2<f64> {
        let shape = (data.n, data.k);
        let value = ArrayView2::from_shape(shape, &data.scaled.value);
        let bundles = ArrayView2::from_shape(shape, &self.y);
        match (value, bundles) {
            (Ok(value), Ok(bundles)) => value.dot(&bundles.t()),
            _ => Array2::zeros((data.n, data.n)),
        }
    }

    /// Brings pairs into play that the path has come near to, and drops those it has left behind.
    fn adapt_pairs(&mut self, data: &Data<'_>) {
        let n = data.n;
        let mu = self.mu();
        if mu < SETTLED {
            return;
        }
        let utilities = self.utilities(data);
        let mut present = vec![false; n * n];
        for i in 0..n {
            for r in self.pairs.range(i) {
                present[self.pairs.envious[r] * n + i] = true;
            }
        }
        let near = if mu > EARLY { NEAR * mu.sqrt() } else { 0.0 };
        let mut added: Vec<(usize, usize, f64, f64)> = Vec::new();
        let room = ROOM * mu.sqrt();
        let mut worst: Vec<(f64, usize)> = Vec::new();
        for l in 0..n {
            let limit = self.u[l] * (1.0 - near);
            worst.clear();
            for (i, &other) in utilities.row(l).iter().enumerate() {
                if other > limit && i != l && !present[l * n + i] {
                    worst.push((self.u[l] - other, i));
                }
            }
            worst.sort_by(|a, b| a.0.total_cmp(&b.0));
            added.extend(worst.iter().take(ADDED_MAX).map(|&(slack, i)| {
                let s = slack.max(room);
                (l, i, s, mu / s)
            }));
        }
        let keep = |s: f64, z: f64| z > 1e-3 * s || mu > 1e-2;
        self.pairs.rebuild(n, keep, &added);
    }
}

impl Pairs {
    /// From (envious row, envied row, slack, multiplier) in any order.
    pub fn from_list(n: usize, list: &[(usize, usize, f64, f64)]) -> Self {
        let mut pairs = Pairs { start: vec![0; n + 1], ..Pairs::default() };
        pairs.rebuild(n, |_, _| true, list);
        pairs
    }

    /// The pairs that envy row `i`.
    pub fn range(&self, i: usize) -> std::ops::Range<usize> {
        self.start[i]..self.start[i + 1]
    }

    /// Drops what need not be kept, and adds (envious row, envied row, slack, multiplier).
    fn rebuild(
        &mut self,
        n: usize,
        keep: impl Fn(f64, f64) -> bool,
        added: &[(usize, usize, f64, f64)],
    ) {
        let mut by_bundle: Vec<Vec<(usize, f64, f64)>> = vec![Vec::new(); n];
        for i in 0..n {
            let kept = self.range(i).filter(|&r| keep(self.s[r], self.z[r]));
            by_bundle[i].extend(kept.map(|r| (self.envious[r], self.s[r], self.z[r])));
        }
        for &(l, i, s, z) in added {
            by_bundle[i].push((l, s, z));
        }
        *self = Pairs { start: vec![0; n + 1], ..Pairs::default() };
        for (i, list) in by_bundle.into_iter().enumerate() {
            for (l, s, z) in list {
                self.envious.push(l);
                self.s.push(s);
                self.z.push(z);
            }
            self.start[i + 1] = self.envious.len();
        }
    }
}
