//! Tenants and groups.

use super::text::{amounts_by_type, by_type, timestamp};
use super::visible;
use crate::caller::Caller;
use crate::problem::{Kind, More as _};
use crate::world::{GroupEntry, TenantEntry, World};
use oef_api::types::PageQuery;
use oef_api::types::{ApiError, Group, Groups, JobOrder, JobState, PastUsage, Tenant, Tenants};
use oef_sched::{Order, Promises, Time, Workload};
use std::collections::BTreeMap;

/// A tenant.
pub fn tenant(world: &World, caller: &Caller, name: &str) -> Result<Tenant, ApiError> {
    visible::tenant(world, caller, name).map(|entry| shown(world, name, entry))
}

/// Tenants by name.
pub fn tenants(world: &World, caller: &Caller, page: &PageQuery) -> Result<Tenants, ApiError> {
    let seen = world.tenants.iter().filter(|(name, _)| caller.may_see(name));
    let (entries, next) = visible::named(seen.map(|(n, entry)| (n.clone(), (n, entry))), page)?;
    let tenants = entries.into_iter().map(|(name, entry)| shown(world, name, entry)).collect();
    Ok(Tenants { tenants, next })
}

fn shown(world: &World, name: &str, entry: &TenantEntry) -> Tenant {
    let types = world.sched.cluster().types();
    let own = || world.workloads_of(entry);
    let sum = |figure: fn(&Workload, usize) -> f64| {
        amounts_by_type(types, |j| own().map(|w| figure(w, j)).sum())
    };
    let jobs = |states: &[JobState]| world.index.count(Some(name), states);
    let known = world.sched.tenants().get(entry.key.0);
    Tenant {
        name: name.into(),
        weight: entry.weight,
        effective_weight: known.and_then(|tenant| tenant.effective_weight()),
        past: world.sched.past_usage(entry.key).map(past),
        group: entry.group.clone(),
        limits: entry.limits.clone(),
        guarantee: known.map_or_else(BTreeMap::new, |t| t.promises().guarantee.clone()),
        limit: known.map_or_else(BTreeMap::new, |t| t.promises().limit.clone()),
        suspended: entry.suspended,
        order: order(world.sched.tenants().get(entry.key.0).map(|tenant| tenant.order())),
        user: entry.user.clone(),
        created: timestamp(Time(entry.created_ms)),
        queued: jobs(&[JobState::Queued]),
        running: jobs(&JobState::PLACED),
        share: sum(Workload::share_on),
        holds: by_type(types, |j| own().map(|w| w.used_on(j)).sum()),
        deficit: sum(Workload::balance_on),
    }
}

fn past(past: oef_sched::PastUsage) -> PastUsage {
    let oef_sched::PastUsage { used_hours, split_hours, usage, factor } = past;
    PastUsage { used_hours, split_hours, usage, factor }
}

/// Groups by name, each with those of its tenants that the caller may see.
pub fn groups(world: &World, caller: &Caller, page: &PageQuery) -> Result<Groups, ApiError> {
    let (entries, next) =
        visible::named(world.groups.iter().map(|(n, g)| (n.clone(), (n, g))), page)?;
    let shown = entries.into_iter().map(|(name, group)| shown_group(world, caller, name, group));
    Ok(Groups { groups: shown.collect(), next })
}

/// A group.
pub fn group(world: &World, caller: &Caller, name: &str) -> Result<Group, ApiError> {
    let entry = world.groups.get(name);
    let entry = entry.ok_or_else(|| {
        Kind::NotFound
            .problem(format!("there is no group `{name}`"))
            .hint("`oef groups` lists them")
    })?;
    Ok(shown_group(world, caller, name, entry))
}

fn shown_group(world: &World, caller: &Caller, name: &str, group: &GroupEntry) -> Group {
    let is_member = |entry: &TenantEntry| entry.group.as_deref() == Some(name);
    let tenants = world.tenants.iter();
    let members = tenants.filter(|(tenant, entry)| is_member(entry) && caller.may_see(tenant));
    let promises = world.sched.groups().get(group.key.0).map(|g| g.promises.clone());
    let Promises { guarantee, limit } = promises.unwrap_or_default();
    Group {
        guarantee,
        limit,
        name: name.into(),
        weight: group.weight,
        parent: group.parent.clone(),
        tenants: members.map(|(tenant, _)| tenant.clone()).collect(),
    }
}

/// An order of jobs as callers know it.
fn order(order: Option<Order>) -> JobOrder {
    match order.unwrap_or_default() {
        Order::Fair => JobOrder::Fair,
        Order::Fifo => JobOrder::Fifo,
        Order::Shortest => JobOrder::Shortest,
    }
}
