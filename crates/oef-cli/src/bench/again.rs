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

/// Measures as many different arrivals or departures as there should be repeats, each from where the
/// unchanged problem was left, and each beside a solve of the changed problem from scratch.
pub fn measure(case: &Case, problem: &Problem, seed: u64, repeat: u32) -> Result<Again, String> {
    let mut solved = Solver::new(problem.clone(), case.mechanism);
    solved.solve(&Options::default()).map_err(|e| e.to_string())?;
    let (mut seconds, mut from_scratch) = (Vec::new(), Vec::new());
    let (mut differ, mut last) = (0.0_f64, None);
    for round in 0..repeat.max(1) {
        let change = change(case, seed, round, repeat.max(1));
        let spec = apply(&ProblemSpec::from(problem), std::slice::from_ref(&change));
        let changed = spec.map_err(|e| e.to_string())?.validate().map_err(|e| e.to_string())?;
        let scratch = measure::from_scratch(case, &changed, 1).map_err(|e| e.to_string())?;
        from_scratch.push(scratch.median());
        let mut solver = solved.clone();
        let start = Instant::now();
        solver.apply(&change).map_err(|e| e.to_string())?;
        let outcome = solver.solve(&Options::default()).map_err(|e| e.to_string())?;
        seconds.push(start.elapsed().as_secs_f64());
        differ = differ.max(difference((&changed, &scratch.outcome), (solver.problem(), &outcome)));
        last = Some((scratch.total, solver, outcome));
    }
    seconds.sort_by(f64::total_cmp);
    from_scratch.sort_by(f64::total_cmp);
    let (total, solver, outcome) = last.ok_or("it was not repeated")?;
    let reference = Reference {
        name: FROM_SCRATCH,
        seconds: from_scratch[from_scratch.len() / 2],
        total: Some(total),
        tenants_differ: Some(differ),
    };
    Ok((Ok(measure::judged(solver.problem(), seconds, outcome)), vec![reference]))
}

/// Somebody new comes, or somebody leaves: another one every round.
fn change(case: &Case, seed: u64, round: u32, rounds: u32) -> Change {
    match case.work {
        Work::Departure => {
            let place = case.tenants * (round as usize + 1) / (rounds as usize + 1);
            Change::RemoveTenant { tenant: format!("t{place}") }
        }
        _ => Change::AddTenant(instances::newcomer(seed + u64::from(round))),
    }
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
