//! Jobs that need GPUs with much memory, on a real daemon that is killed in between.

#[path = "common/cluster.rs"]
mod cluster;
mod common;
#[path = "common/daemon.rs"]
mod daemon;
#[path = "common/up.rs"]
mod up;

use cluster::Up;

const SLEEPS: &str = "sleep 1000";

#[test]
fn a_job_runs_only_on_gpus_with_the_memory_that_it_needs_over_a_restart() {
    // Of types with such names nobody knows the memory.
    let mut up = Up::start();
    let refused = up.oef(&[
        "submit",
        "--tenant",
        "me",
        "--create-tenant",
        "--gpu-memory",
        "20G",
        "--",
        "true",
    ]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    for said in ["20G of memory", "fast is not used (its memory is not known)", "oef settings"] {
        assert!(refused.err.contains(said), "{}", refused.err);
    }
    let wrong = up.oef(&["settings", "--set", "gpu_memory=fast=much"]);
    assert_eq!(wrong.code, 2, "{}", wrong.err);
    let set = up.oef(&["settings", "--set", "gpu_memory=fast=24G,slow=8G"]);
    assert_eq!(set.code, 0, "{}", set.err);
    let jobs: Vec<String> = (0..3).map(|_| up.submit(&["--gpu-memory", "20G"], SLEEPS)).collect();
    for id in &jobs[..2] {
        assert_eq!(up.until(id, "running")["gpus"][0]["type"], "fast");
    }
    up.child.kill().expect("killed");
    let _ = up.child.wait();
    up.child = Up::spawn(&up.home);
    let waits = up.until(&jobs[2], "queued");
    assert_eq!(waits["spec"]["gpu_memory_gib"], 20.0);
    let why = up.oef(&["why", &jobs[2]]).out;
    assert!(why.contains("it needs GPUs with 20G of memory"), "{why}");
    assert!(why.contains("slow has too little (8G)"), "{why}");
    let settings = up.oef(&["settings"]).out;
    assert!(settings.contains("fast=24G,slow=8G"), "{settings}");
    // Two slow GPUs were free all the time.
    let set = up.oef(&["settings", "--set", "gpu_memory=fast=24G,slow=20G"]);
    assert_eq!(set.code, 0, "{}", set.err);
    assert_eq!(up.until(&jobs[2], "running")["gpus"][0]["type"], "slow");
}
