//! Tenants, groups and workloads come and change; so do the settings.

use super::State;
use super::apply::types_appeared;
use super::gangs;
use super::ledger::{self, advance};
use super::lifecycle::start_placed;
use super::remember;
use crate::action::{Action, Applied, Refusal, bad};
use crate::ids::{GroupKey, RoundId, TenantKey, WorkloadKey};
use crate::order::Order;
use crate::past::Past;
use crate::profile::Profile;
use crate::promise::Promises;
use crate::settings::Settings;
use crate::tenant::{Group, Tenant, Workload};
use crate::time::{Span, Time};

/// Other settings count from the next round on. Another rounding begins with empty accounts: the two do not count the
/// same thing.
pub(super) fn settings(state: &mut State, at: Time, settings: Settings) -> Vec<Action> {
    ledger::settle(state, at);
    remember::pass(state, at);
    state.now = at;
    remember::resettle(state, at, &settings);
    if settings.rounding != state.settings.rounding {
        ledger::clear(state);
    }
    let other_memory = settings.gpu_memory != state.settings.gpu_memory;
    state.settings = settings;
    if other_memory {
        types_appeared(state);
    }
    state.entitlement.invalidate();
    Vec::new()
}

pub(super) fn add_tenant(state: &mut State, at: Time, name: String, weight: f64) -> Applied {
    if state.tenant_named(&name).is_some() {
        return Err(Refusal::KnownName(name));
    }
    sensible(weight)?;
    advance(state, at);
    state.tenants.push(Tenant {
        name,
        weight,
        workloads: Vec::new(),
        group: None,
        effective: None,
        suspended: false,
        order: Order::Fair,
        limit: None,
        holds: 0,
        waits_now: 0,
        displaced_in: RoundId(0),
        past: Past::default(),
        promises: Promises::default(),
    });
    Ok(Vec::new())
}

pub(super) fn add_group(
    state: &mut State,
    at: Time,
    name: String,
    weight: f64,
    parent: Option<GroupKey>,
) -> Applied {
    if state.group_named(&name).is_some() {
        return Err(Refusal::KnownName(name));
    }
    known_group(state, parent)?;
    sensible(weight)?;
    advance(state, at);
    state.groups.push(Group { name, weight, parent, promises: Promises::default() });
    Ok(Vec::new())
}

pub(super) fn add_workload(
    state: &mut State,
    at: Time,
    tenant: TenantKey,
    name: String,
    weight: f64,
    profile: Profile,
) -> Applied {
    known(state, tenant)?;
    if state.workload_named(tenant, &name).is_some() {
        return Err(Refusal::KnownName(name));
    }
    sensible(weight)?;
    advance(state, at);
    let key = WorkloadKey(state.workloads.len());
    let cap = state.tenants[tenant.0].limit.unwrap_or(u32::MAX);
    let workload = Workload::new(name, tenant, weight, profile.checked());
    state.workloads.push(Workload { cap, ..workload });
    state.tenants[tenant.0].workloads.push(key);
    Ok(Vec::new())
}

pub(super) fn weight(state: &mut State, at: Time, tenant: TenantKey, weight: f64) -> Applied {
    known(state, tenant)?;
    reweigh(state, at, weight, |state| &mut state.tenants[tenant.0].weight)
}

pub(super) fn workload_weight(
    state: &mut State,
    at: Time,
    of: WorkloadKey,
    weight: f64,
) -> Applied {
    known_workload(state, of)?;
    reweigh(state, at, weight, |state| &mut state.workloads[of.0].weight)
}

pub(super) fn group_weight(state: &mut State, at: Time, group: GroupKey, weight: f64) -> Applied {
    known_group(state, Some(group))?;
    reweigh(state, at, weight, |state| &mut state.groups[group.0].weight)
}

fn reweigh(
    state: &mut State,
    at: Time,
    weight: f64,
    of: impl FnOnce(&mut State) -> &mut f64,
) -> Applied {
    sensible(weight)?;
    advance(state, at);
    *of(state) = weight;
    state.entitlement.invalidate();
    Ok(Vec::new())
}

