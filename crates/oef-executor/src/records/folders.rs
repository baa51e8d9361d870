//! Where everything is.

use super::files::{Durability, Reader, write_atomically};
use crate::logs::Stream;
use crate::untrusted;
use oef_sched::{Generation, JobId};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A number has twenty digits at most.
const GENERATION_BYTES_MAX: u64 = 64;

/// What the job's own part of the folder of a start is called.
const JOBS_PART: &str = "job";

/// What the part is called that belongs to a runner of another user than the daemon's.
const RUNNERS_PART: &str = "runner";

/// The folder of all jobs.
#[derive(Clone, Debug)]
pub(crate) struct RunsFolder(PathBuf);

/// The folder of one job.
#[derive(Clone, Debug)]
pub(crate) struct JobFolder {
    path: PathBuf,
    job: JobId,
}

/// The folder of one start of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunFolder {
    path: PathBuf,
    job: JobId,
    generation: Generation,
}

impl RunsFolder {
    pub(crate) fn new(path: PathBuf) -> Self {
        RunsFolder(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn job(&self, job: JobId) -> JobFolder {
        JobFolder { path: self.0.join(job.to_string()), job }
    }

    pub(crate) fn run(&self, job: JobId, generation: Generation) -> RunFolder {
        self.job(job).run(generation)
    }
}

impl JobFolder {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn lock_file(&self) -> PathBuf {
        self.path.join("lock")
    }

    pub(crate) fn run(&self, generation: Generation) -> RunFolder {
        RunFolder { path: self.path.join(generation.to_string()), job: self.job, generation }
    }

    /// The starts of which there is something, oldest first.
    pub(crate) fn runs(&self) -> io::Result<Vec<RunFolder>> {
        Ok(numbers(&self.path)?.into_iter().map(|number| self.run(Generation(number))).collect())
    }

    /// The greatest lease ever seen, if any was.
    pub(crate) fn newest(&self) -> io::Result<Option<Generation>> {
        match untrusted::read(&self.generation_file(), GENERATION_BYTES_MAX) {
            Ok(bytes) => match String::from_utf8_lossy(&bytes).trim().parse() {
                Ok(number) => Ok(Some(Generation(number))),
                Err(_) => Err(io::Error::new(io::ErrorKind::InvalidData, "not a number")),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes every lease before this one void, for ever.
    pub(crate) fn raise_newest(&self, generation: Generation) -> io::Result<()> {
        fs::create_dir_all(&self.path)?;
        if let Some(folder) = self.path.parent() {
            fs::File::open(folder)?.sync_all()?;
        }
        write_atomically(
            &self.generation_file(),
            format!("{generation}\n").as_bytes(),
            Durability::Disk,
            // A runner of another user has to see that its lease is void.
            Reader::Everybody,
        )
    }

    pub(crate) fn generation_file(&self) -> PathBuf {
        self.path.join("generation")
    }
}

impl RunFolder {
    /// The folder at this path, if it is one of a start.
    pub(crate) fn at(path: &Path) -> Option<RunFolder> {
        let number = |path: &Path| path.file_name()?.to_str()?.parse().ok();
        // Processes are marked with the part that is theirs.
        let path = if path.ends_with(JOBS_PART) { path.parent()? } else { path };
        Some(RunFolder {
            path: path.to_path_buf(),
            job: JobId(number(path.parent()?)?),
            generation: Generation(number(path)?),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn job(&self) -> JobId {
        self.job
    }

    pub(crate) fn generation(&self) -> Generation {
        self.generation
    }

    pub(crate) fn job_folder(&self) -> JobFolder {
        let path = self.path.parent().unwrap_or(&self.path).to_path_buf();
        JobFolder { path, job: self.job }
    }

    pub(crate) fn lock_file(&self) -> PathBuf {
        self.path.join("lock")
    }

    /// The part of the folder that belongs to its runner, if that runs as another user. The daemon writes nothing into
    /// it, and believes nothing in it.
    pub(crate) fn runners_part(&self) -> PathBuf {
        self.path.join(RUNNERS_PART)
    }

    /// The user and the group of its runner, if that is another user.
    pub(crate) fn runners_user(&self) -> Option<(u32, u32)> {
        let part = fs::symlink_metadata(self.runners_part()).ok()?;
        part.is_dir().then(|| (part.uid(), part.gid()))
    }

    /// Where its runner writes.
    fn written(&self) -> PathBuf {
        match self.runners_user() {
            Some(_) => self.runners_part(),
            None => self.path.clone(),
        }
    }

    pub(crate) fn launch_file(&self) -> PathBuf {
        self.path.join("launch.json")
    }

    /// The same as its runner may read it.
    pub(crate) fn launch_file_of_runner(&self) -> PathBuf {
        self.written().join("launch.json")
    }

    pub(crate) fn order_file(&self) -> PathBuf {
        self.path.join("order.json")
    }

    /// How it goes: by the daemon, if that has decided how it ended, otherwise by its runner.
    pub(crate) fn status_file(&self) -> PathBuf {
        let decided = self.decision_file();
        if fs::symlink_metadata(&decided).is_ok() { decided } else { self.report_file() }
    }

    /// How it ended, where the daemon decides that.
    pub(crate) fn decision_file(&self) -> PathBuf {
        self.path.join("status.json")
    }

    /// How it goes, by its runner.
    pub(crate) fn report_file(&self) -> PathBuf {
        self.written().join("status.json")
    }

    /// Where the runner itself complains.
    pub(crate) fn runner_log(&self) -> PathBuf {
        self.written().join("runner.log")
    }

    pub(crate) fn log_file(&self, rank: u32, stream: Stream) -> PathBuf {
        match stream {
            Stream::All => self.written().join(stream.name()),
            Stream::Out | Stream::Err => {
                self.written().join(format!("rank-{rank}.{}", stream.name()))
            }
        }
    }

    /// The part of the folder that belongs to the job, which may do in it what it likes. Everything else here is
    /// the daemon's and the runner's.
    pub(crate) fn jobs_part(&self) -> PathBuf {
        self.path.join(JOBS_PART)
    }

    /// The user of the job.
    pub(crate) fn jobs_user(&self) -> Option<u32> {
        let part =
            fs::symlink_metadata(self.jobs_part()).or_else(|_| fs::symlink_metadata(&self.path));
        part.ok().map(|part| part.uid())
    }

    pub(crate) fn progress_file(&self, rank: u32) -> PathBuf {
        self.jobs_part().join(format!("progress-{rank}.jsonl"))
    }

    /// How workers find the process from which they are forked.
    pub(crate) fn warm_file(&self) -> PathBuf {
        self.path.join("warm.json")
    }

    /// Why a worker's program could not be run, in the words of whoever tried.
    pub(crate) fn start_error_file(&self, rank: u32) -> PathBuf {
        self.written().join(format!("rank-{rank}.error"))
    }

    /// By this it is known that a worker on another node has begun.
    pub(crate) fn begun_file(&self, rank: u32) -> PathBuf {
        self.written().join(format!("rank-{rank}.begun"))
    }
}

/// The entries of a folder that are numbers, in order; none if there is no folder.
fn numbers(folder: &Path) -> io::Result<Vec<u64>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in entries {
        found.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u64>().ok()));
    }
    found.sort_unstable();
    Ok(found)
}
