//! The canonical answer on the optimal face that an interior path ends in.
//!
//! The end of a path lies in the middle of all optima. What it holds is held in some of them, and what
//! its multipliers keep tight is tight in each: together these equations are the face. Where profiles
//! have ties, far more pairs are tight than a vertex needs, and a simplex goes round among them. So the
//! equations are solved first: some entries are free, all others follow from them. Mostly none is free: then there is one
//! optimum, and this is it. Otherwise a few are, and what is left is a small program for the canonical point. What is not
//! clearly tight is no equation, and what is not clearly nothing is an unknown, so that one optimum means one.
//!
//! The answer counts only if all constraints hold and its total meets the bound.

use super::envy_program::preferences;
use super::point::Point;
use super::rows::Rows;
use super::vertex::Vertex;
use crate::linalg::dot;
use crate::lp::{Level, Lu, Program, Simplex, leximin};

/// Bundles at the end of the path that agree to this are the same.
const SAME: f64 = 1e-6;
/// Entries times free ones: the program for these has a dense row for each entry.
const PROGRAM_MAX: usize = 50_000;
/// A pair is tight, or an entry nothing, only if it is so by this factor. The last is for ends at which an optimum and
/// points beside it differ by 1e-11 of the total: what is taken for tight there by mistake moves tenants by a thousandth.
pub(super) const CLEAR: [f64; 3] = [10.0, 1_000.0, 100_000.0];
/// The same shortly before the end of a path.
pub(super) const CLEAR_AHEAD: f64 = 100.0;
/// What remains of an equation is something above the first, and nothing below the second; in between
/// one cannot tell.
const SOMETHING: f64 = 1e-6;
const NOTHING: f64 = 1e-9;
/// A gain below this part of the terms that it is the sum of is their rounding. All others count: where 1e-10 of the total
/// is the gain of a whole equal split, they still decide between bundles that differ by a thousandth.
const GAIN_ROUNDING: f64 = 1e-12;
/// Gains beside their terms, in this unit, are costs of which the simplex sees the gain and not the rounding.
const GAIN_UNIT: f64 = 1e-3;
/// Envy, or GPUs beyond the capacity, in units of an equal split.
const VIOLATED: f64 = 1e-11;
/// Rounds of adding violated pairs; few are needed, since most of those that matter are tight.
const ROUNDS_MAX: usize = 40;
/// Of what has become negative, the worst come into the program first.
const ADDED_MAX: usize = 20;
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
    /// As much as each free entry can be: all GPUs of its type.
    most: Vec<f64>,
}

