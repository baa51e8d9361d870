//! The files by which executor and runner know of each other. They share no memory and no connection:
//! either may be killed at any instant, and the other goes on from what is on disk.
//!
//! ```text
//! DIR/executor.lock             one executor at a time
//! DIR/runs/JOB/lock             held by the one runner that runs the job
//! DIR/runs/JOB/generation       the greatest lease ever seen
//! DIR/runs/JOB/GEN/lock         held by the runner of this start while it lives
//! DIR/runs/JOB/GEN/launch.json  what to start; by the executor, once
//! DIR/runs/JOB/GEN/order.json   what is wanted since; by the executor
//! DIR/runs/JOB/GEN/status.json  how it goes, and how it ended; by the runner
//! DIR/runs/JOB/GEN/rank-N.out   what worker N wrote, with its limit
//! DIR/runs/JOB/GEN/job/         the job's own: its progress files, and what it likes
//! DIR/runs/JOB/GEN/runner/      where the runner runs as another user than the executor: all that it writes, and a
//!                               launch.json of its own. It may only read the order, and hold the locks
//! ```

mod files;
mod folders;
mod lock;
mod spec;
mod status;

use oef_sched::JobId;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// A worker as the runner of its job wrote it down. Processes themselves can claim to be anything.
#[derive(Clone, Copy, Debug)]
pub struct RecordedWorker {
    /// Its process.
    pub pid: u32,
    /// The user that the job runs as.
    pub user: u32,
    /// The user's group.
    pub group: u32,
}

impl RecordedWorker {
    /// A worker of the last start of a job under the state folder `dir`.
    pub fn find(dir: &Path, job: JobId, rank: u32) -> Option<RecordedWorker> {
        let run = RunsFolder::new(dir.join("runs")).job(job).runs().ok()?.pop()?;
        let pid = Status::read(&run).ok()??.worker(rank)?;
        // The folder was given to the user by the daemon; a process may have more rights than its user.
        let own = run.jobs_part().symlink_metadata().ok().filter(Metadata::is_dir)?;
        let pid = u32::try_from(pid).ok()?;
        // The word of a runner that is another user's is worth no more than that user may do.
        let is_its = || fs::metadata(format!("/proc/{pid}")).is_ok_and(|p| p.uid() == own.uid());
        if run.runners_user().is_some() && !is_its() {
            return None;
        }
        Some(RecordedWorker { pid, user: own.uid(), group: own.gid() })
    }
}

pub(crate) use files::{Durability, Reader, read_json, write_json, write_json_for};
pub(crate) use folders::{JobFolder, RunFolder, RunsFolder};
pub(crate) use lock::Lock;
pub(crate) use spec::RunSpec;
pub(crate) use status::{Phase, Status, StopOrder, Wanted};
