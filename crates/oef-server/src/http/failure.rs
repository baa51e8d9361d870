//! Errors as RFC 9457 problem details, whoever found them.

use crate::problem::{Kind, More};
use axum::Json;
use axum::http::{HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use oef_api::types::ApiError;

/// What a handler returns.
pub(super) type Answer<T> = Result<Json<T>, Failure>;

/// What a handler returns that makes something.
pub(super) type Created<T> = Result<(StatusCode, Json<T>), Failure>;

/// What a handler returns that removes something.
pub(super) type Removed = Result<StatusCode, Failure>;

/// Something was made.
pub(super) fn created<T>(made: T) -> (StatusCode, Json<T>) {
    (StatusCode::CREATED, Json(made))
}

/// The media type of a problem.
pub(super) const PROBLEM_JSON: &str = "application/problem+json";

/// A problem on its way out.
#[derive(Debug)]
pub(super) struct Failure(pub ApiError);

impl From<ApiError> for Failure {
    fn from(problem: ApiError) -> Self {
        Failure(problem)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status =
            StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, Json(self.0)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        match status {
            StatusCode::UNAUTHORIZED => {
                let challenge = HeaderValue::from_static("Bearer realm=\"oef\"");
                headers.insert(header::WWW_AUTHENTICATE, challenge);
            }
            // Who is told "not now" is told when.
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                headers.entry(header::RETRY_AFTER).or_insert(HeaderValue::from_static("1"));
            }
            _ => {}
        }
        response
    }
}

/// A problem with a body that could be read. What cannot be read is 400; what is understood and cannot be
/// is 422, so that a client knows on whose side to look.
pub(super) fn refused(mut problem: ApiError) -> Failure {
    if problem.status == StatusCode::BAD_REQUEST {
        problem.status = StatusCode::UNPROCESSABLE_ENTITY.as_u16();
    }
    Failure(problem)
}

/// The same where the body names a group. One that is not there is a mistake in the body: 404 would say that
/// the thing in the path is missing.
pub(super) fn refused_group(problem: ApiError, field: &str) -> Failure {
    if problem.kind != Kind::NotFound.word() {
        return refused(problem);
    }
    let status = StatusCode::UNPROCESSABLE_ENTITY.as_u16();
    Failure(ApiError { status, ..problem }.field(field))
}

pub(super) async fn unknown_route(uri: Uri) -> Failure {
    let problem = Kind::NotFound.problem(format!("there is no route {}", uri.path()));
    Failure(problem.hint(format!("all routes are listed at {}/openapi.json", oef_api::PREFIX)))
}

pub(super) async fn unknown_method(method: Method, uri: Uri) -> Failure {
    let detail = format!("{} does not know the method {method}", uri.path());
    Failure(Kind::MethodNotAllowed.problem(detail).hint("the header Allow names those it knows"))
}

/// An internal error: what it was is in its log, and none of the caller's business.
pub(super) fn panicked() -> Failure {
    let problem = Kind::Internal.problem("the daemon made a mistake while it answered");
    Failure(problem.hint("its log has more, under the request's X-Request-Id; please report it"))
}
