//! Jobs: one of them whole, or a page of many.

use super::text::timestamp;
use super::{reason, restarts, visible, why};
use crate::caller::Caller;
use crate::problem::{Kind, More as _};
use crate::world::{JobEntry, Reason, RunEnding, RunEntry, World};
use oef_api::types::{
    ApiError, Blocked, Ending, GpuRef, Job, JobState, Jobs, JobsQuery, Progress, ReasonData, Run,
    StateChange,
};
use oef_sched::{JobId, Obstacle};

/// While no more jobs wait than this, a list says of each what it waits for at the moment. Finding that
/// out takes a walk through the queue; beyond, a list says why the job came to wait, and `why` the rest.
const LIVE_REASONS_MAX: u32 = 1_000;

/// A job, whole.
pub fn job(world: &World, caller: &Caller, id: u64) -> Result<Job, ApiError> {
    let entry = visible::job(world, caller, id)?;
    let inside = caller.may_see_inside(entry.tenant());
    let mut job = listed(world, JobId(id), entry, true, inside);
    job.spec = inside.then(|| entry.spec.clone());
    let mut history: Vec<_> = entry.history.iter().map(|c| change(world, c, inside)).collect();
    // A job that is cancelled is told to stop for the same reason.
    history.dedup_by(|later, first| (later.state, &later.reason) == (first.state, &first.reason));
    job.history = Some(history);
    job.restart_budget = restarts::budget(world, JobId(id)).filter(|_| entry.spec.probe.is_none());
    job.runs = Some(entry.runs.iter().map(|r| run(r, inside)).collect());
    Ok(job)
}

/// Jobs, the newest first. A page costs what it shows, but for a filter by label, which walks.
pub fn jobs(world: &World, caller: &Caller, query: &JobsQuery) -> Result<Jobs, ApiError> {
    let tenant = scope(world, caller, query.tenant.as_deref())?;
    let states = states(query)?;
    let limit = visible::limit(query.limit)?;
    let before = visible::number_mark(query.after.as_deref())?.map(JobId);
    let live_reasons = world.index.count(None, &[JobState::Queued]) <= LIVE_REASONS_MAX;
    let mut page = Jobs::default();
    for id in world.index.newest(tenant, &states, before) {
        let Some(entry) = world.jobs.get(&id) else { continue };
        let in_sweep = query.sweep.is_none() || entry.sweep_id() == query.sweep;
        if !in_sweep || !has_label(entry, query.label.as_deref()) {
            continue;
        }
        if page.jobs.len() == limit {
            page.next = page.jobs.last().map(|job| job.id.to_string());
            break;
        }
        let inside = caller.may_see_inside(entry.tenant());
        let job = listed(world, id, entry, live_reasons, inside);
        page.jobs.push(job);
    }
    Ok(page)
}

/// Whose jobs are listed: those of a tenant, or all.
fn scope<'a>(
    world: &World,
    caller: &'a Caller,
    asked: Option<&'a str>,
) -> Result<Option<&'a str>, ApiError> {
    let own = caller.tenant.as_deref().filter(|own| !caller.is_admin() && caller.may_see(own));
    let Some(name) = asked.or(own) else {
        // A tenant's token without a tenant sees nothing, and nothing is called so.
        return Ok(Some("").filter(|_| caller.role == oef_api::types::Role::Tenant));
    };
    let is_known = world.tenants.contains_key(name) || world.index.has_jobs_of(name);
    match is_known && caller.may_see(name) {
        true => Ok(Some(name)),
        false => Err(visible::unknown_tenant(name)),
    }
}

fn states(query: &JobsQuery) -> Result<Vec<JobState>, ApiError> {
    let Some(names) = &query.state else {
        return Ok(if query.all { JobState::ALL.to_vec() } else { JobState::LIVE.to_vec() });
    };
    let mut states = Vec::new();
    for name in names.split(',').map(str::trim) {
        let Some(state) = JobState::ALL.into_iter().find(|state| state.name() == name) else {
            let known: Vec<&str> = JobState::ALL.iter().map(|state| state.name()).collect();
            return Err(Kind::BadRequest
                .problem(format!("`{name}` is not a state of a job"))
                .hint(format!("the states are {}", known.join(", ")))
                .field("state"));
        };
        if !states.contains(&state) {
            states.push(state);
        }
    }
    Ok(states)
}

/// Whether a job has a label: `key` with any value, or `key=value`.
fn has_label(entry: &JobEntry, label: Option<&str>) -> bool {
    let Some(label) = label else { return true };
    match label.split_once('=') {
        None => entry.spec.labels.contains_key(label),
        Some((key, value)) => entry.spec.labels.get(key).is_some_and(|v| v == value),
    }
}

