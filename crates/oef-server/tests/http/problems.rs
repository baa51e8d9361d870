//! Everything that can be wrong with a request is a problem with a kind, a detail and often a way out.

use super::Test;
use super::common::{Request, Server};
use serde_json::{Value, json};

pub const TESTS: &[Test] = &[
    ("problems: every error has its kind", every_error_has_its_kind),
    ("problems: refused jobs change nothing", refused_jobs_change_nothing),
    ("problems: profile runs that make no sense", profile_runs_that_make_no_sense),
    ("problems: other hosts are refused", other_hosts_are_refused),
    ("problems: answers are careful", answers_are_careful),
];

/// A method, a path, a content type and body, and the status, kind and field that come back.
type Row = (
    &'static str,
    &'static str,
    Option<(&'static str, &'static str)>,
    u16,
    &'static str,
    Option<&'static str>,
);

const JSON: &str = "application/json";

const ROWS: &[Row] = &[
    ("GET", "/api/v1/nothing", None, 404, "not_found", None),
    ("GET", "/api/v2/jobs", None, 404, "not_found", None),
    ("GET", "/favicon.ico", None, 404, "not_found", None),
    ("DELETE", "/api/v1/jobs", None, 405, "method_not_allowed", None),
    ("POST", "/healthz", None, 405, "method_not_allowed", None),
    ("BREW", "/api/v1/jobs", None, 405, "method_not_allowed", None),
    ("GET", "/api/v1/jobs/abc", None, 400, "bad_request", None),
    ("GET", "/api/v1/jobs/-1", None, 400, "bad_request", None),
    ("GET", "/api/v1/jobs/99999999999999999999", None, 400, "bad_request", None),
    ("GET", "/api/v1/tenants/%ff", None, 400, "bad_request", None),
    ("GET", "/api/v1/jobs/999", None, 404, "not_found", None),
    ("GET", "/api/v1/jobs/999/why", None, 404, "not_found", None),
    ("GET", "/api/v1/jobs/999/logs", None, 404, "not_found", None),
    ("POST", "/api/v1/jobs/999/cancel", None, 404, "not_found", None),
    ("GET", "/api/v1/tenants/nobody", None, 404, "unknown_tenant", None),
    ("GET", "/api/v1/rounds/999999", None, 404, "not_found", None),
    ("GET", "/api/v1/rounds/9223372036854775808", None, 404, "not_found", None),
    ("GET", "/api/v1/jobs/18446744073709551615", None, 404, "not_found", None),
    ("GET", "/api/v1/jobs?tenant=nobody", None, 404, "unknown_tenant", Some("tenant")),
    ("DELETE", "/api/v1/tokens/999", None, 404, "not_found", None),
    ("GET", "/api/v1/jobs?colour=red", None, 400, "bad_request", Some("colour")),
    ("GET", "/api/v1/cluster?x=1", None, 400, "bad_request", Some("x")),
    ("GET", "/api/v1/jobs?limit=0", None, 400, "bad_request", Some("limit")),
    ("GET", "/api/v1/jobs?limit=1001", None, 400, "bad_request", Some("limit")),
    ("GET", "/api/v1/jobs?limit=many", None, 400, "bad_request", Some("limit")),
    ("GET", "/api/v1/jobs?state=dreaming", None, 400, "bad_request", Some("state")),
    ("GET", "/api/v1/jobs?after=x", None, 400, "bad_request", Some("after")),
    ("GET", "/api/v1/tenants?limit=0", None, 400, "bad_request", Some("limit")),
    ("GET", "/api/v1/events?after=x", None, 400, "bad_request", Some("after")),
    ("POST", "/api/v1/jobs", None, 415, "unsupported_media_type", None),
    ("POST", "/api/v1/jobs", Some(("text/plain", "{}")), 415, "unsupported_media_type", None),
    ("POST", "/api/v1/jobs", Some((JSON, "{")), 400, "bad_request", None),
    ("POST", "/api/v1/jobs", Some((JSON, "[]")), 400, "bad_request", None),
    ("POST", "/api/v1/jobs", Some((JSON, "{\"comand\":[]}")), 400, "bad_request", Some("comand")),
    ("POST", "/api/v1/jobs", Some((JSON, "{\"workers\":-1}")), 400, "bad_request", Some("workers")),
    (
        "POST",
        "/api/v1/jobs",
        Some((JSON, "{\"tenant\":\"t\"}")),
        422,
        "bad_request",
        Some("command"),
    ),
    (
        "POST",
        "/api/v1/jobs",
        Some((JSON, "{\"tenant\":\"t\",\"command\":[\"x\"],\"types\":[\"fats\"]}")),
        422,
        "unknown_type",
        Some("types"),
    ),
    (
        "POST",
        "/api/v1/jobs",
        Some((JSON, "{\"tenant\":\"t\",\"command\":[\"x\"],\"workers\":99}")),
        422,
        "gang_too_large",
        Some("workers"),
    ),
    ("POST", "/api/v1/jobs/batch", Some((JSON, "{\"jobs\":[]}")), 400, "bad_request", Some("jobs")),
    (
        "POST",
        "/api/v1/jobs/batch",
        Some((JSON, "{\"jobs\":[{\"workers\":true}]}")),
        400,
        "bad_request",
        Some("jobs[0].workers"),
    ),
    ("POST", "/api/v1/tenants", Some((JSON, "{\"name\":\"known\"}")), 409, "conflict", None),
    ("POST", "/api/v1/tenants", Some((JSON, "{\"name\":\"\"}")), 422, "bad_request", Some("name")),
    (
        "POST",
        "/api/v1/tenants",
        Some((JSON, "{\"name\":\"n\",\"weight\":0}")),
        422,
        "bad_request",
        Some("weight"),
    ),
    (
        "PATCH",
        "/api/v1/tenants/known",
        Some((JSON, "{\"group\":\"nowhere\"}")),
        422,
        "not_found",
        Some("group"),
    ),
    (
        "PATCH",
        "/api/v1/tenants/unknown",
        Some((JSON, "{\"weight\":2}")),
        404,
        "unknown_tenant",
        None,
    ),
    (
        "PUT",
        "/api/v1/groups/g",
        Some((JSON, "{\"parent\":\"nowhere\"}")),
        422,
        "not_found",
        Some("parent"),
    ),
    (
        "PATCH",
        "/api/v1/settings",
        Some((JSON, "{\"mechanism\":\"fair\"}")),
        422,
        "bad_request",
        None,
    ),
    (
        "PATCH",
        "/api/v1/cluster/nodes/nowhere",
        Some((JSON, "{\"health\":\"up\"}")),
        404,
        "not_found",
        None,
    ),
    (
        "POST",
        "/api/v1/tokens",
        Some((JSON, "{\"role\":\"king\"}")),
        400,
        "bad_request",
        Some("role"),
    ),
    (
        "POST",
        "/api/v1/tokens",
        Some((JSON, "{\"role\":\"tenant\"}")),
        422,
        "bad_request",
        Some("tenant"),
    ),
    (
        "POST",
        "/api/v1/whatif",
        Some((JSON, "{\"changes\":[{\"change\":\"wish\"}]}")),
        400,
        "bad_request",
        None,
    ),
];

