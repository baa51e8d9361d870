//! Jobs that are held, edited, delayed and made to wait for others, on a real daemon that is killed in between.

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
    /// Kills the daemon, and starts it again in the same folder.
    fn kill_and_restart(&mut self) {
        self.child.kill().expect("killed");
        let _ = self.child.wait();
        self.child = Up::spawn(&self.home);
    }

    #[track_caller]
    fn json(&self, args: &[&str]) -> Value {
        let ran = self.oef(args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
        ran.json()
    }

    /// Why a job waits, as a word.
    #[track_caller]
    fn kind(&self, id: &str) -> String {
        self.json(&["why", id, "--json"])["kind"].as_str().unwrap_or_default().into()
    }
}

#[test]
fn a_held_job_stays_held_over_a_restart_and_goes_on_when_it_is_released() {
    let mut up = Up::start();
    let id = up.submit(&[], SAVES);
    up.until(&id, "running");
    let ran = up.oef(&["hold", &id]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    up.kill_and_restart();
    let job = up.until(&id, "queued");
    assert_eq!(job["blocked"], "held");
    assert_eq!(up.kind(&id), "held");
    let listed = up.oef(&["jobs"]).out;
    assert!(listed.contains("held"), "{listed}");
    let again = up.oef(&["hold", &id]);
    assert_eq!(again.code, 0, "held twice is held: {}", again.err);
    assert_eq!(up.oef(&["release", &id]).code, 0);
    up.until(&id, "running");
    let refused = up.oef(&["edit", &id, "--types", "slow"]);
    assert_eq!(refused.code, 3, "{}", refused.err);
    assert!(refused.err.contains("oef hold"), "{}", refused.err);
}

#[test]
fn what_was_edited_is_there_after_a_restart() {
    let mut up = Up::start();
    let id = up.submit(&["--hold", "--label", "old=1"], SAVES);
    let edit = ["edit", &id, "--priority", "5", "--types", "slow", "--name", "new", "--label"];
    let more = ["lr=0.1", "--label", "old=", "--max-run", "2h"];
    let ran = up.oef(&[&edit[..], &more[..]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    up.kill_and_restart();
    let job = up.json(&["job", &id, "--json"]);
    assert_eq!((&job["name"], &job["priority"]), (&"new".into(), &5.into()));
    assert_eq!(job["labels"], serde_json::json!({"lr": "0.1"}));
    assert_eq!(
        (&job["spec"]["types"][0], &job["spec"]["max_run_s"]),
        (&"slow".into(), &7200.0.into())
    );
    assert_eq!(up.oef(&["edit", &id]).code, 2, "nothing to change");
    let new = up.json(&["resubmit", &id, "--json"])["ids"][0].to_string();
    assert_eq!(up.json(&["job", &new, "--json"])["priority"], 5);
    let ran = up.oef(&["cancel", "--tenant", "me", "--label", "lr=0.1"]);
    assert!(ran.err.contains("2 jobs cancelled"), "{}", ran.err);
    assert_eq!(up.oef(&["cancel", "--label", "lr"]).code, 2, "an admin says whose");
}

#[test]
fn jobs_wait_for_others_over_a_restart() {
    let mut up = Up::start();
    let first = up.submit(&[], "sleep 1");
    let bad = up.submit(&["--hold"], "exit 3");
    let good = up.submit(&["--after", &first], "true");
    let never = up.submit(&["--after", &bad], "true");
    let then = up.submit(&["--after", &never], "true");
    let rescue = up.submit(&["--after-failed", &bad], "true");
    let any = up.submit(&["--after-any", &format!("{first},{bad}")], "true");
    assert_eq!(up.kind(&never), "dependency");
    up.kill_and_restart();
    up.until(&good, "finished");
    assert_eq!(up.kind(&any), "dependency");
    assert_eq!(up.oef(&["release", &bad]).code, 0);
    up.until(&bad, "failed");
    for id in [&rescue, &any] {
        up.until(id, "finished");
    }
    let told = up.until(&never, "cancelled")["reason"].to_string();
    assert!(told.contains(&format!("after job {bad} finished, and that job failed")), "{told}");
    up.until(&then, "cancelled");
    let refused =
        up.oef(&["submit", "--create-tenant", "--tenant", "me", "--after", &bad, "--", "true"]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("would never start"), "{}", refused.err);
    let unknown =
        up.oef(&["submit", "--create-tenant", "--tenant", "me", "--after", "999", "--", "true"]);
    assert!(unknown.err.contains("no job 999"), "{}", unknown.err);
}

#[test]
fn a_start_time_comes_over_a_restart_and_a_time_limit_is_a_state() {
    let mut up = Up::start();
    let later = up.submit(&["--at", "3s"], "true");
    let far = up.submit(&["--at", "2h"], "true");
    assert_eq!(up.kind(&far), "not_before");
    up.kill_and_restart();
    up.until(&later, "finished");
    assert_eq!(up.oef(&["edit", &far, "--at", "now"]).code, 0);
    up.until(&far, "finished");
    let limited = up.submit(&["--max-run", "1s"], SAVES);
    let told = up.until(&limited, "timed_out")["reason"].to_string();
    assert!(told.contains("1s"), "{told}");
    assert_eq!(up.oef(&["why", &limited]).code, 1, "it did not do its work");
}

#[test]
fn a_sweep_runs_so_many_at_once_over_a_restart() {
    let mut up = Up::start();
    let ran = up.oef(&[
        "submit",
        "--create-tenant",
        "--tenant",
        "me",
        "--sweep",
        "n=1,2,3",
        "--at-once",
        "1",
        "--",
        "sh",
        "-c",
        "sleep {n}00",
    ]);
    let ids: Vec<String> = ran.out.lines().map(String::from).collect();
    assert_eq!(ids.len(), 3, "{}", ran.err);
    up.until(&ids[0], "running");
    assert_eq!(up.kind(&ids[1]), "sweep_limit");
    up.kill_and_restart();
    assert_eq!(up.kind(&ids[2]), "sweep_limit");
    assert_eq!(up.oef(&["cancel", &ids[0]]).code, 0);
    up.until(&ids[1], "running");
    let ran = up.oef(&["cancel", "--sweep", &ids[0]]);
    assert!(ran.err.contains("2 jobs cancelled"), "{}", ran.err);
    let listed = up.json(&["jobs", "--all", "--sweep", &ids[0], "--json"]);
    assert_eq!(listed["jobs"].as_array().map(Vec::len), Some(3));
}

#[test]
fn logs_have_both_streams_of_all_workers_and_of_all_runs() {
    let up = Up::start();
    let talk = "echo one $OEF_RESTART; sleep 0.3; echo two >&2; sleep 0.3; echo three";
    let id = up.submit(&[], &format!("trap 'exit 75' TERM; {talk}; sleep 1000 & wait $!"));
    // Some shells say that their `sleep` was ended, some do not.
    let logs = |args: &[&str]| {
        let all: Vec<&str> = ["logs", &id].iter().chain(args).copied().collect();
        up.oef(&all).out.replace("Terminated\n", "")
    };
    let shown = |wanted: &str| {
        let began = std::time::Instant::now();
        loop {
            let out = logs(&[]);
            if out == wanted {
                return;
            }
            assert!(began.elapsed() < up::PATIENCE, "{out}");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    };
    shown("one 0\ntwo\nthree\n");
    assert_eq!(up.oef(&["hold", &id]).code, 0);
    up.until(&id, "queued");
    assert_eq!(up.oef(&["release", &id]).code, 0);
    shown("one 0\ntwo\nthree\none 1\ntwo\nthree\n");
    assert_eq!(logs(&["--run", "1"]), "one 0\ntwo\nthree\n");
    assert_eq!(logs(&["--stderr", "--run", "1"]), "two\n");
    assert_eq!(logs(&["--rank", "0", "--run", "1"]), "one 0\nthree\n");
    up.oef(&["logs", &id, "--run", "9"]).fails(3, &["no run 9", "runs 1 to 2"]);
    let gang = up.submit(&["--workers", "2"], "echo out $RANK; sleep 0.3; echo err $RANK >&2");
    up.until(&gang, "finished");
    let text = up.oef(&["logs", &gang]).out;
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["[0 err] err 0", "[0] out 0", "[1 err] err 1", "[1] out 1"]);
}

#[test]
fn a_tenant_that_is_misspelt_is_not_created() {
    let up = Up::start();
    up.submit(&[], "true");
    let ran = up.oef(&["submit", "--tenant", "mee", "--", "true"]);
    ran.fails(2, &["no tenant `mee`", "did you mean `me`?", "--create-tenant"]);
    assert!(!up.oef(&["tenants"]).out.contains("mee"));
}

#[test]
fn the_order_of_a_tenants_jobs_is_kept_over_a_restart() {
    let mut up = Up::start();
    let id = up.submit(&["--hold", "--steps", "10"], "true");
    assert_eq!(up.json(&["job", &id, "--json"])["spec"]["steps"], 10.0);
    assert_eq!(up.oef(&["tenant", "set", "me", "--order", "shortest"]).code, 0);
    up.kill_and_restart();
    assert_eq!(up.json(&["tenant", "show", "me", "--json"])["order"], "shortest");
    up.oef(&["tenant", "set", "me", "--order", "longest"]).fails(2, &["fair", "fifo"]);
}

#[test]
fn usage_by_user_names_the_person_after_a_restart() {
    let mut up = Up::start();
    let id = up.submit(&[], "sleep 2");
    up.until(&id, "finished");
    up.kill_and_restart();
    let whoami = std::process::Command::new("id").arg("-un").output().expect("id runs").stdout;
    let person = String::from_utf8_lossy(&whoami).trim().to_string();
    let rows = up.json(&["usage", "--by", "user", "--json"])["rows"].clone();
    assert_eq!(rows[0]["name"], Value::from(person.as_str()), "{rows}");
    assert!(rows[0]["gpu_hours"].as_f64().is_some_and(|hours| hours > 1.0 / 3600.0), "{rows}");
    assert!(rows[0]["promised"].is_null(), "shares belong to tenants: {rows}");
    let table = up.oef(&["usage", "--by", "user"]).out;
    assert!(table.contains(&person), "{table}");
    let job = up.oef(&["job", &id]).out;
    assert!(job.contains(&format!("by {person}")), "{job}");
    let csv = up.oef(&["usage", "--by", "user", "--csv"]).out;
    assert!(csv.lines().nth(1).is_some_and(|line| line.starts_with(&person)), "{csv}");
}
