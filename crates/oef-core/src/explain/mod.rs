//! Explanations: why a result is what it is, as data first and as sentences second.

mod build;
mod reasons;
mod sentences;
#[cfg(test)]
mod tests;

pub use build::{TENANTS_COMPARED_MAX, explain, explain_with};
pub use reasons::{EnvyTie, Explanation, Holding, OneMore, TenantReason, TypeReason};
