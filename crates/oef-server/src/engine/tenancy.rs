//! Commands about tenants, groups, workloads and tokens.

use super::budgets::Budgets;
use super::checks;
use super::command::Done;
use super::gang_figures;
use super::prepare::{Prepared, forbidden, problem_of};
use crate::caller::Caller;
use crate::problem::{Kind, More};
use crate::secret::{self, Secret};
use crate::world::{Change, GroupChange, ProfileEntry, Rejection, TokenEntry, World};
use oef_api::types::{
    GroupPut, Limits, Problem, Provenance, Role, TenantCreate, TenantPatch, TokenCreate,
    WorkloadPut,
};
use oef_core::problem::{MAX_LIVE_RATIO, UnusableProfile, check_profile, check_profile_within};
use oef_sched::Time;
use std::collections::BTreeMap;

/// Tenants that one daemon takes; the cooperative shares of more take minutes.
const TENANTS_MAX: usize = 10_000;
/// Workloads of one tenant.
const WORKLOADS_MAX: usize = 1000;
/// Tokens that are valid at once.
const TOKENS_MAX: usize = 10_000;
const NOTE_MAX: usize = 200;

pub(super) fn known_tenant(world: &World, name: &str) -> Result<(), Problem> {
    if world.tenants.contains_key(name) {
        return Ok(());
    }
    let problem = problem_of(&Rejection::UnknownTenant(name.into()));
    Err(match checks::did_you_mean(name, world.tenants.keys().map(String::as_str)) {
        Some(hint) => problem.hint(hint),
        None => problem,
    })
}

pub(super) fn known_group(world: &World, name: &str) -> Result<(), Problem> {
    if world.groups.contains_key(name) {
        return Ok(());
    }
    let problem = problem_of(&Rejection::UnknownGroup(name.into()));
    Err(match checks::did_you_mean(name, world.groups.keys().map(String::as_str)) {
        Some(hint) => problem.hint(hint),
        None => problem,
    })
}

pub(super) fn create(
    world: &World,
    caller: &Caller,
    tenant: TenantCreate,
) -> Result<Vec<Change>, Problem> {
    let TenantCreate { name, weight, group, limits, user } = tenant;
    check_user(caller, user.as_deref())?;
    if world.tenants.contains_key(&name) {
        return Err(problem_of(&Rejection::TenantExists(name)).hint("change it instead"));
    }
    let weight = weight.unwrap_or(1.0);
    checks::weight("weight", weight)?;
    if let Some(group) = &group {
        known_group(world, group)?;
    }
    let user = user.map(|user| Change::TenantUser { name: name.clone(), user: Some(user) });
    let created = create_checked(world, name, weight, group, limits)?;
    Ok([created].into_iter().chain(user).collect())
}

/// A new tenant with a sensible weight and a group that is known.
pub(super) fn create_checked(
    world: &World,
    name: String,
    weight: f64,
    group: Option<String>,
    limits: Limits,
) -> Result<Change, Problem> {
    checks::name("the name of a tenant", "name", &name)?;
    if world.index.has_jobs_of(&name) {
        return Err(problem_of(&Rejection::TenantLeaves(name)));
    }
    if world.tenants.len() >= TENANTS_MAX {
        let why = format!("there are {TENANTS_MAX} tenants, as many as there may be");
        return Err(Kind::LimitReached.problem(why).hint("remove one that is not needed"));
    }
    Ok(Change::TenantCreated { name, weight, group, limits })
}

/// Only admins decide which user jobs run as: choosing a user gives all that the user has.
fn check_user(caller: &Caller, user: Option<&str>) -> Result<(), Problem> {
    let Some(user) = user else { return Ok(()) };
    if !caller.is_admin() {
        return Err(forbidden(caller, "decide which user jobs run as"));
    }
    checks::name("the name of a user", "user", user)
}

pub(super) fn patch(
    world: &World,
    caller: &Caller,
    name: String,
    patch: TenantPatch,
) -> Result<Vec<Change>, Problem> {
    known_tenant(world, &name)?;
    let TenantPatch { weight, group, limits, suspended, user, order } = patch;
    if let Some(user) = &user {
        check_user(caller, Some(user.as_deref().unwrap_or("daemon")))?;
    }
    weight.map_or(Ok(()), |weight| checks::weight("weight", weight))?;
    let group = match group {
        None => None,
        Some(None) => Some(GroupChange::Out),
        Some(Some(group)) => {
            known_group(world, &group)?;
            Some(GroupChange::Into(group))
        }
    };
    let user = user.map(|user| Change::TenantUser { name: name.clone(), user });
    let change = Change::TenantChanged { name, weight, group, limits, suspended, order };
    Ok([change].into_iter().chain(user).collect())
}

pub(super) fn group(world: &World, name: String, group: GroupPut) -> Result<Change, Problem> {
    checks::name("the name of a group", "name", &name)?;
    let weight = group.weight.unwrap_or(1.0);
    checks::weight("weight", weight)?;
    if let Some(parent) = &group.parent {
        known_group(world, parent)?;
    }
    Ok(Change::GroupPut { name, weight, parent: group.parent })
}

