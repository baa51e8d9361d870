//! A job as the daemon remembers it: what the scheduler need not know.

use super::{LastCheckpoints, Reason};
use oef_api::types::{Exit, GpuRef, JobState, JobSubmit, Measured};
use oef_sched::{Generation, JobId, Time, WorkloadKey};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A job, live or ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobEntry {
    /// As it was submitted, with everything filled in.
    pub spec: JobSubmit,
    /// Its workload in the scheduler.
    pub workload: WorkloadKey,
    /// When it was submitted.
    pub submitted: Time,
    /// When it was first started.
    pub started: Option<Time>,
    /// When it ended.
    pub ended: Option<Time>,
    /// What it is doing, and why: the last of `history`.
    pub state: JobState,
    /// Why.
    pub reason: Reason,
    /// Every change of its state, the oldest first; the middle is dropped beyond a limit.
    pub history: Vec<StateChange>,
    /// Its runs, the oldest first; the oldest are dropped beyond a limit.
    pub runs: Vec<RunEntry>,
    /// How far it is.
    pub telemetry: Telemetry,
    /// Where its last good checkpoints are, since it first ran.
    #[serde(default, rename = "home", skip_serializing_if = "Option::is_none")]
    pub checkpoints: Option<LastCheckpoints>,
    /// Workers that did all their work in a run that ended otherwise.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub finished: BTreeSet<u32>,
    /// When its last checkpoint became known.
    pub checkpoint_at: Option<Time>,
    /// Failures so far.
    pub failures: u32,
    /// How often in a row its processes were gone without any progress in between.
    pub losses: u32,
    /// How often in a row it was not to blame that it could not run.
    #[serde(default, skip_serializing_if = "is_none")]
    pub hindrances: u32,
    /// Its steps when they were gone last.
    pub steps_at_loss: f64,
    /// When it is tried again.
    pub retry_at: Option<Time>,
    /// Milliseconds that its ended runs took.
    pub ran_ms: u64,
    /// Starts after the first.
    pub restarts: u32,
    /// Who cancelled it.
    pub cancelled_by: Option<String>,
    /// The sweep that it was submitted with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepEntry>,
    /// It is a job that the cluster's own scheduler looks after, and this tells it from every other there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

impl JobEntry {
    /// Whose it is.
    pub fn tenant(&self) -> &str {
        self.spec.tenant.as_deref().unwrap_or_default()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.spec.name.as_deref().unwrap_or_default()
    }

    /// The name of its workload.
    pub fn workload_name(&self) -> &str {
        self.spec.workload.as_deref().unwrap_or_default()
    }

    /// The run that has not ended.
    pub fn run(&self) -> Option<&RunEntry> {
        self.runs.last().filter(|run| run.ended.is_none())
    }

    pub(super) fn run_mut(&mut self) -> Option<&mut RunEntry> {
        self.runs.last_mut().filter(|run| run.ended.is_none())
    }
}

/// A sweep as each of its jobs knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepEntry {
    /// Its first job: its number.
    pub first: JobId,
    /// How many of its jobs may run or wait for GPUs at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_once: Option<u32>,
}

/// One change of state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateChange {
    /// When, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// To which state.
    pub state: JobState,
    /// Why.
    pub reason: Reason,
}

/// One run of a job on its GPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEntry {
    /// Its lease's generation.
    pub generation: Generation,
    /// Its GPUs: node, index, type.
    pub gpus: Vec<GpuRef>,
    /// Normalised throughput of the gang there, by its profile.
    pub rate: f64,
    /// The end of its lease as it was ordered.
    pub until: Time,
    /// Its steps when it was ordered.
    pub steps_before: f64,
    /// When it was ordered.
    pub began: Time,
    /// When its processes were seen to run.
    pub started: Option<Time>,
    /// When its first step was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stepped: Option<Time>,
    /// When it was told to stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_at: Option<Time>,
    /// Why it was told to stop.
    pub stop: Option<Reason>,
    /// When it ended.
    pub ended: Option<Time>,
    /// How.
    pub ending: Option<RunEnding>,
    /// How the worker ended that a failure began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// The same in a sentence, with the last lines of the log where it failed. Before it started: what it
    /// waited for.
    pub detail: Option<String>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEnding {
    /// The job did all its work.
    Finished,
    /// It wrote a checkpoint and stopped.
    Checkpointed,
    /// It was told to stop and ended without saying that it has a checkpoint.
    Stopped,
    /// It ended with an error.
    Failed,
    /// Its processes were gone without a word.
    Lost,
    /// It could not run, and that says nothing of it: the machine had no room, or its start was refused.
    Hindered,
    /// It reached its maximum run time.
    TimedOut,
    /// It could not be started at all, and trying again would not help.
    Impossible,
    /// A profile run that told nothing to measure it by.
    Unmeasured,
}

/// How far a job is, as it says itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Telemetry {
    /// Steps since its first start.
    pub steps: f64,
    /// The step of its last checkpoint.
    pub checkpoint: Option<f64>,
    /// Recent steps per second.
    pub throughput: Option<f64>,
    /// Its loss.
    pub loss: Option<f64>,
    /// What a profile run has measured.
    pub measured: Option<Measured>,
    /// The part of the recent time that it waited for its data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<f64>,
    /// When, in milliseconds since the Unix epoch by the clock of its machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_ms: Option<u64>,
}

impl Telemetry {
    /// Whether every number is one.
    pub fn is_sound(&self) -> bool {
        let sound = |x: &Option<f64>| x.is_none_or(f64::is_finite);
        let is_time = |m: &Measured| {
            m.batch_seconds.is_normal() && m.batch_seconds > 0.0 && m.spread.is_finite()
        };
        self.steps.is_finite()
            && self.measured.as_ref().is_none_or(is_time)
            && self.steps >= 0.0
            && sound(&self.checkpoint)
            && sound(&self.throughput)
            && sound(&self.loss)
            && sound(&self.wait)
    }
}

/// For counts that most jobs never have.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(super) fn is_none(count: &u32) -> bool {
    *count == 0
}
