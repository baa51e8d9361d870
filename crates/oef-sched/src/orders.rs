//! What owners and operators order.

use crate::action::{Action, Refusal};
use crate::ids::{JobId, Slot, TenantKey, WorkloadKey};
use crate::job::{Next, Phase};
use crate::lives::{set_aside, unpark};
use crate::plan::fill;
use crate::reason::StopReason;
use crate::state::State;
use crate::step::{advance, bad, find, wrong};
use crate::tenant::Profile;
use crate::time::Time;

pub(crate) fn hold(state: &mut State, at: Time, id: JobId) -> Result<Vec<Action>, Refusal> {
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
    let mut actions: Vec<Action> = set_aside(state, slot, StopReason::Held).into_iter().collect();
    actions.extend(fill(state));
    Ok(actions)
}

pub(crate) fn release(state: &mut State, at: Time, id: JobId) -> Result<Vec<Action>, Refusal> {
    let slot = find(state, id)?;
    if !state.at(slot).on_hold {
        return Err(wrong(id, "not held"));
    }
    advance(state, at);
    state.at_mut(slot).on_hold = false;
    if state.at(slot).phase == Phase::Held && !state.is_held(slot) {
        unpark(state, slot);
    }
    Ok(fill(state))
}

pub(crate) fn suspend(
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
    actions.extend(fill(state));
    Ok(actions)
}

pub(crate) fn weight_changed(
    state: &mut State,
    at: Time,
    tenant: TenantKey,
    weight: f64,
) -> Result<Vec<Action>, Refusal> {
    known(state, tenant)?;
    sensible(weight)?;
    advance(state, at);
    state.tenants[tenant.0].weight = weight;
    state.entitlement.forget();
    Ok(Vec::new())
}

pub(crate) fn profiled(
    state: &mut State,
    at: Time,
    workload: WorkloadKey,
    profile: Profile,
) -> Result<Vec<Action>, Refusal> {
    if workload.0 >= state.workloads.len() {
        return Err(Refusal::UnknownWorkload);
    }
    if profile.throughput.iter().any(|t| !t.is_finite() || *t < 0.0) {
        return Err(bad("throughputs are finite numbers from 0 on"));
    }
    advance(state, at);
    state.workloads[workload.0].profile = profile;
    state.entitlement.forget();
    Ok(fill(state))
}

fn known(state: &State, tenant: TenantKey) -> Result<(), Refusal> {
    let known = tenant.0 < state.tenants.len();
    known.then_some(()).ok_or(Refusal::UnknownTenant)
}

fn sensible(weight: f64) -> Result<(), Refusal> {
    let sensible = weight.is_finite() && weight > 0.0;
    sensible.then_some(()).ok_or_else(|| bad("a weight is a finite number above 0"))
}
