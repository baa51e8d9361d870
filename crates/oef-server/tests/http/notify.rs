//! Notifications: who may have which, and what receivers get, against real ones.

use crate::common::{PATIENCE, Server, wait_until};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

pub const TESTS: &[(&str, fn())] = &[
    ("a_notice_is_sent_until_it_is_taken", a_notice_is_sent_until_it_is_taken),
    ("a_receiver_that_hangs_holds_up_no_other", a_receiver_that_hangs_holds_up_no_other),
    ("notifications_are_their_tenants", notifications_are_their_tenants),
    ("tenants_reach_no_address_inside", tenants_reach_no_address_inside),
    ("a_command_gets_the_notice", a_command_gets_the_notice),
    ("what_is_told_to_whom", what_is_told_to_whom),
];

/// Short pauses, and one tenant each for those who ask.
const SETTINGS: &str = "trust_tenants = true\n[notify]\npause = \"100ms\"\n";

/// What came: the head and the body of a request.
type Came = (String, Value);

/// A server that answers the nth request with `answer(n)`; none: it never does.
fn receiver(
    answer: impl Fn(usize) -> Option<String> + Send + 'static,
) -> (SocketAddr, Receiver<Came>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (tell, came) = channel();
    thread::spawn(move || {
        let mut open = Vec::new();
        for (n, stream) in listener.incoming().flatten().enumerate() {
            if tell.send(read(&stream)).is_err() {
                return;
            }
            match answer(n) {
                Some(head) => {
                    let text = format!(
                        "HTTP/1.1 {head}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                    );
                    (&stream).write_all(text.as_bytes()).expect("sent");
                }
                None => open.push(stream),
            }
        }
    });
    (address, came)
}

fn read(stream: &TcpStream) -> Came {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).expect("a line") > 0, "{head}");
    }
    let length = head
        .lines()
        .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.expect("a length")];
    reader.read_exact(&mut body).expect("a body");
    (head, serde_json::from_slice(&body).expect("JSON"))
}

fn ok(_: usize) -> Option<String> {
    Some("204 No Content".into())
}

impl Server {
    /// Adds a notification and returns its number.
    fn notify(&self, token: &str, create: Value) -> u64 {
        let reply = self.ask("POST", "/notifications", Some(token), Some(create));
        assert_eq!(reply.status, 201, "{reply:?}");
        reply.json()["notification"]["id"].as_u64().expect("a number")
    }

    fn notification(&self, id: u64) -> Value {
        let list = self.admin("GET", "/notifications", None).json();
        let all = list["notifications"].as_array().expect("a list");
        all.iter().find(|n| n["id"] == id).unwrap_or(&Value::Null).clone()
    }

    fn run(&self, tenant: &str, script: &str) -> u64 {
        let job = json!({"tenant": tenant, "name": "a name", "command": ["/bin/sh", "-c", script]});
        let id = self.submit(crate::common::OWNER, job);
        self.wait_for(id, &["finished", "failed"]);
        id
    }
}

fn a_notice_is_sent_until_it_is_taken() {
    let server = Server::with(SETTINGS);
    let (address, came) = receiver(|n| match n {
        0 => Some("500 Internal Server Error".into()),
        1 => Some("302 Found\r\nLocation: http://127.0.0.1:1/".into()),
        _ => ok(n),
    });
    let url = format!("http://{address}/hook?key=1");
    let id = server.notify(crate::common::OWNER, json!({"url": url, "secret": "0123456789abcdef"}));
    let (first, second) = (server.run("a", "true"), server.run("a", "exit 3"));
    let next = || came.recv_timeout(PATIENCE).expect("a request");
    let tries = [next(), next(), next()];
    for (head, notice) in &tries {
        assert!(head.starts_with("POST /hook?key=1 "), "{head}");
        assert!(head.to_lowercase().contains("\r\noef-signature: t="), "{head}");
        assert_eq!(notice["id"], tries[0].1["id"], "the same notice each time");
        assert_eq!((&notice["job"], &notice["state"]), (&json!(first), &json!("finished")));
    }
    let (_, last) = next();
    assert_eq!((&last["job"], &last["state"]), (&json!(second), &json!("failed")));
    assert_ne!(last["id"], tries[0].1["id"]);
    let shown = wait_until(|| Some(server.notification(id)).filter(|n| n["waiting"] == 0));
    assert_eq!((&shown["delivered"], &shown["dropped"]), (&json!(2), &json!(0)));
    assert!(shown["last"]["delivered"] == true && shown["failing_since"].is_null(), "{shown}");
    assert!(!shown.to_string().contains("0123456789abcdef"), "the secret is not shown again");
    let metrics = crate::common::Request::new("GET", "/metrics").owner().send(server.address).body;
    for figure in ["{result=\"delivered\"} 2", "{result=\"failed\"} 2", "{result=\"dropped\"} 0"] {
        assert!(metrics.contains(&format!("oef_notices_total{figure}")), "{figure}");
    }
}

