//! The rows of the cooperative program, and what demands make of them.
//!
//! A row that can use at most `D` GPUs does not envy a bundle for what it could not use of it. The
//! value of a bundle `z` to it is that of the best `D` GPUs,
//! `V(z) = min over a >= 0 of a D + sum_j max(w_j - a, 0) z_j`, which is concave: `u >= V(z)` is no
//! linear constraint, but `u >= a D + sum_j max(w_j - a, 0) z_j` with a fixed `a` is, and implies it.
//! For `a` we take the speed of the slowest GPU that the row takes in the plain division of every type
//! (`max-min` with demands) where it is at its demand there, else 0. That division satisfies all these constraints,
//! so together with the caps they always have a solution, and any solution is free of envy in what can be used.
//!
//! Envy alone could keep GPUs idle that somebody could use: a row at its demand, with many slow GPUs,
//! may forbid another to have one more fast GPU than it has. So a type that the division uses up
//! has to be used up. Of any other type `j` nothing useful is idle at an optimum anyway: the division
//! left some of it because everybody who can use it was at its demand with GPUs at least as fast, hence
//! `a >= w_j` for all of them, and none would envy more of it.
//!
//! No row should be below what it can use of its equal split. Without a threshold that follows from the
//! absence of envy: a row that envies nobody envies no average of the others either. With one it does not quite, so it is
//! checked, and becomes a constraint where an answer fails it.

use crate::instance::Instance;
use crate::linalg::dot;
use crate::scaled::Scaled;
use std::ops::Deref;

/// A type of which the division leaves no greater part is used up; the division itself is better.
const USED_UP: f64 = 1e-10;
/// Part of a demand that is nothing but rounding: more than the division may leave idle.
const ROUNDING: f64 = 1e-10;
/// What may be missing from a floor, relative to it.
const FLOOR: f64 = 1e-10;
/// Directions of comparisons that differ by nothing but rounding.
const SAME_DIRECTION: f64 = 1e-12;
/// Envy, or GPUs beyond a cap or capacity, in units of an equal split, in a feasible answer.
const FEASIBLE: f64 = 1e-10;

/// An instance in scaled units, with comparisons `u_l >= base_l + c_l.y_i` and caps `g.y_l <= d_l`.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    scaled: Scaled,
    /// `c_lj`: what a unit of type `j` in the bundle of another is worth to row `l`.
    compare: Vec<f64>,
    /// What a row asks for besides that.
    pub base: Vec<f64>,
    /// `d_l`: the GPUs that a row can use, in units of its equal split; infinite without a demand.
    pub cap: Vec<f64>,
    /// `g_j`: the GPUs in a unit of type `j`, in the same units.
    pub size: Vec<f64>,
    /// The least utility where that does not follow from the comparisons: what the row can use of its equal split.
    pub floor: Vec<f64>,
    /// Types that must be used up.
    pub used_up: Vec<bool>,
    /// The one row with whose bundle a row is compared, where that says what the comparisons with all others do. To a row
    /// that takes it no bundle `y` is worth more than `a d + c.y`. So of rows whose comparisons have one direction, each may
    /// be compared with the first alone, and only the first with everybody: whom the first does not envy they do not envy
    /// either. And where `c` is nothing, all comparisons of a row are one.
    only: Vec<Option<usize>>,
    /// The bundles of the plain division, row after row; nothing where there are no demands.
    pub division: Vec<f64>,
}

impl Deref for Rows {
    type Target = Scaled;

    fn deref(&self) -> &Scaled {
        &self.scaled
    }
}

impl Rows {
    /// `division` are the shares of the plain division; it does not matter where there is no demand.
    pub fn new(instance: &Instance, division: &[f64]) -> Self {
        let scaled = Scaled::new(instance);
        let (n, k) = (scaled.n, scaled.k);
        let gpus: f64 = instance.capacity.iter().sum();
        let mut rows = Rows {
            compare: scaled.value.clone(),
            base: vec![0.0; n],
            cap: (0..n).map(|l| instance.demand[l] / (scaled.weight[l] * gpus)).collect(),
            size: instance.capacity.iter().map(|m| m / gpus).collect(),
            floor: vec![0.0; n],
            used_up: vec![false; k],
            only: vec![None; n],
            division: Vec::new(),
            scaled,
        };
        if rows.is_limited() {
            rows.division = rows.to_bundles(instance, division);
            for l in 0..n {
                rows.add_threshold(instance, l, &division[l * k..][..k]);
            }
            rows.follow();
            for (j, used_up) in rows.used_up.iter_mut().enumerate() {
                let used: f64 = division.iter().skip(j).step_by(k).sum();
                *used_up = used >= instance.capacity[j] * (1.0 - USED_UP);
            }
        }
        rows
    }

    /// Whether anybody has a demand that could bind.
    pub fn is_limited(&self) -> bool {
        self.cap.iter().any(|cap| cap.is_finite())
    }

