//! Commands about tenants, groups, workloads and tokens.

use super::budgets::Budgets;
use super::checks;
use super::command::Done;
use super::gang_figures;
use super::prepare::{Prepared, forbidden, problem_of};
use crate::caller::{Caller, runs_as_daemon};
use crate::problem::{Kind, More};
use crate::secret::{self, Secret};
use crate::world::{
    Change, GroupChange, ProfileEntry, Rejection, TenantChange, TenantEntry, TokenEntry, World,
};
use oef_api::parsed::{GroupName, TenantName, Weight, WorkloadName};
use oef_api::types::{
    ApiError, GroupPut, Limits, Provenance, Role, TenantCreate, TenantPatch, TokenCreate,
    WorkloadPut,
};
use oef_core::problem::{MAX_LIVE_RATIO, UnusableProfile, check_profile, check_profile_within};
use oef_report::format::counted;
use oef_sched::{Event, EventKind, GroupKey, Promises, TenantKey, Time};
use std::collections::BTreeMap;

/// Tenants that one daemon takes; the cooperative shares of more take minutes.
const TENANTS_MAX: usize = 10_000;
/// Workloads of one tenant, however they come to be: each with jobs is a row of the problem of every round.
const WORKLOADS_MAX: usize = 1000;
/// Tokens that are valid at once.
const TOKENS_MAX: usize = 10_000;
const NOTE_MAX: usize = 200;

pub(super) fn known_tenant(world: &World, name: &str) -> Result<(), ApiError> {
    known(&world.tenants, name, Rejection::UnknownTenant)
}

pub(super) fn known_group(world: &World, name: &str) -> Result<(), ApiError> {
    known(&world.groups, name, Rejection::UnknownGroup)
}

/// Whether there is something of this name; if not, the one that was probably meant is named.
fn known<T>(
    all: &BTreeMap<String, T>,
    name: &str,
    unknown: fn(String) -> Rejection,
) -> Result<(), ApiError> {
    if all.contains_key(name) {
        return Ok(());
    }
    let meant = checks::did_you_mean(name, all.keys().map(String::as_str));
    Err(problem_of(&unknown(name.into())).maybe_hint(meant))
}

pub(super) fn create(
    world: &World,
    caller: &Caller,
    tenant: TenantCreate,
) -> Result<Vec<Change>, ApiError> {
    let TenantCreate { name, weight, group, limits, guarantee, limit, user } = tenant;
    check_user(caller, user.as_deref())?;
    if world.tenants.contains_key(&*name) {
        let exists = Rejection::TenantExists(name.into());
        return Err(problem_of(&exists).hint("change it instead"));
    }
    if let Some(group) = &group {
        known_group(world, group)?;
    }
    let user = user.map(|user| Change::TenantUser { name: name.to_string(), user: Some(user) });
    let promises = Promises { guarantee, limit };
    let of = Party::NewTenant { group: group.clone() };
    let promised = match promises.is_empty() {
        true => None,
        false => {
            check_promises(world, &of, &promises)?;
            Some(Change::TenantPromises { name: name.to_string(), promises })
        }
    };
    let created = create_checked(world, name, weight.unwrap_or_default(), group, limits)?;
    Ok([created].into_iter().chain(user).chain(promised).collect())
}

/// A new tenant in a group that is known.
pub(super) fn create_checked(
    world: &World,
    name: TenantName,
    weight: Weight,
    group: Option<String>,
    limits: Limits,
) -> Result<Change, ApiError> {
    if world.index.has_jobs_of(&name) {
        return Err(problem_of(&Rejection::TenantLeaves(name.into())));
    }
    if world.tenants.len() >= TENANTS_MAX {
        let why = format!("there are {TENANTS_MAX} tenants, as many as there may be");
        return Err(Kind::LimitReached.problem(why).hint("remove one that is not needed"));
    }
    Ok(Change::TenantCreated { name, weight, group, limits })
}

/// Only admins decide which user jobs run as: choosing a user gives all that the user has.
fn check_user(caller: &Caller, user: Option<&str>) -> Result<(), ApiError> {
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
) -> Result<Vec<Change>, ApiError> {
    known_tenant(world, &name)?;
    let TenantPatch { weight, group, limits, guarantee, limit, suspended, user, order } = patch;
    if let Some(user) = &user {
        check_user(caller, Some(user.as_deref().unwrap_or("daemon")))?;
    }
    let group = match group {
        None => None,
        Some(None) => Some(GroupChange::Out),
        Some(Some(group)) => {
            known_group(world, &group)?;
            Some(GroupChange::Into(group))
        }
    };
    let user = user.map(|user| Change::TenantUser { name: name.clone(), user });
    let mut promised = None;
    if guarantee.is_some() || limit.is_some() {
        let key = world.tenants.get(&name).map_or_else(Default::default, |entry| entry.key);
        let old = world.sched.tenants().get(key.0).map(|tenant| tenant.promises().clone());
        let promises = merged(old.unwrap_or_default(), guarantee, limit);
        check_promises(world, &Party::Tenant(key), &promises)?;
        promised = Some(Change::TenantPromises { name: name.clone(), promises });
    }
    let plain = [weight.is_some(), group.is_some(), limits.is_some(), suspended.is_some()];
    let is_plain = plain.contains(&true) || order.is_some() || promised.is_none();
    let change = TenantChange { name, weight, group, limits, suspended, order };
    let change = Change::TenantChanged(change);
    Ok(is_plain.then_some(change).into_iter().chain(user).chain(promised).collect())
}

