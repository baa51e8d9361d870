//! What a live page asks again and again. Many pages ask the same at the same time, so that answers are kept for a
//! moment and sent compressed.

mod cache;
mod samples;

pub(super) use cache::{Cache, takes_gzip};
pub(super) use samples::{EVERY, Samples};

use super::handler::*;
use crate::daemon::Daemon;
use axum::http::HeaderMap;
use axum::response::Response;
use oef_api::types::{
    EnvyMatrix, EnvyQuery, JobCurve, Overview, RecentQuery, RecentRounds, Scenario, ScenarioAnswer,
    Series, SeriesQuery, Timeline, TimelineQuery,
};

/// Rounds in one answer, as many as any list has.
const ROUNDS_MAX: u32 = oef_api::limits::PAGE_MAX;
/// Rounds that are remembered of each tenant.
const SERIES_ROUNDS_MAX: u32 = 288;
/// More curves than this are a picture of nothing.
const SERIES_TENANTS_MAX: u32 = 100;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(overview))
        .routes(routes!(timeline))
        .routes(routes!(recent))
        .routes(routes!(series))
        .routes(routes!(envy))
        .routes(routes!(curve))
        .routes(routes!(scenario))
}

/// A number that a browser can count with: beyond, doubles have gaps.
fn exact(field: &str, value: Option<u64>) -> Result<(), Failure> {
    const MAX: u64 = (1 << 53) - 1;
    match value.filter(|value| *value > MAX) {
        None => Ok(()),
        Some(value) => {
            let problem = Kind::BadRequest.problem(format!("{field} is {value}, more than {MAX}"));
            Err(Failure(problem.field(field)))
        }
    }
}

impl App {
    /// Looks at what jobs tell of their progress, until the server stops.
    pub(super) fn look_at_jobs(&self) {
        let app = self.clone();
        tokio::spawn(async move {
            let mut closing = app.inner.closing.subscribe();
            let mut look = tokio::time::interval(EVERY);
            loop {
                tokio::select! {
                    _ = look.tick() => app.inner.samples.look(app.daemon()),
                    _ = closing.wait_for(|closing| *closing) => break,
                }
            }
        });
    }
}

/// Shows the cluster at a glance: the round's clock, gpu types, and every tenant in a line
#[utoipa::path(get, path = "/overview", tag = "cluster", operation_id = "getOverview",
    responses((status = 200, description = "The cluster at a glance", body = Overview)))]
async fn overview(asked: Asks, headers: HeaderMap) -> Result<Response, Failure> {
    cache::answer(asked, &headers, "overview", |daemon, caller, _| daemon.overview(caller)).await
}

/// Shows who ran where
///
/// By default the last hour. With `changed_after_ms` only what is new to somebody who has the rest. Runs of jobs that
/// the caller may not see have neither job nor tenant.
#[utoipa::path(get, path = "/timeline", tag = "cluster", operation_id = "getTimeline", params(TimelineQuery),
    responses((status = 200, description = "The runs, the oldest first", body = Timeline)))]
async fn timeline(asked: Asks<TimelineQuery>, headers: HeaderMap) -> Result<Response, Failure> {
    let Asks(_, _, query) = &asked;
    exact("from_ms", query.from_ms)?;
    exact("to_ms", query.to_ms)?;
    exact("changed_after_ms", query.changed_after_ms)?;
    exact("job", query.job)?;
    cache::answer(asked, &headers, "timeline", Daemon::timeline).await
}

/// Shows the last rounds, and whether all that their mechanism promises held
#[utoipa::path(get, path = "/rounds/recent", tag = "rounds", operation_id = "listRecentRounds", params(RecentQuery),
    responses((status = 200, description = "The rounds, the oldest first", body = RecentRounds)))]
async fn recent(asked: Asks<RecentQuery>, headers: HeaderMap) -> Result<Response, Failure> {
    let Asks(_, _, query) = &asked;
    within("limit", query.limit, ROUNDS_MAX)?;
    exact("after", query.after)?;
    cache::answer(asked, &headers, "recent", |daemon, _, query| daemon.recent_rounds(query)).await
}

/// Shows promised and delivered throughput round by round
#[utoipa::path(get, path = "/fairness/series", tag = "rounds", operation_id = "getSeries", params(SeriesQuery),
    responses((status = 200, description = "The curves", body = Series)))]
async fn series(asked: Asks<SeriesQuery>, headers: HeaderMap) -> Result<Response, Failure> {
    let Asks(_, _, query) = &asked;
    within("rounds", query.rounds, SERIES_ROUNDS_MAX)?;
    within("tenants", query.tenants, SERIES_TENANTS_MAX)?;
    exact("after", query.after)?;
    cache::answer(asked, &headers, "series", Daemon::series).await
}

/// Shows how some tenants value each other's shares
#[utoipa::path(get, path = "/fairness/envy", tag = "rounds", operation_id = "getEnvy", params(EnvyQuery),
    responses((status = 200, description = "A matrix that people can read", body = EnvyMatrix)))]
async fn envy(asked: Asks<EnvyQuery>, headers: HeaderMap) -> Result<Response, Failure> {
    cache::answer(asked, &headers, "envy", Daemon::envy).await
}

/// Shows what a job told of its progress since the daemon was started
#[utoipa::path(get, path = "/jobs/{id}/curve", tag = "jobs", operation_id = "getJobCurve",
    params(("id" = u64, Path, description = "The job's number")),
    responses((status = 200, description = "Steps, throughput and loss over time", body = JobCurve)))]
async fn curve(Asks(app, caller, _): Asks, Part(id): Part<u64>) -> Answer<JobCurve> {
    // Who may see the job may see how far it is.
    app.daemon().job(&caller, id)?;
    Ok(Json(app.inner.samples.curve(id)))
}

/// Computes everybody's shares before and after some changes; nothing is changed
///
/// The changes are to the problem of the current round's shares, so that an answer takes milliseconds. `/whatif` thinks
/// through jobs and their starts as well.
#[utoipa::path(post, path = "/whatif/shares", tag = "rounds", operation_id = "whatIfShares", request_body = Scenario,
    responses((status = 200, description = "Everybody before and after", body = ScenarioAnswer)))]
async fn scenario(
    Asks(app, caller, _): Asks,
    LargeBody(scenario): LargeBody<Scenario>,
) -> Answer<ScenarioAnswer> {
    let asker = caller.clone();
    let ask =
        move |daemon: &Daemon, gone: &dyn Fn() -> bool| daemon.scenario(&asker, &scenario, gone);
    let answer = app.think(&caller, ask).await;
    answer.map(Json).map_err(|Failure(problem)| refused(problem))
}
