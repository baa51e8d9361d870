//! Profiles: how fast each model runs on each gpu type.

use super::trace::Work;

/// Throughputs of models on gpu types.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProfileTable {
    /// The gpu types, in the order of the file.
    pub types: Vec<String>,
    /// The rows, in the order of the file. No two have the same model, batch size, scale factor and placement.
    pub rows: Vec<ProfileRow>,
}

/// A model in one configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileRow {
    /// The model.
    pub model: String,
    /// Its batch size, where the table has one.
    pub batch_size: Option<u32>,
    /// How many GPUs the gang has; 1 unless the table says otherwise.
    pub scale_factor: u32,
    /// How the gang lay while it was measured.
    pub placement: Placement,
    /// Of the whole gang, in any unit, by the types of the table; `None`: cannot run there.
    pub throughput: Vec<Option<f64>>,
}

/// How a gang lay while it was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Placement {
    /// All of it on one host.
    Consolidated,
    /// Over several hosts.
    Spread,
    /// Not told.
    #[default]
    Unknown,
}

impl ProfileTable {
    /// The column of a gpu type, by its name in any case.
    pub fn type_index(&self, name: &str) -> Option<usize> {
        self.types.iter().position(|t| t.eq_ignore_ascii_case(name))
    }

    /// The rows of a model. Without a batch size: of the batch size that comes first in the table.
    pub fn rows_of<'a>(
        &'a self,
        model: &str,
        batch_size: Option<u32>,
    ) -> impl Iterator<Item = &'a ProfileRow> {
        let of_model = move |row: &&ProfileRow| row.model.eq_ignore_ascii_case(model);
        let first = self.rows.iter().find(of_model).and_then(|row| row.batch_size);
        let batch_size = batch_size.or(first);
        self.rows.iter().filter(of_model).filter(move |row| row.batch_size == batch_size)
    }

    /// The row of a model at a scale factor: measured in this placement if there is one, else in an unknown
    /// one, else in any.
    pub fn find(
        &self,
        model: &str,
        batch_size: Option<u32>,
        scale_factor: u32,
        placement: Placement,
    ) -> Option<&ProfileRow> {
        let fitting = self.rows_of(model, batch_size).filter(|r| r.scale_factor == scale_factor);
        fitting.min_by_key(|row| match row.placement {
            p if p == placement => 0,
            Placement::Unknown => 1,
            _ => 2,
        })
    }

    /// The row that a job of so many GPUs is converted with: its own scale factor if the table has it, else
    /// the largest below, else the smallest above.
    pub fn nearest_scale(
        &self,
        model: &str,
        batch_size: Option<u32>,
        gpus: u32,
    ) -> Option<&ProfileRow> {
        let rows = self.rows_of(model, batch_size).filter(|r| r.fastest().is_some());
        rows.min_by_key(|row| {
            let (above, far) = (row.scale_factor > gpus, row.scale_factor.abs_diff(gpus));
            (above, far, row.placement)
        })
    }
}

impl ProfileRow {
    /// The best throughput, if the model runs anywhere.
    pub fn fastest(&self) -> Option<f64> {
        self.throughput.iter().flatten().copied().reduce(f64::max)
    }

    /// Work in the row's own unit, as if the gang had the row's scale factor; `None` where the model cannot
    /// run on the type that the work was measured on.
    pub fn units_of(&self, work: &Work, types: &[String]) -> Option<f64> {
        match work {
            Work::Steps(steps) => Some(*steps),
            Work::DurationOnFastest(seconds) => self.fastest().map(|rate| rate * seconds),
            Work::DurationOn { gpu_type, seconds } => {
                let column = types.iter().position(|t| t.eq_ignore_ascii_case(gpu_type))?;
                self.throughput.get(column).copied().flatten().map(|rate| rate * seconds)
            }
        }
    }
}
