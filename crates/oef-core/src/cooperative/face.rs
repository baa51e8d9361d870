//! The canonical answer on the optimal face that an interior path ends in.
//!
//! The end of a path lies in the middle of all optima. What it holds is held in some of them, and what
//! its multipliers keep tight is tight in each: together these equations are the face. Where profiles
//! have ties, far more pairs are tight than a vertex needs, and a simplex goes round among them. So the
//! equations are eliminated first: some entries are free, all others follow from them. Few are free,
//! often none, and what is left is a small program for the canonical point.
//!
//! The answer counts only if all constraints hold and its total meets the bound.

use super::envy_program::preferences;
use super::point::Point;
use super::rows::Rows;
use super::vertex::Vertex;
use crate::linalg::dot;
use crate::lp::{Level, Program, Simplex, leximin};

/// Bundles at the end of the path that agree to this are the same.
const SAME: f64 = 1e-6;
/// An entry is held, or a pair tight, only if it is so by this factor.
const CLEAR: f64 = 10.0;
/// Entries up to which equations are eliminated: that takes the third power of it.
const HELD_MAX: usize = 1_000;
/// What remains of an equation is something above the first, and nothing below the second; in between
/// one cannot tell.
const SOMETHING: f64 = 1e-6;
const NOTHING: f64 = 1e-9;
/// Envy, or GPUs beyond the capacity, in units of an equal split.
const VIOLATED: f64 = 1e-11;
/// Rounds of adding violated pairs; few are needed, since most of those that matter are tight.
const ROUNDS_MAX: usize = 40;
/// Pivots in all: the programs are small, and hundreds are usual.
const PIVOTS_MAX: usize = 4_000;

/// The bundles of the canonical answer, row after row, with the face's vertex and the pivots.
pub(super) struct OnFace {
    pub y: Vec<f64>,
    pub vertex: Vertex,
    /// The distinct bundles.
    pub bundles: Vec<f64>,
    pub pivots: usize,
}

/// `constant + sum of terms . free entries`.
#[derive(Clone, Debug)]
struct Affine {
    constant: f64,
    terms: Vec<f64>,
}

impl Affine {
    fn new(constant: f64, free: usize) -> Self {
        Affine { constant, terms: vec![0.0; free] }
    }

    fn add(&mut self, factor: f64, other: &Affine) {
        self.constant += factor * other.constant;
        for (term, other) in self.terms.iter_mut().zip(&other.terms) {
            *term += factor * other;
        }
    }

    fn at(&self, free: &[f64]) -> f64 {
        self.constant + dot(&self.terms, free)
    }

    fn moves(&self) -> bool {
        self.terms.iter().any(|t| t.abs() > NOTHING)
    }
}

/// The optimal face: every entry of every bundle as a function of the free ones.
struct Face<'a> {
    rows: &'a Rows,
    vertex: Vertex,
    /// By bundle and type; absent where a bundle holds nothing.
    entry: Vec<Option<Affine>>,
    free: usize,
}

/// The canonical point of the face at the end of a path, if the face is clearly seen.
pub(super) fn canonical(rows: &Rows, point: &Point, stop: &dyn Fn() -> bool) -> Option<OnFace> {
    let face = Face::at(rows, point)?;
    let levels: Vec<Level> = (0..rows.n).filter_map(|l| face.level(l)).collect();
    let mut program = face.program();
    let liked = face.preference();
    let mut pivots = 0;
    for _ in 0..ROUNDS_MAX {
        let mut simplex = Simplex::new(program.clone());
        simplex.limit = PIVOTS_MAX.saturating_sub(pivots);
        let (mut simplex, _) = leximin(simplex, &levels, stop).ok()?;
        simplex.program.cost[..face.free].copy_from_slice(&liked);
        simplex.maximise(stop).ok()?;
        pivots += simplex.pivots;
        let free: Vec<f64> = (0..face.free).map(|v| simplex.value(v)).collect();
        let bundles = face.bundles(&free)?;
        let violated = face.violated(&bundles);
        if violated.is_empty() {
            return face.found(bundles, pivots);
        }
        let known = program.rows();
        for (l, b) in violated {
            face.keep_positive(&mut program, &face.slack(l, b));
        }
        if program.rows() == known {
            // What does not move is violated: these are not the equations of the face.
            return None;
        }
    }
    None
}

