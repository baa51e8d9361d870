//! The canonical answer on the optimal face that an interior path ends in.
//!
//! The end of a path lies in the middle of all optima. What it holds is held in some of them, and what
//! its multipliers keep tight is tight in each: together these equations are the face. Where profiles
//! have ties, far more pairs are tight than a vertex needs, and a simplex goes round among them. So the
//! equations are eliminated first: some entries are free, all others follow from them. Few are free,
//! often none, and what is left is a small program for the canonical point.
//!
//! The answer counts only if nobody envies anybody, everything fits, and its total meets the bound.

use super::interior::Point;
use super::purify::Middle;
use super::vertex::Vertex;
use crate::linalg::dot;
use crate::lp::{Level, Program, Simplex, leximin};
use crate::scaled::Scaled;

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

    /// Which of the free entries this one is, if it is one.
    fn free(&self) -> Option<usize> {
        let mut terms = self.terms.iter().enumerate().filter(|(_, t)| **t != 0.0);
        let first = terms.next()?;
        (*first.1 == 1.0 && self.constant == 0.0 && terms.next().is_none()).then_some(first.0)
    }

    fn moves(&self) -> bool {
        self.terms.iter().any(|t| t.abs() > NOTHING)
    }
}

/// The optimal face: every entry of every bundle as a function of the free ones.
struct Face<'a> {
    scaled: &'a Scaled,
    vertex: Vertex,
    /// By bundle and type; absent where a bundle holds nothing.
    entry: Vec<Option<Affine>>,
    free: usize,
}

