//! The report of a simulation: comparisons first, then a part per mechanism.

mod build;

pub use build::build;
