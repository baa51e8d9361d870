//! A daemon on a real Slurm, and its client.
#![allow(dead_code, reason = "every test binary uses a part of it")]

use crate::slurm_lab::Lab;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub const OEF: &str = env!("CARGO_BIN_EXE_oef");

/// Generous: reached only when something hangs.
const DEADLINE: Duration = Duration::from_secs(240);

pub struct Daemon {
    child: Child,
}

pub struct World {
    pub lab: Lab,
    pub folder: PathBuf,
}

impl World {
    pub fn new(lab: Lab) -> World {
        let folder = lab.folder("oef");
        World { lab, folder }
    }

    /// Writes the settings, with more lines for `[slurm]` and the length of a round.
    pub fn settings(&self, slurm: &str, round: &str) {
        let settings = format!(
            "listen = \"127.0.0.1:0\"\nstate_dir = \"{0}/state\"\n[executor]\nkind = \"slurm\"\n\
             [slurm]\nconf = \"{1}\"\npartition = \"gpu\"\npoll = \"300ms\"\n{slurm}\n\
             [socket]\npath = \"{0}/oef.sock\"\n[scheduling]\nround = \"{round}\"\nmin_run = \"2s\"\n",
            self.folder.display(),
            self.lab.conf().display()
        );
        fs::write(self.folder.join("oef.toml"), settings).expect("written");
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub fn serve(&self) -> Daemon {
        let log = fs::File::options().create(true).append(true).open(self.path("serve.log"));
        let mut command = Command::new(OEF);
        command.args(["serve", "--config"]).arg(self.path("oef.toml"));
        command.env("XDG_STATE_HOME", self.path("xdg")).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(log.expect("a log"));
        let daemon = Daemon { child: command.spawn().expect("oef") };
        let began = Instant::now();
        while !self.try_oef(&["jobs", "--json"]).0 {
            assert!(began.elapsed() < DEADLINE, "the daemon does not answer: {}", self.log());
            std::thread::sleep(Duration::from_millis(100));
        }
        daemon
    }

    /// Through the local socket, without a token.
    pub fn try_oef(&self, args: &[&str]) -> (bool, String) {
        let (ok, text, _) = self.ask(args);
        (ok, text)
    }

    /// Whether it went well, what it printed, and what it said.
    pub fn ask(&self, args: &[&str]) -> (bool, String, String) {
        let mut command = Command::new(OEF);
        let server = format!("unix://{}/oef.sock", self.folder.display());
        command.args(args).env("OEF_SERVER", server).env("HOME", &self.folder).stdin(Stdio::null());
        let output = command.output().expect("oef");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.success(), text(&output.stdout), text(&output.stderr))
    }

    pub fn oef(&self, args: &[&str]) -> Value {
        let (ok, text) = self.try_oef(args);
        assert!(ok, "{args:?}: {text}; {}", self.log());
        serde_json::from_str(&text).expect("JSON")
    }

    pub fn log(&self) -> String {
        let text = fs::read_to_string(self.path("serve.log")).unwrap_or_default();
        text.lines().rev().take(30).collect::<Vec<_>>().join("\n")
    }

    pub fn jobs(&self) -> Vec<Value> {
        let jobs = self.oef(&["jobs", "--all", "--json"]);
        jobs["jobs"].as_array().expect("jobs").clone()
    }

    pub fn count(&self, state: &str) -> usize {
        self.jobs().iter().filter(|job| job["state"] == state).count()
    }

    pub fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < DEADLINE, "no {what}; {:#?}; {}", self.jobs(), self.log());
            std::thread::sleep(Duration::from_millis(250));
        }
    }
}

impl Daemon {
    /// With `SIGKILL`.
    pub fn kill(self) {}

    /// With `SIGTERM`, and until it has ended.
    pub fn stop(mut self) {
        let pid = self.child.id().to_string();
        let told = Command::new("kill").args(["-TERM", &pid]).status().expect("kill");
        assert!(told.success());
        assert!(self.child.wait().expect("ended").success());
    }
}

impl Drop for Daemon {
    /// Also where the test fails.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
