//! Starting runners.

use super::open::Inner;
use crate::error::ExecutorError;
use crate::processes::RUNNER_DIR;
use crate::records::RunFolder;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The program that is called starts another and ends: milliseconds, but for a machine that swaps.
pub(super) const CALL_LIMIT: Duration = Duration::from_secs(20);

/// How often it is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(1);

impl Inner {
    /// Starts the runner of a start that is written down. It takes its lock by itself.
    pub(super) fn spawn_runner(&self, run: &RunFolder) -> Result<(), ExecutorError> {
        if let Some(site) = &self.site {
            return site.spawn(run, &|| {
                self.is_closed() || self.lanes.is_to_stop(run.job(), run.generation())
            });
        }
        let failed = |detail: String| ExecutorError::Runner { job: run.job(), detail };
        let mut child = self.runner_command(run)?.spawn().map_err(|error| {
            let program = self.config.runner.first().cloned().unwrap_or_default();
            failed(format!("`{}`: {error}", program.display()))
        })?;
        match wait_for(&mut child, || false) {
            Ok(Some(status)) if status.success() => Ok(()),
            Ok(Some(status)) => {
                let log = run.runner_log();
                Err(failed(format!("it ended with {status}; see `{}`", log.display())))
            }
            Ok(None) => Err(failed("it did not come back in time".to_string())),
            Err(error) => Err(failed(error.to_string())),
        }
    }

    fn runner_command(&self, run: &RunFolder) -> Result<Command, ExecutorError> {
        let path = run.runner_log();
        let open = OpenOptions::new().create(true).append(true).open(&path);
        let log = open.map_err(ExecutorError::file(&path, "opened"))?;
        let second = log.try_clone().map_err(ExecutorError::file(&path, "opened"))?;
        let Some((program, args)) = self.config.runner.split_first() else {
            let detail = "no program is set for it".to_string();
            return Err(ExecutorError::Runner { job: run.job(), detail });
        };
        let mut command = Command::new(program);
        command.args(args).arg(run.path()).env(RUNNER_DIR, run.path()).current_dir("/");
        command.stdin(Stdio::null()).stdout(log).stderr(second);
        // Ctrl-C at the daemon's terminal goes to the daemon's group alone.
        command.process_group(0);
        Ok(command)
    }
}

/// Waits for the called program; `None`: it took too long, or nobody wants it any more, and was killed.
pub(super) fn wait_for(
    child: &mut Child,
    give_up: impl Fn() -> bool,
) -> io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() > CALL_LIMIT || give_up() {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        sleep(LOOK);
    }
}
