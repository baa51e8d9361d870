//! The Newton system of the interior-point method, eliminated block by block.
//!
//! With `theta` the ratio of multiplier to slack of a constraint, bundle `i` has the block
//! `H_i = diag(v / y) + theta_i v_i v_i' + sum_l theta_li c_l c_l' + theta'_i g g'` over the pairs that envy it
//! and its cap, and `H_i dy_i = theta_i v_i du_i + sum_l theta_li c_l du_l - weight_i dp + g_i`. What is
//! left for the utilities and prices is
//!
//! ```text
//! [ N   B ] [du]   [ h + sum G' H^-1 g ]     N = D - sum_i G_i' H_i^-1 G_i
//! [-B'  E ] [dp] = [ e + sum w  H^-1 g ]     E = diag(c / p) + sum_i weight_i^2 H_i^-1
//! ```
//!
//! and `N + B E^-1 B'` is positive definite: one Cholesky factor of order `n` serves all the right
//! hand sides of an iteration.

use super::data::Data;
use super::lanes::{self, LANES, Lane, packed, row};
use super::members::Members;
use super::pairs::Pairs;
use super::point::Point;
use super::ratios::Ratios;
use super::rhs::Rhs;
use crate::linalg::{Cholesky, add_outer_product};
use ndarray::Array2;

/// Complementarity from which on directions are refined: before, the elimination is exact enough.
const LATE: f64 = 1e-5;
/// Error of a direction, relative to complementarity, at which it is fine enough.
const FINE: f64 = 1e-4;
/// Rounds of refinement per direction; one or two are usual.
const REFINEMENTS_MAX: usize = 16;

/// The factored system at one point.
pub(super) struct Newton {
    /// Complementarity at the point.
    mu: f64,
    /// Cholesky factors of the blocks `H_i`, several bundles side by side.
    factor: Vec<Lane>,
    /// The bundles' own rows and the pairs that envy them.
    members: Members,
    /// `theta_c L_i^-1 v_c` of the members, several side by side.
    solved: Vec<Lane>,
    ratio: Ratios,
    border: Array2<f64>,
    /// The factor of `E`, the same in every lane.
    price: Vec<Lane>,
    utilities: Cholesky,
}

impl Newton {
    pub fn new(data: &Data<'_>, point: &Point, mu: f64) -> Self {
        let (n, k) = (data.n, data.k);
        let members = Members::new(n, &point.pairs);
        let mut newton = Newton {
            mu,
            factor: vec![[0.0; LANES]; n.div_ceil(LANES) * packed(k)],
            solved: vec![[0.0; LANES]; members.who.len() * k],
            members,
            ratio: Ratios::new(data, point),
            border: Array2::zeros((n, k)),
            price: vec![[0.0; LANES]; packed(k)],
            utilities: Cholesky::new(Array2::zeros((0, 0))),
        };
        let mut matrix = Array2::<f64>::zeros((n, n));
        for (l, theta) in newton.ratio.own.iter().enumerate() {
            matrix[[l, l]] += theta;
        }
        for (&l, theta) in point.pairs.envious.iter().zip(&newton.ratio.envy) {
            matrix[[l, l]] += theta;
        }
        for j in (0..k).filter(|&j| !data.rows.used_up[j]) {
            newton.price[row(j) + j][0] = point.c[j] / point.p[j];
        }
        for first in (0..n).step_by(LANES) {
            newton.add_bundles(data, point, first, matrix.as_slice_mut().unwrap_or(&mut []));
        }
        for entry in &mut newton.price {
            *entry = [lanes::total(entry); LANES];
        }
        lanes::factor(&mut newton.price, k);
        let lifted = newton.lifted_border(k);
        add_outer_product(&mut matrix, &lifted);
        newton.utilities = Cholesky::new(matrix);
        newton
    }

    /// Where the factors of the bundles from `first` on are.
    fn factors(&self, first: usize, k: usize) -> &[Lane] {
        &self.factor[first / LANES * packed(k)..][..packed(k)]
    }

