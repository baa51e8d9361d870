//! The cooperative program as a simplex with envy rows added on demand.

use super::parties::{self, Party};
use super::vertex::Vertex;
use crate::lp::{Level, LpError, Program, Simplex, leximin};
use crate::scaled::Scaled;

/// Envy (in units of an equal split's utility) above which a row must be added.
const ENVY: f64 = 1e-11;
/// Rounds of adding violated rows; each adds at least one of finitely many.
const ROUNDS_MAX: usize = 1_000;
/// Envy rows added per tenant and round: the worst ones; more would mostly be slack later.
const ADDED_PER_ROW: usize = 2;
/// What is not distinguished from nothing at a vertex.
const ZERO: f64 = 1e-9;

/// Row `j < k` is the capacity of type `j` (in units of `1 / n`); then come the limits and floors of
/// capped parties, then the envy pairs. Rows that are known to hold the same bundle share its columns.
pub(super) struct EnvyProgram<'a> {
    scaled: &'a Scaled,
    parties: Vec<Party>,
    /// The bundle of each row.
    bundle_of: Vec<usize>,
    pub bundles: usize,
    /// (party, bundle) in the order of the program's rows.
    pairs: Vec<(usize, usize)>,
    first_pair: usize,
    present: Vec<bool>,
    simplex: Simplex,
    /// Column of each entry of the bundles; absent where a row that holds it cannot use the type.
    column: Vec<Option<usize>>,
}

impl<'a> EnvyProgram<'a> {
    /// The program of an instance without caps, with the given pairs (row, row) to begin with.
    pub fn new(scaled: &'a Scaled, pairs: &[(usize, usize)]) -> Self {
        let parties = parties::without_caps(scaled);
        Self::build(scaled, parties, (0..scaled.n).collect(), &[], &vec![false; scaled.n], pairs)
    }

    /// The program with capped parties; `gpus[j]` are the GPUs in a scaled unit of type `j`, rows that
    /// are `shut` get nothing.
    pub fn with_parties(
        scaled: &'a Scaled,
        parties: Vec<Party>,
        gpus: &[f64],
        shut: &[bool],
    ) -> Self {
        Self::build(scaled, parties, (0..scaled.n).collect(), gpus, shut, &[])
    }

    /// The program at a vertex of a similar one. Rows that are `ghosts` have left: they count for
    /// nothing, but their constraints, now free, keep the vertex what it is until the simplex moves.
    pub fn resume(scaled: &'a Scaled, vertex: &Vertex, ghost: &[bool]) -> Self {
        let parties = parties::without_caps(scaled);
        let pairs: Vec<(usize, usize)> = vertex.pairs.iter().map(|&(l, b, _)| (l, b)).collect();
        let shut = vec![false; scaled.n];
        let bundle_of = vertex.bundle_of.clone();
        let mut program = Self::build(scaled, parties, bundle_of, &[], &shut, &pairs);
        program.vanish(ghost);
        let k = scaled.k;
        let structurals: Vec<usize> =
            vertex.held.iter().filter_map(|&(b, j)| program.column[b * k + j]).collect();
        let slack = |&(r, &(_, _, slack)): &(usize, &(usize, usize, bool))| slack.then_some(r);
        let slack = vertex.pairs.iter().enumerate().filter_map(|e| slack(&e));
        let first = program.first_pair;
        let logicals: Vec<usize> =
            vertex.idle.iter().copied().chain(slack.map(|r| first + r)).collect();
        program.simplex.set_basis(&structurals, &logicals);
        program
    }

    /// Frees the constraints of ghosts.
    fn vanish(&mut self, ghost: &[bool]) {
        let mut alive = vec![false; self.bundles];
        for (l, &b) in self.bundle_of.iter().enumerate() {
            alive[b] |= !ghost[l];
        }
        for (r, &(l, b)) in self.pairs.iter().enumerate() {
            if ghost[l] || !alive[b] {
                let row = self.first_pair + r;
                self.simplex.program.row_lower[row] = f64::NEG_INFINITY;
            }
        }
        for p in 0..self.parties.len() {
            for b in 0..self.bundles {
                self.present[p * self.bundles + b] |= ghost[p] || !alive[b];
            }
        }
    }

