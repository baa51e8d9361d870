//! One run of a command.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A command that takes longer is stopped with all that it started.
const TIME_LIMIT: Duration = Duration::from_secs(30);
/// How soon an end is seen.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Runs a command with a notice as its input: its end, or what went wrong. Of the daemon's environment it gets only `env`.
pub(super) fn run(
    command: &[String],
    env: &BTreeMap<String, String>,
    body: &str,
) -> Result<String, String> {
    run_within(command, env, body, TIME_LIMIT)
}

fn run_within(
    command: &[String],
    env: &BTreeMap<String, String>,
    body: &str,
    limit: Duration,
) -> Result<String, String> {
    let [program, args @ ..] = command else { return Err("the command is empty".into()) };
    let mut child = Command::new(program)
        .args(args)
        .env_clear()
        .envs(env)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("{program} could not be started: {error}"))?;
    if let Some(mut input) = child.stdin.take() {
        // A notice fits into a pipe, so that this does not wait; one that reads nothing is not wrong.
        let _ = input.write_all(body.as_bytes());
    }
    match ended(&mut child, limit) {
        Some(status) if status.success() => Ok("exit code 0".into()),
        Some(status) => Err(format!("{program} failed: {status}")),
        None => Err(format!("{program} did not end within {} s", limit.as_secs())),
    }
}

/// How it ended; none: it did not, and was killed.
fn ended(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let began = Instant::now();
    while began.elapsed() < limit {
        match child.try_wait() {
            Ok(None) => sleep(LOOK_EVERY),
            Ok(status) => return status,
            Err(_) => break,
        }
    }
    if let Some(group) = rustix::process::Pid::from_raw(child.id().cast_signed()) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.wait();
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Result<String, String> {
        let env = BTreeMap::from([("PATH".to_string(), "/usr/bin:/bin".to_string())]);
        let command = ["/bin/sh", "-c", script].map(String::from);
        run_within(&command, &env, "{\"id\":\"x\"}", limit)
    }

    #[test]
    fn a_command_gets_the_notice_and_nothing_of_the_environment() {
        let long = Duration::from_secs(60);
        assert!(shell("test \"$(cat)\" = '{\"id\":\"x\"}'", long).is_ok());
        assert!(shell("test -z \"$CARGO_MANIFEST_DIR\" -a \"$PWD\" = /", long).is_ok());
        assert!(shell("exit 3", long).unwrap_err().contains("exit status: 3"));
        assert!(shell("exec <&-; exit 0", long).is_ok(), "it need not read");
        let none = run(&["/no/such/program".to_string()], &BTreeMap::new(), "{}");
        assert!(none.unwrap_err().contains("could not be started"));
    }

    #[test]
    fn a_command_that_hangs_is_killed_with_its_children() {
        let folder = tempfile::tempdir().expect("a folder");
        let alive = folder.path().join("alive");
        let script = format!("(sleep 2; touch {}) & sleep 600", alive.display());
        assert!(shell(&script, Duration::from_millis(200)).unwrap_err().contains("did not end"));
        sleep(Duration::from_millis(2500));
        assert!(!alive.exists(), "its children ended with it");
    }
}
