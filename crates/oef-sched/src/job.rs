//! Jobs and their leases.

use crate::gate::{Gate, SweepLimit};
use crate::ids::{Generation, GpuId, JobId, TenantKey, WorkloadKey};
use crate::plan::PlannedWait;
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
    /// It does not wait for the next round to take the GPUs of its tenant's jobs of a lower class.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_false"))]
    pub now: bool,
    /// Gpu types that it may use, by name; `None`: any that its workload can run on.
    pub types: Option<Vec<String>>,
    /// Each of its GPUs has so much memory at least, in MiB.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub memory: Option<u32>,
    /// All its workers are on GPUs of one type.
    #[cfg_attr(feature = "serde", serde(default))]
    pub one_type: bool,
    /// It runs at least so long once it was started; `None`: as long as the settings say.
    #[cfg_attr(feature = "serde", serde(default))]
    pub min_run: Option<Span>,
    /// It runs at most so long in all, its runs before restarts included; the driver ends it then.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub max_run: Option<Span>,
    /// The steps that it has in all, where its owner says.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub steps: Option<f64>,
    /// What has to be over before it starts.
    #[cfg_attr(feature = "serde", serde(default))]
    pub gate: Gate,
    /// The sweep that it belongs to, where only some of its jobs run at once.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub sweep: Option<SweepLimit>,
}

impl JobSpec {
    /// A job of the middle class that may use any type; the rest by struct update.
    pub const fn new(id: JobId, tenant: TenantKey, workload: WorkloadKey, workers: u32) -> Self {
        JobSpec {
            id,
            tenant,
            workload,
            workers,
            priority: 0,
            now: false,
            types: None,
            memory: None,
            one_type: false,
            min_run: None,
            max_run: None,
            steps: None,
            gate: Gate::OPEN,
            sweep: None,
        }
    }
}

#[cfg(feature = "serde")]
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// What is new about a live job; what is `None` stays.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct JobChange {
    /// Its class within its tenant.
    pub priority: Option<i32>,
    /// Gpu types that it may use (`Some(None)`: any). Only while it has no GPUs.
    pub types: Option<Option<Vec<String>>>,
    /// The memory that each of its GPUs has at least, in MiB (`Some(None)`: any). Only while it has no GPUs.
    #[cfg_attr(feature = "serde", serde(default))]
    pub memory: Option<Option<u32>>,
    /// Whether it displaces jobs of its tenant at once.
    #[cfg_attr(feature = "serde", serde(default))]
    pub now: Option<bool>,
    /// What has to be over before it starts.
    pub gate: Option<Gate>,
    /// It runs at least so long from now on, once it was started on its own share.
    #[cfg_attr(feature = "serde", serde(default))]
    pub min_run: Option<Span>,
    /// How long it runs at most in all (`Some(None)`: any time).
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub max_run: Option<Option<Span>>,
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
    /// Does not want GPUs for now, and counts nowhere.
    Held,
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
    /// It waits again, unless it is held.
    Queue,
    Move {
        lease: Lease,
        why: StartReason,
    },
    Forget,
}

/// A live job's state, as shown to people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum JobState {
    /// Waits for GPUs.
    Queued,
    /// May not start now, for a reason of its own.
    Held,
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
    /// The row of gangs that it counts in; `None`: its workload itself.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) gang_row: Option<WorkloadKey>,
    pub(crate) phase: Phase,
    /// It failed, and is not yet tried again.
    #[cfg_attr(feature = "serde", serde(rename = "on_hold"))]
    pub(crate) backing_off: bool,
    /// Its kind, by its position in the workload's; of no meaning while it is held.
    pub(crate) class: usize,
    /// Its position among those of its workload that own GPUs.
    pub(crate) place: Option<usize>,
    pub(crate) submitted: Time,
    /// The start of the current wait.
    pub(crate) waiting_since: Time,
    /// What it is ordered by in its queue, where that is not the start of its wait.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub(crate) rank: Option<Time>,
    pub(crate) generation: Generation,
    pub(crate) ran: Span,
    pub(crate) restarts: u32,
    pub(crate) started_before: bool,
    /// Rounds for which it has waited for room, and for what room; `None`: it does not.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub(crate) room: Option<(u32, PlannedWait)>,
    pub(crate) steps: f64,
}

/// Stands in for a job that is not there.
pub(crate) static NOBODY: Job =
    Job::new(JobSpec::new(JobId(0), TenantKey(0), WorkloadKey(0), 0), Time(0));

impl Job {
    /// A job that does not yet count.
    pub(crate) const fn new(spec: JobSpec, at: Time) -> Self {
        Job {
            spec,
            gang_row: None,
            phase: Phase::Held,
            backing_off: false,
            class: 0,
            place: None,
            submitted: at,
            waiting_since: at,
            rank: None,
            generation: Generation(0),
            ran: Span(0),
            restarts: 0,
            started_before: false,
            room: None,
            steps: 0.0,
        }
    }

    /// The row of the problem that it counts in: its workload, or one of that workload's gangs.
    pub fn row(&self) -> WorkloadKey {
        match self.gang_row {
            Some(row) => row,
            None => self.spec.workload,
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
            Phase::Held => JobState::Held,
            Phase::Assigned { .. } => JobState::Starting,
            Phase::Running { .. } => JobState::Running,
            Phase::Stopping { .. } => JobState::Stopping,
        }
    }

    /// The GPUs that it holds or was promised.
    pub fn lease(&self) -> Option<&Lease> {
        match &self.phase {
            Phase::Queued | Phase::Held => None,
            Phase::Assigned { lease, .. }
            | Phase::Running { lease, .. }
            | Phase::Stopping { lease, .. } => Some(lease),
        }
    }

    /// Why it was given the GPUs that it runs on.
    pub fn started_because(&self) -> Option<StartReason> {
        match self.phase {
            Phase::Running { why, .. } => Some(why),
            _ => None,
        }
    }

    /// Whether it failed and is not yet tried again.
    pub fn is_backing_off(&self) -> bool {
        self.backing_off
    }

    /// The generation of its latest lease; 0: it had none yet.
    pub fn generation(&self) -> Generation {
        self.generation
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