/// The canonical point of the face at the end of a path, if the face is clearly seen and has no more free entries than
/// `free_max`.
pub(super) fn canonical(
    rows: &Rows,
    point: &Point,
    clear: f64,
    free_max: usize,
    stop: &dyn Fn() -> bool,
) -> Option<OnFace> {
    if stop() {
        return None;
    }
    let face = Face::at(rows, point, clear, free_max)?;
    let levels: Vec<Level> = (0..rows.n).filter_map(|l| face.level(l)).collect();
    let mut program = face.program();
    let mut positive = face.positive();
    let (gains, liked) = (face.gains(), face.preference());
    let mut pivots = 0;
    for _ in 0..ROUNDS_MAX {
        let mut simplex = Simplex::new(program.clone());
        simplex.limit = PIVOTS_MAX.saturating_sub(pivots);
        // What is not clearly tight or nothing may cost something.
        simplex.program.cost[..face.free].copy_from_slice(&gains);
        simplex.maximise(stop).ok()?;
        let point = |simplex: &Simplex| (0..face.free).map(|v| simplex.value(v)).collect();
        let mut free: Vec<f64> = point(&simplex);
        let mut negative = face.take_negative(&mut positive, &free);
        if negative.is_empty() && simplex.restrict_to_optimal_face() {
            simplex = leximin(simplex, &levels, stop).ok()?.0;
            simplex.program.cost[..face.free].copy_from_slice(&liked);
            simplex.maximise(stop).ok()?;
            free = point(&simplex);
            negative = face.take_negative(&mut positive, &free);
        }
        pivots += simplex.pivots;
        if !negative.is_empty() {
            negative.iter().for_each(|what| face.keep_positive(&mut program, what));
            continue;
        }
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
    fn at(rows: &'a Rows, point: &Point, clear: f64, free_max: usize) -> Option<Self> {
        let vertex = Vertex::near(rows, point, SAME, clear);
        let bundles = vertex.bundle_of.iter().max().map_or(0, |b| b + 1);
        let mut face =
            Face { rows, vertex, entry: vec![None; bundles * rows.k], free: 0, most: Vec::new() };
        face.solve(free_max)?;
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

    /// Solves the equations of the face: some entries are free, all others follow from them.
    fn solve(&mut self, free_max: usize) -> Option<()> {
        let k = self.rows.k;
        let held = &self.vertex.held;
        let mut slot = vec![None; self.entry.len()];
        for (at, &(b, j)) in held.iter().enumerate() {
            slot[b * k + j] = Some(at);
        }
        let mut columns: Vec<Vec<(usize, f64)>> = vec![Vec::new(); held.len()];
        let mut right = Vec::new();
        let put =
            |columns: &mut [Vec<(usize, f64)>], row: usize, b: usize, values: &[f64], sign: f64| {
                for (at, value) in slot[b * k..][..k].iter().zip(values) {
                    if let Some(at) = at
                        && *value != 0.0
                    {
                        columns[*at].push((row, sign * value));
                    }
                }
            };
        let weight = self.weights();
        let mut row_of = vec![None; k];
        for j in (0..k).filter(|j| !self.vertex.idle.contains(j)) {
            row_of[j] = Some(right.len());
            right.push(1.0);
        }
        for (at, &(b, j)) in held.iter().enumerate() {
            if let Some(row) = row_of[j] {
                columns[at].push((row, weight[b]));
            }
        }
        for (b, cap) in self.caps().into_iter().enumerate() {
            if cap.is_finite() && !self.vertex.loose.contains(&b) {
                put(&mut columns, right.len(), b, &self.rows.size, 1.0);
                right.push(cap);
            }
        }
        for &(l, b, _) in self.vertex.pairs.iter().filter(|pair| !pair.2) {
            put(&mut columns, right.len(), self.vertex.bundle_of[l], self.rows.value(l), 1.0);
            put(&mut columns, right.len(), b, self.rows.compare(l), -1.0);
            right.push(self.rows.base[l]);
        }
        let size = right.len();
        let columns: Vec<&[(usize, f64)]> = columns.iter().map(Vec::as_slice).collect();
        let mut factors = Lu::default();
        let deficiency = factors.factor(size, &columns);
        let least = factors.least_pivot();
        if least < SOMETHING
            || held.len() * deficiency.columns.len() > PROGRAM_MAX
            || deficiency.columns.len() > free_max
        {
            return None;
        }
        let mut place = vec![Some(0); held.len()];
        deficiency.columns.iter().for_each(|&c| place[c] = None);
        let mut places = 0;
        for place in place.iter_mut().flatten() {
            *place = places;
            places += 1;
        }
        let bare: Vec<(usize, usize)> =
            (deficiency.rows.iter().enumerate()).map(|(at, &row)| (row, places + at)).collect();
        factors.complete(&place, &bare, 1.0);
        let mut solve = |right: &[f64]| -> Option<Vec<f64>> {
            let mut x = right.to_vec();
            factors.ftran(&mut x);
            let mut rest = right.to_vec();
            for (column, at) in columns.iter().zip(&place) {
                if let Some(at) = at {
                    column.iter().for_each(|&(row, a)| rest[row] -= a * x[*at]);
                }
            }
            for &(row, at) in &bare {
                rest[row] -= x[at];
            }
            factors.ftran(&mut rest);
            x.iter_mut().zip(&rest).for_each(|(x, by)| *x += by);
            bare.iter().all(|&(_, at)| x[at].abs() < SOMETHING).then_some(x)
        };
        let constant = solve(&right)?;
        let mut terms = Vec::new();
        for &c in &deficiency.columns {
            let mut right = vec![0.0; size];
            columns[c].iter().for_each(|&(row, a)| right[row] -= a);
            terms.push(solve(&right)?);
        }
        self.free = terms.len();
        self.most = deficiency.columns.iter().map(|&c| 1.0 / weight[held[c].0]).collect();
        for (at, &(b, j)) in held.iter().enumerate() {
            let mut entry = Affine::new(0.0, terms.len());
            match place[at] {
                Some(at) => {
                    entry.constant = constant[at];
                    entry.terms = terms.iter().map(|term| term[at]).collect();
                }
                None => {
                    let free = deficiency.columns.iter().position(|&c| c == at)?;
                    entry.terms[free] = 1.0;
                }
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

    /// What a unit of each free entry adds to the total, as costs for the simplex: nothing where the face is the optimal
    /// one.
    fn gains(&self) -> Vec<f64> {
        let k = self.rows.k;
        let (mut gain, mut terms) = (vec![0.0; self.free], vec![0.0; self.free]);
        for (l, &b) in self.vertex.bundle_of.iter().enumerate() {
            for (entry, value) in self.entry[b * k..][..k].iter().zip(self.rows.value(l)) {
                for (v, term) in entry.iter().flat_map(|entry| &entry.terms).enumerate() {
                    let term = self.rows.worth[l] * value * term;
                    gain[v] += term;
                    terms[v] += term.abs();
                }
            }
        }
        let unit = GAIN_UNIT * terms.iter().copied().fold(0.0, f64::max);
        let is_gain = |v: usize| gain[v].abs() > GAIN_ROUNDING * terms[v];
        (0..self.free).map(|v| if is_gain(v) { gain[v] / unit } else { 0.0 }).collect()
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

    /// The free entries, and a variable that is one. What else must stay positive comes in when it does not.
    fn program(&self) -> Program {
        let mut program = Program::default();
        for most in &self.most {
            program.var(0.0, 0.0, *most, Vec::new());
        }
        program.var(0.0, 1.0, 1.0, Vec::new());
        program
    }

    /// What moves and must stay positive: entries, idle capacity, the distance from caps, and the slack of pairs that are
    /// nearly tight.
    fn positive(&self) -> Vec<Affine> {
        let k = self.rows.k;
        let weight = self.weights();
        let mut list: Vec<Affine> = self.entry.iter().flatten().cloned().collect();
        for &j in &self.vertex.idle {
            let mut rest = Affine::new(1.0, self.free);
            for (b, weight) in weight.iter().enumerate() {
                if let Some(entry) = &self.entry[b * k + j] {
                    rest.add(-weight, entry);
                }
            }
            list.push(rest);
        }
        for (b, cap) in self.caps().into_iter().enumerate() {
            if cap.is_finite() && self.vertex.loose.contains(&b) {
                let mut rest = Affine::new(cap, self.free);
                rest.add(-1.0, &self.worth(&self.rows.size, b));
                list.push(rest);
            }
        }
        let loose = self.vertex.pairs.iter().filter(|pair| pair.2);
        list.extend(loose.map(|&(l, b, _)| self.slack(l, b)));
        list.retain(Affine::moves);
        list
    }

    /// Takes the worst of what is negative out of the list.
    fn take_negative(&self, list: &mut Vec<Affine>, free: &[f64]) -> Vec<Affine> {
        let value = list.iter().map(|what| what.at(free)).enumerate();
        let mut worst: Vec<(usize, f64)> = value.filter(|(_, x)| *x < -VIOLATED / 2.0).collect();
        worst.sort_by(|a, b| a.1.total_cmp(&b.1));
        worst.truncate(ADDED_MAX);
        // From the end, so that the positions of the others stay.
        worst.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        worst.into_iter().map(|(at, _)| list.swap_remove(at)).collect()
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
            let utility = dot(self.rows.value(l), bundle(own));
            let most = utility + VIOLATED * utility.max(1.0) - self.rows.base[l];
            let compare = self.rows.compare(l);
            let others = (0..bundles.len() / k).filter(|&b| b != own);
            violated.extend(others.filter(|&b| dot(compare, bundle(b)) > most).map(|b| (l, b)));
        }
        violated
    }
}
