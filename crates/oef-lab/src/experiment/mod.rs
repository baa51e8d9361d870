//! The paper's evaluation, experiment by experiment, with its figures beside ours.
//!
//! A [`Lab`] runs an experiment by its [`Id`] and gives an [`Experiment`]: what was done, [`Claim`]s with a
//! [`Verdict`] that a stated [`Rule`] computes from the figures, and [`Exhibit`]s to draw. Nothing is tuned to a
//! verdict: the thresholds were written down before the figures were seen.

mod beyond;
mod cheating;
mod claim;
mod envy;
mod equal_throughput;
mod exhibit;
mod finding;
mod four;
mod incentive;
mod jct;
mod lab;
mod models;
mod profile_error;
mod second_workload;
mod setup;
mod solver_time;
mod stage;
mod stragglers;
mod tenants;
mod terms;
mod three_days;
mod throughput;
mod twenty;
mod under_report;

pub use claim::{Claim, Quantity, Rule, Spread, Verdict};
pub use exhibit::{Bar, Cell, Column, Exhibit, Group, Line};
pub use finding::{Experiment, ExperimentError, Id};
pub use lab::Lab;
pub use models::{ModelSpeeds, PAPER_MODELS, SpeedupTable};
pub use setup::{Setup, Size};
pub use solver_time::{SolveTime, solver_time};
