//! The Newton system of the interior-point method, eliminated block by block.
//!
//! With `theta` the ratio of multiplier to slack of a constraint, bundle `i` has the block
//! `H_i = diag(v / y) + theta_i v_i v_i' + sum_l theta_li v_l v_l'` over the pairs that envy it, and
//! `H_i dy_i = sum_c theta_c v_c du_c - weight_i dp + g_i` over its own row and those pairs. What is
//! left for the utilities and prices is
//!
//! ```text
//! [ N   B ] [du]   [ h + sum G' H^-1 g ]     N = D - sum_i G_i' H_i^-1 G_i
//! [-B'  E ] [dp] = [ e + sum w  H^-1 g ]     E = diag(c / p) + sum_i weight_i^2 H_i^-1
//! ```
//!
//! and `N + B E^-1 B'` is positive definite: one Cholesky factor of order `n` serves all the right
//! hand sides of an iteration.

use super::interior::{Data, Pairs, Point};
use crate::linalg::{Cholesky, add_outer_product, dot, factor_spd, solve_factored};
use ndarray::Array2;

/// Complementarity from which on directions are refined.
const LATE: f64 = 1e-3;
/// Rounds of refinement per direction; each must halve the error to be worth another.
const REFINEMENTS_MAX: usize = 3;

/// Right hand sides: residuals of the equations, and what each complementarity product should become.
pub(super) struct Targets {
    own: Vec<f64>,
    envy: Vec<f64>,
    capacity: Vec<f64>,
    bundle: Vec<f64>,
    utility: Vec<f64>,
    product_y: Vec<f64>,
    product_a: Vec<f64>,
    product_c: Vec<f64>,
    product_s: Vec<f64>,
}

impl Targets {
    /// How far a point is from satisfying its equations.
    pub fn residuals(data: &Data<'_>, point: &Point) -> Self {
        let (n, k) = (data.n, data.k);
        let bundle_of = |i: usize| &point.y[i * k..][..k];
        let own =
            (0..n).map(|l| dot(data.value(l), bundle_of(l)) - point.u[l] - point.a[l]).collect();
        let mut envy = vec![0.0; point.pairs.s.len()];
        let mut utility: Vec<f64> = (0..n).map(|l| data.worth[l] - point.alpha[l]).collect();
        let mut capacity: Vec<f64> = point.c.iter().map(|c| n as f64 - c).collect();
        let mut bundle = point.gain(data);
        for i in 0..n {
            for r in point.pairs.range(i) {
                let l = point.pairs.envious[r];
                envy[r] = point.u[l] - dot(data.value(l), bundle_of(i)) - point.pairs.s[r];
                utility[l] += point.pairs.z[r];
            }
            for j in 0..k {
                let e = i * k + j;
                capacity[j] -= data.weight[i] * point.y[e];
                bundle[e] += point.v[e] - data.weight[i] * point.p[j];
                if !data.usable(i, j) {
                    bundle[e] = 0.0;
                }
            }
        }
        Targets {
            own,
            envy,
            capacity,
            bundle,
            utility,
            product_y: Vec::new(),
            product_a: Vec::new(),
            product_c: Vec::new(),
            product_s: Vec::new(),
        }
    }

    /// Largest residual of the primal and of the dual equations.
    pub fn norms(&self) -> (f64, f64) {
        let most = |x: &[f64]| x.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        let primal = most(&self.own).max(most(&self.envy)).max(most(&self.capacity));
        (primal, most(&self.bundle).max(most(&self.utility)))
    }

    /// The same residuals with products aimed at `mu`, less the second-order term of a direction.
    pub fn aimed_at(&self, point: &Point, mu: f64, affine: Option<&Point>) -> Self {
        let aim = |x: &[f64], m: &[f64], dx: Option<&[f64]>, dm: Option<&[f64]>| -> Vec<f64> {
            let second = |e: usize| dx.map_or(0.0, |dx| dx[e] * dm.map_or(0.0, |dm| dm[e]));
            (0..x.len()).map(|e| mu - x[e] * m[e] - second(e)).collect()
        };
        Targets {
            own: self.own.clone(),
            envy: self.envy.clone(),
            capacity: self.capacity.clone(),
            bundle: self.bundle.clone(),
            utility: self.utility.clone(),
            product_y: aim(&point.y, &point.v, affine.map(|a| &a.y[..]), affine.map(|a| &a.v[..])),
            product_a: aim(
                &point.a,
                &point.alpha,
                affine.map(|a| &a.a[..]),
                affine.map(|a| &a.alpha[..]),
            ),
            product_c: aim(&point.c, &point.p, affine.map(|a| &a.c[..]), affine.map(|a| &a.p[..])),
            product_s: aim(
                &point.pairs.s,
                &point.pairs.z,
                affine.map(|a| &a.pairs.s[..]),
                affine.map(|a| &a.pairs.z[..]),
            ),
        }
    }

