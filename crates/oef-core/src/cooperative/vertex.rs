//! A vertex of the program with shared bundles, told by its basis: what a later solve goes on from.

use super::envy_program::clusters;
use super::point::Point;
use super::rows::Rows;
use std::collections::BTreeMap;

/// Pairs with less slack than this at the end of the interior path go into the program at once.
const NEAR: f64 = 1e-4;

/// Which entries of which bundles are basic, and which pairs are tight.
#[derive(Clone, Debug, Default)]
pub(super) struct Vertex {
    /// The bundle of each row.
    pub bundle_of: Vec<usize>,
    /// Entries (bundle, type) that are basic.
    pub held: Vec<(usize, usize)>,
    /// Pairs (row, bundle) of the program, and whether their slack is basic.
    pub pairs: Vec<(usize, usize, bool)>,
    /// Types whose idle capacity is basic.
    pub idle: Vec<usize>,
    /// Bundles whose distance from the cap is basic.
    pub loose: Vec<usize>,
    /// What is basic at zero: it completes the basis of this very vertex.
    pub weak: Weak,
}

/// Entries (bundle, type), pairs (by position) and bundles whose entry, slack or distance from the cap is basic at zero.
#[derive(Clone, Debug, Default)]
pub(super) struct Weak {
    pub held: Vec<(usize, usize)>,
    pub pairs: Vec<usize>,
    pub loose: Vec<usize>,
}

impl Vertex {
    /// Near the end of an interior path: rows with the same bundle there share one, the pairs that are
    /// tight or nearly so are in, and the basis is the one that the path points to. What is zero or tight must be so
    /// by the factor `clear`.
    pub fn near(rows: &Rows, point: &Point, same: f64, clear: f64) -> Vertex {
        let k = rows.k;
        let bundle_of = clusters(rows, &point.y, same);
        let mut pairs: Vec<(usize, usize, bool)> = Vec::new();
        let mut slot = BTreeMap::new();
        for i in 0..rows.n {
            for r in point.pairs.range(i) {
                let (l, s, z) = (point.pairs.envious[r], point.pairs.s[r], point.pairs.z[r]);
                let b = bundle_of[i];
                let counts = bundle_of[l] != b || rows.compares_with_itself(l);
                if counts && (s < NEAR || z > s) {
                    let at = *slot.entry((l, b)).or_insert(pairs.len());
                    if at == pairs.len() {
                        pairs.push((l, b, true));
                    }
                    pairs[at].2 &= clear * s > z;
                }
            }
        }
        let bundles = bundle_of.iter().max().map_or(0, |b| b + 1);
        let mut held = vec![false; bundles * k];
        for e in 0..rows.n * k {
            held[bundle_of[e / k] * k + e % k] |= clear * point.y[e] > point.v[e];
        }
        let held = (0..held.len()).filter(|&e| held[e]).map(|e| (e / k, e % k)).collect();
        let idle = (0..k).filter(|&j| point.c[j] > point.p[j] * rows.n as f64).collect();
        let mut loose = vec![true; bundles];
        for l in 0..rows.n {
            loose[bundle_of[l]] &= clear * point.r[l] > point.lambda[l];
        }
        let loose = (0..bundles).filter(|&b| loose[b]).collect();
        Vertex { bundle_of, held, pairs, idle, loose, weak: Weak::default() }
    }

    /// The same vertex with rows sharing bundles otherwise: rows with the same label share one. Rows
    /// without a label are left out.
    pub fn regrouped(&self, label: &[usize]) -> Vertex {
        let n = label.len();
        let bundle_of = in_order(label);
        if bundle_of == self.bundle_of {
            return self.clone();
        }
        // The new bundles that come from each old one.
        let mut parts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for l in 0..n {
            let list = parts.entry(self.bundle_of[l]).or_default();
            if !list.contains(&bundle_of[l]) {
                list.push(bundle_of[l]);
            }
        }
        let none = Vec::new();
        let of = |b: usize| parts.get(&b).unwrap_or(&none);
        let mut held: Vec<(usize, usize)> =
            self.held.iter().flat_map(|&(b, j)| of(b).iter().map(move |&c| (c, j))).collect();
        held.sort_unstable();
        held.dedup();
        let mut pairs: BTreeMap<(usize, usize), bool> = BTreeMap::new();
        for &(l, b, slack) in self.pairs.iter().filter(|p| p.0 < n) {
            for &c in of(b) {
                *pairs.entry((l, c)).or_insert(true) &= slack;
            }
        }
        // Rows whose common bundle is split look at each other's part.
        for l in 0..n {
            for &c in of(self.bundle_of[l]).iter().filter(|&&c| c != bundle_of[l]) {
                pairs.insert((l, c), false);
            }
        }
        let pairs = pairs.into_iter().map(|((l, b), slack)| (l, b, slack)).collect();
        let loose = self.loose.iter().flat_map(|&b| of(b).iter().copied()).collect();
        Vertex { bundle_of, held, pairs, idle: self.idle.clone(), loose, weak: Weak::default() }
    }
}

/// Labels as numbers in the order in which they first occur.
pub(super) fn in_order(label: &[usize]) -> Vec<usize> {
    let mut number = BTreeMap::new();
    let numbers = label.iter().map(|label| {
        let next = number.len();
        *number.entry(*label).or_insert(next)
    });
    numbers.collect()
}
