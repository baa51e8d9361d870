//! Jobs that somebody wants to submit: what is wrong with them, and what is filled in.

use super::checks::{self, did_you_mean};
use super::command::Done;
use super::prepare::{Numbers, Prepared, forbidden, problem_of};
use super::tenancy::{create_checked, known_type};
use crate::caller::Caller;
use crate::problem::{Kind, More};
use crate::secret;
use crate::world::changes::{is_met, unmet};
use crate::world::{Change, NewJob, NewSweep, SubmitKey, World, text_bytes};
use oef_api::limits::{BATCH_MAX, KEY_MAX, NAME_MAX};
use oef_api::memory::{mebibytes, shown};
use oef_api::parsed::{TenantName, Weight};
use oef_api::types::{ApiError, JobBatch, JobSubmit, Limits, Provenance, Role, Submitted};
use oef_report::format::counted;
use oef_sched::{JobId, TenantKey, Time};
use std::collections::{BTreeMap, BTreeSet};

/// A job's whole description as text; longer scripts belong into files.
const TEXT_MAX: usize = 256 * 1024;
const ARGUMENTS_MAX: usize = 4096;
const TYPES_MAX: usize = 64;

/// What somebody wants to submit.
pub(super) struct Asked {
    pub batch: JobBatch,
    pub key: Option<String>,
    /// Whether tenants that are not there are created.
    pub create_tenants: bool,
}

/// Checks a batch and turns it into records.
pub(super) fn prepare(
    world: &World,
    now: Time,
    caller: &Caller,
    Asked { batch, key, create_tenants }: Asked,
    Numbers { budgets, next_job: next, .. }: &mut Numbers,
) -> Result<Prepared, ApiError> {
    if caller.role == Role::Viewer {
        return Err(forbidden(caller, "submit jobs"));
    }
    let key = key.map(|key| submit_key(caller, key, &batch)).transpose()?;
    if let Some(known) = key.as_ref().and_then(|key| world.keys.get(&key.text())) {
        if key.is_some_and(|key| key.digest != known.digest) {
            let why = "this key was used before for other jobs";
            return Err(Kind::Conflict.problem(why).hint("take a new key for each submission"));
        }
        let ids = known.jobs.iter().map(|job| job.0).collect();
        let notes = vec!["this was submitted before with the same key".into()];
        return Ok(Prepared::Already(Done::Submitted(Submitted { ids, notes })));
    }
    let JobBatch { name, jobs, at_once } = batch;
    let many = jobs.len() > 1;
    check_size(&jobs)?;
    if at_once == Some(0) {
        let why = "at least one job of a sweep runs at once";
        return Err(Kind::BadRequest.problem(why).field("at_once"));
    }
    let sweep = (many || name.is_some()).then_some(NewSweep { at_once });
    let mut filled: Vec<JobSubmit> = Vec::with_capacity(jobs.len());
    for (position, mut job) in jobs.into_iter().enumerate() {
        if let Some(name) = &name {
            job.labels.entry("array".into()).or_insert_with(|| name.clone());
        }
        job.user = person(world, caller, job.user.take())?;
        let checked = fill(caller, job).and_then(|job| check(world, caller, &job).map(|()| job));
        filled.push(checked.map_err(|problem| match many {
            true => at_position(problem, position),
            false => problem,
        })?);
    }
    let (mut changes, mut notes) = new_tenants(world, caller, &filled, create_tenants)?;
    let room = world.room_for(filled.iter());
    room.map_err(|full| problem_of(&full).hint("wait until some have ended"))?;
    budgets.check(world, now, &filled)?;
    notes.extend(estimates(world, &filled));
    let first = (*next).max(world.next_job);
    *next = first + filled.len() as u64;
    let jobs: Vec<NewJob> = (first..).zip(filled).map(|(id, spec)| NewJob { id, spec }).collect();
    let ids = jobs.iter().map(|job| job.id).collect();
    changes.push(Change::Submitted { jobs, key, sweep });
    Ok(Prepared::Changes(changes, Done::Submitted(Submitted { ids, notes })))
}

fn submit_key(caller: &Caller, key: String, batch: &JobBatch) -> Result<SubmitKey, ApiError> {
    if key.is_empty() || key.len() > KEY_MAX || !key.chars().all(|c| c.is_ascii_graphic()) {
        let why = format!("an idempotency key is 1 to {KEY_MAX} printable characters");
        return Err(Kind::BadRequest.problem(why));
    }
    let text = serde_json::to_string(batch).unwrap_or_default();
    let mut digest = secret::hash(&text);
    digest.truncate(32);
    Ok(SubmitKey { token: caller.token, key, digest })
}

