//! How much each caller may have of everything: what one takes is no other's refusal.

use super::common::{Frames, OWNER, Request, Server, wait_until};
use serde_json::json;
use std::io::Read as _;

pub const TESTS: &[(&str, fn())] = &[
    ("budgets: jobs and bytes of one tenant", budgets),
    ("budgets: jobs of all tenants", room_for_all),
    ("budgets: all texts of jobs, and what edits add", all_texts),
    ("budgets: texts of all tenants", room_for_texts),
    ("budgets: workloads of one tenant", workloads),
    ("budgets: what one tenant writes into the journal", journal),
    ("budgets: profile runs of one tenant", profile_runs),
    ("budgets: event streams of one token", streams),
    ("budgets: event streams of others, and of admins", full_of_streams),
];

fn budgets() {
    let server =
        Server::with("trust_tenants = true\n[limits]\ntenant_jobs = 5\ntenant_bytes = 20000\n");
    for name in ["greedy", "modest", "large"] {
        server.admin("POST", "/tenants", Some(json!({"name": name})));
    }
    server.admin("PATCH", "/tenants/large", Some(json!({"limits": {"jobs": 50}})));
    let (greedy, modest) =
        (server.token("tenant", Some("greedy")), server.token("tenant", Some("modest")));
    let large = server.token("tenant", Some("large"));
    let many = |count: usize, words: usize| {
        let job = json!({"command": ["sleep", "100"], "script": null, "labels": {"x": "y".repeat(words)}});
        json!({"jobs": vec![job; count]})
    };
    let batch = |token: &str, body| server.ask("POST", "/jobs/batch", Some(token), Some(body));
    assert_eq!(batch(&greedy, many(5, 1)).status, 201);
    let refused = batch(&greedy, many(1, 1));
    assert_eq!((refused.status, refused.kind().as_str()), (422, "limit_reached"), "{refused:?}");
    assert_eq!(batch(&modest, many(2, 1)).status, 201, "the others go on");
    assert_eq!(batch(&large, many(6, 1)).status, 201, "its own limit goes before");
    let script = json!({"script": format!("sleep 100 # {}", "x".repeat(15_000))});
    assert_eq!(server.ask("POST", "/jobs", Some(&modest), Some(script.clone())).status, 201);
    let refused = server.ask("POST", "/jobs", Some(&modest), Some(script));
    assert_eq!(refused.kind(), "limit_reached", "{refused:?}");
}

/// Some who have as much as there is room for do not shut others out.
fn room_for_all() {
    let server = Server::with("trust_tenants = true\n[limits]\ntenant_jobs = 5\nall_jobs = 10\n");
    let names = ["full", "greedy", "modest", "other"];
    for name in names {
        server.admin("POST", "/tenants", Some(json!({"name": name})));
    }
    let [full, greedy, modest, other] = names.map(|name| server.token("tenant", Some(name)));
    let submit = |token: &str, count: usize| {
        let jobs = vec![json!({"command": ["true"], "held": true}); count];
        server.ask("POST", "/jobs/batch", Some(token), Some(json!({"jobs": jobs})))
    };
    for token in [&full, &greedy] {
        assert_eq!(submit(token, 5).status, 201);
    }
    for token in [&modest, &other] {
        assert_eq!(submit(token, 2).status, 201, "a quarter of ten is its part");
        let refused = submit(token, 1);
        assert_eq!((refused.status, refused.kind().as_str()), (422, "limit_reached"));
        assert!(refused.body.contains("there may be 10"), "{refused:?}");
    }
}

