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

use super::data::Data;
use super::debts::Debts;
use super::lanes::{self, LANES};
use super::newton::Newton;
use super::pairs::Pairs;
use super::targets::Targets;
use crate::linalg::dot;
use ndarray::{Array2, ArrayView2};

/// Iterations; 15 to 45 are usual.
const ITERATIONS_MAX: usize = 120;
/// Envy at the end of a path that shows that it has missed a pair.
const MISSED: f64 = 1e-6;
/// Fresh starts of a path that got stuck; with the pairs that it has met, one or two are enough.
const RESTARTS_MAX: usize = 4;
/// What may be left at the end of a path that has arrived.
const ARRIVED: f64 = 1e-11;
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
const ADDED_MAX_THOROUGH: usize = 20;
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

/// Where a run ended: at the optimum, or wherever it was stopped or got stuck. Which of these is for
/// the bound to tell.
pub(super) struct Run {
    pub point: Point,
    pub iterations: usize,
    /// What the multipliers of pairs that came or went still owe to the dual equations.
    pub debts: Debts,
    /// Complementarity and what is left of the primal equations: how far the end is.
    left: f64,
    /// Every pair (envious, envied) that was ever in play, for a start with more care; nothing where
    /// that has been.
    met: Vec<(usize, usize)>,
}

/// Follows the path from the given point until complementarity is below `accuracy`; starts again if it
/// gets stuck on the way.
pub(super) fn follow(data: &Data<'_>, start: Point, accuracy: f64, stop: &dyn Fn() -> bool) -> Run {
    let mut walk = Walk { met: start.pairs.list(), care: Care::Quick };
    let mut run = walk.follow(data, start, accuracy, stop);
    run.met = walk.met;
    if run.left < SETTLED || stop() {
        return run;
    }
    start_again(data, &run, accuracy, stop).unwrap_or(run)
}

/// Follows the path again where its first end is not the optimum; `None` if that gets no nearer.
///
/// Where profiles have ties, pairs that were dropped may come back when there is no room left for them,
/// and the path gets stuck; or they come back unnoticed. So it starts again with all pairs that it
/// has met, and drops none.
pub(super) fn start_again(
    data: &Data<'_>,
    first: &Run,
    accuracy: f64,
    stop: &dyn Fn() -> bool,
) -> Option<Run> {
    if first.met.is_empty() {
        // It was found with care already.
        return None;
    }
    let mut walk = Walk { met: first.met.clone(), care: Care::Thorough };
    let mut least = first.left.max(walk.missed(data, &first.point));
    let mut iterations = first.iterations;
    let mut best = None;
    for _ in 0..RESTARTS_MAX {
        if least < ARRIVED || stop() {
            break;
        }
        walk.met.sort_unstable();
        walk.met.dedup();
        let start = Point::start(data, &walk.met);
        let mut run = walk.follow(data, start, accuracy, stop);
        run.left = run.left.max(walk.missed(data, &run.point));
        iterations += run.iterations;
        if run.left < least {
            least = run.left;
            best = Some(run);
        }
    }
    best.map(|best| Run { iterations, ..best })
}

/// How pairs come into play and leave.
#[derive(Clone, Copy, PartialEq)]
enum Care {
    /// A few at a time, and those that the path has left behind are dropped.
    Quick,
    /// Many at a time, and all of them stay.
    Thorough,
}

/// What a path has met.
struct Walk {
    /// Every pair (envious, envied) that was ever in play.
    met: Vec<(usize, usize)>,
    care: Care,
}

impl Walk {
    fn follow(
        &mut self,
        data: &Data<'_>,
        start: Point,
        accuracy: f64,
        stop: &dyn Fn() -> bool,
    ) -> Run {
        let mut point = start;
        let mut debts = Debts::default();
        let mut stuck = 0;
        let mut iterations = 0;
        let left = loop {
            let mu = point.mu();
            let residuals = Targets::residuals(data, &point);
            let (primal, dual) = residuals.norms();
            let left = mu + primal;
            let arrived = mu < accuracy && primal < 1e-9 && dual < 1e-7;
            if arrived || stuck > STUCK_MAX || iterations == ITERATIONS_MAX || stop() {
                break left;
            }
            let Some((primal, dual)) = iterate(data, &mut point, mu, residuals) else {
                break left;
            };
            iterations += 1;
            stuck = if primal.min(dual) < 0.05 { stuck + 1 } else { 0 };
            debts.pay(dual);
            let before = point.pairs.clone();
            point.adapt_pairs(data, self);
            debts.take(&before, &point.pairs);
        };
        Run { point, iterations, debts, left, met: Vec::new() }
    }

    /// Envy between pairs that came too late to be noticed: they count as met. Returns the greatest.
    fn missed(&mut self, data: &Data<'_>, point: &Point) -> f64 {
        let mut most = 0.0_f64;
        for (l, row) in point.utilities(data).rows().into_iter().enumerate() {
            for (i, other) in row.iter().enumerate() {
                let envy = other - point.u[l];
                if envy > MISSED && i != l {
                    self.met.push((l, i));
                    most = most.max(envy);
                }
            }
        }
        most
    }
}

