//! A daemon of its own for one test: started in a folder, asked there.

use super::common::{Dir, Ran};
use super::daemon;
use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Far longer than anything here takes: a test that waits so long has failed.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Starts `oef` with these arguments, its state and its log in the folder, and waits until it answers.
#[allow(dead_code, reason = "not every test that includes this module needs no variables")]
pub fn spawn<S: AsRef<std::ffi::OsStr>>(home: &Dir, args: impl IntoIterator<Item = S>) -> Child {
    spawn_with(home, args, &[])
}

/// The same with these variables.
pub fn spawn_with<S: AsRef<std::ffi::OsStr>>(
    home: &Dir,
    args: impl IntoIterator<Item = S>,
    vars: &[(&str, &str)],
) -> Child {
    let log = File::options().create(true).append(true).open(home.join("log")).expect("a log");
    let mut command = Command::new(env!("CARGO_BIN_EXE_oef"));
    command.args(args).env("XDG_STATE_HOME", home.path()).stdin(Stdio::null());
    command.envs(vars.iter().copied());
    let mut child = command.stdout(Stdio::null()).stderr(log).spawn().expect("a daemon");
    let began = Instant::now();
    while ask(home, &["jobs"]).code != 0 {
        let log = || std::fs::read_to_string(home.join("log")).unwrap_or_default();
        assert!(child.try_wait().expect("a status").is_none(), "it ended: {}", log());
        assert!(began.elapsed() < PATIENCE, "it is not ready: {}", log());
        std::thread::sleep(Duration::from_millis(50));
    }
    child
}

/// The arguments of `oef up` on emulated GPUs, with short rounds and its state in the folder.
#[allow(dead_code, reason = "not every test that includes this module has emulated GPUs")]
pub fn up(home: &Dir, gpus: &str, more: &[&str]) -> Vec<String> {
    let state = home.join("state").display().to_string();
    let args =
        ["up", "--gpus", gpus, "--round", "500ms", "--listen", "127.0.0.1:0", "--state", &state];
    args.iter().chain(more).map(|arg| (*arg).to_string()).collect()
}

/// Runs a command that talks to the daemon of the folder.
pub fn ask(home: &Dir, args: &[&str]) -> Ran {
    daemon::run(args, "", &[("XDG_STATE_HOME", &home.path().display().to_string())])
}

/// Waits until a file is there.
#[allow(dead_code, reason = "not every test that includes this module waits for one")]
pub fn wait_for(path: &std::path::Path) {
    let began = Instant::now();
    while !path.exists() {
        assert!(began.elapsed() < PATIENCE, "{} is not written", path.display());
        std::thread::sleep(Duration::from_millis(50));
    }
}
