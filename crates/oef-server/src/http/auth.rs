//! Who asks: bearer tokens, and how often each may ask.

use super::App;
use super::extract::query;
use super::failure::Failure;
use super::login;
use super::rate::of_address;
use super::seats::Guest;
use crate::caller::Caller;
use crate::engine::parse;
use crate::problem::{Kind, More};
use crate::socket::Peer;
use axum::extract::ConnectInfo;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::response::{IntoResponse, Response};
use oef_api::types::{Role, TenantCreate};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// The token of a user of this machine whom the system could not name: there is none.
const NOBODY: u64 = u64::MAX;

/// Longer ones are none of ours.
const SECRET_CHARS_MAX: usize = 512;

/// The caller of a request, with a valid token and within its rate, and the query, where no other parameter may stand
/// than those of `T`.
pub(super) struct Asks<T = Nothing>(pub App, pub Caller, pub T);

/// The query of a route that has none.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// Somebody who may look at the figures of everybody: with a token that is not a tenant's, or anybody where the daemon is
/// open for that.
pub(super) struct Looks;

/// Why a request goes no further.
pub(super) enum Refusal {
    Failed(Failure),
    /// Too many of these; the next one after so long.
    Rate(&'static str, Duration),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Refusal::Failed(failure)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Refusal::Failed(failure) => failure.into_response(),
            Refusal::Rate(what, wait) => too_many(wait, what),
        }
    }
}

/// The answer to somebody who asks too often.
pub(super) fn too_many(wait: Duration, what: &str) -> Response {
    let seconds = wait.as_secs_f64().ceil().max(1.0);
    let problem = Kind::TooManyRequests.problem(format!("too many {what} in a short time"));
    let hint = format!("wait {seconds} s, or raise the rate in the daemon's settings");
    let mut response = Failure(problem.hint(hint)).into_response();
    if let Ok(value) = HeaderValue::from_str(&seconds.to_string()) {
        response.headers_mut().insert(header::RETRY_AFTER, value);
    }
    response
}

impl<T: DeserializeOwned> FromRequestParts<App> for Asks<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refusal> {
        let caller = asking(parts, app).await?;
        Ok(Asks(app.clone(), caller, query(parts)?))
    }
}

/// Whoever asks, if the token is valid and the rate allows it.
async fn asking(parts: &Parts, app: &App) -> Result<Caller, Refusal> {
    let caller = match parts.extensions.get::<ConnectInfo<Peer>>() {
        // A token that is shown counts, on the socket too.
        Some(ConnectInfo(peer)) if !parts.headers.contains_key(header::AUTHORIZATION) => {
            Ok(peer_caller(*peer, app).await)
        }
        _ => caller(&parts.method, &parts.headers, app),
    };
    // Who guesses tokens is limited by where they are, and keeps nobody else from anything.
    let bucket = caller.as_ref().map_or_else(|_| origin(parts), |caller| caller.token);
    if let (Ok(caller), Some(guest)) = (&caller, parts.extensions.get::<Guest>()) {
        guest.is_known(caller.token);
    }
    within_rate(app, bucket)?;
    Ok(caller?)
}

impl FromRequestParts<App> for Looks {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refusal> {
        let is_peer = parts.extensions.get::<ConnectInfo<Peer>>().is_some();
        if app.inner.is_open && !is_peer && is_direct(&parts.headers) {
            within_rate(app, origin(parts))?;
            return Ok(Looks);
        }
        match asking(parts, app).await?.role {
            // The figures name every tenant, with what it holds and is owed.
            Role::Tenant => {
                let problem =
                    Kind::Forbidden.problem("the figures of all tenants are not for one of them");
                Err(Refusal::Failed(Failure(problem.hint("`oef fairness` shows your own"))))
            }
            Role::Admin | Role::Operator | Role::Viewer => Ok(Looks),
        }
    }
}

impl App {
    pub(super) fn caller(&self, peer: Peer) -> (Caller, bool) {
        let daemon = self.daemon();
        let user_of = |tenant: &str| daemon.user_of_tenant(tenant);
        self.inner.people.caller(peer, |user| daemon.tenant_of_user(user), user_of)
    }
}

