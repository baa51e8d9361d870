//! One line of the journal: a command that was taken, or something that was observed.

use super::tenant::ProfileEntry;
use oef_api::types::{JobSubmit, Limits, Role, SettingsPatch};
use oef_sched::{Generation, JobId, NodeSpec, Time};
use serde::{Deserialize, Serialize};

/// Something that counts from an instant on.
#[derive(Clone, Debug)]
pub struct Record {
    /// When, in milliseconds since the Unix epoch; never before the record before.
    pub at: Time,
    /// What.
    pub change: Change,
}

/// What is journalled. Names in here are on disk: add freely, rename never.
#[derive(Clone, Debug)]
pub enum Change {
    /// A tenant was created.
    TenantCreated { name: String, weight: f64, group: Option<String>, limits: Limits },
    /// Something about a tenant was changed; what is none stays.
    TenantChanged {
        name: String,
        weight: Option<f64>,
        group: Option<Option<String>>,
        limits: Option<Limits>,
        suspended: Option<bool>,
    },
    /// A tenant was removed, its jobs cancelled.
    TenantRemoved { name: String },
    /// A group was created or changed.
    GroupPut { name: String, weight: f64, parent: Option<String> },
    /// A group without members was removed.
    GroupRemoved { name: String },
    /// A workload was created or changed.
    WorkloadPut { tenant: String, name: String, weight: Option<f64>, profile: Option<ProfileEntry> },
    /// Jobs were submitted, all together.
    Submitted { jobs: Vec<NewJob>, key: Option<(u64, String)> },
    /// A job's owner no longer wants it.
    Cancelled { job: JobId, by: String },
    /// A token was created.
    TokenCreated { id: u64, token: TokenEntry },
    /// A token is void from now on.
    TokenRevoked { id: u64 },
    /// Settings were changed.
    Settings(SettingsPatch),
    /// A node joined or came back.
    NodeUp(NodeSpec),
    /// A node went away, or an operator took it out.
    NodeDown { node: String },
    /// A gang's processes run.
    Started { job: JobId, generation: Generation },
    /// A job told how far it is.
    Progress { job: JobId, generation: Generation, telemetry: super::Telemetry },
    /// A run ended.
    Ended { job: JobId, generation: Generation, ending: super::RunEnding, detail: Option<String> },
    /// A failed job's back-off is over.
    Released { job: JobId },
    /// Shares that were computed aside.
    Shares { answer: Box<oef_sched::Entitlement>, solve_ms: u64 },
    /// A round began; with the shares of before where the new ones were not ready.
    Round { kept: bool },
}

/// A job with its number, as it was taken: nothing is left to a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewJob {
    /// Its number.
    pub id: u64,
    /// As it was submitted, with tenant, workload and name filled in.
    pub spec: JobSubmit,
}

/// What is kept of a token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TokenEntry {
    /// SHA-256 of the secret, in hexadecimal digits.
    pub hash: String,
    /// What its holder may do.
    pub role: Role,
    /// For which tenant.
    pub tenant: Option<String>,
    /// A note for people.
    pub note: Option<String>,
    /// When it was created.
    pub created_ms: u64,
    /// When it becomes void.
    pub expires_ms: Option<u64>,
}

/// Settings that the scheduler does not know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SettingsEntry {
    /// How long a job may take to stop.
    pub grace_ms: u64,
    /// Ended jobs that are remembered.
    pub ended_jobs_max: usize,
    /// Events that are remembered.
    pub events_max: usize,
}
