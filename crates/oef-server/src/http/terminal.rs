//! Terminals: both ends of a job's terminal come here, and each reads what the other writes.

use super::App;
use super::auth::{Asks, Refusal, origin, secret, within_rate};
use super::extract::{Body, Part, query, raw};
use super::failure::{Answer, Failure, refused};
use super::jobs::no_terminals;
use super::queries::{ReadParams, WriteParams};
use super::seats::Guest;
use crate::caller::Caller;
use crate::problem::{Kind, More};
use crate::terminal::{End, Full, Gap, Put, Session, TerminalId};
use axum::Json;
use axum::extract::{FromRequestParts, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use oef_api::client::{TERMINAL_ALONE, TERMINAL_KEY, TERMINAL_OVER, TERMINAL_RUN};
use oef_api::limits::TERMINAL_CHUNK;
use oef_api::types::{JobState, Shell, ShellCreate, TerminalWritten};
use oef_sched::{Generation, JobId};
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// A request waits so long at most; shorter than what proxies and the time limit of requests allow.
const WAIT_MAX: Duration = Duration::from_secs(15);
/// How often is looked whether the run is over.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Words of the command of a shell.
const WORDS_MAX: usize = 1000;
/// The buckets of jobs: no token, no user of the local socket and no address has such a number.
const JOBS: u64 = 3 << 61;

fn bucket(job: JobId) -> u64 {
    JOBS | (job.0 & ((1 << 61) - 1))
}

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(read, write))
        .routes(routes!(read_of_job, write_of_job))
        .routes(routes!(open_shell))
}

/// A job that asks for itself, with the secret of its run.
struct OfJob<T> {
    app: App,
    params: T,
    secret: String,
    /// Whoever guesses is limited by where they are.
    origin: u64,
    guest: Option<Guest>,
}

impl<T: DeserializeOwned> FromRequestParts<App> for OfJob<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refusal> {
        let (given, origin) = (secret(&parts.headers), origin(parts));
        if given.is_err() {
            within_rate(app, origin)?;
        }
        let secret = given.map_err(Refusal::Failed)?;
        let params = query(parts).map_err(Refusal::Failed)?;
        let guest = parts.extensions.get().cloned();
        Ok(OfJob { app: app.clone(), params, secret, origin, guest })
    }
}

/// Reads what a job writes to its terminal
///
/// For whoever submitted the job, with the secret of its terminal in the header `OEF-Terminal-Key`. The body has the bytes
/// from the offset on; it is empty where none came in time. `OEF-Terminal-Run` names the run, `OEF-Terminal-Over` says
/// that it is over.
#[utoipa::path(get, path = "/jobs/{id}/terminal", tag = "jobs", operation_id = "readTerminal",
    params(("id" = u64, Path, description = "The job's number"), ReadParams,
        ("OEF-Terminal-Key" = String, Header, description = "The secret of which the job has the hash")),
    responses((status = 200, description = "Bytes", body = Vec<u8>, content_type = "application/octet-stream")))]
async fn read(
    Asks(app, caller, params): Asks<ReadParams>,
    Part(id): Part<u64>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let job = JobId(id);
    let terminal = (job, params.shell);
    admit(&app, &caller, terminal, &headers)?;
    let deadline = Instant::now() + wait(&params);
    let session = loop {
        let known = session_for(&app, terminal, params.run);
        let is_over = params.run.is_some_and(|run| current(&app, job) != Some(Generation(run)));
        if known.is_some() || is_over || Instant::now() >= deadline || app.is_closing() {
            break known.ok_or(is_over);
        }
        tokio::time::sleep(LOOK_EVERY.min(Duration::from_millis(100))).await;
    };
    match session {
        Ok(session) => read_from(&app, job, End::Client, &session, params.from, deadline).await,
        Err(is_over) => Ok(answer(Vec::new(), None, Duration::ZERO, is_over)),
    }
}

/// Writes to the terminal of a job
///
/// For whoever submitted the job, with the secret of its terminal in the header `OEF-Terminal-Key`.
#[utoipa::path(post, path = "/jobs/{id}/terminal", tag = "jobs", operation_id = "writeTerminal",
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    params(("id" = u64, Path, description = "The job's number"), WriteParams,
        ("OEF-Terminal-Key" = String, Header, description = "The secret of which the job has the hash")),
    responses((status = 200, description = "What became of them", body = TerminalWritten)))]
