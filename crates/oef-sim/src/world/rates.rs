//! The speed of a gang where it stands.
//!
//! * *On one host, of one type*: the table's row for that number of workers; without one, the nearest row
//!   below, scaled: every doubling of the workers keeps [`SCALING_PER_DOUBLING`] of the speed per GPU.
//! * *Over several hosts*: the table's ratio of spread to consolidated rows; without them
//!   `1 / (1 + a log2(g) 2(h - 1)/h)` for `g` workers on `h` hosts with `a` =
//!   [`SPREAD_LOSS_PER_DOUBLING`]: 0.87 for 2 workers on 2 hosts, 0.69 for 8 on 2, 0.60 for 8 on 4. On the
//!   167 rows of a public table of K80, P100 and V100 the median is 0.73 for 2, 0.72 for 4 and 0.76 for 8.
//! * *Across types*: every worker waits for the slowest, so the gang runs as if all stood there.

use crate::input::{Placement, ProfileRow, ProfileTable};

/// What is left of the speed per GPU when the number of workers doubles, where no row says it.
pub const SCALING_PER_DOUBLING: f64 = 0.9;

/// How much a gang loses to the network per doubling of its workers, where no row says it.
pub const SPREAD_LOSS_PER_DOUBLING: f64 = 0.15;

/// The true speeds of one job, in units of work (steps, batches) per second.
#[derive(Clone, Debug, PartialEq)]
pub struct JobRates {
    /// Of the whole gang on one host, by type; 0: cannot run there.
    pub together: Vec<f64>,
    /// What is left of it on several hosts, by type, where the table says; else by the model.
    spread: Vec<Option<f64>>,
    workers: u32,
}

/// The speeds of a job of `workers` workers, if the table knows its model.
pub fn rates(
    table: &ProfileTable,
    model: &str,
    batch_size: Option<u32>,
    workers: u32,
) -> Option<JobRates> {
    let exact = table.find(model, batch_size, workers, Placement::Consolidated);
    let row = exact.or_else(|| table.nearest_scale(model, batch_size, workers))?;
    let doublings = f64::from(workers).log2() - f64::from(row.scale_factor.max(1)).log2();
    let scale = 2f64.powf(doublings) * SCALING_PER_DOUBLING.powf(doublings.max(0.0));
    let spread_row = table
        .find(model, batch_size, row.scale_factor, Placement::Spread)
        .filter(|spread| spread.placement == Placement::Spread && workers > 1);
    let together = row.throughput.iter().map(|t| t.unwrap_or(0.0) * scale).collect();
    let ratio = |j: usize| ratio(spread_row?, row, j);
    let spread = (0..table.types.len()).map(ratio).collect();
    Some(JobRates { together, spread, workers })
}

fn ratio(spread: &ProfileRow, together: &ProfileRow, gpu: usize) -> Option<f64> {
    let (a, b) = (spread.throughput.get(gpu)?.as_ref()?, together.throughput.get(gpu)?.as_ref()?);
    (*a > 0.0 && *b > 0.0).then(|| a / b)
}

impl JobRates {
    /// Units of work per second on GPUs of these types (each named once) on so many hosts.
    pub fn on(&self, types: impl IntoIterator<Item = usize>, hosts: usize) -> f64 {
        let speeds = types.into_iter().map(|j| self.on_type(j, hosts));
        let slowest = speeds.fold(f64::INFINITY, f64::min);
        if slowest.is_finite() { slowest } else { 0.0 }
    }

    fn on_type(&self, gpu: usize, hosts: usize) -> f64 {
        let together = self.together.get(gpu).copied().unwrap_or(0.0);
        if hosts <= 1 || self.workers <= 1 {
            return together;
        }
        together * self.spread.get(gpu).copied().flatten().unwrap_or_else(|| self.model(hosts))
    }

    fn model(&self, hosts: usize) -> f64 {
        let hosts = hosts as f64;
        let crossing = 2.0 * (hosts - 1.0) / hosts;
        1.0 / (1.0 + SPREAD_LOSS_PER_DOUBLING * f64::from(self.workers).log2() * crossing)
    }

    /// Units of work per second and GPU on each type, on one host: the true profile.
    pub fn per_gpu(&self) -> Vec<f64> {
        self.together.iter().map(|t| t / f64::from(self.workers.max(1))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(scale_factor: u32, placement: Placement, cells: [f64; 2]) -> ProfileRow {
        let throughput = cells.iter().map(|&c| (c > 0.0).then_some(c)).collect();
        ProfileRow { model: "m".into(), batch_size: None, scale_factor, placement, throughput }
    }

    fn table(rows: Vec<ProfileRow>) -> ProfileTable {
        ProfileTable { types: vec!["slow".into(), "fast".into()], rows }
    }

    #[test]
    fn a_row_for_the_gang_counts_before_the_model() {
        let table = table(vec![
            row(1, Placement::Consolidated, [1.0, 2.0]),
            row(4, Placement::Consolidated, [3.0, 7.0]),
            row(4, Placement::Spread, [1.5, 3.5]),
        ]);
        let four = rates(&table, "m", None, 4).unwrap();
        assert_eq!((four.on([1], 1), four.on([1], 2)), (7.0, 3.5));
        let two = rates(&table, "m", None, 2).unwrap();
        assert!((two.on([0], 1) - 1.8).abs() < 1e-12, "{two:?}");
    }

    #[test]
    fn a_gang_across_types_runs_at_the_pace_of_the_slowest() {
        let table = table(vec![row(1, Placement::Unknown, [1.0, 3.0])]);
        let one = rates(&table, "m", None, 2).unwrap();
        assert_eq!(one.on([0, 1], 1), one.on([0], 1));
        assert!(one.on([1], 1) > one.on([0, 1], 1));
    }

    #[test]
    fn the_loss_grows_with_workers_and_hosts() {
        let table = table(vec![row(1, Placement::Unknown, [1.0, 3.0])]);
        let kept = |workers, hosts| {
            let job = rates(&table, "m", None, workers).unwrap();
            job.on([0], hosts) / job.on([0], 1)
        };
        assert_eq!(kept(1, 1), 1.0);
        assert!(kept(2, 2) > kept(4, 2) && kept(4, 2) > kept(8, 2) && kept(8, 2) > kept(8, 4));
        assert!((kept(2, 2) - 1.0 / 1.15).abs() < 1e-12);
    }

    #[test]
    fn a_type_without_an_entry_does_not_run() {
        let table = table(vec![row(1, Placement::Unknown, [0.0, 3.0])]);
        let job = rates(&table, "m", None, 1).unwrap();
        assert_eq!((job.on([0], 1), job.on([], 0)), (0.0, 0.0));
        assert!(rates(&table, "unknown", None, 1).is_none());
    }
}
