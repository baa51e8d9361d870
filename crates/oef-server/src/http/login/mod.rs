//! Logging a browser in: by a link with a code that counts once, or by a token. What the browser keeps is a cookie that
//! scripts cannot read, that no other site can make it send, and that expires.

mod codes;
mod cookie;
mod fair;
mod sessions;

pub(super) use codes::Codes;
pub(super) use sessions::Sessions;

use super::App;
use super::auth::{Asks, too_many};
use super::extract::Body;
use super::failure::{Answer, Failure};
use super::rate::{Buckets, of_address};
use crate::caller::Caller;
use crate::engine::wall;
use crate::problem::{Kind, More};
use crate::socket::People;
use axum::extract::{ConnectInfo, FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use oef_api::types::{LoginCode, Role};
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Instant;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Wrong tries of one address, and logins of one caller: enough for fingers, too few for a program. Tokens and codes are
/// random numbers of 256 bits, which nobody guesses: this keeps programs that try in vain from being work.
const TRIES_PER_SECOND: f64 = 0.5;
const TRIES_BURST: u32 = 20;
/// Longer ones are none of ours.
const SECRET_CHARS_MAX: usize = 512;

/// Everything about logging in.
pub(super) struct Login {
    pub codes: Codes,
    pub sessions: Sessions,
    /// Tries that were wrong, by address.
    tries: Buckets,
    /// Logins, by caller: nobody's failures keep them out.
    logins: Buckets,
    /// Cookies of daemons on other ports of the same host are other cookies.
    cookie: String,
    has_tls: bool,
    /// Where the daemon listens, as clients on its machine write it.
    address: OnceLock<String>,
}

impl Login {
    pub fn new(port: u16, has_tls: bool) -> Self {
        Login {
            codes: Codes::default(),
            sessions: Sessions::default(),
            tries: Buckets::new(TRIES_PER_SECOND, TRIES_BURST),
            logins: Buckets::new(TRIES_PER_SECOND, TRIES_BURST),
            cookie: format!("oef_session_{port}"),
            has_tls,
            address: OnceLock::new(),
        }
    }
}

impl App {
    /// Sessions are kept in this file, so that a restart logs nobody out.
    pub fn keep_sessions_in(&self, file: PathBuf) {
        self.inner.login.sessions.keep_in(file);
    }

    /// Says where the daemon listens: links for people who are connected by the socket begin with it.
    pub fn listens_at(&self, address: &str) {
        let _ = self.inner.login.address.set(address.into());
    }

    /// A link's path that logs a browser in as the daemon's owner, once; none: the system has no randomness.
    pub fn owner_link(&self) -> Option<String> {
        self.inner.login.codes.create(0).ok().map(|code| code.path)
    }
}

/// The routes for browsers, which are no part of the REST interface.
pub(super) fn browser_routes() -> Router<App> {
    Router::new().route("/session", get(show).post(enter)).route("/session/end", post(leave))
}

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(create_code))
}

/// Makes a code that logs one browser in as the caller, once
///
/// The link is the daemon's address followed by `path`. What stands after the `#` is sent to no server and stands in no
/// log on the way.
#[utoipa::path(post, path = "/login-codes", tag = "tokens", operation_id = "createLoginCode",
    responses((status = 201, description = "The code", body = LoginCode)))]
async fn create_code(Asks(app, caller, _): Asks) -> Result<(StatusCode, Json<LoginCode>), Failure> {
    let mut code = app.inner.login.codes.create(caller.token)?;
    code.server = app.inner.login.address.get().cloned();
    Ok((StatusCode::CREATED, Json(code)))
}

/// What a browser shows to get in.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
enum Enter {
    Code(String),
    Token(String),
}

/// Who is logged in.
#[derive(Serialize)]
struct Who {
    logged_in: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<Role>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_ms: Option<u64>,
    version: &'static str,
}

