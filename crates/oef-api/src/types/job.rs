//! Jobs as they are shown.

use super::cluster::GpuRef;
use super::job_change::Blocked;
use super::job_submit::{JobSubmit, Probe};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::collections::BTreeMap;
use strum::IntoStaticStr;
use utoipa::ToSchema;

/// What a job is doing.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    ToSchema,
    IntoStaticStr,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Waits for GPUs, for another try, or for its tenant to be resumed.
    Queued,
    /// Its GPUs are being freed for it, or its processes are being started.
    Starting,
    /// Runs.
    Running,
    /// Was told to stop.
    Stopping,
    /// Did all its work.
    Finished,
    /// Ended with an error, and is not tried again.
    Failed,
    /// Ran for as long as it was allowed to, and was stopped for good.
    TimedOut,
    /// Its owner did not want it any more.
    Cancelled,
}

impl JobState {
    /// All of them, in the order of a job's life.
    pub const ALL: [JobState; 8] = [
        JobState::Queued,
        JobState::Starting,
        JobState::Running,
        JobState::Stopping,
        JobState::Finished,
        JobState::Failed,
        JobState::TimedOut,
        JobState::Cancelled,
    ];
    /// Those of jobs that have not ended.
    pub const LIVE: [JobState; 4] =
        [JobState::Queued, JobState::Starting, JobState::Running, JobState::Stopping];
    /// Those of jobs that have GPUs.
    pub const PLACED: [JobState; 3] = [JobState::Starting, JobState::Running, JobState::Stopping];
    /// Those of jobs that have ended.
    pub const ENDED: [JobState; 4] =
        [JobState::Finished, JobState::Failed, JobState::TimedOut, JobState::Cancelled];

    /// The word for it.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The same for people: `timed out`.
    pub fn words(self) -> &'static str {
        match self {
            JobState::TimedOut => "timed out",
            other => other.name(),
        }
    }

    /// What the job does or did, after its name: `is running`, `has failed`.
    pub fn phrase(self) -> &'static str {
        match self {
            JobState::Queued => "is queued",
            JobState::Starting => "is starting",
            JobState::Running => "is running",
            JobState::Stopping => "is stopping",
            JobState::Finished => "has finished",
            JobState::Failed => "has failed",
            JobState::TimedOut => "has timed out",
            JobState::Cancelled => "was cancelled",
        }
    }

    /// Whether nothing more will happen to the job.
    pub fn is_final(self) -> bool {
        matches!(self, JobState::Finished | JobState::Cancelled) || self.is_failure()
    }

    /// Whether the job ended without doing its work, and nobody wanted that.
    pub fn is_failure(self) -> bool {
        matches!(self, JobState::Failed | JobState::TimedOut)
    }
}

/// A job as it stands.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Job {
    /// Its number.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Who owns it.
    pub tenant: String,
    /// What kind of job it is.
    pub workload: String,
    /// What it is doing.
    pub state: JobState,
    /// Why, in a sentence.
    pub reason: String,
    /// The same as data.
    pub reason_data: Option<ReasonData>,
    /// What keeps it from starting, whatever GPUs are free.
    pub blocked: Option<Blocked>,
    /// The sweep that it was submitted with: the number of the sweep's first job.
    pub sweep: Option<u64>,
    /// Workers, each on a GPU of its own.
    pub workers: u32,
    /// The GPUs that it holds or was promised, in the order of the ranks.
    pub gpus: Vec<GpuRef>,
    /// Its class within the tenant.
    pub priority: i32,
    /// When it was submitted.
    pub submitted: Timestamp,
    /// When it was first started.
    #[serialize_always]
    pub started: Option<Timestamp>,
    /// When it ended.
    #[serialize_always]
    pub ended: Option<Timestamp>,
    /// How far it is.
    pub progress: Progress,
    /// How often it had to start again.
    pub restarts: u32,
    /// How often it failed and was tried again.
    pub failures: u32,
    /// Seconds that it has run.
    pub ran_s: f64,
    /// For people and filters.
    pub labels: BTreeMap<String, String>,
    /// How it is measured, where it is a profile run.
    pub probe: Option<Probe>,
    /// What restarts have cost it, and what they may. Left out of lists, and of jobs that have ended.
    pub restart_budget: Option<RestartBudget>,
    /// As it was submitted. Left out of lists.
    pub spec: Option<JobSubmit>,
    /// Every change of its state, the oldest first. Left out of lists.
    pub history: Option<Vec<StateChange>>,
    /// Its runs, the oldest first. Left out of lists.
    pub runs: Option<Vec<Run>>,
}

