//! What a runner has to start: `launch.json`.

use crate::checkpoints::Fetch;
use crate::device::Device;
use crate::launch::{Probe, StopSignal, Terminal};
use crate::slurm::SlurmSpec;
use crate::users::User;
use oef_sched::{Generation, JobId, Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// A launch with everything found: paths, GPUs, where its checkpoint comes from. Names in here are on disk, and
/// runners of an older version read them: add freely (with a default), rename never.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunSpec {
    pub(crate) job: JobId,
    pub(crate) generation: Generation,
    pub(crate) tenant: String,
    pub(crate) workload: String,
    pub(crate) name: String,
    /// The program and its arguments; every worker runs the same.
    pub(crate) command: Vec<String>,
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) workdir: PathBuf,
    /// Made if it is not there.
    pub(crate) checkpoint_dir: PathBuf,
    /// Checkpoints that lie elsewhere, to be brought there first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fetch: Option<Fetch>,
    /// The greatest step that a checkpoint was told to hold before this start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) saved_before: Option<f64>,
    /// One worker on each, in the order of the ranks.
    pub(crate) devices: Vec<Device>,
    /// Where workers reach the first worker's node; none: this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) master_addr: Option<String>,
    #[serde(default)]
    pub(crate) restart: u32,
    /// Workers that did all their work in an earlier start.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) finished: BTreeSet<u32>,
    #[serde(default)]
    pub(crate) stop_signal: StopSignal,
    pub(crate) grace: Span,
    pub(crate) max_run: Option<Span>,
    pub(crate) until: Time,
    pub(crate) log_limit_bytes: u64,
    #[serde(default)]
    pub(crate) warm: Vec<String>,
    pub(crate) probe: Option<Probe>,
    /// How it is put before Slurm, and how its workers on other nodes are started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) slurm: Option<SlurmSpec>,
    /// The user that its workers run as; none: as the runner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<User>,
    /// The control group of its workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cgroup: Option<PathBuf>,
    /// The terminal that its command runs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) terminal: Option<Terminal>,
}