async fn write(
    Asks(app, caller, params): Asks<WriteParams>,
    Part(id): Part<u64>,
    request: Request,
) -> Answer<TerminalWritten> {
    let job = JobId(id);
    let terminal = (job, params.shell);
    admit(&app, &caller, terminal, request.headers())?;
    let bytes = raw(request, TERMINAL_CHUNK).await?;
    let Some(session) = session_for(&app, terminal, params.run) else {
        // After a restart of the daemon the job has to come first.
        let is_over = params.run.is_some_and(|run| current(&app, job) != Some(Generation(run)));
        if is_over {
            return Err(over(job));
        }
        tokio::time::sleep(LOOK_EVERY).await;
        return Ok(Json(TerminalWritten { next: params.at, read: None }));
    };
    write_to(&app, job, End::Client, &session, params.at, &bytes).await
}

/// Reads what comes from the terminal of a job
///
/// For the job itself, with the secret of its run as the token.
#[utoipa::path(get, path = "/jobs/{id}/terminal/job", tag = "jobs", operation_id = "readTerminalOfJob",
    params(("id" = u64, Path, description = "The job's number"), ReadParams),
    responses((status = 200, description = "Bytes", body = Vec<u8>, content_type = "application/octet-stream")))]
async fn read_of_job(asks: OfJob<ReadParams>, Part(id): Part<u64>) -> Result<Response, Refusal> {
    let session = asks.sit((JobId(id), asks.params.shell), asks.params.run)?;
    let deadline = Instant::now() + wait(&asks.params);
    let from = asks.params.from;
    let read = read_from(&asks.app, JobId(id), End::Job, &session, from, deadline).await;
    read.map_err(Refusal::Failed)
}

/// Writes what a job says to its terminal
///
/// For the job itself, with the secret of its run as the token.
#[utoipa::path(post, path = "/jobs/{id}/terminal/job", tag = "jobs", operation_id = "writeTerminalOfJob",
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    params(("id" = u64, Path, description = "The job's number"), WriteParams),
    responses((status = 200, description = "What became of them", body = TerminalWritten)))]
async fn write_of_job(
    asks: OfJob<WriteParams>,
    Part(id): Part<u64>,
    request: Request,
) -> Result<Json<TerminalWritten>, Refusal> {
    let session = asks.sit((JobId(id), asks.params.shell), asks.params.run)?;
    let bytes = raw(request, TERMINAL_CHUNK).await.map_err(Refusal::Failed)?;
    let at = asks.params.at;
    let written = write_to(&asks.app, JobId(id), End::Job, &session, at, &bytes).await;
    written.map_err(Refusal::Failed)
}

/// Opens a shell beside a running job
///
/// The runner of the job starts it on the job's first node, as the job's user, in its environment. It is at
/// `/jobs/{id}/terminal` with its number as `shell`. It ends with the run.
#[utoipa::path(post, path = "/jobs/{id}/shells", tag = "jobs", operation_id = "openShell", request_body = ShellCreate,
    params(("id" = u64, Path, description = "The job's number")),
    responses((status = 201, description = "It is on its way", body = Shell)))]
async fn open_shell(
    Asks(app, caller, _): Asks,
    Part(id): Part<u64>,
    Body(create): Body<ShellCreate>,
) -> Result<(StatusCode, Json<Shell>), Failure> {
    let job = JobId(id);
    if !create.terminal.has_hash() || create.command.len() > WORDS_MAX {
        let why = "a shell has a SHA-256 in 64 hexadecimal digits, and at most 1000 words";
        return Err(refused(Kind::BadRequest.problem(why).field("terminal.key_hash")));
    }
    let tenant = beside(&app, &caller, job, create.worker)?;
    let (run, access) = match (current(&app, job), app.daemon().terminal()) {
        (Some(run), Some(access)) => (run, access),
        (None, _) => return Err(over(job)),
        (_, None) => return Err(no_terminals()),
    };
    let shell = new_number();
    let key_hash = Some(create.terminal.key_hash);
    app.inner.terminals.open((job, Some(shell)), run, &tenant, key_hash).map_err(full)?;
    let order = oef_executor::Shell {
        id: shell,
        rank: create.worker,
        command: create.command,
        env: create.env,
        terminal: access.terminal(job, run, Some(shell), create.terminal.pty),
    };
    if !app.daemon().order_shell(job, run, order) {
        let why = "jobs of this cluster are not run by OEF, and have no shells";
        return Err(Failure(Kind::Conflict.problem(why)));
    }
    Ok((StatusCode::CREATED, Json(Shell { shell, run: run.0 })))
}

