//! How much is taken, and how often.

use super::Test;
use super::common::{OWNER, PATIENCE, Request, Server};
use serde_json::json;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

pub const TESTS: &[Test] = &[
    ("limits: bodies", bodies),
    ("limits: a body that comes after its answer", late_bodies),
    ("limits: requests of a token", requests_of_a_token),
    ("limits: submissions of a token", submissions_of_a_token),
    ("limits: guessing tokens", guessing_tokens),
];

fn bodies() {
    let server = Server::with("[limits]\nbody_bytes = 4096\nbatch_bytes = 8192\n");
    let padded = |path: &str, bytes: usize| {
        let text = format!("{{\"name\": \"{}\"}}", "x".repeat(bytes));
        Request::new("POST", path).owner().header("Content-Type", "application/json").body(text)
    };
    for (path, bytes, status) in [
        ("/api/v1/tenants", 5000, 413),
        ("/api/v1/jobs/batch", 5000, 400),
        ("/api/v1/jobs/batch", 9000, 413),
        ("/api/v1/tenants", 20_000_000, 413),
    ] {
        let reply = padded(path, bytes).send(server.address);
        assert_eq!(reply.status, status, "{path} {bytes}: {reply:?}");
    }
    // Without a length the body is cut off where it is too long.
    let chunked = format!("{:x}\r\n{}\r\n0\r\n\r\n", 5000, " ".repeat(5000));
    let reply = Request::new("POST", "/api/v1/tenants")
        .owner()
        .header("Content-Type", "application/json")
        .header("Transfer-Encoding", "chunked")
        .chunked(chunked)
        .send(server.address);
    assert_eq!((reply.status, reply.kind().as_str()), (413, "payload_too_large"), "{reply:?}");
}

/// Whether a handler wanted the body or not: a client that still writes it finds its connection open.
fn late_bodies() {
    let server = Server::with("");
    let owner = format!("Authorization: Bearer {OWNER}\r\n");
    let host = format!("Host: {}\r\n", server.address);
    for (path, who, status) in [
        ("/api/v1/jobs/999/cancel", owner.as_str(), "HTTP/1.1 404"),
        ("/api/v1/jobs", "", "HTTP/1.1 401"),
        ("/api/v1/nowhere", &owner, "HTTP/1.1 404"),
    ] {
        let mut stream = TcpStream::connect(server.address).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
        let json = "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n";
        let _ = stream.write_all(format!("POST {path} HTTP/1.1\r\n{host}{who}{json}").as_bytes());
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).expect("an answer");
        assert_eq!(String::from_utf8_lossy(&answer), status, "{path}");
        let next = format!("{{}}GET /healthz HTTP/1.1\r\n{host}Connection: close\r\n\r\n");
        let _ = stream.write_all(next.as_bytes());
        let mut rest = String::new();
        let ended = stream.read_to_string(&mut rest);
        assert!(rest.contains("HTTP/1.1 200"), "{path}: {ended:?}: {rest}");
    }
}

fn requests_of_a_token() {
    let server = Server::with("[limits]\nrequests_per_second = 0.01\nrequests_burst = 5\n");
    let statuses: Vec<u16> = (0..7).map(|_| server.admin("GET", "/info", None).status).collect();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 429, 429]);
    let refused = server.admin("GET", "/info", None);
    assert_eq!(refused.kind(), "too_many_requests");
    let wait: u64 =
        refused.header("retry-after").and_then(|s| s.parse().ok()).expect("how long to wait");
    assert!((1..=100).contains(&wait), "{wait}");
    let health = Request::new("GET", "/healthz").send(server.address);
    assert_eq!(health.status, 200, "nobody is counted there");
}

fn submissions_of_a_token() {
    let server = Server::with("[limits]\nsubmissions_per_second = 0.01\nsubmissions_burst = 3\n");
    let batch = |n: usize| {
        let jobs: Vec<_> = (0..n).map(|_| json!({"tenant": "t", "command": ["true"]})).collect();
        server.admin("POST", "/jobs/batch?create_tenant=true", Some(json!({"jobs": jobs}))).status
    };
    assert_eq!([batch(2), batch(2), batch(1), batch(1)], [201, 429, 201, 429]);
    assert_eq!(server.admin("GET", "/info", None).status, 200, "looking is another matter");
}

fn guessing_tokens() {
    let server = Server::with("[limits]\nrequests_per_second = 0.01\nrequests_burst = 5\n");
    let guess = |i: usize| server.ask("GET", "/info", Some(&format!("guess-{i}")), None).status;
    let statuses: Vec<u16> = (0..7).map(guess).collect();
    assert_eq!(statuses, [401, 401, 401, 401, 401, 429, 429]);
    assert_eq!(
        server.ask("GET", "/info", Some(OWNER), None).status,
        200,
        "who has a token is not held up"
    );
}
