//! Past usage is written down as time passes, and counts from one round to the next.

use super::State;
use crate::past::{Factors, Past, Sums, mean_hours};
use crate::settings::Settings;
use crate::time::Time;
use oef_core::Problem;

/// Lets the time pass up to an event.
pub(super) fn pass(state: &mut State, at: Time) {
    let Some(half_life) = state.settings.half_life() else { return };
    let span = at.since(state.ledger.remembered);
    state.ledger.remembered = at;
    let value = |gpu: usize| state.ledger.values.get(gpu).copied().unwrap_or(1.0);
    let capacity = state.cluster.capacity().iter().enumerate();
    let all: f64 = capacity.map(|(j, &gpus)| f64::from(gpus) * value(j)).sum();
    if all <= 0.0 {
        return;
    }
    let mut used = vec![0.0; state.tenants.len()];
    for key in &state.active {
        let workload = &state.workloads[key.0];
        let held = workload.used.iter().enumerate();
        used[workload.tenant.0] += held.map(|(j, &gpus)| f64::from(gpus) * value(j)).sum::<f64>();
    }
    let splits: Vec<f64> = state.equal_parts().into_iter().map(|part| part * all).collect();
    let (usual, hours) = (usual_usage(state), usual_hours(state, &splits, mean_hours(half_life)));
    for ((tenant, used), split) in state.tenants.iter_mut().zip(used).zip(splits) {
        if tenant.past.is_empty() {
            tenant.past.now = Sums { used: usual * split * hours, split: split * hours };
        }
        if !tenant.suspended {
            tenant.past.now.pass(span, half_life, used, split);
        }
    }
}

/// The hours of its split that a new tenant starts with: as many as the others have on average, so that equal users stay
/// equal, whenever they came.
fn usual_hours(state: &State, splits: &[f64], endless: f64) -> f64 {
    let known = state.tenants.iter().zip(splits).filter(|(tenant, _)| !tenant.past.is_empty());
    let (sums, now) = known.fold((0.0, 0.0), |(sums, now), (tenant, split)| {
        (sums + tenant.past.now.split, now + split)
    });
    if sums > 0.0 && now > 0.0 { sums / now } else { endless }
}

/// The usage of those with live jobs together, with which a new tenant starts; 1 where there are none.
fn usual_usage(state: &State) -> f64 {
    let mut has_jobs = vec![false; state.tenants.len()];
    state.active.iter().for_each(|w| has_jobs[state.workloads[w.0].tenant.0] = true);
    let here = state.tenants.iter().zip(has_jobs).filter(|(_, here)| *here);
    let (used, split) = here.fold((0.0, 0.0), |(used, split), (tenant, _)| {
        (used + tenant.past.now.used, split + tenant.past.now.split)
    });
    if split > 0.0 { used / split } else { 1.0 }
}

/// A round begins: what is remembered by now counts until the next.
pub(super) fn count(state: &mut State) {
    let before = Factors::of(state);
    if before.is_none() {
        return;
    }
    for tenant in &mut state.tenants {
        tenant.past.counted = tenant.past.now;
    }
    if Factors::of(state) != before {
        state.entitlement.invalidate();
    }
}

/// Other settings: a memory that is switched off is forgotten, one that is switched on begins; another half-life keeps
/// everybody's usage.
pub(super) fn resettle(state: &mut State, at: Time, next: &Settings) {
    let (before, after) = (state.settings.half_life(), next.half_life());
    let factor = match (before, after) {
        (before, after) if before == after => return,
        (Some(before), Some(after)) => after.0 as f64 / before.0 as f64,
        _ => 0.0,
    };
    state.ledger.remembered = at;
    for tenant in &mut state.tenants {
        let Past { now, counted } = tenant.past;
        tenant.past = Past { now: now.times(factor), counted: counted.times(factor) };
    }
    if before.is_none() {
        learn_values(state, after.is_some());
    }
}

/// What a GPU of each type is worth: the mean speedup over the tenants of the last shares, by their weights.
pub(super) fn learn_values(state: &mut State, is_on: bool) {
    let answer = state.entitlement.answer.solved().filter(|_| is_on);
    state.ledger.values = answer.map_or_else(Vec::new, |(problem, _)| values(problem));
}

fn values(problem: &Problem) -> Vec<f64> {
    let weight: f64 = problem.workloads().iter().map(|w| w.weight).sum();
    let value = |j: usize| {
        let worth: f64 = problem.workloads().iter().map(|w| w.weight * w.speedup[j]).sum();
        worth / weight
    };
    let values: Vec<f64> = (0..problem.types().len()).map(value).collect();
    let sensible = values.iter().all(|v| v.is_finite()) && values.iter().sum::<f64>() > 0.0;
    if sensible { values } else { Vec::new() }
}
