//! Multipliers for every row from those of shared bundles.
//!
//! A vertex of the program with shared bundles has prices `p` and multipliers `Z_lb` of the envy of
//! row `l` towards bundle `b`. To prove that no row would do better with a bundle of its own, every
//! row `i` needs its own multipliers `z_li >= 0` with
//!
//! ```text
//! alpha_i v_i - sum_l z_li v_l <= weight_i p      (equal where the bundle holds a type)
//! alpha_i = worth_i + sum_l z_il
//! ```
//!
//! Envy between rows with the same bundle costs nothing and is free, the multipliers of rows outside
//! add up to `Z`: so every group of rows with the same bundle is a problem of its own. It is
//! solved by the multipliers that are nearest to the last ones in relative entropy: Newton's method
//! on its smooth dual keeps them positive by construction. Where there are none, the dual
//! runs away, in the direction in which the group wants to be split.

use super::interior::Data;
use crate::linalg::{Cholesky, dot};
use ndarray::Array2;

/// Newton steps per group.
const STEPS_MAX: usize = 24;
/// A multiplier changes at most by this power of e per step.
const STRETCH: f64 = 2.5;
/// What is left of an equation that holds.
const SOLVED: f64 = 1e-13;
/// Multipliers that were not there before, relative to a row's worth.
const SEED: f64 = 1e-3;
/// An inequality is violated by more than this part of its terms.
const VIOLATED: f64 = 1e-12;
/// Inequalities with less room than this part of their terms are taken into account at once.
const NARROW: f64 = 0.01;
/// A multiplier or a room that is certainly positive.
const POSITIVE: f64 = 1e-8;
/// Part of a pivot that must be left for a matrix to have full rank.
const RANK: f64 = 1e-9;
/// Slack of an inequality when it is first taken into account, relative to its terms.
const SLACK: f64 = 0.01;
/// Rounds of taking more inequalities into account.
const ROUNDS_MAX: usize = 6;

/// A multiplier of the envy of one row towards another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Envy {
    pub envious: usize,
    pub envied: usize,
    pub z: f64,
}

/// Rows with the same bundle, and what the program with shared bundles says about them.
pub(super) struct Group<'a> {
    pub members: &'a [usize],
    /// Types that the bundle holds.
    pub held: &'a [usize],
    /// `worth_i` and the multipliers of its envy towards other bundles, by member.
    pub alpha: &'a [f64],
    /// Rows outside with the multiplier of their envy towards the bundle.
    pub outside: &'a [(usize, f64)],
    /// The last multipliers towards members, by member: (envious row, z).
    pub last: &'a [&'a [(usize, f64)]],
}

/// An unknown: a pair, with the place of the envious row among the members, or else outside.
struct Pair {
    envious: usize,
    member: Option<usize>,
    outside: usize,
    envied: usize,
    z: f64,
}

/// An equation `(member, type)`; those of types that are not held have a slack.
struct Equation {
    member: usize,
    gpu: usize,
    slack: Option<f64>,
}

struct System<'a> {
    data: &'a Data<'a>,
    group: &'a Group<'a>,
    price: &'a [f64],
    pairs: Vec<Pair>,
    equations: Vec<Equation>,
    /// Equation of (member, type).
    at: Vec<Option<usize>>,
    lambda: Vec<f64>,
}

/// What became of the proof for a group.
pub(super) enum Verdict {
    /// Multipliers towards its members; its rows hold the same bundle in every optimum.
    Proven(Vec<Envy>),
    /// Multipliers that leave open whether its rows hold the same bundle in every optimum.
    Open,
    /// There are none: where the members want to go, member after member.
    Split(Vec<f64>),
}

/// Tries to prove that no member of a group wants a bundle of its own.
pub(super) fn disaggregate(data: &Data<'_>, group: &Group<'_>, price: &[f64]) -> Verdict {
    let mut system = System::new(data, group, price);
    for _ in 0..ROUNDS_MAX {
        if !system.solve() {
            return Verdict::Split(system.directions());
        }
        let room = system.room();
        if !system.add_narrow(&room, -VIOLATED) {
            if !system.is_rigid(&room) {
                return Verdict::Open;
            }
            let z = system.pairs.iter().filter(|p| p.z > 0.0);
            let envied = |p: &Pair| group.members[p.envied];
            let z = z.map(|p| Envy { envious: p.envious, envied: envied(p), z: p.z });
            return Verdict::Proven(z.collect());
        }
    }
    Verdict::Split(system.directions())
}

impl<'a> System<'a> {
    fn new(data: &'a Data<'a>, group: &'a Group<'a>, price: &'a [f64]) -> Self {
        let (g, k) = (group.members.len(), data.k);
        let mut equations = Vec::new();
        let mut at = vec![None; g * k];
        // The equations of the first member follow from the others.
        for member in 1..g {
            for &gpu in group.held {
                at[member * k + gpu] = Some(equations.len());
                equations.push(Equation { member, gpu, slack: None });
            }
        }
        let mut system =
            System { data, group, price, pairs: Vec::new(), equations, at, lambda: Vec::new() };
        system.seed();
        let room = system.room();
        system.add_narrow(&room, NARROW);
        system
    }

