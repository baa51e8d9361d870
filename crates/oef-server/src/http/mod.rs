//! The REST interface, and what else answers over HTTP.
//!
//! One file per noun with its routes; every handler is thin over [`Daemon`], which checks the caller. What
//! is the same for all stands in `layers` (ids, logs, figures, time), `extract` (input), `auth` (tokens and
//! rates) and `failure` (errors).

mod auth;
mod cluster;
mod connections;
mod events;
mod extract;
mod failure;
mod fairness;
mod groups;
mod handler;
mod health;
mod host;
mod info;
mod jobs;
mod layers;
mod lingering;
mod live;
mod login;
mod notifications;
mod openapi;
mod page;
mod queries;
mod rate;
mod rounds;
mod seats;
mod server;
mod settings;
mod streams;
mod tenants;
mod terminal;
mod tokens;
mod usage;
mod whatifs;
mod workloads;

pub(crate) use connections::{Counted, room_of_socket};
pub use openapi::{document, document_text};
pub(crate) use seats::{Seat, Seats};
pub(crate) use server::HEADERS_WITHIN;
pub use server::{Serving, TlsError, tls_config};

use crate::config::{Config, LimitSettings, is_loopback};
use crate::daemon::Daemon;
use crate::metrics::Exporter;
use crate::socket::People;
use crate::terminal::Relay;
use axum::Router;
use failure::Failure;
use rate::Buckets;
use std::collections::BTreeSet;
use std::sync::Arc;
use streams::Streams;
use tokio::sync::watch;
use whatifs::WhatIfs;

/// What every handler needs. Cheap to clone.
#[derive(Clone)]
pub struct App {
    inner: Arc<Inner>,
}

struct Inner {
    daemon: Daemon,
    exporter: Exporter,
    limits: LimitSettings,
    /// Whether `/metrics` needs no token. Where the daemon listens says nothing about who reaches it: a proxy that adds no
    /// header opens loopback to everybody.
    is_open: bool,
    /// The host names that a request may give; none: any.
    hosts: Option<BTreeSet<String>>,
    people: People,
    requests: Buckets,
    submissions: Buckets,
    streams: Streams,
    whatifs: WhatIfs,
    /// Terminals of jobs.
    terminals: Relay,
    /// Browsers that are logged in, and codes to get in with.
    login: login::Login,
    /// Answers that many pages ask for at the same time.
    answers: live::Cache,
    /// What jobs told of their progress.
    samples: live::Samples,
    /// Turns true when the server stops: streams end then.
    closing: watch::Sender<bool>,
}

impl App {
    /// An interface to a daemon.
    pub fn new(daemon: Daemon, exporter: Exporter, config: &Config) -> Self {
        let limits = config.limits;
        let on_loopback = is_loopback(config.listen.ip());
        let inner = Inner {
            daemon,
            exporter,
            is_open: config.public_metrics,
            hosts: on_loopback.then(|| host::names(config)),
            people: People::new(config),
            requests: Buckets::new(limits.requests_per_second, limits.requests_burst),
            submissions: Buckets::new(limits.submissions_per_second, limits.submissions_burst),
            streams: Streams::new(limits.event_streams, limits.streams_per_token),
            whatifs: WhatIfs::new(),
            terminals: Relay::default(),
            login: login::Login::new(config.listen.port(), config.has_tls()),
            answers: live::Cache::default(),
            samples: live::Samples::default(),
            closing: watch::Sender::new(false),
            limits,
        };
        App { inner: Arc::new(inner) }
    }

    /// The daemon behind it.
    pub fn daemon(&self) -> &Daemon {
        &self.inner.daemon
    }

    /// Ends all event streams and lets no new one begin.
    pub fn close(&self) {
        self.inner.closing.send_replace(true);
    }

    /// All routes, with everything around them.
    pub fn router(&self) -> Router {
        let (api, _) = openapi::routes().split_for_parts();
        let all = Router::new()
            .nest(oef_api::PREFIX, api)
            .merge(health::routes())
            .merge(page::routes())
            .merge(login::browser_routes())
            .fallback(failure::unknown_route)
            .method_not_allowed_fallback(failure::unknown_method);
        layers::around(all, self).with_state(self.clone())
    }

    /// Asks the daemon something that may read files or compute, aside from the threads that serve.
    async fn aside<T, F>(&self, ask: F) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: FnOnce(&Daemon) -> Result<T, oef_api::types::ApiError> + Send + 'static,
    {
        let app = self.clone();
        let answer = tokio::task::spawn_blocking(move || ask(app.daemon())).await;
        match answer {
            Ok(answer) => answer.map_err(Failure),
            Err(_) => Err(failure::panicked()),
        }
    }
}
