//! Who may do what and who sees what, and connections that nobody can use up.

use super::common::{Frames, OWNER, PATIENCE, Request, Server, wait_until};
use serde_json::json;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

pub const TESTS: &[(&str, fn())] = &[
    ("trust: who sees whom", who_sees_whom),
    ("trust: names that are not seen as they are", names),
    ("trust: variables of OEF's own", variables),
    ("trust: tokens of tenants whose jobs are the daemon's", tokens),
    ("trust: operators", operators),
    ("trust: silent connections", silent),
    ("trust: connections of strangers, and of one token", strangers),
    ("trust: the output of a job that replaced its records", replaced),
    ("trust: a job does not find the daemon's secrets", secrets),
];

/// What of others is shown to a tenant, by path; every other path shows nothing of them. Whether shares are fair can only
/// be checked with everybody's, so these name tenants, with their weights and shares.
const SHOWN_TO_ALL: [&str; 9] = [
    "/fairness",
    "/fairness/envy",
    "/fairness/series",
    "/overview",
    "/rounds",
    "/rounds/current",
    "/rounds/recent",
    "/rounds/R",
    "/events",
];

/// Every path that can be read.
const LOOKS: [&str; 30] = [
    "/fairness",
    "/fairness/envy",
    "/fairness/series",
    "/overview",
    "/rounds",
    "/rounds/current",
    "/rounds/recent",
    "/rounds/R",
    "/rounds/R/problem",
    "/cluster",
    "/groups",
    "/info",
    "/jobs",
    "/jobs?tenant=bystander",
    "/jobs/J",
    "/jobs/J/why",
    "/jobs/J/curve",
    "/jobs/J/logs",
    "/jobs/O/why",
    "/settings",
    "/tenants",
    "/tenants/bystander",
    "/tenants/bystander/why",
    "/tenants/hermine/why",
    "/tokens",
    "/timeline",
    "/usage",
    "/workloads",
    "/workloads/bystander/their-secret",
    "/workloads?tenant=bystander",
];

/// Every question of a tenant that changes nothing, and whether it is answered: a tenant tries out what is its own.
fn questions() -> Vec<(&'static str, serde_json::Value, bool)> {
    let job = |tenant: &str| json!({"tenant": tenant, "command": ["true"]});
    let change = |change: serde_json::Value| json!({"changes": [change]});
    let newcomer = json!({"name": "new", "weight": 1.0, "throughput": {"slow": 1.0, "fast": 9.0}});
    vec![
        ("/whatif", change(json!({"change": "weight", "tenant": "hermine", "weight": 3.0})), true),
        ("/whatif", change(json!({"change": "submit", "job": job("hermine")})), true),
        ("/whatif", change(json!({"change": "submit", "job": job("bystander")})), false),
        ("/whatif", change(json!({"change": "weight", "tenant": "bystander", "weight": 3})), false),
        ("/whatif", change(json!({"change": "remove_tenant", "tenant": "bystander"})), false),
        ("/whatif", change(json!({"change": "add_gpus", "type": "slow", "count": 99_999})), false),
        ("/whatif", change(json!({"change": "remove_gpus", "type": "slow", "count": 1})), false),
        ("/whatif", change(json!({"change": "mechanism", "mechanism": "max-min"})), false),
        ("/whatif/shares", json!({"certificate": true}), true),
        ("/whatif/shares", json!({"weights": {"hermine": 3.0}, "certificate": true}), true),
        ("/whatif/shares", json!({"weights": {"bystander": 3.0}}), false),
        ("/whatif/shares", json!({"gpus": {"slow": 1e6}}), false),
        ("/whatif/shares", json!({"gpus": {"fast": 1e6}}), false),
        ("/whatif/shares", json!({"removed": ["bystander"]}), false),
        ("/whatif/shares", json!({"added": [newcomer]}), false),
        ("/whatif/shares", json!({"mechanism": "max-min"}), false),
    ]
}

