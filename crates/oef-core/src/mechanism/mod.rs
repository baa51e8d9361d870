//! The mechanisms: eight ways to turn a [`Problem`](crate::Problem) into
//! [`Shares`](crate::Shares), behind one function.

mod dispatch;
mod gandiva_fair;
mod max_min;
mod name;
mod outcome;
#[cfg(test)]
mod testing;

pub use dispatch::solve;
pub(crate) use dispatch::{Memory, solve_again};
#[cfg(test)]
pub(crate) use max_min::divide;
pub use name::{ADVICE, Mechanism, UnknownMechanism};
pub use outcome::{Outcome, SolveError, SolverReport, Status, Trade};

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
