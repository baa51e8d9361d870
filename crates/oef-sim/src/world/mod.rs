//! How fast jobs really run, and what goes wrong.

mod failures;
mod rates;
mod reports;

pub use failures::{Failures, Outage};
pub use rates::{JobRates, profile_of};
pub use reports::{Lie, report};
