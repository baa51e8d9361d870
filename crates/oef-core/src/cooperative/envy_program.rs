//! The cooperative program as a simplex with envy rows added on demand.

use crate::lp::{Level, LpError, Program, Simplex, leximin};
use crate::scaled::Scaled;

/// Envy (in units of an equal split's utility) above which a row must be added.
const ENVY: f64 = 1e-11;
/// Rounds of adding violated rows; each adds at least one of finitely many.
const ROUNDS_MAX: usize = 1_000;
/// Envy rows added per tenant and round: the worst ones; more would mostly be slack later.
const ADDED_PER_ROW: usize = 2;

/// Row `j < k` is the capacity of type `j` (in units of `1 / n`), row `k + r` the envy pair `r`.
pub(super) struct EnvyProgram<'a> {
    scaled: &'a Scaled,
    pairs: Vec<(usize, usize)>,
    present: Vec<bool>,
    simplex: Simplex,
    /// Column of each entry of the bundles; absent where the row cannot use the type.
    column: Vec<Option<usize>>,
}

impl<'a> EnvyProgram<'a> {
    pub fn new(scaled: &'a Scaled, pairs: Vec<(usize, usize)>) -> Self {
        let (n, k) = (scaled.n, scaled.k);
        let mut program = Program::default();
        for _ in 0..k {
            program.row(f64::NEG_INFINITY, n as f64);
        }
        let mut column = vec![None; n * k];
        for l in 0..n {
            for j in 0..k {
                let value = scaled.value[l * k + j];
                if value > 0.0 {
                    let use_of_type = vec![(j, scaled.weight[l] * n as f64)];
                    let gain = scaled.worth[l] * value * n as f64;
                    column[l * k + j] = Some(program.var(gain, 0.0, f64::INFINITY, use_of_type));
                }
            }
        }
        let mut envy = EnvyProgram {
            scaled,
            pairs: Vec::new(),
            present: vec![false; n * n],
            simplex: Simplex::new(program),
            column,
        };
        for (l, i) in pairs {
            envy.add(l, i);
        }
        envy
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
            let done = leximin(face.clone(), &levels, stop)?;
            self.simplex = done;
            self.simplex.pivots += pivots;
            // Rows that were slack at the first optimum may be violated at this one.
            let known = self.pairs.len();
            if !self.add_violated() {
                return Ok(());
            }
            for r in known..self.pairs.len() {
                let (l, i) = self.pairs[r];
                let row = face.program.row(0.0, f64::INFINITY);
                self.write_row(&mut face.program, row, l, i);
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
        let z = |r: usize| (-duals[k + r] / n as f64).max(0.0);
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

    pub fn pivots(&self) -> usize {
        self.simplex.pivots
    }

    fn level(&self, l: usize) -> Level {
        let k = self.scaled.k;
        let terms =
            (0..k).filter_map(|j| Some((self.column[l * k + j]?, self.scaled.value[l * k + j])));
        Level { terms: terms.collect(), target: 1.0 }
    }

    fn add(&mut self, l: usize, i: usize) {
        if l == i || std::mem::replace(&mut self.present[l * self.scaled.n + i], true) {
            return;
        }
        self.pairs.push((l, i));
        let mut program = std::mem::take(&mut self.simplex.program);
        let row = program.row(0.0, f64::INFINITY);
        self.write_row(&mut program, row, l, i);
        self.simplex.program = program;
    }

    /// `v_l.y_l - v_l.y_i >= 0`.
    fn write_row(&self, program: &mut Program, row: usize, l: usize, i: usize) {
        let k = self.scaled.k;
        for j in 0..k {
            let value = self.scaled.value[l * k + j];
            if value > 0.0 {
                for (owner, sign) in [(l, value), (i, -value)] {
                    if let Some(v) = self.column[owner * k + j] {
                        program.columns[v].push((row, sign));
                    }
                }
            }
        }
    }

    /// Adds the worst violated pairs of every row; returns whether there were any.
    fn add_violated(&mut self) -> bool {
        let y = self.bundles();
        let n = self.scaled.n;
        let mut violated = Vec::new();
        for l in 0..n {
            let own = self.scaled.utility(l, &y, l);
            let mut worst: Vec<(f64, usize)> = (0..n)
                .filter(|&i| i != l && !self.present[l * n + i])
                .map(|i| (self.scaled.utility(l, &y, i) - own, i))
                .filter(|&(envy, _)| envy > ENVY * own.max(1.0))
                .collect();
            worst.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            violated.extend(worst.into_iter().take(ADDED_PER_ROW).map(|(_, i)| (l, i)));
        }
        let found = !violated.is_empty();
        for (l, i) in violated {
            self.add(l, i);
        }
        found
    }
}
