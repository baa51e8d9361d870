//! The page and the figures, with real jobs.

use super::Test;
use super::common::{OWNER, Request, Server, wait_until};
use serde_json::json;

pub const TESTS: &[Test] = &[
    ("page: names are never markup", names_are_never_markup),
    ("page: metrics have what the dashboard asks for", metrics_have_what_the_dashboard_asks_for),
];

fn names_are_never_markup() {
    let server = Server::start();
    let evil = "<img src=x onerror=alert(1)>";
    let tenant = server.admin("POST", "/tenants", Some(json!({"name": evil})));
    assert_eq!(tenant.status, 201, "{tenant:?}");
    server.submit(
        OWNER,
        json!({"tenant": evil, "name": evil, "workload": evil, "command": ["sleep", "600"]}),
    );
    let page = wait_until(|| {
        let page = Request::new("GET", "/").send(server.address);
        page.body.contains("alert(1)").then_some(page)
    });
    assert_eq!(page.status, 200);
    assert!(!page.body.contains("<img"), "{}", page.body);
    assert!(page.body.contains("&lt;img src=x onerror=alert(1)&gt;"), "{}", page.body);
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(
        policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
        "{policy}"
    );
    let nonce =
        policy.split("'nonce-").nth(1).and_then(|rest| rest.split('\'').next()).expect("a nonce");
    assert!(
        nonce.len() == 32 && page.body.contains(&format!("<style nonce=\"{nonce}\">")),
        "{policy}"
    );
    let again = Request::new("GET", "/").send(server.address);
    assert!(
        !again.header("content-security-policy").expect("a policy").contains(nonce),
        "never the same twice"
    );
}

fn metrics_have_what_the_dashboard_asks_for() {
    let server = Server::start();
    let id = server.submit(OWNER, json!({"tenant": "t", "command": ["true"]}));
    server.wait_for(id, &["finished"]);
    server.submit(OWNER, json!({"tenant": "t", "command": ["sleep", "600"]}));
    let text = wait_until(|| {
        let reply = Request::new("GET", "/metrics").send(server.address);
        assert_eq!(reply.status, 200, "{reply:?}");
        (reply.body.contains("oef_grants{") && reply.body.contains("oef_share_gpus{"))
            .then_some(reply.body)
    });
    assert!(text.contains("oef_submissions_total 2"), "{text}");
    assert!(text.contains("oef_ended_total{state=\"finished\"} 1"), "{text}");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contrib");
    for file in ["grafana/oef.json", "prometheus/oef.rules.yml"] {
        let asked = std::fs::read_to_string(format!("{folder}/{file}")).expect("it is there");
        let names = names(&asked);
        assert!(names.len() > 5, "{file}: {names:?}");
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