impl<'a> Face<'a> {
    fn at(rows: &'a Rows, point: &Point) -> Option<Self> {
        let clear = |a: &[f64], b: &[f64]| {
            let mut both = a.iter().zip(b).filter(|(a, b)| **a > 0.0 || **b > 0.0);
            both.all(|(a, b)| a.max(*b) > CLEAR * a.min(*b))
        };
        let pairs = clear(&point.pairs.s, &point.pairs.z);
        if !pairs || !clear(&point.y, &point.v) || !clear(&point.r, &point.lambda) {
            return None;
        }
        let vertex = Vertex::near(rows, point, SAME);
        if vertex.held.len() > HELD_MAX {
            return None;
        }
        let bundles = vertex.bundle_of.iter().max().map_or(0, |b| b + 1);
        let mut face = Face { rows, vertex, entry: vec![None; bundles * rows.k], free: 0 };
        face.solve()?;
        Some(face)
    }

    /// Part of the capacity of a type that a unit in each bundle takes.
    fn weights(&self) -> Vec<f64> {
        let mut weight = vec![0.0; self.entry.len() / self.rows.k];
        for (l, &b) in self.vertex.bundle_of.iter().enumerate() {
            weight[b] += self.rows.weight[l];
        }
        weight
    }

    /// Eliminates the equations of the face.
    fn solve(&mut self) -> Option<()> {
        let k = self.rows.k;
        let held = &self.vertex.held;
        let mut slot = vec![None; self.entry.len()];
        for (at, &(b, j)) in held.iter().enumerate() {
            slot[b * k + j] = Some(at);
        }
        let width = held.len() + 1;
        let put = |row: &mut [f64], b: usize, values: &[f64], sign: f64| {
            for (at, value) in slot[b * k..][..k].iter().zip(values) {
                if let Some(at) = at {
                    row[*at] += sign * value;
                }
            }
        };
        let mut rows: Vec<Vec<f64>> = Vec::new();
        let weight = self.weights();
        for j in (0..k).filter(|j| !self.vertex.idle.contains(j)) {
            let mut row = vec![0.0; width];
            held.iter()
                .enumerate()
                .filter(|(_, e)| e.1 == j)
                .for_each(|(at, e)| row[at] = weight[e.0]);
            row[width - 1] = 1.0;
            rows.push(row);
        }
        for (b, cap) in self.caps().into_iter().enumerate() {
            if cap.is_finite() && !self.vertex.loose.contains(&b) {
                let mut row = vec![0.0; width];
                put(&mut row, b, &self.rows.size, 1.0);
                row[width - 1] = cap;
                rows.push(row);
            }
        }
        for &(l, b, _) in self.vertex.pairs.iter().filter(|pair| !pair.2) {
            let mut row = vec![0.0; width];
            put(&mut row, self.vertex.bundle_of[l], self.rows.value(l), 1.0);
            put(&mut row, b, self.rows.compare(l), -1.0);
            row[width - 1] = self.rows.base[l];
            rows.push(row);
        }
        let pivots = eliminate(&mut rows)?;
        let mut place = vec![None; held.len()];
        for (row, &at) in pivots.iter().enumerate() {
            place[at] = Some(row);
        }
        let free: Vec<usize> = (0..held.len()).filter(|&at| place[at].is_none()).collect();
        self.free = free.len();
        for (at, &(b, j)) in held.iter().enumerate() {
            let mut entry = Affine::new(0.0, free.len());
            if let Some(row) = place[at] {
                entry.constant = rows[row][width - 1];
                entry.terms = free.iter().map(|&f| -rows[row][f]).collect();
            } else if let Ok(f) = free.binary_search(&at) {
                entry.terms[f] = 1.0;
            }
            self.entry[b * k + j] = Some(entry);
        }
        Some(())
    }

    /// The cap of each bundle: the least of the rows that share it.
    fn caps(&self) -> Vec<f64> {
        let mut caps = vec![f64::INFINITY; self.entry.len() / self.rows.k];
        for (l, &b) in self.vertex.bundle_of.iter().enumerate() {
            caps[b] = caps[b].min(self.rows.cap[l]);
        }
        caps
    }

