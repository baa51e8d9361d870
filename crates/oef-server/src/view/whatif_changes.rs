//! The changes of a what-if: looked up in the world, then done to the copy.

use super::visible;
use crate::caller::Caller;
use crate::engine::{all_right, known_type, parse};
use crate::problem::{Kind, More as _};
use crate::world::{World, for_scheduler};
use oef_api::limits::WHATIF_CHANGES_MAX as CHANGES_MAX;
use oef_api::types::{ApiError, JobSubmit, Role, WhatIf, WhatIfChange};
use oef_core::Mechanism;
use oef_report::format::counted;
use oef_sched::{
    Event, EventKind, Health, JobId, JobState, NodeSpec, Profile, State, TenantKey, step,
};

/// GPUs that may be added: more than any cluster has.
const GPUS_MAX: u32 = 100_000;
/// GPUs of a machine of a type that the cluster does not have yet.
const NODE_GPUS: u32 = 8;

/// A change with its names looked up.
#[derive(Clone, Debug)]
pub(super) enum Prepared {
    Weight { tenant: TenantKey, weight: f64 },
    AddGpus { gpu_type: String, count: u32 },
    RemoveGpus { gpu_type: String, count: u32 },
    RemoveTenant(TenantKey),
    Submit(Box<NewJob>),
    Mechanism(Mechanism),
}

/// A job that is not there.
#[derive(Clone, Debug)]
pub(super) struct NewJob {
    id: JobId,
    tenant: String,
    workload: String,
    /// For a workload that is not there either.
    profile: Profile,
    spec: Box<JobSubmit>,
}

/// Looks up what the changes name.
pub(super) fn prepare(
    world: &World,
    caller: &Caller,
    asked: &WhatIf,
) -> Result<Vec<Prepared>, ApiError> {
    if asked.changes.is_empty() || asked.changes.len() > CHANGES_MAX {
        return Err(bad(format!("{} changes were asked for", asked.changes.len()), "changes")
            .hint(format!("ask for 1 to {CHANGES_MAX}")));
    }
    let mut next_job = world.next_job.max(1);
    let one = |change: &WhatIfChange| {
        within_own(caller, change)?;
        Ok(match change {
            WhatIfChange::Weight { tenant, weight } => {
                Prepared::Weight { tenant: key(world, tenant)?, weight: **weight }
            }
            WhatIfChange::AddGpus { gpu_type, count } => {
                if !(1..=GPUS_MAX).contains(count) || gpu_type.is_empty() {
                    return Err(bad(
                        format!(
                            "{} of `{gpu_type}` cannot be added",
                            counted(*count as usize, "GPU")
                        ),
                        "count",
                    )
                    .hint(format!("name a type and 1 to {GPUS_MAX} GPUs")));
                }
                Prepared::AddGpus { gpu_type: gpu_type.clone(), count: *count }
            }
            WhatIfChange::RemoveGpus { gpu_type, count } => {
                known_type(world, gpu_type, "type")?;
                Prepared::RemoveGpus { gpu_type: gpu_type.clone(), count: *count }
            }
            WhatIfChange::RemoveTenant { tenant } => Prepared::RemoveTenant(key(world, tenant)?),
            WhatIfChange::Submit { job } => {
                let id = JobId(next_job);
                next_job += 1;
                Prepared::Submit(Box::new(new_job(world, caller, id, job)?))
            }
            WhatIfChange::Mechanism { mechanism } => {
                let known: Vec<&str> = Mechanism::ALL.iter().map(|m| m.name()).collect();
                Prepared::Mechanism(mechanism.parse().map_err(|_| {
                    bad(format!("`{mechanism}` is not a mechanism"), "mechanism")
                        .hint(format!("there are {}", known.join(", ")))
                })?)
            }
        })
    };
    asked.changes.iter().map(one).collect()
}

/// Whether a change is to what the caller may try out.
fn within_own(caller: &Caller, change: &WhatIfChange) -> Result<(), ApiError> {
    let Some(only) = visible::only(caller) else { return Ok(()) };
    match change {
        WhatIfChange::Submit { .. } => Ok(()),
        WhatIfChange::Weight { tenant, .. } if tenant == only => Ok(()),
        _ => Err(visible::tries_out_others("changes")),
    }
}

fn key(world: &World, name: &str) -> Result<TenantKey, ApiError> {
    let found = world.tenants.get(name).map(|tenant| tenant.key);
    found.ok_or_else(|| visible::unknown_tenant(name))
}

fn new_job(
    world: &World,
    caller: &Caller,
    id: JobId,
    spec: &JobSubmit,
) -> Result<NewJob, ApiError> {
    let own = caller.tenant.as_deref().filter(|_| caller.role == Role::Tenant);
    let Some(tenant) = spec.tenant.as_deref().or(own) else {
        return Err(bad("the job names no tenant", "tenant").hint("say whose job it would be"));
    };
    if !caller.may_see(tenant) {
        return Err(visible::unknown_tenant(tenant));
    }
    for gpu_type in &spec.types {
        known_type(world, gpu_type, "type")?;
    }
    let mut filled = spec.clone();
    filled.tenant = Some(parse("tenant", tenant)?);
    let workload = filled.workload.get_or_insert_default().to_string();
    filled.name.get_or_insert_with(|| "asked".into());
    all_right(filled.check())?;
    let profile = world.for_scheduler(&world.estimate(tenant, world.sched.now()));
    Ok(NewJob { id, tenant: tenant.into(), workload, profile, spec: Box::new(filled) })
}

