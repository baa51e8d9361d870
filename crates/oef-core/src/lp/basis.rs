//! A factored basis that follows pivots by product-form updates.

use super::lu::{Deficiency, Lu};
use crate::linalg::dot;

/// Updates after which the factors are made anew: later ones cost more than a fresh start.
const UPDATES_MAX: usize = 100;

/// Entries below this are noise.
const DROP: f64 = 1e-14;
/// A column of which at least one in so many entries is something is kept whole: going through all of it
/// in order is then faster.
const DENSE: usize = 5;

/// `B = L U E_1 ... E_r`, where each `E` is the identity with one column replaced, or with rows added.
#[derive(Clone, Debug, Default)]
pub(super) struct Factors {
    lu: Lu,
    updates: Vec<Update>,
}

#[derive(Clone, Debug)]
enum Update {
    Column(Eta),
    Rows(Border),
}

/// A column in place of the one at `position`.
#[derive(Clone, Debug)]
struct Eta {
    position: usize,
    pivot: f64,
    others: Others,
}

/// What a column has besides its pivot.
#[derive(Clone, Debug)]
enum Others {
    Few(Vec<(usize, f64)>),
    /// All entries, with nothing in the place of the pivot.
    Most(Vec<f64>),
}

/// New rows from `first` on, each with a column of its own that has a single entry, -1.
#[derive(Clone, Debug)]
struct Border {
    first: usize,
    end: usize,
    /// What the columns at each position have on the new rows: (row, position, coefficient).
    entries: Vec<(usize, usize, f64)>,
}

impl Eta {
    fn new(position: usize, mut column: Vec<f64>) -> Self {
        let pivot = std::mem::replace(&mut column[position], 0.0);
        let count = column.iter().filter(|a| a.abs() > DROP).count();
        if DENSE * count >= column.len() {
            return Eta { position, pivot, others: Others::Most(column) };
        }
        let others = column.iter().copied().enumerate().filter(|(_, a)| a.abs() > DROP);
        Eta { position, pivot, others: Others::Few(others.collect()) }
    }

    fn ftran(&self, v: &mut [f64]) {
        let x = v[self.position] / self.pivot;
        v[self.position] = x;
        if x == 0.0 {
            return;
        }
        match &self.others {
            Others::Few(others) => others.iter().for_each(|&(i, alpha)| v[i] -= alpha * x),
            Others::Most(column) => {
                v.iter_mut().zip(column).for_each(|(v, alpha)| *v -= alpha * x);
            }
        }
    }

    fn btran(&self, v: &mut [f64]) {
        let sum = match &self.others {
            Others::Few(others) => others.iter().map(|&(i, alpha)| alpha * v[i]).sum(),
            Others::Most(column) => dot(column, &v[..column.len()]),
        };
        v[self.position] = (v[self.position] - sum) / self.pivot;
    }
}

impl Border {
    fn ftran(&self, v: &mut [f64]) {
        v[self.first..self.end].iter_mut().for_each(|x| *x = -*x);
        for &(row, position, a) in &self.entries {
            v[row] += a * v[position];
        }
    }

    fn btran(&self, v: &mut [f64]) {
        for &(row, position, a) in &self.entries {
            v[position] += a * v[row];
        }
        v[self.first..self.end].iter_mut().for_each(|x| *x = -*x);
    }
}

impl Factors {
    /// Factors a basis from scratch.
    pub fn factor(&mut self, rows: usize, columns: &[&[(usize, f64)]]) -> Deficiency {
        self.updates.clear();
        self.lu.factor(rows, columns)
    }

    /// Completes factors that left columns out: `position` has the new place of every column that they
    /// have, and the bare rows, with their places, get columns with a single entry.
    pub fn complete(&mut self, position: &[Option<usize>], bare: &[(usize, usize)], entry: f64) {
        self.lu.complete(position, bare, entry);
    }

    /// Solves `B x = a` in place (by row, then by position).
    pub fn ftran(&mut self, v: &mut [f64]) {
        self.lu.ftran(v);
        for update in &self.updates {
            match update {
                Update::Column(eta) => eta.ftran(v),
                Update::Rows(border) => border.ftran(v),
            }
        }
    }

    /// Solves `B' y = c` in place (by position, then by row).
    pub fn btran(&mut self, v: &mut [f64]) {
        for update in self.updates.iter().rev() {
            match update {
                Update::Column(eta) => eta.btran(v),
                Update::Rows(border) => border.btran(v),
            }
        }
        self.lu.btran(v);
    }

    /// Adds the rows from `first` to `end`, whose logicals become basic at the positions of the same
    /// numbers; the entries are (row, position, coefficient).
    pub fn add_rows(&mut self, first: usize, end: usize, entries: Vec<(usize, usize, f64)>) {
        self.updates.push(Update::Rows(Border { first, end, entries }));
    }

    /// Replaces the column at `position` by one whose image under the inverse is `alpha`.
    pub fn replace(&mut self, position: usize, alpha: Vec<f64>) {
        self.updates.push(Update::Column(Eta::new(position, alpha)));
    }

    /// Whether it is time for fresh factors.
    pub fn is_stale(&self) -> bool {
        self.updates.len() >= UPDATES_MAX
    }

    /// Whether any update has been made since the factors were fresh.
    pub fn is_updated(&self) -> bool {
        !self.updates.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A basis that gets a row and then another column solves like one that was factored whole.
    #[test]
    fn rows_are_added_without_new_factors() {
        let old: [&[(usize, f64)]; 2] = [&[(0, 2.0), (1, 1.0)], &[(0, -1.0), (1, 3.0)]];
        let whole: [&[(usize, f64)]; 3] =
            [&[(0, 2.0), (1, 1.0), (2, 4.0)], &[(0, 1.0), (2, 5.0)], &[(2, -1.0)]];
        let (mut grown, mut fresh) = (Factors::default(), Factors::default());
        grown.factor(2, &old);
        grown.add_rows(2, 3, vec![(2, 0, 4.0), (2, 1, -2.0)]);
        let mut alpha = vec![1.0, 0.0, 5.0];
        grown.ftran(&mut alpha);
        grown.replace(1, alpha);
        fresh.factor(3, &whole);
        let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(x, y)| (x - y).abs() < 1e-14);
        for unit in 0..3 {
            let mut sides: [Vec<f64>; 4] = std::array::from_fn(|_| vec![0.0; 3]);
            sides.iter_mut().for_each(|side| side[unit] = 1.0);
            let [a, b, c, d] = &mut sides;
            grown.ftran(a);
            fresh.ftran(b);
            assert!(near(a, b), "{unit}: {a:?} is not {b:?}");
            grown.btran(c);
            fresh.btran(d);
            assert!(near(c, d), "{unit}: {c:?} is not {d:?}");
        }
    }
}
