//! What cannot be generated.

use super::trace::TraceSpec;
use crate::input::limits;

/// Why nothing was generated; the message names the option and what would be right.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GenerateError {
    /// A number is out of its range.
    #[error("{option}: {value} is out of range: between {least} and {most}")]
    OutOfRange {
        /// The option.
        option: &'static str,
        /// What it was.
        value: f64,
        /// The least that is possible.
        least: f64,
        /// The most that is possible.
        most: f64,
    },
    /// There is nothing to choose from.
    #[error("the profiles have no model that runs anywhere")]
    NoModels,
    /// Weights of job sizes that are none.
    #[error("--job-gpus: at least one size needs a weight above 0")]
    NoSizes,
    /// A name that occurs twice.
    #[error("--types: `{0}` is named twice")]
    TwiceNamed(String),
}

/// Jobs that are generated at most; a table has as many rows at most.
pub const JOBS_MAX: u32 = limits::ROWS_MAX as u32;
/// Ten years.
const DAYS_MAX: f64 = 3_653.0;

/// Whether a number is in its range.
pub(crate) fn within(
    option: &'static str,
    value: f64,
    least: f64,
    most: f64,
) -> Result<(), GenerateError> {
    if value.is_finite() && (least..=most).contains(&value) {
        return Ok(());
    }
    Err(GenerateError::OutOfRange { option, value, least, most })
}

/// Whether a trace can be made.
pub(crate) fn check_trace(spec: &TraceSpec) -> Result<(), GenerateError> {
    let jobs = f64::from(spec.jobs);
    within("--jobs", jobs, 1.0, f64::from(JOBS_MAX))?;
    within("--days", spec.days, 1e-3, DAYS_MAX)?;
    if let Some(tenants) = spec.tenants {
        within("--tenants", f64::from(tenants), 1.0, jobs)?;
    }
    if let Some(longest) = spec.longest_s {
        within("--longest", longest, 1.0, limits::SECONDS_MAX)?;
    }
    if let Some(load) = spec.load {
        within("--load", load.load, 1e-6, 1e6)?;
        within("--gpus", load.gpus as f64, 1.0, limits::GPUS_MAX as f64)?;
    }
    let Some(sizes) = &spec.gpus else { return Ok(()) };
    for (gpus, weight) in sizes {
        within("--job-gpus", f64::from(*gpus), 1.0, f64::from(limits::GPUS_PER_JOB_MAX))?;
        within("--job-gpus", *weight, 0.0, 1e12)?;
    }
    if sizes.iter().all(|(_, weight)| *weight == 0.0) {
        return Err(GenerateError::NoSizes);
    }
    Ok(())
}