    fn seed(&mut self) {
        let g = self.group.members.len();
        for envied in 0..g {
            let last = self.group.last[envied];
            let known = |l: usize| last.iter().find(|e| e.0 == l).map_or(0.0, |e| e.1);
            for (m, &l) in self.group.members.iter().enumerate() {
                if m != envied {
                    let z = known(l).max(SEED * self.data.worth[l] / g as f64);
                    self.pairs.push(Pair { envious: l, member: Some(m), outside: 0, envied, z });
                }
            }
        }
        for (outside, &(l, total)) in self.group.outside.iter().enumerate() {
            let known = |envied: usize| {
                self.group.last[envied].iter().find(|e| e.0 == l).map_or(0.0, |e| e.1)
            };
            let z: Vec<f64> = (0..g).map(|i| known(i) + SEED * total / g as f64).collect();
            let sum: f64 = z.iter().sum();
            for (envied, z) in z.iter().enumerate() {
                let z = z * total / sum;
                self.pairs.push(Pair { envious: l, member: None, outside, envied, z });
            }
        }
    }

    /// The entries of a pair's column: (equation, coefficient).
    fn column(&self, pair: &Pair, entries: &mut Vec<(usize, f64)>) {
        let k = self.data.k;
        let value = self.data.value(pair.envious);
        entries.clear();
        match pair.member {
            Some(m) => {
                let own = self.at[m * k..][..k].iter().zip(value);
                entries.extend(own.filter_map(|(at, v)| Some(((*at)?, *v))));
            }
            None => entries.push((self.equations.len() + pair.outside, 1.0)),
        }
        let other = self.at[pair.envied * k..][..k].iter().zip(value);
        entries.extend(other.filter_map(|(at, v)| Some(((*at)?, -v))));
    }

    /// `weight_i p_j - alpha_i v_ij` without the unknown part.
    fn right(&self, member: usize, gpu: usize) -> f64 {
        let l = self.group.members[member];
        self.data.weight[l] * self.price[gpu] - self.group.alpha[member] * self.data.value(l)[gpu]
    }

    /// Newton's method; returns whether the equations hold.
    fn solve(&mut self) -> bool {
        let size = self.equations.len() + self.group.outside.len();
        self.lambda = vec![0.0; size];
        let mut entries = Vec::new();
        for _ in 0..STEPS_MAX {
            let mut rest: Vec<f64> =
                self.equations.iter().map(|e| self.right(e.member, e.gpu)).collect();
            rest.extend(self.group.outside.iter().map(|o| o.1));
            let mut matrix = Array2::<f64>::zeros((size, size));
            for (e, equation) in self.equations.iter().enumerate() {
                let slack = equation.slack.unwrap_or(0.0);
                rest[e] -= slack;
                matrix[[e, e]] += slack;
            }
            for pair in &self.pairs {
                self.column(pair, &mut entries);
                for &(r, a) in &entries {
                    rest[r] -= a * pair.z;
                    for &(c, b) in entries.iter().filter(|&&(c, _)| c <= r) {
                        matrix[[r, c]] += a * b * pair.z;
                    }
                }
            }
            let left = rest.iter().fold(0.0_f64, |m, r| m.max(r.abs()));
            if left < SOLVED {
                return true;
            }
            for r in 0..size {
                matrix[[r, r]] *= 1.0 + 1e-14;
            }
            let mut step = rest;
            Cholesky::new(matrix).solve(&mut step);
            if !self.advance(&step) {
                return false;
            }
        }
        false
    }

    fn advance(&mut self, step: &[f64]) -> bool {
        let mut entries = Vec::new();
        let mut growth = Vec::with_capacity(self.pairs.len());
        for pair in &self.pairs {
            self.column(pair, &mut entries);
            growth.push(entries.iter().map(|&(r, a)| a * step[r]).sum::<f64>());
        }
        let slack = (0..self.equations.len()).filter(|&e| self.equations[e].slack.is_some());
        let most = slack.map(|e| step[e]).chain(growth.iter().copied());
        let most = most.fold(0.0, f64::max);
        if !most.is_finite() {
            return false;
        }
        let length = if most > STRETCH { STRETCH / most } else { 1.0 };
        for (pair, growth) in self.pairs.iter_mut().zip(growth) {
            pair.z *= (length * growth).max(-STRETCH).exp();
        }
        for (e, equation) in self.equations.iter_mut().enumerate() {
            if let Some(slack) = &mut equation.slack {
                *slack *= (length * step[e]).max(-STRETCH).exp();
            }
        }
        for (lambda, step) in self.lambda.iter_mut().zip(step) {
            *lambda += length * step;
        }
        true
    }

    /// What the prices leave between them and each (member, type).
    fn room(&self) -> Vec<f64> {
        let (g, k) = (self.group.members.len(), self.data.k);
        let mut room: Vec<f64> = (0..g * k).map(|e| self.right(e / k, e % k)).collect();
        for pair in &self.pairs {
            for (j, v) in self.data.value(pair.envious).iter().enumerate() {
                if let Some(m) = pair.member {
                    room[m * k + j] -= pair.z * v;
                }
                room[pair.envied * k + j] += pair.z * v;
            }
        }
        room
    }

