//! The exact simplex: a dictionary of whole numbers over one common denominator.
//!
//! The program is `A x <= b`, `x >= 0` with `b >= 0`, so that `x = 0` is a first vertex and no first
//! phase is needed. A pivot keeps every entry whole (Edmonds; each entry is a determinant of the
//! data), so nothing is ever rounded and no fraction is ever reduced.

use crate::int::Int;
use std::cmp::Ordering;

/// A variable: first the columns of the program, then one slack per row, then what was added later.
pub(crate) type Variable = usize;

/// Degenerate pivots in a row after which Bland's rule takes over until there is progress. The steepest
/// reduced cost needs far fewer pivots, but only Bland's rule is sure to leave a degenerate vertex.
const STALL: usize = 12;

/// The current vertex: every basic variable in terms of the non-basic ones.
pub(crate) struct Tableau<I> {
    /// One row per basic variable, one entry per non-basic one, then the right-hand side.
    rows: Vec<Vec<I>>,
    basic: Vec<Variable>,
    free: Vec<Variable>,
    denominator: I,
    variables: usize,
}

impl<I: Int> Tableau<I> {
    /// The vertex `x = 0` of `A x <= b`; each row is its coefficients and then its right-hand side.
    pub(crate) fn new(rows: Vec<Vec<I>>, columns: usize, one: I) -> Self {
        debug_assert!(rows.iter().all(|r| r.len() == columns + 1));
        debug_assert!(rows.iter().all(|r| r[columns].sign() != Ordering::Less));
        let basic = (columns..columns + rows.len()).collect();
        let variables = columns + rows.len();
        Tableau { rows, basic, free: (0..columns).collect(), denominator: one, variables }
    }

    /// Moves to a vertex where the sum of `objective` is greatest, and removes, if `fix` is set, all
    /// that is not optimal: from then on only the optimal face is left. `None`: an overflow.
    pub(crate) fn maximise(&mut self, objective: &[(Variable, I)], fix: bool) -> Option<()> {
        let mut cost = self.reduced_costs(objective)?;
        let mut stalled = 0;
        while let Some(entering) = self.entering(&cost, stalled >= STALL) {
            let leaving = self.leaving(entering)?.expect("capacities bound every program here");
            let width = self.free.len();
            let moves = self.rows[leaving][width].sign() == Ordering::Greater;
            stalled = if moves { 0 } else { stalled + 1 };
            self.pivot(leaving, entering, &mut cost)?;
        }
        if fix {
            let keep = |c: &I| c.sign() == Ordering::Equal;
            let kept: Vec<bool> = cost.iter().take(self.free.len()).map(keep).collect();
            self.keep_columns(&kept);
        }
        Some(())
    }

    /// Adds a variable that stands for so much of each of `parts` together: its unit raises all of
    /// them, and what they hold beyond it stays in their own variables.
    pub(crate) fn add_common(&mut self, parts: &[(Variable, I)], zero: &I) -> Option<Variable> {
        let width = self.free.len();
        let mut column = vec![zero.clone(); self.rows.len()];
        for (variable, factor) in parts {
            if let Some(j) = self.free.iter().position(|v| v == variable) {
                for (entry, row) in column.iter_mut().zip(&self.rows) {
                    *entry = I::mul_add(factor, &row[j], entry)?;
                }
            } else if let Some(i) = self.basic.iter().position(|v| v == variable) {
                column[i] = I::mul_add(factor, &self.denominator, &column[i])?;
            }
        }
        for (row, entry) in self.rows.iter_mut().zip(column) {
            row.insert(width, entry);
        }
        self.free.push(self.variables);
        self.variables += 1;
        Some(self.variables - 1)
    }

    /// The value of a variable at the current vertex, over [`Tableau::denominator`]; `None` for zero.
    pub(crate) fn value(&self, variable: Variable) -> Option<&I> {
        let i = self.basic.iter().position(|&v| v == variable)?;
        self.rows[i].last()
    }

    /// What every value is to be divided by; greater than zero.
    pub(crate) fn denominator(&self) -> &I {
        &self.denominator
    }

    /// What a unit of each non-basic variable costs, then the current value, all over the denominator.
    fn reduced_costs(&self, objective: &[(Variable, I)]) -> Option<Vec<I>> {
        let mut cost = vec![I::from_big(&0.into())?; self.free.len() + 1];
        for (variable, c) in objective {
            if let Some(i) = self.basic.iter().position(|v| v == variable) {
                for (sum, entry) in cost.iter_mut().zip(&self.rows[i]) {
                    *sum = I::mul_add(c, entry, sum)?;
                }
            } else if let Some(j) = self.free.iter().position(|v| v == variable) {
                cost[j] = I::mul_add(&c.negated(), &self.denominator, &cost[j])?;
            }
        }
        Some(cost)
    }

    fn entering(&self, cost: &[I], bland: bool) -> Option<usize> {
        let negative = (0..self.free.len()).filter(|&j| cost[j].sign() == Ordering::Less);
        if bland {
            negative.min_by_key(|&j| self.free[j])
        } else {
            negative.min_by(|&a, &b| cost[a].compare(&cost[b]).then(a.cmp(&b)))
        }
    }

    /// The basic variable that reaches zero first; among several the one with the least number, as
    /// Bland's rule wants it. Outer `None`: an overflow.
    fn leaving(&self, entering: usize) -> Option<Option<usize>> {
        let width = self.free.len();
        let mut best: Option<usize> = None;
        for (i, row) in self.rows.iter().enumerate() {
            if row[entering].sign() != Ordering::Greater {
                continue;
            }
            let Some(b) = best else {
                best = Some(i);
                continue;
            };
            let other = &self.rows[b];
            let order =
                I::compare_products(&row[width], &other[entering], &other[width], &row[entering])?;
            if order.then(self.basic[i].cmp(&self.basic[b])) == Ordering::Less {
                best = Some(i);
            }
        }
        Some(best)
    }

    fn pivot(&mut self, leaving: usize, entering: usize, cost: &mut [I]) -> Option<()> {
        let pivot_row = self.rows[leaving].clone();
        let pivot = &pivot_row[entering];
        let eliminate = |row: &mut [I]| {
            let factor = row[entering].clone();
            for (j, entry) in row.iter_mut().enumerate() {
                if j == entering {
                    *entry = factor.negated();
                } else {
                    *entry = I::cross(entry, pivot, &factor, &pivot_row[j], &self.denominator)?;
                }
            }
            Some(())
        };
        for (i, row) in self.rows.iter_mut().enumerate() {
            if i != leaving {
                eliminate(row)?;
            }
        }
        eliminate(cost)?;
        self.rows[leaving][entering] = std::mem::replace(&mut self.denominator, pivot.clone());
        std::mem::swap(&mut self.basic[leaving], &mut self.free[entering]);
        Some(())
    }

    fn keep_columns(&mut self, kept: &[bool]) {
        for row in &mut self.rows {
            let mut column = 0;
            row.retain(|_| {
                column += 1;
                *kept.get(column - 1).unwrap_or(&true)
            });
        }
        let mut column = 0;
        self.free.retain(|_| {
            column += 1;
            kept[column - 1]
        });
    }
}
