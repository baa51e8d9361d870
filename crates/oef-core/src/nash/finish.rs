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
use super::newton::{Goal, Origin, Step, System};
use super::point::MarketPoint;

/// Newton steps between two looks at the sets, and looks; two of each are usual.
const STEPS_MAX: usize = 25;
const LOOKS_MAX: usize = 12;
/// Residuals that are rounding, and those that will do.
const SOLVED: f64 = 1e-15;
const ACCEPTED: f64 = 1e-11;
/// What is added to the diagonals, relative.
const DELTA: f64 = 1e-8;
/// The same for the prices of money and demand, which a single type does not tell apart.
const SLOPE: f64 = 1e-2;
/// The price of money of who has enough: which one does not matter, but that there is one makes it choose
/// the cheaper of equally fast types.
const THRIFT: f64 = 0.1;
/// A small purchase that falls to less than this part of it in one step is none.
const VANISHES: f64 = 0.05;
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
    pub fn near(market: &'a Market, point: &MarketPoint) -> Self {
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
            let priced = point.price[j] * supply / market.unit[j] > point.z[j] / supply;
            found.priced.push(priced);
            if !priced {
                found.price[j] = 0.0;
            }
        }
        (0..n).for_each(|l| found.read_row(point, l));
        found
    }

    /// What a row buys and what binds it: of each product of two that vanishes, the factor that is less, in
    /// its own unit, is taken for nothing.
    fn read_row(&mut self, point: &MarketPoint, l: usize) {
        let (market, k) = (self.market, self.market.k);
        let (v, demand) = (market.speed(l), market.demand[l]);
        let (y, s) = (&point.y[l * k..][..k], &point.s[l * k..][..k]);
        let worth: f64 = v.iter().zip(y).map(|(v, y)| v * y).sum();
        let rich = market.is_limited(l) && point.q[l] * worth > point.alpha[l];
        let full = point.lambda[l] * demand * demand > point.r[l] * worth;
        self.income_binds.push(!rich);
        self.demand_binds.push(market.is_limited(l) && (full || rich));
        if !self.demand_binds[l] {
            self.lambda[l] = 0.0;
        }
        let mut cheapest: Option<usize> = None;
        for j in 0..k {
            let bought = if rich {
                v[j] == 1.0 && y[j] / demand * point.thrift > s[j]
            } else {
                (point.price[j] * y[j]).max(y[j] / demand) * v[j] > s[j]
            };
            if bought {
                self.y[l * k + j] = y[j];
                cheapest = cheapest.filter(|&i| self.price[i] <= self.price[j]).or(Some(j));
            }
        }
        match cheapest {
            None => self.choose(l),
            // So that its prices are in order from the start: those of the types may not be unique.
            Some(j) if rich => self.lambda[l] = 1.0 - THRIFT * self.price[j],
            Some(_) => {}
        }
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
        let slope = |binds: bool, slope: f64| if binds { SLOPE * slope } else { f64::INFINITY };
        let room = |l: usize| if self.demand_binds[l] { market.demand[l] } else { 0.0 };
        let income_slope =
            |l: usize| slope(self.income_binds[l], 1.0 / kappa[l].abs().max(f64::MIN_POSITIVE));
        let demand_slope = |l: usize| slope(self.demand_binds[l], room(l).powi(2));
        let goal = Goal {
            beta,
            income: vec![1.0; n],
            room: (0..n).map(room).collect(),
            supply: market.supply.clone(),
        };
        let mut system = System::default();
        system.response = response;
        system.income_slope = (0..n).map(income_slope).collect();
        system.demand_slope = (0..n).map(demand_slope).collect();
        system.price_slope =
            self.priced.iter().map(|p| if *p { 0.0 } else { f64::INFINITY }).collect();
        system.kappa = kappa;
        let origin = Origin { market, y: &self.y, price: &self.price };
        let mut change = Step::default();
        system.factor(origin);
        system.solve(origin, &goal, &mut change);
        for (y, dy) in self.y.iter_mut().zip(&change.y).filter(|(y, _)| **y > 0.0) {
            // What falls to next to nothing would for ever fall on.
            let falls = *y + dy < VANISHES * *y && *y < SEED;
            *y = if falls { 0.0 } else { (*y + dy).max(0.0) };
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

    /// Lets every row that has not the best buy it, and types have a price just where it is needed; whether
    /// anything changed.
    fn change_sets(&mut self) -> bool {
        let (market, k) = (self.market, self.market.k);
        let mut changed = false;
        let mut sold = vec![0.0; k];
        for l in 0..market.n {
            let y = &self.y[l * k..][..k];
            sold.iter_mut().zip(y).for_each(|(sold, y)| *sold += market.weight[l] * y);
            let sum = |of: &[f64]| -> f64 { of.iter().zip(y).map(|(a, y)| a * y).sum() };
            let (own, spent, held) =
                (sum(market.speed(l)), sum(&self.price), y.iter().sum::<f64>());
            let best = market.choice(l, &self.price);
            let lacks = own < best.speed * (1.0 - FAILS) || spent > best.cost * (1.0 + FAILS);
            if lacks || held > market.demand[l] * (1.0 + FAILS) {
                self.choose(l);
                changed = true;
            }
        }
        for j in 0..k {
            let usual = market.unit[j] / market.supply[j];
            if self.priced[j] && self.price[j] < FAILS * usual {
                (self.priced[j], self.price[j]) = (false, 0.0);
                changed = true;
            } else if !self.priced[j] && sold[j] > market.supply[j] * (1.0 + FAILS) {
                (self.priced[j], self.price[j]) = (true, SEED * usual);
                changed = true;
            }
        }
        changed
    }

    /// Lets a row buy the best at these prices, besides what it has.
    fn choose(&mut self, l: usize) {
        let (market, k) = (self.market, self.market.k);
        let (v, demand) = (market.speed(l), market.demand[l]);
        let (dear, cheap) = market.choice(l, &self.price).types;
        let price = self.price[dear];
        for j in cheap.into_iter().chain([dear]) {
            let y = &mut self.y[l * k + j];
            *y = y.max(SEED * demand.min(1.0 / self.price[j]));
        }
        let slope = |j: usize| (v[dear] - v[j]) / (price - self.price[j]);
        (self.income_binds[l], self.demand_binds[l]) = match cheap {
            Some(_) => (true, true),
            None => (price * demand > 1.0, price * demand <= 1.0),
        };
        self.alpha[l] = match cheap {
            Some(j) => slope(j),
            None if self.income_binds[l] => v[dear] / price,
            None => THRIFT,
        };
        self.lambda[l] = if self.demand_binds[l] { v[dear] - self.alpha[l] * price } else { 0.0 };
        if !self.income_binds[l] {
            // It has enough: only of its fastest types.
            (0..k).filter(|&j| v[j] < 1.0).for_each(|j| self.y[l * k + j] = 0.0);
        }
    }
}
