//! The report of a simulation: comparisons first, then a part per mechanism.

mod build;
mod cast;
mod comparison;
mod envy;
mod favour;
mod gangs;
mod ledger;
mod measures;
mod mechanism;
mod over_time;
mod summary;
mod words;

pub use build::build;
