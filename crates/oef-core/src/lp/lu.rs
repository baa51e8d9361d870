//! Sparse LU factors of a basis matrix.
//!
//! Columns with one entry left are taken out first, which makes the bases of our programs nearly
//! triangular; what remains is the [`Nucleus`].

use super::nucleus::{Nucleus, empty};

/// Entries below this are noise of cancellation, given columns scaled to order one.
const DROP: f64 = 1e-16;
/// A column whose largest remaining entry is below this depends on the columns before it.
const SINGULAR: f64 = 1e-13;

/// `B = L U` up to permutations of rows and columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lu {
    /// Per step: the row that was pivoted.
    pivot_row: Vec<usize>,
    /// Per step: the basis position (column) that was pivoted.
    pivot_col: Vec<usize>,
    diagonal: Vec<f64>,
    lower: Columns,
    upper: Columns,
    /// The same by steps, transposed: what solves with the transpose go through, so that they pass
    /// over zeros, too.
    lower_rows: Columns,
    upper_rows: Columns,
    /// Scratch in the order of the steps.
    steps: Vec<f64>,
    nucleus: Nucleus,
    /// Scratch: what the nucleus' columns have in rows that are eliminated.
    above: Vec<Vec<(usize, f64)>>,
}

/// Sparse columns one after another in one piece of memory.
#[derive(Clone, Debug, Default)]
struct Columns {
    start: Vec<usize>,
    entries: Vec<(usize, f64)>,
}

impl Columns {
    fn clear(&mut self) {
        self.start.clear();
        self.start.push(0);
        self.entries.clear();
    }

    fn close(&mut self) {
        self.start.push(self.entries.len());
    }

    fn column(&self, c: usize) -> &[(usize, f64)] {
        &self.entries[self.start[c]..self.start[c + 1]]
    }

    /// The transpose of other columns over so many rows.
    fn transpose(&mut self, rows: usize, of: &Columns) {
        let count = of.start.len() - 1;
        self.gather(rows, (0..count).map(|c| of.column(c)));
    }

    /// The entries of columns by row.
    fn gather<'a>(
        &mut self,
        rows: usize,
        columns: impl Iterator<Item = &'a [(usize, f64)]> + Clone,
    ) {
        // The place behind the entries of the row before is counted up to the one behind its own.
        let start = &mut self.start;
        start.clear();
        start.resize(rows + 2, 0);
        for &(row, _) in columns.clone().flatten() {
            start[row + 2] += 1;
        }
        for row in 0..rows {
            start[row + 2] += start[row + 1];
        }
        self.entries.clear();
        self.entries.resize(start[rows + 1], (0, 0.0));
        for (c, column) in columns.enumerate() {
            for &(row, a) in column {
                self.entries[start[row + 1]] = (c, a);
                start[row + 1] += 1;
            }
        }
        start.pop();
    }
}

/// What a factorisation could not use: columns that depend on others, and rows left without a pivot.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Deficiency {
    pub columns: Vec<usize>,
    pub rows: Vec<usize>,
}

impl Lu {
    /// Factors the matrix with the given sparse columns over `rows` rows. Columns that depend on others
    /// are left out and reported.
    pub fn factor(&mut self, rows: usize, columns: &[&[(usize, f64)]]) -> Deficiency {
        #[cfg(test)]
        crate::linalg::work::count();
        self.clear();
        let mut step_of_row = vec![usize::MAX; rows];
        let Peeled { order, rest } = peel(rows, columns);
        for (c, pivot_row) in order {
            let mut pivot = 0.0;
            for &(row, a) in columns[c] {
                if row == pivot_row {
                    pivot += a;
                } else {
                    self.upper.entries.push((step_of_row[row], a));
                }
            }
            step_of_row[pivot_row] = self.pivot_row.len();
            self.close(pivot_row, c, pivot);
        }
        let left_out = self.factor_nucleus(columns, &rest, &mut step_of_row);
        self.steps = vec![0.0; self.pivot_row.len()];
        self.lower_rows.transpose(rows, &self.lower);
        self.upper_rows.transpose(self.pivot_row.len(), &self.upper);
        let bare = (0..rows).filter(|&r| step_of_row[r] == usize::MAX);
        Deficiency { columns: left_out, rows: bare.collect() }
    }