fn every_error_has_its_kind() {
    let server = Server::start();
    server.admin("POST", "/tenants", Some(json!({"name": "known"})));
    for (method, path, body, status, kind, field) in ROWS {
        let mut request = Request::new(method, path).owner();
        if let Some((content_type, body)) = body {
            request = request.header("Content-Type", content_type).body(*body);
        }
        let reply = request.send(server.address);
        let what = format!("{method} {path} {body:?}: {reply:?}");
        assert_eq!(reply.status, *status, "{what}");
        assert_eq!(reply.kind(), *kind, "{what}");
        if field.is_some() {
            assert_eq!(reply.json()["field"].as_str(), *field, "{what}");
        }
        if *status == 405 {
            assert!(reply.header("allow").is_some(), "{what}");
        }
        assert!(!reply.body.contains("oef_owner"), "{what}");
    }
}

fn refused_jobs_change_nothing() {
    let server = Server::start();
    let good = json!({"tenant": "t", "command": ["true"]});
    let bad = json!({"tenant": "t", "command": ["true"], "types": ["nothing"]});
    let reply = server.admin("POST", "/jobs/batch", Some(json!({"jobs": [good, bad]})));
    assert_eq!(reply.status, 422, "{reply:?}");
    let jobs = server.admin("GET", "/jobs?all=true", None).json();
    assert_eq!(jobs["jobs"], json!([]), "all or none");
    assert_eq!(
        server.admin("GET", "/tenants/t", None).status,
        404,
        "no tenant was made for it either"
    );
}