/// The canonical point of the face at the end of a path, if the face is clearly seen.
pub(super) fn canonical(scaled: &Scaled, point: &Point, stop: &dyn Fn() -> bool) -> Option<OnFace> {
    let face = Face::at(scaled, point)?;
    let levels: Vec<Level> = (0..scaled.n).filter_map(|l| face.level(l)).collect();
    if levels.is_empty() {
        // Everybody has the same utility in all optima.
        let bundles = face.middle(point)?.vertex()?;
        return if face.violated(&bundles).is_empty() { face.found(bundles, 0) } else { None };
    }
    let mut program = face.program();
    let mut pivots = 0;
    for _ in 0..ROUNDS_MAX {
        let mut simplex = Simplex::new(program.clone());
        simplex.limit = PIVOTS_MAX.saturating_sub(pivots);
        let (simplex, _) = leximin(simplex, &levels, stop).ok()?;
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

fn fits(scaled: &Scaled, y: &[f64]) -> bool {
    let (n, k) = (scaled.n, scaled.k);
    let used = |j: usize| (0..n).map(|l| scaled.weight[l] * y[l * k + j]).sum::<f64>();
    (0..k).all(|j| used(j) <= 1.0 + VIOLATED)
}

impl<'a> Face<'a> {
    fn at(scaled: &'a Scaled, point: &Point) -> Option<Self> {
        let clear = |a: &[f64], b: &[f64]| {
            let mut both = a.iter().zip(b).filter(|(a, b)| **a > 0.0 || **b > 0.0);
            both.all(|(a, b)| a.max(*b) > CLEAR * a.min(*b))
        };
        if !clear(&point.y, &point.v) || !clear(&point.pairs.s, &point.pairs.z) {
            return None;
        }
        let vertex = Vertex::near(scaled, point, SAME);
        if vertex.held.len() > HELD_MAX {
            return None;
        }
        let bundles = vertex.bundle_of.iter().max().map_or(0, |b| b + 1);
        let mut face = Face { scaled, vertex, entry: vec![None; bundles * scaled.k], free: 0 };
        face.solve()?;
        Some(face)
    }

    /// Part of the capacity of a type that a unit in each bundle takes.
    fn weights(&self) -> Vec<f64> {
        let mut weight = vec![0.0; self.entry.len() / self.scaled.k];
        for (l, &b) in self.vertex.bundle_of.iter().enumerate() {
            weight[b] += self.scaled.weight[l];
        }
        weight
    }

    /// Eliminates the equations of the face.
    fn solve(&mut self) -> Option<()> {
        let k = self.scaled.k;
        let held = &self.vertex.held;
        let mut slot = vec![None; self.entry.len()];
        for (at, &(b, j)) in held.iter().enumerate() {
            slot[b * k + j] = Some(at);
        }
        let width = held.len() + 1;
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
        for &(l, b, slack) in &self.vertex.pairs {
            if slack {
                continue;
            }
            let mut row = vec![0.0; width];
            for (bundle, sign) in [(self.vertex.bundle_of[l], 1.0), (b, -1.0)] {
                for j in 0..k {
                    if let Some(at) = slot[bundle * k + j] {
                        row[at] += sign * self.scaled.value(l)[j];
                    }
                }
            }
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

    /// The bundles in the middle of the face, where the path ended, and how they may move.
    fn middle(&self, point: &Point) -> Option<Middle<'_>> {
        let k = self.scaled.k;
        let mut free = vec![0.0; self.free];
        for (l, &b) in self.vertex.bundle_of.iter().enumerate() {
            for (j, entry) in self.entry[b * k..][..k].iter().enumerate() {
                if let Some(f) = entry.as_ref().and_then(Affine::free) {
                    free[f] = point.y[l * k + j];
                }
            }
        }
        let along = |f: usize| {
            let rate = |entry: &Option<Affine>| entry.as_ref().map_or(0.0, |entry| entry.terms[f]);
            self.entry.iter().map(rate).collect()
        };
        Some(Middle {
            scaled: self.scaled,
            bundle_of: &self.vertex.bundle_of,
            weight: self.weights(),
            idle: &self.vertex.idle,
            bundles: self.bundles(&free)?,
            directions: (0..self.free).map(along).collect(),
        })
    }

    /// The answer with these bundles, if they fit.
    fn found(self, bundles: Vec<f64>, pivots: usize) -> Option<OnFace> {
        let k = self.scaled.k;
        let of = self.vertex.bundle_of.iter();
        let y: Vec<f64> = of.flat_map(|&b| bundles[b * k..][..k].iter().copied()).collect();
        let vertex = self.vertex;
        fits(self.scaled, &y).then_some(OnFace { y, vertex, bundles, pivots })
    }

    /// What bundle `b` is worth to row `l`.
    fn worth(&self, l: usize, b: usize) -> Affine {
        let mut worth = Affine::new(0.0, self.free);
        let entries = &self.entry[b * self.scaled.k..][..self.scaled.k];
        for (entry, value) in entries.iter().zip(self.scaled.value(l)) {
            if let Some(entry) = entry {
                worth.add(*value, entry);
            }
        }
        worth
    }

    /// How much more row `l` likes its own bundle than bundle `b`.
    fn slack(&self, l: usize, b: usize) -> Affine {
        let mut slack = self.worth(l, self.vertex.bundle_of[l]);
        slack.add(-1.0, &self.worth(l, b));
        slack
    }

    /// The free entries, a variable that is one, and what must stay positive: the other entries, idle
    /// capacity, and the slack of pairs that are nearly tight.
    fn program(&self) -> Program {
        let k = self.scaled.k;
        let mut program = Program::default();
        for _ in 0..self.free {
            program.var(0.0, 0.0, f64::INFINITY, Vec::new());
        }
        program.var(0.0, 1.0, 1.0, Vec::new());
        let weight = self.weights();
        for entry in self.entry.iter().flatten() {
            if entry.free().is_none() {
                self.keep_positive(&mut program, entry);
            }
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
        for &(l, b, slack) in &self.vertex.pairs {
            if slack {
                self.keep_positive(&mut program, &self.slack(l, b));
            }
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
        let utility = self.worth(l, self.vertex.bundle_of[l]);
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
        let k = self.scaled.k;
        let like = |l: usize, b: usize| dot(self.scaled.value(l), &bundles[b * k..][..k]);
        let mut violated = Vec::new();
        for (l, &own) in self.vertex.bundle_of.iter().enumerate() {
            let limit = like(l, own) + VIOLATED * like(l, own).max(1.0);
            violated.extend((0..bundles.len() / k).filter(|&b| like(l, b) > limit).map(|b| (l, b)));
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