    /// The size of the terms of an inequality, or `None` where there is none.
    fn inequality(&self, e: usize) -> Option<f64> {
        let k = self.data.k;
        let l = self.group.members[e / k];
        let counts = self.data.usable(l, e % k) && !self.group.held.contains(&(e % k));
        counts.then(|| self.data.weight[l] * self.price[e % k])
    }

    /// Takes inequalities into account that have less room than this part of their terms.
    fn add_narrow(&mut self, room: &[f64], part: f64) -> bool {
        let mut found = false;
        for e in 0..room.len() {
            if let Some(scale) = self.inequality(e)
                && self.at[e].is_none()
                && room[e] < part * scale
            {
                self.at[e] = Some(self.equations.len());
                let (member, gpu) = (e / self.data.k, e % self.data.k);
                let slack = Some(room[e].max(SLACK * scale));
                self.equations.push(Equation { member, gpu, slack });
                found = true;
            }
        }
        found
    }

    /// Whether the members hold the same bundle in every optimum. What has a positive multiplier is
    /// tight in all of them: types with room above their worth are not held, and envy between members
    /// gives equations `v_l.(y_l - y_i) = 0`. They must leave nothing but equal bundles.
    fn is_rigid(&self, room: &[f64]) -> bool {
        let k = self.data.k;
        // What may differ from the bundle of the first member, or from nothing where it is not held.
        let mut unknown = vec![None; room.len()];
        let mut size = 0;
        for e in 0..room.len() {
            let held = e >= k && self.group.held.contains(&(e % k));
            let loose = self.inequality(e).is_some_and(|scale| room[e] <= POSITIVE * scale);
            if held || loose {
                unknown[e] = Some(size);
                size += 1;
            }
        }
        let mut gram = vec![0.0; size * size];
        let mut row: Vec<(usize, f64)> = Vec::new();
        for pair in self.pairs.iter().filter(|pair| pair.z > POSITIVE) {
            let Some(m) = pair.member else { continue };
            let value = self.data.value(pair.envious);
            row.clear();
            for (member, sign) in [(m, 1.0), (pair.envied, -1.0)] {
                let entries = unknown[member * k..][..k].iter().zip(value);
                row.extend(entries.filter_map(|(at, v)| Some(((*at)?, sign * v))));
            }
            for &(a, x) in &row {
                for &(b, y) in &row {
                    gram[a * size + b] += x * y;
                }
            }
        }
        // A row outside that is tight with several members values their bundles alike.
        for outside in 0..self.group.outside.len() {
            let tight = self.pairs.iter().filter(|p| p.member.is_none() && p.outside == outside);
            let tight: Vec<&Pair> = tight.filter(|p| p.z > POSITIVE).collect();
            for pair in tight.windows(2) {
                let value = self.data.value(pair[0].envious);
                row.clear();
                for (member, sign) in [(pair[0].envied, 1.0), (pair[1].envied, -1.0)] {
                    let entries = unknown[member * k..][..k].iter().zip(value);
                    row.extend(entries.filter_map(|(at, v)| Some(((*at)?, sign * v))));
                }
                for &(a, x) in &row {
                    for &(b, y) in &row {
                        gram[a * size + b] += x * y;
                    }
                }
            }
        }
        is_definite(&mut gram, size)
    }

    /// Where the members want to go, member after member.
    fn directions(&self) -> Vec<f64> {
        let entry = |at: &Option<usize>| at.map_or(0.0, |e| -self.lambda[e]);
        self.at.iter().map(entry).collect()
    }
}

/// Whether a Gram matrix has full rank, by Cholesky's method in place.
fn is_definite(gram: &mut [f64], size: usize) -> bool {
    for c in 0..size {
        let before = gram[c * size + c];
        for r in c..size {
            let (upper, lower) = (&gram[c * size..][..c], &gram[r * size..][..c]);
            let sum = gram[r * size + c] - dot(upper, lower);
            if r > c {
                gram[r * size + c] = sum / gram[c * size + c];
            } else if sum > RANK * before {
                gram[c * size + c] = sum.sqrt();
            } else {
                return false;
            }
        }
    }
    true
}

/// What multipliers prove, whatever they are, and the prices with which they do: no envy-free bundles
/// have a greater total.
pub(super) fn bound(data: &Data<'_>, z: &[Envy]) -> f64 {
    let (n, k) = (data.n, data.k);
    let mut alpha = data.worth.clone();
    for e in z {
        alpha[e.envious] += e.z;
    }
    let mut gain: Vec<f64> = (0..n * k).map(|e| alpha[e / k] * data.scaled.value[e]).collect();
    for e in z {
        let row = &mut gain[e.envied * k..][..k];
        for (g, v) in row.iter_mut().zip(data.value(e.envious)) {
            *g -= e.z * v;
        }
    }
    let price = |j: usize| {
        let users = (0..n).filter(|&i| data.usable(i, j));
        users.map(|i| gain[i * k + j] / data.weight[i]).fold(0.0, f64::max)
    };
    (0..k).map(price).sum()
}