pub(super) fn workload(
    world: &World,
    now: Time,
    caller: &Caller,
    tenant: String,
    name: String,
    put: WorkloadPut,
) -> Result<Change, Problem> {
    if !caller.may_see(&tenant) {
        return Err(problem_of(&Rejection::UnknownTenant(tenant)));
    }
    if !caller.may_change(&tenant) {
        return Err(forbidden(caller, "change a workload"));
    }
    known_tenant(world, &tenant)?;
    checks::name("the name of a workload", "name", &name)?;
    put.weight.map_or(Ok(()), |weight| checks::weight("weight", weight))?;
    let own = world.tenants.get(&tenant).map(|entry| &entry.workloads);
    if own.is_some_and(|own| !own.contains_key(&name) && own.len() >= WORKLOADS_MAX) {
        let why = format!("tenant `{tenant}` has {WORKLOADS_MAX} workloads, as many as it may");
        return Err(Kind::LimitReached.problem(why));
    }
    let provenance = put.provenance.unwrap_or(Provenance::Declared);
    if provenance != Provenance::Declared && !caller.is_admin() {
        let why = "only an admin may say that a profile was measured or estimated";
        return Err(Kind::Forbidden.problem(why).field("provenance"));
    }
    let throughput = put.throughput.as_ref();
    let gangs = gang_figures::told(world, now, throughput, &put.gangs, provenance)?;
    let profile = match put.throughput {
        None => None,
        Some(throughput) => {
            profile(world, &throughput)?;
            let source = match &caller.tenant {
                Some(tenant) => format!("told by {tenant}"),
                None => "told by the operator".into(),
            };
            let plain = ProfileEntry::plain(throughput, provenance, now.0, source);
            Some(Box::new(ProfileEntry { gang_figures: gangs, ..plain }))
        }
    };
    Ok(Change::WorkloadPut { tenant, name, weight: put.weight, profile })
}

fn profile(world: &World, throughput: &BTreeMap<String, f64>) -> Result<(), Problem> {
    for (gpu, &on) in throughput {
        known_type(world, gpu, "throughput")?;
        if let Err(UnusableProfile::Number(_)) = check_profile(&[on]) {
            let why = format!("throughput on `{gpu}` is a number from 0 on, not {on}");
            return Err(Kind::BadRequest.problem(why).field("throughput"));
        }
    }
    let on: Vec<f64> = throughput.values().copied().collect();
    if let Err(reason @ UnusableProfile::Range { .. }) = check_profile_within(&on, MAX_LIVE_RATIO) {
        let why = format!("this profile cannot be used: {reason}");
        return Err(Kind::BadRequest.problem(why).field("throughput").hint("check the units"));
    }
    if throughput.values().all(|&on| on == 0.0) {
        let why = "with this profile it could run nowhere: one throughput must be above 0";
        return Err(Kind::BadRequest.problem(why).field("throughput"));
    }
    Ok(())
}

/// A gpu type that the cluster has, or had.
pub(super) fn known_type(world: &World, gpu: &str, field: &str) -> Result<(), Problem> {
    let types = world.sched.cluster().types();
    if types.iter().any(|known| known == gpu) {
        return Ok(());
    }
    let known = types.join(", ");
    let problem = Kind::UnknownType
        .problem(format!("there is no gpu type `{gpu}`; there are {known}"))
        .field(field);
    Err(match checks::did_you_mean(gpu, types.iter().map(String::as_str)) {
        Some(hint) => problem.hint(hint),
        None => problem,
    })
}

/// Where all jobs run as one user, a tenant's job can read and do whatever the daemon can: a token for it alone would
/// only look like a boundary.
pub(super) fn may_have_token(
    world: &World,
    create: &TokenCreate,
    budgets: &Budgets,
) -> Result<(), Problem> {
    let Some(tenant) = create.tenant.as_deref().filter(|_| create.role == Role::Tenant) else {
        return Ok(());
    };
    known_tenant(world, tenant)?;
    let has_user = world.tenants.get(tenant).is_some_and(|entry| entry.user.is_some());
    if has_user || budgets.trust_tenants {
        return Ok(());
    }
    let why = format!(
        "the jobs of `{tenant}` run as the daemon's own user, and so can do whatever the daemon can: a token would \
         not keep it apart from the others"
    );
    let hint = "give it a user (`oef tenant set NAME --user USER`, daemon as root), or set `trust_tenants = true` \
                (`oef up --trust-tenants`) if everybody who gets a token is trusted";
    Err(Kind::Forbidden.problem(why).field("tenant").hint(hint))
}

pub(super) fn token(
    world: &World,
    now: Time,
    create: TokenCreate,
    next: &mut u64,
) -> Result<Prepared, Problem> {
    let TokenCreate { role, tenant, note, expires_in_s } = create;
    match (role, &tenant) {
        (Role::Tenant, None) => {
            let why = "a token of role tenant is for a tenant: name it";
            return Err(Kind::BadRequest.problem(why).field("tenant"));
        }
        (Role::Tenant, Some(tenant)) => known_tenant(world, tenant)?,
        (_, Some(_)) => {
            let why = "only a token of role tenant is for a tenant";
            return Err(Kind::BadRequest.problem(why).field("tenant"));
        }
        (_, None) => {}
    }
    if let Some(note) = &note {
        checks::line("the note", "note", note, NOTE_MAX)?;
    }
    checks::seconds("the time until it is void", "expires_in_s", expires_in_s, false)?;
    if world.tokens.len() >= TOKENS_MAX {
        let why = format!("there are {TOKENS_MAX} tokens, as many as there may be");
        return Err(Kind::LimitReached.problem(why).hint("revoke those that are not needed"));
    }
    let Secret { text, hash } = secret::new()?;
    let id = (*next).max(world.next_token);
    *next = id + 1;
    let expires_ms = expires_in_s.map(|s| now.0.saturating_add((s * 1000.0) as u64));
    let token = TokenEntry { hash, role, tenant, note, created_ms: now.0, expires_ms };
    let done = Done::Token { id, secret: text };
    Ok(Prepared::Changes(vec![Change::TokenCreated { id, token }], done))
}