/// What is no command is text as well, and what an edit adds counts.
fn all_texts() {
    let server = Server::with("trust_tenants = true\n[limits]\ntenant_bytes = 20000\n");
    for name in ["greedy", "modest"] {
        server.admin("POST", "/tenants", Some(json!({"name": name})));
    }
    let greedy = server.token("tenant", Some("greedy"));
    let submit = |token: &str, more: serde_json::Value| {
        let mut job = json!({"command": ["true"], "held": true});
        job.as_object_mut().expect("an object").extend(more.as_object().expect("one").clone());
        server.ask("POST", "/jobs", Some(token), Some(job))
    };
    let path = |bytes: usize| format!("/{}", "x".repeat(bytes - 1));
    for field in ["workdir", "checkpoint_dir"] {
        let refused = submit(&greedy, json!({field: path(4097)}));
        assert_eq!((refused.status, refused.kind().as_str()), (422, "bad_request"), "{refused:?}");
        assert_eq!(refused.json()["field"], field);
    }
    let long = json!({"workdir": path(4000), "checkpoint_dir": path(4000)});
    let first = submit(&greedy, long.clone());
    assert_eq!(first.status, 201, "{first:?}");
    assert_eq!(submit(&greedy, long.clone()).status, 201);
    let refused = submit(&greedy, long.clone());
    assert_eq!(refused.kind(), "limit_reached", "paths count: {refused:?}");
    let path = format!("/jobs/{}", first.json()["ids"][0]);
    let edit = |labels: serde_json::Value| {
        server.ask("PATCH", &path, Some(&greedy), Some(json!({"labels": labels})))
    };
    let words = "y".repeat(1000);
    let five = json!({"a": words, "b": words, "c": words, "d": words, "e": words});
    let refused = edit(five);
    assert_eq!((refused.status, refused.kind().as_str()), (422, "limit_reached"), "{refused:?}");
    assert_eq!(edit(json!({"a": words, "b": words})).status, 200);
    assert_eq!(edit(json!({"a": null})).status, 200, "one that takes away is never refused");
    let many: serde_json::Map<_, _> = (0..17).map(|n| (format!("{n:04}"), json!(words))).collect();
    let refused = edit(many.into());
    assert_eq!((refused.status, refused.json()["field"].as_str()), (422, Some("labels")));
    assert_eq!(submit(&server.token("tenant", Some("modest")), long).status, 201, "others go on");
}

/// Some who have as many bytes as there is room for do not shut others out.
fn room_for_texts() {
    let server =
        Server::with("trust_tenants = true\n[limits]\ntenant_bytes = 20000\nall_bytes = 40000\n");
    let names = ["full", "greedy", "modest", "other"];
    for name in names {
        server.admin("POST", "/tenants", Some(json!({"name": name})));
    }
    let [full, greedy, modest, other] = names.map(|name| server.token("tenant", Some(name)));
    let submit = |token: &str, bytes: usize| {
        let job = json!({"script": format!("true # {}", "x".repeat(bytes)), "held": true});
        server.ask("POST", "/jobs", Some(token), Some(job))
    };
    for token in [&full, &greedy] {
        assert_eq!(submit(token, 19_900).status, 201);
    }
    for token in [&modest, &other] {
        let first = submit(token, 5_000);
        assert_eq!(first.status, 201, "a quarter of 40,000 is its part: {first:?}");
        let path = format!("/jobs/{}", first.json()["ids"][0]);
        let edit = |bytes: usize| {
            let labels = json!({"labels": {"x": "y".repeat(bytes)}});
            server.ask("PATCH", &path, Some(token), Some(labels)).status
        };
        assert_eq!(edit(900), 200, "edits, too");
        let refused = submit(token, 5_000);
        assert_eq!((refused.status, refused.kind().as_str()), (422, "limit_reached"));
        assert!(refused.body.contains("than all together may be"), "{refused:?}");
    }
}

/// Every workload with jobs makes each round longer, whether it was declared or a job has named it.
fn workloads() {
    let server = Server::with("trust_tenants = true\n");
    for name in ["greedy", "modest"] {
        server.admin("POST", "/tenants", Some(json!({"name": name})));
    }
    let submit = |tenant: &str, names: std::ops::Range<usize>| {
        let job = |n| json!({"tenant": tenant, "workload": format!("w{n}"), "command": ["true"], "held": true});
        let jobs: Vec<_> = names.map(job).collect();
        server.admin("POST", "/jobs/batch", Some(json!({"jobs": jobs})))
    };
    assert_eq!(submit("greedy", 0..999).status, 201);
    let refused = submit("greedy", 998..1001);
    assert_eq!((refused.status, refused.kind().as_str()), (422, "limit_reached"), "{refused:?}");
    assert_eq!(submit("greedy", 998..1000).status, 201, "one of them is there");
    assert_eq!(submit("greedy", 1000..1001).kind(), "limit_reached");
    let declared = json!({"throughput": {"fast": 2.0}});
    let declare =
        |name| server.admin("PUT", &format!("/workloads/greedy/{name}"), Some(declared.clone()));
    assert_eq!((declare("w7").status, declare("w1000").status), (200, 422));
    assert_eq!(submit("greedy", 0..9).status, 201, "those that are there stay of use");
    assert_eq!(submit("modest", 0..3).status, 201, "the others go on");
}

