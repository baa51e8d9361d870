//! Jobs of a higher priority take the GPUs of their tenant's other jobs, on a real daemon that is killed in between.

#[path = "common/cluster.rs"]
mod cluster;
mod common;
#[path = "common/daemon.rs"]
mod daemon;
#[path = "common/up.rs"]
mod up;

use cluster::Up;
use serde_json::Value;

/// Waits for a checkpoint request, and saves.
const SAVES: &str = "trap 'exit 75' TERM; sleep 1000 & wait $!";

impl Up {
    /// A daemon with two GPUs and rounds of such a length; the same folder again after a kill.
    fn with_round(home: &common::Dir, round: &str) -> std::process::Child {
        let mut args = up::up(home, "slow=1,fast=1", &["--trust-tenants"]);
        let at = args.iter().position(|arg| arg == "--round").expect("an option");
        args[at + 1] = round.into();
        up::spawn(home, args)
    }

    fn kill_and_restart(&mut self, round: &str) {
        self.child.kill().expect("killed");
        let _ = self.child.wait();
        self.child = Up::with_round(&self.home, round);
    }

    #[track_caller]
    fn json(&self, args: &[&str]) -> Value {
        let ran = self.oef(args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
        ran.json()
    }
}

#[test]
fn an_urgent_job_takes_its_own_tenants_gpu_at_once_and_gives_it_back_over_restarts() {
    // The next round is far away.
    let home = common::Dir::new();
    let child = Up::with_round(&home, "1h");
    let mut up = Up { home, child };
    let low = up.submit(&["--workload", "train", "--types", "fast"], SAVES);
    let theirs = up.oef(&[
        "submit",
        "--tenant",
        "other",
        "--create-tenant",
        "--types",
        "slow",
        "--",
        "sh",
        "-c",
        SAVES,
    ]);
    let theirs = theirs.out.trim().to_string();
    up.until(&low, "running");
    up.until(&theirs, "running");
    up.kill_and_restart("1h");
    // Without a higher priority nobody is displaced, and `why` says so.
    let plain = up.submit(&["--now", "--workload", "debug"], SAVES);
    up.until(&plain, "queued");
    let why = up.oef(&["why", &plain]).out;
    assert!(why.contains("no running job of its tenant has a lower priority"), "{why}");
    assert_eq!(up.oef(&["cancel", &plain]).code, 0);
    let done = up.home.join("done");
    let script = format!("until test -e {}; do sleep 0.05; done", done.display());
    let urgent = up.submit(&["--now", "--priority", "10", "--workload", "debug"], &script);
    let job = up.until(&urgent, "running");
    assert_eq!((&job["spec"]["now"], &job["gpus"][0]["type"]), (&true.into(), &"fast".into()));
    up.kill_and_restart("1h");
    let said =
        format!("gave its GPUs to job {urgent} of the same tenant, which has a higher priority");
    let displaced = up.until(&low, "queued");
    let history = displaced["history"].to_string();
    assert!(history.contains(&said), "{history}");
    let why = up.oef(&["why", &low]).out;
    assert!(why.contains(&said), "{why}");
    let why = up.oef(&["why", &urgent]).out;
    assert!(why.contains("a higher priority than other jobs of its tenant"), "{why}");
    let other = up.json(&["job", &theirs, "--json"]);
    assert_eq!((&other["state"], &other["restarts"]), (&"running".into(), &0.into()));
    std::fs::write(&done, "").expect("a file");
    up.until(&urgent, "finished");
    up.until(&low, "running");
    let _ = up.oef(&["cancel", &theirs]);
}

#[test]
fn a_higher_priority_takes_its_own_tenants_gpus_when_a_round_begins() {
    let up = Up::start();
    let low: Vec<String> = (0..4).map(|_| up.submit(&["--workload", "train"], SAVES)).collect();
    low.iter().for_each(|id| drop(up.until(id, "running")));
    let urgent = up.submit(&["--priority", "1", "--workload", "debug"], SAVES);
    up.until(&urgent, "running");
    let waits = low.iter().filter(|id| up.json(&["job", id, "--json"])["state"] != "running");
    assert_eq!(waits.count(), 1, "one gave way");
}
