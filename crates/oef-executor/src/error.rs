//! What goes wrong with orders and questions.

use oef_sched::{Generation, JobId};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why an order was not carried out yet or a question not answered.
#[derive(Debug, Error)]
pub enum ExecutorError {
    /// A newer lease of the job is known.
    #[error("job {job} was given lease {newest} already, so lease {given} is void")]
    Stale {
        /// The job.
        job: JobId,
        /// The newest generation ever seen.
        newest: Generation,
        /// What the order said.
        given: Generation,
    },
    /// Nothing of the job is there.
    #[error("job {0} has no output here: it was never started, or its output was removed")]
    NoOutput(JobId),
    /// The job has fewer workers.
    #[error("job {job} has no worker {rank}; its workers are numbered 0 to {}", .workers.saturating_sub(1))]
    NoSuchWorker {
        /// The job.
        job: JobId,
        /// How many it has.
        workers: u32,
        /// What was asked for.
        rank: u32,
    },
    /// Somebody else uses the state folder.
    #[error("`{}` is used by another daemon; stop it, or give this one another state folder", .0.display())]
    FolderInUse(PathBuf),
    /// A file could not be read or written.
    #[error("`{}` could not be {done}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What was tried, as a participle.
        done: &'static str,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// A record or an output is not what was written there.
    #[error("`{}` is not what OEF wrote: {source}", path.display())]
    Replaced {
        /// The file.
        path: PathBuf,
        /// What is there instead.
        source: io::Error,
    },
    /// The runner could not be started.
    #[error("the runner of job {job} could not be started: {detail}")]
    Runner {
        /// The job.
        job: JobId,
        /// What happened.
        detail: String,
    },
    /// Slurm did not take it.
    #[error("{detail}")]
    Slurm {
        /// The job.
        job: JobId,
        /// What Slurm says.
        detail: String,
    },
    /// The nodes of the cluster are not known or do not answer now.
    #[error("{why}")]
    NoNodes {
        /// Why.
        why: String,
    },
    /// A thread could not be started.
    #[error("a thread could not be started: {0}")]
    Thread(#[source] io::Error),
}

/// An error with its causes in one sentence.
pub fn sentence(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let next_text = next.to_string();
        if !text.contains(&next_text) {
            text = format!("{text}: {next_text}");
        }
        cause = next.source();
    }
    text
}

impl ExecutorError {
    /// For `map_err` on an operation on a file.
    pub(crate) fn file(path: &Path, done: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| ExecutorError::File { path: path.to_path_buf(), done, source }
    }

    /// For `map_err` on reading a file of a start, which a job may have replaced.
    pub(crate) fn of_start(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| match source.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
                ExecutorError::Replaced { path: path.to_path_buf(), source }
            }
            _ => ExecutorError::file(path, "read")(source),
        }
    }
}
