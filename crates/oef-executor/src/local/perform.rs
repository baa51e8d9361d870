//! Orders, written down for the runners.

use super::check::check;
use super::open::LocalExecutor;
use crate::device::DeviceKind;
use crate::error::ExecutorError;
use crate::launch::Launch;
use crate::records::{Durability, JobFolder, RunFolder, Status, StopOrder, Wanted};
use crate::records::{read_json, write_json};
use oef_sched::{Generation, JobId, Time};
use std::fs;
use std::io;
use tracing::{info, warn};

/// Starts of a job whose output is kept. Each is bounded by the job's log limit.
const KEPT_STARTS: usize = 10;

impl LocalExecutor {
    pub(super) fn start(&self, launch: Launch) -> Result<(), ExecutorError> {
        check(&launch)?;
        let run = self.runs.run(launch.job, launch.generation);
        if self.fence(&run)? == Fence::Known {
            if self.watched().contains_key(&(run.job(), run.generation())) {
                return Ok(());
            }
            return self.find_again(None, &run).map(|_| ());
        }
        self.begin(launch, &run)
    }

    /// Writes a start down and spawns its runner. After an error nothing of it will ever run.
    pub(super) fn begin(&self, launch: Launch, run: &RunFolder) -> Result<(), ExecutorError> {
        let launch = self.with_mps(launch);
        let job_folder = run.job_folder();
        self.tidy(&job_folder);
        let path = job_folder.generation_file();
        job_folder.raise_newest(run.generation()).map_err(ExecutorError::file(&path, "written"))?;
        make_durably(run).map_err(ExecutorError::file(run.path(), "made"))?;
        let path = run.launch_file();
        let written = write_json(&path, &launch, Durability::Disk);
        written.map_err(ExecutorError::file(&path, "written"))?;
        self.warm_up(&launch, run);
        if let Err(error) = self.spawn_runner(run) {
            // A runner that comes late finds nothing to run.
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        info!(job = %run.job(), generation = %run.generation(), workers = launch.devices.len(), "started");
        self.watch(run);
        Ok(())
    }

    /// Whether a start is new, known, or void.
    pub(super) fn fence(&self, run: &RunFolder) -> Result<Fence, ExecutorError> {
        let folder = run.job_folder();
        let path = folder.generation_file();
        match folder.newest().map_err(ExecutorError::file(&path, "read"))? {
            Some(newest) if newest > run.generation() => {
                Err(ExecutorError::Stale { job: run.job(), newest, given: run.generation() })
            }
            Some(newest) if newest == run.generation() && run.launch_file().exists() => {
                Ok(Fence::Known)
            }
            _ => Ok(Fence::New),
        }
    }

    pub(super) fn keep(
        &self,
        job: JobId,
        generation: Generation,
        until: Time,
    ) -> Result<(), ExecutorError> {
        self.want(job, generation, Durability::Process, |wanted| wanted.until = until)
    }

    pub(super) fn stop(
        &self,
        job: JobId,
        generation: Generation,
        why: String,
    ) -> Result<(), ExecutorError> {
        info!(%job, %generation, %why, "stopping");
        self.want(job, generation, Durability::Disk, |wanted| {
            // The first reason is the one that counts.
            wanted.stop.get_or_insert(StopOrder { why });
        })
    }

    fn want(
        &self,
        job: JobId,
        generation: Generation,
        durability: Durability,
        change: impl FnOnce(&mut Wanted),
    ) -> Result<(), ExecutorError> {
        let run = self.runs.run(job, generation);
        // One writer at a time: this reads, changes and writes.
        let _alone = self.watched();
        if !run.launch_file().exists() {
            return Err(ExecutorError::UnknownRun { job, generation });
        }
        let path = run.order_file();
        let known = read_json::<Wanted>(&path).map_err(ExecutorError::file(&path, "read"))?;
        let mut wanted = known.clone().unwrap_or_default();
        change(&mut wanted);
        if known.as_ref() == Some(&wanted) {
            return Ok(());
        }
        write_json(&path, &wanted, durability).map_err(ExecutorError::file(&path, "written"))
    }

    fn with_mps(&self, mut launch: Launch) -> Launch {
        let is_part = |kind: &DeviceKind| matches!(kind, DeviceKind::Mps { .. });
        if let Some(pipe) = &self.config.mps_pipe_dir
            && launch.devices.iter().any(|device| is_part(&device.kind))
        {
            let pipe = pipe.display().to_string();
            launch.env.insert("CUDA_MPS_PIPE_DIRECTORY".to_string(), pipe);
        }
        launch
    }

    /// Removes the output of starts long ago.
    fn tidy(&self, job: &JobFolder) {
        let runs = job.runs().unwrap_or_default();
        let many = (runs.len() + 1).saturating_sub(KEPT_STARTS);
        for run in runs.iter().take(many) {
            let is_ended = matches!(Status::read(run), Ok(Some(status)) if status.is_ended());
            if is_ended && let Err(error) = fs::remove_dir_all(run.path()) {
                warn!(folder = %run.path().display(), %error, "not removed");
            }
        }
    }

    pub(super) fn remove(&self, job: JobId) -> Result<(), ExecutorError> {
        let folder = self.runs.job(job);
        for run in folder.runs().map_err(ExecutorError::file(folder.path(), "read"))? {
            let status = Status::read(&run);
            if !matches!(status, Ok(Some(status)) if status.is_ended())
                && run.launch_file().exists()
            {
                return Err(ExecutorError::StillRuns(job));
            }
        }
        self.watched().retain(|(watched, _), _| *watched != job);
        for run in folder.runs().map_err(ExecutorError::file(folder.path(), "read"))? {
            let removed = fs::remove_dir_all(run.path());
            removed.map_err(ExecutorError::file(run.path(), "removed"))?;
        }
        // What is left is the number of the greatest lease, and the job's lock: a few bytes. With the
        // job gone for good from the journal nobody asks for them.
        match fs::remove_dir_all(folder.path()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(ExecutorError::file(folder.path(), "removed")(error))
            }
            _ => Ok(()),
        }
    }
}

fn make_durably(run: &RunFolder) -> io::Result<()> {
    fs::create_dir_all(run.path())?;
    fs::File::open(run.job_folder().path())?.sync_all()
}

/// What is known of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fence {
    /// It may be begun.
    New,
    /// It was begun.
    Known,
}
