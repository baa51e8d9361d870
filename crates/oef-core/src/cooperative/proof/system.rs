//! The equations of a group's multipliers, solved by steps that are small relative to them.

use super::{Draft, SharedBundle};
use crate::cooperative::data::Data;
use crate::cooperative::multipliers::{Envy, Multipliers};
use crate::linalg::{Cholesky, dot, is_definite};
use ndarray::Array2;

/// Steps per group with a factor of their own.
const STEPS_MAX: usize = 24;
/// The factor of a step before is good enough if what is left of the equations fell to this part.
const NEARER: f64 = 0.2;
/// A multiplier grows at most by this many times what it was per step, and shrinks at most to this part.
const STRETCH: f64 = 100.0;
const SHRINK: f64 = 0.01;
/// Solutions with more than this many times what the multipliers add up to are not looked for.
const MOST: f64 = 20.0;
/// Groups up to this size have few pairs anyway.
pub(super) const FEW: usize = 12;
/// Multipliers that were not there before, relative to a row's worth.
const SEED: f64 = 1e-3;
/// An inequality is violated by more than this part of its terms.
const VIOLATED: f64 = 1e-12;
/// Inequalities with less room than this part of their terms are taken into account at once.
const NARROW: f64 = 0.01;
/// A multiplier or a room that is certainly positive.
const POSITIVE: f64 = 1e-8;
/// Slack of an inequality when it is first taken into account, relative to its terms.
const SLACK: f64 = 0.01;
/// Rounds of taking more inequalities into account.
const ROUNDS_MAX: usize = 6;

/// An unknown: the multiplier of a pair, with the place of the envious row among the members, or else outside; or that
/// of a member's cap.
pub(super) struct Pair {
    source: Source,
    member: Option<usize>,
    /// Which of the sums it is part of, where it is not a member's.
    sum: usize,
    envied: usize,
    z: f64,
}

/// Where an unknown comes from.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    Row(usize),
    Cap,
}

/// An equation `(member, type)`; those of types that are not held have a slack.
pub(super) struct Equation {
    member: usize,
    gpu: usize,
    slack: Option<f64>,
}

pub(super) struct System<'a> {
    pub data: &'a Data<'a>,
    pub group: &'a SharedBundle<'a>,
    pub price: &'a [f64],
    pub pairs: Vec<Pair>,
    pub equations: Vec<Equation>,
    /// Equation of (member, type).
    pub at: Vec<Option<usize>>,
    pub lambda: Vec<f64>,
    /// The factor of the last step, and its size.
    pub factor: Option<(Cholesky, usize)>,
}

/// The columns of the pairs: (equation, coefficient).
#[derive(Default)]
struct Columns {
    start: Vec<usize>,
    entries: Vec<(usize, f64)>,
}

impl Columns {
    fn of(&self, pair: usize) -> &[(usize, f64)] {
        &self.entries[self.start[pair]..self.start[pair + 1]]
    }
}

/// Which pairs of members a proof starts with.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Seed {
    Known,
    All,
}

impl<'a> System<'a> {
    pub fn new(
        data: &'a Data<'a>,
        group: &'a SharedBundle<'a>,
        price: &'a [f64],
        seed: Seed,
    ) -> Self {
        let (g, k) = (group.members.len(), data.k);
        let mut equations = Vec::new();
        let mut at = vec![None; g * k];
        // The equations of the first member follow from the others.
        for member in 1..g {
            for &gpu in &group.held {
                at[member * k + gpu] = Some(equations.len());
                equations.push(Equation { member, gpu, slack: None });
            }
        }
        let (pairs, lambda, factor) = (Vec::new(), Vec::new(), None);
        let mut system = System { data, group, price, pairs, equations, at, lambda, factor };
        system.seed(seed == Seed::All || g <= FEW);
        let room = system.room();
        system.add_narrow(&room, NARROW);
        system
    }

    pub fn resume(
        data: &'a Data<'a>,
        group: &'a SharedBundle<'a>,
        price: &'a [f64],
        draft: Draft,
    ) -> Self {
        let Draft { pairs, equations, at, factor, .. } = draft;
        let lambda = Vec::new();
        let mut system = System { data, group, price, pairs, equations, at, lambda, factor };
        let room = system.room();
        system.add_narrow(&room, -VIOLATED);
        system
    }

