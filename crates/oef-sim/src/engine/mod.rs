//! Discrete events in virtual time: the trace and the world on one side, the scheduler's `step` on the other.

mod agenda;
mod jobs;
mod record;
mod run;
mod scenario;
mod summary;

pub use record::{JobRecord, Segment, Series, TenantRecord};
pub use run::{Progress, SimulationError, simulate};
pub use scenario::{Detail, Happening, Inputs, Scenario};
pub use summary::{Quantiles, RunResult};