/// One predictor-corrector step; returns the step lengths, primal and dual, or nothing where the arithmetic
/// broke down, and then the point stays.
fn iterate(data: &Data<'_>, point: &mut Point, mu: f64, residuals: Targets) -> Option<(f64, f64)> {
    let mut targets = residuals;
    let newton = Newton::new(data, point, mu);
    targets.aim(point, 0.0, None);
    let affine = newton.solve(data, point, &targets);
    let (primal, dual) = point.step_lengths(&affine);
    let after = point.mu_after(&affine, primal, dual);
    let sigma = (after / mu).clamp(0.0, 1.0).powi(3).max(1e-6);
    // Products must not vanish before the equations hold: a pair that came late still has to move.
    let target = (sigma * mu).max(BALANCE * targets.norms().0);
    targets.aim(point, target, Some(&affine));
    let mut full = newton.solve(data, point, &targets);
    let (primal, dual) = point.step_lengths(&full);
    let (primal, dual) = correct(data, point, &newton, &mut full, target, primal, dual);
    let (primal, dual) = ((TO_BOUNDARY * primal).min(1.0), (TO_BOUNDARY * dual).min(1.0));
    if !point.mu_after(&full, primal, dual).is_finite() {
        return None;
    }
    point.advance(&full, primal, dual);
    Some((primal, dual))
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
        let mut gain = Vec::with_capacity(n * k);
        let mut row = vec![[0.0; LANES]; data.width];
        for i in 0..n {
            row.fill([0.0; LANES]);
            lanes::add(&mut row, self.alpha[i], data.wide(i));
            for r in self.pairs.range(i) {
                lanes::add(&mut row, -self.pairs.z[r], data.wide(self.pairs.envious[r]));
            }
            gain.extend_from_slice(&row.as_flattened()[..k]);
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

    /// Mean complementarity after a step.
    fn mu_after(&self, d: &Point, primal: f64, dual: f64) -> f64 {
        let sum = |x: &[f64], dx: &[f64], m: &[f64], dm: &[f64]| {
            // (x + primal dx)(m + dual dm), multiplied out.
            dot(x, m) + primal * dot(dx, m) + dual * dot(x, dm) + primal * dual * dot(dx, dm)
        };
        let count = self.y.len() + self.a.len() + self.c.len() + self.pairs.s.len();
        let sum = sum(&self.y, &d.y, &self.v, &d.v)
            + sum(&self.a, &d.a, &self.alpha, &d.alpha)
            + sum(&self.c, &d.c, &self.p, &d.p)
            + sum(&self.pairs.s, &d.pairs.s, &self.pairs.z, &d.pairs.z);
        sum / count as f64
    }

    fn step_lengths(&self, d: &Point) -> (f64, f64) {
        let primal = steepest(&self.y, &d.y).max(steepest(&self.a, &d.a));
        let primal = primal.max(steepest(&self.c, &d.c)).max(steepest(&self.pairs.s, &d.pairs.s));
        let dual = steepest(&self.v, &d.v).max(steepest(&self.alpha, &d.alpha));
        let dual = dual.max(steepest(&self.p, &d.p)).max(steepest(&self.pairs.z, &d.pairs.z));
        (1.0 / primal, 1.0 / dual)
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
    fn adapt_pairs(&mut self, data: &Data<'_>, walk: &mut Walk) {
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
        let most = if walk.care == Care::Quick { ADDED_MAX } else { ADDED_MAX_THOROUGH };
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
            added.extend(worst.iter().take(most).map(|&(slack, i)| {
                let s = slack.max(room);
                (l, i, s, mu / s)
            }));
        }
        walk.met.extend(added.iter().map(|&(l, i, _, _)| (l, i)));
        let stay = mu > 1e-2 || walk.care == Care::Thorough;
        let keep = |s: f64, z: f64| stay || z > 1e-3 * s;
        self.pairs.rebuild(n, keep, &added);
    }
}

/// How fast a direction brings the first of some variables to zero, in steps per whole way; what is
/// slow enough for a whole step counts as just that.
fn steepest(x: &[f64], d: &[f64]) -> f64 {
    let larger = |a: f64, b: f64| if b > a { b } else { a };
    let mut most = [TO_BOUNDARY; LANES];
    let (x_lanes, x_rest) = x.as_chunks::<LANES>();
    let (d_lanes, d_rest) = d.as_chunks::<LANES>();
    for (x, d) in x_lanes.iter().zip(d_lanes) {
        for t in 0..LANES {
            most[t] = larger(most[t], -d[t] / x[t]);
        }
    }
    let rest = x_rest.iter().zip(d_rest).map(|(x, d)| -d / x);
    most.into_iter().chain(rest).fold(TO_BOUNDARY, larger)
}