fn a_receiver_that_hangs_holds_up_no_other() {
    let server = Server::with(SETTINGS);
    let (hangs, stuck) = receiver(|_| None);
    let (works, came) = receiver(ok);
    for address in [hangs, works] {
        server.notify(crate::common::OWNER, json!({"url": format!("http://{address}/")}));
    }
    let job = server.run("a", "true");
    let (_, notice) = stuck.recv_timeout(PATIENCE).expect("a request");
    assert_eq!(notice["job"], job);
    // The other one still waits for its answer.
    let more = [job, server.run("a", "true"), server.run("a", "true")];
    for job in more {
        let (_, notice) = came.recv_timeout(PATIENCE).expect("a request");
        assert_eq!(notice["job"], job, "in order");
    }
}

fn notifications_are_their_tenants() {
    let server = Server::with(SETTINGS);
    let (address, came) = receiver(ok);
    for tenant in ["a", "b"] {
        assert_eq!(server.admin("POST", "/tenants", Some(json!({"name": tenant}))).status, 201);
    }
    let (a, b) = (server.token("tenant", Some("a")), server.token("tenant", Some("b")));
    let (viewer, operator) = (server.token("viewer", None), server.token("operator", None));
    let id = server.notify(&a, json!({"url": "https://127.0.0.1/secret-path"}));
    let ask = |token: &str, method: &str, path: &str, body: Option<Value>| {
        server.ask(method, path, Some(token), body).status
    };
    let path = format!("/notifications/{id}");
    assert_eq!(ask(&b, "DELETE", &path, None), 404);
    assert_eq!(ask(&b, "POST", &format!("{path}/test"), None), 404);
    assert_eq!(ask(&viewer, "GET", "/notifications", None), 403);
    assert_eq!(ask(&viewer, "DELETE", &path, None), 403);
    assert_eq!(ask(&viewer, "POST", "/notifications", Some(json!({"url": "https://x.org/"}))), 403);
    let of_another = json!({"url": "https://x.org/", "tenant": "a"});
    assert_eq!(ask(&b, "POST", "/notifications", Some(of_another)), 404);
    let listed = |token: &str| server.ask("GET", "/notifications", Some(token), None).json();
    assert_eq!(listed(&b)["notifications"], json!([]));
    assert_eq!(listed(&a)["notifications"][0]["url"], "https://127.0.0.1/secret-path");
    assert_eq!(listed(&operator)["notifications"][0]["url"], "https://127.0.0.1/...");

    // A tenant hears of its own jobs only.
    server
        .notify(crate::common::OWNER, json!({"url": format!("http://{address}/"), "tenant": "a"}));
    server.run("b", "true");
    let job = server.run("a", "true");
    assert_eq!(came.recv_timeout(PATIENCE).expect("a request").1["job"], job);
    for _ in 1..8 {
        let create = json!({"url": "https://x.org/", "on": ["queued"]});
        server.ask("POST", "/notifications", Some(&a), Some(create));
    }
    let ninth =
        server.ask("POST", "/notifications", Some(&a), Some(json!({"url": "https://x.org/"})));
    assert_eq!(ninth.kind(), "limit_reached");
    assert_eq!(ask(&a, "DELETE", &path, None), 204);
    assert_eq!(server.admin("DELETE", "/tenants/a", None).status, 204);
    assert_eq!(server.admin("GET", "/notifications", None).json()["notifications"], json!([]));
}

