//! Explanations: why a result is what it is, as data first and as sentences second.

mod build;
mod reasons;
mod sentences;

pub use build::{explain, explain_with};
pub use reasons::{EnvyTie, Explanation, Holding, OneMore, TenantReason, TypeReason};