/// The caller at the other end of the local socket, and whether a tenant is to be created for them.
pub(super) async fn person(peer: Peer, app: &App) -> Option<(Caller, bool)> {
    let people = app.clone();
    // A directory service may be asked.
    tokio::task::spawn_blocking(move || people.caller(peer)).await.ok()
}

/// The caller at the other end of the local socket. A tenant that is new is created, if the operator says so.
async fn peer_caller(peer: Peer, app: &App) -> Caller {
    let Some((caller, creates)) = person(peer, app).await else {
        return Caller { role: Role::Viewer, tenant: None, token: NOBODY, user: None };
    };
    let is_new = |tenant: &String| app.daemon().tenant(&Caller::admin(), tenant).is_err();
    if let Some(name) = caller.tenant.clone().filter(|name| creates && is_new(name)) {
        let created = match parse("name", &name).map(TenantCreate::named) {
            Ok(create) => app.daemon().create_tenant(&Caller::admin(), create).await,
            Err(problem) => Err(problem),
        };
        if let Err(problem) = created {
            let why = problem.detail;
            tracing::warn!(tenant = name, why, "the tenant of a user could not be created");
        }
    }
    caller
}

/// The bucket of whoever is at the other end of a connection and has no token.
pub(super) fn origin(parts: &Parts) -> u64 {
    let info = parts.extensions.get::<ConnectInfo<SocketAddr>>();
    of_address(info.map(|ConnectInfo(address)| address.ip()))
}

pub(super) fn within_rate(app: &App, bucket: u64) -> Result<(), Refusal> {
    let taken = app.inner.requests.take(bucket, 1, Instant::now());
    taken.map_err(|wait| too_often(app, "requests", wait))
}

/// Whether the rate of submissions allows so many more jobs.
pub(super) fn may_submit(app: &App, caller: &Caller, jobs: u32) -> Result<(), Refusal> {
    let taken = app.inner.submissions.take(caller.token, jobs, Instant::now());
    taken.map_err(|wait| too_often(app, "submissions", wait))
}

fn too_often(app: &App, what: &'static str, wait: Duration) -> Refusal {
    app.inner.exporter.refused();
    Refusal::Rate(what, wait)
}

/// Whether somebody on this machine asks for themselves. Behind a proxy everybody seems to be on this machine.
fn is_direct(headers: &HeaderMap) -> bool {
    let forwarded = ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip"];
    !headers.contains_key(header::AUTHORIZATION)
        && !forwarded.iter().any(|name| headers.contains_key(*name))
}

/// Who asks: by a token, or by the cookie of a browser that is logged in.
pub(super) fn caller(method: &Method, headers: &HeaderMap, app: &App) -> Result<Caller, Failure> {
    if !headers.contains_key(header::AUTHORIZATION)
        && let Some(caller) = login::caller(app, method, headers)?
    {
        return Ok(caller);
    }
    let secret = secret(headers)?;
    app.daemon().authenticate(&secret).ok_or_else(|| {
        let problem = Kind::Unauthorized.problem("the token is not known, or is void");
        Failure(problem.hint("`oef token create` makes a new one"))
    })
}

/// What stands after `Bearer`.
pub(super) fn secret(headers: &HeaderMap) -> Result<String, Failure> {
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        let problem = Kind::Unauthorized.problem("the request has no token");
        return Err(Failure(problem.hint("send the header `Authorization: Bearer TOKEN`")));
    };
    let bearer = value.to_str().ok().and_then(|text| {
        let (scheme, secret) = text.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
    });
    match bearer {
        Some(secret) if (1..=SECRET_CHARS_MAX).contains(&secret.len()) => Ok(secret.into()),
        _ => {
            let problem =
                Kind::Unauthorized.problem("the header Authorization holds no bearer token");
            Err(Failure(problem.hint("send the header `Authorization: Bearer TOKEN`")))
        }
    }
}
