//! One line of the journal: a command that was taken, or something that was observed.

use super::drains::{Drain, Window};
use super::endings::RunOutcome;
use super::notifications::NotificationSpec;
use super::settings::SettingsEntry;
use super::tenant::ProfileEntry;
use super::tokens::TokenEntry;
use super::usage::Utilised;
use oef_api::parsed::{GroupName, TenantName, Weight, WorkloadName};
use oef_api::types::{Exit, JobOrder, JobPatch, JobSubmit, Limits, SettingsPatch};
use oef_sched::guard::{Judgement, Told};
use oef_sched::{Answer, Generation, JobId, NodeSpec, Plan, Promises, Time};
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantNames};

/// Something that counts from an instant on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// When, in milliseconds since the Unix epoch; never before the record before.
    pub at: Time,
    /// What.
    pub change: Change,
}

/// What is journalled. Names in here are on disk: add freely (with a default), rename never.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The first record of a folder: what the world begins with.
    Began {
        /// What the records after it mean (see [`MEANING`](super::MEANING)).
        #[serde(default = "super::first_meaning")]
        meaning: u32,
        /// The scheduler's settings.
        sched: Box<oef_sched::Settings>,
        /// The daemon's.
        settings: SettingsEntry,
        /// The scheduler's settings are whole: whoever reads them derives nothing from the length of a round.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        whole: bool,
    },
    /// The records after it mean something else than those before: another version of the program goes on.
    Meaning {
        /// What they mean.
        version: u32,
    },
    /// It was decided who runs where.
    Planned {
        /// What was decided.
        plan: Box<Plan>,
    },
    /// What jobs showed was compared with the profiles of their workloads.
    Judged {
        /// What came of it.
        judgements: Vec<Judgement>,
    },
    /// A tenant was created.
    TenantCreated {
        /// Its name.
        name: TenantName,
        /// Its weight.
        weight: Weight,
        /// Its group.
        group: Option<String>,
        /// What it may use at most.
        #[serde(default)]
        limits: Limits,
    },
    /// The user that a tenant's jobs run as from their next start on.
    TenantUser {
        /// Its name.
        name: String,
        /// The Unix user; none: that of the daemon.
        user: Option<String>,
    },
    /// Something about a tenant was changed.
    TenantChanged(TenantChange),
    /// A tenant has these guarantees and limits by gpu type, and no others.
    TenantPromises {
        /// Its name.
        name: String,
        /// All of them.
        promises: Promises,
    },
    /// A group has these guarantees and limits by gpu type, and no others.
    GroupPromises {
        /// Its name.
        name: String,
        /// All of them.
        promises: Promises,
    },
    /// A tenant was removed, its jobs cancelled.
    TenantRemoved {
        /// Its name.
        name: String,
    },
    /// A group was created or changed.
    GroupPut {
        /// Its name.
        name: GroupName,
        /// Its weight.
        weight: Weight,
        /// The group in which it stands.
        parent: Option<String>,
    },
    /// A group without members was removed.
    GroupRemoved {
        /// Its name.
        name: String,
    },
    /// A workload was created or changed.
    WorkloadPut {
        /// Its tenant.
        tenant: String,
        /// Its name.
        name: WorkloadName,
        /// Its part in the tenant's weight.
        weight: Option<Weight>,
        /// Its profile.
        profile: Option<Box<ProfileEntry>>,
        /// What was made of a profile that its tenant declares; none: whoever reads it decides (as before it was written
        /// down).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        told: Option<Box<Told>>,
    },
    /// A job was noticed that the cluster's own scheduler looks after.
    Noticed {
        /// The job as it is shown here.
        job: Box<NewJob>,
        /// What tells it from every other job of the cluster.
        origin: String,
    },
    /// Why a node cannot be used, or not all of it; none: nothing is wrong with it.
    NodeReason {
        /// Its name.
        node: String,
        /// Why.
        reason: Option<String>,
    },
    /// Jobs were submitted, all together.
    Submitted {
        /// The jobs.
        jobs: Vec<NewJob>,
        /// With which key, by which token.
        key: Option<SubmitKey>,
        /// They are a sweep, whose number is that of the first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sweep: Option<NewSweep>,
    },
    /// Something about a job was changed: it is held or released, has another priority, waits for other jobs.
    JobChanged {
        /// The job.
        job: JobId,
        /// Who said so, in words.
        by: String,
        /// What is new.
        patch: JobPatch,
    },
    /// A job's owner no longer wants it, or it can never start.
    Cancelled {
        /// The job.
        job: JobId,
        /// Who said so, in words.
        by: String,
        /// Why, where that is not somebody's wish.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<super::Reason>,
    },
    /// A token was created.
    TokenCreated {
        /// Its number.
        id: u64,
        /// What is kept of it.
        token: TokenEntry,
    },
    /// A token is void from now on.
    TokenRevoked {
        /// Its number.
        id: u64,
    },
    /// Settings were changed, in the words of whoever did: what follows from them is derived by whoever reads it. Written
    /// before [`SettingsSet`](Self::SettingsSet) was.
    Settings(SettingsPatch),
    /// Settings were changed, and are these from now on.
    SettingsSet {
        /// The scheduler's.
        sched: Box<oef_sched::Settings>,
        /// The daemon's.
        settings: SettingsEntry,
    },
    /// How much is remembered was changed.
    Memory {
        /// Ended jobs.
        ended_jobs_max: usize,
        /// Events.
        events_max: usize,
    },
    /// A node joined or came back.
    NodeUp(NodeSpec),
    /// A node went away.
    NodeDown {
        /// Its name.
        node: String,
    },
    /// An operator took a node out, or brought it back.
    NodeDrained {
        /// Its name.
        node: String,
        /// Whether it is out from now on.
        drained: bool,
        /// Why and how.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        drain: Option<Drain>,
    },
    /// An operator plans to take a node out for a time.
    WindowPlanned {
        /// The number of this window.
        id: u64,
        /// Which node, when, and why.
        window: Window,
    },
    /// A window that had not begun will not.
    WindowDropped {
        /// Its number.
        id: u64,
    },
    /// Somebody wants to be told of jobs.
    NotificationAdded {
        /// The number of this notification.
        id: u64,
        /// What is wanted.
        spec: Box<NotificationSpec>,
    },
    /// They do not any more.
    NotificationRemoved {
        /// Its number.
        id: u64,
    },
    /// Somebody wants to see whether it works.
    NotificationTested {
        /// Its number.
        id: u64,
        /// The notice that is sent for it.
        notice: String,
    },
    /// It was tried to deliver a notice.
    Notified {
        /// The number of the notification.
        id: u64,
        /// The notice.
        notice: String,
        /// Whether it was taken.
        delivered: bool,
        /// The answer, or what went wrong.
        detail: String,
    },
    /// A gang waits for something before its processes can run.
    Preparing {
        /// The job.
        job: JobId,
        /// Of its lease.
        generation: Generation,
        /// For what, in words.
        detail: String,
    },
    /// A gang's processes run.
    Started {
        /// The job.
        job: JobId,
        /// Of its lease.
        generation: Generation,
        /// Since when, by the clock of its machine.
        at_ms: Option<u64>,
        /// The host that has its checkpoints; none: they are in a folder that all hosts see.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<String>,
    },
    /// A job told how far it is.
    Progress {
        /// The job.
        job: JobId,
        /// Of its lease.
        generation: Generation,
        /// What it told.
        telemetry: super::Telemetry,
    },
    /// Workers did all their work in a run that ends otherwise; its ending follows.
    WorkersFinished {
        /// The job.
        job: JobId,
        /// Of its lease.
        generation: Generation,
        /// The workers.
        ranks: Vec<u32>,
    },
    /// A run ended.
    Ended(RunEnd),
    /// A failed job's back-off is over, or a job's start time has come.
    Released {
        /// The job.
        job: JobId,
    },
    /// Shares that were computed aside.
    Shares {
        /// The shares.
        answer: Box<Answer>,
        /// How long it took.
        solve_ms: u64,
    },
    /// The daemon stops and has its jobs save their work; or it goes on.
    Halted {
        /// Whether nothing is to run from now on.
        halted: bool,
    },
    /// How busy GPUs were while jobs held them, since the last such record.
    Utilised {
        /// By tenant, workload and gpu type.
        rows: Vec<Utilised>,
    },
    /// A round began; `kept`: with the shares of before, because the new ones were not ready.
    Round {
        /// Whether they were not.
        kept: bool,
    },
}

