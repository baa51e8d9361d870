//! A daemon that is killed and started again, driven by the real command line.

use super::dice::Dice;
use super::trace::Line;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const OEF: &str = env!("CARGO_BIN_EXE_oef");

/// Long enough for a loaded machine; nothing passes because of it.
const PATIENCE: Duration = Duration::from_secs(240);

pub struct Lab {
    folder: tempfile::TempDir,
    daemon: Option<Child>,
    port: u16,
    /// Jobs whose number the client printed: those must not be lost.
    pub acknowledged: Vec<u64>,
}

impl Lab {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        // A port of its own that stays the same, so that a client meets every later daemon there.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        Lab { folder, daemon: None, port, acknowledged: Vec::new() }
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn oef(&self, args: &[&str]) -> Command {
        let mut command = Command::new(OEF);
        command
            .args(args)
            .env("XDG_STATE_HOME", self.folder.path().join("xdg"))
            .env_remove("OEF_SERVER")
            .env_remove("OEF_TOKEN")
            .stdin(Stdio::null());
        command
    }

    fn ask(&self, args: &[&str]) -> Output {
        self.oef(args).output().expect("the binary runs")
    }

    /// Starts the daemon, if it does not run, and waits until it answers.
    pub fn start_daemon(&mut self) {
        let runs = |child: &mut Child| matches!(child.try_wait(), Ok(None));
        if self.daemon.as_mut().is_some_and(runs) && self.answers() {
            return;
        }
        let began = Instant::now();
        while !self.answers() {
            assert!(began.elapsed() < PATIENCE, "the daemon does not come up:\n{}", self.log());
            if !self.daemon.as_mut().is_some_and(runs) {
                self.daemon = Some(self.spawn());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn spawn(&self) -> Child {
        let open = std::fs::OpenOptions::new().create(true).append(true).open(self.log_path());
        let log = open.expect("a log file");
        let listen = format!("127.0.0.1:{}", self.port);
        let state = self.state();
        let args =
            ["up", "--gpus", "slow=2,fast=2", "--round", "500ms", "--listen", &listen, "--state"];
        self.oef(&args).arg(&state).stdout(Stdio::null()).stderr(log).spawn().expect("oef up")
    }

    fn log_path(&self) -> PathBuf {
        self.folder.path().join("daemon.log")
    }

    fn log(&self) -> String {
        let text = std::fs::read_to_string(self.log_path()).unwrap_or_default();
        text.lines()
            .rev()
            .take(30)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .collect::<Vec<_>>()
            .join("\n")
    }

    fn answers(&self) -> bool {
        self.ask(&["cluster", "--json"]).status.success()
    }

    /// The current round, by the daemon.
    pub fn round(&self) -> u64 {
        self.document(&["round", "--json"])["round"].as_u64().unwrap_or(0)
    }

    fn document(&self, args: &[&str]) -> serde_json::Value {
        let output = self.ask(args);
        serde_json::from_slice(&output.stdout).unwrap_or_default()
    }

    /// Submits a job; it counts as acknowledged only if its number was printed.
    pub fn submit(&mut self, dice: &mut Dice) {
        let workers = dice.one_of(&["1", "1", "1", "2"]);
        let tenant = dice.one_of(&["red", "green", "blue"]);
        let steps = dice.one_of(&["20", "40", "80"]);
        let output = self.ask(&[
            "submit",
            "--create-tenant",
            "--tenant",
            tenant,
            "--workload",
            "demo",
            "--workers",
            workers,
            "--retries",
            "1000",
            "--",
            OEF,
            "demo-job",
            "--steps",
            steps,
            "--model",
            "lstm",
            "--step-ms",
            "40",
            "--checkpoint-every",
            "7",
        ]);
        let text = String::from_utf8_lossy(&output.stdout);
        match text.trim().parse() {
            Ok(id) if output.status.success() => self.acknowledged.push(id),
            _ if output.status.code() == Some(3) => {}
            _ => panic!("submit: {output:?}"),
        }
    }

    fn states(&self) -> BTreeMap<u64, String> {
        let mut states = BTreeMap::new();
        for job in self.document(&["jobs", "--all", "--limit", "1000000", "--json"])["jobs"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let state = job["state"].as_str().unwrap_or_default().to_owned();
            states.insert(job["id"].as_u64().unwrap_or(0), state);
        }
        states
    }

    /// Jobs that have not ended.
    pub fn live(&self) -> usize {
        let ended = ["finished", "failed", "cancelled"];
        self.states().values().filter(|state| !ended.contains(&state.as_str())).count()
    }

    pub fn kill_daemon(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }

    pub fn kill_one(&mut self, which: fn(&Path) -> Vec<u32>, dice: &mut Dice) {
        let found = which(&self.state());
        if !found.is_empty() {
            kill(&[dice.one_of(&found)]);
        }
    }

    pub fn kill_all(&mut self) {
        let mut all = runners(&self.state());
        all.extend(workers(&self.state()));
        all.extend(self.daemon.as_ref().map(Child::id));
        kill(&all);
        self.kill_daemon();
    }

    /// Waits until every acknowledged job has finished.
    pub fn wait_for_all(&mut self) {
        let mut began = Instant::now();
        let mut left = usize::MAX;
        loop {
            self.start_daemon();
            let states = self.states();
            let finished = |id: &&u64| states.get(id).is_some_and(|state| state == "finished");
            let now = self.acknowledged.iter().filter(|id| !finished(id)).count();
            if now == 0 {
                return;
            }
            if now < left {
                (left, began) = (now, Instant::now());
            }
            let lost: Vec<_> =
                self.acknowledged.iter().filter(|id| !states.contains_key(id)).collect();
            assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
            let stuck = || {
                self.acknowledged
                    .iter()
                    .filter(|id| !finished(id))
                    .map(|id| self.document(&["job", &id.to_string(), "--json"]).to_string())
                    .collect::<Vec<_>>()
                    .join("\n")
            };
            assert!(
                began.elapsed() < PATIENCE,
                "these do not finish:\n{}\n{}",
                stuck(),
                self.log()
            );
            std::thread::sleep(Duration::from_millis(300));
        }
    }

    /// What every acknowledged job wrote down.
    pub fn traces(&self) -> Vec<(u64, Vec<Line>)> {
        let trace = |&id: &u64| {
            let path = self.state().join(format!("jobs/{id}/checkpoint/trace.jsonl"));
            let text = std::fs::read_to_string(&path)
                .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            // A line that a kill cut short has no line end, and the next begins on the same line.
            let lines = text.lines().flat_map(|line| line.split_inclusive('}'));
            (id, lines.filter_map(|line| serde_json::from_str(line).ok()).collect())
        };
        self.acknowledged.iter().map(trace).collect()
    }

    /// The journal that is left can be read and replayed.
    pub fn check_journal(&self) {
        let state = self.state();
        let output = self.oef(&["journal", "check", "--state"]).arg(&state).output().expect("runs");
        assert!(output.status.success(), "{output:?}");
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.kill_all();
    }
}

/// The runners of a state folder.
pub fn runners(state: &Path) -> Vec<u32> {
    processes(|args, _| args.get(1).is_some_and(|a| a == "runner") && mentions(args, state))
}

/// The workers of jobs of a state folder.
pub fn workers(state: &Path) -> Vec<u32> {
    let state = state.to_string_lossy().into_owned();
    processes(|args, environ| {
        args.get(1).is_some_and(|a| a == "demo-job")
            && environ.split('\0').any(|v| v.starts_with("OEF_RUN_DIR=") && v.contains(&state))
    })
}

fn mentions(args: &[String], state: &Path) -> bool {
    let state = state.to_string_lossy();
    args.iter().any(|a| a.contains(&*state))
}

fn processes(wanted: impl Fn(&[String], &str) -> bool) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("/proc").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse::<u32>().ok()) else {
            continue;
        };
        let read = |name: &str| {
            let bytes = std::fs::read(entry.path().join(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let args: Vec<String> = read("cmdline").split('\0').map(str::to_owned).collect();
        if wanted(&args, &read("environ")) {
            found.push(pid);
        }
    }
    found
}

fn kill(pids: &[u32]) {
    let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
    if !pids.is_empty() {
        // One call, so that all are hit at nearly the same instant. Some may be gone already.
        let _ = Command::new("kill").arg("-9").args(&pids).stderr(Stdio::null()).status();
    }
}
