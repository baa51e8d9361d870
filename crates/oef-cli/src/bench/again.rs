//! Solving again after one tenant came or left, against solving the changed problem from scratch.

use super::cases::{Case, Work};
use super::instances;
use super::measure::{self, Measured};
use super::reference::Reference;
use super::report::FROM_SCRATCH;
use oef_core::change::{Change, apply};
use oef_core::{Problem, ProblemSpec};

/// The measured solve again, and the reference from scratch in the same run.
pub type Again = (Result<Measured, String>, Vec<Reference>);

/// Measures one arrival or departure.
pub fn measure(case: &Case, problem: &Problem, seed: u64, repeat: u32) -> Result<Again, String> {
    let change = change(case, seed);
    let spec = apply(&ProblemSpec::from(problem), std::slice::from_ref(&change));
    let changed = spec.map_err(|e| e.to_string())?.validate().map_err(|e| e.to_string())?;
    let scratch = measure::from_scratch(case, &changed, repeat).map_err(|e| e.to_string())?;
    let reference =
        Reference { name: FROM_SCRATCH, seconds: scratch.median(), total: Some(scratch.total) };
    Ok((again(case, problem, &change, repeat), vec![reference]))
}

/// Somebody new comes, or somebody from the middle of the list leaves.
fn change(case: &Case, seed: u64) -> Change {
    match case.work {
        Work::Departure => Change::RemoveTenant { tenant: format!("t{}", case.tenants / 2) },
        _ => Change::AddTenant(instances::newcomer(seed)),
    }
}

/// The solve from where the unchanged problem was left.
fn again(
    _case: &Case,
    _problem: &Problem,
    _change: &Change,
    _repeat: u32,
) -> Result<Measured, String> {
    Err("the solver keeps no state yet".into())
}
