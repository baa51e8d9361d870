//! The page and the figures, with real jobs.

use super::Test;
use super::common::{OWNER, Request, Server, wait_until};
use serde_json::json;

pub const TESTS: &[Test] = &[
    ("page: every address is the shell, with a policy", every_address_is_the_shell),
    ("page: files are kept by browsers and compressed", files_are_kept_and_compressed),
    ("page: what tenants named comes as JSON only", names_come_as_json_only),
    ("page: metrics have what the dashboard asks for", metrics_have_what_the_dashboard_asks_for),
];

fn every_address_is_the_shell() {
    let server = Server::start();
    for path in [
        "/",
        "/login",
        "/tenants",
        "/tenants/a%20b",
        "/jobs",
        "/jobs/1",
        "/whatif",
        "/rounds",
        "/cluster",
        "/events",
    ] {
        let page = Request::new("GET", path).send(server.address);
        assert_eq!(page.status, 200, "{path}");
        assert!(page.body.starts_with("<!DOCTYPE html>"), "{path}: {}", page.body);
        let policy = page.header("content-security-policy").expect("a policy");
        for part in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"] {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(page.header("x-frame-options"), Some("DENY"));
    }
    let other = Request::new("GET", "/nowhere").send(server.address);
    assert_eq!((other.status, other.kind().as_str()), (404, "not_found"));
}

fn files_are_kept_and_compressed() {
    let server = Server::start();
    let shell = Request::new("GET", "/").send(server.address);
    let script = shell.body.split('"').find(|part| part.ends_with("/app.js")).expect("a script");
    let plain = Request::new("GET", script).send(server.address);
    assert_eq!(plain.status, 200);
    assert_eq!(plain.header("content-type"), Some("text/javascript; charset=utf-8"));
    assert!(plain.header("cache-control").expect("caching").contains("immutable"));
    let tag = plain.header("etag").expect("a tag").to_string();
    let again = Request::new("GET", script).header("If-None-Match", &tag).send(server.address);
    assert_eq!((again.status, again.body.len()), (304, 0));
    let old = Request::new("GET", "/assets/000000000000/app.js").send(server.address);
    assert_eq!((old.status, old.header("cache-control")), (200, Some("no-cache")));
    for path in ["/assets/x/none.js", "/assets/x/../app.js", "/assets/x/%2e%2e/Cargo.toml"] {
        assert_ne!(Request::new("GET", path).send(server.address).status, 200, "{path}");
    }
}

fn names_come_as_json_only() {
    let server = Server::start();
    let evil = "<img src=x onerror=alert(1)>";
    let tenant = server.admin("POST", "/tenants", Some(json!({"name": evil})));
    assert_eq!(tenant.status, 201, "{tenant:?}");
    server.submit(
        OWNER,
        json!({"tenant": evil, "name": evil, "workload": evil, "command": ["sleep", "600"]}),
    );
    let seen = wait_until(|| {
        let seen = server.admin("GET", "/timeline", None);
        seen.body.contains("alert(1)").then_some(seen)
    });
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.header("x-content-type-options"), Some("nosniff"));
    assert!(!Request::new("GET", "/").send(server.address).body.contains("alert"));
    // Another tenant sees that somebody is there, and not who.
    let other = server.admin("POST", "/tenants", Some(json!({"name": "other"})));
    assert_eq!(other.status, 201);
    let other = server.token("tenant", Some("other"));
    let seen = server.ask("GET", "/timeline", Some(&other), None).json();
    let spans = seen["spans"].as_array().expect("spans");
    assert!(spans.iter().all(|span| span["job"] == 0 && span["tenant"].is_null()), "{seen}");
    assert!(!spans.is_empty() && !seen.to_string().contains("alert"), "{seen}");
}

fn metrics_have_what_the_dashboard_asks_for() {
    let server = Server::start();
    let id = server.submit(OWNER, json!({"tenant": "t", "command": ["true"]}));
    server.wait_for(id, &["finished"]);
    server.submit(OWNER, json!({"tenant": "t", "command": ["sleep", "600"]}));
    let text = wait_until(|| {
        let reply = Request::new("GET", "/metrics").owner().send(server.address);
        assert_eq!(reply.status, 200, "{reply:?}");
        (reply.body.contains("oef_grants{") && reply.body.contains("oef_share_gpus{"))
            .then_some(reply.body)
    });
    assert!(text.contains("oef_submissions_total 2"), "{text}");
    assert!(text.contains("oef_ended_total{state=\"finished\"} 1"), "{text}");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contrib");
    for file in ["grafana/oef.json", "prometheus/oef.rules.yml"] {
        let asked = std::fs::read_to_string(format!("{folder}/{file}")).expect("it is there");
        let mut names = names(&asked);
        assert!(names.len() > 5, "{file}: {names:?}");
        // These need an NVIDIA driver; `oef-cli/tests/gpu_figures.rs` has one of its own.
        names.retain(|name| !name.starts_with("oef_gpu_"));
        for name in names {
            let is_there = text.lines().any(|line| {
                line.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with([' ', '{']))
            });
            assert!(is_there, "{file} asks for {name}, which is not in\n{text}");
        }
    }
}

/// Every word that begins as our figures do.
fn names(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let mut names: Vec<String> =
        words.filter(|word| word.starts_with("oef_")).map(String::from).collect();
    names.sort();
    names.dedup();
    names
}
