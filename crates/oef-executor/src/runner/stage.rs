//! The three lives of the runner's program: the one that is called, the one that stays, and the one
//! that becomes a worker.

use super::{remote, session, worker};
use crate::records::RunFolder;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// The one that stays.
const SESSION: &str = "--session";

/// The one that becomes a worker.
const WORKER: &str = "--worker";

/// The one that becomes a shell beside the workers.
const SHELL: &str = "--shell";

/// The one that stands beside a worker on another node.
pub(super) const REMOTE: &str = "--remote";

/// This program, even if a newer one lies in its place by now.
pub(super) const THIS_PROGRAM: &str = "/proc/self/exe";

/// The runner: with the folder of a start (`DIR/runs/JOB/GENERATION`) as the one argument, runs it and
/// leaves how it ended in its `status.json`. `args` are the arguments after the name of the command;
/// the runner calls its own program again with the same beginning. The exit code tells nothing of the job.
pub fn run(args: &[OsString]) -> ExitCode {
    let done = match args {
        [mode, dir] if mode == SESSION => with_folder(dir, session::run),
        [mode, dir, rank, runner] if mode == WORKER => {
            with_folder(dir, |run| worker::become_worker(run, rank, runner))
        }
        [mode, dir, shell, runner] if mode == SHELL => {
            with_folder(dir, |run| worker::become_shell(run, shell, runner))
        }
        [mode, dir, rank] if mode == REMOTE => with_folder(dir, |run| remote::run(run, rank)),
        [dir] => with_folder(dir, |run| detach(run.path(), args.len())),
        _ => Err(io::Error::other("needs the folder of a start as its one argument")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            note(&format!("runner: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Words about the runner itself: its error stream is a file in the folder of the start.
pub(super) fn note(message: &str) {
    // There is nobody left to tell if this fails.
    let _ = writeln!(io::stderr(), "{} {message}", crate::clock::now_ms());
}

fn with_folder(dir: &OsStr, act: impl FnOnce(&RunFolder) -> io::Result<()>) -> io::Result<()> {
    let path = Path::new(dir);
    let run = RunFolder::at(path).filter(|_| path.is_absolute()).ok_or_else(|| {
        io::Error::other(format!("`{}` is not the folder of a start", path.display()))
    })?;
    act(&run)
}

/// Starts the one that stays and ends: whoever called need not wait for the job, and is not its parent.
fn detach(dir: &Path, given: usize) -> io::Result<()> {
    let mut command = again(given);
    command.arg(SESSION).arg(dir).stdin(Stdio::null()).current_dir("/");
    command.spawn().map(|_| ())
}

/// A command that becomes worker `rank` of the start in `dir`.
/// It is called by one that was given so many arguments of its own.
pub(super) fn worker_command(dir: &Path, rank: u32, given: usize) -> Command {
    let mut command = again(given);
    command.arg(WORKER).arg(dir).arg(rank.to_string()).arg(std::process::id().to_string());
    command
}

/// A command that becomes a shell beside the workers of the start in `dir`.
pub(super) fn shell_command(dir: &Path, shell: u64, given: usize) -> Command {
    let mut command = again(given);
    command.arg(SHELL).arg(dir).arg(shell.to_string()).arg(std::process::id().to_string());
    command
}

/// This program again, with its arguments but for the last `given`.
fn again(given: usize) -> Command {
    let args: Vec<OsString> = std::env::args_os().collect();
    let kept = args.len().saturating_sub(given).max(1);
    let mut command = Command::new(THIS_PROGRAM);
    command.arg0(args.first().map_or(PathBuf::from("oef"), PathBuf::from));
    command.args(args.iter().take(kept).skip(1));
    command
}

/// The same for another machine, on which this process is not: by the path of the program.
pub(super) fn again_elsewhere(given: usize) -> Command {
    let args: Vec<OsString> = std::env::args_os().collect();
    let kept = args.len().saturating_sub(given).max(1);
    let named = || args.first().map_or(PathBuf::from("oef"), PathBuf::from);
    let mut command = Command::new(std::env::current_exe().unwrap_or_else(|_| named()));
    command.args(args.iter().take(kept).skip(1));
    command
}
