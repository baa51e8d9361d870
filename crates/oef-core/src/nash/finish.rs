//! The last digits under caps and floors, where the interior path loses them.
//!
//! Who buys what, which types are sold out, and which caps and floors bind is read off the end of the
//! path; with these sets the conditions of the optimum are equations, in the units of [`super::point`]:
//!
//! ```text
//! (1 / u_l + floor_g lift_l) v_lj = p_j + cap_g load_gj      for what is bought
//! sum_l weight_l y_lj = 1,  sum weight_l load_g.y_l = 1,  sum weight_l lift_l u_l = 1   for what binds
//! ```
//!
//! Newton's method solves them. In relative changes `a` of the purchases and changes `d` of the prices
//! a step is `H a + C d = g`, `C' a = r`; `H = weight f f'` for each row, `f` the parts of its utility.
//! Purchases that can be exchanged for each other leave `H` singular: a little is added to its diagonal,
//! which makes the step the least one and is made up for by the next. If a purchase falls to nothing or
//! a condition outside the sets fails, the sets are changed. The bound says whether it was right.

use super::point::Point;
use super::terms::Terms;
use crate::linalg::{factor_spd, solve_factored};

/// Prices, caps and floors together up to which the dense system is worth it.
const PRICES_MAX: usize = 300;
/// Newton steps between two looks at the sets, and looks; two of each are usual.
const STEPS_MAX: usize = 12;
const ROUNDS_MAX: usize = 12;
/// Residuals that are rounding.
const SOLVED: f64 = 1e-15;
/// What is added to the diagonal of `H`, relative to the weight of its row.
const DELTA: f64 = 1e-8;
/// The same for the system of the prices, where these are not unique.
const DELTA_PRICE: f64 = 1e-13;
/// A condition outside the sets that fails by more than this, relative, joins them.
const FAILS: f64 = 1e-12;
/// A purchase that joins starts with this part of what there is for its row.
const SEED: f64 = 1e-3;

/// A price: of a type, of a cap, or of a floor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dual {
    Type(usize),
    Cap(usize),
    Floor(usize),
}

/// The point with purchases and prices solved for; `None` if that came to nothing.
pub(super) fn refine(terms: &Terms<'_>, point: &Point) -> Option<Point> {
    let mut finish = Finish::new(terms, point);
    for _ in 0..ROUNDS_MAX {
        if finish.duals.len() > PRICES_MAX {
            return None;
        }
        finish.converge()?;
        if !finish.change_sets() {
            return Some(finish.point);
        }
    }
    None
}

struct Finish<'a> {
    terms: &'a Terms<'a>,
    point: Point,
    /// Which entries are bought.
    bought: Vec<bool>,
    /// Which prices may differ from zero.
    duals: Vec<Dual>,
}

impl<'a> Finish<'a> {
    fn new(terms: &'a Terms<'a>, point: &Point) -> Self {
        let (n, k) = (terms.scaled.n, terms.scaled.k);
        let mut point = point.clone();
        let bought = (0..n * k).map(|e| {
            let worth = point.lambda(terms, e / k) * terms.scaled.value[e];
            terms.usable(e) && point.y[e] * worth * worth > point.s[e]
        });
        let bought: Vec<bool> = bought.collect();
        for e in (0..n * k).filter(|&e| !bought[e]) {
            point.y[e] = 0.0;
        }
        let mut duals = Vec::new();
        duals.extend((0..k).filter(|&j| point.p[j] > point.z[j]).map(Dual::Type));
        for (g, group) in terms.groups.iter().enumerate() {
            let binds = |dual: f64, slack: f64| dual > slack * group.weight;
            if group.filled || (!group.load.is_empty() && binds(point.cap[g], point.t[g])) {
                duals.push(Dual::Cap(g));
            }
            if group.floor && binds(point.floor[g], point.r[g]) {
                duals.push(Dual::Floor(g));
            }
        }
        let mut finish = Finish { terms, point, bought, duals: Vec::new() };
        finish.keep_prices(duals);
        finish
    }

    /// Takes the list of prices, and sets all others to nothing.
    fn keep_prices(&mut self, duals: Vec<Dual>) {
        let old = self.point.clone();
        for list in [&mut self.point.p, &mut self.point.cap, &mut self.point.floor] {
            list.fill(0.0);
        }
        for &dual in &duals {
            let (from, to) = match dual {
                Dual::Type(j) => (old.p[j], &mut self.point.p[j]),
                Dual::Cap(g) => (old.cap[g], &mut self.point.cap[g]),
                Dual::Floor(g) => (old.floor[g], &mut self.point.floor[g]),
            };
            *to = from;
        }
        self.duals = duals;
    }

    /// Newton steps until nothing moves; `None` if the arithmetic breaks down.
    fn converge(&mut self) -> Option<()> {
        let mut least = f64::INFINITY;
        for _ in 0..STEPS_MAX {
            let size = self.step()?;
            if size <= SOLVED || size >= least && size < 1e-13 {
                return Some(());
            }
            least = least.min(size);
        }
        (least <= 1e-10).then_some(())
    }

