//! A job's life over HTTP, lists in pages, and submissions that come twice.

use super::Test;
use super::common::{OWNER, Request, Server, wait_until};
use serde_json::{Value, json};
use std::collections::BTreeSet;

pub const TESTS: &[Test] = &[
    ("jobs: submitted, run, read, finished", submitted_run_read_finished),
    ("jobs: cancelled", cancelled),
    ("jobs: a list comes in pages", a_list_comes_in_pages),
    ("jobs: the same key submits once", the_same_key_submits_once),
    ("jobs: keys that are none", keys_that_are_none),
];

fn submitted_run_read_finished() {
    let server = Server::start();
    let job = json!({"tenant": "t", "name": "hello", "script": "echo out; echo err >&2", "labels": {"a": "b"}});
    let id = server.submit(OWNER, job);
    let job = server.wait_for(id, &["finished"]);
    assert_eq!((job["name"].as_str(), job["tenant"].as_str()), (Some("hello"), Some("t")), "{job}");
    let history = job["history"].as_array().expect("a history");
    assert!(
        history.iter().all(|change| change["reason"].as_str().is_some_and(|why| !why.is_empty())),
        "{job}"
    );
    for (stream, text) in [("out", "out\n"), ("err", "err\n")] {
        let log = server.admin("GET", &format!("/jobs/{id}/logs?stream={stream}"), None).json();
        assert_eq!(
            (log["text"].as_str(), log["complete"].as_bool()),
            (Some(text), Some(true)),
            "{log}"
        );
    }
    let why = server.admin("GET", &format!("/jobs/{id}/why"), None).json();
    assert!(why["sentence"].as_str().is_some_and(|text| !text.is_empty()), "{why}");
    let listed = server.admin("GET", "/jobs", None).json();
    assert_eq!(listed["jobs"], json!([]), "ended ones are listed only where asked for");
    let listed =
        server.admin("GET", "/jobs?all=true&label=a%3Db&state=finished&tenant=t", None).json();
    assert_eq!(listed["jobs"][0]["id"], id, "{listed}");
}

fn cancelled() {
    let server = Server::start();
    let id = server.submit(OWNER, json!({"tenant": "t", "command": ["sleep", "600"]}));
    server.wait_for(id, &["running"]);
    let reply = server.admin("POST", &format!("/jobs/{id}/cancel"), None);
    assert_eq!(reply.status, 200, "{reply:?}");
    server.wait_for(id, &["cancelled"]);
}

fn a_list_comes_in_pages() {
    let server = Server::start();
    let jobs: Vec<Value> =
        (0..25).map(|_| json!({"tenant": "t", "command": ["sleep", "600"]})).collect();
    let reply = server.admin(
        "POST",
        "/jobs/batch?create_tenant=true",
        Some(json!({"name": "many", "jobs": jobs})),
    );
    assert_eq!(reply.status, 201, "{reply:?}");
    let ids: Vec<u64> =
        reply.json()["ids"].as_array().expect("ids").iter().filter_map(Value::as_u64).collect();
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let page = server.admin("GET", &format!("/jobs?limit=10{after}"), None).json();
        let jobs = page["jobs"].as_array().expect("jobs");
        assert!(jobs.len() <= 10);
        seen.extend(jobs.iter().filter_map(|job| job["id"].as_u64()));
        // A job that comes in between disturbs nobody.
        server.submit(OWNER, json!({"tenant": "t", "command": ["sleep", "600"]}));
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), seen.len(), "no job comes twice");
    assert!(ids.iter().all(|id| seen.contains(id)), "none is left out");
    assert!(seen.windows(2).all(|pair| pair[0] > pair[1]), "the newest come first");
}

fn the_same_key_submits_once() {
    let server = Server::start();
    let submit = |token: &str, key: &str| {
        Request::new("POST", "/api/v1/jobs?create_tenant=true")
            .header("Authorization", &format!("Bearer {token}"))
            .header("Idempotency-Key", key)
            .json(&json!({"tenant": "t", "command": ["true"]}))
            .send(server.address)
    };
    let first = submit(OWNER, "k1");
    assert_eq!(first.status, 201, "{first:?}");
    assert_eq!(submit(OWNER, "k1").json()["ids"], first.json()["ids"]);
    assert_ne!(submit(OWNER, "k2").json()["ids"], first.json()["ids"]);
    let other = server.token("tenant", Some("t"));
    assert_ne!(
        submit(&other, "k1").json()["ids"],
        first.json()["ids"],
        "a key belongs to its token"
    );
    // Many at once: one job all the same.
    let ids: Vec<Value> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| submit(OWNER, "k3").json()["ids"].clone())).collect();
        threads.into_iter().map(|thread| thread.join().expect("an answer")).collect()
    });
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    wait_until(|| {
        let all = server.admin("GET", "/jobs?all=true", None).json();
        (all["jobs"].as_array()?.len() == 4).then_some(())
    });
}

fn keys_that_are_none() {
    let server = Server::start();
    let long = "k".repeat(201);
    for key in ["", "two words", "\u{e9}", &long] {
        let reply = Request::new("POST", "/api/v1/jobs?create_tenant=true")
            .owner()
            .header("Idempotency-Key", key)
            .json(&json!({"tenant": "t", "command": ["true"]}))
            .send(server.address);
        assert_eq!((reply.status, reply.kind().as_str()), (400, "bad_request"), "{key}: {reply:?}");
    }
}
