//! What owners and operators order.

use crate::action::{Action, Refusal, bad, wrong};
use crate::ids::{GroupKey, JobId, Slot, TenantKey, WorkloadKey};
use crate::job::{Next, Phase};
use crate::ledger::{self, advance};
use crate::lifecycle::{find, set_aside, start_within_limit, unpark};
use crate::profile::Profile;
use crate::reason::StopReason;
use crate::rounds::fill;
use crate::settings::Settings;
use crate::state::State;
use crate::time::Time;

impl State {
    /// Changes the settings; they count from the next round on. Another rounding begins with empty
    /// accounts: the two do not count the same thing.
    pub fn set_settings(&mut self, settings: Settings) {
        ledger::settle(self, self.now);
        if settings.rounding != self.settings.rounding {
            ledger::clear(self);
        }
        self.settings = settings;
        self.entitlement.invalidate();
    }
}

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
    state.entitlement.invalidate();
    Ok(Vec::new())
}

/// A lower limit stops what is beyond it when the next round begins.
pub(crate) fn limit(
    state: &mut State,
    at: Time,
    tenant: TenantKey,
    gpus: Option<u32>,
) -> Result<Vec<Action>, Refusal> {
    known(state, tenant)?;
    advance(state, at);
    // Who waited for the old limit is started before anybody else is chosen.
    state.tenants[tenant.0].limit = Some(gpus.unwrap_or(u32::MAX));
    let mut actions = start_within_limit(state, tenant);
    state.tenants[tenant.0].limit = gpus;
    for workload in state.tenants[tenant.0].workloads.clone() {
        state.workloads[workload.0].cap = gpus.unwrap_or(u32::MAX);
    }
    state.entitlement.invalidate();
    actions.extend(fill(state));
    Ok(actions)
}

pub(crate) fn workload_weight(
    state: &mut State,
    at: Time,
    workload: WorkloadKey,
    weight: f64,
) -> Result<Vec<Action>, Refusal> {
    if workload.0 >= state.workloads.len() {
        return Err(Refusal::UnknownWorkload);
    }
    sensible(weight)?;
    advance(state, at);
    state.workloads[workload.0].weight = weight;
    state.entitlement.invalidate();
    Ok(Vec::new())
}

/// A waiting job finds its new place in its queue; what runs is looked at when the next round begins.
pub(crate) fn priority(
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
    state.entitlement.invalidate();
    Ok(fill(state))
}

pub(crate) fn group_weight(
    state: &mut State,
    at: Time,
    group: GroupKey,
    weight: f64,
) -> Result<Vec<Action>, Refusal> {
    known_group(state, Some(group))?;
    sensible(weight)?;
    advance(state, at);
    state.groups[group.0].weight = weight;
    state.entitlement.invalidate();
    Ok(Vec::new())
}

pub(crate) fn group_parent(
    state: &mut State,
    at: Time,
    group: GroupKey,
    parent: Option<GroupKey>,
) -> Result<Vec<Action>, Refusal> {
    known_group(state, Some(group))?;
    known_group(state, parent)?;
    if let Some(parent) = parent.filter(|&parent| state.stands_in(parent, group)) {
        let name = |group: GroupKey| state.groups[group.0].name.clone();
        return Err(Refusal::Cycle { group: name(group), parent: name(parent) });
    }
    advance(state, at);
    state.groups[group.0].parent = parent;
    state.entitlement.invalidate();
    Ok(Vec::new())
}

pub(crate) fn tenant_group(
    state: &mut State,
    at: Time,
    tenant: TenantKey,
    group: Option<GroupKey>,
) -> Result<Vec<Action>, Refusal> {
    known(state, tenant)?;
    known_group(state, group)?;
    advance(state, at);
    state.tenants[tenant.0].group = group;
    state.entitlement.invalidate();
    Ok(Vec::new())
}

fn known_group(state: &State, group: Option<GroupKey>) -> Result<(), Refusal> {
    let known = group.is_none_or(|group| group.0 < state.groups.len());
    known.then_some(()).ok_or(Refusal::UnknownGroup)
}

fn known(state: &State, tenant: TenantKey) -> Result<(), Refusal> {
    let known = tenant.0 < state.tenants.len();
    known.then_some(()).ok_or(Refusal::UnknownTenant)
}

fn sensible(weight: f64) -> Result<(), Refusal> {
    let sensible = weight.is_finite() && weight > 0.0;
    sensible.then_some(()).ok_or_else(|| bad("a weight is a finite number above 0"))
}
