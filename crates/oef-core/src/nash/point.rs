//! Points of the central path: the market's conditions with every product equal to `mu` times its unit.
//!
//! ```text
//! s = kappa p + lambda - v,  kappa = alpha + thrift     y s = mu v         per row and type
//! q = 1 - p.y                                           q alpha = mu       per row
//! r = demand - 1.y                                      r lambda = mu      per row with a demand
//! z = supply - sum_l weight_l y_l                       z p = mu unit      per type
//! ```
//!
//! At given prices these are the central path of each row's own linear program, so a point is one of the
//! prices and `mu` alone. The unit of `y s` is the speed itself: types that are slow for everybody have prices
//! as small, and are to be priced as precisely.
//!
//! A row that has all it can use of its fastest GPUs keeps money, `alpha` goes to 0, and nothing would make
//! it choose the cheaper of two types that are equally fast. `thrift` does: a small price of money on top,
//! which goes to 0 with the root of `mu`, more slowly than what it has to outweigh.

use super::market::Market;
use super::newton::{Change, Equations, Goal, System};

/// The thrift at `mu = 1`.
const THRIFT: f64 = 0.1;

/// The variables of the path; also a step in them.
#[derive(Clone, Debug, Default)]
pub(super) struct Point {
    pub y: Vec<f64>,
    pub s: Vec<f64>,
    pub alpha: Vec<f64>,
    pub q: Vec<f64>,
    pub lambda: Vec<f64>,
    pub r: Vec<f64>,
    pub price: Vec<f64>,
    pub z: Vec<f64>,
    pub thrift: f64,
}

/// The units of the products of prices and what is left of the types.
pub(super) fn units(market: &Market) -> Vec<f64> {
    let mut units = vec![0.0; market.k];
    for l in 0..market.n {
        for (unit, v) in units.iter_mut().zip(market.speed(l)) {
            *unit += market.weight[l] * v;
        }
    }
    units.iter().zip(&market.supply).map(|(u, m)| u * m).collect()
}

/// What the units add up to.
fn measure(market: &Market, units: &[f64]) -> f64 {
    let limited = (0..market.n).filter(|&l| market.is_limited(l)).count();
    let speeds: f64 = market.speed.iter().sum();
    speeds + units.iter().sum::<f64>() + (market.n + limited) as f64
}

pub(super) fn thrift(mu: f64) -> f64 {
    THRIFT * mu.powf(0.4)
}

impl Point {
    /// A point near the path for a large `mu`, where the path is known: prices are so high that next to
    /// nothing is bought.
    pub fn start(market: &Market, units: &[f64], mu: f64) -> Self {
        let (n, k) = (market.n, market.k);
        let price: Vec<f64> =
            units.iter().zip(&market.supply).map(|(u, m)| 1.5 * mu * u / m).collect();
        let mut point = Point {
            y: vec![0.0; n * k],
            s: vec![1.0; n * k],
            z: units.iter().zip(&price).map(|(u, p)| mu * u / p).collect(),
            price,
            thrift: thrift(mu),
            ..Point::default()
        };
        for l in 0..n {
            let speed = market.speed(l);
            let alpha = mu * (1.0 + speed.iter().sum::<f64>());
            let limited = market.is_limited(l);
            let r = if limited { 0.5 * market.demand[l] } else { f64::INFINITY };
            let lambda = if limited { mu / r } else { 0.0 };
            for j in (0..k).filter(|&j| speed[j] > 0.0) {
                let s = (alpha + point.thrift) * point.price[j] + lambda;
                point.s[l * k + j] = s;
                point.y[l * k + j] = mu * speed[j] / s;
            }
            point.alpha.push(alpha);
            point.q.push(mu / alpha);
            point.lambda.push(lambda);
            point.r.push(r);
        }
        point
    }

    /// The mean of the products in their units.
    pub fn mu(&self, market: &Market, units: &[f64]) -> f64 {
        let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let limited = (0..market.n).filter(|&l| market.is_limited(l));
        let full: f64 = limited.map(|l| self.lambda[l] * self.r[l]).sum();
        let products =
            sum(&self.y, &self.s) + sum(&self.alpha, &self.q) + sum(&self.price, &self.z);
        (products + full) / measure(market, units)
    }

