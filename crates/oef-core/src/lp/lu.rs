//! Sparse LU factors of a basis matrix.
//!
//! Left-looking (Gilbert and Peierls): column after column is solved against the factors so far, and
//! pivots on a row that is large enough for stability and, among those, sparse. Columns come in an
//! order that peels singletons first, which makes the bases of our programs nearly triangular.

/// Entries below this are noise of cancellation, given columns scaled to order one.
const DROP: f64 = 1e-16;
/// A column whose largest remaining entry is below this depends on the columns before it.
const SINGULAR: f64 = 1e-13;
/// A pivot may be this much smaller than the largest entry of its column if its row is sparser.
const THRESHOLD: f64 = 0.1;

/// `B = L U` up to permutations of rows and columns.
#[derive(Clone, Debug, Default)]
pub(super) struct Lu {
    /// Per step: the row that was pivoted.
    pivot_row: Vec<usize>,
    /// Per step: the basis position (column) that was pivoted.
    pivot_col: Vec<usize>,
    diagonal: Vec<f64>,
    lower: Columns,
    upper: Columns,
    /// Scratch in the order of the steps.
    steps: Vec<f64>,
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
}

/// What a factorisation could not use: columns that depend on others, and rows left without a pivot.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Deficiency {
    pub columns: Vec<usize>,
    pub rows: Vec<usize>,
}

impl Lu {
    /// Factors the matrix with the given sparse columns over `rows` rows. Where columns depend on
    /// each other, those that come first in `rank` order win, and the rest is reported.
    pub fn factor(&mut self, rows: usize, columns: &[&[(usize, f64)]]) -> Deficiency {
        self.clear();
        let mut work = Work::new(rows, columns);
        let mut deficiency = Deficiency::default();
        for c in peel(rows, columns) {
            self.eliminate(&mut work, columns[c]);
            match work.choose_pivot() {
                Some(row) => self.store(&mut work, row, c),
                None => {
                    deficiency.columns.push(c);
                    work.reset();
                }
            }
        }
        deficiency.rows = (0..rows).filter(|&r| work.step_of_row[r] == usize::MAX).collect();
        self.steps = vec![0.0; self.pivot_row.len()];
        deficiency
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
        for s in 0..n {
            let mut sum = v[self.pivot_col[s]];
            for &(t, u) in self.upper.column(s) {
                sum -= u * self.steps[t];
            }
            self.steps[s] = sum / self.diagonal[s];
        }
        for s in (0..n).rev() {
            let mut sum = self.steps[s];
            for &(row, l) in self.lower.column(s) {
                sum -= l * v[row];
            }
            v[self.pivot_row[s]] = sum;
        }
    }

    fn clear(&mut self) {
        self.pivot_row.clear();
        self.pivot_col.clear();
        self.diagonal.clear();
        self.lower.clear();
        self.upper.clear();
    }

    /// Solves the column against the factors so far, leaving it in `work`.
    fn eliminate(&mut self, work: &mut Work, column: &[(usize, f64)]) {
        work.find_reach(column, &self.lower);
        for &(row, a) in column {
            work.value[row] += a;
        }
        for i in (0..work.reach.len()).rev() {
            let row = work.reach[i];
            let step = work.step_of_row[row];
            let pivot = work.value[row];
            if step != usize::MAX && pivot != 0.0 {
                for &(below, l) in self.lower.column(step) {
                    work.value[below] -= l * pivot;
                }
            }
        }
    }

    fn store(&mut self, work: &mut Work, row: usize, position: usize) {
        let pivot = work.value[row];
        for &r in &work.reach {
            let v = work.value[r];
            let step = work.step_of_row[r];
            if r == row || v.abs() <= DROP {
                continue;
            }
            if step != usize::MAX {
                self.upper.entries.push((step, v));
            } else {
                self.lower.entries.push((r, v / pivot));
            }
        }
        self.lower.close();
        self.upper.close();
        work.step_of_row[row] = self.pivot_row.len();
        self.pivot_row.push(row);
        self.pivot_col.push(position);
        self.diagonal.push(pivot);
        work.reset();
    }
}

