//! Points on the way of the interior-point method: variables, start, steps, how far they are.

use super::newton::direction;
use super::terms::Terms;

/// Steps; 10 to 25 are usual, from ten rows to a hundred thousand.
const STEPS_MAX: usize = 300;
/// Steps without progress after which there will be none.
const IDLE_MAX: usize = 15;
/// Mean complementarity and residuals at which the prices are right to twelve digits or so.
const CONVERGED: f64 = 1e-15;
/// Residuals that are rounding once complementarity is far smaller.
const ACCEPTED: f64 = 1e-11;
/// Part of the way to the boundary that a step may take.
const TO_BOUNDARY: f64 = 0.995;
/// The start keeps this much of everything free.
const FREE: f64 = 0.1;

/// Primal and dual variables, in scaled units; also a direction in them.
///
/// ```text
/// u_l = v_l.y_l                                        utility
/// s_l = p + cap_g load_g - (eta_l + floor_g lift_l) v_l   above its worth
/// eta_l u_l = 1                                        (from the logarithm)
/// y s = mu,  p z = mu able,  cap t = mu weight_g,  floor r = mu weight_g
/// sum_l weight_l y_l + z = 1,  sum_(l in g) weight_l load_g.y_l + t_g = 1
/// sum_(l in g) weight_l lift_l u_l - r_g = 1
/// ```
///
/// Everything but the products is linear: a step that is feasible in the first four lines stays so.
#[derive(Clone, Debug, Default)]
pub(super) struct Point {
    pub y: Vec<f64>,
    pub s: Vec<f64>,
    pub u: Vec<f64>,
    pub eta: Vec<f64>,
    pub p: Vec<f64>,
    pub z: Vec<f64>,
    pub cap: Vec<f64>,
    pub t: Vec<f64>,
    pub floor: Vec<f64>,
    pub r: Vec<f64>,
}

/// Follows the path of centres from the start to its end, or as near as the arithmetic gets. Gives
/// the best point and the number of steps; `None` if stopped.
pub(super) fn follow(terms: &Terms<'_>, stop: &dyn Fn() -> bool) -> Option<(Point, usize)> {
    let mut point = Point::start(terms);
    let mut best = (point.distance(terms), point.clone());
    let (mut idle, mut careful) = (0, false);
    for steps in 0..STEPS_MAX {
        let spent = best.0 <= ACCEPTED && point.mu(terms) <= 0.1 * CONVERGED;
        if best.0 <= CONVERGED || spent || idle == IDLE_MAX {
            return Some((best.1, steps));
        }
        if stop() {
            return None;
        }
        let step = point.step(terms, careful);
        let distance = point.distance(terms);
        if !(distance.is_finite() && step > 0.0) {
            return Some((best.1, steps));
        }
        idle = if distance < 0.99 * best.0 { 0 } else { idle + 1 };
        careful = step < 0.5;
        if distance < best.0 {
            best = (distance, point.clone());
        }
    }
    Some((best.1, STEPS_MAX))
}

