//! What the commands that talk to a daemon show: every table fits the screen, and nothing in it obeys a
//! stranger's escape sequences.

mod common;
#[path = "common/daemon.rs"]
mod daemon;

use daemon::responder::Responder;
use daemon::{oef_at, oef_at_width, recorded};
use serde_json::Value;
use unicode_width::UnicodeWidthStr as _;

/// A server that answers every question with a recorded document.
fn server() -> Responder {
    let server = Responder::start();
    for (path, name) in [
        ("/info", "info"),
        ("/jobs", "jobs"),
        ("/jobs/17", "job"),
        ("/jobs/9", "failed"),
        ("/jobs/16/why", "why"),
        ("/tenants", "tenants_page"),
        ("/cluster", "cluster"),
        ("/rounds", "rounds"),
        ("/rounds/current", "round"),
        ("/rounds/42", "round"),
        ("/fairness", "fairness"),
        ("/workloads/vision-lab/vgg16", "workload"),
    ] {
        server.json("GET", path, recorded(name));
    }
    let tenants: Value = serde_json::from_str(&recorded("tenants")).expect("tenants");
    server.json("GET", "/tenants/vision-lab", tenants[1].to_string());
    server.json(
        "GET",
        "/workloads",
        format!(r#"{{"workloads":[{}],"next":null}}"#, recorded("workload")),
    );
    server.json("GET", "/groups", r#"{"groups":[{"name":"research","weight":3.0,"parent":null,"tenants":["vision-lab"]}],"next":null}"#);
    server.json("GET", "/tokens", r#"{"tokens":[{"id":3,"role":"viewer","tenant":null,"note":"a\u001bb","created":"2026-11-15T10:00:00Z","expires":null}],"next":null}"#);
    server.json("GET", "/settings", r#"{"mechanism":"cooperative","round_s":300.0,"reference":null,"min_run_s":30.0,"grace_s":30.0,"stickiness":0.5}"#);
    server.json(
        "GET",
        "/tenants/vision-lab/why",
        r#"{"tenant":"vision-lab","sentence":"it has its share","details":["rtx3090 costs most"]}"#,
    );
    server.json("POST", "/whatif", recorded("whatif"));
    server.json(
        "GET",
        "/jobs/17/logs",
        r#"{"generation":2,"text":"epoch 1\n","next_offset":8,"complete":true}"#,
    );
    server
}

/// Every command that shows something, with words that must be in what it shows.
const SHOWN: &[(&[&str], &[&str])] = &[
    (
        &["jobs"],
        &[
            "17",
            "train lr=0.1",
            "vision-lab",
            "running",
            "2×rtx3090",
            "7m12s",
            "12.8 k",
            "vision-lab has its share first",
        ],
    ),
    (
        &["job", "17"],
        &[
            "job 17",
            "2×rtx3090 (rtx3090-0:0 rtx3090-0:1)",
            "'it'\\''s here'",
            "checkpointed",
            "submitted",
            "OMP_NUM_THREADS=8",
            "at most 2h",
        ],
    ),
    (&["why", "16"], &["job 16 is queued: it waits for 4 GPUs", "round 44", "speech holds 1"]),
    (&["why", "vision-lab"], &["tenant vision-lab: it has its share", "rtx3090 costs most"]),
    (&["tenants"], &["vision-lab", "2×rtx3090", "-0.400", "(suspended)", "- used more than"]),
    (&["tenant", "show", "vision-lab"], &["GPUs: 6; jobs: no limit", "research", "1.5 counted"]),
    (&["groups"], &["research", "3"]),
    (&["workloads"], &["vgg16", "measured", "rtx3090=1.39"]),
    (
        &["profile", "show", "vision-lab/vgg16"],
        &["measured", "29.800", "declared by vision-lab", "rtx3090=2.5"],
    ),
    (&["cluster"], &["rtx3090-0", "17:vision-lab", "down", "0.910"]),
    (
        &["round"],
        &[
            "round 42",
            "using those of round 41",
            "4×rtx3090",
            "speech could gain 0.02",
            "fails",
            "within demand",
            "least: 97 % of an equal split (speech)",
        ],
    ),
    (&["round", "42"], &["round 42"]),
    (&["round", "--list"], &["10/12", "envy-free, sharing incentive"]),
    (
        &["fairness"],
        &[
            "promised:",
            "nobody is below an equal split",
            "envy of up to 7 %",
            "1.07!",
            "0.61",
            "delivered in the last 24 h:",
            "✗ least: 97 % of an equal split (speech)",
            "✗ speech would rather have had vision-lab's GPUs (+12 %)",
            "97 %!",
            "!: another's GPUs would have been worth more to it",
        ],
    ),
    (&["fairness", "--history"], &["promised  ", "delivered ", "▆"]),
    (&["settings"], &["cooperative", "5m"]),
    (&["token", "list"], &["viewer", "never"]),
    (&["top", "--once"], &["round 42", "vision-lab", "q quit"]),
    (
        &["whatif", "--add-gpu", "h100=8"],
        &["total", "+15 %", "round 44", "vision-lab would have 8.10"],
    ),
    (&["logs", "17"], &["epoch 1"]),
];

#[test]
fn every_command_shows_its_figures_and_fits_the_screen() {
    let server = server();
    for (args, words) in SHOWN {
        let ran = oef_at_width(&server, args, "160");
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
        for word in *words {
            assert!(ran.out.contains(word), "{args:?}: `{word}` is not in:\n{}", ran.out);
        }
        assert!(
            !ran.out.contains('\u{1b}') && !ran.out.contains('\u{202e}'),
            "{args:?}: {}",
            ran.out
        );
    }
    for command in ["jobs", "tenants", "cluster", "workloads", "fairness", "round", "top"] {
        let args: &[&str] = if command == "top" { &["top", "--once"] } else { &[command] };
        for line in oef_at(&server, args).out.lines() {
            assert!(line.width() <= 80, "{command}: {} columns: {line}", line.width());
        }
    }
}

#[test]
fn a_round_says_how_far_its_shares_are_proven() {
    let mut round: Value = serde_json::from_str(&recorded("round")).expect("a round");
    round["shares_age"]["kept"] = false.into();
    let said = "shares are not proven optimal: at most 2.1 % from the optimum (interior point)";
    let server = Responder::start();
    server.json("GET", "/rounds/current", round.to_string());
    let shown = oef_at(&server, &["round"]);
    assert!(shown.out.contains(said), "{}{}", shown.out, shown.err);
    // A round that an older version kept.
    for field in ["solver", "audit"] {
        round.as_object_mut().expect("a document").remove(field);
    }
    server.json("GET", "/rounds/42", round.to_string());
    let shown = oef_at(&server, &["round", "42"]);
    assert!(shown.code == 0 && !shown.out.contains("shares are"), "{}{}", shown.out, shown.err);
}

#[test]
fn jobs_of_a_workload_are_counted() {
    for (jobs, said) in [(1, ", 1 live job\n"), (2, ", 2 live jobs\n")] {
        let mut workload: Value = serde_json::from_str(&recorded("workload")).expect("a workload");
        workload["jobs"] = jobs.into();
        let server = Responder::start();
        server.json("GET", "/workloads/vision-lab/vgg16", workload.to_string());
        let shown = oef_at(&server, &["profile", "show", "vision-lab/vgg16"]);
        assert!(shown.out.contains(said), "{}{}", shown.out, shown.err);
    }
}

#[test]
fn narrow_screens_and_plain_locales_get_what_they_can_show() {
    let server = server();
    for command in ["jobs", "tenants", "cluster", "workloads", "fairness", "round", "top"] {
        let args: &[&str] = if command == "top" { &["top", "--once"] } else { &[command] };
        // A round has sentences, which a terminal breaks by itself.
        for line in oef_at_width(&server, args, "60").out.lines().filter(|_| command != "round") {
            assert!(line.width() <= 60, "{command}: {} columns: {line}", line.width());
        }
        let vars = [("OEF_SERVER", &*server.address), ("OEF_TOKEN", "t0ken"), ("LC_ALL", "C")];
        let ran = daemon::run(args, "", &vars);
        assert!(ran.code == 0 && ran.out.is_ascii(), "{command}:\n{}{}", ran.out, ran.err);
    }
}

#[test]
fn json_is_what_the_daemon_said() {
    let server = server();
    for (args, name) in [
        (&["jobs"][..], "jobs"),
        (&["job", "17"], "job"),
        (&["why", "16"], "why"),
        (&["tenants"], "tenants_page"),
        (&["cluster"], "cluster"),
        (&["round"], "round"),
        (&["round", "--list"], "rounds"),
        (&["fairness"], "fairness"),
        (&["profile", "show", "vision-lab/vgg16"], "workload"),
        (&["whatif", "--remove", "speech"], "whatif"),
    ] {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        let expected: Value = serde_json::from_str(&recorded(name)).expect("a document");
        assert_eq!(oef_at(&server, &args).json(), expected, "{args:?}");
    }
    let top = oef_at(&server, &["top", "--json"]).json();
    assert_eq!(top["cluster"]["reference"], "rtx3070");
}

#[test]
fn the_list_of_jobs_has_the_published_fields() {
    let json = oef_at(&server(), &["jobs", "--json"]).json();
    assert_eq!(json["next"], Value::Null);
    for field in ["id", "name", "tenant", "state", "workers", "gpus", "submitted", "reason"] {
        assert!(json["jobs"][0].get(field).is_some(), "{field}");
    }
}

#[test]
fn filters_become_a_query() {
    let server = server();
    oef_at(
        &server,
        &["jobs", "--tenant", "a b", "--state", "queued,failed", "--label", "k=v", "--limit", "7"],
    );
    let asked = &server.asked_of("GET", "/jobs")[0];
    let query = "all=true&label=k%3Dv&limit=7&state=queued%2Cfailed&tenant=a+b";
    assert_eq!(asked.line, format!("GET /api/v1/jobs?{query}"));
}

#[test]
fn pages_are_gathered_up_to_the_limit() {
    let server = Responder::start();
    let mut page: Value = serde_json::from_str(&recorded("jobs")).expect("jobs");
    server.json("GET", "/jobs?limit=6", {
        page["next"] = "14".into();
        page.to_string()
    });
    server.json("GET", "/jobs?after=14&limit=2", {
        page["next"] = "9".into();
        page["jobs"].as_array_mut().expect("a list").truncate(2);
        page.to_string()
    });
    let json = oef_at(&server, &["jobs", "--limit", "6", "--json"]).json();
    assert_eq!(json["jobs"].as_array().map(Vec::len), Some(6));
    assert_eq!(json["next"], "9");
    let shown = oef_at(&server, &["jobs", "--limit", "6"]).out;
    assert!(shown.contains("--after 9"), "{shown}");
}

#[test]
fn a_failed_job_is_exit_code_1_where_it_is_asked_about() {
    let server = server();
    let ran = oef_at(&server, &["job", "9"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.out.contains("Traceback: no such file"), "{}", ran.out);
}

#[test]
fn nothing_is_said_about_nothing() {
    let server = Responder::start();
    server.json("GET", "/jobs", r#"{"jobs":[],"next":null}"#);
    server.json("GET", "/tenants", r#"{"tenants":[],"next":null}"#);
    server.json("GET", "/fairness", r#"{"round":0,"mechanism":"nash","tenants":[],"envy":[],"sharing_incentive":null,"worst_envy":null}"#);
    assert!(oef_at(&server, &["jobs"]).out.contains("no jobs"));
    assert!(oef_at(&server, &["tenants"]).out.contains("oef tenant create"));
    assert!(oef_at(&server, &["fairness"]).out.contains("no tenant has jobs"));
}
