//! Past usage counts, on a real daemon that is killed in between; and in a simulation.

#[path = "common/cluster.rs"]
mod cluster;
mod common;
#[path = "common/daemon.rs"]
mod daemon;
#[path = "common/up.rs"]
mod up;

use cluster::Up;
use common::{Dir, oef};
use serde_json::Value;
use std::time::Duration;

const SLEEPS: &str = "sleep 1000";

/// What is remembered of a tenant, as soon as a round has counted it.
fn past(up: &Up, tenant: &str) -> Value {
    for _ in 0..600 {
        let shown = up.oef(&["tenant", "show", tenant, "--json"]);
        let past = shown.json()["past"].clone();
        if !past.is_null() {
            return past;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("nothing is remembered of {tenant}");
}

#[test]
fn past_usage_survives_a_kill_and_can_be_switched_off() {
    let mut up = Up::start();
    assert_eq!(up.oef(&["tenant", "create", "idle"]).code, 0);
    for wrong in ["usage_half_life=soon", "usage_half_life=0.1s", "usage_bound=0.5"] {
        assert_ne!(up.oef(&["settings", "--set", wrong]).code, 0, "{wrong}");
    }
    let set = up.oef(&["settings", "--set", "usage_half_life=7d", "--set", "usage_bound=3"]);
    assert!(set.out.contains("usage_half_life") && set.out.contains("7d"), "{}", set.out);
    let job = up.submit(&[], SLEEPS);
    up.until(&job, "running");
    let (mine, idle) = (past(&up, "me"), past(&up, "idle"));
    let hours = |past: &Value, field: &str| past[field].as_f64().expect("a number");
    up.child.kill().expect("killed");
    let _ = up.child.wait();
    up.child = Up::spawn(&up.home);
    up.until(&job, "running");
    for (tenant, before) in [("me", mine), ("idle", idle)] {
        // Days are remembered, and only seconds have passed: a memory that began anew would be exactly even.
        let after = past(&up, tenant);
        let kept = hours(&after, "split_hours") / hours(&before, "split_hours");
        assert!((kept - 1.0).abs() < 0.01, "{before} {after}");
        assert!(hours(&after, "factor") <= 3.0 && hours(&after, "factor") >= 1.0 / 3.0, "{after}");
    }
    // One uses its GPU, the other does not; that began before the kill and goes on.
    assert!(hours(&past(&up, "idle"), "usage") < 1.0);
    let why = up.oef(&["why", "idle"]).out;
    assert!(why.contains("past usage (half-life 7d)"), "{why}");
    let fairness = up.oef(&["fairness"]).out;
    assert!(fairness.contains("weights count by past usage"), "{fairness}");
    assert_eq!(up.oef(&["settings", "--set", "usage_half_life=off"]).code, 0);
    let shown = up.oef(&["tenant", "show", "me", "--json"]).json();
    assert!(shown["past"].is_null(), "{shown}");
    assert!(up.oef(&["settings"]).out.contains("off"));
}

/// Two tenants on eight GPUs; one comes after a week.
fn second_week(half_life: &[&str]) -> [f64; 2] {
    let dir = Dir::new();
    let mut trace = String::from("tenant,job_id,submit_s,gpus,duration_s,model\n");
    for i in 0..8 {
        trace += &format!("early,e{i},0,1,9000000,resnet50\nlate,l{i},604800,1,9000000,resnet50\n");
    }
    let cluster = dir.file("c.toml", "[[gpu]]\ntype = \"v100\"\ncount = 8\n");
    let profiles = dir.file("p.csv", "model,thr_v100\nresnet50,100\n");
    let trace = dir.file("t.csv", trace);
    let files = ["--cluster", &cluster, "--profiles", &profiles, "--trace", &trace];
    let mut args = vec!["simulate", "-m", "nash", "--until", "14d", "--json"];
    args.extend(files);
    args.extend(half_life);
    let ran = oef(&args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let run = ran.json()["runs"][0].clone();
    let held = |tenant: &str| run["tenants"][tenant]["held_gpus"].as_f64().expect("GPUs");
    [held("early"), held("late")]
}

#[test]
fn who_comes_after_a_week_gets_more_with_a_memory() {
    let [early, late] = second_week(&[]);
    // Eight GPUs for a week and half of them for another: six on average.
    assert!((early - 6.0).abs() < 0.1 && (late - 4.0).abs() < 0.1, "{early} {late}");
    let [early, late] = second_week(&["--half-life", "7d"]);
    assert!((4.4..5.4).contains(&late) && early < 5.8, "{early} {late}");
    let [_, more] = second_week(&["--half-life", "7d", "--usage-bound", "4"]);
    assert!(more > late + 0.2, "{more} {late}");
    oef(&["simulate", "--usage-bound", "4"]).fails(2, &["--half-life"]);
}
