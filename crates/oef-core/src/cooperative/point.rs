//! A point of the interior path.

use super::data::Data;
use super::lanes::{self, LANES};
use super::pairs::Pairs;
use crate::linalg::dot;
use ndarray::{Array2, ArrayView2};

/// Part of the way to the boundary that a step may take.
pub(super) const TO_BOUNDARY: f64 = 0.995;

/// Primal and dual variables with their slacks; also a direction between two of them.
#[derive(Clone, Debug)]
pub(super) struct Point {
    /// Bundles and their reduced costs (both unused where a row cannot use a type).
    pub y: Vec<f64>,
    pub v: Vec<f64>,
    pub u: Vec<f64>,
    /// Slack and multiplier of `own`.
    pub a: Vec<f64>,
    pub alpha: Vec<f64>,
    /// Slack and multiplier of the caps; 1 and 0 where there is none.
    pub r: Vec<f64>,
    pub lambda: Vec<f64>,
    /// Slack and multiplier of the capacities; a type that must be used up has no slack, and its
    /// multiplier has any sign.
    pub c: Vec<f64>,
    pub p: Vec<f64>,
    /// The envy pairs in play, ordered by the envied row.
    pub pairs: Pairs,
}

impl Point {
    /// A first point, everything with room.
    pub fn start(data: &Data<'_>, pairs: &[(usize, usize)]) -> Self {
        let (n, k, rows) = (data.n, data.k, data.rows);
        let y = first_bundles(data);
        let value: Vec<f64> = (0..n).map(|l| dot(data.value(l), &y[l * k..][..k])).collect();
        let slack = |l: usize| match data.is_capped(l) {
            true => (rows.cap[l] - dot(&rows.size, &y[l * k..][..k])).max(0.1 * rows.cap[l]),
            false => 1.0,
        };
        let r: Vec<f64> = (0..n).map(slack).collect();
        let mut point = Point {
            y,
            v: vec![0.0; n * k],
            u: value.iter().map(|value| 0.94 * value).collect(),
            a: value.iter().map(|value| 0.1 * value).collect(),
            alpha: data.worth.clone(),
            r,
            lambda: vec![0.0; n],
            c: rows.used_up.iter().map(|used| if *used { 0.0 } else { 0.1 * n as f64 }).collect(),
            p: vec![0.0; k],
            pairs: Pairs::default(),
        };
        for l in (0..n).filter(|&l| data.is_capped(l)) {
            point.lambda[l] = 0.01 / point.r[l];
        }
        let first = pairs.iter().filter(|(l, i)| rows.compares(*l, *i)).map(|&(l, i)| {
            let s = 0.1 * value[l];
            (l, i, s, 0.01 / s)
        });
        let first: Vec<_> = first.collect();
        point.pairs = Pairs::from_list(data, &first);
        for (&l, z) in point.pairs.envious.iter().zip(&point.pairs.z) {
            point.alpha[l] += z;
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

    /// `alpha_i v_i - sum_l z_li c_l - lambda_i g` per bundle: what a unit of each type is worth there.
    pub fn gain(&self, data: &Data<'_>) -> Vec<f64> {
        let (n, k) = (data.n, data.k);
        let mut gain = Vec::with_capacity(n * k);
        let mut row = vec![[0.0; LANES]; data.width];
        for i in 0..n {
            row.fill([0.0; LANES]);
            lanes::add(&mut row, self.alpha[i], data.wide(i));
            for r in self.pairs.range(i) {
                let compare = data.wide_compare(self.pairs.envious[r]);
                lanes::add(&mut row, -self.pairs.z[r], compare);
            }
            if self.lambda[i] != 0.0 {
                lanes::add(&mut row, -self.lambda[i], &data.wide_size);
            }
            gain.extend_from_slice(&row.as_flattened()[..k]);
        }
        gain
    }

    /// Mean complementarity.
    pub fn mu(&self) -> f64 {
        let sum = dot(&self.y, &self.v)
            + dot(&self.a, &self.alpha)
            + dot(&self.r, &self.lambda)
            + dot(&self.c, &self.p)
            + dot(&self.pairs.s, &self.pairs.z)
            + dot(&self.pairs.e, &self.pairs.w);
        sum / self.products() as f64
    }

    /// How many products of a slack and its multiplier there are.
    fn products(&self) -> usize {
        let capped = self.lambda.iter().filter(|lambda| **lambda > 0.0).count();
        let priced = self.c.iter().filter(|c| **c > 0.0).count();
        let limited = self.pairs.e.iter().filter(|e| **e > 0.0).count();
        self.y.len() + self.a.len() + self.pairs.s.len() + capped + priced + limited
    }

    /// Mean complementarity after a step.
    pub fn mu_after(&self, d: &Point, primal: f64, dual: f64) -> f64 {
        let sum = |x: &[f64], dx: &[f64], m: &[f64], dm: &[f64]| {
            // (x + primal dx)(m + dual dm), multiplied out.
            dot(x, m) + primal * dot(dx, m) + dual * dot(x, dm) + primal * dual * dot(dx, dm)
        };
        let priced = (0..self.c.len()).filter(|&j| self.c[j] > 0.0);
        let capacity = priced
            .map(|j| (self.c[j] + primal * d.c[j]) * (self.p[j] + dual * d.p[j]))
            .sum::<f64>();
        let sum = sum(&self.y, &d.y, &self.v, &d.v)
            + sum(&self.a, &d.a, &self.alpha, &d.alpha)
            + sum(&self.r, &d.r, &self.lambda, &d.lambda)
            + sum(&self.pairs.s, &d.pairs.s, &self.pairs.z, &d.pairs.z)
            + sum(&self.pairs.e, &d.pairs.e, &self.pairs.w, &d.pairs.w);
        (sum + capacity) / self.products() as f64
    }

    /// The longest steps, primal and dual, at most whole ones.
    pub fn step_lengths(&self, d: &Point) -> (f64, f64) {
        let primal = steepest(&self.y, &d.y)
            .max(steepest(&self.a, &d.a))
            .max(steepest(&self.r, &d.r))
            .max(steepest(&self.pairs.s, &d.pairs.s))
            .max(steepest(&self.pairs.e, &d.pairs.e));
        let dual = steepest(&self.v, &d.v)
            .max(steepest(&self.alpha, &d.alpha))
            .max(steepest(&self.lambda, &d.lambda))
            .max(steepest(&self.pairs.z, &d.pairs.z))
            .max(steepest(&self.pairs.w, &d.pairs.w));
        let priced = (0..self.c.len()).filter(|&j| self.c[j] > 0.0);
        let (primal, dual) = priced.fold((primal, dual), |(primal, dual), j| {
            (primal.max(-d.c[j] / self.c[j]), dual.max(-d.p[j] / self.p[j]))
        });
        (1.0 / primal, 1.0 / dual)
    }

    /// Brings those of these pairs (envious, envied) into play that are not, with at least so much room relative to the
    /// root of complementarity.
    pub fn bring_into_play(&mut self, data: &Data<'_>, pairs: &[(usize, usize)], room: f64) {
        let (mu, asked) = (self.mu(), self.comparisons(data));
        let is_new =
            |&(l, i): &(usize, usize)| !self.pairs.envious[self.pairs.range(i)].contains(&l);
        let new = pairs.iter().copied().filter(is_new).map(|(l, i)| {
            let s = (self.u[l] - asked[[l, i]]).max(room * mu.sqrt());
            (l, i, s, mu / s)
        });
        let new: Vec<_> = new.collect();
        self.pairs.rebuild(data, |_, _| true, &new);
    }

    pub fn advance(&mut self, d: &Point, primal: f64, dual: f64) {
        let add = |x: &mut [f64], d: &[f64], step: f64| {
            for (x, d) in x.iter_mut().zip(d) {
                *x += step * d;
            }
        };
        add(&mut self.y, &d.y, primal);
        add(&mut self.u, &d.u, primal);
        add(&mut self.a, &d.a, primal);
        add(&mut self.r, &d.r, primal);
        add(&mut self.c, &d.c, primal);
        add(&mut self.pairs.s, &d.pairs.s, primal);
        add(&mut self.pairs.e, &d.pairs.e, primal);
        add(&mut self.v, &d.v, dual);
        add(&mut self.alpha, &d.alpha, dual);
        add(&mut self.lambda, &d.lambda, dual);
        add(&mut self.p, &d.p, dual);
        add(&mut self.pairs.z, &d.pairs.z, dual);
        add(&mut self.pairs.w, &d.pairs.w, dual);
    }

    pub fn add(&mut self, other: &Point) {
        self.advance(other, 1.0, 1.0);
    }

    /// What every bundle would have to be worth to the row that has it not to envy another, `[l, i]`.
    pub fn comparisons(&self, data: &Data<'_>) -> Array2<f64> {
        let shape = (data.n, data.k);
        let compare = ArrayView2::from_shape(shape, data.rows.comparisons());
        let bundles = ArrayView2::from_shape(shape, &self.y);
        let mut asked = match (compare, bundles) {
            (Ok(compare), Ok(bundles)) => compare.dot(&bundles.t()),
            _ => Array2::zeros((data.n, data.n)),
        };
        for (mut row, base) in asked.rows_mut().into_iter().zip(&data.rows.base) {
            if *base > 0.0 {
                row += *base;
            }
        }
        asked
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

/// Part of the first bundles that is spread over all types.
const SPREAD: f64 = 0.3;
/// The least of a row that has nothing in the plain division, in units of an equal split.
const LEAST: f64 = 1e-6;

/// A little less than an equal split; with demands, than the plain division, which all constraints allow: from there even
/// rows that can use forty times their equal split, or a hundredth of it, are not far from where they end.
fn first_bundles(data: &Data<'_>) -> Vec<f64> {
    let (n, k, rows) = (data.n, data.k, data.rows);
    let held: Vec<f64> = match rows.is_limited() {
        false => vec![1.0; n * k],
        true => rows
            .division
            .chunks_exact(k)
            .flat_map(|own| {
                let spread = SPREAD * dot(&rows.size, own).max(LEAST);
                own.iter().map(move |y| (1.0 - SPREAD) * y + spread)
            })
            .collect(),
    };
    let usable = |e: usize| if data.usable(e / k, e % k) { 0.9 * held[e] } else { 0.0 };
    (0..n * k).map(usable).collect()
}
