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
use super::newton::{Goal, Origin, Step, System};

/// The thrift at `mu = 1`.
const THRIFT: f64 = 0.1;

/// The variables of the path; also a step in them.
#[derive(Clone, Debug, Default)]
pub(super) struct MarketPoint {
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

/// What steps are computed with, kept from one to the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    system: System,
    goal: Goal,
}

/// The products that a step aims at, less the second-order terms of an earlier one.
struct Products<'a> {
    mu: f64,
    affine: Option<&'a MarketPoint>,
}

impl Products<'_> {
    fn money(&self, l: usize) -> f64 {
        self.mu - self.affine.map_or(0.0, |a| a.alpha[l] * a.q[l])
    }

    fn room(&self, l: usize) -> f64 {
        self.mu - self.affine.map_or(0.0, |a| a.lambda[l] * a.r[l])
    }

    fn left(&self, market: &Market, j: usize) -> f64 {
        self.mu * market.unit[j] - self.affine.map_or(0.0, |a| a.price[j] * a.z[j])
    }
}

/// What the units add up to.
fn measure(market: &Market) -> f64 {
    let limited = (0..market.n).filter(|&l| market.is_limited(l)).count();
    let speeds: f64 = market.speed.iter().sum();
    speeds + market.unit.iter().sum::<f64>() + (market.n + limited) as f64
}

pub(super) fn thrift(mu: f64) -> f64 {
    THRIFT * mu.powf(0.4)
}

