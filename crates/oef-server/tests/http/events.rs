//! Events as they happen, taken up again where they broke off.

use super::Test;
use super::common::{Frames, OWNER, Request, Server, wait_until};
use serde_json::json;

pub const TESTS: &[Test] = &[
    ("events: taken up again without a gap", taken_up_again_without_a_gap),
    ("events: what is too old is a reset", what_is_too_old_is_a_reset),
    ("events: a tenant hears only its own", a_tenant_hears_only_its_own),
    ("events: so many streams and no more", so_many_streams_and_no_more),
    ("events: a stream ends with the server", a_stream_ends_with_the_server),
    ("events: a stream ends with its token", a_stream_ends_with_its_token),
];

fn stream(token: &str, query: &str) -> Request {
    Request::new("GET", &format!("/api/v1/events{query}"))
        .header("Authorization", &format!("Bearer {token}"))
}

fn taken_up_again_without_a_gap() {
    let server = Server::start();
    let mut live = Frames::open(stream(OWNER, "?after=0"), server.address);
    let id = server.submit(OWNER, json!({"tenant": "t", "command": ["true"]}));
    let mut all = Vec::new();
    loop {
        let (name, number, data) = live.next().expect("it goes on");
        assert_eq!(data["id"].as_u64(), number, "{name}: {data}");
        assert_eq!(data["topic"], name);
        all.push(number.expect("a number"));
        if data["job"] == id && data["state"] == "finished" {
            break;
        }
    }
    assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "{all:?}");
    // From anywhere in between the rest comes again: the same, in the same order.
    for (i, last) in all.iter().enumerate().take(all.len() - 1) {
        let by_header = stream(OWNER, "?after=0").header("Last-Event-ID", &last.to_string());
        for request in [stream(OWNER, &format!("?after={last}")), by_header] {
            let mut again = Frames::open(request, server.address);
            for expected in &all[i + 1..] {
                assert_eq!(again.next().expect("it goes on").1, Some(*expected));
            }
        }
    }
    let bad = stream(OWNER, "").header("Last-Event-ID", "x").send(server.address);
    assert_eq!((bad.status, bad.kind().as_str()), (400, "bad_request"));
}

fn what_is_too_old_is_a_reset() {
    let server = Server::with("[limits]\nevents = 5\n");
    for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        server.admin("POST", "/tenants", Some(json!({"name": name})));
    }
    let mut frames = Frames::open(stream(OWNER, "?after=1"), server.address);
    let (name, number, data) = frames.next().expect("it goes on");
    assert_eq!((name.as_str(), data["upto"].as_u64()), ("reset", number), "{data}");
    let (name, next, _) = frames.next().expect("it goes on");
    assert_ne!(name, "reset");
    assert!(next > number, "and what is remembered follows");
}

fn a_tenant_hears_only_its_own() {
    let server = Server::start();
    for name in ["a", "b"] {
        server.admin("POST", "/tenants", Some(json!({"name": name})));
    }
    let token = server.token("tenant", Some("a"));
    let mut frames = Frames::open(stream(&token, "?after=0"), server.address);
    let others =
        server.submit(OWNER, json!({"tenant": "b", "name": "secret-project", "command": ["true"]}));
    server.wait_for(others, &["finished"]);
    let own = server.submit(&token, json!({"command": ["true"]}));
    loop {
        let (_, _, data) = frames.next().expect("it goes on");
        assert!(data["tenant"].is_null() || data["tenant"] == "a", "{data}");
        assert!(
            data["job"] != others && !data["message"].to_string().contains("secret-project"),
            "{data}"
        );
        if data["job"] == own && data["state"] == "finished" {
            break;
        }
    }
}

fn so_many_streams_and_no_more() {
    let server = Server::with("[limits]\nevent_streams = 2\n");
    let first = Frames::open(stream(OWNER, ""), server.address);
    let _second = Frames::open(stream(OWNER, ""), server.address);
    let third = stream(OWNER, "").send(server.address);
    assert_eq!((third.status, third.kind().as_str()), (429, "too_many_requests"), "{third:?}");
    drop(first);
    // Its place is free again as soon as the server notices.
    wait_until(|| {
        use std::io::{BufRead as _, BufReader};
        let mut line = String::new();
        BufReader::new(stream(OWNER, "").open(server.address)).read_line(&mut line).ok()?;
        line.contains(" 200 ").then_some(())
    });
}

fn a_stream_ends_with_the_server() {
    let server = Server::start();
    let mut frames = Frames::open(stream(OWNER, ""), server.address);
    drop(server);
    while frames.next().is_some() {}
}

/// Before, it was told for up to half a minute what happened.
fn a_stream_ends_with_its_token() {
    let server = Server::start();
    let made = server.admin("POST", "/tokens", Some(json!({"role": "viewer"}))).json();
    let secret = made["secret"].as_str().expect("a secret");
    let mut frames = Frames::open(stream(secret, "?after=0"), server.address);
    let create = |name| server.admin("POST", "/tenants", Some(json!({"name": name})));
    let mut until = |name: &str| {
        let mut told = std::iter::from_fn(|| frames.next());
        told.any(|(_, _, data)| data["tenant"] == name)
    };
    create("before");
    assert!(until("before"));
    server.admin("DELETE", &format!("/tokens/{}", made["token"]["id"]), None);
    create("after");
    assert!(!until("after"), "it ends, and is not told");
}
