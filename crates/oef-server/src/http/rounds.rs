//! Rounds with their certificates.

use super::handler::*;
use oef_api::types::{Round, RoundProblem, Rounds};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(current))
        .routes(routes!(show))
        .routes(routes!(problem))
}

/// Lists rounds, the newest first
#[utoipa::path(get, path = "/rounds", tag = "rounds", operation_id = "listRounds", params(NumberedParams),
    responses((status = 200, description = "One page of rounds", body = Rounds)))]
async fn list(Asks(app, caller, query): Asks<NumberedParams>) -> Answer<Rounds> {
    let page = page(query)?;
    app.aside(move |daemon| daemon.rounds(&caller, &page)).await.map(Json)
}

/// Shows the current round
#[utoipa::path(get, path = "/rounds/current", tag = "rounds", operation_id = "getCurrentRound",
    responses((status = 200, description = "The round", body = Round),
              (status = 404, description = "There was none yet", body = oef_api::types::ApiError,
               content_type = "application/problem+json")))]
async fn current(Asks(app, caller, _): Asks) -> Answer<Round> {
    app.aside(move |daemon| daemon.round(&caller, None)).await.map(Json)
}

/// Shows a round: shares, grants, placements and the certificate
#[utoipa::path(get, path = "/rounds/{round}", tag = "rounds", operation_id = "getRound",
    params(("round" = u64, Path, description = "The round's number")),
    responses((status = 200, description = "The round", body = Round)))]
async fn show(Asks(app, caller, _): Asks, Part(round): Part<u64>) -> Answer<Round> {
    app.aside(move |daemon| daemon.round(&caller, Some(round))).await.map(Json)
}

/// Shows the problem that the shares of a round answer, as a problem file has it
#[utoipa::path(get, path = "/rounds/{round}/problem", tag = "rounds", operation_id = "getRoundProblem",
    params(("round" = u64, Path, description = "The round's number")),
    responses((status = 200, description = "The problem", body = RoundProblem),
              (status = 403, description = "It has the profiles of all tenants", body = oef_api::types::ApiError,
               content_type = "application/problem+json")))]
async fn problem(Asks(app, caller, _): Asks, Part(round): Part<u64>) -> Answer<RoundProblem> {
    app.aside(move |daemon| daemon.round_problem(&caller, round)).await.map(Json)
}
