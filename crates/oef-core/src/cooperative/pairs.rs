//! Which rows are compared, with the slack and the multiplier of each comparison.

/// Envy pairs with slack and multiplier.
#[derive(Clone, Debug, Default)]
pub(super) struct Pairs {
    /// Where the pairs that envy row `i` begin.
    pub start: Vec<usize>,
    /// The envious row.
    pub envious: Vec<usize>,
    pub s: Vec<f64>,
    pub z: Vec<f64>,
}

impl Pairs {
    /// From (envious row, envied row, slack, multiplier) in any order.
    pub fn from_list(n: usize, list: &[(usize, usize, f64, f64)]) -> Self {
        let mut pairs = Pairs { start: vec![0; n + 1], ..Pairs::default() };
        pairs.rebuild(n, |_, _| true, list);
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
        n: usize,
        keep: impl Fn(f64, f64) -> bool,
        added: &[(usize, usize, f64, f64)],
    ) {
        let mut by_bundle: Vec<Vec<(usize, f64, f64)>> = vec![Vec::new(); n];
        for i in 0..n {
            let kept = self.range(i).filter(|&r| keep(self.s[r], self.z[r]));
            by_bundle[i].extend(kept.map(|r| (self.envious[r], self.s[r], self.z[r])));
        }
        for &(l, i, s, z) in added {
            by_bundle[i].push((l, s, z));
        }
        *self = Pairs { start: vec![0; n + 1], ..Pairs::default() };
        for (i, list) in by_bundle.into_iter().enumerate() {
            for (l, s, z) in list {
                self.envious.push(l);
                self.s.push(s);
                self.z.push(z);
            }
            self.start[i + 1] = self.envious.len();
        }
    }
}