    /// Eliminates the bundles that go side by side from `first` on.
    fn add_bundles(&mut self, data: &Data<'_>, point: &Point, first: usize, matrix: &mut [f64]) {
        let (n, k) = (data.n, data.k);
        let mut blocks = vec![[1.0; LANES]; packed(k)];
        let mut block = vec![[0.0; LANES]; k * data.width];
        let group = first..(first + LANES).min(n);
        for i in group.clone() {
            self.block(data, point, i, &mut block);
            let entries = block.as_flattened();
            for r in 0..k {
                for c in 0..=r {
                    blocks[row(r) + c][i - first] = entries[r * data.width * LANES + c];
                }
            }
        }
        if group.len() < LANES {
            // What is left over is the identity.
            for r in 0..k {
                for c in 0..=r {
                    for t in group.len()..LANES {
                        blocks[row(r) + c][t] = if r == c { 1.0 } else { 0.0 };
                    }
                }
            }
        }
        lanes::factor(&mut blocks, k);
        self.add_to_price(data, first, &blocks);
        self.factor[first / LANES * packed(k)..][..packed(k)].copy_from_slice(&blocks);
        let mut one: Vec<Lane> = Vec::with_capacity(packed(k));
        for i in group {
            one.clear();
            one.extend(lanes::spread(&blocks, i - first));
            self.solve_members(data, point, i, &one);
            self.add_products(k, i, n, matrix);
            self.add_to_border(data, i, &one);
        }
    }

    /// The rows of `H_i` (its lower triangle; more of it is left as it comes).
    fn block(&self, data: &Data<'_>, point: &Point, i: usize, block: &mut [Lane]) {
        let (k, width) = (data.k, data.width);
        block.fill([0.0; LANES]);
        let mut add = |theta: f64, values: &[Lane]| {
            let flat = values.as_flattened();
            for (r, row) in block.chunks_exact_mut(width).enumerate() {
                lanes::add(&mut row[..=r / LANES], theta * flat[r], values);
            }
        };
        add(self.ratio.own[i], data.wide(i));
        for r in point.pairs.range(i) {
            add(self.ratio.envy[r], data.wide_compare(point.pairs.envious[r]));
        }
        if data.is_capped(i) {
            add(self.ratio.cap[i], &data.wide_size);
        }
        let flat = block.as_flattened_mut();
        for j in 0..k {
            let row = &mut flat[j * width * LANES..][..k];
            if data.usable(i, j) {
                row[j] += point.v[i * k + j] * self.ratio.per_y[i * k + j];
                data.mask(i, row);
            } else {
                row.fill(0.0);
                row[j] = 1.0;
            }
        }
    }

    /// Adds `weight^2 H^-1` of the bundles from `first` on.
    fn add_to_price(&mut self, data: &Data<'_>, first: usize, factors: &[Lane]) {
        let k = data.k;
        let mut inverse = lanes::invert(factors, k);
        for c in 0..k {
            let scale: Lane = std::array::from_fn(|t| {
                let i = first + t;
                if i < data.n && data.usable(i, c) { data.weight[i] } else { 0.0 }
            });
            for r in c..k {
                for t in 0..LANES {
                    inverse[row(r) + c][t] *= scale[t];
                }
            }
        }
        for r in 0..k {
            let entries = &inverse[row(r)..][..=r];
            for a in 0..=r {
                for b in 0..=a {
                    for t in 0..LANES {
                        self.price[row(a) + b][t] += entries[a][t] * entries[b][t];
                    }
                }
            }
        }
    }

    fn solve_members(&mut self, data: &Data<'_>, point: &Point, i: usize, factor: &[Lane]) {
        let k = data.k;
        let range = self.members.range(i);
        let solved = &mut self.solved[range.start * k..range.end * k];
        let compare = |r: usize| data.rows.compare(point.pairs.envious[r]);
        let envy = point.pairs.range(i).map(|r| (compare(r), self.ratio.envy[r]));
        let members = std::iter::once((data.value(i), self.ratio.own[i])).chain(envy);
        for (c, (values, theta)) in members.enumerate() {
            let columns = &mut solved[c / LANES * k..][..k];
            for (j, (x, v)) in columns.iter_mut().zip(values).enumerate() {
                x[c % LANES] = if data.usable(i, j) { theta * v } else { 0.0 };
            }
        }
        for columns in solved.chunks_exact_mut(k) {
            lanes::forward(factor, columns);
        }
    }

