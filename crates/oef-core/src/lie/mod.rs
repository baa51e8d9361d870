//! The search for the report that pays a tenant most.
//!
//! The tenant may report any profile for each of its workloads; everybody else tells the truth and
//! the reference type stays what it is, so every report is normalised there. What counts is its true
//! throughput, by its true speedups, with the shares that the report brings.

mod candidates;
mod result;
mod search;
#[cfg(test)]
mod tests;
mod trial;

pub use result::{Attempt, Direction, Effort, Lie, Report};
pub use search::{search, search_with};
