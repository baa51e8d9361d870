//! The whole of it: a daemon, its jobs as real processes, and the commands that talk to it.

#[path = "common/cluster.rs"]
mod cluster;
mod common;
#[path = "common/daemon.rs"]
mod daemon;
#[path = "common/up.rs"]
mod up;

use cluster::Up;
use oef_core::Mechanism;
use serde_json::Value;
use std::process::Command;
use std::time::{Duration, Instant};
use up::PATIENCE;

#[test]
fn a_new_users_first_minute() {
    let up = Up::start();
    let ran = up.oef(&[
        "submit",
        "--create-tenant",
        "--tenant",
        "me",
        "--wait",
        "--json",
        "--",
        "sh",
        "-c",
        "echo hello from $OEF_GPU_TYPE",
    ]);
    let done: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.err));
    assert_eq!((ran.code, &done["jobs"][0]["state"]), (0, &"finished".into()), "{}", ran.err);
    assert!(ran.err.contains("me"), "the new tenant is told: {}", ran.err);
    let first = done["ids"][0].to_string();
    let log = up.oef(&["logs", &first]);
    assert!(log.out.starts_with("hello from "), "{} {}", log.out, log.err);

    let followed = [
        "submit",
        "--create-tenant",
        "--tenant",
        "me",
        "--follow",
        "--",
        "sh",
        "-c",
        "echo one; sleep 0.5; echo two",
    ];
    let ran = up.oef(&followed);
    assert_eq!((ran.code, ran.out.as_str()), (0, "one\ntwo\n"), "{}", ran.err);

    let long = up.submit(&["--workers", "2", "--name", "long one"], "sleep 1000");
    up.until(&long, "running");
    let jobs = up.oef(&["jobs"]).out;
    assert!(
        jobs.contains("long one") && jobs.contains("running") && !jobs.contains("finished"),
        "{jobs}"
    );
    assert_eq!(
        up.oef(&["jobs", "--all", "--json"]).json()["jobs"].as_array().map(Vec::len),
        Some(3)
    );
    for args in [
        &["why", &long][..],
        &["why", "me"],
        &["tenants"],
        &["tenant", "show", "me"],
        &["workloads"],
        &["cluster"],
        &["round"],
        &["round", "--list"],
        &["fairness", "--history"],
        &["settings"],
        &["token", "list"],
        &["groups"],
        &["profile", "show", "me/default"],
        &["events"],
        &["top", "--once"],
        &["whatif", "--add-gpu", "fast=4"],
        &["whatif", "--submit-workers", "2", "--submit-tenant", "me"],
    ] {
        let ran = up.oef(args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
        assert!(!ran.out.trim().is_empty(), "{args:?}");
    }
    assert!(up.oef(&["cancel", &long]).code == 0);
    up.until(&long, "cancelled");
}

