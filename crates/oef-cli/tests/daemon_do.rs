//! What the commands that talk to a daemon send, and how they end.

mod common;
#[path = "common/daemon.rs"]
mod daemon;

use common::Dir;
use daemon::responder::{Reply, Responder};
use daemon::{job_event, oef_at, oef_at_with, problem, recorded, run};
use serde_json::{Value, json};

const INFO: &str =
    r#"{"name":"oef","version":"0.1.0","role":"tenant","tenant":"speech","round":1,"up_s":1.0}"#;

fn taking(ids: &[u64]) -> Responder {
    let server = Responder::start();
    server.json("GET", "/info", INFO);
    let answer = json!({"ids": ids, "notes": ["tenant `speech` was created with weight 1"]});
    let path = if ids.len() == 1 { "/jobs" } else { "/jobs/batch" };
    server.json("POST", path, answer.to_string());
    server
}

fn sent(server: &Responder, method: &str, path: &str) -> Value {
    let asked = server.asked_of(method, path);
    let last = asked.last().unwrap_or_else(|| panic!("nothing was asked of {path}"));
    serde_json::from_str(&last.body).unwrap_or_else(|error| panic!("{error}: {}", last.body))
}

#[test]
fn submit_prints_the_number_and_nothing_else() {
    let server = taking(&[12]);
    let ran = oef_at(&server, &["submit", "--workdir", "/w", "--", "python", "t.py"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "12\n"), "{}", ran.err);
    assert!(ran.err.contains("was created with weight 1"), "{}", ran.err);
    assert_eq!(
        sent(&server, "POST", "/jobs"),
        json!({"command": ["python", "t.py"], "workdir": "/w"})
    );
    let asked = &server.asked_of("POST", "/jobs")[0];
    assert_eq!(asked.headers["authorization"], "Bearer t0ken");
    assert!(asked.headers["idempotency-key"].len() > 20);
    let json = oef_at(&server, &["submit", "--json", "--", "true"]).json();
    assert_eq!(json["ids"], json!([12]));
}

#[test]
fn every_invocation_has_a_key_of_its_own() {
    let server = taking(&[12]);
    for _ in 0..2 {
        oef_at(&server, &["submit", "--", "true"]);
    }
    let keys: Vec<String> = server
        .asked_of("POST", "/jobs")
        .iter()
        .map(|a| a.headers["idempotency-key"].clone())
        .collect();
    assert_ne!(keys[0], keys[1]);
}