/// A job as it stands in a list.
fn listed(world: &World, id: JobId, entry: &JobEntry, live_reason: bool, inside: bool) -> Job {
    let now = match entry.state {
        JobState::Queued if live_reason => why::waits(world, id, entry),
        // Where it runs is told by its GPUs.
        JobState::Running => why::runs(world, id),
        _ => None,
    };
    let (reason, data) = now.unwrap_or_else(|| told(world, &entry.reason, inside));
    Job {
        id: id.0,
        name: entry.name().into(),
        tenant: entry.tenant().into(),
        workload: entry.workload_name().into(),
        state: entry.state,
        reason,
        reason_data: Some(data),
        blocked: world.sched.obstacle_of(id).map(blocked),
        sweep: entry.sweep_id(),
        workers: *entry.spec.workers,
        gpus: held(world, id),
        priority: entry.spec.priority,
        submitted: timestamp(entry.submitted),
        started: entry.started.map(timestamp),
        ended: entry.ended.map(timestamp),
        progress: Progress {
            steps: entry.telemetry.steps,
            checkpoint: entry.telemetry.checkpoint,
            throughput: entry.telemetry.throughput,
            loss: entry.telemetry.loss,
            measured: entry.telemetry.measured,
        },
        restarts: entry.restarts,
        failures: entry.failures,
        ran_s: ran_s(world, entry),
        labels: entry.spec.labels.clone(),
        probe: entry.spec.probe.clone(),
        restart_budget: None,
        spec: None,
        history: None,
        runs: None,
    }
}

/// What keeps a job from starting.
pub(super) fn blocked(obstacle: Obstacle) -> Blocked {
    match obstacle {
        Obstacle::Suspended => Blocked::Suspended,
        Obstacle::Held => Blocked::Held,
        Obstacle::Dependency { .. } => Blocked::Dependency,
        Obstacle::NotBefore { .. } => Blocked::NotBefore,
        Obstacle::BackingOff => Blocked::BackingOff,
        Obstacle::SweepLimit { .. } => Blocked::SweepLimit,
    }
}

/// The GPUs that a job holds or was promised.
fn held(world: &World, id: JobId) -> Vec<GpuRef> {
    let lease = world.sched.job(id).and_then(|job| job.lease());
    lease.map_or_else(Vec::new, |l| l.gpus.iter().map(|&gpu| world.gpu_ref(gpu)).collect())
}

/// Seconds that a job has run, up to the last thing that happened.
fn ran_s(world: &World, entry: &JobEntry) -> f64 {
    let since = entry.run().and_then(|run| run.started);
    let running = since.map_or(0, |started| world.sched.now().since(started).0);
    (entry.ran_ms + running) as f64 / 1000.0
}

/// A reason in a sentence and as data, for those who may see inside and those who may not.
fn told(world: &World, reason: &Reason, inside: bool) -> (String, ReasonData) {
    match inside {
        true => (reason.to_string(), reason::of_state(world, reason)),
        false => told(world, &reason.without_output(), true),
    }
}

fn change(world: &World, change: &crate::world::StateChange, inside: bool) -> StateChange {
    let (reason, data) = told(world, &change.reason, inside);
    StateChange {
        at: timestamp(oef_sched::Time(change.at_ms)),
        state: change.state,
        reason,
        reason_data: Some(data),
    }
}

fn run(run: &RunEntry, inside: bool) -> Run {
    Run {
        generation: run.generation.0,
        gpus: run.gpus.clone(),
        started: timestamp(run.started.unwrap_or(run.began)),
        ended: run.ended.map(timestamp),
        ending: run.ending.map(ending),
        exit: run.exit,
        // The first line says how it ended; what follows is the job's own output.
        detail: match (&run.detail, inside) {
            (Some(detail), false) => detail.lines().next().map(String::from),
            (detail, _) => detail.clone(),
        },
    }
}

fn ending(ending: RunEnding) -> Ending {
    match ending {
        RunEnding::Finished => Ending::Finished,
        RunEnding::Checkpointed => Ending::Checkpointed,
        RunEnding::Stopped => Ending::Stopped,
        RunEnding::Failed | RunEnding::Impossible | RunEnding::Unmeasured => Ending::Failed,
        RunEnding::Lost | RunEnding::Hindered => Ending::Lost,
        RunEnding::TimedOut => Ending::TimedOut,
    }
}