    /// What a unit of each free entry adds to what is preferred where nothing else tells between two answers.
    fn preference(&self) -> Vec<f64> {
        let bundles = self.entry.len() / self.rows.k;
        let liked = preferences(self.rows.k, &self.vertex.bundle_of, bundles);
        let mut sum = Affine::new(0.0, self.free);
        for (entry, liked) in self.entry.iter().zip(&liked) {
            if let Some(entry) = entry {
                sum.add(*liked, entry);
            }
        }
        sum.terms
    }

    /// The answer with these bundles, if they fit.
    fn found(self, bundles: Vec<f64>, pivots: usize) -> Option<OnFace> {
        let k = self.rows.k;
        let of = self.vertex.bundle_of.iter();
        let y: Vec<f64> = of.flat_map(|&b| bundles[b * k..][..k].iter().copied()).collect();
        let fits = self.rows.is_feasible(&y);
        fits.then_some(OnFace { y, vertex: self.vertex, bundles, pivots })
    }

    /// What values make of bundle `b`.
    fn worth(&self, values: &[f64], b: usize) -> Affine {
        let mut worth = Affine::new(0.0, self.free);
        let entries = &self.entry[b * self.rows.k..][..self.rows.k];
        for (entry, value) in entries.iter().zip(values) {
            if let Some(entry) = entry {
                worth.add(*value, entry);
            }
        }
        worth
    }

    /// How far row `l` is from envying bundle `b`.
    fn slack(&self, l: usize, b: usize) -> Affine {
        let mut slack = self.worth(self.rows.value(l), self.vertex.bundle_of[l]);
        slack.add(-1.0, &self.worth(self.rows.compare(l), b));
        slack.constant -= self.rows.base[l];
        slack
    }

    /// The free entries, a variable that is one, and what must stay positive: the other entries, idle
    /// capacity, and the slack of pairs that are nearly tight.
    fn program(&self) -> Program {
        let k = self.rows.k;
        let mut program = Program::default();
        for _ in 0..self.free {
            program.var(0.0, 0.0, f64::INFINITY, Vec::new());
        }
        program.var(0.0, 1.0, 1.0, Vec::new());
        let weight = self.weights();
        for entry in self.entry.iter().flatten() {
            self.keep_positive(&mut program, entry);
        }
        for &j in &self.vertex.idle {
            let mut rest = Affine::new(1.0, self.free);
            for (b, weight) in weight.iter().enumerate() {
                if let Some(entry) = &self.entry[b * k + j] {
                    rest.add(-weight, entry);
                }
            }
            self.keep_positive(&mut program, &rest);
        }
        for (b, cap) in self.caps().into_iter().enumerate() {
            if cap.is_finite() && self.vertex.loose.contains(&b) {
                let mut rest = Affine::new(cap, self.free);
                rest.add(-1.0, &self.worth(&self.rows.size, b));
                self.keep_positive(&mut program, &rest);
            }
        }
        for &(l, b, _) in self.vertex.pairs.iter().filter(|pair| pair.2) {
            self.keep_positive(&mut program, &self.slack(l, b));
        }
        program
    }

    /// Adds a row for what moves; what does not is as it is.
    fn keep_positive(&self, program: &mut Program, what: &Affine) {
        if what.moves() {
            let row = program.row(-what.constant, f64::INFINITY);
            for (v, &term) in what.terms.iter().enumerate().filter(|(_, t)| **t != 0.0) {
                program.columns[v].push((row, term));
            }
        }
    }

    /// The utility of a row, if it is not the same all over the face.
    fn level(&self, l: usize) -> Option<Level> {
        let utility = self.worth(self.rows.value(l), self.vertex.bundle_of[l]);
        let moving = utility.terms.iter().copied().enumerate().filter(|(_, t)| t.abs() > NOTHING);
        let mut terms: Vec<(usize, f64)> = moving.collect();
        if terms.is_empty() {
            return None;
        }
        terms.push((self.free, utility.constant));
        Some(Level { terms, target: 1.0, most: f64::INFINITY })
    }