/// The tenant of a running job, if the caller may have a shell beside this worker of it.
fn beside(app: &App, caller: &Caller, job: JobId, worker: u32) -> Result<String, Failure> {
    let found = app.daemon().with_world(|world| {
        let job = world.jobs.get(&job).filter(|job| caller.may_see(job.tenant()))?;
        Some((job.tenant().to_string(), job.state, *job.spec.workers))
    });
    let none = || Failure(Kind::NotFound.problem(format!("there is no job {job}")));
    let (tenant, state, workers) = found.ok_or_else(none)?;
    let problem = if !caller.may_see_inside(&tenant) {
        Kind::Forbidden.problem(format!("{} may not look inside of jobs", caller.named()))
    } else if state != JobState::Running {
        let hint = "a shell needs a job that runs; `oef why` says when it starts";
        Kind::Conflict.problem(format!("job {job} is {}", state.name())).hint(hint)
    } else if worker >= workers {
        let why = format!("job {job} has no worker {worker}: it has {workers}, from 0 on");
        Kind::BadRequest.problem(why).field("worker")
    } else {
        return Ok(tenant);
    };
    Err(refused(problem))
}

/// Numbers that rise, also across restarts: a runner starts nothing twice.
fn new_number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let now = u64::try_from(now).unwrap_or(u64::MAX);
    let before = LAST.fetch_max(now, Ordering::Relaxed);
    if before < now { now } else { LAST.fetch_add(1, Ordering::Relaxed) + 1 }
}

fn full(full: Full) -> Failure {
    let why = match full {
        Full::Own(max) => format!("{max} terminals of this tenant are open already"),
        Full::All(max) => format!("{max} terminals are open already"),
    };
    Failure(Kind::TooManyRequests.problem(why).hint("end one of them"))
}

/// Lets in whoever has the secret of a terminal that they may see.
fn admit(
    app: &App,
    caller: &Caller,
    terminal: TerminalId,
    headers: &HeaderMap,
) -> Result<(), Failure> {
    let (job, shell) = terminal;
    let of_shell = shell.map(|_| app.inner.terminals.find(terminal)?.key_hash.clone());
    let Some(given) = headers.get(TERMINAL_KEY).and_then(|value| value.to_str().ok()) else {
        let why = format!("the header {TERMINAL_KEY} has the secret of the terminal");
        return Err(Failure(Kind::BadRequest.problem(why).field(TERMINAL_KEY)));
    };
    let hash = crate::secret::hash(given);
    let known = app.daemon().with_world(|world| {
        let job = world.jobs.get(&job).filter(|job| caller.may_see(job.tenant()))?;
        let is_inside = caller.may_see_inside(job.tenant());
        let of_job = || job.spec.terminal.as_ref().map(|terminal| terminal.key_hash.clone());
        let known = of_shell.unwrap_or_else(of_job);
        Some(known.map(|known| is_inside && crate::secret::same(&known, &hash)))
    });
    match known {
        Some(Some(true)) => Ok(()),
        Some(Some(false)) => Err(Failure(
            Kind::Forbidden
                .problem("a terminal is for whoever submitted its job, and for nobody else"),
        )),
        Some(None) => Err(Failure(
            Kind::Conflict.problem(format!("job {job} has no such terminal; it may have ended")),
        )),
        None => Err(Failure(Kind::NotFound.problem(format!("there is no job {job}")))),
    }
}

impl<T> OfJob<T> {
    /// What a job sits at, if the secret is that of its current run.
    fn sit(&self, terminal: TerminalId, run: Option<u64>) -> Result<Arc<Session>, Refusal> {
        let (app, (job, shell)) = (&self.app, terminal);
        let access = app.daemon().terminal();
        let is_its = |run: &Generation| {
            access.is_some_and(|access| access.is_secret(&self.secret, job, *run, shell))
        };
        let Some(run) = run.map(Generation).filter(is_its) else {
            within_rate(app, self.origin)?;
            let problem = Kind::Unauthorized.problem("that is not the secret of a run of this job");
            return Err(Refusal::Failed(Failure(problem)));
        };
        let bucket = bucket(job);
        if let Some(guest) = &self.guest {
            guest.is_known(bucket);
        }
        within_rate(app, bucket)?;
        if current(app, job) != Some(run) {
            return Err(Refusal::Failed(over(job)));
        }
        if shell.is_some() {
            // Its client opened it; a daemon that was started again knows nothing of it.
            return app.inner.terminals.find(terminal).ok_or_else(|| Refusal::Failed(over(job)));
        }
        let tenant =
            app.daemon().with_world(|world| world.jobs.get(&job).map(|j| j.tenant().to_string()));
        let opened = app.inner.terminals.open(terminal, run, &tenant.unwrap_or_default(), None);
        opened.map_err(|many| Refusal::Failed(full(many)))
    }
}