    /// What a direction leaves of these targets. The primal equations and all products but those of
    /// the capacities hold by construction.
    fn left_by(&self, data: &Data<'_>, point: &Point, d: &Point) -> Self {
        let (n, k) = (data.n, data.k);
        let mut bundle = d.gain(data);
        let mut utility: Vec<f64> = (0..n).map(|l| self.utility[l] - d.alpha[l]).collect();
        for i in 0..n {
            for r in point.pairs.range(i) {
                utility[point.pairs.envious[r]] += d.pairs.z[r];
            }
            for j in 0..k {
                let e = i * k + j;
                bundle[e] += self.bundle[e] + d.v[e] - data.weight[i] * d.p[j];
                if !data.usable(i, j) {
                    bundle[e] = 0.0;
                }
            }
        }
        let product_c =
            (0..k).map(|j| self.product_c[j] - point.p[j] * d.c[j] - point.c[j] * d.p[j]).collect();
        Targets {
            own: vec![0.0; n],
            envy: vec![0.0; point.pairs.s.len()],
            capacity: vec![0.0; k],
            bundle,
            utility,
            product_y: vec![0.0; n * k],
            product_a: vec![0.0; n],
            product_c,
            product_s: vec![0.0; point.pairs.s.len()],
        }
    }

    /// Corrections for products that a step would leave far below or above the target.
    pub fn pull_back(
        data: &Data<'_>,
        point: &Point,
        d: &Point,
        primal: f64,
        dual: f64,
        target: f64,
    ) -> Self {
        let pull = |x: &[f64], dx: &[f64], m: &[f64], dm: &[f64]| -> Vec<f64> {
            (0..x.len())
                .map(|e| {
                    let product = (x[e] + primal * dx[e]) * (m[e] + dual * dm[e]);
                    let wanted = product.clamp(0.1 * target, 10.0 * target);
                    (wanted - product).max(-10.0 * target)
                })
                .collect()
        };
        Targets {
            own: vec![0.0; data.n],
            envy: vec![0.0; point.pairs.s.len()],
            capacity: vec![0.0; data.k],
            bundle: vec![0.0; data.n * data.k],
            utility: vec![0.0; data.n],
            product_y: pull(&point.y, &d.y, &point.v, &d.v),
            product_a: pull(&point.a, &d.a, &point.alpha, &d.alpha),
            product_c: pull(&point.c, &d.c, &point.p, &d.p),
            product_s: pull(&point.pairs.s, &d.pairs.s, &point.pairs.z, &d.pairs.z),
        }
    }
}

/// The factored system at one point.
pub(super) struct Newton {
    /// Whether complementarity is small enough for the elimination to lose digits.
    is_late: bool,
    /// Cholesky factors of the blocks `H_i`.
    block: Vec<f64>,
    /// `L_i^-1 v_c` for the bundle's own row and then the pairs that envy it.
    solved: Vec<f64>,
    theta_own: Vec<f64>,
    theta: Vec<f64>,
    border: Array2<f64>,
    price: Vec<f64>,
    utilities: Cholesky,
}

impl Newton {
    pub fn new(data: &Data<'_>, point: &Point) -> Self {
        let (n, k) = (data.n, data.k);
        let pairs = &point.pairs;
        let theta_own: Vec<f64> = (0..n).map(|l| point.alpha[l] / point.a[l]).collect();
        let theta: Vec<f64> = (0..pairs.s.len()).map(|r| pairs.z[r] / pairs.s[r]).collect();
        let mut newton = Newton {
            is_late: point.mu() < LATE,
            block: vec![0.0; n * k * k],
            solved: vec![0.0; (n + pairs.s.len()) * k],
            theta_own,
            theta,
            border: Array2::zeros((n, k)),
            price: vec![0.0; k * k],
            utilities: Cholesky::new(Array2::zeros((0, 0))),
        };
        let mut matrix = Array2::<f64>::zeros((n, n));
        for l in 0..n {
            matrix[[l, l]] += newton.theta_own[l];
        }
        for (r, &l) in pairs.envious.iter().enumerate() {
            matrix[[l, l]] += newton.theta[r];
        }
        for j in 0..k {
            newton.price[j * k + j] = point.c[j] / point.p[j];
        }
        for i in 0..n {
            newton.add_bundle(data, point, i, &mut matrix);
        }
        factor_spd(&mut newton.price, k);
        let lifted = newton.lifted_border(k);
        add_outer_product(&mut matrix, &lifted);
        newton.utilities = Cholesky::new(matrix);
        newton
    }

