//! The row of a basic variable in terms of the nonbasic ones. Often that is few of them, and only they
//! are gone through.

use crate::lp::program::Program;

/// The entries (variable, coefficient) of a program by row, one row after another.
pub(super) struct Rows {
    start: Vec<usize>,
    entries: Vec<(usize, f64)>,
    vars: usize,
}

impl Rows {
    pub fn of(program: &Program) -> Self {
        let (rows, vars) = (program.rows(), program.vars());
        // The place behind the entries of the row before is counted up to the one behind its own.
        let mut start = vec![0; rows + 2];
        for &(row, _) in program.columns.iter().flatten() {
            start[row + 2] += 1;
        }
        for row in 0..rows {
            start[row + 2] += start[row + 1];
        }
        let mut entries = vec![(0, 0.0); start[rows + 1]];
        for (v, column) in program.columns.iter().enumerate() {
            for &(row, a) in column {
                entries[start[row + 1]] = (v, a);
                start[row + 1] += 1;
            }
        }
        Rows { start, entries, vars }
    }

    fn row(&self, row: usize) -> &[(usize, f64)] {
        &self.entries[self.start[row]..self.start[row + 1]]
    }
}

/// A combination of more than one in so many rows has nearly all variables.
const MANY: usize = 8;

/// A sparse row over all variables.
pub(super) struct Image {
    value: Vec<f64>,
    is_listed: Vec<bool>,
    listed: Vec<usize>,
}

impl Image {
    pub fn new(size: usize) -> Self {
        Image { value: vec![0.0; size], is_listed: vec![false; size], listed: Vec::new() }
    }

    /// The combination of the program's rows with these factors, without what is basic.
    pub fn set(&mut self, rows: &Rows, factors: &[f64], is_basic: impl Fn(usize) -> bool) {
        for v in self.listed.drain(..) {
            (self.value[v], self.is_listed[v]) = (0.0, false);
        }
        let used = factors.iter().enumerate().filter(|(_, u)| **u != 0.0);
        if MANY * used.clone().count() > factors.len() {
            for (row, &u) in used {
                self.value[rows.vars + row] = -u;
                rows.row(row).iter().for_each(|&(v, a)| self.value[v] += a * u);
            }
            self.listed.extend(0..self.value.len());
        } else {
            for (row, &u) in used {
                self.add(rows.vars + row, -u);
                rows.row(row).iter().for_each(|&(v, a)| self.add(v, a * u));
            }
        }
        let (value, is_listed) = (&mut self.value, &mut self.is_listed);
        self.listed.retain(|&v| {
            let stays = value[v] != 0.0 && !is_basic(v);
            if !stays {
                (value[v], is_listed[v]) = (0.0, false);
            }
            stays
        });
    }

    fn add(&mut self, v: usize, by: f64) {
        self.value[v] += by;
        if !std::mem::replace(&mut self.is_listed[v], true) {
            self.listed.push(v);
        }
    }

    /// The entry of a variable.
    pub fn of(&self, v: usize) -> f64 {
        self.value[v]
    }

    /// The variables with entries, in no order.
    pub fn entries(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.listed.iter().map(|&v| (v, self.value[v]))
    }
}
