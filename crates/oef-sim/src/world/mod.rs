//! How fast jobs really run, and what goes wrong.

mod failures;
mod rates;
mod reports;

pub use failures::{Failures, Outage};
pub use rates::{JobRates, SCALING_PER_DOUBLING, SPREAD_LOSS_PER_DOUBLING, rates};
pub use reports::{Lie, report};
