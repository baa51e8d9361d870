//! Jobs that somebody wants to cancel, change or submit once more: who may, and what is wrong with it.

use super::budgets::Budgets;
use super::checks::all_right;
use super::command::Done;
use super::prepare::{Prepared, forbidden, problem_of};
use super::submission;
use crate::caller::Caller;
use crate::problem::{Kind, More};
use crate::world::{Change, JobEntry, Rejection, World, was_shortened};
use oef_api::types::{ApiError, JobBatch, JobPatch, JobState, JobSubmit};
use oef_sched::JobId;

/// A job that the caller may change; `what` is said where it may not.
fn owned<'a>(
    world: &'a World,
    caller: &Caller,
    id: JobId,
    what: &str,
) -> Result<&'a JobEntry, ApiError> {
    let job = world.jobs.get(&id).filter(|job| caller.may_see(job.tenant()));
    let job = job.ok_or_else(|| problem_of(&Rejection::UnknownJob(id)))?;
    match caller.may_change(job.tenant()) {
        true => Ok(job),
        false => Err(forbidden(caller, what)),
    }
}

/// A job of the caller that has not ended.
fn live<'a>(
    world: &'a World,
    caller: &Caller,
    id: JobId,
    what: &str,
) -> Result<&'a JobEntry, ApiError> {
    let job = owned(world, caller, id, what)?;
    match job.state.is_final() {
        true => {
            let ended = job.state.phrase();
            Err(Kind::Conflict.problem(format!("job {id} {ended} already")))
        }
        false => Ok(job),
    }
}

/// Who asks, in words.
fn by(caller: &Caller) -> String {
    match (&caller.tenant, caller.token) {
        (Some(_), _) => "its owner".into(),
        (None, 0) => "the operator".into(),
        (None, _) => office(caller),
    }
}

/// Who of several admins or operators.
pub(super) fn office(caller: &Caller) -> String {
    let role = if caller.is_admin() { "an admin" } else { "an operator" };
    match &caller.user {
        Some(user) => format!("{role} ({user})"),
        None => format!("{role} (token {})", caller.token),
    }
}

/// Ends a job.
pub(super) fn cancel(world: &World, caller: &Caller, id: JobId) -> Result<Prepared, ApiError> {
    let job = live(world, caller, id, "cancel a job")?;
    if job.cancelled_by.is_some() {
        return Ok(Prepared::Already(Done::Nothing));
    }
    let change = Change::Cancelled { job: id, by: by(caller), why: None };
    Ok(Prepared::Changes(vec![change], Done::Nothing))
}

/// Changes a job: holds it, releases it, or edits it.
pub(super) fn patch(
    world: &World,
    caller: &Caller,
    id: JobId,
    mut patch: JobPatch,
    budgets: &Budgets,
) -> Result<Prepared, ApiError> {
    let job = live(world, caller, id, "change a job")?;
    if job.cancelled_by.is_some() {
        return Err(problem_of(&Rejection::CancelledAlready(id)));
    }
    if let Some(types) = &mut patch.types {
        types.sort();
        types.dedup();
    }
    let new = patch.apply_to(&job.spec);
    if new == job.spec {
        return Ok(Prepared::Already(Done::Nothing));
    }
    let where_of = |job: &JobSubmit| (job.types.clone(), job.gpu_memory_gib);
    let is_elsewhere = where_of(&new) != where_of(&job.spec);
    if job.spec.probe.is_some() && (is_elsewhere || new.max_run_s.is_some()) {
        let why = format!("job {id} is a profile run: its gpu type and its time are fixed");
        return Err(Kind::Conflict.problem(why).hint("cancel it, and start another profile run"));
    }
    if let Some(field) = patch.needs_waiting().filter(|_| job.state != JobState::Queued) {
        let why = format!("job {id} has GPUs: this can be changed only while it waits");
        let hint = format!("hold it first: oef hold {id}");
        return Err(Kind::Conflict.problem(why).field(field).hint(hint));
    }
    all_right(new.check())?;
    budgets.check_edit(world, &job.spec, &new)?;
    if is_elsewhere {
        submission::check_gang(world, &new)?;
    }
    if new.after != job.spec.after {
        submission::check_after(world, caller, &new, Some(id))?;
    }
    let change = Change::JobChanged { job: id, by: by(caller), patch };
    Ok(Prepared::Changes(vec![change], Done::Nothing))
}

/// The same job once more, from its beginning: nothing that it waited for counts again.
pub(super) fn resubmitted(world: &World, caller: &Caller, id: JobId) -> Result<JobBatch, ApiError> {
    let job = owned(world, caller, id, "submit a job again")?;
    if was_shortened(&job.spec) {
        let why = format!("the command of job {id} is long, and was not kept whole after its end");
        return Err(Kind::Conflict.problem(why).hint("submit it as you did the first time"));
    }
    let spec = JobSubmit {
        held: false,
        not_before: None,
        after: Vec::new(),
        user: None,
        // Nobody sits there.
        terminal: None,
        ..job.spec.clone()
    };
    Ok(JobBatch::of(vec![spec]))
}
