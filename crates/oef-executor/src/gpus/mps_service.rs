//! CUDA's multi-process service, which keeps each job to its part of a GPU.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use thiserror::Error;

/// The program that controls the service.
const CONTROL: &str = "nvidia-cuda-mps-control";

/// The service listens on sockets in its folder, and the path of a socket may have 107 bytes; the longest
/// name that it adds has less than 20.
const MAX_PIPE_PATH: usize = 87;

/// Why the service could not be started.
#[derive(Debug, Error)]
pub enum MpsError {
    /// Its program is not there.
    #[error(
        "`nvidia-cuda-mps-control` is not there; it comes with NVIDIA's driver, and GPUs can only be divided with it"
    )]
    Missing,
    /// Its folder could not be made.
    #[error("`{}` could not be made", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// The path of its folder is too long for a socket.
    #[error("`{}` is too long for the sockets of CUDA's multi-process service; take a state folder with a path of fewer bytes", .0.display())]
    PathTooLong(PathBuf),
    /// It was called and did not work.
    #[error("CUDA's multi-process service could not be started: {0}")]
    Failed(String),
}

/// Starts the service, if it does not run, with its files under the state folder. The folder on which it
/// listens is for [`LocalConfig::mps_pipe_dir`](crate::local::LocalConfig::mps_pipe_dir).
pub fn start_mps(state_dir: &Path) -> Result<PathBuf, MpsError> {
    start_with(CONTROL, state_dir)
}

fn start_with(control: &str, state_dir: &Path) -> Result<PathBuf, MpsError> {
    let (pipe, log) = (state_dir.join("mps/pipe"), state_dir.join("mps/log"));
    if pipe.as_os_str().len() > MAX_PIPE_PATH {
        return Err(MpsError::PathTooLong(pipe));
    }
    for folder in [&pipe, &log] {
        let made = fs::create_dir_all(folder);
        made.map_err(|source| MpsError::Folder { path: folder.clone(), source })?;
    }
    if is_running(&pipe) {
        return Ok(pipe);
    }
    let mut command = control_command(control, &pipe);
    let output = command.arg("-d").env("CUDA_MPS_LOG_DIRECTORY", &log).output();
    match output {
        Ok(output) if output.status.success() => Ok(pipe),
        Ok(output) => {
            let words = [output.stdout, output.stderr].concat();
            let words = String::from_utf8_lossy(&words).trim().to_string();
            Err(MpsError::Failed(format!("{}; {words}", output.status)))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(MpsError::Missing),
        Err(error) => Err(MpsError::Failed(error.to_string())),
    }
}

/// Ends a service that [`start_mps`] started. Jobs that still use it fail.
pub fn stop_mps(pipe_dir: &Path) -> Result<(), MpsError> {
    if !is_running(pipe_dir) {
        return Ok(());
    }
    let failed = |error: io::Error| MpsError::Failed(error.to_string());
    let mut command = control_command(CONTROL, pipe_dir);
    let mut child = command.stdin(Stdio::piped()).spawn().map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(b"quit\n").map_err(failed)?;
    }
    child.wait().map_err(failed).map(|_| ())
}

fn control_command(control: &str, pipe: &Path) -> Command {
    let mut command = Command::new(control);
    // The numbers of GPUs must mean the same to the service and to jobs, whatever this process sees.
    command.env("CUDA_DEVICE_ORDER", "PCI_BUS_ID").env_remove("CUDA_VISIBLE_DEVICES");
    command.env("CUDA_MPS_PIPE_DIRECTORY", pipe).stdin(Stdio::null());
    command
}

/// The service writes down its process.
fn is_running(pipe: &Path) -> bool {
    let pid = fs::read_to_string(pipe.join("nvidia-cuda-mps-control.pid")).unwrap_or_default();
    let pid = pid.trim().parse::<i32>().ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = start_with("no-such-mps-control", folder.path()).expect_err("nothing there");
        assert!(error.to_string().contains("comes with NVIDIA's driver"), "{error}");
        let error = start_with("false", folder.path()).expect_err("it failed");
        assert!(error.to_string().contains("could not be started: exit status: 1"), "{error}");
        let long = folder.path().join("x".repeat(100));
        assert!(matches!(start_with("true", &long), Err(MpsError::PathTooLong(_))));
        let pipe = start_with("true", folder.path()).expect("started");
        assert!(pipe.is_dir());
        stop_mps(&pipe).expect("nothing to stop");
    }
}