    /// Prices, and the multipliers of the envy pairs (row, bundle, z), in units of `n` rows.
    pub fn multipliers(&mut self, n: usize) -> (Vec<f64>, Vec<(usize, usize, f64)>) {
        let duals = self.simplex.duals();
        let price = duals[..self.scaled.k].iter().map(|d| d.max(0.0)).collect();
        // The program counts ghosts among its rows; multipliers are for those that are there.
        let z = |r: usize| -duals[self.first_pair + r] * n as f64 / self.scaled.n as f64;
        let pairs = self.pairs.iter().enumerate().map(|(r, &(l, b))| (l, b, z(r)));
        (price, pairs.filter(|p| p.2 > 0.0).collect())
    }

    /// What the current vertex is made of. What is basic at zero is left out: it says nothing about
    /// the vertex, and could take the place of something that does when rows share bundles otherwise.
    pub fn vertex(&self) -> Vertex {
        let k = self.scaled.k;
        let vars = self.simplex.program.vars();
        let mut basic = vec![false; vars + self.simplex.program.rows()];
        self.simplex.basic().for_each(|v| basic[v] = true);
        let holds = |v: usize| basic[v] && self.simplex.value(v) > ZERO;
        let held = (0..self.bundles * k).filter(|&e| self.column[e].is_some_and(holds));
        let slack = |r: usize| {
            let row = self.first_pair + r;
            basic[vars + row] && self.simplex.activity(row) > ZERO
        };
        let pairs = self.pairs.iter().enumerate().map(|(r, &(l, b))| (l, b, slack(r)));
        Vertex {
            bundle_of: self.bundle_of.clone(),
            held: held.map(|e| (e / k, e % k)).collect(),
            pairs: pairs.collect(),
            idle: (0..k).filter(|&j| basic[vars + j]).collect(),
        }
    }

    fn build(
        scaled: &'a Scaled,
        parties: Vec<Party>,
        bundle_of: Vec<usize>,
        gpus: &[f64],
        shut: &[bool],
        pairs: &[(usize, usize)],
    ) -> Self {
        let k = scaled.k;
        let bundles = bundle_of.iter().max().map_or(0, |b| b + 1);
        let (program, column) = columns(scaled, &bundle_of, bundles, shut, pairs);
        let present = vec![false; parties.len() * bundles];
        let mut envy = EnvyProgram {
            scaled,
            parties,
            bundle_of,
            bundles,
            pairs: Vec::new(),
            first_pair: k,
            present,
            simplex: Simplex::new(Program::default()),
            column,
        };
        let mut program = program;
        envy.add_limits(&mut program, gpus);
        envy.first_pair = program.rows();
        envy.simplex = Simplex::new(program);
        for &(p, b) in pairs {
            envy.add(p, b);
        }
        envy
    }

    /// Asks for at least this part of each type to be handed out.
    pub fn use_at_least(&mut self, parts: &[f64]) {
        let rows = &mut self.simplex.program.row_lower;
        for (lower, part) in rows.iter_mut().zip(parts).filter(|(_, part)| **part > 0.0) {
            *lower = part * self.scaled.n as f64;
        }
    }

    fn add_limits(&self, program: &mut Program, gpus: &[f64]) {
        let k = self.scaled.k;
        for party in self.parties.iter() {
            if let Some(limit) = party.limit {
                let row = program.row(f64::NEG_INFINITY, 1.0);
                for &(l, _) in &party.rows {
                    for j in 0..k {
                        if let Some(v) = self.column[self.bundle_of[l] * k + j] {
                            program.columns[v].push((row, self.scaled.weight[l] * gpus[j] / limit));
                        }
                    }
                }
            }
            if party.floor > 0.0 {
                // A hair of room, for floors that are met with equality by everybody.
                let row = program.row(party.floor * (1.0 - 1e-12), f64::INFINITY);
                self.write_own(program, row, party);
            }
        }
    }