/// Edits of one job are small in the world and large in the journal.
fn journal() {
    let server = Server::with(
        "trust_tenants = true\n[limits]\njournal_bytes_per_second = 1\njournal_bytes_burst = 20000\n",
    );
    for name in ["greedy", "modest"] {
        server.admin("POST", "/tenants", Some(json!({"name": name})));
    }
    let held = |tenant: &str| {
        let token = server.token("tenant", Some(tenant));
        let id = server.submit(&token, json!({"command": ["true"], "held": true}));
        (token, format!("/jobs/{id}"))
    };
    let edit = |(token, path): &(String, String), n: usize| {
        let body = json!({"labels": {"x": format!("{n}{}", "y".repeat(900))}});
        server.ask("PATCH", path, Some(token), Some(body))
    };
    let greedy = held("greedy");
    let others: Vec<String> = (0..9).map(|_| held("greedy").1).collect();
    let refused = (0..30).map(|n| edit(&greedy, n)).find(|reply| reply.status != 200);
    let refused = refused.expect("thirty edits are more than it may write");
    assert_eq!((refused.status, refused.kind().as_str()), (429, "too_many_requests"));
    assert!(refused.header("retry-after").is_some(), "{refused:?}");
    let again = server.token("tenant", Some("greedy"));
    let reply = edit(&(again, greedy.1.clone()), 99);
    assert_eq!(reply.status, 429, "another token of the same tenant: {reply:?}");
    let name = |n: usize| json!({"name": format!("n{n}")});
    let rename = |n| server.ask("PATCH", &greedy.1, Some(&greedy.0), Some(name(n)));
    assert!((0..30).any(|n| rename(n).status == 429), "nothing is left");
    for path in others {
        let cancelled = server.ask("POST", &format!("{path}/cancel"), Some(&greedy.0), None);
        assert_eq!(cancelled.status / 100, 2, "what it has it may end: {cancelled:?}");
    }
    assert_eq!(edit(&held("modest"), 1).status, 200, "the others go on");
}

fn profile_runs() {
    let server = Server::with("[limits]\nprofile_runs = 2\n");
    server.admin("POST", "/tenants", Some(json!({"name": "t"})));
    let probe = json!({"tenant": "t", "command": ["true"], "types": ["fast"],
                       "probe": {"batches": 5, "warmup": 1, "limit_s": 5.0}});
    for expected in [201, 201, 429] {
        let reply = server.admin("POST", "/jobs", Some(probe.clone()));
        assert_eq!(reply.status, expected, "{reply:?}");
    }
    server.submit(OWNER, json!({"tenant": "t", "command": ["true"]}));
}

fn streams() {
    let server = Server::with("trust_tenants = true\n[limits]\nstreams_per_token = 2\n");
    let viewer = server.token("viewer", None);
    let ask = |token: &str| {
        let request = Request::new("GET", "/api/v1/events");
        request.header("Authorization", &format!("Bearer {token}"))
    };
    let open: Vec<Frames> = (0..2).map(|_| Frames::open(ask(&viewer), server.address)).collect();
    let refused = ask(&viewer).send(server.address);
    assert_eq!((refused.status, refused.kind().as_str()), (429, "too_many_requests"));
    let other = Frames::open(ask(OWNER), server.address);
    drop((open, other));
    wait_until(|| {
        let mut stream = ask(&viewer).open(server.address);
        let mut start = [0; 12];
        stream.read_exact(&mut start).ok()?;
        (&start == b"HTTP/1.1 200").then_some(())
    });
}

/// Callers who have all streams keep neither admins nor those out who have none.
fn full_of_streams() {
    let server =
        Server::with("trust_tenants = true\n[limits]\nstreams_per_token = 4\nevent_streams = 8\n");
    let ask = |token: &str| {
        let request = Request::new("GET", "/api/v1/events");
        request.header("Authorization", &format!("Bearer {token}"))
    };
    let (one, two) = (server.token("viewer", None), server.token("viewer", None));
    let held: Vec<Frames> = [&one, &one, &one, &one, &two, &two, &two]
        .iter()
        .map(|token| Frames::open(ask(token), server.address))
        .collect();
    let refused = ask(&two).send(server.address);
    assert_eq!(refused.status, 429, "the rest is for those who run the cluster: {refused:?}");
    let staff = [OWNER.to_string(), server.token("operator", None)];
    let open: Vec<Frames> =
        staff.iter().map(|token| Frames::open(ask(token), server.address)).collect();
    let newcomer = Frames::open(ask(&server.token("viewer", None)), server.address);
    drop((held, open, newcomer));
}