    /// Factors the columns that could not be peeled; returns those that depend on others.
    fn factor_nucleus(
        &mut self,
        columns: &[&[(usize, f64)]],
        rest: &[usize],
        step_of_row: &mut [usize],
    ) -> Vec<usize> {
        let open: Vec<usize> =
            (0..step_of_row.len()).filter(|&r| step_of_row[r] == usize::MAX).collect();
        let mut place = vec![0; step_of_row.len()];
        open.iter().enumerate().for_each(|(at, &r)| place[r] = at);
        let mut nucleus = std::mem::take(&mut self.nucleus);
        nucleus.reset(open.len(), rest.len(), SINGULAR);
        let above = &mut self.above;
        empty(above, rest.len());
        for (at, &c) in rest.iter().enumerate() {
            for &(row, a) in columns[c] {
                match step_of_row[row] {
                    usize::MAX => nucleus.add(place[row], at, a),
                    step => above[at].push((step, a)),
                }
            }
        }
        let mut left_out = vec![true; rest.len()];
        while let Some(step) = nucleus.next() {
            left_out[step.column] = false;
            let at = self.pivot_row.len();
            self.upper.entries.append(&mut self.above[step.column]);
            let below = step.below.iter().filter(|e| e.1.abs() > DROP);
            self.lower.entries.extend(below.map(|&(r, l)| (open[r], l)));
            for &(c, u) in step.beside.iter().filter(|e| e.1.abs() > DROP) {
                self.above[c].push((at, u));
            }
            let (row, column, pivot) = (open[step.row], rest[step.column], step.pivot);
            step_of_row[row] = at;
            self.close(row, column, pivot);
        }
        self.nucleus = nucleus;
        (0..rest.len()).filter(|&at| left_out[at]).map(|at| rest[at]).collect()
    }

    /// Moves the columns to other positions, and gives every bare row (row, position) a column that has
    /// only this entry there.
    pub fn complete(&mut self, position: &[Option<usize>], bare: &[(usize, usize)], entry: f64) {
        for c in &mut self.pivot_col {
            *c = position[*c].unwrap_or(*c);
        }
        for &(row, position) in bare {
            self.close(row, position, entry);
            self.upper_rows.close();
        }
        self.steps = vec![0.0; self.pivot_row.len()];
    }

    /// Ends the step whose entries have been written.
    fn close(&mut self, row: usize, position: usize, pivot: f64) {
        self.lower.close();
        self.upper.close();
        self.pivot_row.push(row);
        self.pivot_col.push(position);
        self.diagonal.push(pivot);
    }

    /// The least pivot.
    pub fn least_pivot(&self) -> f64 {
        self.diagonal.iter().fold(f64::INFINITY, |m, d| m.min(d.abs()))
    }

    /// Solves `B x = a`: `a` by row on entry, `x` by basis position on exit.
    pub fn ftran(&mut self, v: &mut [f64]) {
        let n = self.pivot_row.len();
        for s in 0..n {
            let pivot = v[self.pivot_row[s]];
            if pivot != 0.0 {
                for &(row, l) in self.lower.column(s) {
                    v[row] -= l * pivot;
                }
            }
            self.steps[s] = pivot;
        }
        for s in (0..n).rev() {
            if self.steps[s] != 0.0 {
                let x = self.steps[s] / self.diagonal[s];
                self.steps[s] = x;
                for &(t, u) in self.upper.column(s) {
                    self.steps[t] -= u * x;
                }
            }
        }
        for s in 0..n {
            v[self.pivot_col[s]] = self.steps[s];
        }
    }

    /// Solves `B' y = c`: `c` by basis position on entry, `y` by row on exit.
    pub fn btran(&mut self, v: &mut [f64]) {
        let n = self.pivot_row.len();
        for (step, &position) in self.steps.iter_mut().zip(&self.pivot_col) {
            *step = v[position];
        }
        for s in 0..n {
            if self.steps[s] != 0.0 {
                let x = self.steps[s] / self.diagonal[s];
                self.steps[s] = x;
                for &(t, u) in self.upper_rows.column(s) {
                    self.steps[t] -= u * x;
                }
            }
        }
        for s in (0..n).rev() {
            let (row, x) = (self.pivot_row[s], self.steps[s]);
            v[row] = x;
            if x != 0.0 {
                for &(t, l) in self.lower_rows.column(row) {
                    self.steps[t] -= l * x;
                }
            }
        }
    }

    fn clear(&mut self) {
        self.pivot_row.clear();
        self.pivot_col.clear();
        self.diagonal.clear();
        self.lower.clear();
        self.upper.clear();
    }
}

/// What is left when columns with a single entry have been taken out, one after another.
struct Peeled {
    /// (column, row) in the order in which they go.
    order: Vec<(usize, usize)>,
    /// The columns that are left.
    rest: Vec<usize>,
}

