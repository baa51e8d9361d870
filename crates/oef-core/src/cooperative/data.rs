//! The program's numbers, laid out for the interior point.

use super::lanes::{LANES, Lane};
use super::rows::Rows;

/// Program data in units of order one: capacities are `n`, weights and worths of order one.
pub(super) struct Data<'a> {
    pub rows: &'a Rows,
    pub n: usize,
    pub k: usize,
    pub weight: Vec<f64>,
    pub worth: Vec<f64>,
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
        let size = rows.n as f64;
        let mut data = Data {
            rows,
            n: rows.n,
            k: rows.k,
            weight: rows.weight.iter().map(|w| w * size).collect(),
            worth: rows.worth.iter().map(|w| w * size).collect(),
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