/// What is given replaces all of its kind.
fn merged(
    old: Promises,
    guarantee: Option<BTreeMap<String, u32>>,
    limit: Option<BTreeMap<String, u32>>,
) -> Promises {
    Promises { guarantee: guarantee.unwrap_or(old.guarantee), limit: limit.unwrap_or(old.limit) }
}

/// Whose guarantees and limits are set.
enum Party {
    NewTenant { group: Option<String> },
    Tenant(TenantKey),
    Group(Option<GroupKey>),
}

/// Refuses what could not be kept: types that nobody knows, a guarantee above the limit, and more guarantees than there are
/// GPUs. GPUs of nodes that are down count: they come back.
fn check_promises(world: &World, of: &Party, promises: &Promises) -> Result<(), ApiError> {
    let cluster = world.sched.cluster();
    // In a new state folder the configuration speaks before the first node does.
    if cluster.types().is_empty() {
        return Ok(());
    }
    for (field, map) in [("guarantee", &promises.guarantee), ("limit", &promises.limit)] {
        map.keys().try_for_each(|gpu| known_type(world, gpu, field))?;
    }
    for (gpu, least) in &promises.guarantee {
        if let Some(most) = promises.limit.get(gpu).filter(|most| least > most) {
            let why = format!("a guarantee of {least} {gpu} is above the limit of {most} {gpu}");
            let problem = Kind::BadRequest.problem(why).field("guarantee");
            return Err(problem.hint("raise the limit, or lower the guarantee"));
        }
    }
    let mut state = world.sched.clone();
    let at = state.now();
    let kind = match of {
        Party::NewTenant { group } => {
            let tenant = state.tenant("(a new tenant)", 1.0);
            let group = group.as_ref().and_then(|g| world.groups.get(g)).map(|entry| entry.key);
            let _ = oef_sched::apply(
                &mut state,
                Event { at, kind: EventKind::TenantGroup { tenant, group } },
            );
            EventKind::TenantPromises { tenant, promises: promises.clone() }
        }
        Party::Tenant(tenant) => {
            EventKind::TenantPromises { tenant: *tenant, promises: promises.clone() }
        }
        Party::Group(group) => {
            let new = || state.group("(a new group)", 1.0, None).unwrap_or_default();
            let group = group.unwrap_or_else(new);
            EventKind::GroupPromises { group, promises: promises.clone() }
        }
    };
    let before = world.sched.guaranteed();
    let _ = oef_sched::apply(&mut state, Event { at, kind });
    for (gpu, sum) in state.guaranteed() {
        let there: usize = cluster
            .nodes()
            .iter()
            .filter(|node| cluster.types()[node.gpu_type().0] == gpu)
            .map(|node| node.gpus())
            .sum();
        let was = before.iter().find(|(name, _)| *name == gpu).map_or(0, |(_, sum)| *sum);
        if sum as usize > there && sum > was {
            let gpus = counted(sum as usize, "GPU");
            let why = format!("{gpus} of {gpu} would be guaranteed in all, and there are {there}");
            let problem = Kind::LimitReached.problem(why).field("guarantee");
            return Err(
                problem.hint("lower this guarantee or another; `oef tenants --json` lists them")
            );
        }
    }
    Ok(())
}

pub(super) fn group(world: &World, name: String, group: GroupPut) -> Result<Vec<Change>, ApiError> {
    let (group_name, weight) = (checks::parse::<GroupName>("name", &name)?, group.weight);
    if let Some(parent) = &group.parent {
        known_group(world, parent)?;
    }
    let mut promised = None;
    if group.guarantee.is_some() || group.limit.is_some() {
        let key = world.groups.get(&name).map(|entry| entry.key);
        let old = key.and_then(|key| world.sched.groups().get(key.0)).map(|g| g.promises.clone());
        let promises = merged(old.unwrap_or_default(), group.guarantee, group.limit);
        check_promises(world, &Party::Group(key), &promises)?;
        promised = Some(Change::GroupPromises { name: name.clone(), promises });
    }
    let weight = weight.unwrap_or_default();
    let put = Change::GroupPut { name: group_name, weight, parent: group.parent };
    Ok([put].into_iter().chain(promised).collect())
}

