//! Requests and answers over HTTP.

use super::error::{ClientError, Reach};
use super::unix;
use crate::PREFIX;
use crate::parsed::recorded;
use crate::types::{Access, ApiError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use ureq::http::{Method, Response, StatusCode};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body};

/// A daemon that takes longer to accept a connection is not there.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Answers take milliseconds; a what-if on a large cluster may take a minute.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);
/// The largest answers are rounds and fairness of clusters with thousands of tenants: a few megabytes.
const ANSWER_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// So much of an answer that is not understood is shown.
const SHOWN_CHARS_MAX: usize = 200;

/// A connection to one daemon. Cheap to clone; clones share their connections.
#[derive(Clone, Debug)]
pub struct Client {
    agent: Agent,
    access: Arc<Access>,
}

impl Client {
    /// A client for this daemon. Nothing is sent yet.
    pub fn new(access: Access) -> Result<Client, ClientError> {
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_recv_response(Some(ANSWER_TIMEOUT))
            .timeout_per_read(Some(ANSWER_TIMEOUT))
            // A token is for one server: where that one sends us elsewhere, we do not go.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("oef/", env!("CARGO_PKG_VERSION")));
        if is_loopback(&access.server) {
            config = config.proxy(None);
        }
        if let Some(ca) = &access.ca {
            let tls = TlsConfig::builder().root_certs(certificates(ca, &access.server)?).build();
            config = config.tls_config(tls);
        }
        let agent = match unix::path_of(&access.server) {
            Some(path) => unix::agent(config.proxy(None).build(), path),
            None => config.build().into(),
        };
        Ok(Client { agent, access: Arc::new(access) })
    }

    /// A client for the daemon that [`Access::find`] finds.
    pub fn find() -> Result<Client, ClientError> {
        Client::new(Access::find()?)
    }

    /// Where the daemon is.
    pub fn server(&self) -> &str {
        &self.access.server
    }

