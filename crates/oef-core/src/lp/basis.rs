//! A factored basis that follows pivots by product-form updates.

use super::lu::{Deficiency, Lu};

/// Updates after which the factors are made anew: later ones cost more than a fresh start.
const UPDATES_MAX: usize = 64;

/// `B = L U E_1 ... E_r`, where each `E` is the identity with one column replaced.
#[derive(Clone, Debug, Default)]
pub(super) struct Factors {
    lu: Lu,
    etas: Vec<Eta>,
    size: usize,
}

#[derive(Clone, Debug)]
struct Eta {
    position: usize,
    pivot: f64,
    others: Vec<(usize, f64)>,
}

impl Factors {
    /// Factors a basis from scratch.
    pub fn factor(&mut self, rows: usize, columns: &[&[(usize, f64)]]) -> Deficiency {
        self.etas.clear();
        self.size = rows;
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
        for eta in &self.etas {
            let x = v[eta.position] / eta.pivot;
            if x != 0.0 {
                for &(i, alpha) in &eta.others {
                    v[i] -= alpha * x;
                }
            }
            v[eta.position] = x;
        }
    }

    /// Solves `B' y = c` in place (by position, then by row).
    pub fn btran(&mut self, v: &mut [f64]) {
        for eta in self.etas.iter().rev() {
            let sum: f64 = eta.others.iter().map(|&(i, alpha)| alpha * v[i]).sum();
            v[eta.position] = (v[eta.position] - sum) / eta.pivot;
        }
        self.lu.btran(v);
    }

    /// Replaces the column at `position` by one whose image under the inverse is `alpha`.
    pub fn replace(&mut self, position: usize, alpha: &[f64]) {
        let others = alpha
            .iter()
            .enumerate()
            .filter(|&(i, &a)| i != position && a.abs() > 1e-14)
            .map(|(i, &a)| (i, a))
            .collect();
        self.etas.push(Eta { position, pivot: alpha[position], others });
    }

    /// Whether it is time for fresh factors.
    pub fn is_stale(&self) -> bool {
        self.etas.len() >= UPDATES_MAX
    }

    /// Whether any update has been made since the factors were fresh.
    pub fn is_updated(&self) -> bool {
        !self.etas.is_empty()
    }
}