fn at_position(mut problem: ApiError, position: usize) -> ApiError {
    problem.detail = format!("job {} of the batch: {}", position + 1, problem.detail);
    problem.field = problem.field.map(|field| format!("jobs[{position}].{field}"));
    problem
}

fn check_size(jobs: &[JobSubmit]) -> Result<(), ApiError> {
    if jobs.is_empty() {
        return Err(Kind::BadRequest.problem("a batch has at least one job").field("jobs"));
    }
    if jobs.len() > BATCH_MAX {
        let why = format!("{} jobs are more than the {BATCH_MAX} of a batch", jobs.len());
        return Err(Kind::LimitReached.problem(why).hint("submit several batches"));
    }
    Ok(())
}

/// The person behind a submission: named by an admin, or known from the connection, the tenant or the token.
fn person(
    world: &World,
    caller: &Caller,
    given: Option<String>,
) -> Result<Option<String>, ApiError> {
    if let Some(user) = given {
        if !caller.is_admin() {
            let why = "only an admin may say who submits a job";
            return Err(Kind::Forbidden.problem(why).field("user").hint("leave it out"));
        }
        checks::name("the name of a user", "user", &user)?;
        return Ok(Some(user));
    }
    let of_tenant = || world.tenants.get(caller.tenant.as_deref()?)?.user.clone();
    let of_token = || {
        let token = world.tokens.get(&caller.token)?;
        let note = token.note.as_deref().map(str::trim).filter(|note| !note.is_empty());
        let number = format!("token {}", caller.token);
        Some(note.map_or(number, |note| note.chars().take(NAME_MAX).collect()))
    };
    Ok(caller.user.clone().or_else(of_tenant).or_else(of_token))
}

/// Fills in what is left to defaults.
fn fill(caller: &Caller, mut job: JobSubmit) -> Result<JobSubmit, ApiError> {
    job.tenant = match (job.tenant, &caller.tenant) {
        (None, Some(own)) => Some(checks::parse("tenant", own)?),
        (None, None) => {
            let why = "a job belongs to a tenant: name it";
            return Err(Kind::BadRequest.problem(why).field("tenant"));
        }
        // Who says what runs is the user that it runs as, and may see all of it. Where a tenant has no user that is the daemon's.
        (Some(tenant), _) if !caller.may_see_inside(&tenant) => {
            let what = format!("submit jobs for tenant `{tenant}`");
            return Err(forbidden(caller, &what).field("tenant"));
        }
        (given, _) => given,
    };
    job.workload.get_or_insert_default();
    job.types.sort();
    job.types.dedup();
    if let Some(probe) = &job.probe {
        // It is tried once, has checkpoints of its own, and is left alone for the time that it has.
        (job.retries, job.checkpoint_dir, job.max_run_s) = (0, None, None);
        // It is to find out whether it runs there.
        job.gpu_memory_gib = None;
        job.min_run_s = Some(probe.limit_s);
    }
    job.name = Some(job.called());
    Ok(job)
}

/// Everything about one job that can be told without starting it.
fn check(world: &World, caller: &Caller, job: &JobSubmit) -> Result<(), ApiError> {
    check_command(job)?;
    checks::all_right(job.check())?;
    check_after(world, caller, job, None)?;
    check_gang(world, job)
}

fn check_command(job: &JobSubmit) -> Result<(), ApiError> {
    let bad = |why: &str, field: &str| Err(Kind::BadRequest.problem(why).field(field));
    match (&job.script, job.command.first()) {
        (Some(_), Some(_)) => return bad("a job has a command or a script, not both", "script"),
        (None, None) => return bad("a job has a command or a script: what is to run?", "command"),
        (Some(script), None) if script.trim().is_empty() => {
            return bad("the script is empty", "script");
        }
        (None, Some(program)) if program.is_empty() => {
            return bad("the program's name is empty", "command");
        }
        _ => {}
    }
    if let Some(why) = oef_executor::warm_problem(&job.command, &job.warm) {
        return bad(&why, "warm");
    }
    if job.command.len() > ARGUMENTS_MAX {
        return bad("the command has more than 4096 arguments", "command");
    }
    if job.command.iter().chain(&job.script).any(|text| text.contains('\0')) {
        return bad("the command contains a NUL byte", "command");
    }
    if text_bytes(job) > TEXT_MAX {
        let why =
            "command, script, environment and all other texts together have more than 256 KiB";
        return Err(Kind::LimitReached.problem(why).hint("put long texts into files"));
    }
    Ok(())
}

