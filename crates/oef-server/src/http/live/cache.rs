//! Answers that are kept for a moment: two hundred pages that ask at the same time cost as much as one.

use super::super::auth::Asks;
use super::super::failure::{Failure, panicked};
use super::super::page::compressed;
use crate::caller::Caller;
use crate::daemon::Daemon;
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use oef_api::types::{ApiError, Role};
use serde::Serialize;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Mutex as Turn;

/// Nobody sees half a second.
const KEPT_FOR: Duration = Duration::from_millis(500);
/// Different questions that are kept; beyond, all are forgotten.
const KEPT_MAX: usize = 128;
/// Smaller answers gain nothing by compression.
const WORTH_COMPRESSING: usize = 1024;

/// Answers by question.
#[derive(Default)]
pub(in crate::http) struct Cache {
    kept: Mutex<HashMap<String, Arc<Turn<Option<Kept>>>>>,
}

#[derive(Clone)]
struct Kept {
    at: Instant,
    plain: Bytes,
    gzip: Option<Bytes>,
}

/// A question: what, by whom, with which parameters. All who may see everything see the same.
fn key(what: &str, caller: &Caller, query: &impl Serialize) -> String {
    let scope = match caller.role {
        Role::Tenant => caller.tenant.as_deref().unwrap_or(""),
        // No tenant is called so.
        _ => "\n",
    };
    let query = serde_json::to_string(query).unwrap_or_default();
    format!("{what}\0{scope}\0{query}")
}

/// Answers from what is kept, or asks the daemon; who asks the same meanwhile waits for that.
pub(super) async fn answer<Q, T>(
    Asks(app, caller, query): Asks<Q>,
    headers: &HeaderMap,
    what: &str,
    ask: fn(&Daemon, &Caller, &Q) -> Result<T, ApiError>,
) -> Result<Response, Failure>
where
    Q: Serialize + Send + 'static,
    T: Serialize + 'static,
{
    let place = app.inner.answers.place(key(what, &caller, &query));
    let mut turn = place.lock().await;
    let fresh = turn.clone().filter(|kept| kept.at.elapsed() < KEPT_FOR);
    let kept = match fresh {
        Some(kept) => kept,
        None => {
            let text = move |daemon: &Daemon| {
                ask(daemon, &caller, &query).map(|answer| serde_json::to_vec(&answer))
            };
            let body = app.aside(text).await?;
            let plain = Bytes::from(body.map_err(|_| panicked())?);
            let gzip = (plain.len() > WORTH_COMPRESSING).then(|| compressed(&plain)).flatten();
            let kept = Kept { at: Instant::now(), plain, gzip };
            *turn = Some(kept.clone());
            kept
        }
    };
    drop(turn);
    Ok(response(headers, kept))
}

impl Cache {
    fn place(&self, key: String) -> Arc<Turn<Option<Kept>>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.entry(key).or_default().clone()
    }
}

fn response(asked: &HeaderMap, kept: Kept) -> Response {
    let json = HeaderValue::from_static("application/json");
    let mut response = match kept.gzip.filter(|_| takes_gzip(asked)) {
        Some(gzip) => {
            let mut response = gzip.into_response();
            let headers = response.headers_mut();
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            response
        }
        None => kept.plain.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, json);
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    response
}

/// Whether a client can read gzip.
pub(in crate::http) fn takes_gzip(headers: &HeaderMap) -> bool {
    let value = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    value.is_some_and(|value| {
        value.split(',').any(|one| {
            let mut parts = one.split(';');
            let name = parts.next().unwrap_or("").trim();
            name == "gzip" && !parts.any(|weight| weight.trim() == "q=0")
        })
    })
}
