//! Solving again after one tenant came or left, against solving the changed problem from scratch.

use super::cases::{Case, Work};
use super::instances;
use super::measure::{self, Measured};
use super::reference::Reference;
use super::report::FROM_SCRATCH;
use oef_core::change::{Change, apply};
use oef_core::{Options, Outcome, Problem, ProblemSpec, Solver};
use std::collections::BTreeMap;
use std::time::Instant;

/// The measured solve again, and the reference from scratch in the same run.
pub type Again = (Result<Measured, String>, Vec<Reference>);

/// Measures one arrival or departure.
pub fn measure(case: &Case, problem: &Problem, seed: u64, repeat: u32) -> Result<Again, String> {
    let change = change(case, seed);
    let spec = apply(&ProblemSpec::from(problem), std::slice::from_ref(&change));
    let changed = spec.map_err(|e| e.to_string())?.validate().map_err(|e| e.to_string())?;
    let scratch = measure::from_scratch(case, &changed, repeat).map_err(|e| e.to_string())?;
    let mut reference = Reference {
        name: FROM_SCRATCH,
        seconds: scratch.median(),
        total: Some(scratch.total),
        tenants_differ: None,
    };
    let again = again(case, problem, &change, repeat).map(|(problem, measured)| {
        let differ = difference((&changed, &scratch.outcome), (&problem, &measured.outcome));
        reference.tenants_differ = Some(differ);
        measured
    });
    Ok((again, vec![reference]))
}

/// Somebody new comes, or somebody from the middle of the list leaves.
fn change(case: &Case, seed: u64) -> Change {
    match case.work {
        Work::Departure => Change::RemoveTenant { tenant: format!("t{}", case.tenants / 2) },
        _ => Change::AddTenant(instances::newcomer(seed)),
    }
}

/// The change and the solve after it, from where the unchanged problem was left; every repeat from
/// there. Also the problem as the solver has changed it.
fn again(
    case: &Case,
    problem: &Problem,
    change: &Change,
    repeat: u32,
) -> Result<(Problem, Measured), String> {
    let options = Options::default();
    let mut solved = Solver::new(problem.clone(), case.mechanism);
    solved.solve(&options).map_err(|e| e.to_string())?;
    let mut seconds = Vec::new();
    let mut last = None;
    for _ in 0..repeat {
        let mut solver = solved.clone();
        let start = Instant::now();
        solver.apply(change).map_err(|e| e.to_string())?;
        let outcome = solver.solve(&options).map_err(|e| e.to_string())?;
        seconds.push(start.elapsed().as_secs_f64());
        last = Some((solver, outcome));
    }
    seconds.sort_by(f64::total_cmp);
    let (solver, outcome) = last.ok_or("it was not repeated")?;
    Ok((solver.problem().clone(), measure::judged(solver.problem(), seconds, outcome)))
}

/// The largest relative difference between a tenant's throughputs in two answers; infinite where the
/// tenants are not the same.
fn difference(a: (&Problem, &Outcome), b: (&Problem, &Outcome)) -> f64 {
    let of = |(problem, outcome): (&Problem, &Outcome)| -> BTreeMap<String, f64> {
        let ids = problem.tenant_ids();
        let figure = |t: oef_core::TenantId| outcome.shares.throughput(problem, t);
        ids.map(|t| (problem.tenants()[t.index()].name.clone(), figure(t))).collect()
    };
    let (a, b) = (of(a), of(b));
    if !a.keys().eq(b.keys()) {
        return f64::INFINITY;
    }
    let differ = a.values().zip(b.values()).map(|(x, y)| (x - y).abs() / x.abs().max(1e-300));
    differ.fold(0.0, f64::max)
}