fn tenants_reach_no_address_inside() {
    let (inside, came) = receiver(ok);
    let (listed, listed_came) = receiver(ok);
    let server = Server::with(&format!("{SETTINGS}hosts = [\"localhost:{}\"]\n", listed.port()));
    assert_eq!(server.admin("POST", "/tenants", Some(json!({"name": "a"}))).status, 201);
    let tenant = server.token("tenant", Some("a"));
    let add = |url: String| {
        server.ask("POST", "/notifications", Some(&tenant), Some(json!({"url": url})))
    };
    let refused = add(format!("http://{inside}/"));
    assert_eq!(
        (refused.status, refused.json()["field"].as_str()),
        (422, Some("url")),
        "{refused:?}"
    );
    for url in ["file:///etc/passwd", "https://", "x"] {
        assert_eq!(add(url.into()).status, 422, "{url}");
    }
    let test = |id: u64| {
        let path = format!("/notifications/{id}/test");
        server.ask("POST", &path, Some(&tenant), None).json()["last"].clone()
    };
    for host in ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]"] {
        let id =
            server.notify(&tenant, json!({"url": format!("https://{host}:{}/", inside.port())}));
        let last = test(id);
        assert_eq!(last["delivered"], false, "{last}");
        assert!(last["detail"].to_string().contains("private network"), "{host}: {last}");
    }
    assert!(came.try_recv().is_err(), "nobody knocked");
    let id = server.notify(&tenant, json!({"url": format!("http://localhost:{}/", listed.port())}));
    assert_eq!(test(id)["delivered"], true);
    let (_, notice) = listed_came.recv_timeout(PATIENCE).expect("a request");
    assert_eq!((&notice["test"], &notice["job"]), (&json!(true), &Value::Null));
}

fn a_command_gets_the_notice() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let script = format!("cat >> {0}; echo >> {0}", out.display());
    let commands = format!(
        "commands = {{ note = [\"/bin/sh\", \"-c\", \"{script}\"], bad = [\"/bin/false\"] }}"
    );
    let server = Server::with(&format!("{SETTINGS}{commands}\n"));
    assert_eq!(server.admin("POST", "/tenants", Some(json!({"name": "a"}))).status, 201);
    let tenant = server.token("tenant", Some("a"));
    for wrong in [
        json!({"command": "sh"}),
        json!({"command": "/bin/sh"}),
        json!({"command": "note", "url": "https://x.org/"}),
    ] {
        let reply = server.ask("POST", "/notifications", Some(&tenant), Some(wrong));
        assert_eq!(reply.status, 422, "{reply:?}");
    }
    server.notify(&tenant, json!({"command": "note", "on": ["failed"]}));
    let bad = server.notify(&tenant, json!({"command": "bad", "on": ["failed"]}));
    server.run("a", "true");
    let job = server.run("a", "echo so; exit 3");
    let line = wait_until(|| {
        let text = std::fs::read_to_string(&out).ok()?;
        text.ends_with('\n').then_some(text)
    });
    let notice: Value = serde_json::from_str(&line).expect("one notice");
    assert_eq!((&notice["job"], &notice["state"]), (&json!(job), &json!("failed")));
    assert!(notice["reason"].to_string().contains("its last line: so"), "{notice}");
    let failing = wait_until(|| Some(server.notification(bad)).filter(|n| n["last"].is_object()));
    assert!(failing["last"]["detail"].to_string().contains("exit status: 1"), "{failing}");
    assert!(failing["failing_since"].is_string() && failing["waiting"] == 1, "{failing}");
}

fn what_is_told_to_whom() {
    let (address, came) = receiver(ok);
    let hosts = format!("hosts = [\"127.0.0.1:{}\"]\n", address.port());
    let server = Server::with(&format!("{SETTINGS}{hosts}"));
    let operator = server.token("operator", None);
    let on = json!(["queued", "running", "failed"]);
    server.notify(&operator, json!({"url": format!("http://{address}/"), "on": on}));
    server.run("a", "echo so; exit 3");
    for state in ["queued", "running", "failed"] {
        let (_, notice) = came.recv_timeout(PATIENCE).expect("a request");
        assert_eq!(notice["state"], state);
        assert!(
            !notice["reason"].to_string().contains("so\""),
            "no output for operators: {notice}"
        );
    }
}
