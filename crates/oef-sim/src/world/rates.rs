//! The speed of a gang where it stands: by the scheduler's own model of gangs, with the figures of the profile table.

use crate::input::{Placement, ProfileRow, ProfileTable};
use oef_sched::{GangFigures, Profile, Provenance, Stands};
use std::rc::Rc;

/// The true speeds of one job, in units of work (steps, batches) per second.
#[derive(Clone, Debug, PartialEq)]
pub struct JobRates {
    /// Of its workload, per GPU.
    pub profile: Rc<Profile>,
    workers: u32,
}

/// The speeds of jobs of a model, if the table knows it: of single workers and of all gangs that were measured.
pub fn profile_of(table: &ProfileTable, model: &str, batch_size: Option<u32>) -> Option<Profile> {
    let single = table.find(model, batch_size, 1, Placement::Consolidated);
    let single = single.or_else(|| table.nearest_scale(model, batch_size, 1))?;
    let mut gangs: Vec<GangFigures> = Vec::new();
    for row in table.rows_of(model, batch_size).filter(|row| row.scale_factor > 1) {
        let stands = match row.placement {
            Placement::Spread => Stands::Spread,
            Placement::Consolidated | Placement::Unknown => Stands::Together,
        };
        let (workers, throughput) = (row.scale_factor, per_gpu(row));
        let known = |g: &GangFigures| (g.workers, g.stands) == (workers, stands);
        match gangs.iter_mut().find(|gang| known(gang)) {
            // Where it is told how a gang stood, that counts before a row that does not say.
            Some(gang) if row.placement == Placement::Consolidated => gang.throughput = throughput,
            Some(_) => {}
            None => gangs.push(GangFigures { workers, stands, throughput }),
        }
    }
    Some(Profile { gangs, ..Profile::new(per_gpu(single), Provenance::Declared) })
}

fn per_gpu(row: &ProfileRow) -> Vec<f64> {
    let workers = f64::from(row.scale_factor.max(1));
    row.throughput.iter().map(|t| t.unwrap_or(0.0) / workers).collect()
}

impl JobRates {
    /// Of a job of so many workers.
    pub fn new(profile: Rc<Profile>, workers: u32) -> Self {
        JobRates { profile, workers }
    }

    /// Units of work per second on GPUs of these types (each named once) on so many hosts.
    pub fn on(&self, types: impl IntoIterator<Item = usize>, hosts: usize) -> f64 {
        let speeds = types.into_iter().map(|j| self.profile.of_gang(j, self.workers, hosts as u32));
        let slowest = speeds.fold(f64::INFINITY, f64::min);
        if slowest.is_finite() { slowest * f64::from(self.workers) } else { 0.0 }
    }

    /// Units of work per second on each type, on one host.
    pub fn together(&self) -> Vec<f64> {
        (0..self.profile.throughput.len()).map(|j| self.on([j], 1)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(scale_factor: u32, placement: Placement, cells: [f64; 2]) -> ProfileRow {
        let throughput = cells.iter().map(|&c| (c > 0.0).then_some(c)).collect();
        ProfileRow { model: "m".into(), batch_size: None, scale_factor, placement, throughput }
    }

    fn rates(rows: Vec<ProfileRow>, workers: u32) -> JobRates {
        let table = ProfileTable { types: vec!["slow".into(), "fast".into()], rows };
        JobRates::new(Rc::new(profile_of(&table, "m", None).expect("known")), workers)
    }

    #[test]
    fn a_row_for_the_gang_counts_before_the_model() {
        let rows = vec![
            row(1, Placement::Consolidated, [1.0, 2.0]),
            row(4, Placement::Unknown, [9.0, 9.0]),
            row(4, Placement::Consolidated, [3.0, 7.0]),
            row(4, Placement::Spread, [1.5, 3.5]),
        ];
        let four = rates(rows.clone(), 4);
        assert_eq!((four.on([1], 1), four.on([1], 2)), (7.0, 3.5));
        assert_eq!(four.together(), [3.0, 7.0]);
        assert!((rates(rows, 2).on([0], 1) - 1.8).abs() < 1e-12);
    }

    #[test]
    fn a_gang_across_types_runs_at_the_pace_of_the_slowest() {
        let two = rates(vec![row(1, Placement::Unknown, [1.0, 3.0])], 2);
        assert_eq!(two.on([0, 1], 1), two.on([0], 1));
        assert!(two.on([1], 1) > two.on([0, 1], 1));
    }

    #[test]
    fn a_type_without_an_entry_does_not_run() {
        let job = rates(vec![row(1, Placement::Unknown, [0.0, 3.0])], 1);
        assert_eq!((job.on([0], 1), job.on([], 0)), (0.0, 0.0));
        let empty = ProfileTable { types: vec!["slow".into()], rows: Vec::new() };
        assert!(profile_of(&empty, "unknown", None).is_none());
    }
}