impl Change {
    /// A run ended, and nothing more is known than how.
    pub fn ended(
        job: JobId,
        generation: Generation,
        ending: super::RunEnding,
        detail: &str,
    ) -> Change {
        let detail = detail.into();
        let (last_lines, at_ms, exit, outcome) = (None, None, None, None);
        Change::Ended(RunEnd { job, generation, ending, detail, last_lines, at_ms, exit, outcome })
    }

    /// The word for it in the journal: the tag of its JSON.
    pub fn kind(&self) -> &'static str {
        self.into()
    }
}

/// What was changed about a tenant; what is none stays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TenantChange {
    /// Its name.
    pub name: String,
    /// Its weight.
    pub weight: Option<Weight>,
    /// Its group.
    pub group: Option<GroupChange>,
    /// What it may use at most.
    pub limits: Option<Limits>,
    /// Whether its jobs may not run.
    pub suspended: Option<bool>,
    /// In which order its waiting jobs start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<JobOrder>,
}

/// A tenant's new place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupChange {
    /// Into a group.
    Into(String),
    /// Out of its group.
    Out,
}

/// A run that ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEnd {
    /// The job.
    pub job: JobId,
    /// Of its lease.
    pub generation: Generation,
    /// How.
    pub ending: super::RunEnding,
    /// The same in a sentence.
    pub detail: String,
    /// The last lines of its output, where it failed.
    pub last_lines: Option<String>,
    /// When, by the clock of its machine.
    pub at_ms: Option<u64>,
    /// How the worker ended that a failure began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// What follows for the job, as it was decided; none: decided by whoever reads it (before records meant 2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<RunOutcome>,
}

/// A submission's key: with it the same submission may come again and is taken once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmitKey {
    /// The number of the token that used it.
    pub token: u64,
    /// The key.
    pub key: String,
    /// What was submitted with it, as a digest: the same key for something else is a mistake.
    pub digest: String,
}

impl SubmitKey {
    /// As one text, unique.
    pub fn text(&self) -> String {
        format!("{}/{}", self.token, self.key)
    }
}

/// Jobs that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewSweep {
    /// How many of them may run or wait for GPUs at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_once: Option<u32>,
}

/// A job with its number, as it was taken: nothing is left to a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewJob {
    /// Its number.
    pub id: u64,
    /// As it was submitted, with tenant, workload and name filled in.
    pub spec: JobSubmit,
}
