//! Which tenants have a colour of their own: the same one in every chart.

use oef_report::chart::DISTINCT;
use oef_sim::engine::RunResult;

/// Past so many, colours come again with hatching.
const PLAIN: usize = 8;

/// The tenants of all runs.
#[derive(Debug)]
pub struct Cast {
    pub names: Vec<String>,
    /// Their colours; none for those in grey.
    pub slots: Vec<Option<usize>>,
    /// All of them, those that held the most GPU time first.
    pub by_size: Vec<usize>,
}

impl Cast {
    /// Those that held the most GPU time over all runs have colours.
    pub fn new(runs: &[RunResult]) -> Self {
        let longest = runs.iter().max_by_key(|run| run.tenants.len());
        let names: Vec<String> =
            longest.map_or(Vec::new(), |run| run.tenants.iter().map(|t| t.name.clone()).collect());
        let held = |t: usize| -> f64 {
            runs.iter().filter_map(|run| run.tenants.get(t)).map(|t| t.held_gpus).sum()
        };
        let held: Vec<f64> = (0..names.len()).map(held).collect();
        let mut by_size: Vec<usize> = (0..names.len()).collect();
        by_size.sort_by(|&a, &b| held[b].total_cmp(&held[a]).then(a.cmp(&b)));
        let mut coloured: Vec<usize> = by_size.iter().copied().take(DISTINCT).collect();
        if names.len() <= PLAIN {
            // By name, so that the legend reads well; of more, the largest have the plain colours.
            coloured.sort_by(|&a, &b| names[a].cmp(&names[b]));
        }
        let mut slots = vec![None; names.len()];
        for (slot, tenant) in coloured.into_iter().enumerate() {
            slots[tenant] = Some(slot);
        }
        Cast { names, slots, by_size }
    }

    /// The tenants in the order in which charts list them: those with colours by their slot, then the others.
    pub fn in_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.names.len()).collect();
        order.sort_by_key(|&t| (self.slots[t].unwrap_or(usize::MAX), t));
        order
    }

    /// The largest, so many at most, by name.
    pub fn largest(&self, count: usize) -> Vec<usize> {
        let mut largest: Vec<usize> = self.by_size.iter().copied().take(count).collect();
        largest.sort_by(|&a, &b| self.names[a].cmp(&self.names[b]));
        largest
    }
}
