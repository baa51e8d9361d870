//! What is around every route: ids, logs, figures, a time limit, and no way out for a panic.

use super::App;
use super::failure::{self, Failure};
use super::host;
use super::lingering::linger;
use crate::problem::{Kind, More};
use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tower_http::catch_panic::CatchPanicLayer;
use tracing::Instrument;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Longer ones would only fill logs.
const REQUEST_ID_CHARS_MAX: usize = 100;

/// Puts them around: the last is the outermost.
pub(super) fn around(routes: Router<App>, app: &App) -> Router<App> {
    routes
        .layer(CatchPanicLayer::custom(caught))
        .layer(middleware::from_fn_with_state(app.clone(), in_time))
        .layer(middleware::from_fn_with_state(app.clone(), host::check))
        .layer(middleware::map_response(careful))
        .layer(middleware::from_fn_with_state(app.clone(), linger))
        .layer(middleware::from_fn_with_state(app.clone(), watched))
}

fn caught(_: Box<dyn Any + Send + 'static>) -> Response {
    tracing::error!("a handler panicked");
    failure::panicked().into_response()
}

/// A request that takes too long is given up. The answer's body may take longer: event streams do.
async fn in_time(State(app): State<App>, request: Request, next: Next) -> Response {
    let limit = app.inner.limits.request_time;
    match tokio::time::timeout(limit.0, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let problem =
                Kind::Unavailable.problem(format!("the answer was not ready within {limit}"));
            let hint =
                "it may still be carried out; with an Idempotency-Key it is safe to submit again";
            Failure(problem.hint(hint)).into_response()
        }
    }
}

/// Answers hold what is for one caller: no cache keeps them, and no browser guesses what they are.
async fn careful(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// An id, a span and a figure for each request. Neither token nor body nor query goes into a log.
async fn watched(State(app): State<App>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let id = request_id(request.headers());
    let method = request.method().clone();
    let matched = request.extensions().get::<MatchedPath>();
    let route = matched.map_or("unknown", MatchedPath::as_str).to_string();
    let span = tracing::info_span!("request", id, %method, route);
    let mut response = next.run(request).instrument(span.clone()).await;
    let (status, took) = (response.status().as_u16(), began.elapsed());
    let method = if KNOWN_METHODS.contains(&method.as_str()) { method.as_str() } else { "other" };
    app.inner.exporter.request(&route, method, status, took);
    let ms = took.as_secs_f64() * 1e3;
    span.in_scope(|| match status {
        500.. => tracing::warn!(status, ms, "answered"),
        _ => tracing::debug!(status, ms, "answered"),
    });
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

/// A client may invent methods without end; the figures name only these.
const KNOWN_METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// The id that the client gave, or the next of our own.
fn request_id(headers: &HeaderMap) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let given = headers.get(&REQUEST_ID).and_then(|value| value.to_str().ok());
    let is_fine = |id: &&str| {
        (1..=REQUEST_ID_CHARS_MAX).contains(&id.len())
            && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:".contains(&b))
    };
    match given.filter(is_fine) {
        Some(id) => id.into(),
        None => format!("oef-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)),
    }
}