    /// The bundles for values of the free entries; none if an entry is negative.
    fn bundles(&self, free: &[f64]) -> Option<Vec<f64>> {
        let value = |entry: &Option<Affine>| {
            let x = entry.as_ref().map_or(0.0, |entry| entry.at(free));
            (x >= -VIOLATED).then_some(x.max(0.0))
        };
        self.entry.iter().map(value).collect()
    }

    /// Pairs (row, bundle) with envy.
    fn violated(&self, bundles: &[f64]) -> Vec<(usize, usize)> {
        let k = self.rows.k;
        let bundle = |b: usize| &bundles[b * k..][..k];
        let mut violated = Vec::new();
        for (l, &own) in self.vertex.bundle_of.iter().enumerate() {
            let least = -VIOLATED * dot(self.rows.value(l), bundle(own)).max(1.0);
            let others = (0..bundles.len() / k).filter(|&b| b != own);
            violated.extend(
                others
                    .filter(|&b| self.rows.slack(l, bundle(own), bundle(b)) < least)
                    .map(|b| (l, b)),
            );
        }
        violated
    }
}

/// Solves equations `row . (x, -1) = 0` for as many unknowns as there are independent ones: afterwards
/// row `r` has a one for unknown `pivots[r]`, which is in no other row. `None` if they contradict each
/// other, or if it cannot be told which are independent.
fn eliminate(rows: &mut [Vec<f64>]) -> Option<Vec<usize>> {
    let width = rows.first().map_or(0, Vec::len);
    let unknowns = width.saturating_sub(1);
    for row in rows.iter_mut() {
        let most = row[..unknowns].iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        if most > 0.0 {
            row.iter_mut().for_each(|x| *x /= most);
        }
    }
    let mut pivots = Vec::new();
    while pivots.len() < rows.len() {
        let done = pivots.len();
        let (mut most, mut at) = (0.0_f64, (done, 0));
        for (r, row) in rows.iter().enumerate().skip(done) {
            let large = row[..unknowns].iter().fold(0.0_f64, |m, x| m.max(x.abs()));
            if large > most {
                let column = row[..unknowns].iter().position(|x| x.abs() == large);
                (most, at) = (large, (r, column.unwrap_or(0)));
            }
        }
        if most < NOTHING {
            break;
        }
        if most < SOMETHING {
            return None;
        }
        rows.swap(done, at.0);
        let mut pivot = std::mem::take(&mut rows[done]);
        let by = pivot[at.1];
        pivot.iter_mut().for_each(|x| *x /= by);
        for row in rows.iter_mut().filter(|row| !row.is_empty()) {
            let factor = row[at.1];
            if factor != 0.0 {
                row.iter_mut().zip(&pivot).for_each(|(x, p)| *x -= factor * p);
                row[at.1] = 0.0;
            }
        }
        rows[done] = pivot;
        pivots.push(at.1);
    }
    let rest = rows.iter().skip(pivots.len()).all(|row| row[unknowns].abs() < SOMETHING);
    rest.then_some(pivots)
}

#[cfg(test)]
mod tests {
    use super::eliminate;

    #[test]
    fn equations_are_solved_for_what_is_independent() {
        let mut rows =
            vec![vec![1.0, 1.0, 0.0, 2.0], vec![2.0, 2.0, 0.0, 4.0], vec![0.0, 0.0, 4.0, 2.0]];
        let pivots = eliminate(&mut rows).unwrap();
        assert_eq!(pivots.len(), 2);
        for x in [[2.0, 0.0, 0.5], [0.0, 2.0, 0.5]] {
            for row in &rows[..2] {
                let left: f64 = row.iter().zip(x).map(|(a, x)| a * x).sum();
                assert!((left - row[3]).abs() < 1e-14);
            }
        }
        let mut against = vec![vec![1.0, 1.0, 1.0], vec![1.0, 1.0, 2.0]];
        assert!(eliminate(&mut against).is_none());
        let mut unclear = vec![vec![1.0, 1.0, 1.0], vec![1.0, 1.0 + 1e-8, 1.0]];
        assert!(eliminate(&mut unclear).is_none());
    }
}
