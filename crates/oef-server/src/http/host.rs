//! Which host a request may name. A web page elsewhere can make a browser ask 127.0.0.1 under a name of its
//! own (DNS rebinding); on loopback only names of this machine are let through.

use super::App;
use super::failure::Failure;
use crate::config::{Config, is_loopback};
use crate::problem::{Kind, More};
use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// The names of this machine, beside addresses of loopback.
pub(super) fn names(config: &Config) -> BTreeSet<String> {
    let given = config.hosts.iter().map(|name| name.to_ascii_lowercase());
    given.chain(["localhost".to_string()]).collect()
}

pub(super) async fn check(State(app): State<App>, request: Request, next: Next) -> Response {
    let Some(names) = &app.inner.hosts else { return next.run(request).await };
    let header = request.headers().get(header::HOST).and_then(|value| value.to_str().ok());
    let authority = request.uri().authority().map(|authority| authority.as_str());
    match authority.or(header) {
        Some(host) if is_ours(host, names) => next.run(request).await,
        host => {
            let named = host.map_or("no host".to_string(), |host| format!("the host `{host}`"));
            let problem = Kind::Forbidden.problem(format!("the request names {named}"));
            let hint = "call the daemon by its address, or add the name to `hosts` in its settings";
            Failure(problem.hint(hint)).into_response()
        }
    }
}

fn is_ours(host: &str, names: &BTreeSet<String>) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(""),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    let address: Result<IpAddr, _> = name.parse();
    address.is_ok_and(is_loopback) || names.contains(&name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine() {
        let config = Config { hosts: vec!["Gpu-Box".into()], ..Config::default() };
        let names = names(&config);
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1:7733", "[::1]:1", "[::1]", "gpu-box:1"]
        {
            assert!(is_ours(host, &names), "{host}");
        }
        for host in
            ["evil.example", "evil.example:7733", "", "10.0.0.1", "localhost.evil.example", "[::2]"]
        {
            assert!(!is_ours(host, &names), "{host}");
        }
    }
}