    fn add_threshold(&mut self, instance: &Instance, l: usize, division: &[f64]) {
        let threshold = slowest_taken(instance.profile(l), division, instance.demand[l]);
        if threshold <= 0.0 {
            return;
        }
        let (k, profile) = (self.scaled.k, instance.profile(l));
        let whole = dot(profile, &instance.capacity);
        let unit = self.scaled.weight[l] * whole;
        for j in 0..k {
            let above = (profile[j] - threshold).max(0.0);
            self.compare[l * k + j] = above * instance.capacity[j] / whole;
        }
        self.base[l] = threshold * instance.demand[l] / unit;
        self.floor[l] = instance.usable_equal_split(l) / unit;
    }

    /// One more row that compares as it values, without weight and demand.
    pub fn push_weightless(&mut self, value: impl Iterator<Item = f64>) {
        self.scaled.value.extend(value);
        self.compare.extend_from_slice(&self.scaled.value[self.compare.len()..]);
        self.scaled.weight.push(0.0);
        self.scaled.worth.push(0.0);
        self.base.push(0.0);
        self.cap.push(f64::INFINITY);
        self.only.push(None);
        self.floor.push(0.0);
        self.scaled.n += 1;
    }

    /// What a unit of each type in the bundle of another is worth to row `l`.
    pub fn compare(&self, l: usize) -> &[f64] {
        &self.compare[l * self.scaled.k..][..self.scaled.k]
    }

    /// The same of all rows, row after row.
    pub fn comparisons(&self) -> &[f64] {
        &self.compare
    }

    /// Whether it is a constraint for row `l` that others have the very bundle that it has. It is not without a threshold;
    /// with one the row must then use its whole demand, with nothing slower than the threshold.
    pub fn compares_with_itself(&self, l: usize) -> bool {
        self.base[l] > 0.0
    }

    /// Whether the comparison of row `l` with the bundle of row `i` says more than others do.
    pub fn compares(&self, l: usize, i: usize) -> bool {
        i != l && self.only[l].is_none_or(|only| only == i)
    }

    /// Whether row `l` is compared with one other only.
    pub fn follows(&self, l: usize) -> bool {
        self.only[l].is_some()
    }

    /// Pairs (envious, envied) to begin with: those of the nearest rows, and of rows that follow another with that.
    pub fn first_pairs(&self, count: usize) -> Vec<(usize, usize)> {
        let mut pairs = self.neighbours(count);
        for (l, only) in self.only.iter().enumerate() {
            if let Some(i) = *only {
                pairs.extend([(l, i), (i, l)]);
            }
        }
        pairs.retain(|&(l, i)| self.compares(l, i));
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }

    /// Finds the rows that need to be compared with one other only.
    fn follow(&mut self) {
        let mut firsts: Vec<(usize, Vec<f64>)> = Vec::new();
        for l in 0..self.scaled.n {
            let most = self.compare(l).iter().fold(0.0, |m: f64, c| m.max(*c));
            if most == 0.0 {
                self.only[l] = Some(usize::from(l == 0));
                continue;
            }
            let direction: Vec<f64> = self.compare(l).iter().map(|c| c / most).collect();
            let is_same = |other: &[f64]| {
                direction.iter().zip(other).all(|(a, b)| (a - b).abs() < SAME_DIRECTION)
            };
            match firsts.iter().find(|(_, other)| is_same(other)) {
                Some((first, _)) => self.only[l] = Some(*first),
                None => firsts.push((l, direction)),
            }
        }
    }

    /// How far row `l` with its own bundle is from envying another one.
    pub fn slack(&self, l: usize, own: &[f64], other: &[f64]) -> f64 {
        dot(self.value(l), own) - dot(self.compare(l), other) - self.base[l]
    }

    /// Whether nobody is below what it can use of its equal split.
    pub fn keeps_floors(&self, y: &[f64]) -> bool {
        (0..self.n).all(|l| self.utility(l, y, l) >= self.floor[l] * (1.0 - FLOOR))
    }

    /// Whether bundles satisfy all constraints.
    pub fn is_feasible(&self, y: &[f64]) -> bool {
        let (n, k) = (self.n, self.k);
        let bundle = |l: usize| &y[l * k..][..k];
        let fits = (0..k).all(|j| {
            let used: f64 = (0..n).map(|l| self.weight[l] * y[l * k + j]).sum();
            used <= 1.0 + FEASIBLE && (!self.used_up[j] || used >= 1.0 - FEASIBLE)
        });
        let within = |l: usize| dot(&self.size, bundle(l)) <= self.cap[l] * (1.0 + FEASIBLE);
        let content = |l: usize| {
            let utility = dot(self.value(l), bundle(l));
            let most = utility + FEASIBLE * utility.max(1.0) - self.base[l];
            (0..n).all(|i| i == l || dot(self.compare(l), bundle(i)) <= most)
        };
        fits && (0..n).all(|l| within(l) && content(l)) && self.keeps_floors(y)
    }
}

/// The speed of the slowest GPU taken by a row that is at its demand; 0 for one that is below.
fn slowest_taken(profile: &[f64], taken: &[f64], demand: f64) -> f64 {
    let least = 1e-10 * demand;
    let speeds = profile.iter().zip(taken).filter(|(_, gpus)| **gpus > least);
    let slowest = speeds.map(|(w, _)| *w).fold(f64::INFINITY, f64::min);
    let is_full = taken.iter().sum::<f64>() >= demand * (1.0 - ROUNDING);
    if is_full && slowest.is_finite() { slowest } else { 0.0 }
}
