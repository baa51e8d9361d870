//! Shares begin to count.

use super::State;
use super::ledger::{self, advance};
use super::remember;
use crate::action::{Applied, Refusal};
use crate::answer::{Answer, Asked};
use crate::time::Time;
use oef_core::{Options, WorkloadId};

/// Computes the shares now if they are not up to date, for a driver that may wait.
pub fn refresh_shares(state: &mut State, at: Time) {
    if state.is_stale() {
        let warm = std::mem::take(&mut state.entitlement.warm);
        let answer = state.ask(warm).answer(&Options::default());
        advance(state, at.max(state.now));
        take(state, answer);
    }
}

/// New shares count from now on. What they change is done when the next round begins.
pub(super) fn take_shares(state: &mut State, at: Time, answer: Answer) -> Applied {
    check(state, &answer)?;
    advance(state, at);
    take(state, answer);
    Ok(Vec::new())
}

/// Makes the shares of an answer those that count. One without shares, where there is something to share, leaves them
/// as they are.
fn take(state: &mut State, mut answer: Answer) {
    let entitlement = &mut state.entitlement;
    entitlement.solves = entitlement.solves.saturating_add(answer.solves());
    if answer.warm.0.is_some() {
        entitlement.warm = std::mem::take(&mut answer.warm);
    }
    if answer.solved().is_none() && answer.trouble().is_some() {
        entitlement.answer.trouble = answer.trouble;
        return;
    }
    let types = state.cluster.types().len();
    for workload in &mut state.workloads {
        workload.widen(types);
        workload.share.fill(0.0);
    }
    if let Some((_, outcome)) = answer.solved() {
        for (l, key) in answer.workloads().iter().enumerate() {
            let shares = outcome.shares.of_workload(WorkloadId(l));
            state.workloads[key.0].share[..shares.len()].copy_from_slice(shares);
        }
    }
    state.tenants.iter_mut().for_each(|tenant| tenant.effective = None);
    for (tenant, &weight) in answer.tenants().iter().zip(&answer.asked.weights) {
        state.tenants[tenant.0].effective = Some(weight);
    }
    state.entitlement.answer = answer;
    remember::learn_values(state, state.settings.half_life().is_some());
    ledger::follow_shares(state);
}

/// Whether an answer can be to a question of this state, now or earlier.
fn check(state: &State, answer: &Answer) -> Result<(), Refusal> {
    let Asked { tenants, workloads, active, demands, weights, version } = &answer.asked;
    let left_out = answer.left_out().iter().map(|(workload, _)| workload);
    let known = tenants.iter().all(|t| t.0 < state.tenants.len())
        && workloads.iter().chain(active).chain(left_out).all(|w| w.0 < state.workloads.len())
        && *version <= state.entitlement.version;
    let whole =
        weights.len() == tenants.len() && (demands.is_empty() || demands.len() == active.len());
    let fits = answer.solved().is_none_or(|(problem, outcome)| {
        problem.tenants().len() == tenants.len()
            && problem.workloads().len() == workloads.len()
            && problem.types().len() <= state.cluster.types().len()
            && outcome.shares.is_for(problem)
    });
    match known && whole && fits {
        true => Ok(()),
        false => Err(Refusal::BadValue("the shares are not for this cluster".into())),
    }
}
