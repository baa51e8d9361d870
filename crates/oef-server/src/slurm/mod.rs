//! Slurm as what runs the jobs: its settings, and what is looked at before a start.

mod advice;
mod following;
mod grants;
mod settings;
mod start;

pub use advice::{AdviceError, Advise, Advisor};
pub(crate) use following::follow;
pub use grants::{Grants, whole};
pub use settings::{Depth, ExecutorKind, ExecutorSettings, LeaveAccounts, SlurmSettings};
pub(crate) use start::executor;
