//! Slurm as what runs the jobs: its settings, and what is looked at before a start.

mod settings;
mod start;

pub use settings::{Depth, ExecutorKind, ExecutorSettings, SlurmSettings, WorkloadSettings};
pub(crate) use start::executor;