/// The run that a job has now.
fn current(app: &App, job: JobId) -> Option<Generation> {
    app.daemon().with_world(|world| {
        let job = world.jobs.get(&job).filter(|job| !job.state.is_final())?;
        job.run().map(|run| run.generation)
    })
}

fn session_for(app: &App, terminal: TerminalId, run: Option<u64>) -> Option<Arc<Session>> {
    let is_meant = |session: &Arc<Session>| match run {
        Some(run) => session.run == Generation(run),
        None => current(app, terminal.0) == Some(session.run),
    };
    app.inner.terminals.find(terminal).filter(is_meant)
}

fn over(job: JobId) -> Failure {
    Failure(Kind::Conflict.problem(format!("this run of job {job} is over")))
}

fn wait(params: &ReadParams) -> Duration {
    params.wait_ms.map_or(WAIT_MAX, Duration::from_millis).min(WAIT_MAX)
}

async fn read_from(
    app: &App,
    job: JobId,
    end: End,
    session: &Session,
    from: u64,
    deadline: Instant,
) -> Result<Response, Failure> {
    let mut changes = session.listen();
    loop {
        // Before the bytes: what comes last is read before its run is over.
        let is_over = current(app, job) != Some(session.run);
        let bytes = session.take(end, from).map_err(|Gap| {
            Failure(Kind::Conflict.problem(format!("nothing is at {from}: somebody else reads")))
        })?;
        let is_late = Instant::now() >= deadline || app.is_closing();
        if !bytes.is_empty() || is_over || is_late {
            let is_over = is_over && bytes.is_empty();
            return Ok(answer(bytes, Some(session.run), session.alone(end), is_over));
        }
        let left = LOOK_EVERY.min(deadline.saturating_duration_since(Instant::now()));
        let _ = tokio::time::timeout(left, changes.changed()).await;
    }
}

async fn write_to(
    app: &App,
    job: JobId,
    end: End,
    session: &Session,
    at: u64,
    bytes: &[u8],
) -> Answer<TerminalWritten> {
    let deadline = Instant::now() + WAIT_MAX;
    let mut changes = session.listen();
    loop {
        let put = session.put(end, at, bytes);
        let is_late = Instant::now() >= deadline || app.is_closing();
        match put {
            Put::Taken { next, read } => {
                return Ok(Json(TerminalWritten { next, read: Some(read) }));
            }
            _ if current(app, job) != Some(session.run) => return Err(over(job)),
            Put::Full { next, read } if is_late => {
                return Ok(Json(TerminalWritten { next, read: Some(read) }));
            }
            Put::Unread if is_late => return Ok(Json(TerminalWritten { next: at, read: None })),
            Put::Full { .. } | Put::Unread => {
                let _ = tokio::time::timeout(LOOK_EVERY, changes.changed()).await;
            }
        }
    }
}

fn answer(bytes: Vec<u8>, run: Option<Generation>, alone: Duration, is_over: bool) -> Response {
    let mut response = bytes.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    let alone = u64::try_from(alone.as_millis()).unwrap_or(u64::MAX);
    headers.insert(HeaderName::from_static(TERMINAL_ALONE), HeaderValue::from(alone));
    if let Some(run) = run {
        headers.insert(HeaderName::from_static(TERMINAL_RUN), HeaderValue::from(run.0));
    }
    if is_over {
        headers.insert(HeaderName::from_static(TERMINAL_OVER), HeaderValue::from_static("1"));
    }
    response
}

impl App {
    fn is_closing(&self) -> bool {
        *self.inner.closing.borrow()
    }
}

#[cfg(test)]
mod tests {
    use super::super::rate::of_address;
    use super::*;
    use crate::socket::People;

    /// The job with the number of a user took from the room of that user.
    #[test]
    fn no_job_has_the_bucket_of_somebody_else() {
        for n in [1, 1002, u64::from(u32::MAX), u64::MAX] {
            let bucket = bucket(JobId(n));
            assert!(bucket > People::token_of(u32::MAX) && bucket < of_address(None), "{n}");
        }
    }
}
