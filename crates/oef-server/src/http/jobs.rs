//! Jobs: submit, look, cancel, why, logs.

use super::auth::{Refusal, may_submit};
use super::handler::*;
use crate::caller::Caller;
use axum::http::HeaderMap;
use oef_api::limits::{BATCH_MAX, KEY_MAX, LOG_BYTES_MAX, LOG_TAIL_MAX, PAGE_MAX};
use oef_api::types::{
    Job, JobBatch, JobPatch, JobSubmit, Jobs, JobsQuery, LogChunk, LogQuery, SubmitQuery,
    Submitted, Why,
};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list, submit))
        .routes(routes!(submit_batch))
        .routes(routes!(show, change))
        .routes(routes!(resubmit))
        .routes(routes!(cancel))
        .routes(routes!(why))
        .routes(routes!(logs))
}

/// Lists jobs, the newest first
///
/// A tenant sees its own; others see all. Ended jobs are left out unless `all` or `state` asks for them.
#[utoipa::path(get, path = "/jobs", tag = "jobs", operation_id = "listJobs", params(JobsQuery),
    responses((status = 200, description = "One page of jobs", body = Jobs)))]
async fn list(Asks(app, caller, query): Asks<JobsQuery>) -> Answer<Jobs> {
    within("limit", query.limit, PAGE_MAX)?;
    app.aside(move |daemon| daemon.jobs(&caller, &query)).await.map(Json)
}

/// Submits a job
///
/// It is durable when the answer comes.
#[utoipa::path(post, path = "/jobs", tag = "jobs", operation_id = "submitJob", request_body = JobSubmit,
    params(SubmitQuery, ("Idempotency-Key" = Option<String>, Header,
        description = "The same key with the same token, within a day: the jobs of the first time come back, and none is submitted twice",
        min_length = 1, max_length = 200, pattern = "^[!-~]+$")),
    responses((status = 201, description = "It is durable", body = Submitted)))]
async fn submit(
    Asks(app, caller, how): Asks<SubmitQuery>,
    headers: HeaderMap,
    Body(job): Body<JobSubmit>,
) -> Taken {
    take(&app, &caller, JobBatch::of(vec![job]), how, &headers).await
}

/// Submits several jobs, all or none
#[utoipa::path(post, path = "/jobs/batch", tag = "jobs", operation_id = "submitJobs", request_body = JobBatch,
    params(SubmitQuery, ("Idempotency-Key" = Option<String>, Header,
        description = "The same key with the same token, within a day: the jobs of the first time come back, and none is submitted twice",
        min_length = 1, max_length = 200, pattern = "^[!-~]+$")),
    responses((status = 201, description = "They are durable", body = Submitted)))]
async fn submit_batch(
    Asks(app, caller, how): Asks<SubmitQuery>,
    headers: HeaderMap,
    LargeBody(batch): LargeBody<JobBatch>,
) -> Taken {
    if !(1..=BATCH_MAX).contains(&batch.jobs.len()) {
        let detail = format!("the batch has {} jobs, not 1 to {BATCH_MAX}", batch.jobs.len());
        return Err(Failure(Kind::BadRequest.problem(detail).field("jobs")).into());
    }
    take(&app, &caller, batch, how, &headers).await
}

/// What comes of a submission.
type Taken = Result<(StatusCode, Json<Submitted>), Refusal>;

async fn take(
    app: &App,
    caller: &Caller,
    batch: JobBatch,
    how: SubmitQuery,
    headers: &HeaderMap,
) -> Taken {
    let count = u32::try_from(batch.jobs.len()).unwrap_or(u32::MAX);
    let key = idempotency_key(headers)?;
    may_submit(app, caller, count)?;
    if batch.jobs.iter().any(|job| job.terminal.is_some()) && app.daemon().terminal().is_none() {
        return Err(no_terminals().into());
    }
    let submitted = app.daemon().submit_as(caller, batch, key, how.create_tenant).await;
    Ok(created(submitted.map_err(refused)?))
}

/// Jobs could not reach the daemon.
pub(super) fn no_terminals() -> Failure {
    let why = "jobs on the nodes of this cluster cannot reach the daemon: it listens on its own machine only";
    let hint = "set `address` in [jobs] of the daemon's settings to one that nodes reach, such as https://LOGIN-NODE:7733";
    Failure(Kind::Conflict.problem(why).field("terminal").hint(hint))
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Failure> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let key = value.to_str().unwrap_or("");
    if (1..=KEY_MAX).contains(&key.len()) && key.bytes().all(|b| b.is_ascii_graphic()) {
        return Ok(Some(key.into()));
    }
    let problem = Kind::BadRequest
        .problem(format!("the Idempotency-Key is not 1 to {KEY_MAX} printable ASCII characters"));
    Err(Failure(problem.field("Idempotency-Key")))
}

