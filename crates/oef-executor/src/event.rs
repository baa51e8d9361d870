//! What an executor tells.

use crate::checkpoints::Transfer;
use crate::device::DeviceId;
use crate::ending::Ending;
use crate::gpus::GpuReading;
use crate::launch::CheckpointLocation;
use crate::timing::Timing;
use oef_sched::{Generation, JobId, Span};
use serde::{Deserialize, Serialize};

/// A place among the events of one executor, from when it was opened. Later events have greater ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor(pub u64);

/// Something that happened. Instants are milliseconds since 1970, by the clock of the machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// To a node.
    Node(NodeEvent),
    /// Every node that is there has been told since the executor was opened: others are gone.
    NodesListed,
    /// To jobs that others run here: all that there are, now. Only an executor that observes tells them.
    Others(Vec<OtherJob>),
    /// To nothing: this is what the GPUs do, as far as they tell. Only the last word is kept.
    Readings {
        /// All that can be read.
        gpus: Vec<GpuReading>,
        /// How soon the next ones are due. Much later these say nothing any more.
        every: Span,
    },
    /// To a lease.
    Lease {
        /// The job.
        job: JobId,
        /// Of its lease.
        generation: Generation,
        /// What.
        event: LeaseEvent,
    },
}

/// A job that was started without an order: by a cluster's own scheduler.
#[derive(Clone, Debug, PartialEq)]
pub struct OtherJob {
    /// What tells it from every other job of the cluster, past ones too.
    pub key: String,
    /// What the cluster calls it.
    pub shown: String,
    /// Whose it is.
    pub tenant: String,
    /// What the tenant weighs in the cluster's own books; 0: nobody says.
    pub weight: f64,
    /// Its user.
    pub user: String,
    /// Its name.
    pub name: String,
    /// GPUs that it has or asks for.
    pub gpus: u32,
    /// The gpu types that it has or asks for; none: any.
    pub types: Vec<String>,
    /// What it does.
    pub state: OtherState,
}

/// What a job of others does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OtherState {
    /// It waits, for this reason.
    Waits(String),
    /// It has so many GPUs on each of these nodes.
    Runs(Vec<(String, u32)>),
    /// It is over, and this is how.
    Over(OtherEnd),
}

/// How a job of others ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OtherEnd {
    /// It did its work.
    Finished,
    /// Somebody ended it.
    Cancelled,
    /// It failed; in the cluster's words.
    Failed(String),
}

/// Something that happened to a node.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeEvent {
    /// It is there, and all of it can be used.
    Joined {
        /// Its name.
        node: String,
        /// What its GPUs are called in profiles and shares.
        gpu_type: String,
        /// Its GPUs.
        devices: Vec<DeviceId>,
    },
    /// Other GPUs of it than before can be used.
    Changed {
        /// Its name.
        node: String,
        /// The GPUs that can be used, now.
        usable: Vec<DeviceId>,
        /// Those that others use.
        used_by_others: Vec<DeviceId>,
        /// Why, for the operator.
        reason: String,
    },
    /// It takes no more jobs, by the will of whoever runs the cluster.
    Drained {
        /// Its name.
        node: String,
        /// Why.
        reason: String,
    },
    /// It is gone, and so is what ran there.
    Left {
        /// Its name.
        node: String,
        /// Why.
        reason: String,
    },
}

/// Something that happened to a lease.
#[derive(Clone, Debug, PartialEq)]
pub enum LeaseEvent {
    /// Its job is not started yet, and this is what it waits for: a sentence without a subject, as in
    /// `brings its checkpoint from rtx3090-0`.
    Preparing(String),
    /// The transfer of its checkpoint is over, well or not. For figures: what follows from it is told as well.
    Transferred(Transfer),
    /// Its workers run.
    Started {
        /// When.
        at_ms: u64,
        /// Where its checkpoints are from now on; none: in a folder of its owner's, or nowhere.
        checkpoints: Option<CheckpointLocation>,
    },
    /// How far its job is.
    Progress(Progress),
    /// It is over, and its GPUs are free.
    Ended {
        /// How.
        ending: Ending,
        /// How each worker ended, in the order in which they did; none if none was started.
        exits: Vec<WorkerExit>,
        /// When.
        at_ms: u64,
    },
}

/// How far a job is, as it says itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Steps since its first start.
    pub steps: f64,
    /// Steps or samples a second, as the job counts them.
    pub throughput: Option<f64>,
    /// What it is training to make small.
    pub loss: Option<f64>,
    /// The steps that its last checkpoint holds.
    pub checkpoint: Option<f64>,
    /// The part of the recent time that it waited for its data.
    pub wait: Option<f64>,
    /// Lines of its progress file that nobody could read, so far.
    pub skipped_lines: u64,
    /// What a profile run has measured.
    pub measured: Option<Timing>,
    /// When that was read.
    pub at_ms: u64,
}

/// How one worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerExit {
    /// The worker.
    pub rank: u32,
    /// Its exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// Or the signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// After its gang was told to stop.
    #[serde(default)]
    pub after_stop: bool,
}

impl WorkerExit {
    /// It did all its work. A worker that ends with 0 after it was told to stop may only be obedient.
    pub fn is_finished(&self) -> bool {
        self.code == Some(0) && !self.after_stop
    }
}