impl Point {
    /// A point inside all bounds and caps, with all products of order one whatever the ranges of
    /// speedups, weights and demands: type `j` divided among those who can use it, `y_lj = 1 / able_j`
    /// (less under a cap), and prices above everybody's value by a part of `able_j`.
    fn start(terms: &Terms<'_>) -> Self {
        let scaled = terms.scaled;
        let (n, k) = (scaled.n, scaled.k);
        let kept = if terms.sells_out() { 1.0 } else { 1.0 - FREE };
        let mut y: Vec<f64> = (0..n * k)
            .map(|e| if terms.usable(e) { kept / terms.able[e % k] } else { 0.0 })
            .collect();
        for group in terms.groups.iter().filter(|g| !g.load.is_empty()) {
            let load = load_of(terms, group, &y);
            let kept = if group.filled { 1.0 } else { kept };
            if load > kept || group.filled {
                for &l in &group.rows {
                    y[l * k..][..k].iter_mut().for_each(|y| *y *= kept / load);
                }
            }
        }
        let u: Vec<f64> = (0..n).map(|l| scaled.utility(l, &y, l)).collect();
        let eta = u.iter().map(|&u| if u > 0.0 { 1.0 / u } else { 0.0 }).collect();
        let mut point = Point { y, u, eta, ..Point::default() };
        for group in &terms.groups {
            let capped = !group.load.is_empty() && !group.filled;
            point.cap.push(if capped { group.weight } else { 0.0 });
            point.t.push(if capped { 1.0 - load_of(terms, group, &point.y) } else { 0.0 });
            let reached: f64 = lifted(terms, group, &point.u);
            point.floor.push(if group.floor { FREE * group.weight } else { 0.0 });
            point.r.push(if group.floor { (reached - 1.0).max(FREE) } else { 0.0 });
        }
        let worth = |l: usize, e: usize| point.lambda(terms, l) * scaled.value[e];
        let mut p: Vec<f64> = terms.able.iter().map(|able| FREE * able).collect();
        for j in 0..k {
            let value =
                |l: usize| worth(l, l * k + j) - point.cap_price(terms, l) * terms.load(l, j);
            p[j] += (0..n).filter(|l| terms.usable(l * k + j)).map(value).fold(0.0, f64::max);
        }
        point.s = (0..n * k)
            .map(|e| {
                let (l, j) = (e / k, e % k);
                let cap = point.cap_price(terms, l) * terms.load(l, j);
                if terms.usable(e) { p[j] + cap - worth(l, e) } else { 0.0 }
            })
            .collect();
        point.z = if terms.sells_out() {
            Vec::new()
        } else {
            point.sold(terms).iter().map(|sold| (1.0 - sold).max(0.5 * FREE)).collect()
        };
        point.p = p;
        point
    }

    /// What a unit of row `l`'s utility is worth to it and towards its floor.
    pub fn lambda(&self, terms: &Terms<'_>, l: usize) -> f64 {
        self.eta[l] + terms.group_of[l].map_or(0.0, |g| self.floor[g] * terms.lift[l])
    }

    fn cap_price(&self, terms: &Terms<'_>, l: usize) -> f64 {
        terms.group_of[l].map_or(0.0, |g| self.cap[g])
    }

    pub fn sold(&self, terms: &Terms<'_>) -> Vec<f64> {
        let (k, weight) = (terms.scaled.k, &terms.scaled.weight);
        let mut sold = vec![0.0; k];
        for (row, weight) in self.y.chunks_exact(k).zip(weight) {
            for (sold, y) in sold.iter_mut().zip(row) {
                *sold += weight * y;
            }
        }
        sold
    }

    /// What is missing on the capacities, the caps and the floors.
    pub fn residuals(&self, terms: &Terms<'_>) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let free = |j: usize| self.z.get(j).copied().unwrap_or(0.0);
        let sold = self.sold(terms).into_iter().enumerate().map(|(j, sold)| 1.0 - sold - free(j));
        let mut caps = vec![0.0; terms.groups.len()];
        let mut floors = vec![0.0; terms.groups.len()];
        for (g, group) in terms.groups.iter().enumerate() {
            if !group.load.is_empty() {
                caps[g] = 1.0 - load_of(terms, group, &self.y) - self.t[g];
            }
            if group.floor {
                floors[g] = 1.0 + self.r[g] - lifted(terms, group, &self.u);
            }
        }
        (sold.collect(), caps, floors)
    }

    /// Mean complementarity: products over the weights they are to be proportional to.
    fn mu(&self, terms: &Terms<'_>) -> f64 {
        let k = terms.scaled.k;
        let mut sum = 0.0;
        for (l, weight) in terms.scaled.weight.iter().enumerate() {
            let row = l * k..(l + 1) * k;
            let own: f64 = self.y[row.clone()].iter().zip(&self.s[row]).map(|(y, s)| y * s).sum();
            sum += weight * own;
        }
        let pairs = [(&self.p, &self.z), (&self.cap, &self.t), (&self.floor, &self.r)];
        for (a, b) in pairs {
            sum += a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        }
        sum / terms.measure
    }

