//! The program's numbers, laid out for the interior point.

use super::lanes::{LANES, Lane};
use super::rows::Rows;

/// The most that a multiplier of a row that is compared with one other only can be, in units of its worth; and by how much
/// more it can be where that was too little, and how often.
const LIMIT: f64 = 100.0;
const MORE: f64 = 100.0;
const MOST: f64 = 1e8;

/// Program data in units of order one: capacities are `n`, weights and worths of order one.
pub(super) struct Data<'a> {
    pub rows: &'a Rows,
    pub n: usize,
    pub k: usize,
    pub weight: Vec<f64>,
    pub worth: Vec<f64>,
    /// The most that a multiplier of a row's envy can be on a path. Rows that are compared with one other only hold exactly
    /// what they ask for in every answer: without a limit their multipliers would grow without end.
    pub multiplier_max: Vec<f64>,
    limit: f64,
    /// Lanes in a wide row: a row of numbers per type, filled up with zeros.
    pub width: usize,
    /// The values, the comparisons and the sizes in wide rows.
    wide: Vec<Lane>,
    wide_compare: Vec<Lane>,
    pub wide_size: Vec<Lane>,
    /// Whether a row can use every type.
    is_whole: Vec<bool>,
}

impl<'a> Data<'a> {
    pub fn new(rows: &'a Rows) -> Self {
        Data::with_limit(rows, LIMIT)
    }

    /// The same with more room for the multipliers that have a limit; `None`: they had enough.
    pub fn with_higher_limit(&self) -> Option<Self> {
        let limit = self.limit * MORE;
        (limit <= MOST).then(|| Data::with_limit(self.rows, limit))
    }

    fn with_limit(rows: &'a Rows, limit: f64) -> Self {
        let size = rows.n as f64;
        let most = |of: &[f64]| of.iter().fold(0.0, |most: f64, v| most.max(*v));
        // What a comparison is worth may be a small part of what its row has: then its multiplier is the greater.
        let part = |l: usize| match most(rows.compare(l)) / most(rows.value(l)) {
            0.0 => 1.0,
            part => part,
        };
        let mut data = Data {
            rows,
            n: rows.n,
            k: rows.k,
            weight: rows.weight.iter().map(|w| w * size).collect(),
            worth: rows.worth.iter().map(|w| w * size).collect(),
            multiplier_max: (0..rows.n)
                .map(|l| match rows.follows(l) {
                    true => limit * rows.worth[l] * size / part(l),
                    false => f64::INFINITY,
                })
                .collect(),
            limit,
            width: rows.k.div_ceil(LANES),
            wide: Vec::new(),
            wide_compare: Vec::new(),
            wide_size: Vec::new(),
            is_whole: (0..rows.n).map(|l| rows.value(l).iter().all(|v| *v > 0.0)).collect(),
        };
        data.wide = data.widened(&rows.value);
        data.wide_compare = data.widened(rows.comparisons());
        data.wide_size = data.widened(&rows.size);
        data
    }

    pub fn value(&self, l: usize) -> &[f64] {
        self.rows.value(l)
    }

    /// The values of row `l` as a wide row.
    pub fn wide(&self, l: usize) -> &[Lane] {
        &self.wide[l * self.width..][..self.width]
    }

    /// The comparisons of row `l` as a wide row.
    pub fn wide_compare(&self, l: usize) -> &[Lane] {
        &self.wide_compare[l * self.width..][..self.width]
    }

    /// Whether row `l` has a demand.
    pub fn is_capped(&self, l: usize) -> bool {
        self.rows.cap[l].is_finite()
    }

    pub fn usable(&self, i: usize, j: usize) -> bool {
        self.rows.value[i * self.k + j] > 0.0
    }

    /// Nothing is left in `row` of the types that row `i` cannot use.
    pub fn mask(&self, i: usize, row: &mut [f64]) {
        if !self.is_whole[i] {
            for (x, v) in row.iter_mut().zip(self.value(i)) {
                *x = if *v > 0.0 { *x } else { 0.0 };
            }
        }
    }

    /// Rows of `k` numbers as wide rows.
    pub fn widened(&self, rows: &[f64]) -> Vec<Lane> {
        let mut wide = vec![[0.0; LANES]; rows.len() / self.k * self.width];
        for (to, row) in wide.chunks_exact_mut(self.width).zip(rows.chunks_exact(self.k)) {
            to.as_flattened_mut()[..self.k].copy_from_slice(row);
        }
        wide
    }

    /// Wide rows as rows of `k` numbers.
    pub fn narrowed(&self, wide: &[Lane]) -> Vec<f64> {
        let rows = wide.chunks_exact(self.width);
        rows.flat_map(|row| row.as_flattened()[..self.k].iter().copied()).collect()
    }

    /// The wide rows from `first` on, side by side.
    pub fn side_by_side(&self, wide: &[Lane], first: usize, x: &mut [Lane]) {
        x.fill([0.0; LANES]);
        let rows = wide[first * self.width..].chunks_exact(self.width).take(LANES);
        for (t, row) in rows.enumerate() {
            for (x, value) in x.iter_mut().zip(row.as_flattened()) {
                x[t] = *value;
            }
        }
    }

    /// Takes rows side by side apart into the wide rows from `first` on.
    pub fn one_by_one(&self, x: &[Lane], first: usize, wide: &mut [Lane]) {
        let rows = wide[first * self.width..].chunks_exact_mut(self.width).take(LANES);
        for (t, row) in rows.enumerate() {
            for (x, value) in x.iter().zip(row.as_flattened_mut()) {
                *value = x[t];
            }
        }
    }
}