/// Does a change to the copy. Returns the job that it adds, if it adds one.
pub(super) fn apply(
    state: &mut State,
    change: &Prepared,
    notes: &mut Vec<String>,
) -> Result<Option<JobId>, ApiError> {
    match change {
        Prepared::Weight { tenant, weight } => {
            take(state, EventKind::Weight { tenant: *tenant, weight: *weight })?;
        }
        Prepared::AddGpus { gpu_type, count } => add_gpus(state, gpu_type, *count, notes)?,
        Prepared::RemoveGpus { gpu_type, count } => remove_gpus(state, gpu_type, *count)?,
        Prepared::RemoveTenant(tenant) => remove_tenant(state, *tenant)?,
        Prepared::Submit(job) => return submit(state, job, notes).map(Some),
        Prepared::Mechanism(mechanism) => {
            let settings =
                oef_sched::Settings { mechanism: *mechanism, ..state.settings().clone() };
            state.set_settings(settings);
        }
    }
    Ok(None)
}

/// Lets something happen to the copy.
fn take(state: &mut State, kind: EventKind) -> Result<(), ApiError> {
    let taken = step(state, Event { at: state.now(), kind });
    taken.map(|_| ()).map_err(|refusal| Kind::BadRequest.problem(refusal.to_string()))
}

fn add_gpus(
    state: &mut State,
    gpu_type: &str,
    count: u32,
    notes: &mut Vec<String>,
) -> Result<(), ApiError> {
    let per_node =
        nodes_of(state, gpu_type).map(|(_, gpus)| gpus).max().unwrap_or(NODE_GPUS).max(1);
    let mut left = count;
    while left > 0 {
        let gpus = left.min(per_node);
        let spec = NodeSpec { name: free_name(state), gpu_type: gpu_type.into(), gpus };
        take(state, EventKind::NodeUp(spec))?;
        left -= gpus;
    }
    let place = state.cluster().type_named(gpu_type);
    let is_used = place
        .is_some_and(|gpu| state.active().any(|w| state.workloads()[w.0].profile.on(gpu.0) > 0.0));
    if !is_used {
        notes.push(format!(
            "no workload with jobs has a profile on {gpu_type}: those GPUs would stay idle"
        ));
    }
    Ok(())
}

fn remove_gpus(state: &mut State, gpu_type: &str, count: u32) -> Result<(), ApiError> {
    let nodes: Vec<(String, u32)> = nodes_of(state, gpu_type).collect();
    let all: u32 = nodes.iter().map(|(_, gpus)| gpus).sum();
    if count > all {
        return Err(bad(
            format!("{count} of `{gpu_type}` cannot be removed, because there are {all}"),
            "count",
        ));
    }
    let mut left = count;
    for (node, gpus) in nodes.into_iter().rev() {
        if left == 0 {
            break;
        }
        take(state, EventKind::NodeDown { node })?;
        // A machine of which some stay is another machine.
        if let Some(rest) = gpus.checked_sub(left).filter(|&rest| rest > 0) {
            let spec = NodeSpec { name: free_name(state), gpu_type: gpu_type.into(), gpus: rest };
            take(state, EventKind::NodeUp(spec))?;
        }
        left = left.saturating_sub(gpus);
    }
    Ok(())
}

/// Healthy nodes of a type with their GPUs.
fn nodes_of<'a>(state: &'a State, gpu_type: &str) -> impl Iterator<Item = (String, u32)> + use<'a> {
    let gpu = state.cluster().type_named(gpu_type);
    let nodes = state.cluster().nodes().iter();
    let own = nodes.filter(move |node| Some(node.gpu_type()) == gpu && node.health() == Health::Up);
    own.map(|node| (node.name().to_string(), node.gpus() as u32))
}

/// A name that no node has.
fn free_name(state: &State) -> String {
    let from = state.cluster().nodes().len();
    let mut names = (from..).map(|n| format!("what-if-{n}"));
    names.find(|name| state.cluster().node_named(name).is_none()).unwrap_or_default()
}

/// A tenant leaves: all its jobs stop at once.
fn remove_tenant(state: &mut State, tenant: TenantKey) -> Result<(), ApiError> {
    let is_out = state.tenants().get(tenant.0).is_some_and(|t| t.is_suspended());
    if !is_out {
        take(state, EventKind::Suspend { tenant, suspended: true })?;
    }
    let stopping =
        state.jobs().filter(|job| job.spec().tenant == tenant && job.state() == JobState::Stopping);
    let leases: Vec<_> =
        stopping.filter_map(|job| Some((job.spec().id, job.lease()?.generation))).collect();
    for (job, generation) in leases {
        take(state, EventKind::Preempted { job, generation })?;
    }
    Ok(())
}

fn submit(state: &mut State, new: &NewJob, notes: &mut Vec<String>) -> Result<JobId, ApiError> {
    let NewJob { id, tenant, workload, profile, spec } = new;
    if !state.tenants().iter().any(|t| &t.name == tenant) {
        notes.push(format!("tenant {tenant} does not exist yet: weight 1 is assumed"));
    }
    let owner = state.tenant(tenant, 1.0);
    let own = state.tenants()[owner.0].workloads().iter();
    if !own.clone().any(|w| &state.workloads()[w.0].name == workload) {
        notes.push(format!(
            "workload {workload} of {tenant} does not exist yet: its profile is estimated"
        ));
    }
    let kind = state.workload(owner, workload, 1.0, profile.clone());
    let kind = kind.ok_or_else(|| visible::unknown_tenant(tenant))?;
    take(state, EventKind::Submitted(for_scheduler(spec, *id, owner, kind)))?;
    Ok(*id)
}

fn bad(detail: impl Into<String>, field: &str) -> ApiError {
    Kind::BadRequest.problem(detail).field(field)
}
