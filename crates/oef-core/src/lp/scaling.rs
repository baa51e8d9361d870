//! Units for rows and columns in which the numbers of a program are of order one.
//!
//! The simplex method judges by absolute tolerances: what is rounding, what is feasible, what is a
//! pivot. With speedups between a millionth and a million they would mean nothing. Rows and columns
//! are multiplied by powers of two (so that nothing is rounded) until the entries of each, together
//! with its bounds, spread evenly around one.

use super::program::{Column, Program};

/// Passes over rows and columns; the spread hardly changes after a few.
const PASSES: usize = 6;

/// `a_ij -> row_i a_ij column_j`, `x_j = column_j x'_j`, the objective times `cost`.
#[derive(Clone, Debug)]
pub(super) struct Scaling {
    pub row: Vec<f64>,
    pub column: Vec<f64>,
    pub cost: f64,
}

impl Scaling {
    pub fn new(program: &Program) -> Self {
        let (rows, vars) = (program.rows(), program.vars());
        let mut scaling = Scaling { row: vec![1.0; rows], column: vec![1.0; vars], cost: 1.0 };
        let mut spread = vec![Spread::default(); rows];
        for &(row, a) in program.columns.iter().flatten() {
            spread[row].add(a);
        }
        for pass in 1..=PASSES {
            for (row, spread) in spread.iter_mut().enumerate() {
                spread.add_bounds(program.row_lower[row], program.row_upper[row]);
                scaling.row[row] = std::mem::take(spread).centre();
            }
            if pass < PASSES {
                scaling.centre_columns(program, &mut spread);
            }
        }
        scaling.cap_columns(program);
        let most =
            (0..vars).map(|v| (program.cost[v] * scaling.column[v]).abs()).fold(0.0, f64::max);
        scaling.cost = if most > 0.0 { power_of_two(1.0 / most) } else { 1.0 };
        scaling.row.iter_mut().for_each(|r| *r = power_of_two(*r));
        scaling
    }

    /// Every column to the geometric mean of its least and greatest entries and bounds; adds what that makes of the entries
    /// to the spread of the rows.
    fn centre_columns(&self, program: &Program, rows: &mut [Spread]) {
        for (v, column) in program.columns.iter().enumerate() {
            let mut spread = Spread::default();
            for &(row, a) in column {
                spread.add(a * self.row[row]);
            }
            // A bound is in units of the variable, entries in units of its reciprocal.
            for bound in [program.lower[v], program.upper[v]] {
                if bound != 0.0 && bound.is_finite() {
                    spread.add(1.0 / bound);
                }
            }
            let scale = spread.centre();
            column.iter().for_each(|&(row, a)| rows[row].add(a * scale));
        }
    }

    /// No entry of a column above one.
    fn cap_columns(&mut self, program: &Program) {
        for (v, column) in program.columns.iter().enumerate() {
            let entries = column.iter().map(|&(row, a)| (a * self.row[row]).abs());
            let most = entries.fold(0.0, f64::max);
            self.column[v] = if most > 0.0 { power_of_two(1.0 / most) } else { 1.0 };
        }
    }

    /// Makes `scaled` the program in these units.
    pub fn apply(&self, program: &Program, scaled: &mut Program) {
        let set = |to: &mut Vec<f64>, values: &[f64], by: &dyn Fn(usize) -> f64| {
            to.clear();
            to.extend(values.iter().enumerate().map(|(i, x)| x * by(i)));
        };
        set(&mut scaled.cost, &program.cost, &|v| self.column[v] * self.cost);
        set(&mut scaled.lower, &program.lower, &|v| 1.0 / self.column[v]);
        set(&mut scaled.upper, &program.upper, &|v| 1.0 / self.column[v]);
        set(&mut scaled.row_lower, &program.row_lower, &|row| self.row[row]);
        set(&mut scaled.row_upper, &program.row_upper, &|row| self.row[row]);
        scaled.columns.resize_with(program.vars(), Column::default);
        for (v, (to, column)) in scaled.columns.iter_mut().zip(&program.columns).enumerate() {
            to.clear();
            to.extend(column.iter().map(|&(row, a)| (row, a * self.row[row] * self.column[v])));
        }
    }
}

/// The least and the greatest size seen.
#[derive(Clone, Copy)]
struct Spread {
    least: f64,
    most: f64,
}

impl Default for Spread {
    fn default() -> Self {
        Spread { least: f64::INFINITY, most: 0.0 }
    }
}

impl Spread {
    fn add(&mut self, x: f64) {
        let size = x.abs();
        if size > 0.0 && size < f64::INFINITY {
            self.least = if size < self.least { size } else { self.least };
            self.most = if size > self.most { size } else { self.most };
        }
    }

    fn add_bounds(&mut self, lower: f64, upper: f64) {
        self.add(lower);
        self.add(upper);
    }

    /// The factor that centres what was seen around one.
    fn centre(&self) -> f64 {
        if self.most > 0.0 { 1.0 / (self.least.sqrt() * self.most.sqrt()) } else { 1.0 }
    }
}

/// The power of two next below a positive number.
fn power_of_two(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & 0x7ff0_0000_0000_0000).max(f64::MIN_POSITIVE)
}