/// The working column and what is known of the rows.
struct Work {
    value: Vec<f64>,
    step_of_row: Vec<usize>,
    row_count: Vec<usize>,
    /// Rows that the working column may touch, in reverse topological order.
    reach: Vec<usize>,
    marked: Vec<bool>,
    stack: Vec<(usize, usize)>,
}

impl Work {
    fn new(rows: usize, columns: &[&[(usize, f64)]]) -> Self {
        let mut row_count = vec![0; rows];
        for &(row, _) in columns.iter().copied().flatten() {
            row_count[row] += 1;
        }
        Work {
            value: vec![0.0; rows],
            step_of_row: vec![usize::MAX; rows],
            row_count,
            reach: Vec::new(),
            marked: vec![false; rows],
            stack: Vec::new(),
        }
    }

    fn find_reach(&mut self, column: &[(usize, f64)], lower: &Columns) {
        for &(start, _) in column {
            if self.marked[start] {
                continue;
            }
            self.marked[start] = true;
            self.stack.push((start, 0));
            while let Some((row, next)) = self.stack.pop() {
                let step = self.step_of_row[row];
                let below = if step == usize::MAX { &[] } else { lower.column(step) };
                match below[next..].iter().position(|&(r, _)| !self.marked[r]) {
                    Some(skip) => {
                        let child = below[next + skip].0;
                        self.stack.push((row, next + skip + 1));
                        self.marked[child] = true;
                        self.stack.push((child, 0));
                    }
                    None => self.reach.push(row),
                }
            }
        }
    }

    fn choose_pivot(&self) -> Option<usize> {
        let open = || self.reach.iter().copied().filter(|&r| self.step_of_row[r] == usize::MAX);
        let largest = open().map(|r| self.value[r].abs()).fold(0.0, f64::max);
        if largest < SINGULAR {
            return None;
        }
        open()
            .filter(|&r| self.value[r].abs() >= THRESHOLD * largest)
            .min_by_key(|&r| (self.row_count[r], r))
    }

    fn reset(&mut self) {
        for &r in &self.reach {
            self.value[r] = 0.0;
            self.marked[r] = false;
        }
        self.reach.clear();
    }
}

/// An order of the columns in which singletons (of columns, then of rows) come first, the rest by
/// count; it keeps fill-in small.
fn peel(rows: usize, columns: &[&[(usize, f64)]]) -> Vec<usize> {
    let mut by_row: Vec<Vec<usize>> = vec![Vec::new(); rows];
    for (c, column) in columns.iter().enumerate() {
        for &(row, _) in *column {
            by_row[row].push(c);
        }
    }
    let mut count: Vec<usize> = columns.iter().map(|c| c.len()).collect();
    let mut row_done = vec![false; rows];
    let mut placed = vec![false; columns.len()];
    let mut order = Vec::with_capacity(columns.len());
    let mut queue: Vec<usize> = (0..columns.len()).rev().filter(|&c| count[c] == 1).collect();
    while let Some(c) = queue.pop() {
        if placed[c] || count[c] != 1 {
            continue;
        }
        placed[c] = true;
        order.push(c);
        let Some(&(row, _)) = columns[c].iter().find(|&&(r, _)| !row_done[r]) else { continue };
        row_done[row] = true;
        for &other in &by_row[row] {
            count[other] -= 1;
            if count[other] == 1 && !placed[other] {
                queue.push(other);
            }
        }
    }
    let mut rest: Vec<usize> = (0..columns.len()).filter(|&c| !placed[c]).collect();
    rest.sort_by_key(|&c| (count[c], c));
    order.extend(rest);
    order
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

    #[test]
    fn names_dependent_columns_and_bare_rows() {
        let columns: [&[(usize, f64)]; 3] =
            [&[(0, 1.0), (1, 2.0)], &[(0, 2.0), (1, 4.0)], &[(0, 1.0)]];
        let deficiency = Lu::default().factor(3, &columns);
        assert_eq!(deficiency.columns.len(), 1);
        assert_eq!(deficiency.rows, vec![2]);
    }
}