    /// The same after a part of a step.
    pub fn mu_after(&self, market: &Market, units: &[f64], step: &Point, part: f64) -> f64 {
        let sum = |a: &[f64], da: &[f64], b: &[f64], db: &[f64]| -> f64 {
            let pairs = a.iter().zip(da).zip(b.iter().zip(db));
            pairs.map(|((a, da), (b, db))| (a + part * da) * (b + part * db)).sum()
        };
        let products = sum(&self.y, &step.y, &self.s, &step.s)
            + sum(&self.alpha, &step.alpha, &self.q, &step.q)
            + sum(&self.price, &step.price, &self.z, &step.z);
        let after =
            |l: usize| (self.lambda[l] + part * step.lambda[l]) * (self.r[l] + part * step.r[l]);
        let full: f64 = (0..market.n).filter(|&l| market.is_limited(l)).map(after).sum();
        (products + full) / measure(market, units)
    }

    /// How far this is from the path's point of `mu`: the greatest relative error of a product or a slack.
    pub fn deviation(&self, market: &Market, units: &[f64], mu: f64) -> f64 {
        let k = market.k;
        let mut most = 0.0_f64;
        let mut look = |error: f64, scale: f64| {
            let error = (error / scale).abs();
            most = if error <= most { most } else { error };
        };
        let mut left = market.supply.clone();
        for l in 0..market.n {
            let (v, y, s) = (market.speed(l), &self.y[l * k..][..k], &self.s[l * k..][..k]);
            let kappa = self.alpha[l] + self.thrift;
            let (mut spent, mut held) = (0.0, 0.0);
            for j in (0..k).filter(|&j| v[j] > 0.0) {
                look(y[j] * s[j] - mu * v[j], mu * v[j]);
                look(kappa * self.price[j] + self.lambda[l] - v[j] - s[j], s[j]);
                spent += self.price[j] * y[j];
                held += y[j];
                left[j] -= market.weight[l] * y[j];
            }
            look(self.alpha[l] * self.q[l] - mu, mu);
            look(1.0 - spent - self.q[l], self.q[l]);
            if market.is_limited(l) {
                look(self.lambda[l] * self.r[l] - mu, mu);
                look(market.demand[l] - held - self.r[l], self.r[l]);
            }
        }
        for j in 0..k {
            look(self.price[j] * self.z[j] - mu * units[j], mu * units[j]);
            look(left[j] - self.z[j], self.z[j]);
        }
        most
    }