    /// How far from the optimum: the mean complementarity, or the greatest residual.
    fn distance(&self, terms: &Terms<'_>) -> f64 {
        let (sold, caps, floors) = self.residuals(terms);
        let linear = sold.iter().chain(&caps).chain(&floors).fold(0.0_f64, |m, x| m.max(x.abs()));
        let products = self.eta.iter().zip(&self.u).filter(|&(_, &u)| u != 0.0);
        let unit = products.fold(0.0_f64, |m, (a, b)| m.max((a * b - 1.0).abs()));
        let numbers = self.mu(terms) + linear + unit;
        if numbers.is_nan() {
            return f64::NAN;
        }
        // Linear residuals stop falling at the rounding of their sums.
        self.mu(terms).max(1e-2 * linear).max(1e-2 * unit)
    }

    /// One predictor-corrector step; `careful` steps towards the centre. Gives the step's length.
    fn step(&mut self, terms: &Terms<'_>, careful: bool) -> f64 {
        let mu = self.mu(terms);
        let Some(affine) = direction(terms, self, 0.0, None) else { return 0.0 };
        let length = self.length(&affine).min(1.0);
        let mut after = self.clone();
        after.add(terms, &affine, length);
        let least = if careful { 0.3 } else { 1e-4 };
        let sigma = (after.mu(terms) / mu).clamp(0.0, 1.0).powi(3).max(least);
        // The second-order terms belong to a full step; of a short one they would be all there is.
        let second = Some((&affine, length * length));
        let Some(full) = direction(terms, self, sigma * mu, second) else { return 0.0 };
        let length = (TO_BOUNDARY * self.length(&full)).min(1.0);
        self.add(terms, &full, length);
        length
    }

    fn add(&mut self, terms: &Terms<'_>, step: &Point, length: f64) {
        let lists = [
            (&mut self.y, &step.y),
            (&mut self.s, &step.s),
            (&mut self.eta, &step.eta),
            (&mut self.p, &step.p),
            (&mut self.z, &step.z),
            (&mut self.cap, &step.cap),
            (&mut self.t, &step.t),
            (&mut self.floor, &step.floor),
            (&mut self.r, &step.r),
        ];
        for (x, d) in lists {
            for (x, d) in x.iter_mut().zip(d) {
                *x += length * d;
            }
        }
        for l in 0..terms.scaled.n {
            self.u[l] = terms.scaled.utility(l, &self.y, l);
        }
    }

    /// How far one can go in a direction before something reaches zero.
    fn length(&self, step: &Point) -> f64 {
        let lists = [
            (&self.y, &step.y),
            (&self.s, &step.s),
            (&self.eta, &step.eta),
            (&self.p, &step.p),
            (&self.z, &step.z),
            (&self.t, &step.t),
            (&self.floor, &step.floor),
            (&self.r, &step.r),
        ];
        let mut length = 1.0 / TO_BOUNDARY;
        // The price of a cap that is to be filled may have any sign; such a cap has no slack.
        for ((x, d), t) in self.cap.iter().zip(&step.cap).zip(&self.t) {
            if *t > 0.0 && *d < 0.0 && -x / d < length {
                length = -x / d;
            }
        }
        for (x, d) in lists {
            for (x, d) in x.iter().zip(d) {
                if *d < 0.0 && -x / d < length {
                    length = -x / d;
                }
            }
        }
        length
    }
}

fn load_of(terms: &Terms<'_>, group: &super::terms::Group, y: &[f64]) -> f64 {
    let k = terms.scaled.k;
    let row = |&l: &usize| {
        let load: f64 = group.load.iter().zip(&y[l * k..][..k]).map(|(a, y)| a * y).sum();
        terms.scaled.weight[l] * load
    };
    group.rows.iter().map(row).sum()
}

fn lifted(terms: &Terms<'_>, group: &super::terms::Group, u: &[f64]) -> f64 {
    group.rows.iter().map(|&l| terms.scaled.weight[l] * terms.lift[l] * u[l]).sum()
}
