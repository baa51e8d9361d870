//! `oef profile JOBFILE` with a real daemon and real processes: what was slept is what is measured.

mod common;
#[path = "common/daemon.rs"]
mod daemon;
#[path = "common/up.rs"]
mod up;

use common::{Dir, Ran};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// How far a measured ratio may lie from what was slept: a busy machine sleeps longer than it is told.
const TOLERANCE: f64 = 0.25;

/// `oef up` on emulated GPUs in a folder of its own, stopped when dropped.
struct Up {
    home: Dir,
    child: Child,
}

impl Up {
    fn start(gpus: &str) -> Up {
        let home = Dir::new();
        let child = up::spawn(&home, up::up(&home, gpus, &[]));
        Up { home, child }
    }

    fn oef(&self, args: &[&str]) -> Ran {
        up::ask(&self.home, args)
    }

    /// A job file of workload `me/w`.
    fn file(&self, name: &str, command: &[&str], more: &str) -> String {
        let path = self.home.join(name);
        let text = format!(
            "tenant = \"me\"\nworkload = \"w\"\nworkdir = {:?}\ncommand = {command:?}\n{more}",
            self.home.path()
        );
        fs::write(&path, text).expect("written");
        path.display().to_string()
    }

    /// Measures, and gives the document whatever the exit code is.
    fn profile(&self, args: &[&str]) -> (i32, Value) {
        let args: Vec<&str> =
            ["profile"].iter().chain(args).chain(&["--create-tenant", "--json"]).copied().collect();
        let ran = self.oef(&args);
        let document = serde_json::from_str(&ran.out);
        (ran.code, document.unwrap_or_else(|_| panic!("{} {}", ran.out, ran.err)))
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        // What still runs would outlive the test: that is what runners are for.
        for tenant in ["me", "hog"] {
            let _ = self.oef(&["cancel", "--all", "--tenant", tenant]);
        }
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(20)
            && !self.oef(&["jobs"]).out.contains("no jobs")
        {
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn throughput(document: &Value, gpu: &str) -> f64 {
    let rows = document["types"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["type"] == gpu).expect("a row");
    row["throughput"].as_f64().expect("a figure")
}

/// Whether the ratio of two types is as expected; measured once more where the machine was busy.
fn has_ratio(
    up: &Up,
    file: &str,
    mut document: Value,
    (a, b): (&str, &str),
    expected: f64,
) -> Value {
    for _ in 0..2 {
        let ratio = throughput(&document, a) / throughput(&document, b);
        if (ratio / expected - 1.0).abs() <= TOLERANCE {
            return document;
        }
        document = up.profile(&[file, "--again"]).1;
    }
    panic!("{a} to {b} is not {expected}: {document}");
}

#[test]
fn the_demonstration_on_a_busy_cluster() {
    let up = Up::start("rtx3070=1,h200=1");
    for _ in 0..4 {
        let args = ["submit", "--create-tenant", "--tenant", "hog", "--", "sleep", "1000"];
        assert_eq!(up.oef(&args).code, 0);
    }
    let demo = [
        env!("CARGO_BIN_EXE_oef"),
        "demo-job",
        "--model",
        "vgg16",
        "--step-ms",
        "400",
        "--steps",
        "100000",
    ];
    let file = up.file("demo.toml", &demo, "");
    let (code, document) = up.profile(&[&file, "--batches", "10"]);
    assert_eq!(code, 0, "{document}");
    // By the table of the demonstration: 3.2 and 13.5.
    let document = has_ratio(&up, &file, document, ("h200", "rtx3070"), 13.5 / 3.2);
    for row in document["types"].as_array().expect("rows") {
        assert_eq!(row["provenance"], "measured", "{row}");
        assert!(row["spread"].is_number() && row["cost_s"].as_f64() > Some(0.0), "{row}");
    }
    let first = document["ran"][0]["id"].to_string();
    let job = up.oef(&["job", &first, "--json"]).json();
    assert!(job["ran_s"].as_f64() > Some(0.0), "its time counts to its tenant: {job}");
    let folder = up.home.join("state").join("jobs").join(&first);
    assert!(!folder.join("probe").exists() && !folder.join("checkpoint").exists());
    let listed = up.oef(&["jobs", "--all"]).out;
    assert!(listed.contains("profile: "), "{listed}");
    assert!(up.oef(&["job", &first]).out.contains("profile run"));
}

/// Sleeps by the type of its GPU; on one type it crashes.
const SCRIPT: &str = r#"
import os, sys, time
import oef

kind = os.environ["OEF_GPU_TYPE"]
if kind == "bad":
    sys.exit("no kernel for this GPU")
job = oef.job(checkpoint_dir="mine")
job.restore(weights=[0.0])
for step, batch in job.steps(range(10**6)):
    time.sleep({"slow": 0.15, "fast": 0.05}[kind])
"#;

#[test]
fn a_python_script_with_a_type_on_which_it_crashes() {
    let mut python = Command::new("python3");
    python.args(["-c", "import sys; sys.exit(sys.version_info < (3, 9))"]);
    let Some(()) = has_python(&mut python) else { return };
    let up = Up::start("slow=2,fast=2,bad=1");
    fs::write(up.home.join("train.py"), SCRIPT).expect("written");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/src");
    let more = format!("checkpoint_dir = \"kept\"\n[env]\nPYTHONPATH = {source:?}\n");
    let file = up.file("train.toml", &["python3", "train.py"], &more);
    let (code, document) = up.profile(&[&file, "--workers", "1,2"]);
    assert_eq!(code, 1, "one type failed: {document}");
    let document = has_ratio(&up, &file, document, ("fast", "slow"), 3.0);
    assert_eq!(throughput(&document, "bad"), 0.0);
    let bad =
        document["types"].as_array().and_then(|rows| rows.iter().find(|r| r["type"] == "bad"));
    let detail = bad.and_then(|row| row["detail"].as_str()).unwrap_or_default();
    assert!(
        detail.contains("exit code 1") && detail.contains("no kernel for this GPU"),
        "{detail}"
    );
    let scaling = document["scaling"]["fast"]["2"].as_f64().expect("a figure");
    assert!((scaling - 1.0).abs() < TOLERANCE, "sleeping scales: {scaling}");
    assert!(!up.home.join("kept").exists() && !up.home.join("mine").exists(), "no checkpoints");

    // What is fresh is not measured again; what failed is.
    let (code, again) = up.profile(&[&file, "--types", "slow,fast"]);
    assert_eq!((code, again["ran"].as_array().map(Vec::len)), (0, Some(0)), "{again}");
    assert_eq!(again["skipped"][0]["why"], "fresh");
    let shown = up.oef(&["profile", "show", "me/w"]).out;
    assert!(shown.contains("measured") && shown.contains("Gangs (throughput per GPU"), "{shown}");
    let bad = shown.lines().find(|line| line.starts_with("bad")).unwrap_or_default();
    assert!(bad.contains("failed") && !bad.contains("measured"), "{shown}");
    let events = up.oef(&["events"]).out;
    assert!(events.contains("cannot run on bad"), "{events}");
}

/// Says so where there is no Python.
#[expect(clippy::print_stderr, reason = "a test that shows nothing has to say so")]
fn has_python(probe: &mut Command) -> Option<()> {
    let found = probe.status().is_ok_and(|status| status.success());
    if !found {
        eprintln!("not run: there is no Python 3.9");
    }
    found.then_some(())
}

#[test]
fn what_cannot_be_measured_is_told() {
    let up = Up::start("slow=1,fast=1");
    let silent = up.file("silent.toml", &["sleep", "1000"], "");
    let ran = up.oef(&["profile", &silent, "--create-tenant", "--types", "slow", "--limit", "1s"]);
    ran.fails(1, &["OEF_PROGRESS_FILE", "slow"]);
    let sweep = up.file("sweep.toml", &["echo", "{x}"], "[sweep]\nx = [1, 2]\n");
    let ran = up.oef(&["profile", &sweep, "--types", "slow", "--limit", "1s"]);
    assert!(ran.err.contains("the first of the sweep's 2 jobs stands for all"), "{}", ran.err);
    up.oef(&["profile", &silent, "--types", "fsat"]).fails(2, &["fsat", "fast"]);
    up.oef(&["profile", "/no/such/file"]).fails(2, &["/no/such/file"]);
    up.oef(&["profile"]).fails(2, &["JOBFILE"]);
    let (code, document) = up.profile(&[&silent, "--types", "fast", "--no-wait"]);
    assert_eq!((code, &document["ran"][0]["state"]), (0, &"queued".into()), "{document}");
    let id = document["ran"][0]["id"].to_string();
    assert_eq!(up.oef(&["cancel", &id]).code, 0);
}
