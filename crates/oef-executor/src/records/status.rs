//! What runner and executor tell each other.

use super::files::{Durability, read_json, write_json};
use super::folders::RunFolder;
use crate::checkpoints::Transfer;
use crate::ending::Ending;
use crate::event::{Progress, WorkerExit};
use crate::launch::Shell;
use oef_sched::{Generation, JobId, Time};
use serde::{Deserialize, Serialize};
use std::io;

/// The form of `status.json`. A runner outlives an upgrade of the daemon, so older forms must be read.
const VERSION: u32 = 1;

/// How a start goes: `status.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Status {
    pub(crate) version: u32,
    pub(crate) job: JobId,
    pub(crate) generation: Generation,
    /// The runner's process id.
    pub(crate) runner: Option<i32>,
    pub(crate) phase: Phase,
    /// What it waits for, before its workers are started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
    /// What bringing its checkpoint took, once that is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) transfer: Option<Transfer>,
    /// When its workers were started, if they were.
    pub(crate) started_ms: Option<u64>,
    /// The workers' process ids, by rank.
    pub(crate) pids: Vec<i32>,
    /// How each worker ended, once all have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) exits: Vec<WorkerExit>,
    pub(crate) progress: Option<Progress>,
}

/// What the runner is doing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Phase {
    Preparing,
    Running,
    Stopping,
    Ended { ending: Ending, at_ms: u64 },
}

/// What is wanted of a start that goes: `order.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Wanted {
    pub(crate) stop: Option<StopOrder>,
    /// The end of the lease as last renewed; for people who look.
    #[serde(default)]
    pub(crate) until: Time,
    /// Shells beside it, the last ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) shells: Vec<Shell>,
}

/// Somebody wants it to end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StopOrder {
    pub(crate) why: String,
}

impl Status {
    pub(crate) fn new(run: &RunFolder) -> Status {
        Status {
            version: VERSION,
            job: run.job(),
            generation: run.generation(),
            runner: None,
            phase: Phase::Preparing,
            detail: None,
            transfer: None,
            started_ms: None,
            pids: Vec::new(),
            exits: Vec::new(),
            progress: None,
        }
    }

    pub(crate) fn ended(self, ending: Ending, at_ms: u64) -> Status {
        Status { phase: Phase::Ended { ending, at_ms }, ..self }
    }

    pub(crate) fn is_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended { .. })
    }

    pub(crate) fn read(run: &RunFolder) -> io::Result<Option<Status>> {
        read_json(&run.status_file())
    }

    /// The daemon's word: no runner can take it back.
    pub(crate) fn decide(&self, run: &RunFolder) -> io::Result<()> {
        write_json(&run.decision_file(), self, Durability::Disk)
    }

    /// The runner's word. Endings and beginnings survive the machine; what is between is soon written again.
    pub(crate) fn write(&self, run: &RunFolder) -> io::Result<()> {
        let durability = match self.phase {
            Phase::Preparing if self.detail.is_some() => Durability::Process,
            Phase::Preparing | Phase::Ended { .. } => Durability::Disk,
            Phase::Running | Phase::Stopping => Durability::Process,
        };
        write_json(&run.report_file(), self, durability)
    }
}
