//! The equilibrium without the path's error.
//!
//! Who buys what, whose income and whose demand binds and which types have a price is read off a point near
//! the end of the path. With these sets the conditions of the equilibrium are equations,
//!
//! ```text
//! alpha p_j + lambda = v_j      for what is bought        (alpha = THRIFT where the income does not bind)
//! p.y = 1,  1.y = demand        for what binds
//! sum_l weight_l y_lj = supply_j    for what has a price
//! ```
//!
//! and Newton's method solves them, with a little added to the diagonals, which makes a step the least one
//! where the solution is not unique, and is made up for by the next. If a purchase falls to nothing or a
//! condition outside the sets fails, the sets are changed. What comes out is checked by [`Market::gap`].

use super::market::Market;
use super::newton::{Equations, Goal, System};
use super::point::Point;

/// Newton steps between two looks at the sets, and looks; two of each are usual.
const STEPS_MAX: usize = 25;
const LOOKS_MAX: usize = 12;
/// Residuals that are rounding, and those that will do.
const SOLVED: f64 = 1e-15;
const ACCEPTED: f64 = 1e-11;
/// What is added to the diagonals, relative.
const DELTA: f64 = 1e-8;
/// The price of money of who has enough: which one does not matter, but that there is one makes it choose
/// the cheaper of equally fast types.
const THRIFT: f64 = 0.1;
/// A condition outside the sets that fails by more than this, relative, joins them.
const FAILS: f64 = 1e-12;
/// A purchase or a price that joins starts with this part of what is usual.
const SEED: f64 = 1e-3;

/// Bundles and prices with the sets that they belong to.
#[derive(Clone, Debug)]
pub(super) struct Equilibrium<'a> {
    pub market: &'a Market,
    pub y: Vec<f64>,
    pub price: Vec<f64>,
    alpha: Vec<f64>,
    lambda: Vec<f64>,
    pub income_binds: Vec<bool>,
    pub demand_binds: Vec<bool>,
    priced: Vec<bool>,
}

impl<'a> Equilibrium<'a> {
    /// The sets that a point of the path suggests.
    pub fn near(market: &'a Market, units: &[f64], point: &Point) -> Self {
        let (n, k) = (market.n, market.k);
        let mut found = Equilibrium {
            market,
            y: vec![0.0; n * k],
            price: point.price.clone(),
            alpha: point.alpha.iter().map(|a| a + point.thrift).collect(),
            lambda: point.lambda.clone(),
            income_binds: Vec::with_capacity(n),
            demand_binds: Vec::with_capacity(n),
            priced: Vec::with_capacity(k),
        };
        for j in 0..k {
            let supply = market.supply[j];
            let priced = point.price[j] * supply / units[j] > point.z[j] / supply;
            found.priced.push(priced);
            if !priced {
                found.price[j] = 0.0;
            }
        }
        for l in 0..n {
            let (v, demand) = (market.speed(l), market.demand[l]);
            let (y, s) = (&point.y[l * k..][..k], &point.s[l * k..][..k]);
            let worth: f64 = v.iter().zip(y).map(|(v, y)| v * y).sum();
            let rich = point.q[l] * worth > point.alpha[l];
            let full = point.lambda[l] * demand * demand > point.r[l] * worth;
            found.demand_binds.push(market.is_limited(l) && (full || rich));
            found.income_binds.push(!(rich && market.is_limited(l)));
            for j in 0..k {
                let bought = if found.income_binds[l] {
                    (point.price[j] * y[j]).max(y[j] / demand) * v[j] > s[j]
                } else {
                    v[j] == 1.0 && y[j] / demand * point.thrift > s[j]
                };
                if bought {
                    found.y[l * k + j] = y[j];
                }
            }
            if found.y[l * k..][..k].iter().all(|y| *y == 0.0) {
                found.seed_best(l);
            }
        }
        found
    }

    /// Solves the equations and changes the sets until nothing fails; whether that was reached.
    pub fn settle(&mut self) -> bool {
        (0..LOOKS_MAX).any(|_| !self.converge() || !self.change_sets())
            && self.residual() <= ACCEPTED
    }

    /// Newton steps until nothing moves; whether the equations hold.
    pub fn converge(&mut self) -> bool {
        let mut least = f64::INFINITY;
        for _ in 0..STEPS_MAX {
            let size = self.residual();
            if size <= SOLVED || (size >= 0.5 * least && size <= 1e-13) {
                return true;
            }
            if !size.is_finite() {
                return false;
            }
            least = least.min(size);
            self.step();
        }
        self.residual() <= ACCEPTED
    }

    fn kappa(&self, l: usize) -> f64 {
        if self.income_binds[l] { self.alpha[l] } else { THRIFT }
    }