    /// The system of Newton's steps from here.
    pub fn system<'a>(&'a self, market: &'a Market) -> System<'a> {
        let ratio = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a / b).collect();
        System::new(Equations {
            market,
            y: &self.y,
            price: &self.price,
            response: ratio(&self.y, &self.s),
            kappa: self.alpha.iter().map(|a| a + self.thrift).collect(),
            income_slope: ratio(&self.q, &self.alpha),
            demand_slope: ratio(&self.r, &self.lambda),
            price_slope: ratio(&self.z, &self.price),
        })
    }

    /// The step towards `mu` and a thrift, with the second-order terms of an earlier one.
    pub fn step(
        &self,
        market: &Market,
        units: &[f64],
        system: &System<'_>,
        (mu, thrift): (f64, f64),
        affine: Option<&Point>,
    ) -> Point {
        let (n, k) = (market.n, market.k);
        let second = |pick: fn(&Point) -> (&[f64], &[f64]), i: usize| {
            affine.map_or(0.0, |a| {
                let (x, y) = pick(a);
                x[i] * y[i]
            })
        };
        let money = |l: usize| mu - second(|a| (&a.alpha, &a.q), l);
        let room = |l: usize| mu - second(|a| (&a.lambda, &a.r), l);
        let left = |j: usize| mu * units[j] - second(|a| (&a.price, &a.z), j);
        let mut goal = Goal {
            beta: vec![0.0; n * k],
            income: Vec::with_capacity(n),
            room: Vec::with_capacity(n),
            supply: (0..k).map(|j| market.supply[j] - left(j) / self.price[j]).collect(),
        };
        // What `s` lacks, row after row.
        let mut lacks = vec![0.0; n * k];
        for l in 0..n {
            let row = l * k..(l + 1) * k;
            let (v, y, s) = (market.speed(l), &self.y[row.clone()], &self.s[row.clone()]);
            let (kappa, lambda) = (self.alpha[l] + thrift, self.lambda[l]);
            let (beta, lack) = (&mut goal.beta[row.clone()], &mut lacks[row.clone()]);
            let mut crossed = 0.0;
            if let Some(a) = affine {
                let (dy, ds) = (&a.y[row.clone()], &a.s[row]);
                for j in 0..k {
                    lack[j] =
                        kappa * self.price[j] + lambda - v[j] - s[j] + a.alpha[l] * a.price[j];
                    beta[j] = (mu * v[j] - dy[j] * ds[j] - y[j] * lack[j]) / s[j];
                    crossed += a.price[j] * dy[j];
                }
            } else {
                for j in 0..k {
                    lack[j] = kappa * self.price[j] + lambda - v[j] - s[j];
                    beta[j] = (mu * v[j] - y[j] * lack[j]) / s[j];
                }
            }
            goal.income.push(1.0 - money(l) / self.alpha[l] - crossed);
            let limited = market.is_limited(l);
            goal.room.push(if limited { market.demand[l] - room(l) / lambda } else { 0.0 });
        }
        let Change { y, alpha, lambda, price } = system.solve(&goal);
        let mut s = lacks;
        for l in 0..n {
            let (v, s) = (market.speed(l), &mut s[l * k..][..k]);
            let kappa = self.alpha[l] + self.thrift;
            for j in 0..k {
                let change = kappa * price[j] + self.price[j] * alpha[l] + lambda[l];
                s[j] = if v[j] > 0.0 { s[j] + change } else { 0.0 };
            }
        }
        let slack = |product: f64, dual: f64, slack: f64, change: f64| {
            if slack.is_finite() { (product - slack * change) / dual - slack } else { 0.0 }
        };
        Point {
            q: (0..n).map(|l| slack(money(l), self.alpha[l], self.q[l], alpha[l])).collect(),
            r: (0..n).map(|l| slack(room(l), self.lambda[l], self.r[l], lambda[l])).collect(),
            z: (0..k).map(|j| slack(left(j), self.price[j], self.z[j], price[j])).collect(),
            thrift: thrift - self.thrift,
            y,
            s,
            alpha,
            lambda,
            price,
        }
    }

    /// How far a step can go until something reaches zero, at most a thousand times its length.
    pub fn reach(&self, step: &Point) -> f64 {
        let mut shrinks = 1e-3;
        for (at, by) in self.lists().into_iter().zip(step.lists()) {
            for (a, d) in at.iter().zip(by) {
                // Both are zero where a row has no demand or cannot run.
                let ratio = if *d < 0.0 { -d / a } else { 0.0 };
                shrinks = if ratio > shrinks { ratio } else { shrinks };
            }
        }
        1.0 / shrinks
    }

    pub fn scale(&mut self, factor: f64) {
        self.lists_mut().into_iter().flatten().for_each(|d| *d *= factor);
        self.thrift *= factor;
    }

    pub fn advance(&mut self, step: &Point, part: f64) {
        let lists = self.lists_mut();
        for (at, by) in lists.into_iter().zip(step.lists()) {
            at.iter_mut().zip(by).for_each(|(a, d)| *a += part * d);
        }
        self.thrift += part * step.thrift;
    }

    /// A step relative to the variables, in a list.
    pub fn relative(&self, step: &Point) -> Vec<f64> {
        let lists = self.lists().into_iter().zip(step.lists());
        let ratio = |(a, d): (&f64, &f64)| if *d == 0.0 { 0.0 } else { d / a };
        lists.flat_map(|(at, by)| at.iter().zip(by).map(ratio)).collect()
    }

    pub fn is_finite(&self) -> bool {
        self.lists().iter().all(|list| list.iter().all(|x| !x.is_nan()))
    }

    fn lists(&self) -> [&Vec<f64>; 8] {
        [&self.y, &self.s, &self.alpha, &self.q, &self.lambda, &self.r, &self.price, &self.z]
    }

    fn lists_mut(&mut self) -> [&mut Vec<f64>; 8] {
        let Point { y, s, alpha, q, lambda, r, price, z, .. } = self;
        [y, s, alpha, q, lambda, r, price, z]
    }
}