/// What restarts have cost a job, and what they may cost it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RestartBudget {
    /// How often it was stopped and had to start again.
    pub restarts: u32,
    /// How many of them are free.
    pub free: u32,
    /// What one costs, in seconds.
    pub cost_s: f64,
    /// Whether that was measured for its workload, or is the setting.
    pub measured: bool,
    /// What they have cost so far, in seconds.
    pub lost_s: f64,
    /// The same as a part of its running time.
    pub lost_part: f64,
    /// The part of its running time that restarts beyond the free ones may cost.
    pub bound: f64,
    /// Whether it may be stopped once more within the bound.
    pub may_restart: bool,
    /// How many seconds it runs at least, once it was started.
    pub turn_s: f64,
}

/// How far a job is, as it says itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Progress {
    /// Steps since its first start.
    pub steps: f64,
    /// The step of its last checkpoint, where it tells.
    pub checkpoint: Option<f64>,
    /// Recent steps per second.
    pub throughput: Option<f64>,
    /// Its loss, where it tells.
    pub loss: Option<f64>,
    /// What a profile run has measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measured>,
}

/// What a profile run has measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Measured {
    /// The median of the batches.
    pub batch_seconds: f64,
    /// How far the middle half of the batches lies apart, relative to their median.
    pub spread: f64,
    /// How many batches that was.
    pub batches: u32,
    /// How many lots of batches it took until they lay near enough together, or nobody waited longer.
    pub lots: u32,
    /// The part of the time that was spent waiting for data, where the job tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<f64>,
    /// Whether the runner has timed the same: the program's own word alone does not count.
    #[serde(default)]
    pub timed: bool,
}

/// One change of a job's state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Change)]
pub struct StateChange {
    /// When.
    pub at: Timestamp,
    /// To which state.
    pub state: JobState,
    /// Why.
    pub reason: String,
    /// The same as data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason_data: Option<ReasonData>,
}

/// One run of a job on its GPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Run {
    /// Its lease's generation.
    pub generation: u64,
    /// Its GPUs.
    pub gpus: Vec<GpuRef>,
    /// When it was started.
    pub started: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// How it ended.
    pub ending: Option<Ending>,
    /// How the worker ended that a failure began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// The same in a sentence, with the last lines of the log where it failed.
    pub detail: Option<String>,
}

/// How a worker ended.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Exit {
    /// Which worker.
    pub rank: u32,
    /// Its exit code; none where a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The job did all its work.
    Finished,
    /// It wrote a checkpoint and stopped, to go on later.
    Checkpointed,
    /// It was told to stop and ended without saying that it has a checkpoint.
    Stopped,
    /// It ended with an error.
    Failed,
    /// Its processes were gone without a word.
    Lost,
    /// It reached its maximum run time.
    TimedOut,
}

/// A reason as data, for scripts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(examples(json!({"kind": "saving", "gpu": "a100", "deficit": 1.5, "share": 0.5, "workers": 4})))]
pub struct ReasonData {
    /// What kind of reason it is, a word; more may come. `text`: an older version wrote down only the sentence.
    pub kind: String,
    /// What belongs to that kind.
    #[serde(flatten)]
    #[schema(value_type = Object, inline)]
    pub fields: serde_json::Map<String, serde_json::Value>,
}

/// Why a job waits, runs or ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Why {
    /// The job.
    pub id: u64,
    /// What it is doing.
    pub state: JobState,
    /// The reason in a sentence.
    pub sentence: String,
    /// The kind of reason, a word for scripts.
    pub kind: String,
    /// The reason as data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason_data: Option<ReasonData>,
    /// The round in which it can expect to start.
    pub expected_round: Option<u64>,
    /// The same as a time.
    pub expected_start: Option<Timestamp>,
    /// More sentences: what its tenant has and is owed, how its last run ended.
    pub details: Vec<String>,
}
