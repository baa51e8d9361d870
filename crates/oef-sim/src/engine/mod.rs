//! Discrete events in virtual time: the trace and the world on one side, the scheduler's `step` on the other.

mod agenda;
mod days;
mod finish;
mod guarding;
mod jobs;
mod record;
mod run;
mod scenario;
mod setup;
mod standing;
mod summary;

pub use days::TenantDay;
pub use guarding::Detection;
pub use record::{JobRecord, Segment, Series, TenantRecord, WorkloadRecord};
pub use run::{Progress, SimulationError, simulate};
pub use scenario::{Detail, Happening, Inputs, Scenario};
pub use standing::Standing;
pub use summary::{Quantiles, RunResult};