fn profile_runs_that_make_no_sense() {
    let server = Server::start();
    for (types, probe, field) in [
        (json!([]), json!({}), "types"),
        (json!(["slow", "fast"]), json!({}), "types"),
        (json!(["slow"]), json!({"batches": 4}), "probe.batches"),
        (json!(["slow"]), json!({"batches": 1001}), "probe.batches"),
        (json!(["slow"]), json!({"warmup": 5000}), "probe.warmup"),
        (json!(["slow"]), json!({"least_s": -1}), "probe.least_s"),
        (json!(["slow"]), json!({"least_s": 1e9}), "probe.least_s"),
        (json!(["slow"]), json!({"limit_s": 0}), "probe.limit_s"),
        (json!(["slow"]), json!({"limit_s": 1e9}), "probe.limit_s"),
    ] {
        let job = json!({"tenant": "t", "command": ["true"], "types": types, "probe": probe});
        let reply = server.admin("POST", "/jobs", Some(job.clone()));
        assert_eq!((reply.status, &reply.json()["field"]), (422, &field.into()), "{job}");
    }
    let job = json!({"tenant": "t", "command": ["true"], "types": ["slow"], "retries": 9,
        "checkpoint_dir": "/mine", "probe": {}});
    let reply = server.admin("POST", "/jobs?create_tenant=true", Some(job));
    let id = reply.json()["ids"][0].clone();
    let taken = server.admin("GET", &format!("/jobs/{id}"), None).json();
    let expected = json!({"batches": 20, "warmup": 5, "least_s": 5.0, "limit_s": 120.0});
    assert_eq!(taken["probe"], expected);
    let spec = &taken["spec"];
    assert_eq!((&spec["retries"], &spec["checkpoint_dir"]), (&Value::Null, &Value::Null));
}

fn other_hosts_are_refused() {
    let server = Server::with("hosts = [\"gpu-box\"]\n");
    for (host, status) in [
        ("localhost", 200),
        ("localhost:7733", 200),
        ("127.0.0.1", 200),
        ("[::1]:80", 200),
        ("GPU-box", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("", 403),
    ] {
        let reply =
            Request::new("GET", "/metrics").owner().header("Host", host).send(server.address);
        assert_eq!(reply.status, status, "{host}: {reply:?}");
    }
}

fn answers_are_careful() {
    let server = Server::start();
    let plain = Request::new("GET", "/api/v1/info")
        .owner()
        .header("X-Request-Id", "mine-1")
        .send(server.address);
    assert_eq!(plain.header("x-request-id"), Some("mine-1"));
    assert_eq!(plain.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(plain.header("cache-control"), Some("no-store"));
    assert_eq!(plain.header("access-control-allow-origin"), None, "no other site may read it");
    let odd =
        Request::new("GET", "/healthz").header("X-Request-Id", "a b\"<c>").send(server.address);
    assert!(odd.header("x-request-id").is_some_and(|id| id.starts_with("oef-")), "{odd:?}");
    let origin = Request::new("OPTIONS", "/api/v1/jobs")
        .header("Origin", "https://evil.example")
        .send(server.address);
    assert_eq!((origin.status, origin.header("access-control-allow-origin")), (405, None));
}
