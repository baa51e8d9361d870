//! Everything that is needed to start a job.

use crate::checkpoints::Fetch;
use crate::device::Device;
use crate::wire;
use oef_sched::{Generation, JobId, Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// A job as it is started: what, where, and how it is told to stop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// The job.
    #[serde(with = "wire::job_id")]
    pub job: JobId,
    /// Of the lease under which it runs.
    #[serde(with = "wire::generation")]
    pub generation: Generation,
    /// Who owns it, by name.
    pub tenant: String,
    /// What kind of job it is, by name.
    pub workload: String,
    /// What its owner calls it.
    pub name: String,
    /// The program and its arguments; every worker runs the same.
    pub command: Vec<String>,
    /// Variables of its own. Those of the protocol (`RANK`, `OEF_*`, ...) win.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Where it starts.
    pub workdir: PathBuf,
    /// Where it finds and leaves its checkpoints; made if it is not there.
    pub checkpoint_dir: PathBuf,
    /// Checkpoints that lie elsewhere, to be brought there first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetch: Option<Fetch>,
    /// One worker on each, in the order of the ranks.
    pub devices: Vec<Device>,
    /// How often it was started before.
    #[serde(default)]
    pub restart: u32,
    /// How it is told to stop.
    #[serde(default)]
    pub stop_signal: StopSignal,
    /// How long it may take to stop before it is killed.
    #[serde(with = "wire::span")]
    pub grace: Span,
    /// How long it may still run; `None`: as long as it likes.
    #[serde(default, with = "wire::optional_span")]
    pub max_run: Option<Span>,
    /// The end of its lease, unless it is renewed. For information: while nobody renews leases,
    /// because the daemon is away, jobs go on.
    #[serde(with = "wire::time")]
    pub until: Time,
    /// What is kept of each worker's output and error stream, each.
    pub log_limit_bytes: u64,
    /// Python modules that are imported before it starts, in a process from which it is forked; none: it
    /// is started the plain way.
    #[serde(default)]
    pub warm: Vec<String>,
    /// It is a profile run: it is measured and ended. Its checkpoint folder is its own, and is removed afterwards.
    #[serde(default)]
    pub probe: Option<Probe>,
}

/// How a profile run is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// Batches of which the median counts.
    pub batches: u32,
    /// Batches before, which do not count.
    pub warmup: u32,
    /// More batches are measured where they take less time than this.
    #[serde(default, with = "wire::span")]
    pub least: Span,
    /// It has to be measured within this time.
    #[serde(with = "wire::span")]
    pub limit: Span,
}

/// How a job is told to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopSignal {
    /// `SIGTERM`.
    #[default]
    Term,
    /// `SIGINT`.
    Int,
    /// `SIGUSR1`.
    Usr1,
    /// `SIGUSR2`.
    Usr2,
}

impl StopSignal {
    /// Every one of them.
    pub const ALL: [StopSignal; 4] =
        [StopSignal::Term, StopSignal::Int, StopSignal::Usr1, StopSignal::Usr2];

    /// Its name as shells write it, without `SIG`.
    pub fn name(self) -> &'static str {
        match self {
            StopSignal::Term => "TERM",
            StopSignal::Int => "INT",
            StopSignal::Usr1 => "USR1",
            StopSignal::Usr2 => "USR2",
        }
    }

    /// The one with this name, in any case and with or without `SIG`.
    pub fn from_name(name: &str) -> Option<StopSignal> {
        let upper = name.to_ascii_uppercase();
        let bare = upper.strip_prefix("SIG").unwrap_or(&upper);
        StopSignal::ALL.into_iter().find(|signal| signal.name() == bare)
    }
}

impl fmt::Display for StopSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SIG{}", self.name())
    }
}
