//! The part of a basis that is left when columns with a single entry have been taken out.
//!
//! It is small, but eliminated in a bad order it fills in many times over. So it is eliminated from the
//! right, and the next pivot is one that can make few new entries (Markowitz), among those that
//! are not small beside their row.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A pivot may be this much smaller than the largest entry of its row.
const THRESHOLD: f64 = 0.1;

/// Sparse rows that change as pivots are eliminated, with the pattern of the columns beside them. It is kept from one
/// factorisation to the next for its memory: thousands of small lists.
#[derive(Clone, Debug, Default)]
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
    /// Scratch: the rows of a column that may be its pivot, by the new entries that they make.
    candidates: BinaryHeap<Reverse<(usize, usize)>>,
    /// Entries smaller than this are no pivots.
    least: f64,
    step: Step,
}

/// The count of a row or column that is out of the game.
const DONE: usize = usize::MAX;
/// No entry here.
const NONE: usize = usize::MAX;

/// A pivot, what its column had below it (relative to the pivot), and its row beside it.
#[derive(Clone, Debug, Default)]
pub(super) struct Step {
    pub row: usize,
    pub column: usize,
    pub pivot: f64,
    pub below: Vec<(usize, f64)>,
    pub beside: Vec<(usize, f64)>,
}

impl Nucleus {
    /// Empties it; entries smaller than `least` will be no pivots.
    pub fn reset(&mut self, rows: usize, columns: usize, least: f64) {
        empty(&mut self.rows, rows);
        empty(&mut self.columns, columns);
        self.column_count.reset(columns);
        self.row_count.reset(rows);
        self.place.clear();
        self.place.resize(columns, NONE);
        self.least = least;
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
    pub fn next(&mut self) -> Option<&Step> {
        loop {
            let row = self.row_count.fewest()?;
            let best = match self.best_in_column() {
                Some(best @ (0, ..)) => Some(best),
                best => best.into_iter().chain(self.best_in_row(row)).min(),
            };
            match best {
                Some((_, row, column)) => {
                    self.eliminate(row, column);
                    return Some(&self.step);
                }
                None => self.give_up(row),
            }
        }
    }

    /// The best pivot in a column with the fewest entries: (new entries at most, row, column).
    fn best_in_column(&mut self) -> Option<(usize, usize, usize)> {
        let c = self.column_count.fewest()?;
        let mut left = std::mem::take(&mut self.candidates);
        left.clear();
        let rows = self.columns[c].iter().filter(|&&r| self.row_count.of[r] != DONE);
        left.extend(rows.map(|&r| Reverse((self.fill(r, c), r))));
        // To look through a row takes long: those that make few new entries come first. Few are looked at mostly, but it
        // may be all of thousands.
        let fits = |at: &Reverse<(usize, usize)>| self.fits(at.0.1, c);
        let found = std::iter::from_fn(|| left.pop()).find(fits);
        self.candidates = left;
        found.map(|Reverse((fill, r))| (fill, r, c))
    }

    /// Whether an entry is large enough for a pivot.
    fn fits(&self, r: usize, c: usize) -> bool {
        let row = &self.rows[r];
        let value = row.iter().find(|e| e.0 == c).map_or(0.0, |e| e.1.abs());
        let alone = self.column_count.of[c] == 1 || row.len() == 1;
        let most = || row.iter().map(|e| e.1.abs()).fold(0.0, f64::max);
        value >= self.least && (alone || value >= THRESHOLD * most())
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

    fn eliminate(&mut self, row: usize, column: usize) {
        let mut step = std::mem::take(&mut self.step);
        step.beside.clear();
        std::mem::swap(&mut step.beside, &mut self.rows[row]);
        let at = step.beside.iter().position(|e| e.0 == column).unwrap_or(0);
        (step.row, step.column, step.pivot) = (row, column, step.beside.swap_remove(at).1);
        (self.row_count.of[row], self.column_count.of[column]) = (DONE, DONE);
        for (at, &(c, _)) in step.beside.iter().enumerate() {
            self.place[c] = at;
            self.column_count.of[c] -= 1;
        }
        step.below.clear();
        let below = std::mem::take(&mut self.columns[column]);
        for &r in &below {
            if self.row_count.of[r] != DONE {
                step.below.push((r, self.subtract(r, &step)));
            }
        }
        self.columns[column] = below;
        for &(c, _) in &step.beside {
            self.place[c] = NONE;
            self.column_count.set(c, self.column_count.of[c]);
        }
        self.step = step;
    }

    /// Takes a multiple of the pivot row from a row, so that its entry in the pivot's column goes;
    /// returns the multiple.
    fn subtract(&mut self, r: usize, Step { column, pivot, beside, .. }: &Step) -> f64 {
        let row = &mut self.rows[r];
        let at = row.iter().position(|e| e.0 == *column).unwrap_or(0);
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

/// So many empty lists, with the memory that they had.
pub(super) fn empty<T: Clone>(lists: &mut Vec<Vec<T>>, count: usize) {
    lists.iter_mut().for_each(Vec::clear);
    lists.resize(count, Vec::new());
}

/// Counts, and the least of them at hand.
#[derive(Clone, Debug, Default)]
struct Counts {
    of: Vec<usize>,
    /// What had each count at some time: it may have another one by now.
    with: Vec<Vec<usize>>,
    /// No list before this one has anything.
    least: usize,
}

impl Counts {
    fn reset(&mut self, size: usize) {
        self.of.clear();
        self.of.resize(size, 0);
        self.with.iter_mut().for_each(Vec::clear);
        self.least = 1;
    }

    fn set(&mut self, which: usize, count: usize) {
        self.of[which] = count;
        if self.with.len() <= count {
            self.with.resize(count + 1, Vec::new());
        }
        self.with[count].push(which);
        self.least = self.least.min(count.max(1));
    }

    /// One of those with the least count above zero.
    fn fewest(&mut self) -> Option<usize> {
        while let Some(list) = self.with.get_mut(self.least) {
            while let Some(&which) = list.last() {
                if self.of[which] == self.least {
                    return Some(which);
                }
                list.pop();
            }
            self.least += 1;
        }
        None
    }
}