/// Whether the jobs that it is to start after are there, and can still end so. A job waits for older ones only, so
/// that none waits for itself.
pub(super) fn check_after(
    world: &World,
    caller: &Caller,
    job: &JobSubmit,
    own: Option<JobId>,
) -> Result<(), ApiError> {
    for dependency in &job.after {
        let id = JobId(dependency.job);
        let other = world.jobs.get(&id).filter(|other| caller.may_see(other.tenant()));
        let bad = |why: String| Err(Kind::BadRequest.problem(why).field("after"));
        let Some(other) = other else { return bad(format!("there is no job {id} to wait for")) };
        if own.is_some_and(|own| id >= own) {
            return bad(format!("a job waits for older ones only, and {id} is not"));
        }
        if other.state.is_final() && !is_met(dependency.when, other.state) {
            return bad(format!("it would never start: {}", unmet(dependency, other.state)));
        }
    }
    Ok(())
}

/// Whether the gang could ever run, if all nodes were up and nobody else were there.
pub(super) fn check_gang(world: &World, job: &JobSubmit) -> Result<(), ApiError> {
    if job.types.len() > TYPES_MAX {
        let why = format!("more than {TYPES_MAX} gpu types are named");
        return Err(Kind::BadRequest.problem(why).field("types"));
    }
    job.types.iter().try_for_each(|gpu| known_type(world, gpu, "types"))?;
    let workload = job.workload.as_deref().unwrap_or_default();
    let tenant = job.tenant.as_deref().and_then(|name| world.tenants.get(name));
    let key = tenant.and_then(|tenant| tenant.workloads.get(workload));
    let profile = key.and_then(|key| world.workloads.get(key)).map(|entry| &entry.profile);
    // A profile run is to find out whether it runs there.
    let profile = profile.filter(|_| job.probe.is_none());
    let runs = |gpu: &str| {
        profile.is_none_or(|profile| profile.throughput.get(gpu).is_some_and(|&on| on > 0.0))
    };
    let memory_of = |gpu: &str| world.sched.settings().memory_of(gpu);
    let is_large = |gpu: &str| {
        let enough = |least: f64| memory_of(gpu).is_some_and(|memory| memory >= mebibytes(least));
        job.gpu_memory_gib.is_none_or(enough)
    };
    let named = |gpu: &str| job.types.is_empty() || job.types.iter().any(|named| named == gpu);
    let cluster = world.sched.cluster();
    let mut room: BTreeMap<&str, usize> = BTreeMap::new();
    for node in cluster.nodes() {
        let gpu = cluster.types().get(node.gpu_type().0).map_or("", String::as_str);
        if named(gpu) && runs(gpu) && is_large(gpu) {
            *room.entry(gpu).or_default() += node.gpus();
        }
    }
    let most = match job.one_type {
        true => room.values().copied().max().unwrap_or(0),
        false => room.values().sum(),
    };
    let none_is =
        cluster.total() > 0 && !cluster.types().iter().any(|gpu| named(gpu) && is_large(gpu));
    if let Some(least) = job.gpu_memory_gib.filter(|_| none_is) {
        let (least, types) = (shown(mebibytes(least)), world.memory_of_types(least));
        let why =
            format!("no gpu type that it may use is known to have {least} of memory: {types}");
        let hint =
            "an operator can say how much a type has: oef settings --set gpu_memory=TYPE=24G";
        return Err(Kind::BadRequest.problem(why).field("gpu_memory_gib").hint(hint));
    }
    if most == 0 && cluster.total() > 0 {
        let why = match job.types.is_empty() {
            true => format!("workload `{workload}` runs on no gpu type of this cluster"),
            false => format!("workload `{workload}` runs on none of {}", job.types.join(", ")),
        };
        return Err(Kind::BadRequest.problem(why).field("types").hint("look at its profile"));
    }
    if *job.workers as usize > most {
        let room: Vec<String> = room.iter().map(|(gpu, n)| format!("{n} {gpu}")).collect();
        let room = if room.is_empty() { "none".into() } else { room.join(", ") };
        let one = if job.one_type { " of one type" } else { "" };
        let gpus = counted(*job.workers as usize, "GPU");
        let why = format!("it needs {gpus}{one} at once, more than it could ever have: {room}");
        let hint = match job.one_type {
            true => "ask for fewer workers, or do without `one_type`",
            false => "ask for fewer workers, or allow more gpu types",
        };
        return Err(Kind::GangTooLarge.problem(why).field("workers").hint(hint));
    }
    let limit = tenant.and_then(|tenant| tenant.limits.gpus);
    if let Some(limit) = limit.filter(|&limit| *job.workers > limit) {
        let gpus = counted(*job.workers as usize, "GPU");
        let why = format!("it needs {gpus} at once, and its tenant may have {limit}");
        return Err(Kind::LimitReached.problem(why).field("workers"));
    }
    tenant.map_or(Ok(()), |tenant| within_type_limits(world, tenant.key, job))
}