    /// Takes the products of the members of bundle `i` from the matrix of the utilities.
    fn add_products(&self, k: usize, i: usize, n: usize, matrix: &mut [f64]) {
        let range = self.members.range(i);
        let solved = |g: usize| &self.solved[g * k..][..k];
        for ga in range.clone() {
            for gb in range.start..=ga {
                let tile = lanes::tile(solved(ga), solved(gb));
                for (s, &l) in self.members.who[ga].iter().enumerate() {
                    for (t, &h) in self.members.who[gb].iter().enumerate() {
                        let twice = ga == gb && t > s;
                        if l < n && h < n && !twice {
                            matrix[l.max(h) * n + l.min(h)] -= tile[s][t];
                        }
                    }
                }
            }
        }
    }

    fn add_to_border(&mut self, data: &Data<'_>, i: usize, factor: &[Lane]) {
        let (n, k) = (data.n, data.k);
        let border = self.border.as_slice_mut().unwrap_or(&mut []);
        let mut whole = vec![[0.0; LANES]; k];
        for g in self.members.range(i) {
            whole.copy_from_slice(&self.solved[g * k..][..k]);
            lanes::backward(factor, &mut whole);
            for (s, &l) in self.members.who[g].iter().enumerate().filter(|&(_, &l)| l < n) {
                for (to, x) in border[l * k..][..k].iter_mut().zip(&whole) {
                    *to += data.weight[i] * x[s];
                }
            }
        }
    }

    /// `B L_E^-T`, so that `B E^-1 B'` is its outer product.
    fn lifted_border(&self, k: usize) -> Array2<f64> {
        let mut lifted = self.border.clone();
        let mut columns = vec![[0.0; LANES]; k];
        for group in lifted.as_slice_mut().unwrap_or(&mut []).chunks_mut(LANES * k) {
            for (s, row) in group.chunks_exact(k).enumerate() {
                columns.iter_mut().zip(row).for_each(|(x, b)| x[s] = *b);
            }
            lanes::forward(&self.price, &mut columns);
            for (s, row) in group.chunks_exact_mut(k).enumerate() {
                columns.iter().zip(row).for_each(|(x, b)| *b = x[s]);
            }
        }
        lifted
    }

    /// Solves for a direction.
    fn solve_once(&self, data: &Data<'_>, point: &Point, t: &Rhs) -> Point {
        let n = data.n;
        let ratio = &self.ratio;
        let pull_own: Vec<f64> =
            (0..n).map(|l| t.product_a[l] * ratio.per_a[l] - ratio.own[l] * t.own[l]).collect();
        let pull: Vec<f64> = (0..point.pairs.s.len())
            .map(|r| ratio.aimed(t, r) - ratio.envy[r] * t.envy[r])
            .collect();
        let pull_cap: Vec<f64> =
            (0..n).map(|l| t.product_r[l] * ratio.per_r[l] - ratio.cap[l] * t.cap[l]).collect();
        let g = self.gathered(data, point, t, [&pull_own, &pull, &pull_cap]);
        // One more than there are rows, for the places that are left over in groups.
        let mut h: Vec<f64> = (0..n).map(|l| t.utility[l] - pull_own[l]).chain([0.0]).collect();
        for (&l, pull) in point.pairs.envious.iter().zip(&pull) {
            h[l] += pull;
        }
        let price = |j: usize| match data.rows.used_up[j] {
            true => -t.capacity[j],
            false => t.product_c[j] / point.p[j] - t.capacity[j],
        };
        let mut e: Vec<f64> = (0..data.k).map(price).collect();
        self.eliminate(data, &g, &mut h, &mut e);
        h.truncate(n);
        let (u, p) = self.solve_reduced(h, e);
        self.recover(data, point, t, g, u, p)
    }