    fn step(&mut self) {
        let (market, n, k) = (self.market, self.market.n, self.market.k);
        let kappa: Vec<f64> = (0..n).map(|l| self.kappa(l)).collect();
        let mut response = vec![0.0; n * k];
        let mut beta = self.y.clone();
        for e in (0..n * k).filter(|&e| self.y[e] > 0.0) {
            let (l, j, v) = (e / k, e % k, market.speed[e]);
            response[e] = self.y[e] / (DELTA * v);
            beta[e] -= response[e] * (kappa[l] * self.price[j] + self.lambda[l] - v);
        }
        let slope = |binds: bool, slope: f64| if binds { DELTA * slope } else { f64::INFINITY };
        let worth = |l: usize| kappa[l].max(f64::MIN_POSITIVE);
        let room = |l: usize| if self.demand_binds[l] { market.demand[l] } else { 0.0 };
        let income_slope = |l: usize| slope(self.income_binds[l], DELTA / worth(l));
        let demand_slope = |l: usize| slope(self.demand_binds[l], DELTA * room(l).powi(2));
        let goal = Goal {
            beta,
            income: vec![1.0; n],
            room: (0..n).map(room).collect(),
            supply: market.supply.clone(),
        };
        let change = System::new(Equations {
            market,
            y: &self.y,
            price: &self.price,
            response,
            income_slope: (0..n).map(income_slope).collect(),
            demand_slope: (0..n).map(demand_slope).collect(),
            price_slope: self.priced.iter().map(|p| if *p { 0.0 } else { f64::INFINITY }).collect(),
            kappa,
        })
        .solve(&goal);
        for (y, dy) in self.y.iter_mut().zip(&change.y).filter(|(y, _)| **y > 0.0) {
            *y = (*y + dy).max(0.0);
        }
        self.alpha.iter_mut().zip(&change.alpha).for_each(|(a, d)| *a += d);
        self.lambda.iter_mut().zip(&change.lambda).for_each(|(a, d)| *a += d);
        self.price.iter_mut().zip(&change.price).for_each(|(a, d)| *a += d);
    }

    /// The greatest relative error of an equation.
    fn residual(&self) -> f64 {
        let (market, k) = (self.market, self.market.k);
        let mut most = 0.0_f64;
        let mut look = |error: f64| {
            let error = error.abs();
            most = if error <= most { most } else { error };
        };
        let mut sold = vec![0.0; k];
        for l in 0..market.n {
            let (v, y) = (market.speed(l), &self.y[l * k..][..k]);
            let (mut spent, mut held) = (0.0, 0.0);
            for j in (0..k).filter(|&j| y[j] > 0.0) {
                look((self.kappa(l) * self.price[j] + self.lambda[l]) / v[j] - 1.0);
                spent += self.price[j] * y[j];
                held += y[j];
                sold[j] += market.weight[l] * y[j];
            }
            if self.income_binds[l] {
                look(spent - 1.0);
            }
            if self.demand_binds[l] {
                look(held / market.demand[l] - 1.0);
            }
        }
        for j in (0..k).filter(|&j| self.priced[j]) {
            look(sold[j] / market.supply[j] - 1.0);
        }
        most
    }

    /// Lets join what fails outside the sets, and leave what has the wrong sign; whether anything did.
    fn change_sets(&mut self) -> bool {
        let (market, k) = (self.market, self.market.k);
        let mut changed = false;
        let mut sold = vec![0.0; k];
        for l in 0..market.n {
            changed |= self.change_binding(l);
            let v = market.speed(l);
            let kappa = self.kappa(l);
            for j in (0..k).filter(|&j| v[j] > 0.0) {
                let e = l * k + j;
                let worth = kappa * self.price[j] + self.lambda[l];
                let joins = worth < v[j] * (1.0 - FAILS) && (self.income_binds[l] || v[j] == 1.0);
                if self.y[e] == 0.0 && joins {
                    self.y[e] = SEED * market.demand[l].min(1.0);
                    changed = true;
                }
                sold[j] += market.weight[l] * self.y[e];
            }
        }
        for j in 0..k {
            if self.priced[j] && self.price[j] < 0.0 {
                (self.priced[j], self.price[j]) = (false, 0.0);
                changed = true;
            } else if !self.priced[j] && sold[j] > market.supply[j] * (1.0 + FAILS) {
                (self.priced[j], self.price[j]) = (true, SEED);
                changed = true;
            }
        }
        changed
    }

    /// The same for what binds a row.
    fn change_binding(&mut self, l: usize) -> bool {
        let (market, k) = (self.market, self.market.k);
        let y = &self.y[l * k..][..k];
        let held: f64 = y.iter().sum();
        let spent: f64 = y.iter().zip(&self.price).map(|(y, p)| y * p).sum();
        if held == 0.0 {
            self.seed_best(l);
            return true;
        }
        if !market.is_limited(l) {
            return false;
        }
        let income = if self.income_binds[l] { self.alpha[l] >= 0.0 } else { spent > 1.0 + FAILS };
        let full = held > market.demand[l] * (1.0 + FAILS);
        let demand = if self.demand_binds[l] { self.lambda[l] >= -FAILS } else { full };
        let changed = income != self.income_binds[l] || demand != self.demand_binds[l];
        (self.income_binds[l], self.demand_binds[l]) = (income || !demand, demand);
        if changed && !self.income_binds[l] {
            // It has enough: only of its fastest types.
            let v = market.speed(l);
            (0..k).filter(|&j| v[j] < 1.0).for_each(|j| self.y[l * k + j] = 0.0);
        }
        if !self.demand_binds[l] {
            self.lambda[l] = 0.0;
        }
        if changed && self.y[l * k..][..k].iter().all(|y| *y == 0.0) {
            self.seed_best(l);
        }
        changed
    }

    /// A row that is left with nothing begins with its best value for money.
    fn seed_best(&mut self, l: usize) {
        let (market, k) = (self.market, self.market.k);
        let v = market.speed(l);
        let value = |j: usize| {
            if self.income_binds[l] { v[j] / self.price[j] } else { v[j] - THRIFT * self.price[j] }
        };
        let best = (0..k).filter(|&j| v[j] > 0.0).max_by(|&a, &b| value(a).total_cmp(&value(b)));
        if let Some(j) = best {
            self.y[l * k + j] = market.demand[l].min(1.0 / self.price[j]).min(1.0);
        }
    }
}
