//! Jobs whose checkpoints stay on their hosts: they move, and go on from where they were.

mod common;
#[path = "common/daemon.rs"]
mod daemon;
#[path = "common/up.rs"]
mod up;

use common::{Dir, Ran};
use serde_json::Value;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use up::PATIENCE;

/// A daemon in a folder of its own, stopped when dropped with all its jobs.
struct Up {
    home: Dir,
    child: Child,
}

impl Up {
    /// `oef up` with two hosts of one GPU each.
    fn start() -> Up {
        need_rsync();
        let home = Dir::new();
        let child = up::spawn(&home, up::up(&home, "a=1,b=1", &["--checkpoints", "node"]));
        Up { home, child }
    }

    /// `oef serve` with the same hosts and these lines in `[checkpoints]`.
    fn serve(home: Dir, lines: &str) -> Up {
        let settings = format!(
            "listen = \"127.0.0.1:0\"\nstate_dir = {:?}\n[gpus]\nemulated = \"a=1,b=1\"\n\
             [scheduling]\nround = \"500ms\"\nmin_run = \"500ms\"\n[socket]\npath = {:?}\n\
             [checkpoints]\nplace = \"node\"\n{lines}\n",
            home.join("state"),
            home.join("oef.sock")
        );
        let file = home.file("oef.toml", settings);
        need_rsync();
        let child = up::spawn(&home, ["serve", "--config", &file]);
        Up { home, child }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.home.join("log")).unwrap_or_default()
    }

    fn oef(&self, args: &[&str]) -> Ran {
        up::ask(&self.home, args)
    }

    fn job(&self, id: &str) -> Value {
        let ran = self.oef(&["job", id, "--json"]);
        serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}{}", ran.err, self.log()))
    }

    /// Waits until something about a job is so.
    #[track_caller]
    fn until(&self, id: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            let job = self.job(id);
            if is_so(&job) {
                return job;
            }
            assert!(began.elapsed() < PATIENCE, "not {what}: {job:#}\n{}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// A job that makes steps and saves after each; gives its number.
    #[track_caller]
    fn train(&self) -> String {
        let program = env!("CARGO_BIN_EXE_oef");
        let ran = self.oef(&[
            "submit",
            "--create-tenant",
            "--tenant",
            "me",
            "--retries",
            "3",
            "--",
            program,
            "demo-job",
            "--steps",
            "100000",
            "--step-ms",
            "50",
            "--checkpoint-every",
            "1",
        ]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.out.trim().to_string()
    }

    /// Where a job runs, once it has saved this many steps there.
    #[track_caller]
    fn runs_with(&self, id: &str, steps: f64) -> String {
        let job = self.until(id, "running", |job| {
            job["state"] == "running" && job["progress"]["checkpoint"].as_f64() > Some(steps)
        });
        job["gpus"][0]["node"].as_str().expect("a node").to_string()
    }

    /// Takes the node of a job away; gives the step of its checkpoint and where it goes on.
    #[track_caller]
    fn move_away(&self, id: &str, from: &str) -> (f64, String) {
        let before = starts(&self.folder(from, id)).len();
        assert_eq!(self.oef(&["node", "down", from]).code, 0);
        let other = |job: &Value| job["gpus"][0]["node"].as_str().is_some_and(|node| node != from);
        let job = self.until(id, "elsewhere", |job| job["state"] == "running" && other(job));
        assert_eq!(self.oef(&["node", "up", from]).code, 0);
        let saved = first_step(&self.folder(&self.node(&job), id), before);
        (saved, self.node(&job))
    }

    fn node(&self, job: &Value) -> String {
        job["gpus"][0]["node"].as_str().expect("a node").to_string()
    }

    fn folder(&self, host: &str, id: &str) -> PathBuf {
        self.home.join("state/nodes").join(host).join("checkpoints").join(id)
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        // What still runs would outlive the test: that is what runners are for.
        let _ = self.oef(&["cancel", "--all", "--tenant", "me"]);
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(20) && self.oef(&["jobs"]).out.contains(" me ")
        {
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// On Debian it is installed.
fn need_rsync() {
    let is_there = || Command::new("rsync").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !is_there() {
        let _ = Command::new("apt-get").args(["update", "-qq"]).status();
        let _ = Command::new("apt-get").args(["install", "-y", "-qq", "rsync"]).status();
        assert!(is_there(), "these tests need `rsync`: install it");
    }
}

/// The starts of the demonstration job, by its own trace, which goes with its checkpoint.
fn starts(folder: &Path) -> Vec<Value> {
    let trace = fs::read_to_string(folder.join("trace.jsonl")).unwrap_or_default();
    let events = trace.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    events.filter(|event| event["event"] == "start").collect()
}

/// The step from which the start after so many others went on. A job is running before it has said so.
#[track_caller]
fn first_step(folder: &Path, before: usize) -> f64 {
    let began = Instant::now();
    loop {
        if let Some(start) = starts(folder).get(before) {
            return start["step"].as_f64().expect("a step");
        }
        assert!(began.elapsed() < PATIENCE, "it never started");
        std::thread::sleep(Duration::from_millis(50));
    }
}

impl Up {
    /// One figure of `/metrics`.
    fn figure(&self, series: &str) -> f64 {
        let access =
            fs::read_to_string(self.home.join("state/access.json")).expect("an access file");
        let access: Value = serde_json::from_str(&access).expect("JSON");
        let address = access["server"].as_str().and_then(|url| url.strip_prefix("http://"));
        let address = address.expect("an address").trim_end_matches('/');
        let mut line = std::net::TcpStream::connect(address).expect("the daemon");
        let token = access["token"].as_str().expect("a token");
        let ask = format!(
            "GET /metrics HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        );
        line.write_all(ask.as_bytes()).expect("asked");
        let mut text = String::new();
        line.read_to_string(&mut text).expect("answered");
        let value = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{series}: {text}"))
    }
}

fn history(job: &Value) -> String {
    let reasons = job["history"].as_array().into_iter().flatten();
    reasons.filter_map(|change| change["reason"].as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_job_moves_to_another_host_and_back_and_goes_on_from_its_checkpoint() {
    let up = Up::start();
    let id = up.train();
    let first = up.runs_with(&id, 5.0);
    assert!(up.folder(&first, &id).join("checkpoint.json").exists());
    let (saved, second) = up.move_away(&id, &first);
    assert!(saved > 5.0, "it began again: {saved}");
    assert_ne!(first, second);
    let told = history(&up.job(&id));
    assert!(told.contains(&format!("has its checkpoint from {first}: ")), "{told}");
    assert_eq!(up.figure("oef_checkpoint_transfers_total{result=\"brought\"}"), 1.0);
    assert_eq!(up.figure("oef_checkpoint_transfer_seconds_count"), 1.0);
    assert!(up.figure("oef_checkpoint_transfer_bytes_total") > 0.0);

    up.runs_with(&id, saved + 5.0);
    let (later, third) = up.move_away(&id, &second);
    assert!(later > saved + 5.0, "{later} after {saved}");
    assert_eq!(third, first);

    // When it has ended, only its last host has a copy.
    assert_eq!(up.oef(&["cancel", &id]).code, 0);
    up.until(&id, "cancelled", |job| job["state"] == "cancelled");
    let began = Instant::now();
    while up.folder(&second, &id).exists() {
        assert!(began.elapsed() < PATIENCE, "the copy stays");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(up.folder(&third, &id).join("checkpoint.json").exists());
}

#[test]
fn a_host_that_cannot_be_reached_loses_nothing() {
    // An rsync daemon that serves the folders of both hosts, and is not there at first.
    let home = Dir::new();
    let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr());
    let port = port.expect("a port").port();
    let up = Up::serve(
        home,
        &format!(
            "transport = \"rsync\"\naddress = \"rsync://127.0.0.1:{port}/nodes/{{host}}/checkpoints\"\n\
             time_limit = \"2s\"\nstale = 0"
        ),
    );
    let id = up.train();
    let first = up.runs_with(&id, 5.0);
    let before = starts(&up.folder(&first, &id)).len();
    assert_eq!(up.oef(&["node", "down", &first]).code, 0);
    let job = up.until(&id, "told why", |job| {
        history(job).contains("it was not started: its checkpoint could not be brought")
    });
    assert!(history(&job).contains(&format!("from {first}: the connection broke")), "{job:#}");
    assert!(up.figure("oef_checkpoint_transfers_total{result=\"failed\"}") > 0.0);

    let settings = up.home.file(
        "rsyncd.conf",
        format!(
            "address = 127.0.0.1\nport = {port}\nuse chroot = no\nlog file = {}\n[nodes]\npath = {}\n",
            up.home.join("rsyncd.log").display(),
            up.home.join("state/nodes").display()
        ),
    );
    let config = format!("--config={settings}");
    let rsyncd = Command::new("rsync").args(["--daemon", "--no-detach", &config]).spawn();
    let _rsyncd = Stopped(rsyncd.expect("rsync"));
    let job = up.until(&id, "running elsewhere", |job| {
        job["state"] == "running" && job["gpus"][0]["node"] != first.as_str()
    });
    let second = up.node(&job);
    let saved = first_step(&up.folder(&second, &id), before);
    assert!(saved > 5.0, "it began again: {saved}");
    // The first host's copy goes once the second has told a newer checkpoint.
    up.runs_with(&id, saved + 5.0);
    let began = Instant::now();
    while up.folder(&first, &id).exists() {
        assert!(began.elapsed() < PATIENCE, "the copy stays");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(up.folder(&second, &id).join("checkpoint.json").exists());
}

/// A process that ends with the test.
struct Stopped(Child);

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