pub(super) fn workload(
    world: &World,
    now: Time,
    caller: &Caller,
    tenant: String,
    name: String,
    put: WorkloadPut,
) -> Result<Change, ApiError> {
    if !caller.may_see(&tenant) {
        return Err(problem_of(&Rejection::UnknownTenant(tenant)));
    }
    if !caller.may_change(&tenant) {
        return Err(forbidden(caller, "change a workload"));
    }
    known_tenant(world, &tenant)?;
    let name: WorkloadName = checks::parse("name", &name)?;
    room_for_workloads(world, &tenant, [&*name])?;
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
                Some(tenant) => format!("by {tenant}"),
                None => "by the operator".into(),
            };
            let plain = ProfileEntry::plain(throughput, provenance, now.0, source);
            Some(Box::new(ProfileEntry { gang_figures: gangs, ..plain }))
        }
    };
    Ok(Change::WorkloadPut { tenant, name, weight: put.weight, profile, told: None })
}

/// Whether a tenant may have these workloads beside its others: it may if they are there already.
pub(super) fn room_for_workloads<'a>(
    world: &World,
    tenant: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Result<(), ApiError> {
    let own = world.tenants.get(tenant).map(|entry| &entry.workloads);
    let is_new = |name: &&str| own.is_none_or(|own| !own.contains_key(*name));
    let more = names.into_iter().filter(is_new).count();
    let known = own.map_or(0, BTreeMap::len);
    if more == 0 || known + more <= WORKLOADS_MAX {
        return Ok(());
    }
    let known = counted(known, "workload");
    let why = format!(
        "tenant `{tenant}` has {known} and may have {WORKLOADS_MAX}: no room for {more} more"
    );
    let hint = "jobs of the same kind share a workload: use the name of one that is there, or none";
    Err(Kind::LimitReached.problem(why).field("workload").hint(hint))
}

fn profile(world: &World, throughput: &BTreeMap<String, f64>) -> Result<(), ApiError> {
    for (gpu, &on) in throughput {
        known_type(world, gpu, "throughput")?;
        if let Err(reason @ UnusableProfile::Number(_)) = check_profile(&[on]) {
            let why = format!("throughput on `{gpu}`: {reason}");
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
pub(crate) fn known_type(world: &World, gpu: &str, field: &str) -> Result<(), ApiError> {
    let types = world.sched.cluster().types();
    if types.iter().any(|known| known == gpu) {
        return Ok(());
    }
    let why = format!("there is no gpu type `{gpu}`; there are {}", types.join(", "));
    let meant = checks::did_you_mean(gpu, types.iter().map(String::as_str));
    Err(Kind::UnknownType.problem(why).field(field).maybe_hint(meant))
}

/// Where all jobs run as one user, a tenant's job can read and do whatever the daemon can: a token for it alone would
/// only look like a boundary.
pub(super) fn may_have_token(
    world: &World,
    create: &TokenCreate,
    budgets: &Budgets,
) -> Result<(), ApiError> {
    let Some(tenant) = create.tenant.as_deref().filter(|_| create.role == Role::Tenant) else {
        return Ok(());
    };
    known_tenant(world, tenant)?;
    let is_apart = |entry: &TenantEntry| !runs_as_daemon(entry.user.as_deref());
    if budgets.trust_tenants || world.tenants.get(tenant).is_some_and(is_apart) {
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

/// Whether a tenant may lose its user: what its holders of tokens and its jobs do would be the daemon's from then on.
pub(super) fn may_run_as_daemon(
    world: &World,
    name: &str,
    budgets: &Budgets,
) -> Result<(), ApiError> {
    known_tenant(world, name)?;
    let is_apart = |entry: &&TenantEntry| !runs_as_daemon(entry.user.as_deref());
    let entry = world.tenants.get(name).filter(|_| !budgets.trust_tenants);
    let Some(entry) = entry.filter(is_apart) else { return Ok(()) };
    let of_it = world.tokens.iter().filter(|(_, token)| token.tenant.as_deref() == Some(name));
    let tokens: Vec<String> = of_it.map(|(id, _)| id.to_string()).collect();
    let (why, hint) = match (tokens.is_empty(), entry.live) {
        (true, 0) => return Ok(()),
        (true, live) => (
            format!(
                "{} of `{name}` would run as the daemon's own user",
                counted(live as usize, "live job")
            ),
            "cancel them first, or give the tenant another user".to_string(),
        ),
        (false, _) => (
            format!("whoever has a token of `{name}` could then do whatever the daemon can"),
            format!("make these tokens void first (`oef token revoke ID`): {}", tokens.join(", ")),
        ),
    };
    Err(Kind::Conflict.problem(why).field("user").hint(hint))
}

pub(super) fn token(
    world: &World,
    now: Time,
    create: TokenCreate,
    next: &mut u64,
) -> Result<Prepared, ApiError> {
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
