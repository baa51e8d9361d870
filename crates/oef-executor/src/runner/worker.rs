//! The moment between the runner and the job's own program.

use super::prepare::{no_checkpoints, no_workdir, writable};
use super::{environment, remote, stage};
use crate::cgroup::ControlGroup;
use crate::ending::FailReason;
use crate::exhaustion::is_exhausted;
use crate::launch::{Shell, Terminal};
use crate::records::{RunFolder, RunSpec, Wanted, read_json};
use crate::untrusted;
use crate::users::become_user;
use crate::warm::Warm;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

/// The command of this program that runs another one in a terminal, and the variable that tells it which.
const TERMINAL_HOST: &str = "run-host";
const TERMINAL: &str = "OEF_TERMINAL";

/// Between fork and exec are microseconds, on a machine that swaps perhaps a second; an editor holds it for longer.
const BUSY_WAIT: Duration = Duration::from_millis(10);
const BUSY_TRIES: u32 = 300;

/// Becomes the job's program. Returns only if that is not possible, after leaving word why.
pub(super) fn become_worker(run: &RunFolder, rank: &OsStr, runner: &OsStr) -> io::Result<()> {
    let number = |text: &OsStr| text.to_str().and_then(|text| text.parse::<u32>().ok());
    let (Some(rank), Some(runner)) = (number(rank), number(runner)) else {
        return Err(io::Error::other("a worker needs its rank and its runner"));
    };
    let launch: RunSpec = read_json(&run.launch_file_of_runner())?
        .ok_or_else(|| io::Error::other("no launch.json"))?;
    let command = command(&launch, run);
    // What it says goes into a folder that is closed to the job's user: it is opened before.
    let mut word = untrusted::create(&run.start_error_file(rank))?;
    let entered = enter(&launch);
    end_with(runner)?;
    let reason = match entered {
        Ok(()) => start(&launch, command),
        Err(error) => FailReason::System { detail: error.to_string() },
    };
    word.write_all(&serde_json::to_vec(&reason)?)?;
    Err(io::Error::other(reason.to_string()))
}

/// Ends when the runner does. After becoming somebody else, which takes it back.
fn end_with(runner: u32) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // A runner that ended before this line sends nothing any more.
    match getppid().map(|pid| pid.as_raw_nonzero().get()) == i32::try_from(runner).ok() {
        true => Ok(()),
        false => Err(io::Error::other("the runner is gone")),
    }
}

/// Becomes a shell beside the workers: as the job's user, where the job's processes belong.
pub(super) fn become_shell(run: &RunFolder, id: &OsStr, runner: &OsStr) -> io::Result<()> {
    let number = |text: &OsStr| text.to_str().and_then(|text| text.parse::<u64>().ok());
    let runner = number(runner).and_then(|runner| u32::try_from(runner).ok());
    let (Some(id), Some(runner)) = (number(id), runner) else {
        return Err(io::Error::other("a shell needs its number and its runner"));
    };
    let launch: RunSpec = read_json(&run.launch_file_of_runner())?
        .ok_or_else(|| io::Error::other("no launch.json"))?;
    let wanted: Wanted = read_json(&run.order_file())?.unwrap_or_default();
    let shell = wanted.shells.into_iter().find(|shell| shell.id == id);
    let Shell { rank, command, terminal, env, .. } =
        shell.ok_or_else(|| io::Error::other("it is not wanted any more"))?;
    enter(&launch)?;
    end_with(runner)?;
    // Where it cannot be entered, the shell is somewhere else.
    let _ = std::env::set_current_dir(&launch.workdir);
    let env: BTreeMap<String, String> = environment::late(&launch).into_iter().chain(env).collect();
    let own = || env.get("SHELL").cloned().or_else(|| std::env::var("SHELL").ok());
    let usual = || vec![own().unwrap_or_else(|| "/bin/sh".into())];
    let command = match remote::command(&launch, run, rank) {
        Some(_) => elsewhere(&launch, rank),
        None if command.is_empty() => usual(),
        None => command,
    };
    let (command, terminal) = in_terminal(Some(&terminal), command);
    let (program, args) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    Err(exec(program, args, with_terminal(env, terminal)))
}

/// What is run for a worker on another node: it says so.
fn elsewhere(launch: &RunSpec, rank: u32) -> Vec<String> {
    let host = launch.devices.get(rank as usize).map_or("another node", |device| &device.host);
    let text = format!("worker {rank} is on {host}, and shells start on the job's first node only");
    ["sh", "-c", "echo \"oef: $1\" >&2; exit 1", "sh", &text].map(String::from).to_vec()
}

