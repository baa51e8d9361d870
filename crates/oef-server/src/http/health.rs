//! For machines that look after machines: is it there, does it work, and how is it.

use super::App;
use super::auth::Looks;
use super::failure::Failure;
use crate::metrics::CONTENT_TYPE;
use crate::problem::{Kind, More};
use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
}

/// The process is alive and answers.
async fn healthz() -> &'static str {
    "ok\n"
}

/// Commands are taken and carried out: the journal can be written, no thread is blocked, rounds begin.
async fn readyz(State(app): State<App>) -> Result<&'static str, Failure> {
    let wrong = app.daemon().problems();
    if wrong.is_empty() {
        return Ok("ready\n");
    }
    let problem = Kind::Unavailable.problem(wrong.join("; "));
    Err(Failure(problem.hint("try again in a moment; `oef journal check` says how the journal is")))
}

async fn metrics(State(app): State<App>, _: Looks) -> Result<Response, Failure> {
    let exporter = app.inner.exporter.clone();
    let text = app.aside(move |daemon| Ok(exporter.render(&daemon.gauges()))).await?;
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response())
}
