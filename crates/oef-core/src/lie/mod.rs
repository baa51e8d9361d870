//! The search for the report that pays a tenant most.

mod search;

pub use search::{Attempt, Direction, Effort, Lie, Report, search, search_with};
