//! Units for rows and columns in which the numbers of a program are of order one.
//!
//! The simplex method judges by absolute tolerances: what is rounding, what is feasible, what is a
//! pivot. With speedups between a millionth and a million they would mean nothing. Rows and columns
//! are multiplied by powers of two (so that nothing is rounded) until the entries of each, together
//! with its bounds, spread evenly around one.

use super::program::Program;

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
        for _ in 0..PASSES {
            scaling.centre_rows(program);
            scaling.centre_columns(program);
        }
        scaling.cap_columns(program);
        let most =
            (0..vars).map(|v| (program.cost[v] * scaling.column[v]).abs()).fold(0.0, f64::max);
        scaling.cost = if most > 0.0 { power_of_two(1.0 / most) } else { 1.0 };
        scaling.row.iter_mut().for_each(|r| *r = power_of_two(*r));
        scaling
    }

    /// Every row to the geometric mean of its least and greatest entries and bounds.
    fn centre_rows(&mut self, program: &Program) {
        let mut spread = vec![Spread::default(); program.rows()];
        for (column, scale) in program.columns.iter().zip(&self.column) {
            for &(row, a) in column {
                spread[row].add(a * scale);
            }
        }
        for (row, spread) in spread.iter_mut().enumerate() {
            spread.add_bounds(program.row_lower[row], program.row_upper[row]);
            self.row[row] = spread.centre();
        }
    }

    fn centre_columns(&mut self, program: &Program) {
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
            self.column[v] = spread.centre();
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

    /// The program in these units.
    pub fn apply(&self, program: &Program) -> Program {
        let scaled = |values: &[f64], by: &dyn Fn(usize) -> f64| {
            values.iter().enumerate().map(|(i, x)| x * by(i)).collect::<Vec<f64>>()
        };
        let columns = program.columns.iter().zip(&self.column).map(|(column, scale)| {
            column.iter().map(|&(row, a)| (row, a * self.row[row] * scale)).collect()
        });
        Program {
            cost: scaled(&program.cost, &|v| self.column[v] * self.cost),
            lower: scaled(&program.lower, &|v| 1.0 / self.column[v]),
            upper: scaled(&program.upper, &|v| 1.0 / self.column[v]),
            columns: columns.collect(),
            row_lower: scaled(&program.row_lower, &|row| self.row[row]),
            row_upper: scaled(&program.row_upper, &|row| self.row[row]),
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
        if x != 0.0 && x.is_finite() {
            self.least = self.least.min(x.abs());
            self.most = self.most.max(x.abs());
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
