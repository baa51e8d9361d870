//! What owners and operators order about jobs.

use super::State;
use super::ledger::advance;
use super::lifecycle::{find, reclassify, settle, start_within_limit};
use super::registry::known;
use crate::action::{Applied, wrong};
use crate::ids::{JobId, Slot, TenantKey};
use crate::job::{JobChange, Next, Phase};
use crate::order::Order;
use crate::reason::StopReason;
use crate::time::Time;

/// What is new about a job counts at once: one that may not run any more is stopped, one that may waits.
pub(super) fn changed(state: &mut State, at: Time, id: JobId, change: JobChange) -> Applied {
    let slot = find(state, id)?;
    let job = state.at(slot);
    if let Phase::Stopping { next: Next::Forget, .. } = job.phase {
        return Err(wrong(id, "being cancelled already"));
    }
    let is_placed = !matches!(job.phase, Phase::Queued | Phase::Held);
    if is_placed && (change.types.is_some() || change.memory.is_some()) {
        return Err(wrong(
            id,
            "on its GPUs: what GPUs a job may use can be changed while it waits",
        ));
    }
    advance(state, at);
    let waits = state.at(slot).phase == Phase::Queued;
    if waits {
        state.dequeue(slot);
    }
    let JobChange { priority, types, memory, now, gate, min_run, max_run } = change;
    let spec = &mut state.at_mut(slot).spec;
    spec.priority = priority.unwrap_or(spec.priority);
    spec.min_run = min_run.max(spec.min_run);
    spec.max_run = max_run.unwrap_or(spec.max_run);
    spec.gate = gate.unwrap_or_else(|| std::mem::take(&mut spec.gate));
    let retyped = types.is_some() || memory.is_some();
    spec.types = types.unwrap_or_else(|| spec.types.take());
    spec.memory = memory.unwrap_or(spec.memory);
    spec.now = now.unwrap_or(spec.now);
    if waits {
        if retyped {
            reclassify(state, slot);
        }
        state.requeue(slot);
    }
    Ok(settle(state, slot, StopReason::Held).into_iter().collect())
}

/// A job that failed is tried again.
pub(super) fn release(state: &mut State, at: Time, id: JobId) -> Applied {
    let slot = find(state, id)?;
    if !state.at(slot).backing_off {
        return Err(wrong(id, "not waiting for another try"));
    }
    advance(state, at);
    state.at_mut(slot).backing_off = false;
    Ok(settle(state, slot, StopReason::Held).into_iter().collect())
}

pub(super) fn suspend(state: &mut State, at: Time, tenant: TenantKey, suspended: bool) -> Applied {
    known(state, tenant)?;
    advance(state, at);
    state.tenants[tenant.0].suspended = suspended;
    let of_tenant = |slot: &Slot| state.at(*slot).spec.tenant == tenant;
    let slots: Vec<Slot> = state.by_id.values().copied().filter(of_tenant).collect();
    let mut actions = Vec::new();
    for slot in slots {
        if !matches!(state.at(slot).phase, Phase::Stopping { next: Next::Forget, .. }) {
            actions.extend(settle(state, slot, StopReason::Suspended));
        }
    }
    Ok(actions)
}

/// Waiting jobs find their new places; what runs is looked at when the next round begins.
pub(super) fn order(state: &mut State, at: Time, tenant: TenantKey, order: Order) -> Applied {
    known(state, tenant)?;
    advance(state, at);
    state.tenants[tenant.0].order = order;
    let waits = |slot: &Slot| {
        let job = state.at(*slot);
        job.spec.tenant == tenant && job.phase == Phase::Queued
    };
    let slots: Vec<Slot> = state.by_id.values().copied().filter(waits).collect();
    for slot in slots {
        state.dequeue(slot);
        state.at_mut(slot).rank = state.rank(slot);
        state.requeue(slot);
    }
    Ok(Vec::new())
}

/// A lower limit stops what is beyond it when the next round begins.
pub(super) fn limit(state: &mut State, at: Time, tenant: TenantKey, gpus: Option<u32>) -> Applied {
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
