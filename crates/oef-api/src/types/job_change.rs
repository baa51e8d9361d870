//! What can be changed about a job after it was submitted, and what keeps it from starting.

use super::job_submit::JobSubmit;
use jiff::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_with::skip_serializing_none;
use std::collections::BTreeMap;
use strum::IntoStaticStr;
use utoipa::ToSchema;

/// What changes about a job that has not ended; what is left out stays.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(json!({"held": true}), json!({"priority": 5, "labels": {"lr": "0.1", "old": null}})))]
pub struct JobPatch {
    /// Whether it is held. A held job does not start; one that runs saves its work and stops.
    pub held: Option<bool>,
    /// Its name.
    pub name: Option<String>,
    /// Its priority within the tenant.
    pub priority: Option<i32>,
    /// Gpu types that it may use, all of them; none: any that its workload can run on. Only while it waits.
    pub types: Option<Vec<String>>,
    /// It uses only GPUs with so many GiB of memory at least; `null`: any. Only while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schema(value_type = Option<f64>, exclusive_minimum = 0.0)]
    pub gpu_memory_gib: Option<Option<f64>>,
    /// Whether it displaces running jobs of its tenant with a lower priority at once. Only while it waits.
    pub now: Option<bool>,
    /// Labels to set; `null` removes one, others stay.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, Option<String>>,
    /// It is stopped for good after so many seconds of running; `null`: no limit. Only while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schema(value_type = Option<f64>, exclusive_minimum = 0.0)]
    pub max_run_s: Option<Option<f64>>,
    /// It starts at this time or later; `null`: at any time. Only while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schema(value_type = Option<Timestamp>)]
    pub not_before: Option<Option<Timestamp>>,
    /// Jobs that have to end before it starts, all of them. Only while it waits.
    pub after: Option<Vec<Dependency>>,
}

/// A field that may be `null`, which is not the same as one that is left out.
pub(super) fn given<'de, D, T>(field: D) -> Result<Option<Option<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(field).map(Some)
}

impl JobPatch {
    /// The job with what is new.
    pub fn apply_to(&self, job: &JobSubmit) -> JobSubmit {
        let mut job = job.clone();
        job.held = self.held.unwrap_or(job.held);
        job.name = self.name.clone().or(job.name);
        job.priority = self.priority.unwrap_or(job.priority);
        if let Some(types) = &self.types {
            job.types.clone_from(types);
        }
        job.gpu_memory_gib = self.gpu_memory_gib.unwrap_or(job.gpu_memory_gib);
        job.now = self.now.unwrap_or(job.now);
        for (key, value) in &self.labels {
            match value {
                Some(value) => drop(job.labels.insert(key.clone(), value.clone())),
                None => drop(job.labels.remove(key)),
            }
        }
        job.max_run_s = self.max_run_s.unwrap_or(job.max_run_s);
        job.not_before = self.not_before.unwrap_or(job.not_before);
        if let Some(after) = &self.after {
            job.after.clone_from(after);
        }
        job
    }

    /// The first field that can only be changed while the job has no GPUs.
    pub fn needs_waiting(&self) -> Option<&'static str> {
        let fields = [
            ("types", self.types.is_some()),
            ("gpu_memory_gib", self.gpu_memory_gib.is_some()),
            ("now", self.now.is_some()),
            ("max_run_s", self.max_run_s.is_some()),
            ("not_before", self.not_before.is_some()),
            ("after", self.after.is_some()),
        ];
        fields.into_iter().find(|(_, is_given)| *is_given).map(|(field, _)| field)
    }
}

/// A job that has to end before another starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(json!({"job": 17, "when": "finished"})))]
pub struct Dependency {
    /// The job's number.
    #[serde(deserialize_with = "job_number")]
    pub job: u64,
    /// How it has to end.
    #[serde(default)]
    pub when: DependencyCondition,
}

/// A number that a job can have: it is an integer of 64 bits with a sign wherever it is read.
fn job_number<'de, D: Deserializer<'de>>(number: D) -> Result<u64, D::Error> {
    let number = u64::deserialize(number)?;
    match i64::try_from(number) {
        Ok(_) => Ok(number),
        Err(_) => Err(D::Error::custom(format!("no job has the number {number}"))),
    }
}

/// The same, where it may be left out.
pub(super) fn maybe_job_number<'de, D: Deserializer<'de>>(
    number: D,
) -> Result<Option<u64>, D::Error> {
    job_number(number).map(Some)
}

/// How a job has to end for another to start.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DependencyCondition {
    /// It did all its work.
    #[default]
    Finished,
    /// In any way.
    Ended,
    /// It failed or reached its time limit.
    Failed,
}

/// What keeps a job from starting, whatever GPUs are free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Blocked {
    /// Its tenant is suspended.
    Suspended,
    /// It is held until somebody releases it.
    Held,
    /// Jobs that it waits for have not ended.
    Dependency,
    /// Its start time has not come.
    NotBefore,
    /// It failed, and is tried again after a while.
    BackingOff,
    /// As many jobs of its sweep as may be at once are running or waiting for GPUs.
    SweepLimit,
}

impl Blocked {
    /// The word for it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