    /// How many sums of unknowns are given: those of rows outside, and that of the cap.
    fn sums(&self) -> usize {
        self.group.outside.len() + usize::from(self.group.cap > 0.0)
    }

    /// What an unknown takes from the worth of the bundle that it is about.
    fn taken(&self, source: Source) -> &'a [f64] {
        let rows = self.data.rows;
        match source {
            Source::Row(l) => rows.compare(l),
            Source::Cap => &rows.size,
        }
    }

    fn seed(&mut self, all: bool) {
        let g = self.group.members.len();
        let mut place = vec![None; self.data.n];
        for (m, &l) in self.group.members.iter().enumerate() {
            place[l] = Some(m);
        }
        let mut known = vec![0.0; g * g];
        let mut stranger = vec![true; g];
        for envied in 0..g {
            for &(l, z) in self.group.last[envied] {
                if let Some(m) = place.get(l).copied().flatten() {
                    known[envied * g + m] = z;
                    (stranger[envied], stranger[m]) = (false, false);
                }
            }
        }
        for envied in 0..g {
            for (m, &l) in self.group.members.iter().enumerate() {
                let least = SEED * self.data.worth[l] / g as f64;
                let z = known[envied * g + m];
                let is_free = m != envied && !self.data.rows.compares_with_itself(l);
                if is_free && (all || z > least || stranger[m] || stranger[envied]) {
                    let (z, member) = (z.max(least), Some(m));
                    self.pairs.push(Pair { source: Source::Row(l), member, sum: 0, envied, z });
                }
            }
        }
        for (sum, &(l, total)) in self.group.outside.iter().enumerate() {
            let known = |envied: usize| {
                self.group.last[envied].iter().find(|e| e.0 == l).map_or(0.0, |e| e.1)
            };
            let others = (0..g).filter(|&i| place.get(l).copied().flatten() != Some(i));
            self.divide(Source::Row(l), sum, total, others.map(|i| (i, known(i))).collect());
        }
        if self.group.cap > 0.0 {
            let last = |&m: &usize| (m, self.group.last_cap[m]);
            let members = self.group.at_cap.iter().map(last).collect();
            self.divide(Source::Cap, self.group.outside.len(), self.group.cap, members);
        }
    }

    /// Unknowns for members, in proportion to what they were and a little more, with a sum.
    fn divide(&mut self, source: Source, sum: usize, total: f64, members: Vec<(usize, f64)>) {
        let least = SEED * total / members.len() as f64;
        let all: f64 = members.iter().map(|(_, z)| z + least).sum();
        self.pairs.extend(members.into_iter().map(|(envied, z)| Pair {
            source,
            member: None,
            sum,
            envied,
            z: (z + least) * total / all,
        }));
    }

    /// The columns of all pairs.
    fn columns(&self) -> Columns {
        let k = self.data.k;
        let mut columns = Columns::default();
        columns.start.push(0);
        for pair in &self.pairs {
            let taken = self.taken(pair.source);
            match pair.member {
                // Without a threshold a row compares as it values.
                Some(m) => {
                    let own = self.at[m * k..][..k].iter().zip(taken);
                    columns.entries.extend(own.filter_map(|(at, v)| Some(((*at)?, *v))));
                }
                None => columns.entries.push((self.equations.len() + pair.sum, 1.0)),
            }
            let other = self.at[pair.envied * k..][..k].iter().zip(taken);
            columns.entries.extend(other.filter_map(|(at, v)| Some(((*at)?, -v))));
            columns.start.push(columns.entries.len());
        }
        columns
    }

    /// Solves, with more inequalities as long as some are violated; returns whether that worked.
    pub fn settle(&mut self, solved: f64) -> bool {
        for _ in 0..ROUNDS_MAX {
            if !self.solve(solved) {
                return false;
            }
            let room = self.room();
            if !self.add_narrow(&room, -VIOLATED.max(solved)) {
                return true;
            }
        }
        false
    }

    pub fn add_multipliers(&self, to: &mut Multipliers) {
        for pair in self.pairs.iter().filter(|p| p.z > 0.0) {
            let envied = self.group.members[pair.envied];
            match pair.source {
                Source::Row(envious) => to.envy.push(Envy { envious, envied, z: pair.z }),
                Source::Cap => to.cap[envied] = pair.z,
            }
        }
    }

    /// `weight_i p_j - alpha_i v_ij` without the unknown part.
    fn right(&self, member: usize, gpu: usize) -> f64 {
        let l = self.group.members[member];
        self.data.weight[l] * self.price[gpu] - self.group.alpha[member] * self.data.value(l)[gpu]
    }

    /// Step by step; returns whether the equations hold. The factor of a step before does for the next
    /// one as long as that gets much nearer.
    fn solve(&mut self, solved: f64) -> bool {
        let size = self.equations.len() + self.sums();
        self.lambda = vec![0.0; size];
        let columns = self.columns();
        let mut right: Vec<f64> =
            self.equations.iter().map(|e| self.right(e.member, e.gpu)).collect();
        right.extend(self.group.outside.iter().map(|o| o.1));
        right.extend((self.group.cap > 0.0).then_some(self.group.cap));
        let most = MOST * self.pairs.iter().map(|p| p.z).sum::<f64>();
        let mut factor = self.factor.take().filter(|(_, at)| *at == size).map(|(factor, _)| factor);
        let (mut before, mut steps) = (f64::INFINITY, 0);
        loop {
            let mut rest = self.rest(&columns, &right);
            let left = rest.iter().fold(0.0_f64, |m, r| m.max(r.abs()));
            if left < solved {
                self.factor = factor.map(|factor| (factor, size));
                return true;
            }
            let near = factor.take().filter(|_| left < NEARER * before);
            before = left;
            steps += usize::from(near.is_none());
            if steps > STEPS_MAX {
                return false;
            }
            let near = near.unwrap_or_else(|| Cholesky::new(self.matrix(&columns, size)));
            near.solve(&mut rest);
            factor = Some(near);
            if !self.advance(&columns, &rest)
                || (steps > 2 && self.is_hopeless(&columns, &right, most))
            {
                return false;
            }
        }
    }

    /// What is left of the equations.
    fn rest(&self, columns: &Columns, right: &[f64]) -> Vec<f64> {
        let mut rest = right.to_vec();
        for (p, pair) in self.pairs.iter().enumerate() {
            for &(r, a) in columns.of(p) {
                rest[r] -= a * pair.z;
            }
        }
        for (rest, equation) in rest.iter_mut().zip(&self.equations) {
            *rest -= equation.slack.unwrap_or(0.0);
        }
        rest
    }

    /// The matrix of a step.
    fn matrix(&self, columns: &Columns, size: usize) -> Array2<f64> {
        let mut matrix = vec![0.0; size * size];
        for (p, pair) in self.pairs.iter().enumerate() {
            let entries = columns.of(p);
            for &(r, a) in entries {
                let az = a * pair.z;
                let row = &mut matrix[r * size..][..r + 1];
                for &(c, b) in entries {
                    if let Some(entry) = row.get_mut(c) {
                        *entry += az * b;
                    }
                }
            }
        }
        for (e, equation) in self.equations.iter().enumerate() {
            matrix[e * size + e] += equation.slack.unwrap_or(0.0);
        }
        for r in 0..size {
            matrix[r * size + r] *= 1.0 + 1e-14;
        }
        Array2::from_shape_vec((size, size), matrix).unwrap_or_else(|_| Array2::eye(size))
    }

    fn advance(&mut self, columns: &Columns, step: &[f64]) -> bool {
        let growth = self.growth(columns, step);
        let slack = (0..self.equations.len()).filter(|&e| self.equations[e].slack.is_some());
        let most = slack.map(|e| step[e]).chain(growth.iter().copied());
        let most = most.fold(0.0, f64::max);
        if !most.is_finite() {
            return false;
        }
        let length = if most > STRETCH { STRETCH / most } else { 1.0 };
        let factor = |growth: f64| (1.0 + length * growth).max(SHRINK);
        for (pair, growth) in self.pairs.iter_mut().zip(growth) {
            pair.z *= factor(growth);
        }
        for (e, equation) in self.equations.iter_mut().enumerate() {
            if let Some(slack) = &mut equation.slack {
                *slack *= factor(step[e]);
            }
        }
        for (lambda, step) in self.lambda.iter_mut().zip(step) {
            *lambda += length * step;
        }
        true
    }

    /// What multipliers of the equations add up to for every pair.
    fn growth(&self, columns: &Columns, lambda: &[f64]) -> Vec<f64> {
        let sum = |p: usize| columns.of(p).iter().map(|&(r, a)| a * lambda[r]).sum();
        (0..self.pairs.len()).map(sum).collect()
    }

    /// Whether no more pairs of members would help, either.
    pub fn is_beyond_pairs(&self) -> bool {
        let (g, k) = (self.group.members.len(), self.data.k);
        let lambda = |e: &Option<usize>| e.map_or(0.0, |e| self.lambda[e]);
        let lambda: Vec<f64> = self.at.iter().map(lambda).collect();
        let worth = |l: usize, m: usize| dot(self.data.value(l), &lambda[m * k..][..k]);
        let growth = |e: usize| {
            let l = self.group.members[e / g];
            worth(l, e / g) - worth(l, e % g)
        };
        let slack = (0..self.equations.len()).filter(|&e| self.equations[e].slack.is_some());
        let growth = slack.map(|e| self.lambda[e]).chain((0..g * g).map(growth));
        let most = MOST * self.pairs.iter().map(|p| p.z).sum::<f64>();
        let right = self.equations.iter().zip(&self.lambda);
        let right: f64 = right.map(|(e, x)| self.right(e.member, e.gpu) * x).sum();
        // Rows outside divide what they have in the best way for the multipliers.
        let most_of = |values: &[f64], members: &mut dyn Iterator<Item = usize>| {
            let worth = members.map(|m| -dot(values, &lambda[m * k..][..k]));
            worth.fold(f64::NEG_INFINITY, f64::max)
        };
        let best = |&(l, total): &(usize, f64)| {
            let mut others = (0..g).filter(|&m| self.group.members[m] != l);
            total * most_of(self.data.rows.compare(l), &mut others)
        };
        let outside: f64 = self.group.outside.iter().map(best).sum();
        let at_cap = &mut self.group.at_cap.iter().copied();
        let cap = match self.group.cap > 0.0 {
            true => self.group.cap * most_of(&self.data.rows.size, at_cap),
            false => 0.0,
        };
        let outside = outside + cap;
        right > outside + most * growth.fold(0.0, f64::max)
    }

    /// Farkas: `right . lambda = sum_p z_p growth_p` for all solutions, which is more than any with
    /// at most so much in all can have.
    fn is_hopeless(&self, columns: &Columns, right: &[f64], most: f64) -> bool {
        let slack = (0..self.equations.len()).filter(|&e| self.equations[e].slack.is_some());
        let growth = self.growth(columns, &self.lambda);
        let growth = slack.map(|e| self.lambda[e]).chain(growth).fold(0.0, f64::max);
        dot(right, &self.lambda) > most * growth
    }

    /// What the prices leave between them and each (member, type).
    pub fn room(&self) -> Vec<f64> {
        let (g, k) = (self.group.members.len(), self.data.k);
        let mut room: Vec<f64> = (0..g * k).map(|e| self.right(e / k, e % k)).collect();
        for pair in &self.pairs {
            for (j, v) in self.taken(pair.source).iter().enumerate() {
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
        // No step has seen the new ones.
        self.lambda.resize(self.equations.len(), 0.0);
        found
    }

    /// Whether the members hold the same bundle in every optimum. What has a positive multiplier is
    /// tight in all of them: types with room above their worth are not held, and envy between members
    /// gives equations `v_l.(y_l - y_i) = 0`. They must leave nothing but equal bundles.
    pub fn is_rigid(&self, room: &[f64]) -> bool {
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
            let value = self.taken(pair.source);
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
        // A row outside that is tight with several members values their bundles alike; so do caps.
        for sum in 0..self.sums() {
            let tight = self.pairs.iter().filter(|p| p.member.is_none() && p.sum == sum);
            let tight: Vec<&Pair> = tight.filter(|p| p.z > POSITIVE).collect();
            for pair in tight.windows(2) {
                let value = self.taken(pair[0].source);
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
    pub fn directions(&self) -> Vec<f64> {
        let entry = |at: &Option<usize>| at.map_or(0.0, |e| -self.lambda[e]);
        self.at.iter().map(entry).collect()
    }
}