pub(super) fn restart_cost(
    state: &mut State,
    at: Time,
    workload: WorkloadKey,
    cost: Option<Span>,
) -> Applied {
    known_workload(state, workload)?;
    let rows = state.workloads[workload.0].gangs.clone();
    advance(state, at);
    for row in rows.into_iter().chain([workload]) {
        state.workloads[row.0].restart_cost = cost;
    }
    Ok(Vec::new())
}

pub(super) fn profiled(
    state: &mut State,
    at: Time,
    workload: WorkloadKey,
    profile: Profile,
) -> Applied {
    known_workload(state, workload)?;
    let figures = profile.gangs.iter().flat_map(|gang| &gang.throughput);
    if profile.throughput.iter().chain(figures).any(|t| !t.is_finite() || *t < 0.0) {
        return Err(bad("throughputs are finite numbers from 0 on"));
    }
    advance(state, at);
    state.workloads[workload.0].profile = profile;
    gangs::refresh(state, Some(workload));
    state.entitlement.invalidate();
    Ok(Vec::new())
}

pub(super) fn group_parent(
    state: &mut State,
    at: Time,
    group: GroupKey,
    parent: Option<GroupKey>,
) -> Applied {
    known_group(state, Some(group))?;
    known_group(state, parent)?;
    if let Some(parent) = parent.filter(|&parent| state.stands_in(parent, group)) {
        let name = |group: GroupKey| state.groups[group.0].name.clone();
        return Err(Refusal::Cycle { group: name(group), parent: name(parent) });
    }
    advance(state, at);
    state.groups[group.0].parent = parent;
    state.entitlement.invalidate();
    Ok(start_all_within_limit(state))
}

pub(super) fn tenant_group(
    state: &mut State,
    at: Time,
    tenant: TenantKey,
    group: Option<GroupKey>,
) -> Applied {
    known(state, tenant)?;
    known_group(state, group)?;
    advance(state, at);
    state.tenants[tenant.0].group = group;
    state.entitlement.invalidate();
    Ok(start_all_within_limit(state))
}

/// A lower limit stops what is beyond it when the next round begins; a guarantee counts from then on.
pub(super) fn tenant_promises(
    state: &mut State,
    at: Time,
    tenant: TenantKey,
    promises: Promises,
) -> Applied {
    known(state, tenant)?;
    advance(state, at);
    state.tenants[tenant.0].promises = promises;
    state.entitlement.invalidate();
    Ok(start_all_within_limit(state))
}

pub(super) fn group_promises(
    state: &mut State,
    at: Time,
    group: GroupKey,
    promises: Promises,
) -> Applied {
    known_group(state, Some(group))?;
    advance(state, at);
    state.groups[group.0].promises = promises;
    state.entitlement.invalidate();
    Ok(start_all_within_limit(state))
}

/// Starts the jobs that had GPUs and waited for a limit that may be another one now.
fn start_all_within_limit(state: &mut State) -> Vec<Action> {
    let tenants = (0..state.tenants.len()).map(TenantKey);
    tenants.flat_map(|tenant| start_placed(state, tenant)).collect()
}

fn known_group(state: &State, group: Option<GroupKey>) -> Result<(), Refusal> {
    let known = group.is_none_or(|group| group.0 < state.groups.len());
    known.then_some(()).ok_or(Refusal::UnknownGroup)
}

fn known_workload(state: &State, workload: WorkloadKey) -> Result<(), Refusal> {
    let known = workload.0 < state.workloads.len();
    known.then_some(()).ok_or(Refusal::UnknownWorkload)
}

pub(super) fn known(state: &State, tenant: TenantKey) -> Result<(), Refusal> {
    let known = tenant.0 < state.tenants.len();
    known.then_some(()).ok_or(Refusal::UnknownTenant)
}

fn sensible(weight: f64) -> Result<(), Refusal> {
    let sensible = weight.is_finite() && weight > 0.0;
    sensible.then_some(()).ok_or_else(|| bad("a weight is a finite number above 0"))
}