/// Shows a job with its history and its runs
#[utoipa::path(get, path = "/jobs/{id}", tag = "jobs", operation_id = "getJob",
    params(("id" = u64, Path, description = "The job's number")),
    responses((status = 200, description = "The job", body = Job)))]
async fn show(Asks(app, caller, _): Asks, Part(id): Part<u64>) -> Answer<Job> {
    Ok(Json(app.daemon().job(&caller, id)?))
}

/// Changes a job that has not ended: holds it, releases it, or edits it
///
/// A held job does not start. One that runs saves its work, stops, and waits until it is released.
#[utoipa::path(patch, path = "/jobs/{id}", tag = "jobs", operation_id = "changeJob", request_body = JobPatch,
    params(("id" = u64, Path, description = "The job's number")),
    responses((status = 200, description = "The job as it is now", body = Job)))]
async fn change(
    Asks(app, caller, _): Asks,
    Part(id): Part<u64>,
    Body(patch): Body<JobPatch>,
) -> Answer<Job> {
    app.daemon().patch_job(&caller, id, patch).await.map(Json).map_err(refused)
}

/// Submits a job once more, as a new one
///
/// It starts from the beginning, and waits for nothing that the first one waited for.
#[utoipa::path(post, path = "/jobs/{id}/resubmit", tag = "jobs", operation_id = "resubmitJob",
    params(("id" = u64, Path, description = "The job's number")),
    responses((status = 201, description = "It is durable", body = Submitted)))]
async fn resubmit(Asks(app, caller, _): Asks, Part(id): Part<u64>) -> Taken {
    may_submit(&app, &caller, 1)?;
    Ok(created(app.daemon().resubmit(&caller, id).await.map_err(refused)?))
}

/// Ends a job
///
/// One that runs is stopped first: it is told, and has its grace time. One that has ended stays as it is.
#[utoipa::path(post, path = "/jobs/{id}/cancel", tag = "jobs", operation_id = "cancelJob",
    params(("id" = u64, Path, description = "The job's number")),
    responses((status = 200, description = "The job as it is now", body = Job)))]
async fn cancel(Asks(app, caller, _): Asks, Part(id): Part<u64>) -> Answer<Job> {
    Ok(Json(app.daemon().cancel(&caller, id).await?))
}

/// Says why a job waits, runs or ended
#[utoipa::path(get, path = "/jobs/{id}/why", tag = "jobs", operation_id = "whyJob",
    params(("id" = u64, Path, description = "The job's number")),
    responses((status = 200, description = "The reason, and when it can expect to start", body = Why)))]
async fn why(Asks(app, caller, _): Asks, Part(id): Part<u64>) -> Answer<Why> {
    app.aside(move |daemon| daemon.why(&caller, id)).await.map(Json)
}

/// Reads a part of a job's output
#[utoipa::path(get, path = "/jobs/{id}/logs", tag = "jobs", operation_id = "readLogs",
    params(("id" = u64, Path, description = "The job's number"), LogQuery),
    responses((status = 200, description = "A part of the log", body = LogChunk),
              (status = 422, description = "An offset and a number of lines at once", body = oef_api::types::ApiError,
               content_type = "application/problem+json")))]
async fn logs(Asks(app, caller, query): Asks<LogQuery>, Part(id): Part<u64>) -> Answer<LogChunk> {
    within("limit", query.limit, LOG_BYTES_MAX)?;
    for (field, number) in [("offset", query.offset), ("generation", query.generation)] {
        if let Some(number) = number.filter(|number| i64::try_from(*number).is_err()) {
            let problem =
                Kind::BadRequest.problem(format!("{field} is {number}: page out of range"));
            return Err(Failure(problem.field(field)));
        }
    }
    if let Some(tail) = query.tail.filter(|tail| *tail > LOG_TAIL_MAX) {
        let problem = Kind::BadRequest.problem(format!("tail is {tail}, more than {LOG_TAIL_MAX}"));
        return Err(Failure(problem.field("tail")));
    }
    let chunk = app.aside(move |daemon| daemon.logs(&caller, id, &query)).await;
    chunk.map(Json).map_err(|Failure(problem)| refused(problem))
}