    pub(super) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.answer(self.send(Method::GET, path, None, &[], None)?)
    }

    pub(super) fn send_json<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
        headers: &[(&str, &str)],
    ) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body)
            .map_err(|error| self.protocol(format!("the request cannot be written: {error}")))?;
        self.answer(self.send(method, path, Some(body), headers, None)?)
    }

    /// A request without a body whose answer has none either.
    pub(super) fn send_empty(&self, method: Method, path: &str) -> Result<(), ClientError> {
        self.send(method, path, None, &[], None).map(drop)
    }

    /// Sends a request; an answer that says no is an error. With `idle`, so much silence ends a stream.
    pub(super) fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
        headers: &[(&str, &str)],
        idle: Option<Duration>,
    ) -> Result<Response<Body>, ClientError> {
        let is_unix = unix::path_of(&self.access.server).is_some();
        let server = if is_unix { "http://localhost" } else { &self.access.server };
        let url = format!("{server}{PREFIX}{path}");
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(url)
            .header("accept", "application/json, application/problem+json, text/event-stream");
        // The socket of this machine knows who asks.
        if !self.access.token.is_empty() {
            request = request.header("authorization", format!("Bearer {}", self.access.token));
        }
        let has_kind = headers.iter().any(|(name, _)| *name == "content-type");
        if body.is_some() && !has_kind {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let wrong =
            |error: ureq::http::Error| self.protocol(format!("the request is malformed: {error}"));
        let sent = match body {
            Some(body) => self.run(request.body(body).map_err(wrong)?, idle),
            None => self.run(request.body(()).map_err(wrong)?, idle),
        };
        let answer = sent.map_err(|error| self.failed(error))?;
        if answer.status().is_success() { Ok(answer) } else { Err(self.refusal(answer)) }
    }

    fn run(
        &self,
        request: ureq::http::Request<impl ureq::AsSendBody>,
        idle: Option<Duration>,
    ) -> Result<Response<Body>, ureq::Error> {
        if idle.is_none() {
            return self.agent.run(request);
        }
        let request = self.agent.configure_request(request).timeout_per_read(idle).build();
        self.agent.run(request)
    }

    pub(super) fn answer<T: DeserializeOwned>(
        &self,
        answer: Response<Body>,
    ) -> Result<T, ClientError> {
        let text = self.text(answer)?;
        recorded(|| serde_json::from_str(&text)).map_err(|error| {
            self.protocol(format!("{error}; it begins with: {}", beginning(&text)))
        })
    }

    fn text(&self, answer: Response<Body>) -> Result<String, ClientError> {
        let body = answer.into_body().into_with_config().limit(ANSWER_BYTES_MAX).read_to_string();
        body.map_err(|error| self.failed(error))
    }

    fn refusal(&self, answer: Response<Body>) -> ClientError {
        let status = answer.status();
        let text = match self.text(answer) {
            Ok(text) => text,
            Err(error) => return error,
        };
        match serde_json::from_str::<ApiError>(&text) {
            Ok(problem) => ClientError::Refused(Box::new(problem)),
            Err(_) if status == StatusCode::UNAUTHORIZED => {
                ClientError::Refused(Box::new(unauthorized()))
            }
            Err(_) => {
                let said = beginning(&text);
                self.protocol(format!("HTTP status {status} without a problem document: {said}"))
            }
        }
    }

    pub(super) fn failed(&self, error: ureq::Error) -> ClientError {
        use io::ErrorKind::{ConnectionRefused, HostUnreachable, NetworkUnreachable};
        let server = self.access.server.clone();
        let nobody = match &error {
            ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => true,
            ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => true,
            ureq::Error::Io(io) => {
                matches!(io.kind(), ConnectionRefused | HostUnreachable | NetworkUnreachable)
            }
            ureq::Error::BadUri(_) | ureq::Error::Http(_) => {
                return self.protocol(format!("{server} is not an address: {error}"));
            }
            ureq::Error::BodyExceedsLimit(limit) => {
                return self.protocol(format!("it is longer than {limit} bytes"));
            }
            ureq::Error::Protocol(cause) => return self.protocol(format!("not HTTP: {cause}")),
            _ => false,
        };
        let reach = if nobody { Reach::Nobody } else { Reach::Unknown };
        ClientError::Unreachable { server, cause: error.to_string(), reach }
    }

    pub(super) fn protocol(&self, detail: String) -> ClientError {
        ClientError::Protocol { server: self.access.server.clone(), detail }
    }
}

/// A machine's own daemon is not asked through a proxy.
fn is_loopback(server: &str) -> bool {
    let host = server.split_once("://").map_or(server, |(_, rest)| rest);
    ["127.", "localhost", "[::1]"].iter().any(|own| host.starts_with(own))
}

/// Certificates in PEM, or the path of a file that holds them.
fn certificates(ca: &str, server: &str) -> Result<RootCerts, ClientError> {
    let wrong = |detail: String| ClientError::Protocol { server: server.into(), detail };
    let pem = if ca.trim_start().starts_with("-----BEGIN") {
        ca.as_bytes().to_vec()
    } else {
        std::fs::read(ca)
            .map_err(|error| wrong(format!("the certificates in {ca} cannot be read: {error}")))?
    };
    let mut found = Vec::new();
    for item in parse_pem(&pem) {
        if let PemItem::Certificate(certificate) =
            item.map_err(|error| wrong(format!("the certificates cannot be read: {error}")))?
        {
            found.push(certificate);
        }
    }
    if found.is_empty() {
        return Err(wrong(
            "there is no certificate in what OEF_CA or the access file names".into(),
        ));
    }
    Ok(RootCerts::new_with_certs(&found))
}

fn beginning(text: &str) -> String {
    let mut shown: String = text.trim().chars().take(SHOWN_CHARS_MAX).collect();
    if shown.len() < text.trim().len() {
        shown.push('…');
    }
    if shown.is_empty() { "nothing".into() } else { shown }
}

fn unauthorized() -> ApiError {
    ApiError {
        kind: "unauthorized".into(),
        status: 401,
        title: "Unauthorized".into(),
        detail: "the daemon does not know the token".into(),
        hint: None,
        field: None,
    }
}