    /// Solves for a direction, and refines it: the elimination loses digits as the path ends. It loses them in a few
    /// directions only, so what is left is made least over all corrections so far, which sees to each of these once.
    pub fn solve(&self, data: &Data<'_>, point: &Point, t: &Rhs) -> Point {
        let mut direction = self.solve_once(data, point, t);
        if self.mu > LATE {
            return direction;
        }
        let mut rest = t.left_by(data, point, &direction);
        // Corrections and what they take off, perpendicular to each other.
        let mut known: Vec<(Point, Rhs)> = Vec::new();
        for _ in 0..REFINEMENTS_MAX {
            let (capacity, dual) = rest.norms();
            if dual.max(capacity / data.n as f64) < FINE * self.mu {
                break;
            }
            let mut correction = self.solve_once(data, point, &rest);
            let mut taken = rest.left_by(data, point, &correction);
            taken.scale(-1.0);
            taken.add(1.0, &rest);
            for (other, others) in &known {
                let part = -taken.dot(others);
                taken.add(part, others);
                correction.advance(other, part, part);
            }
            let size = taken.dot(&taken).sqrt();
            if !(size.is_finite() && size > 0.0) {
                break;
            }
            taken.scale(1.0 / size);
            let part = rest.dot(&taken);
            direction.advance(&correction, part / size, part / size);
            let before = rest.dot(&rest);
            rest = t.left_by(data, point, &direction);
            if rest.dot(&rest) > before {
                break;
            }
            let shrink = 1.0 / size - 1.0;
            let whole = correction.clone();
            correction.advance(&whole, shrink, shrink);
            known.push((correction, taken));
        }
        direction
    }

    /// The right hand sides `g_i`, in wide rows.
    fn gathered(
        &self,
        data: &Data<'_>,
        point: &Point,
        t: &Rhs,
        [pull_own, pull, pull_cap]: [&[f64]; 3],
    ) -> Vec<Lane> {
        let k = data.k;
        let mut g = vec![[0.0; LANES]; data.n * data.width];
        for (i, row) in g.chunks_exact_mut(data.width).enumerate() {
            lanes::add(row, pull_own[i], data.wide(i));
            for r in point.pairs.range(i) {
                lanes::add(row, -pull[r], data.wide_compare(point.pairs.envious[r]));
            }
            lanes::add(row, -pull_cap[i], &data.wide_size);
            let row = &mut row.as_flattened_mut()[..k];
            for (j, x) in row.iter_mut().enumerate() {
                let e = i * k + j;
                *x += t.bundle[e] + t.product_y[e] * self.ratio.per_y[e];
            }
            data.mask(i, row);
        }
        g
    }

    /// Adds what `H^-1 g` contributes to the right hand sides of the utilities and prices.
    fn eliminate(&self, data: &Data<'_>, g: &[Lane], h: &mut [f64], e: &mut [f64]) {
        let (n, k) = (data.n, data.k);
        let mut x = vec![[0.0; LANES]; k];
        let mut taken = vec![[0.0; LANES]; k];
        for first in (0..n).step_by(LANES) {
            let factors = self.factors(first, k);
            data.side_by_side(g, first, &mut x);
            lanes::forward(factors, &mut x);
            for i in first..(first + LANES).min(n) {
                for group in self.members.range(i) {
                    let mut sums = [0.0; LANES];
                    for (solved, x) in self.solved[group * k..][..k].iter().zip(&x) {
                        for t in 0..LANES {
                            sums[t] += solved[t] * x[i - first];
                        }
                    }
                    for (&l, sum) in self.members.who[group].iter().zip(sums) {
                        h[l] += sum;
                    }
                }
            }
            lanes::backward(factors, &mut x);
            let weight: Lane =
                std::array::from_fn(|t| data.weight.get(first + t).copied().unwrap_or(0.0));
            for (taken, x) in taken.iter_mut().zip(&x) {
                for t in 0..LANES {
                    taken[t] += weight[t] * x[t];
                }
            }
        }
        for (e, taken) in e.iter_mut().zip(&taken) {
            *e += lanes::total(taken);
        }
    }

    /// Solves `[N B; -B' E]` by the Schur complement of `E`.
    fn solve_reduced(&self, mut h: Vec<f64>, mut e: Vec<f64>) -> (Vec<f64>, Vec<f64>) {
        let border = self.border.as_slice().unwrap_or(&[]);
        let shifted = self.solve_price(&e);
        for (h, row) in h.iter_mut().zip(border.chunks_exact(e.len())) {
            *h -= row.iter().zip(&shifted).map(|(b, x)| b * x).sum::<f64>();
        }
        self.utilities.solve(&mut h);
        for (u, row) in h.iter().zip(border.chunks_exact(e.len())) {
            for (e, b) in e.iter_mut().zip(row) {
                *e += b * u;
            }
        }
        let p = self.solve_price(&e);
        (h, p)
    }