/// The daemon's shares are the mechanism's answer to the round's problem: whoever writes it down and solves it again,
/// finds the same.
#[test]
fn the_problem_of_a_round_gives_its_shares() {
    let up = Up::start();
    for (tenant, workload, profile, jobs) in [
        ("me", "a", "slow=1,fast=2", 3),
        ("me", "b", "slow=1,fast=1.5", 1),
        ("you", "a", "slow=1,fast=4", 2),
    ] {
        for _ in 0..jobs {
            let ran = up.oef(&[
                "submit",
                "--create-tenant",
                "--tenant",
                tenant,
                "--workload",
                workload,
                "--",
                "sleep",
                "600",
            ]);
            assert_eq!(ran.code, 0, "{}", ran.err);
        }
        let of = format!("{tenant}/{workload}");
        let ran = up.oef(&["workload", "set", &of, "--throughput", profile]);
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    for mechanism in Mechanism::ALL.map(Mechanism::name) {
        let ran = up.oef(&["settings", "--set", &format!("mechanism={mechanism}")]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let began = Instant::now();
        let round = loop {
            let round = up.oef(&["round", "--json"]).json();
            let workloads = round["shares"].as_array().map_or(0, Vec::len);
            let age = &round["shares_age"];
            if round["mechanism"] == mechanism && workloads == 3 && age["trouble"].is_null() {
                break round;
            }
            assert!(began.elapsed() < PATIENCE, "{round}");
            std::thread::sleep(Duration::from_millis(50));
        };
        let number = round["round"].to_string();
        for (name, more) in [("round.toml", None), ("round.json", Some("--json"))] {
            let args: Vec<&str> = ["round", &number, "--problem"].into_iter().chain(more).collect();
            let written = up.oef(&args);
            assert_eq!(written.code, 0, "{}", written.err);
            let file = up.home.file(name, &written.out);
            let answer = common::oef(&["share", "--mechanism", mechanism, "--json", &file]).json();
            compare(&round, &answer);
            for figure in ["status", "canonical"] {
                assert_eq!(round["solver"][figure], answer["solver"][figure], "{round} {answer}");
            }
            for property in ["demand", "envy_free", "sharing_incentive", "pareto_efficient"] {
                let holds = |of: &Value| of["audit"][property]["holds"].clone();
                assert_eq!(holds(&round), holds(&answer), "{property} {round} {answer}");
            }
        }
    }
    let ran = up.oef(&["cancel", "--all", "--tenant", "you"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
}

/// Every share of a round against those that `oef share` found.
fn compare(round: &Value, answer: &Value) {
    for entry in round["shares"].as_array().expect("shares") {
        let named = |list: &Value, name: &Value| {
            let all = list.as_array().expect("a list").iter();
            all.clone().find(|one| one["name"] == *name).cloned().expect("it is there")
        };
        let tenant = named(&answer["tenants"], &entry["tenant"]);
        let workload = named(&tenant["workloads"], &entry["workload"]);
        for (gpu, share) in entry["share"].as_object().expect("a share") {
            let found = workload["share"][gpu].as_f64().unwrap_or(0.0);
            let share = share.as_f64().expect("a number");
            assert!((share - found).abs() < 1e-9, "{entry} {workload}");
        }
    }
}

#[test]
fn failures_are_told_with_their_exit_codes() {
    let up = Up::start();
    let ran = up.oef(&[
        "submit",
        "--create-tenant",
        "--tenant",
        "me",
        "--wait",
        "--",
        "sh",
        "-c",
        "echo broken >&2; exit 3",
    ]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let id = ran.out.trim().to_string();
    let shown = up.oef(&["job", &id]);
    assert_eq!(shown.code, 1);
    assert!(shown.out.contains("exit code 3") && shown.out.contains("broken"), "{}", shown.out);
    assert_eq!(up.oef(&["logs", &id, "--stderr"]).out, "broken\n");
    let ran = up.oef(&[
        "submit",
        "--create-tenant",
        "--tenant",
        "me",
        "--wait",
        "--",
        "/no/such/program",
    ]);
    assert!(ran.code == 1 && ran.err.contains("/no/such/program"), "{} {}", ran.code, ran.err);
    up.oef(&["submit", "--create-tenant", "--tenant", "me", "--types", "fsat", "--", "true"])
        .fails(2, &["fsat", "fast"]);
    up.oef(&["submit", "--create-tenant", "--tenant", "me", "--workers", "100", "--", "true"])
        .fails(2, &["100"]);
    up.oef(&["job", "999"]).fails(3, &["999"]);
    up.oef(&["why", "nobody"]).fails(2, &["nobody"]);
    up.oef(&["settings", "--set", "mechanism=luck"]).fails(2, &["luck"]);
}

#[test]
fn a_sweep_and_a_tenants_token() {
    let up = Up::start();
    let ids = up.submit(&["--sweep", "x=1,2,3"], "echo x is {x}");
    let ids: Vec<&str> = ids.lines().collect();
    assert_eq!(ids.len(), 3);
    for (id, x) in ids.iter().zip(1..) {
        up.until(id, "finished");
        assert_eq!(up.oef(&["logs", id]).out, format!("x is {x}\n"));
    }
    let listed = up.oef(&["jobs", "--all", "--label", "x=2", "--json"]).json();
    assert_eq!(listed["jobs"].as_array().map(Vec::len), Some(1));

    up.oef(&["tenant", "create", "other", "--weight", "2"]);
    let secret = up.oef(&["token", "create", "--role", "tenant", "--tenant", "other"]).out;
    let home = up.home.path().display().to_string();
    let other = |args: &[&str]| {
        daemon::run(args, "", &[("XDG_STATE_HOME", &home), ("OEF_TOKEN", secret.trim())])
    };
    assert!(other(&["jobs", "--all"]).out.contains("no jobs"));
    other(&["job", ids[0]]).fails(3, &[]);
    other(&["tenant", "create", "third"]).fails(3, &[]);
    let ran = other(&["submit", "--wait", "--", "true"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
}

#[test]
fn jobs_and_their_numbers_outlive_the_daemon() {
    let mut up = Up::start();
    let id = up.submit(&[], "echo once; sleep 1000");
    up.until(&id, "running");
    up.child.kill().expect("killed");
    up.child.wait().expect("gone");
    let state = up.home.join("state").display().to_string();
    let check = up.oef(&["journal", "check", "--state", &state, "--json"]).json();
    assert_eq!(check["sound"], true, "{check}");
    up.oef(&["jobs"]).fails(3, &["cannot be reached"]);
    up.child = Up::spawn(&up.home);
    up.until(&id, "running");
    assert_eq!(up.oef(&["logs", &id]).out, "once\n");
    let copy = up.home.join("copy.db").display().to_string();
    let ran = up.oef(&["backup", &copy, "--state", &state]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    up.oef(&["journal", "compact", "--state", &state]).fails(2, &["state"]);
    let exported = up.oef(&["journal", "export", "--state", &state]).out;
    assert!(exported.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{exported}");
}

/// A job that tells its steps, twice as many on a fast GPU.
const TELLS: &str = r#"
    case $OEF_GPU_TYPE in fast) pause=0.1;; *) pause=0.2;; esac
    step=0
    while :; do
        sleep $pause
        step=$((step + 1))
        echo "{\"step\": $step}" >> "$OEF_PROGRESS_FILE"
    done"#;

#[test]
fn a_false_profile_is_found_while_jobs_run_and_gives_way() {
    let up = Up::start();
    let ran = up.oef(&["tenant", "create", "me"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let ran = up.oef(&["workload", "set", "me/w", "--throughput", "slow=1,fast=40"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(up.oef(&["settings", "--json"]).json()["guard"], "replace");
    let ids: Vec<String> = (0..4).map(|_| up.submit(&["--workload", "w"], TELLS)).collect();
    let began = Instant::now();
    let shown = loop {
        let shown = up.oef(&["profile", "show", "me/w", "--json"]).json();
        if shown["profile"]["provenance"] == "measured" {
            break shown;
        }
        assert!(began.elapsed() < PATIENCE, "not found: {shown}");
        std::thread::sleep(Duration::from_millis(200));
    };
    let on = |gpu: &str| shown["profile"]["throughput"][gpu].as_f64().unwrap_or_default();
    let ratio = on("fast") / on("slow");
    assert!((1.2..3.4).contains(&ratio), "a busy machine, but no forty: {shown}");
    assert_eq!(shown["guard"]["replaced"], true);
    assert_eq!(shown["history"][0]["throughput"]["fast"], 40.0);
    for args in [&["why", &ids[0]][..], &["why", "me"], &["profile", "show", "me/w"], &["events"]] {
        let ran = up.oef(args);
        assert!(ran.out.contains("its jobs showed"), "{args:?}: {} {}", ran.out, ran.err);
    }
}

#[test]
fn a_log_in_json_has_no_other_lines() {
    let home = common::Dir::new();
    let settings = format!(
        "listen = \"127.0.0.1:0\"\nstate_dir = {:?}\n[gpus]\nemulated = \"a=1\"\n[log]\nformat = \"json\"\n\
         [socket]\npath = {:?}\n",
        home.join("state"),
        home.join("oef.sock")
    );
    let file = home.file("oef.toml", settings);
    let mut child = up::spawn(&home, ["serve", "--config", &file]);
    let id = child.id().to_string();
    Command::new("kill").args(["-TERM", &id]).status().expect("a signal");
    let status = child.wait().expect("an end");
    assert!(status.success(), "{status}");
    let log = std::fs::read_to_string(home.join("log")).expect("a log");
    for line in log.lines() {
        let entry: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("plain: {line}"));
        assert!(entry["message"].is_string(), "{line}");
    }
    for said in ["OEF is up at", "stopping", "stopped"] {
        assert!(log.contains(said), "`{said}` is not in:\n{log}");
    }
}

/// Without Slurm, too, and without a token: the kernel says who asks.
#[test]
fn the_user_of_a_tenant_is_that_tenant_on_the_local_socket() {
    use std::io::Write as _;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let owner = std::fs::metadata("/proc/self").expect("proc").uid();
    if owner != 0 {
        // Not by `eprintln!`, which is swallowed where a test passes: `scripts/test.sh` counts these lines.
        let test = "the_user_of_a_tenant_is_that_tenant_on_the_local_socket";
        let _ = writeln!(std::io::stderr(), "left out, {test} needs root");
        return;
    }
    let home = common::Dir::new();
    let everybody = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(home.path(), everybody).expect("set");
    let settings = format!(
        "listen = \"127.0.0.1:0\"\nstate_dir = {:?}\n[gpus]\nemulated = \"a=1\"\n\
         [scheduling]\nround = \"500ms\"\n[socket]\npath = {:?}\n",
        home.join("state"),
        home.join("oef.sock")
    );
    let file = home.file("oef.toml", settings);
    let mut child = up::spawn(&home, ["serve", "--config", &file]);
    let made = up::ask(&home, &["tenant", "create", "vision", "--user", "nobody"]);
    // Where others may not go, a program of their own has to be.
    let program = home.join("oef-of-others");
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_oef")).arg(&program).status();
    let run_as = |user: &str, args: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", user, "--regid", "65534", "--clear-groups"]).arg(&program);
        command.args(args).env_clear().current_dir("/");
        command.env("OEF_SERVER", format!("unix://{}", home.join("oef.sock").display()));
        command.output().expect("setpriv")
    };
    let own = run_as("nobody", &["submit", "--follow", "--", "id", "-un"]);
    let other = run_as("daemon", &["submit", "--", "true"]);
    let shown = up::ask(&home, &["jobs", "--all", "--json"]);
    let _ = child.kill();
    let _ = child.wait();
    assert!(made.code == 0 && copied.expect("cp").success(), "{}", made.err);
    let said = String::from_utf8_lossy(&own.stderr);
    assert_eq!(String::from_utf8_lossy(&own.stdout), "nobody\n", "{said}");
    let jobs = shown.json()["jobs"].as_array().cloned().expect("jobs");
    assert_eq!(jobs.len(), 1, "who has no tenant submits nothing: {jobs:?}");
    assert_eq!(jobs[0]["tenant"], "vision");
    assert!(!other.status.success(), "{}", String::from_utf8_lossy(&other.stdout));
}