    /// Where `L_i^-1 v_c` stands for member `c` of bundle `i` (0: its own row).
    fn slot(pairs: &Pairs, i: usize) -> usize {
        i + pairs.start[i]
    }

    fn add_bundle(&mut self, data: &Data<'_>, point: &Point, i: usize, matrix: &mut Array2<f64>) {
        let k = data.k;
        let pairs = &point.pairs;
        let members = 1 + pairs.range(i).len();
        let slot = Self::slot(pairs, i);
        let block = &mut self.block[i * k * k..][..k * k];
        let solved = &mut self.solved[slot * k..][..members * k];
        for j in 0..k {
            let e = i * k + j;
            block[j * k + j] = if data.usable(i, j) { point.v[e] / point.y[e] } else { 1.0 };
        }
        let mut who: Vec<(usize, f64)> = Vec::with_capacity(members);
        who.push((i, self.theta_own[i]));
        who.extend(pairs.range(i).map(|r| (pairs.envious[r], self.theta[r])));
        for (c, &(l, theta)) in who.iter().enumerate() {
            let row = &mut solved[c * k..][..k];
            for (j, (x, v)) in row.iter_mut().zip(data.value(l)).enumerate() {
                *x = if data.usable(i, j) { *v } else { 0.0 };
            }
            for a in 0..k {
                let scaled = theta * row[a];
                for b in 0..=a {
                    block[a * k + b] += scaled * row[b];
                }
            }
        }
        factor_spd(block, k);
        for c in 0..members {
            forward(block, &mut solved[c * k..][..k]);
        }
        let weight = data.weight[i];
        for (a, &(l, theta)) in who.iter().enumerate() {
            let own = &solved[a * k..][..k];
            for (b, &(h, other)) in who[..=a].iter().enumerate() {
                let entry = theta * other * dot(own, &solved[b * k..][..k]);
                let (row, column) = if l >= h { (l, h) } else { (h, l) };
                matrix[[row, column]] -= entry;
            }
            let mut whole = own.to_vec();
            backward(block, &mut whole);
            for (j, x) in whole.iter().enumerate() {
                self.border[[l, j]] += weight * theta * x;
            }
        }
        // weight^2 H^-1, column by column.
        for j in (0..k).filter(|&j| data.usable(i, j)) {
            let mut unit = vec![0.0; k];
            unit[j] = weight * weight;
            solve_factored(block, &mut unit);
            for a in j..k {
                self.price[a * k + j] += unit[a];
            }
        }
    }

    /// `B L_E^-T`, so that `B E^-1 B'` is its outer product.
    fn lifted_border(&self, k: usize) -> Array2<f64> {
        let mut lifted = self.border.clone();
        for mut row in lifted.rows_mut() {
            if let Some(row) = row.as_slice_mut() {
                forward(&self.price[..k * k], row);
            }
        }
        lifted
    }

    /// Solves for a direction, and refines it: the elimination loses digits as the path ends.
    pub fn solve(&self, data: &Data<'_>, point: &Point, t: &Targets) -> Point {
        let mut direction = self.solve_once(data, point, t);
        if !self.is_late {
            return direction;
        }
        let mut error = f64::INFINITY;
        for _ in 0..REFINEMENTS_MAX {
            let rest = t.left_by(data, point, &direction);
            let (_, dual) = rest.norms();
            if dual < 1e-14 || dual > 0.5 * error {
                break;
            }
            error = dual;
            let correction = self.solve_once(data, point, &rest);
            direction.add(&correction);
        }
        direction
    }

    fn solve_once(&self, data: &Data<'_>, point: &Point, t: &Targets) -> Point {
        let (n, k) = (data.n, data.k);
        let pairs = &point.pairs;
        // g_i, and its part in the right hand sides.
        let pull_own: Vec<f64> =
            (0..n).map(|l| t.product_a[l] / point.a[l] - self.theta_own[l] * t.own[l]).collect();
        let pull: Vec<f64> = (0..pairs.s.len())
            .map(|r| t.product_s[r] / pairs.s[r] - self.theta[r] * t.envy[r])
            .collect();
        let mut h: Vec<f64> = (0..n).map(|l| t.utility[l] - pull_own[l]).collect();
        let mut e: Vec<f64> = (0..k).map(|j| t.product_c[j] / point.p[j] - t.capacity[j]).collect();
        let mut g = vec![0.0; n * k];
        for i in 0..n {
            let row = &mut g[i * k..][..k];
            for j in (0..k).filter(|&j| data.usable(i, j)) {
                let entry = i * k + j;
                row[j] = t.bundle[entry]
                    + t.product_y[entry] / point.y[entry]
                    + pull_own[i] * data.value(i)[j];
                for r in pairs.range(i) {
                    row[j] -= pull[r] * data.value(pairs.envious[r])[j];
                }
            }
            for r in pairs.range(i) {
                h[pairs.envious[r]] += pull[r];
            }
            let mut half = row.to_vec();
            let block = &self.block[i * k * k..][..k * k];
            forward(block, &mut half);
            let slot = Self::slot(pairs, i);
            h[i] += self.theta_own[i] * dot(&self.solved[slot * k..][..k], &half);
            for (c, r) in pairs.range(i).enumerate() {
                let column = &self.solved[(slot + 1 + c) * k..][..k];
                h[pairs.envious[r]] += self.theta[r] * dot(column, &half);
            }
            backward(block, &mut half);
            for (e, x) in e.iter_mut().zip(&half) {
                *e += data.weight[i] * x;
            }
        }
        let (u, p) = self.solve_reduced(h, e);
        self.recover(data, point, t, g, u, p)
    }