fn peel(rows: usize, columns: &[&[(usize, f64)]]) -> Peeled {
    let mut by_row = Columns::default();
    by_row.gather(rows, columns.iter().copied());
    let mut count: Vec<usize> = columns.iter().map(|c| c.len()).collect();
    let mut row_done = vec![false; rows];
    let mut placed = vec![false; columns.len()];
    let mut order = Vec::with_capacity(columns.len());
    let mut queue: Vec<usize> = (0..columns.len()).rev().filter(|&c| count[c] == 1).collect();
    while let Some(c) = queue.pop() {
        let open = columns[c].iter().find(|e| !row_done[e.0] && e.1.abs() >= SINGULAR);
        let Some(&(row, _)) = open.filter(|_| !placed[c] && count[c] == 1) else { continue };
        placed[c] = true;
        order.push((c, row));
        row_done[row] = true;
        for &(other, _) in by_row.column(row) {
            count[other] -= 1;
            if count[other] == 1 && !placed[other] {
                queue.push(other);
            }
        }
    }
    let rest = (0..columns.len()).filter(|&c| !placed[c]).collect();
    Peeled { order, rest }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense(n: usize, seed: u64, fill: f64) -> Vec<Vec<(usize, f64)>> {
        let mut state = seed;
        let mut next = move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        (0..n)
            .map(|c| {
                let mut column: Vec<(usize, f64)> = Vec::new();
                for r in 0..n {
                    if r == c || next() < fill {
                        column.push((r, next() - 0.5 + if r == c { 1.0 } else { 0.0 }));
                    }
                }
                column
            })
            .collect()
    }

    #[test]
    fn solves_both_ways() {
        for (n, fill) in [(1, 0.0), (5, 0.5), (30, 0.1), (60, 0.05), (40, 0.9)] {
            let columns = dense(n, n as u64, fill);
            let refs: Vec<&[(usize, f64)]> = columns.iter().map(Vec::as_slice).collect();
            let mut lu = Lu::default();
            assert_eq!(lu.factor(n, &refs), Deficiency::default());
            let x: Vec<f64> = (0..n).map(|i| 1.0 + i as f64).collect();
            let mut a = vec![0.0; n];
            for (c, column) in columns.iter().enumerate() {
                for &(r, v) in column {
                    a[r] += v * x[c];
                }
            }
            lu.ftran(&mut a);
            assert!(a.iter().zip(&x).all(|(p, q)| (p - q).abs() < 1e-9), "ftran {n}");
            let mut c: Vec<f64> =
                columns.iter().map(|col| col.iter().map(|&(r, v)| v * x[r]).sum()).collect();
            lu.btran(&mut c);
            assert!(c.iter().zip(&x).all(|(p, q)| (p - q).abs() < 1e-9), "btran {n}");
        }
    }

    /// The full column and row of an arrow must come last, or everything fills in.
    #[test]
    fn an_arrow_does_not_fill_in() {
        let size = 40;
        let mut columns: Vec<Vec<(usize, f64)>> =
            (1..size).map(|c| vec![(0, 1.0), (c, 2.0), (c % (size - 1) + 1, 0.5)]).collect();
        columns.insert(0, (0..size).map(|r| (r, 1.0)).collect());
        let refs: Vec<&[(usize, f64)]> = columns.iter().map(Vec::as_slice).collect();
        let mut lu = Lu::default();
        assert_eq!(lu.factor(size, &refs), Deficiency::default());
        let entries = lu.lower.entries.len() + lu.upper.entries.len();
        assert!(entries < 6 * size, "{entries} entries");
    }

    #[test]
    fn entries_of_one_place_add_up() {
        let columns: [&[(usize, f64)]; 2] =
            [&[(0, 1.0), (0, 1.0), (1, 1.0)], &[(0, 1.0), (1, 3.0)]];
        let mut lu = Lu::default();
        assert_eq!(lu.factor(2, &columns), Deficiency::default());
        let mut x = vec![4.0, 7.0];
        lu.ftran(&mut x);
        assert!((x[0] - 1.0).abs() < 1e-15 && (x[1] - 2.0).abs() < 1e-15, "{x:?}");
    }

    #[test]
    fn names_dependent_columns_and_bare_rows() {
        let columns: [&[(usize, f64)]; 3] =
            [&[(0, 1.0), (1, 2.0)], &[(0, 2.0), (1, 4.0)], &[(0, 1.0)]];
        let deficiency = Lu::default().factor(3, &columns);
        assert_eq!(deficiency.columns.len(), 1);
        assert_eq!(deficiency.rows, vec![2]);
    }
}