/// Whether the limits by gpu type of the tenant and its groups would ever let a job run.
fn within_type_limits(world: &World, tenant: TenantKey, job: &JobSubmit) -> Result<(), ApiError> {
    let types = world.sched.cluster().types().iter();
    let allowed = types.filter(|name| job.types.is_empty() || job.types.contains(name));
    let limits: Vec<_> = allowed.map(|name| (name, world.sched.limit_on(tenant, name))).collect();
    let room = limits.iter().map(|(_, limit)| limit.map_or(u32::MAX, |(gpus, _)| gpus));
    let most = match job.one_type {
        true => room.max().unwrap_or(u32::MAX),
        false => room.fold(0, u32::saturating_add),
    };
    if limits.is_empty() || *job.workers <= most {
        return Ok(());
    }
    let told = limits.iter().filter_map(|(name, limit)| {
        let (gpus, group) = (*limit)?;
        Some(match group {
            Some(group) => format!("{gpus} {name} (group {group})"),
            None => format!("{gpus} {name}"),
        })
    });
    let told = told.collect::<Vec<_>>().join(", ");
    let gpus = counted(*job.workers as usize, "GPU");
    let why = format!("it needs {gpus} at once, more than its tenant's limits allow: {told}");
    let hint = "ask for fewer workers or other gpu types; operators change the limit with `oef tenant set --limit`";
    Err(Kind::LimitReached.problem(why).field("workers").hint(hint))
}

/// Tenants that an admin names for the first time are created, where that was asked for: a typo is no tenant.
fn new_tenants(
    world: &World,
    caller: &Caller,
    jobs: &[JobSubmit],
    create: bool,
) -> Result<(Vec<Change>, Vec<String>), ApiError> {
    let names: BTreeSet<&TenantName> = jobs.iter().filter_map(|job| job.tenant.as_ref()).collect();
    let (mut changes, mut notes) = (Vec::new(), Vec::new());
    for name in names.into_iter().filter(|name| !world.tenants.contains_key(&***name)) {
        if !caller.is_admin() || !create {
            return Err(no_such_tenant(world, caller, name));
        }
        changes.push(create_checked(
            world,
            name.clone(),
            Weight::default(),
            None,
            Limits::default(),
        )?);
        notes.push(format!("tenant `{name}` is new: it was created with weight 1"));
    }
    Ok((changes, notes))
}

fn no_such_tenant(world: &World, caller: &Caller, name: &str) -> ApiError {
    let problem =
        Kind::UnknownTenant.problem(format!("there is no tenant `{name}`")).field("tenant");
    if !caller.is_admin() {
        return problem;
    }
    let near = did_you_mean(name, world.tenants.keys().map(String::as_str));
    let near = near.map_or_else(String::new, |near| format!("{near} "));
    problem.hint(format!("{near}a new tenant needs --create-tenant (create_tenant=true)"))
}

/// Workloads of which nothing is known yet.
fn estimates(world: &World, jobs: &[JobSubmit]) -> Vec<String> {
    let kinds: BTreeSet<(&str, &str)> = jobs
        .iter()
        .filter(|job| job.probe.is_none())
        .filter_map(|job| Some((job.tenant.as_deref()?, job.workload.as_deref()?)))
        .collect();
    let is_estimate = |(tenant, workload): &(&str, &str)| {
        let key = world.tenants.get(*tenant).and_then(|t| t.workloads.get(*workload));
        let known = key.and_then(|key| world.workloads.get(key));
        known.is_none_or(|known| known.profile.provenance == Provenance::Estimated)
    };
    let sentence = |(tenant, workload): (&str, &str)| {
        format!(
            "the profile of workload `{workload}` of `{tenant}` is estimated (no profile declared or measured yet)"
        )
    };
    kinds.into_iter().filter(is_estimate).map(sentence).collect()
}
