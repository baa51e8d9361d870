//! The mechanisms: eight ways to turn a [`Problem`](crate::Problem) into
//! [`Shares`](crate::Shares), behind one function.

#[cfg_attr(not(test), expect(dead_code, reason = "until the dispatch below calls it"))]
mod gandiva_fair;
mod market;
#[cfg_attr(not(test), expect(dead_code, reason = "until the dispatch below calls it"))]
mod max_min;
mod name;
mod outcome;
#[cfg(test)]
mod testing;

pub use name::{Mechanism, UnknownMechanism};
pub use outcome::{Outcome, SolveError, SolverReport, Status, Trade};

use crate::problem::Problem;

/// What a caller may choose besides the mechanism.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// `gavel` only: no tenant gets more GPUs than this.
    pub gavel_cap: Option<f64>,
    /// Asked now and then during a long solve; once it answers true, the best answer so far is
    /// returned with its proven gap ([`Status::Feasible`]). The core has no clock of its own.
    pub stop: Option<&'a dyn Fn() -> bool>,
}

impl std::fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let stop = self.stop.map(|_| "..");
        f.debug_struct("Options").field("gavel_cap", &self.gavel_cap).field("stop", &stop).finish()
    }
}

/// Computes the shares of `problem` under `mechanism`.
///
/// The answer is canonical: it does not depend on the order of tenants or types, equal tenants with
/// equal weights get equal throughput, and ties between optima are broken by the max-min of
/// throughput over equal split.
pub fn solve(
    problem: &Problem,
    mechanism: Mechanism,
    options: &Options<'_>,
) -> Result<Outcome, SolveError> {
    let _ = (problem, mechanism, options);
    Err(SolveError::Numerical { mechanism, detail: "not there yet".into() })
}