impl Who {
    fn of(caller: Option<(Caller, u64)>) -> Self {
        let (caller, expires_ms) = caller.unzip();
        Who {
            logged_in: caller.is_some(),
            role: caller.as_ref().map(|caller| caller.role),
            tenant: caller.and_then(|caller| caller.tenant),
            expires_ms,
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

/// Where a request comes from, as far as the connection tells.
struct Origin(Option<IpAddr>);

impl FromRequestParts<App> for Origin {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Infallible> {
        let info = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        Ok(Origin(info.map(|ConnectInfo(address)| address.ip())))
    }
}

/// Nobody is no error here: a browser that is not logged in wants to be told so.
async fn show(State(app): State<App>, headers: HeaderMap) -> Answer<Who> {
    Ok(Json(Who::of(session(&app, &headers))))
}

async fn enter(
    State(app): State<App>,
    Origin(origin): Origin,
    headers: HeaderMap,
    Body(enter): Body<Enter>,
) -> Result<Response, Failure> {
    check_origin(&Method::POST, &headers)?;
    let login = &app.inner.login;
    let token = match &enter {
        Enter::Code(code) => login.codes.whose(code),
        Enter::Token(secret) if secret.len() <= SECRET_CHARS_MAX => {
            app.daemon().authenticate(secret.trim()).map(|caller| caller.token)
        }
        Enter::Token(_) => None,
    };
    let caller = token.and_then(|token| holder(&app, token));
    // Who fails is limited by where they are, and keeps nobody out who does not: behind a proxy all are there.
    let taken = match &caller {
        Some(caller) => login.logins.take(caller.token, 1, Instant::now()),
        None => login.tries.take(of_address(origin), 1, Instant::now()),
    };
    if let Err(wait) = taken {
        app.inner.exporter.refused();
        return Ok(too_many(wait, "tries to log in"));
    }
    let is_used = |code: &String| login.codes.redeem(code).is_none();
    let caller = caller.filter(|_| !matches!(&enter, Enter::Code(code) if is_used(code)));
    let caller = caller.ok_or_else(|| {
        let problem = Kind::Unauthorized.problem("the code or token is not valid, or was used");
        Failure(problem.hint("`oef open` makes a new link; `oef token create` makes a token"))
    })?;
    let (secret, expires_ms) = app.inner.login.sessions.begin(caller.token, wall().0)?;
    let mut response = Json(Who::of(Some((caller, expires_ms)))).into_response();
    set_cookie(&app, &headers, &mut response, &secret);
    Ok(response)
}

/// The session ends here and in the browser.
async fn leave(State(app): State<App>, headers: HeaderMap) -> Result<Response, Failure> {
    check_origin(&Method::POST, &headers)?;
    if let Some(secret) = cookie::read(&headers, &app.inner.login.cookie) {
        app.inner.login.sessions.end(secret);
    }
    let mut response = Json(Who::of(None)).into_response();
    set_cookie(&app, &headers, &mut response, "");
    Ok(response)
}

fn set_cookie(app: &App, asked: &HeaderMap, response: &mut Response, secret: &str) {
    let login = &app.inner.login;
    // A proxy that speaks TLS for us says so; believing it can only make the cookie stricter.
    let forwarded = asked.get("x-forwarded-proto").is_some_and(|proto| proto == "https");
    let text = cookie::write(&login.cookie, secret, login.has_tls || forwarded);
    if let Ok(value) = HeaderValue::from_str(&text) {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
}

/// Who is behind the cookie of a request, and until when.
fn session(app: &App, headers: &HeaderMap) -> Option<(Caller, u64)> {
    let secret = cookie::read(headers, &app.inner.login.cookie)?;
    let (token, expires_ms) = app.inner.login.sessions.find(secret, wall().0)?;
    Some((holder(app, token)?, expires_ms))
}

/// Who is behind the number of a token, or of a user of this machine who has none, as of now.
fn holder(app: &App, token: u64) -> Option<Caller> {
    match People::user_of(token) {
        Some(peer) => Some(app.caller(peer).0),
        None => app.daemon().holder(token),
    }
}

/// The caller behind the cookie of a request; none: it has none that counts. What changes something must come from
/// the page itself.
pub(super) fn caller(
    app: &App,
    method: &Method,
    headers: &HeaderMap,
) -> Result<Option<Caller>, Failure> {
    match session(app, headers) {
        None => Ok(None),
        Some((caller, _)) => check_origin(method, headers).map(|()| Some(caller)),
    }
}

/// Another program on the same host but another port is the same site to a browser, and its cookies go along.
fn check_origin(method: &Method, headers: &HeaderMap) -> Result<(), Failure> {
    if [Method::GET, Method::HEAD, Method::OPTIONS].contains(method) {
        return Ok(());
    }
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let is_own = match (text("sec-fetch-site"), text("origin")) {
        (Some(site), _) => site == "same-origin",
        (None, Some(origin)) => {
            let host = origin.split_once("://").map(|(_, host)| host);
            host.is_some() && host == text("host")
        }
        (None, None) => false,
    };
    match is_own {
        true => Ok(()),
        false => {
            let problem = Kind::Forbidden.problem("the request does not come from OEF's own page");
            Err(Failure(problem.hint("programs send a token: `Authorization: Bearer TOKEN`")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(of: &[(&'static str, &'static str)]) -> HeaderMap {
        of.iter()
            .map(|(name, value)| {
                (header::HeaderName::from_static(name), HeaderValue::from_static(value))
            })
            .collect()
    }

    #[test]
    fn only_the_page_itself_changes_something_with_a_cookie() {
        let may = |of: &[_]| check_origin(&Method::POST, &headers(of)).is_ok();
        assert!(may(&[("sec-fetch-site", "same-origin")]));
        assert!(may(&[("origin", "http://gpu:7733"), ("host", "gpu:7733")]));
        assert!(!may(&[("sec-fetch-site", "same-site")]));
        assert!(!may(&[("origin", "http://gpu:80"), ("host", "gpu:7733")]));
        assert!(!may(&[("origin", "null"), ("host", "null")]));
        assert!(!may(&[]));
        assert!(check_origin(&Method::GET, &headers(&[])).is_ok());
    }
}