fn who_sees_whom() {
    let server = Server::start();
    for (name, weight) in [("hermine", 1.0), ("bystander", 7.25)] {
        let body = json!({"name": name, "weight": weight});
        assert_eq!(server.admin("POST", "/tenants", Some(body)).status, 201);
    }
    let job = |tenant: &str, workload: &str| {
        let spec = json!({"tenant": tenant, "workload": workload, "command": ["sleep", "61.5"]});
        let id = server.submit(OWNER, spec);
        server.wait_for(id, &["running"]);
        id
    };
    let (other, own) = (job("bystander", "their-secret"), job("hermine", "mine"));
    let is_shared = |round: u64| {
        let round = server.admin("GET", &format!("/rounds/{round}"), None);
        round.body.contains("their-secret") && round.body.contains("mine")
    };
    let round = wait_until(|| {
        let last = server.admin("GET", "/rounds/current", None).json()["round"].as_u64()?;
        Some(last).filter(|round| is_shared(*round))
    });
    let numbered = |path: &str| {
        let path = path.replace('R', &round.to_string());
        path.replace('J', &other.to_string()).replace('O', &own.to_string())
    };
    let tenant = server.token("tenant", Some("hermine"));
    for path in LOOKS {
        let reply = server.ask("GET", &numbered(path), Some(&tenant), None);
        if reply.status >= 400 {
            // A refusal says what was asked for, and nothing else.
            assert!([403, 404].contains(&reply.status), "{path}: {reply:?}");
            continue;
        }
        let body = &reply.body;
        assert!(!body.contains("their-secret"), "{path} shows what another calls its work: {body}");
        let is_shown = body.contains("bystander") || body.contains("7.25");
        assert!(!is_shown || SHOWN_TO_ALL.contains(&path), "{path} shows another tenant: {body}");
    }
    for (path, asked, is_answered) in questions() {
        let reply = server.ask("POST", path, Some(&tenant), Some(asked.clone()));
        let body = &reply.body;
        assert_eq!(reply.status == 200, is_answered, "{path} {asked}: {reply:?}");
        assert!(is_answered || [403, 404].contains(&reply.status), "{path} {asked}: {reply:?}");
        let is_shown = ["their-secret", "7.25"].iter().any(|secret| body.contains(secret));
        assert!(!is_shown, "{path} {asked} shows another tenant: {body}");
        if is_answered {
            assert!(!body.contains("bystander") && body.contains("hermine"), "{path}: {body}");
            let answer = reply.json();
            let own = &answer["tenants"][0];
            let throughput = match path {
                "/whatif" => &own["after"],
                _ => &own["after"]["throughput"],
            };
            assert_eq!(&answer["total_after"], throughput, "the rest of a total is the other's");
            assert!(answer["audit"].is_null() && answer["audit_after"].is_null(), "{answer}");
            let price = &answer["types"][0]["price_after"];
            assert!(price.is_null(), "{answer}");
        }
    }
    for role in ["viewer", "operator"] {
        let token = server.token(role, None);
        let moved = json!({"gpus": {"fast": 9.0}, "weights": {"bystander": 2.0}});
        let reply = server.ask("POST", "/whatif/shares", Some(&token), Some(moved));
        assert!(reply.status == 200 && reply.body.contains("bystander"), "{role}: {reply:?}");
        for path in ["/tenants", "/rounds/R", "/fairness", "/jobs", "/workloads"] {
            let reply = server.ask("GET", &numbered(path), Some(&token), None);
            assert!(reply.body.contains("bystander"), "{role} {path}: {reply:?}");
        }
        let inside = server.ask("GET", &format!("/jobs/{other}"), Some(&token), None);
        assert!(inside.status == 200 && !inside.body.contains("61.5"), "{role}: {inside:?}");
    }
    let metrics = |token: &str| {
        let bearer = format!("Bearer {token}");
        Request::new("GET", "/metrics").header("Authorization", &bearer).send(server.address)
    };
    assert_eq!(metrics(&tenant).status, 403, "figures name every tenant, with all its jobs");
    assert!(metrics(&server.token("viewer", None)).body.contains("bystander"));
}

fn names() {
    let server = Server::with("");
    let unseen = [
        "ad\u{202e}min",
        "a\u{200b}b",
        "a\u{feff}",
        "x\u{2066}y",
        "\u{e0041}z",
        "a\u{ad}b",
        "a\u{13430}b",
    ];
    for name in unseen.into_iter().chain(["\u{2800}", "a\u{2800}b"]) {
        let reply = server.admin("POST", "/tenants", Some(json!({"name": name})));
        assert_eq!((reply.status, reply.kind().as_str()), (422, "bad_request"), "{name:?}");
        let job = json!({"tenant": "t", "command": ["true"], "name": name});
        assert_eq!(server.admin("POST", "/jobs", Some(job)).status, 422, "{name:?}");
    }
    for name in ["a\u{a0}b", "a\u{2009}b", "a\u{3000}b"] {
        let reply = server.admin("POST", "/tenants", Some(json!({"name": name})));
        assert_eq!(reply.status, 422, "a space that is another one: {name:?}");
    }
    let fine = server.admin("POST", "/tenants", Some(json!({"name": "größe-テナント"})));
    assert_eq!(fine.status, 201, "{fine:?}");
}

