//! The part of a basis that is left when columns with a single entry have been taken out.
//!
//! It is small, but eliminated in a bad order it fills in many times over. So it is eliminated from the
//! right, and the next pivot is one that can make few new entries (Markowitz), among those that
//! are not small beside their row.

/// A pivot may be this much smaller than the largest entry of its row.
const THRESHOLD: f64 = 0.1;

/// Sparse rows that change as pivots are eliminated, with the pattern of the columns beside them.
pub(super) struct Nucleus {
    /// Entries (column, value) of each row, only of columns that are left.
    rows: Vec<Vec<(usize, f64)>>,
    /// Rows of each column; some of them may have been eliminated.
    columns: Vec<Vec<usize>>,
    /// Entries of each column in rows that are left, and of each row.
    column_count: Counts,
    row_count: Counts,
    /// Scratch: where the pivot row has each column, and which of its entries a row has met.
    place: Vec<usize>,
    met: Vec<bool>,
    /// Entries smaller than this are no pivots.
    least: f64,
}

/// The count of a row or column that is out of the game.
const DONE: usize = usize::MAX;
/// No entry here.
const NONE: usize = usize::MAX;

/// A pivot, what its column had below it (relative to the pivot), and its row beside it.
pub(super) struct Step {
    pub row: usize,
    pub column: usize,
    pub pivot: f64,
    pub below: Vec<(usize, f64)>,
    pub beside: Vec<(usize, f64)>,
}

impl Nucleus {
    /// An empty one; entries smaller than `least` will be no pivots.
    pub fn new(rows: usize, columns: usize, least: f64) -> Self {
        Nucleus {
            rows: vec![Vec::new(); rows],
            columns: vec![Vec::new(); columns],
            column_count: Counts::new(columns),
            row_count: Counts::new(rows),
            place: vec![NONE; columns],
            met: Vec::new(),
            least,
        }
    }

    /// Adds an entry; those of a column come together.
    pub fn add(&mut self, row: usize, column: usize, value: f64) {
        match self.rows[row].last_mut() {
            Some((last, sum)) if *last == column => *sum += value,
            _ => {
                self.rows[row].push((column, value));
                self.columns[column].push(row);
                self.column_count.set(column, self.column_count.of[column] + 1);
                self.row_count.set(row, self.row_count.of[row] + 1);
            }
        }
    }

    /// Eliminates the next pivot; `None` when there is none left.
    pub fn next(&mut self) -> Option<Step> {
        loop {
            let row = self.row_count.fewest()?;
            let best = match self.best_in_column() {
                Some(best @ (0, ..)) => Some(best),
                best => best.into_iter().chain(self.best_in_row(row)).min(),
            };
            match best {
                Some((_, row, column)) => return Some(self.eliminate(row, column)),
                None => self.give_up(row),
            }
        }
    }

    /// The best pivot in a column with the fewest entries: (new entries at most, row, column).
    fn best_in_column(&mut self) -> Option<(usize, usize, usize)> {
        let c = self.column_count.fewest()?;
        let left = self.columns[c].iter().copied().filter(|&r| self.row_count.of[r] != DONE);
        let fits = left.filter(|&r| {
            let of_row = self.rows[r].iter();
            let value = of_row.clone().find(|e| e.0 == c).map_or(0.0, |e| e.1.abs());
            let alone = self.column_count.of[c] == 1 || self.rows[r].len() == 1;
            let most = || of_row.map(|e| e.1.abs()).fold(0.0, f64::max);
            value >= self.least && (alone || value >= THRESHOLD * most())
        });
        fits.map(|r| (self.fill(r, c), r, c)).min()
    }

    /// The same in a row.
    fn best_in_row(&self, r: usize) -> Option<(usize, usize, usize)> {
        let row = &self.rows[r];
        let most = row.iter().map(|e| e.1.abs()).fold(0.0, f64::max);
        let enough = (THRESHOLD * most).max(self.least);
        row.iter().filter(|e| e.1.abs() >= enough).map(|e| (self.fill(r, e.0), r, e.0)).min()
    }

    fn fill(&self, row: usize, column: usize) -> usize {
        (self.row_count.of[row] - 1) * (self.column_count.of[column] - 1)
    }

    /// A row with nothing but rounding in it.
    fn give_up(&mut self, row: usize) {
        self.row_count.of[row] = DONE;
        for (c, _) in std::mem::take(&mut self.rows[row]) {
            self.column_count.set(c, self.column_count.of[c] - 1);
        }
    }

    fn eliminate(&mut self, row: usize, column: usize) -> Step {
        let mut beside = std::mem::take(&mut self.rows[row]);
        let at = beside.iter().position(|e| e.0 == column).unwrap_or(0);
        let (_, pivot) = beside.swap_remove(at);
        (self.row_count.of[row], self.column_count.of[column]) = (DONE, DONE);
        for (at, &(c, _)) in beside.iter().enumerate() {
            self.place[c] = at;
            self.column_count.of[c] -= 1;
        }
        let mut below = Vec::new();
        for r in std::mem::take(&mut self.columns[column]) {
            if self.row_count.of[r] != DONE {
                below.push((r, self.subtract(r, column, pivot, &beside)));
            }
        }
        for &(c, _) in &beside {
            self.place[c] = NONE;
            self.column_count.set(c, self.column_count.of[c]);
        }
        Step { row, column, pivot, below, beside }
    }

    /// Takes a multiple of the pivot row from a row, so that its entry in the pivot's column goes;
    /// returns the multiple.
    fn subtract(&mut self, r: usize, column: usize, pivot: f64, beside: &[(usize, f64)]) -> f64 {
        let row = &mut self.rows[r];
        let at = row.iter().position(|e| e.0 == column).unwrap_or(0);
        let factor = row.swap_remove(at).1 / pivot;
        if !beside.is_empty() {
            self.met.clear();
            self.met.resize(beside.len(), false);
            for (c, value) in row.iter_mut() {
                let at = self.place[*c];
                if at != NONE {
                    *value -= factor * beside[at].1;
                    self.met[at] = true;
                }
            }
            for (&(c, value), _) in beside.iter().zip(&self.met).filter(|(_, met)| !**met) {
                row.push((c, -factor * value));
                self.columns[c].push(r);
                self.column_count.of[c] += 1;
            }
        }
        let count = row.len();
        self.row_count.set(r, count);
        factor
    }
}

/// Counts, and the least of them at hand.
struct Counts {
    of: Vec<usize>,
    /// What had each count at some time: it may have another one by now.
    with: Vec<Vec<usize>>,
}

impl Counts {
    fn new(size: usize) -> Self {
        Counts { of: vec![0; size], with: Vec::new() }
    }

    fn set(&mut self, which: usize, count: usize) {
        self.of[which] = count;
        if self.with.len() <= count {
            self.with.resize(count + 1, Vec::new());
        }
        self.with[count].push(which);
    }

    /// One of those with the least count above zero.
    fn fewest(&mut self) -> Option<usize> {
        for (count, list) in self.with.iter_mut().enumerate().skip(1) {
            while let Some(&which) = list.last() {
                if self.of[which] == count {
                    return Some(which);
                }
                list.pop();
            }
        }
        None
    }
}
