//! What owners and operators order about jobs.

use super::State;
use super::ledger::advance;
use super::lifecycle::{find, set_aside, start_within_limit, unpark};
use super::parties::known;
use crate::action::{Action, Refusal, wrong};
use crate::ids::{JobId, Slot, TenantKey};
use crate::job::{Next, Phase};
use crate::reason::StopReason;
use crate::time::Time;

pub(super) fn hold(state: &mut State, at: Time, id: JobId) -> Result<Vec<Action>, Refusal> {
    let slot = find(state, id)?;
    let job = state.at(slot);
    if let Phase::Stopping { next: Next::Forget, .. } = job.phase {
        return Err(wrong(id, "being cancelled already"));
    }
    if job.on_hold {
        return Err(wrong(id, "held already"));
    }
    advance(state, at);
    state.at_mut(slot).on_hold = true;
    Ok(set_aside(state, slot, StopReason::Held).into_iter().collect())
}

pub(super) fn release(state: &mut State, at: Time, id: JobId) -> Result<Vec<Action>, Refusal> {
    let slot = find(state, id)?;
    if !state.at(slot).on_hold {
        return Err(wrong(id, "not held"));
    }
    advance(state, at);
    state.at_mut(slot).on_hold = false;
    if state.at(slot).phase == Phase::Held && !state.is_held(slot) {
        unpark(state, slot);
    }
    Ok(Vec::new())
}

pub(super) fn suspend(
    state: &mut State,
    at: Time,
    tenant: TenantKey,
    suspended: bool,
) -> Result<Vec<Action>, Refusal> {
    known(state, tenant)?;
    advance(state, at);
    state.tenants[tenant.0].suspended = suspended;
    let of_tenant = |slot: &Slot| state.at(*slot).spec.tenant == tenant;
    let slots: Vec<Slot> = state.by_id.values().copied().filter(of_tenant).collect();
    let mut actions = Vec::new();
    for slot in slots {
        match (&state.at(slot).phase, suspended) {
            (Phase::Held, true) | (Phase::Stopping { next: Next::Forget, .. }, _) => {}
            (_, true) => actions.extend(set_aside(state, slot, StopReason::Suspended)),
            (Phase::Held, false) if !state.is_held(slot) => unpark(state, slot),
            (_, false) => {}
        }
    }
    Ok(actions)
}

/// A lower limit stops what is beyond it when the next round begins.
pub(super) fn limit(
    state: &mut State,
    at: Time,
    tenant: TenantKey,
    gpus: Option<u32>,
) -> Result<Vec<Action>, Refusal> {
    known(state, tenant)?;
    advance(state, at);
    // Who waited for the old limit is started before anybody else is chosen.
    state.tenants[tenant.0].limit = Some(gpus.unwrap_or(u32::MAX));
    let actions = start_within_limit(state, tenant);
    state.tenants[tenant.0].limit = gpus;
    for workload in state.tenants[tenant.0].workloads.clone() {
        state.workloads[workload.0].cap = gpus.unwrap_or(u32::MAX);
    }
    state.entitlement.invalidate();
    Ok(actions)
}

/// A waiting job finds its new place in its queue; what runs is looked at when the next round begins.
pub(super) fn priority(
    state: &mut State,
    at: Time,
    id: JobId,
    priority: i32,
) -> Result<Vec<Action>, Refusal> {
    let slot = find(state, id)?;
    advance(state, at);
    let waits = state.at(slot).phase == Phase::Queued;
    if waits {
        state.dequeue(slot);
    }
    state.at_mut(slot).spec.priority = priority;
    if waits {
        state.requeue(slot);
    }
    Ok(Vec::new())
}