fn variables() {
    let server = Server::with("");
    let job = |name: &str| json!({"tenant": "t", "command": ["true"], "env": {name: "x"}});
    for name in ["OEF_TOKEN", "OEF_RUN_DIR", "OEF_"] {
        let reply = server.admin("POST", "/jobs", Some(job(name)));
        assert_eq!(reply.status, 422, "{name}");
        assert_eq!(reply.json()["field"], "env");
    }
    server.submit(OWNER, job("OEF_VISIBLE_GPUS"));
    server.submit(OWNER, job("MINE"));
}

fn tokens() {
    let server = Server::with("");
    server.admin("POST", "/tenants", Some(json!({"name": "a"})));
    server.admin("POST", "/tenants", Some(json!({"name": "b", "user": "nobody"})));
    let token = |tenant: &str| {
        server.admin("POST", "/tokens", Some(json!({"role": "tenant", "tenant": tenant})))
    };
    let refused = token("a");
    assert_eq!((refused.status, refused.kind().as_str()), (403, "forbidden"), "{refused:?}");
    assert!(refused.body.contains("trust_tenants"), "{refused:?}");
    assert_eq!(token("b").status, 201, "its jobs are another user's");
    assert_eq!(server.admin("GET", "/tenants/b", None).json()["user"], "nobody");
    // Its holder could do whatever the daemon can, if its jobs became the daemon's.
    let none = || server.admin("PATCH", "/tenants/b", Some(json!({"user": null})));
    let refused = none();
    assert_eq!((refused.status, refused.body.contains("token revoke")), (409, true), "{refused:?}");
    assert_eq!(server.admin("DELETE", "/tokens/1", None).status, 204);
    server.submit(OWNER, json!({"tenant": "b", "command": ["id"], "held": true}));
    let refused = none();
    assert_eq!((refused.status, refused.body.contains("1 live job")), (409, true), "{refused:?}");
    assert_eq!(server.admin("POST", "/jobs/1/cancel", None).status / 100, 2);
    // The daemon's own user by its name is the same.
    let me = std::process::Command::new("id").arg("-un").output().expect("`id` runs").stdout;
    let me = String::from_utf8(me).expect("a name");
    let own = || server.admin("PATCH", "/tenants/b", Some(json!({"user": me.trim()})));
    server.submit(OWNER, json!({"tenant": "b", "command": ["id"], "held": true}));
    assert_eq!(own().status, 409, "as with none");
    assert_eq!(server.admin("POST", "/jobs/2/cancel", None).status / 100, 2);
    assert_eq!(own().status, 200);
    assert_eq!(token("b").status, 403, "its jobs would be the daemon's");
    assert_eq!(none().status, 200);
    for role in ["admin", "operator", "viewer"] {
        server.token(role, None);
    }
    let trusting = Server::with("trust_tenants = true\n");
    trusting.admin("POST", "/tenants", Some(json!({"name": "a"})));
    trusting.token("tenant", Some("a"));
}

fn operators() {
    let server = Server::with("");
    let operator = server.token("operator", None);
    let ask = |method: &str, path: &str, body: Option<serde_json::Value>| {
        server.ask(method, path, Some(&operator), body)
    };
    assert_eq!(ask("POST", "/tenants", Some(json!({"name": "a"}))).status, 201);
    assert_eq!(ask("PATCH", "/tenants/a", Some(json!({"weight": 2.0}))).status, 200);
    let id = server
        .submit(OWNER, json!({"tenant": "a", "command": ["sleep", "100"], "env": {"SECRET": "x"}}));
    let shown = ask("GET", &format!("/jobs/{id}"), None);
    assert!(shown.status == 200 && !shown.body.contains("SECRET"), "{shown:?}");
    assert_eq!(ask("GET", &format!("/jobs/{id}/logs"), None).status, 403);
    assert_eq!(ask("POST", &format!("/jobs/{id}/cancel"), None).status / 100, 2);
    // A job of a tenant without a user runs as the daemon: that would be a token for everything.
    let job = json!({"tenant": "a", "command": ["id"]});
    assert_eq!(ask("POST", "/jobs", Some(job.clone())).status, 403);
    assert_eq!(ask("POST", "/jobs/batch", Some(json!({"jobs": [job]}))).status, 403);
    assert_eq!(ask("POST", &format!("/jobs/{id}/resubmit"), None).status, 403);
    assert_eq!(ask("POST", "/tokens", Some(json!({"role": "viewer"}))).status, 403);
    assert_eq!(ask("PATCH", "/settings", Some(json!({"round_s": 9.0}))).status, 403);
    let user = json!({"name": "b", "user": "nobody"});
    assert_eq!(
        ask("POST", "/tenants", Some(user)).status,
        403,
        "only admins decide which user jobs run as"
    );
}