    /// The price of a unit of type `j` to row `l`.
    fn cost(&self, l: usize, j: usize) -> f64 {
        let cap = self.terms.group_of[l].map_or(0.0, |g| self.point.cap[g]);
        self.point.p[j] + cap * self.terms.load(l, j)
    }

    /// What row `l`'s purchase `e` puts on a price's constraint.
    fn load(&self, dual: Dual, e: usize) -> f64 {
        let (terms, k) = (self.terms, self.terms.scaled.k);
        let (l, j) = (e / k, e % k);
        let amount = terms.scaled.weight[l] * self.point.y[e];
        match dual {
            Dual::Type(i) if i == j => amount,
            Dual::Cap(g) if terms.group_of[l] == Some(g) => amount * terms.load(l, j),
            Dual::Floor(g) if terms.group_of[l] == Some(g) => {
                -amount * terms.lift[l] * terms.scaled.value[e]
            }
            _ => 0.0,
        }
    }

    /// One Newton step; gives the size of the residuals before it.
    fn step(&mut self) -> Option<f64> {
        let (n, k, m) = (self.terms.scaled.n, self.terms.scaled.k, self.duals.len());
        let mut matrix = vec![0.0; m * m];
        let mut rhs: Vec<f64> = self
            .duals
            .iter()
            .map(|d| if matches!(d, Dual::Floor(_)) { 1.0 } else { -1.0 })
            .collect();
        let mut size = 0.0_f64;
        let mut rows = Vec::with_capacity(n);
        for l in (0..n).filter(|&l| self.terms.takes_part(l)) {
            let row = RowStep::new(self, l)?;
            size = row.lacks.iter().fold(size, |m, g| m.max(g.abs() / self.terms.scaled.weight[l]));
            row.add(&mut matrix, &mut rhs);
            rows.push(row);
        }
        for c in &self.duals {
            let used: f64 = (0..n * k).filter(|&e| self.bought[e]).map(|e| self.load(*c, e)).sum();
            let asked = if matches!(c, Dual::Floor(_)) { -1.0 } else { 1.0 };
            size = size.max((asked - used).abs());
        }
        if !size.is_finite() {
            return None;
        }
        if size <= SOLVED {
            return Some(size);
        }
        let scale: Vec<f64> =
            (0..m).map(|i| matrix[i * m + i].max(1e-300).sqrt().recip()).collect();
        for a in 0..m {
            rhs[a] *= scale[a];
            (0..m).for_each(|b| matrix[a * m + b] *= scale[a] * scale[b]);
            matrix[a * m + a] += DELTA_PRICE;
        }
        factor_spd(&mut matrix, m);
        solve_factored(&matrix, &mut rhs);
        let change: Vec<f64> = rhs.iter().zip(&scale).map(|(x, s)| x * s).collect();
        for row in &rows {
            row.apply(&change, &mut self.point.y);
        }
        for (dual, change) in self.duals.clone().into_iter().zip(change) {
            *self.price_mut(dual) += change;
        }
        for l in 0..n {
            self.point.u[l] = self.terms.scaled.utility(l, &self.point.y, l);
        }
        (0..n * k).filter(|&e| self.point.y[e] <= 0.0).for_each(|e| self.bought[e] = false);
        Some(size)
    }

    fn price_mut(&mut self, dual: Dual) -> &mut f64 {
        match dual {
            Dual::Type(j) => &mut self.point.p[j],
            Dual::Cap(g) => &mut self.point.cap[g],
            Dual::Floor(g) => &mut self.point.floor[g],
        }
    }

    /// Lets join what fails outside the sets, and leave what has the wrong sign; false if nothing does.
    fn change_sets(&mut self) -> bool {
        let (terms, k) = (self.terms, self.terms.scaled.k);
        let mut changed = false;
        for l in (0..terms.scaled.n).filter(|&l| terms.takes_part(l)) {
            let phi = terms.group_of[l].map_or(0.0, |g| self.point.floor[g] * terms.lift[l]);
            let lambda = 1.0 / self.point.u[l] + phi;
            for j in 0..k {
                let (e, cost) = (l * k + j, self.cost(l, j));
                let worth = lambda * terms.scaled.value[e];
                if !self.bought[e] && terms.usable(e) && worth > cost * (1.0 + FAILS) {
                    self.bought[e] = true;
                    self.point.y[e] = SEED / terms.able[j];
                    self.point.u[l] += terms.scaled.value[e] * self.point.y[e];
                    changed = true;
                }
            }
        }
        let mut duals: Vec<Dual> = Vec::new();
        for dual in self.all_duals() {
            let free = matches!(dual, Dual::Cap(g) if terms.groups[g].filled);
            let kept = if self.duals.contains(&dual) {
                free || *self.price_mut(dual) >= -FAILS
            } else {
                self.used(dual) > 1.0 + FAILS
            };
            if kept {
                duals.push(dual);
            }
        }
        if duals != self.duals {
            changed = true;
            self.keep_prices(duals);
        }
        changed
    }

