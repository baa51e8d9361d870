//! Nodes that are reserved, on a real daemon that is killed in between: long jobs are not started across a window.

#[path = "common/cluster.rs"]
mod cluster;
mod common;
#[path = "common/daemon.rs"]
mod daemon;
#[path = "common/up.rs"]
mod up;

use cluster::Up;
use serde_json::Value;

const SLEEPS: &str = "sleep 1000";

fn node_of_type(up: &Up, gpu_type: &str) -> String {
    let cluster = up.oef(&["cluster", "--json"]).json();
    let nodes = cluster["nodes"].as_array().expect("nodes");
    let node = nodes.iter().find(|node| node["type"] == gpu_type || node["gpu_type"] == gpu_type);
    node.and_then(|node| node["name"].as_str()).expect("a node").into()
}

fn types_of(job: &Value) -> Vec<String> {
    let gpus = job["gpus"].as_array().expect("GPUs").iter();
    gpus.map(|gpu| gpu["type"].as_str().expect("a type").into()).collect()
}

#[test]
fn a_long_job_waits_or_goes_elsewhere_and_a_short_one_starts() {
    let mut up = Up::start();
    let (fast, slow) = (node_of_type(&up, "fast"), node_of_type(&up, "slow"));
    let reserved = up.oef(&["reserve", &fast, "--from", "2h", "--for", "1h", "--reason", "a fan"]);
    assert_eq!(reserved.code, 0, "{}", reserved.err);
    // The fast GPUs are better, but out before it ends.
    let long = up.submit(&["--max-run", "5h"], SLEEPS);
    assert_eq!(types_of(&up.until(&long, "running")), ["slow"]);
    let only_fast = up.submit(&["--max-run", "5h", "--types", "fast"], SLEEPS);
    let short = up.submit(&["--max-run", "10m", "--types", "fast"], SLEEPS);
    assert_eq!(types_of(&up.until(&short, "running")), ["fast"]);
    up.child.kill().expect("killed");
    let _ = up.child.wait();
    up.child = Up::spawn(&up.home);
    up.until(&short, "running");
    up.until(&only_fast, "queued");
    let why = up.oef(&["why", &only_fast]).out;
    for said in [format!("node {fast} is reserved"), "it may run for 5h".into(), "from 20".into()] {
        assert!(why.contains(&said), "{said}: {why}");
    }
    assert!(!why.contains(&format!("node {slow}")), "{why}");
    // With a shorter limit, or without the reservation, it starts.
    let edited = up.oef(&["edit", &only_fast, "--max-run", "30m"]);
    assert_eq!(edited.code, 0, "{}", edited.err);
    assert_eq!(types_of(&up.until(&only_fast, "running")), ["fast"]);
    let other = up.submit(&["--max-run", "5h", "--types", "slow"], SLEEPS);
    assert_eq!(types_of(&up.until(&other, "running")), ["slow"]);
    let last = up.submit(&["--max-run", "5h", "--types", "fast"], SLEEPS);
    up.until(&last, "queued");
    assert_eq!(up.oef(&["cancel", &short]).code, 0);
    assert_eq!(up.oef(&["reserve", "--drop", "1"]).code, 0);
    assert_eq!(types_of(&up.until(&last, "running")), ["fast"]);
}
