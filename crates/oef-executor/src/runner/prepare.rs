//! What must be there before a job can start.

use crate::checkpoints;
use crate::ending::FailReason;
use crate::exhaustion::is_exhausted;
use crate::processes;
use crate::records::{RunFolder, RunSpec};
use crate::untrusted;
use std::fs;
use std::io::{self, Write as _};
use std::net::TcpListener;
use std::path::Path;

/// Ends what earlier starts left behind, and makes sure that the job finds its folders.
pub(super) fn prepare(launch: &RunSpec, run: &RunFolder) -> Result<(), FailReason> {
    let left = processes::kill_workers(run.job_folder().path());
    if !left.is_empty() {
        let pids = left.iter().map(|pid| pid.as_raw_nonzero().get()).collect();
        return Err(FailReason::Leftovers { pids });
    }
    if launch.user.is_some() {
        // What the job's own user can reach is seen by its worker; a privileged runner touches nothing of it.
        return Ok(());
    }
    let workdir = &launch.workdir;
    let found = fs::metadata(workdir).map_err(|error| no_workdir(workdir, &error))?;
    if !found.is_dir() {
        let detail = "it is not a folder".to_string();
        return Err(FailReason::WorkdirMissing { path: workdir.clone(), detail });
    }
    let folder = &launch.checkpoint_dir;
    let found = checkpoints::recover(folder, launch.fetch.is_some());
    found.and_then(|()| writable(folder)).map_err(|error| match launch.fetch {
        None => no_checkpoints(folder, &error),
        // One that is to be brought can be brought to another host.
        Some(_) => FailReason::CheckpointDir { path: folder.clone(), detail: error.to_string() },
    })
}

/// A job cannot enter its folder.
pub(super) fn no_workdir(path: &Path, error: &io::Error) -> FailReason {
    let (path, detail) = (path.to_path_buf(), error.to_string());
    system(&path, error).unwrap_or(FailReason::WorkdirMissing { path, detail })
}

/// A job cannot leave its checkpoints there.
pub(super) fn no_checkpoints(path: &Path, error: &io::Error) -> FailReason {
    let (path, detail) = (path.to_path_buf(), error.to_string());
    system(&path, error).unwrap_or(FailReason::CheckpointDir { path, detail })
}

/// Where the system has no room, which says nothing of the job.
fn system(path: &Path, error: &io::Error) -> Option<FailReason> {
    let detail = || format!("`{}`: {error}", path.display());
    is_exhausted(error).then(|| FailReason::System { detail: detail() })
}

/// How a file is called that shows whether there is room.
const PROBE: &str = ".oef-probe-";

/// Makes a folder and writes a file in it: only that shows a full or read-only disk.
pub(super) fn writable(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    // A runner that was killed just here left its own.
    for entry in fs::read_dir(folder)?.flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(PROBE.as_bytes()) {
            untrusted::clear(&entry.path())?;
        }
    }
    let probe = folder.join(format!("{PROBE}{}", std::process::id()));
    let written = untrusted::create(&probe).and_then(|mut file| {
        file.write_all(&[0; 4096])?;
        file.sync_all()
    });
    let removed = fs::remove_file(&probe);
    written.and(removed)
}

/// A port on which nobody listens now, for the workers to find each other.
pub(super) fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