    /// Gives up when a solve needs more pivots than this.
    pub fn with_patience(mut self, pivots_max: usize) -> Self {
        self.simplex.patience = pivots_max;
        self
    }

    /// Gives up after so many pivots in all.
    pub fn with_limit(mut self, pivots_max: usize) -> Self {
        self.simplex.limit = pivots_max;
        self
    }

    /// Solves to optimality over all pairs.
    pub fn optimise(&mut self, stop: &dyn Fn() -> bool) -> Result<(), LpError> {
        for _ in 0..ROUNDS_MAX {
            self.simplex.maximise(stop)?;
            if !self.add_violated() {
                return Ok(());
            }
        }
        Err(LpError::NotConverged)
    }

    /// Solves to optimality over all pairs from scratch. After pairs were added the old optimum is
    /// still dual feasible: the path from there is short.
    pub fn optimise_step_by_step(&mut self, stop: &dyn Fn() -> bool) -> Result<(), LpError> {
        self.simplex.maximise(stop)?;
        for _ in 0..ROUNDS_MAX {
            if !self.add_violated() {
                return Ok(());
            }
            let size = self.simplex.program.rows();
            match self.simplex.track(size, stop) {
                Err(LpError::Stopped) => return Err(LpError::Stopped),
                Err(_) => self.simplex.maximise(stop)?,
                Ok(()) => {}
            }
        }
        Err(LpError::NotConverged)
    }

    /// Moves near the optimum over all pairs from a nearly optimal basis, in at most so many pivots. The
    /// vertex there counts only after [`Self::arrive`], which mostly finds it as it is.
    pub fn approach(&mut self, pivots_max: usize, stop: &dyn Fn() -> bool) -> Result<(), LpError> {
        for _ in 0..ROUNDS_MAX {
            let left = pivots_max.saturating_sub(self.simplex.pivots);
            self.simplex.approach(left, stop)?;
            if !self.add_violated() {
                return Ok(());
            }
        }
        Err(LpError::NotConverged)
    }

    /// Solves to optimality over all pairs from where [`Self::approach`] has ended.
    pub fn arrive(&mut self, pivots_max: usize, stop: &dyn Fn() -> bool) -> Result<(), LpError> {
        for _ in 0..ROUNDS_MAX {
            self.simplex.arrive(stop)?;
            if !self.add_violated() {
                return Ok(());
            }
            self.approach(pivots_max, stop)?;
        }
        Err(LpError::NotConverged)
    }

    /// Moves to the canonical optimum: the lexicographic max-min of utilities on the optimal face.
    pub fn make_canonical(&mut self, stop: &dyn Fn() -> bool) -> Result<(), LpError> {
        let mut face = self.simplex.clone();
        if !face.restrict_to_optimal_face() {
            return Ok(());
        }
        let levels: Vec<Level> = (0..self.scaled.n).map(|l| self.level(l)).collect();
        for _ in 0..ROUNDS_MAX {
            let pivots = self.simplex.pivots;
            let (done, _) = leximin(face.clone(), &levels, stop)?;
            self.simplex = done;
            self.simplex.pivots += pivots;
            // Rows that were slack at the first optimum may be violated at this one.
            let known = self.pairs.len();
            if !self.add_violated() {
                return Ok(());
            }
            for r in known..self.pairs.len() {
                let (p, i) = self.pairs[r];
                self.write_pair(&mut face.program, p, i);
            }
        }
        Err(LpError::NotConverged)
    }

    /// The bundles of the rows, row after row.
    pub fn bundles(&self) -> Vec<f64> {
        let k = self.scaled.k;
        let held = self.held();
        self.bundle_of.iter().flat_map(|&b| held[b * k..][..k].iter().copied()).collect()
    }

