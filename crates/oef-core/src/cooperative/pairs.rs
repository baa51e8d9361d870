//! Which rows are compared, with the slack and the multiplier of each comparison.

use super::data::Data;

/// Envy pairs with slack and multiplier. Some may be violated, at a price that is the most that the multiplier can be.
#[derive(Clone, Debug, Default)]
pub(super) struct Pairs {
    /// Where the pairs that envy row `i` begin.
    pub start: Vec<usize>,
    /// The envious row.
    pub envious: Vec<usize>,
    pub s: Vec<f64>,
    pub z: Vec<f64>,
    /// The violation, and what is left between the multiplier and its limit; 0 and 1 where there is no limit.
    pub e: Vec<f64>,
    pub w: Vec<f64>,
}

impl Pairs {
    /// From (envious row, envied row, slack, multiplier) in any order.
    pub fn from_list(data: &Data<'_>, list: &[(usize, usize, f64, f64)]) -> Self {
        let mut pairs = Pairs { start: vec![0; data.n + 1], ..Pairs::default() };
        pairs.rebuild(data, |_, _| true, list);
        pairs
    }

    /// All pairs (envious, envied).
    pub fn list(&self) -> Vec<(usize, usize)> {
        let rows = self.start.len().saturating_sub(1);
        let towards = |i: usize| self.range(i).map(move |r| (self.envious[r], i));
        (0..rows).flat_map(towards).collect()
    }

    /// The pairs that envy row `i`.
    pub fn range(&self, i: usize) -> std::ops::Range<usize> {
        self.start[i]..self.start[i + 1]
    }

    /// Drops what need not be kept, and adds (envious row, envied row, slack, multiplier).
    pub fn rebuild(
        &mut self,
        data: &Data<'_>,
        keep: impl Fn(f64, f64) -> bool,
        added: &[(usize, usize, f64, f64)],
    ) {
        let n = data.n;
        let mut by_bundle: Vec<Vec<(usize, [f64; 4])>> = vec![Vec::new(); n];
        for (i, list) in by_bundle.iter_mut().enumerate() {
            let kept = self.range(i).filter(|&r| keep(self.s[r], self.z[r]));
            list.extend(
                kept.map(|r| (self.envious[r], [self.s[r], self.z[r], self.e[r], self.w[r]])),
            );
        }
        for &(l, i, s, z) in added {
            let most = data.multiplier_max[l];
            let z = z.min(0.5 * most);
            let w = most - z;
            let numbers = if most.is_finite() { [s, z, s * z / w, w] } else { [s, z, 0.0, 1.0] };
            by_bundle[i].push((l, numbers));
        }
        *self = Pairs { start: vec![0; n + 1], ..Pairs::default() };
        for (i, list) in by_bundle.into_iter().enumerate() {
            for (l, [s, z, e, w]) in list {
                self.envious.push(l);
                self.s.push(s);
                self.z.push(z);
                self.e.push(e);
                self.w.push(w);
            }
            self.start[i + 1] = self.envious.len();
        }
    }
}
