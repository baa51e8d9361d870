//! The cooperative program as a simplex with envy rows added on demand.

use super::parties::{self, Party};
use crate::lp::{Level, LpError, Program, Simplex, leximin};
use crate::scaled::Scaled;

/// Envy (in units of an equal split's utility) above which a row must be added.
const ENVY: f64 = 1e-11;
/// Rounds of adding violated rows; each adds at least one of finitely many.
const ROUNDS_MAX: usize = 1_000;
/// Envy rows added per tenant and round: the worst ones; more would mostly be slack later.
const ADDED_PER_ROW: usize = 2;

/// Row `j < k` is the capacity of type `j` (in units of `1 / n`); then come the limits and floors of
/// capped parties, then the envy pairs.
pub(super) struct EnvyProgram<'a> {
    scaled: &'a Scaled,
    parties: Vec<Party>,
    /// (party, row) in the order of the program's rows.
    pairs: Vec<(usize, usize)>,
    first_pair: usize,
    present: Vec<bool>,
    simplex: Simplex,
    /// Column of each entry of the bundles; absent where the row cannot use the type.
    column: Vec<Option<usize>>,
}

impl<'a> EnvyProgram<'a> {
    /// The program of an instance without caps, with the given pairs (row, row) to begin with.
    pub fn new(scaled: &'a Scaled, pairs: Vec<(usize, usize)>) -> Self {
        Self::with_parties(
            scaled,
            parties::without_caps(scaled),
            &[],
            &vec![false; scaled.n],
            pairs,
        )
    }

    /// The program with capped parties; `gpus[j]` are the GPUs in a scaled unit of type `j`, rows that
    /// are `shut` get nothing.
    pub fn with_parties(
        scaled: &'a Scaled,
        parties: Vec<Party>,
        gpus: &[f64],
        shut: &[bool],
        pairs: Vec<(usize, usize)>,
    ) -> Self {
        let (n, k) = (scaled.n, scaled.k);
        let mut program = Program::default();
        for _ in 0..k {
            program.row(f64::NEG_INFINITY, n as f64);
        }
        let mut column = vec![None; n * k];
        for l in (0..n).filter(|&l| !shut[l]) {
            for j in 0..k {
                let value = scaled.value[l * k + j];
                if value > 0.0 {
                    let use_of_type = vec![(j, scaled.weight[l] * n as f64)];
                    let gain = scaled.worth[l] * value * n as f64;
                    column[l * k + j] = Some(program.var(gain, 0.0, f64::INFINITY, use_of_type));
                }
            }
        }
        let present = vec![false; parties.len() * n];
        let simplex = Simplex::new(Program::default());
        let mut envy = EnvyProgram {
            scaled,
            parties,
            pairs: Vec::new(),
            first_pair: k,
            present,
            simplex,
            column,
        };
        envy.add_limits(&mut program, gpus);
        envy.first_pair = program.rows();
        envy.simplex = Simplex::new(program);
        for (p, i) in pairs {
            envy.add(p, i);
        }
        envy
    }

    fn add_limits(&self, program: &mut Program, gpus: &[f64]) {
        let k = self.scaled.k;
        for party in self.parties.iter() {
            if let Some(limit) = party.limit {
                let row = program.row(f64::NEG_INFINITY, 1.0);
                for &(l, _) in &party.rows {
                    for j in 0..k {
                        if let Some(v) = self.column[l * k + j] {
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

    /// The bundles, row after row.
    pub fn bundles(&self) -> Vec<f64> {
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
        let terms =
            (0..k).filter_map(|j| Some((self.column[l * k + j]?, self.scaled.value[l * k + j])));
        Level { terms: terms.collect(), target: 1.0 }
    }

    fn add(&mut self, p: usize, i: usize) {
        let own = self.parties[p].rows.iter().any(|&(l, _)| l == i);
        if own || std::mem::replace(&mut self.present[p * self.scaled.n + i], true) {
            return;
        }
        self.pairs.push((p, i));
        let mut program = std::mem::take(&mut self.simplex.program);
        self.write_pair(&mut program, p, i);
        self.simplex.program = program;
    }

    /// `own utility of p - value_p.y_i >= base_p`.
    fn write_pair(&self, program: &mut Program, p: usize, i: usize) {
        let k = self.scaled.k;
        let party = &self.parties[p];
        let row = program.row(party.base, f64::INFINITY);
        self.write_own(program, row, party);
        for j in 0..k {
            if let Some(v) = self.column[i * k + j]
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
                if let Some(v) = self.column[l * k + j] {
                    program.columns[v].push((row, part * self.scaled.value[l * k + j]));
                }
            }
        }
    }

    /// Adds the worst violated pairs of every party; returns whether there were any.
    fn add_violated(&mut self) -> bool {
        let y = self.bundles();
        let (n, k) = (self.scaled.n, self.scaled.k);
        let mut violated = Vec::new();
        for (p, party) in self.parties.iter().enumerate() {
            let own: f64 =
                party.rows.iter().map(|&(l, part)| part * self.scaled.utility(l, &y, l)).sum();
            let value = |i: usize| crate::shares::dot(&party.value, &y[i * k..][..k]);
            let mut worst: Vec<(f64, usize)> = (0..n)
                .filter(|&i| !self.present[p * n + i] && party.rows.iter().all(|&(l, _)| l != i))
                .map(|i| (party.base + value(i) - own, i))
                .filter(|&(envy, _)| envy > ENVY * own.max(1.0))
                .collect();
            worst.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            violated.extend(worst.into_iter().take(ADDED_PER_ROW).map(|(_, i)| (p, i)));
        }
        let found = !violated.is_empty();
        for (p, i) in violated {
            self.add(p, i);
        }
        found
    }
}