    /// Every price that could be, in the order of the list.
    fn all_duals(&self) -> Vec<Dual> {
        let mut all: Vec<Dual> = (0..self.terms.scaled.k).map(Dual::Type).collect();
        for (g, group) in self.terms.groups.iter().enumerate() {
            if !group.load.is_empty() {
                all.push(Dual::Cap(g));
            }
            if group.floor {
                all.push(Dual::Floor(g));
            }
        }
        all
    }

    /// How much of a constraint is used, so that more than one is too much: for a floor that is missed,
    /// one and what is missing.
    fn used(&self, dual: Dual) -> f64 {
        let entries = (0..self.bought.len()).filter(|&e| self.bought[e]);
        let used: f64 = entries.map(|e| self.load(dual, e)).sum();
        if matches!(dual, Dual::Floor(_)) { 2.0 + used } else { used }
    }
}

/// One row's part of a step.
struct RowStep {
    entries: Vec<usize>,
    /// The parts of its utility.
    parts: Vec<f64>,
    /// What the equations of its purchases lack.
    lacks: Vec<f64>,
    /// The prices it meets, by position, with what each purchase puts on their constraints.
    columns: Vec<(usize, Vec<f64>)>,
    weight: f64,
}

impl RowStep {
    fn new(finish: &Finish<'_>, l: usize) -> Option<Self> {
        let (terms, k) = (finish.terms, finish.terms.scaled.k);
        let weight = terms.scaled.weight[l];
        let entries: Vec<usize> = (l * k..(l + 1) * k).filter(|&e| finish.bought[e]).collect();
        let worth = |e: usize| finish.point.y[e] * terms.scaled.value[e];
        let u: f64 = entries.iter().map(|&e| worth(e)).sum();
        if !(u > 0.0 && u.is_finite()) {
            return None;
        }
        let phi = terms.group_of[l].map_or(0.0, |g| finish.point.floor[g] * terms.lift[l]);
        let lack = |&e: &usize| {
            let above = (1.0 / u + phi) * terms.scaled.value[e] - finish.cost(l, e % k);
            weight * finish.point.y[e] * above
        };
        let meets = |dual: Dual| match dual {
            Dual::Type(j) => finish.bought[l * k + j],
            Dual::Cap(g) | Dual::Floor(g) => terms.group_of[l] == Some(g),
        };
        let duals = finish.duals.iter().enumerate().filter(|&(_, &dual)| meets(dual));
        let columns =
            duals.map(|(at, &dual)| (at, entries.iter().map(|&e| finish.load(dual, e)).collect()));
        Some(RowStep {
            parts: entries.iter().map(|&e| worth(e) / u).collect(),
            lacks: entries.iter().map(lack).collect(),
            columns: columns.collect(),
            entries,
            weight,
        })
    }

    /// `(H + delta weight)^-1 x`, by Sherman and Morrison.
    fn solve(&self, x: &[f64]) -> Vec<f64> {
        let f = &self.parts;
        let norm: f64 = f.iter().map(|f| f * f).sum();
        let along: f64 = f.iter().zip(x).map(|(f, x)| f * x).sum();
        let one = |(i, x): (usize, &f64)| {
            // Without the own part, so that nothing cancels where there is no other.
            let (own, rest) = (f[i] * f[i], along - f[i] * x);
            (x * (DELTA + norm - own) - f[i] * rest) / (DELTA * (DELTA + norm) * self.weight)
        };
        x.iter().enumerate().map(one).collect()
    }

    /// Adds `C' H^-1 C` and `C' H^-1 g + C' 1` (of which the caller has taken what is asked for).
    fn add(&self, matrix: &mut [f64], rhs: &mut [f64]) {
        let m = rhs.len();
        let still = self.solve(&self.lacks);
        for (a, column) in &self.columns {
            let image = self.solve(column);
            rhs[*a] += column.iter().zip(&still).map(|(c, s)| c * (1.0 + s)).sum::<f64>();
            for (b, other) in &self.columns {
                matrix[a * m + b] += other.iter().zip(&image).map(|(c, x)| c * x).sum::<f64>();
            }
        }
    }

    /// Changes the purchases for a change of the prices.
    fn apply(&self, change: &[f64], y: &mut [f64]) {
        let mut lacks = self.lacks.clone();
        for (at, column) in &self.columns {
            lacks.iter_mut().zip(column).for_each(|(g, c)| *g -= c * change[*at]);
        }
        for (&e, a) in self.entries.iter().zip(self.solve(&lacks)) {
            y[e] = (y[e] * (1.0 + a)).max(0.0);
        }
    }
}
