//! Everything that is needed to start a job.

use crate::device::DeviceId;
use oef_sched::{Generation, JobId, Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

/// A job as it is started: what, which user, where, and how it is told to stop.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The job.
    pub job: JobId,
    /// Of the lease under which it runs.
    pub generation: Generation,
    /// Who owns it, by name.
    pub tenant: String,
    /// What kind of job it is, by name.
    pub workload: String,
    /// What its owner calls it.
    pub name: String,
    /// What every worker runs.
    pub program: Program,
    /// The user that it runs as.
    pub run_as: RunAs,
    /// Variables of its own. Those of the protocol (`RANK`, `OEF_*`, ...) win.
    pub env: BTreeMap<String, String>,
    /// Where it starts; none: in a folder that the executor makes for it.
    pub workdir: Option<PathBuf>,
    /// Where it finds and leaves its checkpoints.
    pub checkpoints: Checkpoints,
    /// One worker on each, in the order of the ranks.
    pub devices: Vec<DeviceId>,
    /// How often it was started before.
    pub restart: u32,
    /// Workers that did all their work in an earlier start.
    pub finished: BTreeSet<u32>,
    /// How it is told to stop.
    pub stop_signal: StopSignal,
    /// How long it may take to stop before it is killed.
    pub grace: Span,
    /// How long it may still run; `None`: as long as it likes.
    pub max_run: Option<Span>,
    /// The end of its lease, unless it is renewed. For information: while nobody renews leases,
    /// because the daemon is away, jobs go on.
    pub until: Time,
    /// What is kept of each worker's output and error stream, each.
    pub log_limit_bytes: u64,
    /// Python modules that are imported before it starts, in a process from which it is forked; none: it
    /// is started the plain way.
    pub warm: Vec<String>,
    /// It is a profile run: it is measured and ended, and keeps no checkpoints.
    pub probe: Option<Probe>,
    /// It runs in somebody's terminal.
    pub terminal: Option<Terminal>,
}

impl Launch {
    /// The first start of a job without wishes of its own; the rest by struct update.
    pub fn first(job: JobId, program: Program, devices: Vec<DeviceId>) -> Launch {
        Launch {
            job,
            generation: Generation(1),
            tenant: String::new(),
            workload: String::new(),
            name: format!("job {job}"),
            program,
            run_as: RunAs::Daemon,
            env: BTreeMap::new(),
            workdir: None,
            checkpoints: Checkpoints::default(),
            devices,
            restart: 0,
            finished: BTreeSet::new(),
            stop_signal: StopSignal::Term,
            grace: Span(20_000),
            max_run: None,
            until: Time(0),
            log_limit_bytes: 1 << 20,
            warm: Vec::new(),
            probe: None,
            terminal: None,
        }
    }
}

/// How a job reaches the terminal of whoever submitted it. In `launch.json`, where nobody but the job's user reads it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terminal {
    /// The command gets a terminal of its own.
    pub pty: bool,
    /// The address of the daemon.
    pub server: String,
    /// The authority that signed its certificate, in PEM.
    pub ca: Option<String>,
    /// The secret by which the daemon knows the job.
    pub token: String,
    /// It is the terminal of a shell beside the job, with this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<u64>,
}

/// A shell beside a run of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shell {
    /// Its number. A shell that is opened afterwards has a greater one.
    pub id: u64,
    /// The worker whose environment it gets.
    pub rank: u32,
    /// What it runs; nothing: the user's shell.
    #[serde(default)]
    pub command: Vec<String>,
    /// More variables.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Where its output goes.
    pub terminal: Terminal,
}

impl fmt::Debug for Terminal {
    /// Without the secret: what is shown may be logged.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terminal").field("server", &self.server).finish_non_exhaustive()
    }
}

/// What a worker runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// A program that is there, and its arguments.
    Command(Vec<String>),
    /// A script, by its text; without a first line that names an interpreter it is the shell's.
    Script(Vec<u8>),
}

/// The user that a job runs as.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RunAs {
    /// The user of the daemon.
    #[default]
    Daemon,
    /// A user of the node, by name.
    User(String),
}

/// A job's checkpoints.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checkpoints {
    /// A folder that its owner named; none: the executor has one for it.
    pub own_dir: Option<PathBuf>,
    /// Where the last good ones are that the executor has; none: it never ran.
    pub last: Option<CheckpointLocation>,
    /// Whether the job has said that it has some. It is not started without them then.
    pub is_known: bool,
    /// The greatest step that one was told to hold, 0 for none.
    pub saved: f64,
}

/// Where the checkpoints of one job are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckpointLocation {
    /// Where all nodes see them.
    Shared,
    /// On this host.
    Host(String),
}

/// How a profile run is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// Batches of which the median counts.
    pub batches: u32,
    /// Batches before, which do not count.
    pub warmup: u32,
    /// More batches are measured where they take less time than this.
    #[serde(default)]
    pub least: Span,
    /// It has to be measured within this time.
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
