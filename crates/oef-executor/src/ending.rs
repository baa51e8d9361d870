//! How a job ended, and why, in data and in words.

use oef_sched::Span;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// How one start of a job ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Every worker ended with exit code 0: all its work is done.
    Finished,
    /// It says that it saved its work (exit code 75) and wants to go on later.
    Checkpointed,
    /// It was told to stop, and ended without saying that it saved its work.
    Stopped {
        /// How its workers ended.
        detail: String,
    },
    /// It ended with an error of its own.
    Failed {
        /// What went wrong.
        reason: FailReason,
        /// The worker that it began with.
        rank: Option<u32>,
        /// That worker's exit code.
        code: Option<i32>,
        /// The signal that ended that worker.
        signal: Option<i32>,
        /// The last lines of that worker's error stream, or of its output if that is empty.
        last_lines: String,
    },
    /// It ran for as long as it was allowed to.
    TimedOut {
        /// How long that was, in this start.
        limit: Span,
        /// Whether it says that it saved its work.
        checkpointed: bool,
    },
    /// Its runner and processes are gone without a word: killed, or the machine was.
    Vanished {
        /// What is known of it.
        detail: String,
    },
    /// Nothing of it was started, and another try may go better.
    Refused {
        /// Why.
        why: String,
    },
    /// Nothing of it was started, and nothing ever could be.
    Impossible {
        /// Why.
        why: String,
    },
}

/// What went wrong with a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailReason {
    /// A worker ended with an exit code other than 0.
    Exit,
    /// A signal ended a worker.
    Signal,
    /// There is no such program.
    CommandNotFound {
        /// As it was given.
        command: String,
    },
    /// The program is there and cannot be run.
    NotExecutable {
        /// As it was given.
        command: String,
        /// What the system says.
        detail: String,
    },
    /// The folder in which it should start is not there, or is no folder.
    WorkdirMissing {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        detail: String,
    },
    /// The folder for its checkpoints cannot be made or written to.
    CheckpointDir {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        detail: String,
    },
    /// Processes of an earlier start are still there and cannot be ended.
    Leftovers {
        /// Their process ids.
        pids: Vec<i32>,
    },
    /// A profile run that told nothing to measure it by.
    NotMeasured {
        /// What it told, and by when.
        detail: String,
    },
    /// The system has no room for it: processes, memory, files.
    System {
        /// What could not be done, and what the system says.
        detail: String,
    },
}

impl Ending {
    /// A failure before any worker ran.
    pub fn failed(reason: FailReason) -> Ending {
        Ending::Failed { reason, rank: None, code: None, signal: None, last_lines: String::new() }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Finished => f.write_str("it finished"),
            Ending::Checkpointed => f.write_str("it saved its work and stopped"),
            Ending::Stopped { detail } => write!(f, "it was told to stop: {detail}"),
            Ending::Failed { reason: FailReason::Exit, rank, code, .. } => {
                write!(f, "{} ended with exit code {}", Worker(*rank), code.unwrap_or(1))
            }
            Ending::Failed { reason: FailReason::Signal, rank, signal, .. } => {
                let signal = signal.unwrap_or(0);
                write!(f, "{} was ended by {}", Worker(*rank), signal_name(signal))?;
                match signal {
                    SIGKILL => f.write_str("; often the machine was out of memory"),
                    _ => Ok(()),
                }
            }
            Ending::Failed { reason, .. } => write!(f, "{reason}"),
            Ending::TimedOut { limit, checkpointed } => {
                let limit = length(*limit);
                write!(f, "it reached its time limit ({limit} were left for this run)")?;
                f.write_str(if *checkpointed { ", and saved its work" } else { "" })
            }
            Ending::Vanished { detail } => write!(f, "it vanished: {detail}"),
            Ending::Refused { why } => write!(f, "it was not started: {why}"),
            Ending::Impossible { why } => write!(f, "it cannot be started: {why}"),
        }
    }
}

