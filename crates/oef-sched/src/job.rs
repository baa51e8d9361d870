//! Jobs and their leases.

use crate::ids::{Generation, GpuId, JobId, TenantKey, WorkloadKey};
use crate::reason::{StartReason, StopReason};
use crate::time::{Span, Time};

/// A job as it was submitted.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct JobSpec {
    /// Its number; greater than that of any job before.
    pub id: JobId,
    /// Who owns it.
    pub tenant: TenantKey,
    /// What kind of job it is.
    pub workload: WorkloadKey,
    /// Workers, each on a GPU of its own; all run or none.
    pub workers: u32,
    /// Jobs of a higher class go first within their tenant.
    pub priority: i32,
    /// Gpu types that it may use, by name; `None`: any that its workload can run on.
    pub types: Option<Vec<String>>,
}

/// The right to some GPUs until an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Lease {
    /// Fences it: a later one makes it void.
    pub generation: Generation,
    /// The GPUs, in the order of the ranks.
    pub gpus: Vec<GpuId>,
    /// The end, unless it is renewed.
    pub until: Time,
}

/// What a live job is doing.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub(crate) enum Phase {
    /// Waits for GPUs.
    Queued,
    /// Has GPUs promised that others are leaving.
    Assigned { lease: Lease, why: StartReason },
    /// Was started.
    Running { lease: Lease, since: Time, why: StartReason },
    /// Was told to stop and has not yet answered.
    Stopping { lease: Lease, since: Time, why: StopReason, next: Next },
}

/// What comes after a job has stopped.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub(crate) enum Next {
    Queue,
    Move { lease: Lease, why: StartReason },
    Forget,
}

/// A live job's state, as shown to people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum JobState {
    /// Waits for GPUs.
    Queued,
    /// Its GPUs are being freed for it.
    Starting,
    /// Runs.
    Running,
    /// Was told to stop.
    Stopping,
}

/// A live job. Ended jobs leave the state: history is the driver's.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Job {
    pub(crate) spec: JobSpec,
    pub(crate) phase: Phase,
    /// Its kind, by its position in the workload's.
    pub(crate) class: usize,
    /// Its position among those of its workload that own GPUs.
    pub(crate) place: Option<usize>,
    pub(crate) submitted: Time,
    /// The start of the current wait.
    pub(crate) waiting_since: Time,
    pub(crate) generation: Generation,
    pub(crate) ran: Span,
    pub(crate) restarts: u32,
    pub(crate) started_before: bool,
    pub(crate) steps: f64,
}

impl Job {
    pub(crate) fn new(spec: JobSpec, class: usize, at: Time) -> Self {
        Job {
            spec,
            phase: Phase::Queued,
            class,
            place: None,
            submitted: at,
            waiting_since: at,
            generation: Generation(0),
            ran: Span(0),
            restarts: 0,
            started_before: false,
            steps: 0.0,
        }
    }

    /// As it was submitted.
    pub fn spec(&self) -> &JobSpec {
        &self.spec
    }

    /// When it was submitted.
    pub fn submitted(&self) -> Time {
        self.submitted
    }

    /// What it is doing.
    pub fn state(&self) -> JobState {
        match self.phase {
            Phase::Queued => JobState::Queued,
            Phase::Assigned { .. } => JobState::Starting,
            Phase::Running { .. } => JobState::Running,
            Phase::Stopping { .. } => JobState::Stopping,
        }
    }

    /// The GPUs that it holds or was promised.
    pub fn lease(&self) -> Option<&Lease> {
        match &self.phase {
            Phase::Queued => None,
            Phase::Assigned { lease, .. }
            | Phase::Running { lease, .. }
            | Phase::Stopping { lease, .. } => Some(lease),
        }
    }

    /// How long it has run so far, up to its last stop.
    pub fn ran(&self) -> Span {
        self.ran
    }

    /// How often it was stopped and had to start again.
    pub fn restarts(&self) -> u32 {
        self.restarts
    }

    /// The steps that it has reported.
    pub fn steps(&self) -> f64 {
        self.steps
    }
}