fn silent() {
    let server = Server::with("[limits]\nconnections = 20\n");
    let held: Vec<TcpStream> =
        (0..60).filter_map(|_| TcpStream::connect(server.address).ok()).collect();
    // Half a request is none.
    for mut stream in &held {
        let _ = stream.write_all(b"GET /api/v1/jobs HTTP/1.1\r\n");
    }
    // While they come, a quarter of the room may wait for a place at once; whoever comes beyond that is refused.
    let closed = wait_until(|| {
        let is_closed = |stream: &TcpStream| {
            let mut copy = stream.try_clone().expect("a copy");
            copy.set_nonblocking(true).expect("set");
            let mut byte = [0];
            matches!(copy.read(&mut byte), Ok(0))
                || copy.write(b"x").is_err_and(|e| e.kind() != std::io::ErrorKind::WouldBlock)
        };
        let closed = held.iter().filter(|stream| is_closed(stream)).count();
        (closed >= 40).then_some(closed)
    });
    assert!(closed >= 40, "{closed}");
    // They give way to those who ask, and jobs are not touched by any of this.
    let id = server.submit(OWNER, json!({"tenant": "t", "command": ["true"]}));
    server.wait_for(id, &["finished"]);
}

/// Complete requests without a token, or all with the same, on connections that stay open: others still get in.
fn strangers() {
    let server = Server::with("[limits]\nconnections = 20\n");
    let viewer = format!("Authorization: Bearer {}\r\n", server.token("viewer", None));
    let stream = || Request::new("GET", "/api/v1/events").owner();
    let mut events = Frames::open(stream(), server.address);
    let hold = |with: &str| -> Vec<TcpStream> {
        let text = format!("GET /api/v1/jobs HTTP/1.1\r\nHost: {}\r\n{with}\r\n", server.address);
        let ask = |_| {
            let mut stream = TcpStream::connect(server.address).expect("the server listens");
            stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
            let _ = stream.write_all(text.as_bytes());
            // It is answered, and keeps its connection after that.
            let is_answered = stream.read(&mut [0; 12]).is_ok_and(|count| count == 12);
            is_answered.then_some(stream)
        };
        (0..60).filter_map(ask).collect()
    };
    for with in ["", "Authorization: Bearer oef_guess\r\n", &viewer] {
        let held = hold(with);
        assert_eq!(held.len(), 60, "nobody is refused: {with}");
        let id = server.submit(OWNER, json!({"tenant": "t", "command": ["true"]}));
        let named = std::iter::from_fn(|| events.next()).find(|(_, _, data)| data["job"] == id);
        assert!(named.is_some(), "a stream with a token stays: {with}");
        drop(held);
    }
}

/// In one trust domain a job can do that. Who reads its output is told what happened, and it is no error of the daemon.
fn replaced() {
    let server = Server::with("");
    for how in
        ["mkfifo $f", "mkdir $f", "ln -s /etc/hostname $f", "echo '{' > $f", "echo '[]' > $f"]
    {
        let script = format!("f=$OEF_RUN_DIR/../launch.json; rm $f; {how}");
        let id = server.submit(OWNER, json!({"tenant": "t", "script": script}));
        server.wait_for(id, &["finished", "failed"]);
        let reply = server.admin("GET", &format!("/jobs/{id}/logs"), None);
        assert_eq!((reply.status, reply.kind().as_str()), (409, "conflict"), "{how}: {reply:?}");
        assert!(reply.body.contains("launch.json"), "{reply:?}");
    }
}

fn secrets() {
    // The harness stands for a daemon with secrets in its environment.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let server = Server::with("");
    let id = server.submit(OWNER, json!({"tenant": "t", "command": ["env"]}));
    server.wait_for(id, &["finished"]);
    let logs = server.admin("GET", &format!("/jobs/{id}/logs"), None);
    assert!(logs.body.contains("OEF_JOB_ID") && !logs.body.contains("CARGO"), "{logs:?}");
}
