//! Who was promised what and who got it; and what would happen if.

use super::App;
use super::auth::Asks;
use super::extract::{LargeBody, Nothing, Params};
use super::failure::{Answer, Failure, panicked, refused};
use crate::problem::{Kind, More};
use axum::Json;
use axum::extract::State;
use oef_api::types::{Fairness, WhatIf, WhatIfAnswer, WhatIfChange};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Changes in one question at most.
const CHANGES_MAX: usize = 100;
/// Workers of a job at most, as for a submission.
const WORKERS_MAX: u32 = 100_000;
/// Retries of a job at most, as for a submission.
const RETRIES_MAX: u32 = 1000;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(show)).routes(routes!(whatif))
}

/// Shows envy, sharing incentive, and promised and delivered shares
#[utoipa::path(get, path = "/fairness", tag = "rounds", operation_id = "getFairness",
    responses((status = 200, description = "Fairness as it stands and as it went", body = Fairness)))]
async fn show(
    State(app): State<App>,
    Asks(caller): Asks,
    Params(_): Params<Nothing>,
) -> Answer<Fairness> {
    app.aside(move |daemon| daemon.fairness(&caller)).await.map(Json)
}

/// Thinks changes through on the live state; nothing is changed
#[utoipa::path(post, path = "/whatif", tag = "rounds", operation_id = "whatIf", request_body = WhatIf,
    responses((status = 200, description = "What would happen to everyone", body = WhatIfAnswer)))]
async fn whatif(
    State(app): State<App>,
    Asks(caller): Asks,
    Params(_): Params<Nothing>,
    LargeBody(changes): LargeBody<WhatIf>,
) -> Answer<WhatIfAnswer> {
    if changes.changes.len() > CHANGES_MAX {
        let detail = format!("{} changes are more than {CHANGES_MAX}", changes.changes.len());
        return Err(Failure(Kind::BadRequest.problem(detail).field("changes")));
    }
    changes.changes.iter().try_for_each(check)?;
    let _turn = app.inner.whatifs.acquire().await.map_err(|_| panicked())?;
    let answer = app.aside(move |daemon| daemon.whatif(&caller, &changes)).await;
    answer.map(Json).map_err(|Failure(problem)| refused(problem))
}

/// A job that could not be submitted has no answer.
fn check(change: &WhatIfChange) -> Result<(), Failure> {
    let WhatIfChange::Submit { job } = change else { return Ok(()) };
    let is_length = |seconds: Option<f64>| seconds.is_none_or(|s| s.is_finite() && s >= 0.0);
    let wrong = [
        ("workers", !(1..=WORKERS_MAX).contains(&job.workers)),
        ("retries", job.retries > RETRIES_MAX),
        ("max_run_s", !is_length(job.max_run_s) || job.max_run_s == Some(0.0)),
        ("min_run_s", !is_length(job.min_run_s)),
        ("grace_s", !is_length(job.grace_s)),
    ];
    match wrong.iter().find(|(_, is_wrong)| *is_wrong) {
        None => Ok(()),
        Some((field, _)) => {
            let problem = Kind::BadRequest.problem(format!("{field} of the job is out of bounds"));
            Err(Failure(problem.field(*field)))
        }
    }
}