#[test]
fn an_admin_without_a_tenant_gets_one_and_is_told() {
    let server = taking(&[12]);
    let admin =
        INFO.replace(r#""role":"tenant","tenant":"speech""#, r#""role":"admin","tenant":null"#);
    let server = {
        server.json("GET", "/info", admin);
        server
    };
    // The first answer is used up.
    oef_at(&server, &["submit", "--", "true"]);
    let ran = oef_at(&server, &["submit", "--", "true"]);
    let user = ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
    let own = user.filter(|name| !name.is_empty()).unwrap_or_else(|| "default".into());
    assert!(ran.err.contains(&format!("for tenant `{own}`")), "{}", ran.err);
    assert_eq!(sent(&server, "POST", "/jobs")["tenant"], own.as_str());
    assert!(server.asked_of("POST", "/jobs")[1].line.contains("create_tenant=true"));
    oef_at(&server, &["submit", "--tenant", "mine", "--", "true"]);
    assert_eq!(sent(&server, "POST", "/jobs")["tenant"], "mine");
    let last = server.asked_of("POST", "/jobs").len() - 1;
    assert!(
        !server.asked_of("POST", "/jobs")[last].line.contains("create_tenant"),
        "a typo is no tenant"
    );
}

#[test]
fn a_sweep_is_one_batch() {
    let server = taking(&[1, 2, 3, 4]);
    let args = ["submit", "--sweep", "lr=0.1,0.01", "--sweep", "bs=1,2", "--", "t", "{lr}", "{bs}"];
    let ran = oef_at(&server, &args);
    assert_eq!((ran.code, ran.out.as_str()), (0, "1\n2\n3\n4\n"), "{}", ran.err);
    assert!(ran.err.contains("oef jobs --sweep 1"), "{}", ran.err);
    let batch = sent(&server, "POST", "/jobs/batch");
    assert_eq!(batch["name"], "t");
    assert_eq!(batch["jobs"][3]["command"], json!(["t", "0.01", "2"]));
    assert_eq!(batch["jobs"][3]["labels"], json!({"lr": "0.01", "bs": "2"}));
}

#[test]
fn scripts_and_files_are_read_here() {
    let server = taking(&[12]);
    let ran = oef_at_with(&server, &["submit", "--script", "-"], "echo hello\n");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(sent(&server, "POST", "/jobs")["script"], "echo hello\n");
    let dir = Dir::new();
    let example = oef_at(&server, &["submit", "--example-file"]);
    assert_eq!(example.code, 0);
    let file = dir.file("job.toml", example.out.split("[sweep]").next().expect("a part"));
    assert_eq!(oef_at(&server, &["submit", "--file", &file]).code, 0);
    assert_eq!(sent(&server, "POST", "/jobs")["types"], json!(["rtx3080", "rtx3090"]));
    let typo = dir.file("typo.toml", "command = [\"t\"]\nwokers = 2\n");
    let ran = oef_at(&server, &["submit", "--file", &typo]);
    ran.fails(2, &["typo.toml:2:1", "`wokers`", "did you mean `workers`?"]);
}

#[test]
fn nothing_is_sent_where_the_input_is_bad() {
    let server = taking(&[12]);
    for (args, said) in [
        (&["submit"][..], "nothing to run"),
        (&["submit", "--sweep", "lr=1,2", "--", "t"], "changes nothing"),
        (&["submit", "--sweep", "lr=1,2", "--follow", "--", "t", "{lr}"], "--follow shows one job"),
        (&["cancel"], "required"),
        (&["cancel", "--tenant", "t"], "required"),
        (&["workload", "set", "vgg16", "--weight", "2"], "TENANT/WORKLOAD"),
        (&["workload", "set", "a/b"], "nothing to change"),
        (&["workload", "set", "a/b", "--throughput", "x=-1"], "throughputs of 0 or more"),
        (&["tenant", "set", "a"], "nothing to change"),
        (&["tenant", "set", "a", "--weight", "0"], "above 0"),
        (&["tenant", "set", "a", "--max-gpus", "some"], "whole number, or `none`"),
        (&["token", "create", "--role", "tenant"], "--tenant"),
        (
            &["token", "create", "--role", "viewer", "--tenant", "t"],
            "only a token with the role `tenant`",
        ),
        (&["settings", "--set", "rond=5s"], "did you mean `round`?"),
        (&["whatif"], "no change was given"),
        (&["whatif", "--set", "a.demand=3"], "a tenant's weight can be set"),
        (&["whatif", "--add-gpu", "h100=1.5"], "is not a whole number"),
        (&["whatif", "lab.toml", "--submit", "j.toml"], "cannot be used with"),
        (&["top"], "needs a terminal"),
        (&["jobs", "--state", "asleep"], "invalid value 'asleep'"),
    ] {
        oef_at(&server, args).fails(2, &[said]);
    }
    assert!(server.asked().is_empty(), "{:?}", server.asked());
}

#[test]
fn waiting_ends_with_the_job() {
    for (last, code) in [("finished", 0), ("failed", 1)] {
        let server = taking(&[9]);
        let running =
            recorded(last).replace(&format!("\"state\": \"{last}\""), "\"state\": \"running\"");
        server.json("GET", "/jobs/9", running).json("GET", "/jobs/9", recorded(last));
        let events = format!(
            "{}{}{}",
            job_event(4, 8, last),
            job_event(5, 9, "running"),
            job_event(6, 9, last)
        );
        server.on("GET", "/events", Reply::OpenStream(events));
        let ran = oef_at(&server, &["submit", "--wait", "--json", "--", "true"]);
        assert_eq!(ran.code, code, "{}", ran.err);
        let document: Value = serde_json::from_str(&ran.out).expect("a document");
        assert_eq!(document["jobs"][0]["state"], last);
        assert!(
            ran.err.contains("job 9 is running") && ran.err.contains(&format!("job 9 has {last}")),
            "{}",
            ran.err
        );
    }
}

#[test]
fn following_shows_the_log_to_its_end_over_runs() {
    let server = taking(&[9]);
    let part = |generation: u64, text: &str, next: u64, complete: bool| {
        json!({"generation": generation, "text": text, "next_offset": next, "complete": complete})
            .to_string()
    };
    server.on(
        "GET",
        "/jobs/9/logs?limit=1048576&stream=all",
        problem("not_found", 404, "job 9 has no log yet", ""),
    );
    // The run is there before its log is.
    let first = "/jobs/9/logs?generation=1&limit=1048576&stream=all";
    server.on("GET", first, problem("not_found", 404, "job 9 has written nothing", ""));
    for (query, text) in [
        ("generation=1&limit=1048576&stream=all", part(1, "one\n", 4, false)),
        ("generation=1&limit=1048576&offset=4&stream=all", part(1, "two\n", 8, true)),
        ("generation=3&limit=1048576&stream=all", part(3, "three\n", 6, true)),
    ] {
        server.json("GET", &format!("/jobs/9/logs?{query}"), text);
    }
    let job = |state: &str, runs: &[u64]| {
        let mut job: Value = serde_json::from_str(&recorded("finished")).expect("a job");
        job["state"] = state.into();
        let run = |g: &u64| json!({"generation": g, "gpus": [], "started": "2026-11-15T10:00:00Z", "ended": null, "ending": null, "detail": null});
        job["runs"] = runs.iter().map(run).collect();
        job.to_string()
    };
    for (state, runs) in [
        // Asked for the runs so far, for what it waits for, and for its workers.
        ("queued", &[][..]),
        ("queued", &[]),
        ("starting", &[1]),
        ("starting", &[1]),
        ("starting", &[1]),
        ("queued", &[1]),
        ("running", &[1, 3]),
        ("finished", &[1, 3]),
    ] {
        server.json("GET", "/jobs/9", job(state, runs));
    }
    let events: String = (1..9).map(|id| job_event(id, 9, "running")).collect();
    server.on("GET", "/events", Reply::OpenStream(events));
    let ran = oef_at(&server, &["submit", "--follow", "--", "true"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "one\ntwo\nthree\n"), "{}", ran.err);
}

#[test]
fn a_log_is_read_part_by_part() {
    let server = Responder::start();
    server.json(
        "GET",
        "/jobs/9/logs?limit=1048576&rank=2&stream=err&tail=5",
        r#"{"generation":4,"text":"a","next_offset":1,"complete":false}"#,
    );
    server.json(
        "GET",
        "/jobs/9/logs?generation=4&limit=1048576&offset=1&rank=2&stream=err",
        r#"{"generation":4,"text":"b\n","next_offset":3,"complete":true}"#,
    );
    let ran = oef_at(&server, &["logs", "9", "--rank", "2", "--stderr", "--tail", "5"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "ab\n"), "{}", ran.err);
}

#[test]
fn cancelling_tries_all_and_tells_what_failed() {
    let server = Responder::start();
    server.json(
        "POST",
        "/jobs/9/cancel",
        recorded("finished").replace("\"finished\"", "\"cancelled\""),
    );
    server.on(
        "POST",
        "/jobs/7/cancel",
        problem("not_found", 404, "there is no job 7", "see `oef jobs`"),
    );
    let ran = oef_at(&server, &["cancel", "7", "9"]);
    ran.fails(3, &["job 7", "there is no job 7", "see `oef jobs`"]);
    assert!(ran.out.contains("job 9 (fine) was cancelled"), "{}", ran.out);
}

#[test]
fn cancelling_everything_needs_a_tenant() {
    let server = Responder::start();
    server.json("GET", "/info", recorded("info"));
    oef_at(&server, &["cancel", "--all"]).fails(2, &["the jobs of all tenants", "--tenant"]);
    server.json("GET", "/jobs", recorded("jobs"));
    for id in [14, 15, 16, 17] {
        server.json("POST", &format!("/jobs/{id}/cancel"), recorded("finished"));
    }
    let json = oef_at(&server, &["cancel", "--all", "--tenant", "speech", "--json"]).json();
    assert_eq!(json["jobs"].as_array().map(Vec::len), Some(4));
    assert!(server.asked_of("GET", "/jobs")[0].line.contains("tenant=speech"));
}

#[test]
fn tenants_groups_and_tokens_are_changed() {
    let server = Responder::start();
    let tenants: Value = serde_json::from_str(&recorded("tenants")).expect("tenants");
    let tenant = tenants[1].to_string();
    server.json("POST", "/tenants", tenant.as_str()).json(
        "PATCH",
        "/tenants/vision-lab",
        tenant.as_str(),
    );
    server.json("GET", "/tenants/vision-lab", tenant.as_str());
    server.on("DELETE", "/tenants/a%2Fb", Reply::Json(204, String::new()));
    oef_at(
        &server,
        &[
            "tenant",
            "create",
            "vision-lab",
            "--weight",
            "2",
            "--group",
            "research",
            "--max-gpus",
            "6",
        ],
    );
    let expected =
        json!({"name": "vision-lab", "weight": 2.0, "group": "research", "limits": {"gpus": 6}});
    assert_eq!(sent(&server, "POST", "/tenants"), expected);
    // The limit that is not named stays.
    oef_at(&server, &["tenant", "set", "vision-lab", "--group", "none", "--max-jobs", "9"]);
    let expected = json!({"group": null, "limits": {"gpus": 6, "jobs": 9}});
    assert_eq!(sent(&server, "PATCH", "/tenants/vision-lab"), expected);
    oef_at(&server, &["tenant", "suspend", "vision-lab"]);
    assert_eq!(sent(&server, "PATCH", "/tenants/vision-lab"), json!({"suspended": true}));
    assert_eq!(
        oef_at(&server, &["tenant", "remove", "a/b", "--json"]).json(),
        json!({"removed": "a/b"})
    );

    server.json(
        "GET",
        "/groups",
        r#"{"groups":[{"name":"g","weight":3.0,"parent":"p","tenants":[]}],"next":null}"#,
    );
    server.json("PUT", "/groups/g", r#"{"name":"g","weight":3.0,"parent":null,"tenants":[]}"#);
    oef_at(&server, &["group", "set", "g", "--parent", "none"]);
    assert_eq!(sent(&server, "PUT", "/groups/g"), json!({"weight": 3.0}));

    server.json("POST", "/tokens", r#"{"token":{"id":3,"role":"tenant","tenant":"t","note":null,"created":"2026-11-15T10:00:00Z","expires":null},"secret":"s3cret"}"#);
    let ran = oef_at(
        &server,
        &["token", "create", "--role", "tenant", "--tenant", "t", "--expires", "1d"],
    );
    assert_eq!((ran.code, ran.out.as_str()), (0, "s3cret\n"));
    assert!(!ran.err.contains("s3cret"), "{}", ran.err);
    let expected = json!({"role": "tenant", "tenant": "t", "expires_in_s": 86400.0});
    assert_eq!(sent(&server, "POST", "/tokens"), expected);

    server.json("PUT", "/workloads/t/w", recorded("workload"));
    oef_at(&server, &["workload", "set", "t/w", "--throughput", "a=1,b=2.5"]);
    assert_eq!(sent(&server, "PUT", "/workloads/t/w"), json!({"throughput": {"a": 1.0, "b": 2.5}}));

    server.json(
        "PATCH",
        "/cluster/nodes/n1",
        r#"{"name":"n1","type":"a","health":"down","jobs":[]}"#,
    );
    assert!(oef_at(&server, &["node", "down", "n1"]).out.contains("is down"));
    assert_eq!(sent(&server, "PATCH", "/cluster/nodes/n1"), json!({"health": "down"}));

    server.json("PATCH", "/settings", r#"{"mechanism":"nash","round_s":60.0,"reference":null,"min_run_s":0.0,"grace_s":5.0,"stickiness":0.0}"#);
    oef_at(&server, &["settings", "--set", "mechanism=nash", "--set", "round=60s"]);
    assert_eq!(sent(&server, "PATCH", "/settings"), json!({"mechanism": "nash", "round_s": 60.0}));
}

#[test]
fn whatif_sends_its_changes_in_their_order() {
    let server = Responder::start();
    server.json("POST", "/whatif", recorded("whatif"));
    let args = [
        "whatif",
        "--set",
        "a.b.weight=2",
        "--add-gpu",
        "h100=8",
        "--remove-gpu",
        "k80=1",
        "--remove",
        "bob",
        "--mechanism",
        "nash",
        "--submit-workers",
        "4",
        "--submit-tenant",
        "t",
    ];
    let ran = oef_at(&server, &args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let expected = json!([
        {"change": "remove_tenant", "tenant": "bob"},
        {"change": "add_gpus", "type": "h100", "count": 8},
        {"change": "remove_gpus", "type": "k80", "count": 1},
        {"change": "weight", "tenant": "a.b", "weight": 2.0},
        {"change": "mechanism", "mechanism": "nash"},
        {"change": "submit", "job": {"tenant": "t", "command": ["true"], "workers": 4}},
    ]);
    assert_eq!(sent(&server, "POST", "/whatif")["changes"], expected);
}

#[test]
fn events_are_shown_and_followed() {
    let server = Responder::start();
    server.on(
        "GET",
        "/events",
        Reply::OpenStream(format!("{}{}", job_event(4, 9, "running"), job_event(5, 9, "finished"))),
    );
    let ran = oef_at(&server, &["events"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("job 9 is running") && ran.out.lines().count() == 2, "{}", ran.out);
    assert_eq!(server.asked()[0].headers["last-event-id"], "0");
    let json = oef_at(&server, &["events", "--after", "3", "--json"]).json();
    assert_eq!(json["events"][1]["id"], 5);
}

#[test]
fn watching_ends_where_nothing_more_happens() {
    let server = Responder::start();
    server.json("GET", "/jobs/9", recorded("finished").replace("\"finished\"", "\"running\""));
    server.json("GET", "/jobs/9", recorded("finished"));
    server.on("GET", "/events", Reply::OpenStream(job_event(4, 9, "finished")));
    let ran = oef_at(&server, &["job", "9", "--watch"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("running") && ran.out.contains("finished"), "{}", ran.out);
}

#[test]
fn a_server_that_refuses_or_is_not_there_is_exit_code_3() {
    let server = Responder::start();
    server.on(
        "GET",
        "/jobs/7",
        problem("not_found", 404, "there is no job 7", "`oef jobs --all` lists them"),
    );
    oef_at(&server, &["job", "7"]).fails(3, &["there is no job 7", "hint", "oef jobs --all"]);
    server.on("GET", "/jobs", Reply::Text(401, String::new()));
    oef_at(&server, &["jobs"]).fails(3, &["OEF_TOKEN"]);
    server.on("GET", "/cluster", Reply::Text(200, "<html>".into()));
    oef_at(&server, &["cluster"]).fails(3, &["not understood", "<html>"]);
    let gone = [("OEF_SERVER", "http://127.0.0.1:1"), ("OEF_TOKEN", "t")];
    run(&["jobs"], "", &gone).fails(3, &["cannot be reached", "oef up"]);
    run(&["jobs"], "", &[("HOME", "/nowhere")])
        .fails(3, &["no daemon is known", "access.json", "oef up"]);
    let dir = Dir::new();
    std::fs::create_dir(dir.join("oef")).expect("a folder");
    dir.file("oef/access.json", r#"{"server":"http://127.0.0.1:1","token":"t"}"#);
    let home = dir.path().display().to_string();
    run(&["jobs"], "", &[("XDG_STATE_HOME", &home)])
        .fails(3, &["can be read by others", "chmod 600"]);
}

#[test]
fn a_hint_of_a_stranger_cannot_write_to_the_terminal() {
    let server = Responder::start();
    server.on("GET", "/jobs/7", problem("x", 400, "bad \u{1b}[31m", "\u{1b}]0;title\u{7}"));
    let ran = oef_at(&server, &["job", "7"]);
    assert!(ran.err.contains("\\u{1b}") && !ran.err.contains('\u{7}'), "{:?}", ran.err);
}
