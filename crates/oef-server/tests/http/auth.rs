//! Who may do what: every route with every kind of caller.

use super::Test;
use super::common::{Request, Server};
use serde_json::{Value, json};
use std::collections::BTreeSet;

pub const TESTS: &[Test] = &[
    ("auth: every route with every caller", every_route_with_every_caller),
    ("auth: tokens that are none", tokens_that_are_none),
    ("auth: a revoked token is void at once", a_revoked_token_is_void_at_once),
    ("auth: what an open daemon shows to strangers", what_an_open_daemon_shows_to_strangers),
    ("auth: secrets are shown once and kept nowhere", secrets_are_shown_once),
];

/// A route, a body, and what a viewer, the owner of the thing, another tenant and an admin are answered.
/// `J` is a job of tenant `own`, `G` a token that may go.
type Row = (&'static str, &'static str, Option<&'static str>, [u16; 4]);

const ROWS: &[Row] = &[
    ("GET", "/info", None, [200, 200, 200, 200]),
    ("GET", "/jobs", None, [200, 200, 200, 200]),
    ("POST", "/jobs", Some(r#"{"tenant":"own","command":["true"]}"#), [403, 201, 403, 201]),
    (
        "POST",
        "/jobs/batch",
        Some(r#"{"jobs":[{"tenant":"own","command":["true"]}]}"#),
        [403, 201, 403, 201],
    ),
    ("GET", "/jobs/J", None, [200, 200, 404, 200]),
    ("PATCH", "/jobs/J", Some(r#"{"priority":1}"#), [403, 200, 404, 200]),
    ("POST", "/jobs/J/resubmit", None, [403, 201, 404, 201]),
    ("GET", "/jobs/J/why", None, [200, 200, 404, 200]),
    ("GET", "/jobs/J/logs", None, [403, 0, 404, 0]),
    // Without an offset; `oef-cli/tests/terminals.rs` has who may sit there.
    ("GET", "/jobs/J/terminal", None, [400, 400, 400, 400]),
    ("POST", "/jobs/J/terminal", None, [400, 400, 400, 400]),
    ("GET", "/jobs/J/terminal/job", None, [400, 400, 400, 400]),
    ("POST", "/jobs/J/terminal/job", None, [400, 400, 400, 400]),
    // This daemon has no address for jobs.
    (
        "POST",
        "/jobs/J/shells",
        Some(
            r#"{"terminal":{"key_hash":"0000000000000000000000000000000000000000000000000000000000000000"}}"#,
        ),
        [403, 409, 404, 409],
    ),
    ("POST", "/jobs/J/cancel", None, [403, 200, 404, 200]),
    ("GET", "/tenants", None, [200, 200, 200, 200]),
    ("POST", "/tenants", Some(r#"{"name":"new"}"#), [403, 403, 403, 201]),
    ("GET", "/tenants/own", None, [200, 200, 404, 200]),
    ("PATCH", "/tenants/own", Some(r#"{"weight":2}"#), [403, 403, 403, 200]),
    ("PATCH", "/tenants/own", Some(r#"{"guarantee":{"fast":1}}"#), [403, 403, 403, 200]),
    ("PATCH", "/tenants/own", Some(r#"{"limit":{"fast":2}}"#), [403, 403, 403, 200]),
    ("PATCH", "/tenants/own", Some(r#"{"guarantee":{},"limit":{}}"#), [403, 403, 403, 200]),
    ("GET", "/tenants/own/why", None, [200, 200, 404, 200]),
    ("GET", "/groups", None, [200, 200, 200, 200]),
    ("PUT", "/groups/g", Some("{}"), [403, 403, 403, 200]),
    (
        "PUT",
        "/groups/g",
        Some(r#"{"guarantee":{"fast":1},"limit":{"fast":2}}"#),
        [403, 403, 403, 200],
    ),
    ("DELETE", "/groups/g", None, [403, 403, 403, 204]),
    ("GET", "/workloads", None, [200, 200, 200, 200]),
    ("PUT", "/workloads/own/w", Some(r#"{"throughput":{"slow":1,"fast":2}}"#), [403, 200, 0, 200]),
    ("GET", "/workloads/own/default", None, [200, 200, 404, 200]),
    ("GET", "/cluster", None, [200, 200, 200, 200]),
    ("PATCH", "/cluster/nodes/slow-0", Some(r#"{"health":"up"}"#), [403, 403, 403, 200]),
    (
        "PATCH",
        "/cluster/nodes/slow-0",
        Some(r#"{"health":"down","from":"2099-01-01T00:00:00Z","reason":"new switch"}"#),
        [403, 403, 403, 200],
    ),
    ("DELETE", "/cluster/windows/1", None, [403, 403, 403, 204]),
    ("GET", "/usage", None, [200, 200, 200, 200]),
    ("GET", "/rounds", None, [200, 200, 200, 200]),
    ("GET", "/rounds/current", None, [200, 200, 200, 200]),
    ("GET", "/rounds/1", None, [200, 200, 200, 200]),
    ("GET", "/rounds/1/problem", None, [0, 403, 403, 0]),
    ("GET", "/fairness", None, [200, 200, 200, 200]),
    (
        "POST",
        "/whatif",
        Some(r#"{"changes":[{"change":"mechanism","mechanism":"nash"}]}"#),
        [200, 403, 403, 200],
    ),
    (
        "POST",
        "/whatif/shares",
        Some(r#"{"mechanism":"cooperative"}"#),
        // Whether there are shares depends on which jobs run at the moment.
        [0, 0, 0, 0],
    ),
    ("GET", "/overview", None, [200, 200, 200, 200]),
    ("GET", "/timeline", None, [200, 200, 200, 200]),
    ("GET", "/rounds/recent", None, [200, 200, 200, 200]),
    ("GET", "/fairness/series", None, [200, 200, 200, 200]),
    ("GET", "/fairness/envy", None, [200, 200, 200, 200]),
    ("GET", "/jobs/J/curve", None, [200, 200, 404, 200]),
    ("POST", "/login-codes", None, [201, 201, 201, 201]),
    ("GET", "/settings", None, [200, 200, 200, 200]),
    ("PATCH", "/settings", Some(r#"{"stickiness":1.5}"#), [403, 403, 403, 200]),
    ("PATCH", "/settings", Some(r#"{"usage_half_life_s":60.0}"#), [403, 403, 403, 200]),
    ("GET", "/notifications", None, [403, 200, 200, 200]),
    ("POST", "/notifications", Some(r#"{"url": "https://127.0.0.1/"}"#), [403, 201, 201, 201]),
    // The first is that of the tenant `own`; it cannot be tested twice within a second.
    ("POST", "/notifications/1/test", None, [403, 200, 404, 0]),
    ("DELETE", "/notifications/1", None, [403, 204, 404, 404]),
    ("GET", "/tokens", None, [403, 0, 0, 200]),
    ("POST", "/tokens", Some(r#"{"role":"viewer"}"#), [403, 403, 403, 201]),
    ("DELETE", "/tokens/G", None, [403, 0, 0, 204]),
    ("DELETE", "/tenants/third", None, [403, 403, 403, 204]),
    ("GET", "/openapi.json", None, [200, 200, 200, 200]),
];

fn every_route_with_every_caller() {
    let server = Server::start();
    for tenant in ["own", "other", "third"] {
        let reply = server.admin("POST", "/tenants", Some(json!({"name": tenant})));
        assert_eq!(reply.status, 201, "{reply:?}");
    }
    let tokens = [
        server.token("viewer", None),
        server.token("tenant", Some("own")),
        server.token("tenant", Some("other")),
        super::common::OWNER.to_string(),
    ];
    let job = server.submit(&tokens[1], json!({"command": ["sleep", "600"]}));
    super::common::wait_until(|| {
        (server.admin("GET", "/rounds/1", None).status == 200).then_some(())
    });
    let spare = server.admin("POST", "/tokens", Some(json!({"role": "viewer"}))).json();
    let spare = spare["token"]["id"].as_u64().expect("a number");
    for (method, path, body, expected) in ROWS {
        let path = path.replace('J', &job.to_string()).replace('G', &spare.to_string());
        let body: Option<Value> = body.map(|text| serde_json::from_str(text).expect("JSON"));
        let open = path == "/openapi.json";
        let nobody = server.ask(method, &path, None, body.clone());
        assert_eq!(nobody.status, if open { 200 } else { 401 }, "{method} {path}: {nobody:?}");
        if !open {
            assert_eq!(nobody.kind(), "unauthorized");
            assert_eq!(nobody.header("www-authenticate"), Some("Bearer realm=\"oef\""));
        }
        for (token, expected) in tokens.iter().zip(expected) {
            let reply = server.ask(method, &path, Some(token), body.clone());
            if *expected == 0 {
                // More than one answer is right; a mistake or a change that is not allowed is not.
                assert!(reply.status < 500, "{method} {path}: {reply:?}");
                continue;
            }
            assert_eq!(reply.status, *expected, "{method} {path} with {token}: {reply:?}");
            if reply.status == 403 {
                assert_eq!(reply.kind(), "forbidden", "{method} {path}");
            }
        }
    }
    every_operation_is_in_the_table();
}

/// A new route must be in the table above.
fn every_operation_is_in_the_table() {
    let document = serde_json::to_value(oef_server::http::document()).expect("JSON");
    let table: BTreeSet<String> =
        ROWS.iter().map(|(method, path, ..)| format!("{method} {path}")).collect();
    let paths = document["paths"].as_object().expect("paths");
    for (path, item) in paths.iter().filter(|(path, _)| *path != "/events") {
        for method in item.as_object().expect("operations").keys() {
            let parts: Vec<&str> = path.split('/').collect();
            let method = method.to_uppercase();
            let is_there = table.iter().any(|row| {
                let (row_method, row_path) = row.split_once(' ').expect("two parts");
                let row_parts: Vec<&str> = row_path.split('/').collect();
                let fits = |(a, b): (&&str, &&str)| a == b || a.starts_with('{');
                row_method == method
                    && row_parts.len() == parts.len()
                    && parts.iter().zip(&row_parts).all(fits)
            });
            assert!(is_there, "{method} {path} is not in the table of callers");
        }
    }
}

fn tokens_that_are_none() {
    let server = Server::start();
    let long = format!("Bearer {}", "x".repeat(10_000));
    for value in [
        "",
        "Bearer",
        "Bearer ",
        "Bearer x",
        "Basic b2VmOm93bmVy",
        "oef_owner",
        "Bearer oef_owner x",
        &long,
    ] {
        let reply =
            Request::new("GET", "/api/v1/info").header("Authorization", value).send(server.address);
        assert_eq!((reply.status, reply.kind().as_str()), (401, "unauthorized"), "{value:.40}");
        assert!(!reply.body.contains("oef_owner"), "a token is never told back");
    }
    let reply = Request::new("GET", "/api/v1/info")
        .header("Authorization", "bearer oef_owner")
        .send(server.address);
    assert_eq!(reply.status, 200, "the scheme's case does not matter");
}

fn a_revoked_token_is_void_at_once() {
    let server = Server::start();
    let made = server.admin("POST", "/tokens", Some(json!({"role": "viewer"}))).json();
    let secret = made["secret"].as_str().expect("a secret");
    assert_eq!(server.ask("GET", "/info", Some(secret), None).status, 200);
    assert_eq!(
        server.admin("DELETE", &format!("/tokens/{}", made["token"]["id"]), None).status,
        204
    );
    assert_eq!(server.ask("GET", "/info", Some(secret), None).status, 401);
}

fn what_an_open_daemon_shows_to_strangers() {
    let ask = |server: &Server, path: &str, token: Option<&str>| {
        let request = Request::new("GET", path);
        let request = match token {
            Some(token) => request.header("Authorization", &format!("Bearer {token}")),
            None => request,
        };
        request.send(server.address).status
    };
    let here = Server::start();
    let open_here = Server::with("public_metrics = true\n");
    let far = Server::with("listen = \"0.0.0.0:1\"\ninsecure = true\n");
    let public = Server::with("listen = \"0.0.0.0:1\"\ninsecure = true\npublic_metrics = true\n");
    for (server, expected) in [(&here, 401), (&open_here, 200), (&far, 401), (&public, 200)] {
        assert_eq!(ask(server, "/metrics", None), expected);
        assert_eq!(ask(server, "/", None), 200, "the page has no data in it, and a login");
        assert_eq!(ask(server, "/metrics", Some(super::common::OWNER)), 200);
        assert_eq!(
            ask(server, "/metrics", Some("wrong")),
            401,
            "a wrong token is never as good as none"
        );
        assert_eq!(ask(server, "/healthz", None), 200);
        assert_eq!(ask(server, "/readyz", None), 200);
    }
    // Behind a proxy everybody seems to be on this machine.
    for header in ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"] {
        let reply = Request::new("GET", "/metrics").header(header, "x").send(open_here.address);
        assert_eq!(reply.status, 401, "{header}");
    }
}

fn secrets_are_shown_once() {
    let server = Server::start();
    let secret = server.token("viewer", None);
    let listed = server.admin("GET", "/tokens", None);
    assert_eq!(listed.status, 200);
    assert!(!listed.body.contains(&secret) && !listed.body.contains("hash"), "{listed:?}");
    let mut files = vec![server.dir.path().to_path_buf()];
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(
                std::fs::read_dir(&path)
                    .expect("a folder")
                    .map(|entry| entry.expect("an entry").path()),
            );
            continue;
        }
        let bytes = std::fs::read(&path).unwrap_or_default();
        for known in [secret.as_bytes(), super::common::OWNER.as_bytes()] {
            let is_there = bytes.windows(known.len()).any(|window| window == known);
            assert!(!is_there, "{} holds a secret", path.display());
        }
    }
}