    /// The distinct bundles, one after another.
    pub fn held(&self) -> Vec<f64> {
        self.column.iter().map(|c| c.map_or(0.0, |v| self.simplex.value(v))).collect()
    }

    /// The price of each type's whole capacity, in units of the scaled total.
    pub fn prices(&mut self) -> Vec<f64> {
        let duals = self.simplex.duals();
        duals[..self.scaled.k].iter().map(|d| d.max(0.0)).collect()
    }

    /// What the duals prove: no envy-free shares have a greater total. With multipliers `z_li >= 0`
    /// of the envy rows, `alpha_l = worth_l + sum_i z_li` and prices that cover
    /// `alpha_i v_i - sum_l z_li v_l` for every row `i`, the prices add up to a bound.
    pub fn bound(&mut self) -> f64 {
        let duals = self.simplex.duals();
        let (n, k) = (self.scaled.n, self.scaled.k);
        debug_assert_eq!(
            n, self.bundles,
            "rows that share a bundle have more multipliers than these"
        );
        let z = |r: usize| (-duals[self.first_pair + r] / n as f64).max(0.0);
        let mut gain: Vec<f64> =
            (0..n * k).map(|e| self.scaled.worth[e / k] * self.scaled.value[e]).collect();
        for (r, &(l, i)) in self.pairs.iter().enumerate() {
            let z = z(r);
            if z > 0.0 {
                for j in 0..k {
                    let value = self.scaled.value[l * k + j];
                    gain[l * k + j] += z * value;
                    gain[i * k + j] -= z * value;
                }
            }
        }
        let price = |j: usize| {
            let usable = (0..n).filter(|&i| self.column[i * k + j].is_some());
            usable.map(|i| gain[i * k + j] / self.scaled.weight[i]).fold(0.0, f64::max)
        };
        (0..k).map(price).sum()
    }

    /// Relative gap between the vertex and what its duals prove, caps included.
    pub fn gap(&mut self) -> f64 {
        (self.simplex.dual_bound() / self.simplex.objective() - 1.0).abs()
    }

    pub fn pivots(&self) -> usize {
        self.simplex.pivots
    }

    fn level(&self, l: usize) -> Level {
        let k = self.scaled.k;
        let b = self.bundle_of[l];
        let terms =
            (0..k).filter_map(|j| Some((self.column[b * k + j]?, self.scaled.value[l * k + j])));
        Level { terms: terms.collect(), target: 1.0, most: f64::INFINITY }
    }

    fn add(&mut self, p: usize, b: usize) {
        if self.owns(p, b) || std::mem::replace(&mut self.present[p * self.bundles + b], true) {
            return;
        }
        self.pairs.push((p, b));
        let mut program = std::mem::take(&mut self.simplex.program);
        self.write_pair(&mut program, p, b);
        self.simplex.program = program;
    }

    fn owns(&self, p: usize, b: usize) -> bool {
        self.parties[p].rows.iter().any(|&(l, _)| self.bundle_of[l] == b)
    }

    /// `own utility of p - value_p.y_b >= base_p`.
    fn write_pair(&self, program: &mut Program, p: usize, b: usize) {
        let k = self.scaled.k;
        let party = &self.parties[p];
        let row = program.row(party.base, f64::INFINITY);
        self.write_own(program, row, party);
        for j in 0..k {
            if let Some(v) = self.column[b * k + j]
                && party.value[j] > 0.0
            {
                program.columns[v].push((row, -party.value[j]));
            }
        }
    }

    fn write_own(&self, program: &mut Program, row: usize, party: &Party) {
        let k = self.scaled.k;
        for &(l, part) in &party.rows {
            for j in 0..k {
                if let Some(v) = self.column[self.bundle_of[l] * k + j] {
                    program.columns[v].push((row, part * self.scaled.value[l * k + j]));
                }
            }
        }
    }