/// A length of time as people read it, short ones with their fraction.
pub(crate) fn length(span: Span) -> String {
    match span.0 {
        ms if ms < 60_000 && !ms.is_multiple_of(1000) => format!("{}s", span.seconds()),
        _ => span.to_string(),
    }
}

const SIGKILL: i32 = 9;

/// A worker in a sentence.
struct Worker(Option<u32>);

impl fmt::Display for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(rank) => write!(f, "worker {rank}"),
            None => f.write_str("a worker"),
        }
    }
}

impl fmt::Display for FailReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FailReason::Exit => f.write_str("a worker ended with an exit code other than 0"),
            FailReason::Signal => f.write_str("a worker was ended by a signal"),
            FailReason::CommandNotFound { command } if command.contains('/') => {
                write!(f, "there is no program `{command}` where the job started")
            }
            FailReason::CommandNotFound { command } => write!(
                f,
                "there is no program `{command}`; give its path, or put its folder into PATH"
            ),
            FailReason::NotExecutable { command, detail } => {
                write!(f, "`{command}` cannot be run: {detail}")
            }
            FailReason::WorkdirMissing { path, detail } => {
                write!(f, "it should start in `{}`, which is not there: {detail}", path.display())
            }
            FailReason::CheckpointDir { path, detail } => write!(
                f,
                "its checkpoints should go to `{}`, where nothing can be written: {detail}",
                path.display()
            ),
            FailReason::Leftovers { pids } => {
                let pids: Vec<String> = pids.iter().map(i32::to_string).collect();
                write!(
                    f,
                    "processes of its last start cannot be ended (pid {}); the GPU's driver may \
                     hold them, and then only a restart of the machine helps",
                    pids.join(", ")
                )
            }
            FailReason::NotMeasured { detail } => write!(
                f,
                "it could not be measured: {detail}; have the script loop over `job.steps(...)` of the Python \
                 package, or write a line such as {{\"step\": 12}} to the file in $OEF_PROGRESS_FILE after \
                 every step; if it only needs longer, raise the limit"
            ),
            FailReason::System { detail } => f.write_str(detail),
        }
    }
}

/// What a signal is called, such as `SIGKILL`.
pub fn signal_name(signal: i32) -> String {
    let name = signal_hook::low_level::signal_name(signal);
    name.map_or_else(|| format!("signal {signal}"), String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_are_sentences() {
        let failed = |reason, rank, code, signal| Ending::Failed {
            reason,
            rank,
            code,
            signal,
            last_lines: String::new(),
        };
        let cases = [
            (failed(FailReason::Exit, Some(1), Some(3), None), "worker 1 ended with exit code 3"),
            (failed(FailReason::Signal, Some(0), None, Some(11)), "worker 0 was ended by SIGSEGV"),
            (
                failed(FailReason::Signal, Some(0), None, Some(9)),
                "worker 0 was ended by SIGKILL; often the machine was out of memory",
            ),
            (
                Ending::failed(FailReason::CommandNotFound { command: "trian".into() }),
                "there is no program `trian`; give its path, or put its folder into PATH",
            ),
            (
                Ending::failed(FailReason::CommandNotFound { command: "/no/train".into() }),
                "there is no program `/no/train` where the job started",
            ),
            (
                Ending::TimedOut { limit: Span(90_000), checkpointed: true },
                "it reached its time limit (1m30s were left for this run), and saved its work",
            ),
        ];
        for (ending, sentence) in cases {
            assert_eq!(ending.to_string(), sentence);
        }
    }

    #[test]
    fn endings_come_back_from_json() {
        let endings = [
            Ending::Finished,
            Ending::Stopped { detail: "killed".into() },
            Ending::TimedOut { limit: Span(7), checkpointed: false },
            Ending::failed(FailReason::Leftovers { pids: vec![4, 5] }),
        ];
        for ending in endings {
            let text = serde_json::to_string(&ending).expect("JSON");
            assert_eq!(serde_json::from_str::<Ending>(&text).expect("the same"), ending, "{text}");
        }
    }
}
