//! The rows that look at each bundle.

use super::lanes::LANES;
use super::pairs::Pairs;
use std::ops::Range;

/// The rows that look at each bundle: its own, then the envious ones, in groups of [`LANES`].
pub(super) struct Members {
    /// Where the groups of bundle `i` begin.
    start: Vec<usize>,
    /// The rows; places that are left over in a group have the row after the last.
    pub who: Vec<[usize; LANES]>,
}

impl Members {
    pub fn new(n: usize, pairs: &Pairs) -> Self {
        let mut members = Members { start: vec![0], who: Vec::new() };
        for i in 0..n {
            let mut group = [n; LANES];
            group[0] = i;
            let mut filled = 1;
            for &l in &pairs.envious[pairs.range(i)] {
                if filled == LANES {
                    members.who.push(std::mem::replace(&mut group, [n; LANES]));
                    filled = 0;
                }
                group[filled] = l;
                filled += 1;
            }
            members.who.push(group);
            members.start.push(members.who.len());
        }
        members
    }

    /// The groups of bundle `i`.
    pub fn range(&self, i: usize) -> Range<usize> {
        self.start[i]..self.start[i + 1]
    }
}