    /// Adds the worst violated pairs of every party; returns whether there were any.
    fn add_violated(&mut self) -> bool {
        let held = self.held();
        let k = self.scaled.k;
        // What all bundles are worth to a party is found type by type, which is fastest.
        let by_type: Vec<f64> =
            (0..held.len()).map(|e| held[e % self.bundles * k + e / self.bundles]).collect();
        let mut worth = vec![0.0; self.bundles];
        let mut violated = Vec::new();
        for (p, party) in self.parties.iter().enumerate() {
            let utility = |&(l, part): &(usize, f64)| {
                part * crate::shares::dot(self.scaled.value(l), &held[self.bundle_of[l] * k..][..k])
            };
            let own: f64 = party.rows.iter().map(utility).sum();
            worth.fill(0.0);
            for (value, held) in party.value.iter().zip(by_type.chunks(self.bundles)) {
                worth.iter_mut().zip(held).for_each(|(worth, held)| *worth += value * held);
            }
            let mut worst: Vec<(f64, usize)> = (worth.iter().enumerate())
                .map(|(b, worth)| (party.base + worth - own, b))
                .filter(|&(envy, _)| envy > ENVY * own.max(1.0))
                .filter(|&(_, b)| !self.present[p * self.bundles + b] && !self.owns(p, b))
                .collect();
            worst.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            violated.extend(worst.into_iter().take(ADDED_PER_ROW).map(|(_, b)| (p, b)));
        }
        let found = !violated.is_empty();
        for (p, b) in violated {
            self.add(p, b);
        }
        found
    }
}

/// The capacity rows and the columns of the bundles, with room for pairs.
fn columns(
    scaled: &Scaled,
    bundle_of: &[usize],
    bundles: usize,
    shut: &[bool],
    pairs: &[(usize, usize)],
) -> (Program, Vec<Option<usize>>) {
    let (n, k) = (scaled.n, scaled.k);
    let size = n as f64;
    let mut program = Program::default();
    for _ in 0..k {
        program.row(f64::NEG_INFINITY, size);
    }
    let (mut weight, mut usable) = (vec![0.0; bundles], vec![true; bundles * k]);
    let mut gain = vec![0.0; bundles * k];
    for (l, &b) in bundle_of.iter().enumerate() {
        weight[b] += scaled.weight[l] * size;
        for j in 0..k {
            let value = scaled.value[l * k + j];
            gain[b * k + j] += scaled.worth[l] * value * size;
            usable[b * k + j] &= value > 0.0 && !shut[l];
        }
    }
    // The capacity, and the pairs to come.
    let mut entries = vec![1; bundles];
    for &(l, b) in pairs {
        entries[bundle_of[l]] += 1;
        entries[b] += 1;
    }
    let column = (0..bundles * k)
        .map(|e| {
            let mut column = Vec::with_capacity(entries[e / k]);
            column.push((e % k, weight[e / k]));
            usable[e].then(|| program.var(gain[e], 0.0, f64::INFINITY, column))
        })
        .collect();
    (program, column)
}

/// Numbers for the distinct bundles: rows whose bundles agree within `same` get the same number; with
/// `same = 0` every row gets its own, also of two that are equal.
pub(super) fn clusters(scaled: &Scaled, y: &[f64], same: f64) -> Vec<usize> {
    let k = scaled.k;
    let bundle = |l: usize| &y[l * k..][..k];
    let mut leaders: Vec<usize> = Vec::new();
    (0..scaled.n)
        .map(|l| {
            let alike = |&lead: &usize| {
                bundle(l)
                    .iter()
                    .zip(bundle(lead))
                    .all(|(a, b)| (a - b).abs() < same * (1.0 + a.max(*b)))
            };
            leaders.iter().position(alike).unwrap_or_else(|| {
                leaders.push(l);
                leaders.len() - 1
            })
        })
        .collect()
}
