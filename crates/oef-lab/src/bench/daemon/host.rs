//! A daemon of its own for the benchmark, on a folder of its own.

use crate::bench::memory;
use oef_api::client::Client;
use oef_api::types::Access;
use oef_terminal::{Complaint, Exit, Failure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A daemon that is not ready by then has failed.
const PATIENCE: Duration = Duration::from_secs(120);

/// A daemon with eight emulated GPUs. Its folder, and what it runs, are gone when this is dropped.
#[derive(Debug)]
pub struct Host {
    folder: PathBuf,
    daemon: Option<Child>,
}

impl Host {
    /// Makes a folder below `dir`.
    pub fn new(dir: &Path) -> Result<Host, Failure> {
        let folder = dir.join(format!("oef-bench-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|error| {
            let what = format!("the folder cannot be made: {error}");
            Complaint::new(what).at(folder.display().to_string()).hint("choose another with --dir")
        })?;
        Ok(Host { folder, daemon: None })
    }

    /// Starts the daemon and waits until it answers; says how long that took.
    pub fn start(&mut self) -> Result<Duration, Failure> {
        let began = Instant::now();
        let log = fs::File::create(self.folder.join("daemon.log"))?;
        let program = std::env::current_exe()?;
        let _ = fs::remove_file(self.access_file());
        let child = Command::new(program)
            .args(["up", "--gpus", "slow=4,fast=4", "--round", "5s", "--listen", "127.0.0.1:0"])
            .arg("--state")
            .arg(self.folder.join("state"))
            .env("XDG_STATE_HOME", &self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()?;
        self.daemon = Some(child);
        while !self.client().is_ok_and(|client| client.info().is_ok()) {
            let ended = self.daemon.as_mut().and_then(|d| d.try_wait().ok()).flatten();
            if ended.is_some() || began.elapsed() > PATIENCE {
                let log = fs::read_to_string(self.folder.join("daemon.log")).unwrap_or_default();
                let tail: Vec<&str> = log.lines().rev().take(5).collect();
                let tail: Vec<&str> = tail.into_iter().rev().collect();
                return Err(trouble(format!("the daemon did not come up: {}", tail.join("; "))));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(began.elapsed())
    }

    fn access_file(&self) -> PathBuf {
        self.folder.join("oef").join("access.json")
    }

    /// A new client of the running daemon.
    pub fn client(&self) -> Result<Client, Failure> {
        let text = fs::read_to_string(self.access_file())?;
        let access: Access = serde_json::from_str(&text).map_err(std::io::Error::from)?;
        Client::new(access).map_err(|error| trouble(error.to_string()))
    }

    /// Ends the daemon as a power cut would.
    pub fn kill(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }

    /// Memory that the daemon uses now, in bytes; none where the system does not tell.
    pub fn memory(&self) -> Option<u64> {
        let pid = self.daemon.as_ref()?.id();
        memory::of(&pid.to_string(), "VmRSS:")
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.kill();
        // Jobs outlive their daemon; these are not wanted any more. Their runners take them along.
        let state = self.folder.join("state").to_string_lossy().into_owned();
        for pid in runners(&state) {
            let _ = Command::new("kill").args(["-9", &pid]).stderr(Stdio::null()).status();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn runners(state: &str) -> Vec<String> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let is_runner = |path: &Path| {
        let line = fs::read(path.join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.split('\0').nth(1) == Some("runner") && line.contains(state)
    };
    let pids = processes.flatten().filter(|entry| is_runner(&entry.path()));
    pids.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Something that ends the benchmark.
pub fn trouble(message: String) -> Failure {
    Failure::Said { exit: Exit::Server, complaints: vec![Complaint::new(message)] }
}