/// Goes where the job's processes belong, as the job's user.
fn enter(launch: &RunSpec) -> io::Result<()> {
    if let Some(path) = &launch.cgroup {
        let group = ControlGroup::at(path.clone());
        // A machine that was restarted has none of them any more.
        group.make().and_then(|()| group.enter())?;
    }
    launch.user.as_ref().map_or(Ok(()), become_user)
}

/// What is executed: the job's command, or what has a launcher run it.
fn command(launch: &RunSpec, run: &RunFolder) -> Vec<String> {
    if launch.warm.is_empty() {
        return launch.command.clone();
    }
    let unknown = || Warm::Plain("it is not known where its launcher is".to_string());
    let warm = read_json(&run.warm_file()).ok().flatten().unwrap_or_else(unknown);
    let (command, word) = warm.command(&launch.command);
    if let Some(why) = word {
        // This is the job's own error stream already.
        let _ = writeln!(io::stderr(), "oef: started without a launcher: {why}");
    }
    command
}

/// What stands between a command and the terminal of whoever submitted it: this program, whoever that is.
fn in_terminal(terminal: Option<&Terminal>, command: Vec<String>) -> (Vec<String>, Option<String>) {
    let Some(terminal) = terminal else { return (command, None) };
    let how = if terminal.pty { "pty" } else { "pipes" };
    let mut words = [stage::THIS_PROGRAM, TERMINAL_HOST, how].map(String::from).to_vec();
    words.extend(command);
    // Not among the arguments, which everybody on the machine can read.
    (words, serde_json::to_string(terminal).ok())
}

fn with_terminal(
    mut env: BTreeMap<String, String>,
    terminal: Option<String>,
) -> BTreeMap<String, String> {
    env.extend(terminal.map(|terminal| (TERMINAL.to_string(), terminal)));
    env
}

fn start(launch: &RunSpec, command: Vec<String>) -> FailReason {
    let (command, terminal) = in_terminal(launch.terminal.as_ref(), command);
    if let Err(error) = std::env::set_current_dir(&launch.workdir) {
        return no_workdir(&launch.workdir, &error);
    }
    if launch.user.is_some()
        && let Err(error) = writable(&launch.checkpoint_dir)
    {
        return no_checkpoints(&launch.checkpoint_dir, &error);
    }
    let Some((program, args)) = command.split_first() else {
        return FailReason::CommandNotFound { command: String::new() };
    };
    let env = with_terminal(environment::late(launch), terminal);
    let path = env.get("PATH").map(OsString::from).or_else(|| std::env::var_os("PATH"));
    let error = exec(program, args, env);
    let is_there = is_there(program, &path.unwrap_or_default());
    let command = program.clone();
    match error.kind() {
        _ if is_exhausted(&error) => {
            FailReason::System { detail: format!("`{command}` could not be run: {error}") }
        }
        // A folder of PATH that cannot be entered makes a missing program a forbidden one.
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied if !is_there => {
            FailReason::CommandNotFound { command }
        }
        io::ErrorKind::NotFound => FailReason::NotExecutable {
            command,
            detail: "the program that its first line names is not there".to_string(),
        },
        _ => FailReason::NotExecutable { command, detail: error.to_string() },
    }
}

/// Executes a program; what it returns is why that is not possible. A script that was just written cannot be run
/// while a process that was forked meanwhile still has it open: until that is another program.
fn exec(program: &str, args: &[String], env: BTreeMap<String, String>) -> io::Error {
    let mut tries = 0;
    loop {
        let mut command = Command::new(program);
        command.args(args).envs(&env);
        let error = command.exec();
        tries += 1;
        if error.kind() != io::ErrorKind::ExecutableFileBusy || tries >= BUSY_TRIES {
            return error;
        }
        sleep(BUSY_WAIT);
    }
}

/// Whether there is a file of that name: at its path, or in a folder of `PATH`.
fn is_there(program: &str, folders: &OsStr) -> bool {
    if program.contains('/') {
        return Path::new(program).exists();
    }
    std::env::split_paths(folders).any(|folder| folder.join(program).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_looked_for_as_the_system_does() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("train");
        std::fs::write(&path, "").expect("written");
        let folders = std::env::join_paths(["/nowhere".as_ref(), folder.path()]).expect("a list");
        assert!(is_there("train", &folders));
        assert!(!is_there("train", OsStr::new("/nowhere")));
        assert!(is_there(path.to_str().expect("text"), OsStr::new("")));
        assert!(!is_there("./train", &folders));
    }
}
