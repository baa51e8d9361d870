//! A real Slurm for the tests of one program, by the project's own script. It goes when the program does.
#![allow(dead_code, reason = "every test binary uses a part of it")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The script, from this crate.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/slurm-lab.sh");

/// Nodes of two GPUs that a test has for itself, as pairs.
const PAIRS: usize = 6;

/// A cluster.
pub struct Lab {
    pub dir: PathBuf,
    free: Mutex<Vec<usize>>,
    freed: Condvar,
}

/// The cluster of pairs that the tests of this program share; each takes a pair of its nodes.
pub fn pairs() -> &'static Lab {
    static LAB: OnceLock<Lab> = OnceLock::new();
    LAB.get_or_init(|| {
        let nodes = ["rtx3090:2"; 2 * PAIRS].join(" ");
        Lab::up(&[("LAB_NODES", &nodes), ("LAB_ACCOUNTING", "0")])
    })
}

impl Lab {
    /// Brings one up, or fails the test: without Slurm nothing of this is tested.
    pub fn up(settings: &[(&str, &str)]) -> Lab {
        let folder = tempfile::Builder::new().prefix("oef-slurm-").tempdir().expect("a folder");
        // The script removes it when this program is gone.
        let dir = folder.keep().canonicalize().expect("there");
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).expect("opened");
        let mut command = Command::new(SCRIPT);
        command.arg("up").arg(&dir).env("LAB_OWNER", std::process::id().to_string());
        command.envs(settings.iter().copied()).stdin(Stdio::null());
        let output = command.output().expect("scripts/slurm-lab.sh");
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "no Slurm for the tests: {words}");
        Lab { dir, free: Mutex::new((0..PAIRS).collect()), freed: Condvar::new() }
    }

    pub fn conf(&self) -> PathBuf {
        self.dir.join("etc/slurm.conf")
    }

    /// A folder in it.
    pub fn folder(&self, name: &str) -> PathBuf {
        let path = self.dir.join(name);
        fs::create_dir_all(&path).expect("made");
        path
    }

    /// Starts or ends one part of it.
    pub fn part(&self, words: &[&str]) {
        let mut command = Command::new(SCRIPT);
        let (verb, rest) = words.split_first().expect("a verb");
        command.arg(verb).arg(&self.dir).args(rest).stdin(Stdio::null());
        assert!(command.status().expect("the script").success(), "{words:?}");
    }

    /// Runs one of Slurm's programs.
    pub fn call(&self, program: &str, args: &[&str]) -> String {
        let mut command = Command::new(program);
        command.args(args).env("SLURM_CONF", self.conf()).stdin(Stdio::null());
        let output = command.output().expect(program);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Waits until something is so.
    pub fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < Duration::from_secs(60), "no {what}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits for a pair of nodes that nobody else has.
    pub fn take(&'static self) -> Pair {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(number) = free.pop() {
                return Pair { lab: self, number };
            }
            free = self.freed.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Two nodes with two GPUs each.
pub struct Pair {
    pub lab: &'static Lab,
    number: usize,
}

impl Pair {
    pub fn nodes(&self) -> [String; 2] {
        [1, 2].map(|half| format!("n{}", 2 * self.number + half))
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        let nodes = self.nodes().join(",");
        self.lab.call("scancel", &["--nodelist", &nodes]);
        self.lab.call("scancel", &["--signal=KILL", "--full", "--nodelist", &nodes]);
        let none = || self.lab.call("squeue", &["-h", "-w", &nodes]).trim().is_empty();
        let began = Instant::now();
        while !none() && began.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(50));
        }
        let update = format!("NodeName={nodes}");
        self.lab.call("scontrol", &["update", &update, "State=RESUME"]);
        self.lab.free.lock().unwrap_or_else(PoisonError::into_inner).push(self.number);
        self.lab.freed.notify_one();
    }
}