    /// Solves `[N B; -B' E]` by the Schur complement of `E`.
    fn solve_reduced(&self, mut h: Vec<f64>, mut e: Vec<f64>) -> (Vec<f64>, Vec<f64>) {
        let mut shifted = e.clone();
        solve_factored(&self.price, &mut shifted);
        for (l, h) in h.iter_mut().enumerate() {
            *h -= self.border.row(l).iter().zip(&shifted).map(|(b, x)| b * x).sum::<f64>();
        }
        self.utilities.solve(&mut h);
        for (l, u) in h.iter().enumerate() {
            for (e, b) in e.iter_mut().zip(self.border.row(l)) {
                *e += b * u;
            }
        }
        solve_factored(&self.price, &mut e);
        (h, e)
    }

    fn recover(
        &self,
        data: &Data<'_>,
        point: &Point,
        t: &Targets,
        g: Vec<f64>,
        u: Vec<f64>,
        p: Vec<f64>,
    ) -> Point {
        let (n, k) = (data.n, data.k);
        let pairs = &point.pairs;
        let mut y = g;
        for i in 0..n {
            let row = &mut y[i * k..][..k];
            let own = self.theta_own[i] * u[i];
            for j in 0..k {
                row[j] += own * data.value(i)[j] - data.weight[i] * p[j];
            }
            for r in pairs.range(i) {
                let l = pairs.envious[r];
                let pull = self.theta[r] * u[l];
                for (x, v) in row.iter_mut().zip(data.value(l)) {
                    *x += pull * v;
                }
            }
            for j in (0..k).filter(|&j| !data.usable(i, j)) {
                row[j] = 0.0;
            }
            solve_factored(&self.block[i * k * k..][..k * k], row);
        }
        let bundle = |i: usize| &y[i * k..][..k];
        let a: Vec<f64> = (0..n).map(|l| dot(data.value(l), bundle(l)) - u[l] + t.own[l]).collect();
        let alpha = (0..n).map(|l| (t.product_a[l] - point.alpha[l] * a[l]) / point.a[l]).collect();
        let mut c = t.capacity.clone();
        let mut s = t.envy.clone();
        for i in 0..n {
            for (c, x) in c.iter_mut().zip(bundle(i)) {
                *c -= data.weight[i] * x;
            }
            for r in pairs.range(i) {
                let l = pairs.envious[r];
                s[r] += u[l] - dot(data.value(l), bundle(i));
            }
        }
        let z = (0..s.len()).map(|r| (t.product_s[r] - pairs.z[r] * s[r]) / pairs.s[r]).collect();
        let v = (0..n * k)
            .map(|e| {
                let usable = data.usable(e / k, e % k);
                if usable { (t.product_y[e] - point.v[e] * y[e]) / point.y[e] } else { 0.0 }
            })
            .collect();
        let pairs = Pairs { start: pairs.start.clone(), envious: pairs.envious.clone(), s, z };
        Point { y, v, u, a, alpha, c, p, pairs }
    }
}

/// Solves with a lower triangle given by rows.
fn forward(factor: &[f64], x: &mut [f64]) {
    let k = x.len();
    for r in 0..k {
        let mut sum = x[r];
        for c in 0..r {
            sum -= factor[r * k + c] * x[c];
        }
        x[r] = sum / factor[r * k + r];
    }
}

/// Solves with the transpose of a lower triangle given by rows.
fn backward(factor: &[f64], x: &mut [f64]) {
    let k = x.len();
    for r in (0..k).rev() {
        x[r] /= factor[r * k + r];
        let value = x[r];
        for c in 0..r {
            x[c] -= factor[r * k + c] * value;
        }
    }
}