    fn solve_price(&self, e: &[f64]) -> Vec<f64> {
        let mut x: Vec<Lane> = e.iter().map(|e| [*e; LANES]).collect();
        lanes::forward(&self.price, &mut x);
        lanes::backward(&self.price, &mut x);
        x.iter().map(|x| x[0]).collect()
    }

    fn recover(
        &self,
        data: &Data<'_>,
        point: &Point,
        t: &Rhs,
        g: Vec<Lane>,
        u: Vec<f64>,
        p: Vec<f64>,
    ) -> Point {
        let (n, k) = (data.n, data.k);
        let (pairs, ratio) = (&point.pairs, &self.ratio);
        let wide = self.bundles(data, pairs, g, &u, &p);
        let bundle = |i: usize| &wide[i * data.width..][..data.width];
        let own = |l: usize| lanes::product(data.wide(l), bundle(l)) - u[l] + t.own[l];
        let a: Vec<f64> = (0..n).map(own).collect();
        let alpha = (0..n).map(|l| t.product_a[l] * ratio.per_a[l] - ratio.own[l] * a[l]).collect();
        let mut s = t.envy.clone();
        for i in 0..n {
            for r in pairs.range(i) {
                let l = pairs.envious[r];
                s[r] += u[l] - lanes::product(data.wide_compare(l), bundle(i));
            }
        }
        let z: Vec<f64> = (0..s.len()).map(|r| ratio.aimed(t, r) - ratio.envy[r] * s[r]).collect();
        let (mut e, mut w) = (vec![0.0; s.len()], vec![0.0; s.len()]);
        let now = &point.pairs;
        for r in (0..s.len()).filter(|&r| now.e[r] > 0.0) {
            w[r] = -z[r];
            e[r] = (t.product_e[r] - now.e[r] * w[r]) / now.w[r];
            s[r] = (t.product_s[r] - now.s[r] * z[r]) / now.z[r];
        }
        let over = |l: usize| match data.is_capped(l) {
            true => t.cap[l] - lanes::product(&data.wide_size, bundle(l)),
            false => 0.0,
        };
        let r: Vec<f64> = (0..n).map(over).collect();
        let lambda =
            (0..n).map(|l| t.product_r[l] * ratio.per_r[l] - ratio.cap[l] * r[l]).collect();
        let y = data.narrowed(&wide);
        let mut c = t.capacity.clone();
        for (row, weight) in y.chunks_exact(k).zip(&data.weight) {
            for (c, x) in c.iter_mut().zip(row) {
                *c -= weight * x;
            }
        }
        for (c, _) in c.iter_mut().zip(&data.rows.used_up).filter(|(_, used_up)| **used_up) {
            *c = 0.0;
        }
        let v = (0..n * k).map(|e| (t.product_y[e] - point.v[e] * y[e]) * ratio.per_y[e]).collect();
        let (start, envious) = (pairs.start.clone(), pairs.envious.clone());
        let pairs = Pairs { start, envious, s, z, e, w };
        Point { y, v, u, a, alpha, r, lambda, c, p, pairs }
    }

    /// The change of the bundles, in wide rows, from those of the utilities and prices.
    fn bundles(
        &self,
        data: &Data<'_>,
        pairs: &Pairs,
        mut g: Vec<Lane>,
        u: &[f64],
        p: &[f64],
    ) -> Vec<Lane> {
        let (n, k) = (data.n, data.k);
        for (i, row) in g.chunks_exact_mut(data.width).enumerate() {
            lanes::add(row, self.ratio.own[i] * u[i], data.wide(i));
            for r in pairs.range(i) {
                let l = pairs.envious[r];
                lanes::add(row, self.ratio.envy[r] * u[l], data.wide_compare(l));
            }
            let row = &mut row.as_flattened_mut()[..k];
            for (x, p) in row.iter_mut().zip(p) {
                *x -= data.weight[i] * p;
            }
            data.mask(i, row);
        }
        let mut x = vec![[0.0; LANES]; k];
        for first in (0..n).step_by(LANES) {
            let factors = self.factors(first, k);
            data.side_by_side(&g, first, &mut x);
            lanes::forward(factors, &mut x);
            lanes::backward(factors, &mut x);
            data.one_by_one(&x, first, &mut g);
        }
        g
    }
}