impl MarketPoint {
    /// A point near the path for a large `mu`, where the path is known: prices are so high that next to
    /// nothing is bought.
    pub fn start(market: &Market, mu: f64) -> Self {
        let (n, k) = (market.n, market.k);
        let price: Vec<f64> =
            market.unit.iter().zip(&market.supply).map(|(u, m)| 1.5 * mu * u / m).collect();
        let mut point = MarketPoint {
            y: vec![0.0; n * k],
            s: vec![1.0; n * k],
            z: market.unit.iter().zip(&price).map(|(u, p)| mu * u / p).collect(),
            price,
            thrift: thrift(mu),
            ..MarketPoint::default()
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
    pub fn mu(&self, market: &Market) -> f64 {
        let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let limited = (0..market.n).filter(|&l| market.is_limited(l));
        let full: f64 = limited.map(|l| self.lambda[l] * self.r[l]).sum();
        let products =
            sum(&self.y, &self.s) + sum(&self.alpha, &self.q) + sum(&self.price, &self.z);
        (products + full) / measure(market)
    }

    /// The same after a part of a step.
    pub fn mu_after(&self, market: &Market, step: &MarketPoint, part: f64) -> f64 {
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
        (products + full) / measure(market)
    }

    /// How far this is from the path's point of `mu`: the greatest relative error of a product or a slack.
    pub fn deviation(&self, market: &Market, mu: f64) -> f64 {
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
            look(self.price[j] * self.z[j] - mu * market.unit[j], mu * market.unit[j]);
            look(left[j] - self.z[j], self.z[j]);
        }
        most
    }

    /// Prepares Newton's steps from here.
    pub fn prepare(&self, market: &Market, work: &mut Work) {
        let ratio = |to: &mut Vec<f64>, a: &[f64], b: &[f64]| {
            to.clear();
            to.extend(a.iter().zip(b).map(|(a, b)| a / b));
        };
        let system = &mut work.system;
        ratio(&mut system.response, &self.y, &self.s);
        ratio(&mut system.income_slope, &self.q, &self.alpha);
        ratio(&mut system.demand_slope, &self.r, &self.lambda);
        ratio(&mut system.price_slope, &self.z, &self.price);
        system.kappa.clear();
        system.kappa.extend(self.alpha.iter().map(|a| a + self.thrift));
        system.factor(Origin { market, y: &self.y, price: &self.price });
    }

    /// The step towards `mu` and a thrift, with the second-order terms of an earlier one.
    pub fn step(
        &self,
        market: &Market,
        work: &mut Work,
        (mu, thrift): (f64, f64),
        affine: Option<&MarketPoint>,
        step: &mut MarketPoint,
    ) {
        let (n, k) = (market.n, market.k);
        step.s.resize(n * k, 0.0);
        self.aim(market, &mut work.goal, (mu, thrift), affine, &mut step.s);
        // The lists go to and fro, so that nothing has to be made anew.
        let mut change = Step {
            y: std::mem::take(&mut step.y),
            alpha: std::mem::take(&mut step.alpha),
            lambda: std::mem::take(&mut step.lambda),
            price: std::mem::take(&mut step.price),
        };
        let origin = Origin { market, y: &self.y, price: &self.price };
        work.system.solve(origin, &work.goal, &mut change);
        let Step { y, alpha, lambda, price } = change;
        for l in 0..n {
            let (v, s) = (market.speed(l), &mut step.s[l * k..][..k]);
            let kappa = self.alpha[l] + self.thrift;
            for j in 0..k {
                let change = kappa * price[j] + self.price[j] * alpha[l] + lambda[l];
                s[j] = if v[j] > 0.0 { s[j] + change } else { 0.0 };
            }
        }
        let slack = |product: f64, dual: f64, slack: f64, change: f64| {
            if slack.is_finite() { (product - slack * change) / dual - slack } else { 0.0 }
        };
        let goal = Products { mu, affine };
        let q = (0..n).map(|l| slack(goal.money(l), self.alpha[l], self.q[l], alpha[l]));
        step.q.clear();
        step.q.extend(q);
        let r = (0..n).map(|l| slack(goal.room(l), self.lambda[l], self.r[l], lambda[l]));
        step.r.clear();
        step.r.extend(r);
        let left = |j: usize| goal.left(market, j);
        step.z = (0..k).map(|j| slack(left(j), self.price[j], self.z[j], price[j])).collect();
        step.thrift = thrift - self.thrift;
        (step.y, step.alpha, step.lambda, step.price) = (y, alpha, lambda, price);
    }

    /// The right-hand side of a step; `lacks` becomes what `s` lacks.
    fn aim(
        &self,
        market: &Market,
        goal: &mut Goal,
        (mu, thrift): (f64, f64),
        affine: Option<&MarketPoint>,
        lacks: &mut [f64],
    ) {
        let (n, k) = (market.n, market.k);
        let wanted = Products { mu, affine };
        let price = &self.price[..k];
        let sold = |j: usize| market.supply[j] - wanted.left(market, j) / price[j];
        goal.supply = (0..k).map(sold).collect();
        goal.beta.resize(n * k, 0.0);
        goal.income.clear();
        goal.room.clear();
        for l in 0..n {
            let row = l * k..(l + 1) * k;
            let (v, y, s) = (market.speed(l), &self.y[row.clone()], &self.s[row.clone()]);
            let (kappa, lambda) = (self.alpha[l] + thrift, self.lambda[l]);
            let (beta, lack) = (&mut goal.beta[row.clone()], &mut lacks[row.clone()]);
            let mut crossed = 0.0;
            if let Some(a) = affine {
                let (dy, ds, dp) = (&a.y[row.clone()], &a.s[row], &a.price[..k]);
                for j in 0..k {
                    lack[j] = kappa * price[j] + lambda - v[j] - s[j] + a.alpha[l] * dp[j];
                    beta[j] = (mu * v[j] - dy[j] * ds[j] - y[j] * lack[j]) / s[j];
                    crossed += dp[j] * dy[j];
                }
            } else {
                for j in 0..k {
                    lack[j] = kappa * price[j] + lambda - v[j] - s[j];
                    beta[j] = (mu * v[j] - y[j] * lack[j]) / s[j];
                }
            }
            goal.income.push(1.0 - wanted.money(l) / self.alpha[l] - crossed);
            let limited = market.is_limited(l);
            goal.room.push(if limited { market.demand[l] - wanted.room(l) / lambda } else { 0.0 });
        }
    }

    /// How far a step can go until something reaches zero, at most a thousand times its length.
    pub fn reach(&self, step: &MarketPoint) -> f64 {
        let mut shrinks = 1e-3;
        for (at, by) in self.lists().into_iter().zip(step.lists()) {
            for (a, d) in at.iter().zip(by) {
                // Both are zero where a row has no demand or cannot run.
                if -d > shrinks * a {
                    shrinks = -d / a;
                }
            }
        }
        1.0 / shrinks
    }

    pub fn scale(&mut self, factor: f64) {
        self.lists_mut().into_iter().flatten().for_each(|d| *d *= factor);
        self.thrift *= factor;
    }

    pub fn advance(&mut self, step: &MarketPoint, part: f64) {
        let lists = self.lists_mut();
        for (at, by) in lists.into_iter().zip(step.lists()) {
            at.iter_mut().zip(by).for_each(|(a, d)| *a += part * d);
        }
        self.thrift += part * step.thrift;
    }

    /// A step relative to the variables, in a list.
    pub fn relative(&self, step: &MarketPoint) -> Vec<f64> {
        let lists = self.lists().into_iter().zip(step.lists());
        let ratio = |(a, d): (&f64, &f64)| if *d == 0.0 { 0.0 } else { d / a };
        lists.flat_map(|(at, by)| at.iter().zip(by).map(ratio)).collect()
    }

    pub fn is_finite(&self) -> bool {
        // Whatever is wrong in a row is wrong in its prices of money and demand.
        let lists = [&self.alpha, &self.lambda, &self.price];
        lists.iter().all(|list| list.iter().all(|x| x.is_finite()))
    }

    fn lists(&self) -> [&Vec<f64>; 8] {
        [&self.y, &self.s, &self.alpha, &self.q, &self.lambda, &self.r, &self.price, &self.z]
    }

    fn lists_mut(&mut self) -> [&mut Vec<f64>; 8] {
        let MarketPoint { y, s, alpha, q, lambda, r, price, z, .. } = self;
        [y, s, alpha, q, lambda, r, price, z]
    }
}
