//! Workloads and their profiles.

use crate::parsed::Weight;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::collections::BTreeMap;
use strum::IntoStaticStr;
use utoipa::ToSchema;

/// Where a profile comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Provenance {
    /// Its tenant said so.
    Declared,
    /// It was measured on the GPUs.
    Measured,
    /// It was guessed from other workloads.
    Estimated,
}

/// Where the figure of a gang comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum FigureSource {
    /// Its tenant said so.
    Declared,
    /// A profile run measured it, or an admin said that it was measured.
    Measured,
    /// It was seen while its jobs ran.
    Seen,
    /// Nobody has measured it: the estimate for all gangs counts.
    Estimated,
}

impl FigureSource {
    /// Its name.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What is known of gangs of one size on one gpu type.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GangFigure {
    /// The gpu type.
    #[serde(rename = "type")]
    pub gpu_type: String,
    /// Workers of the gang.
    pub workers: u32,
    /// Whether it stood over several hosts, and not on one.
    pub spread: bool,
    /// Throughput per GPU, in the unit of the profile; none: the single worker is not measured yet.
    pub throughput: Option<f64>,
    /// The part of a single worker's throughput that each GPU keeps.
    pub kept: Option<f64>,
    /// Where it comes from.
    pub source: FigureSource,
    /// Since when it counts.
    pub since: Timestamp,
    /// By which job, or from how much, in words.
    pub detail: Option<String>,
}

/// How fast gangs of one size count on one gpu type, as they can stand there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GangStanding {
    /// Workers of the gang.
    pub workers: u32,
    /// The gpu type.
    #[serde(rename = "type")]
    pub gpu_type: String,
    /// On how many hosts it stands at the least.
    pub hosts: u32,
    /// Throughput per GPU, in the unit of the profile.
    pub throughput: f64,
    /// The part of a single worker's throughput that each GPU keeps.
    pub kept: f64,
    /// Where it comes from.
    pub source: FigureSource,
    /// The workers of the gang that it was taken from, where that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u32>,
}

/// The figure of a gang, to be set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GangPut {
    /// The gpu type.
    #[serde(rename = "type")]
    pub gpu_type: String,
    /// Workers of the gang.
    #[schema(minimum = 2)]
    pub workers: u32,
    /// Whether it stood over several hosts, and not on one.
    #[serde(default)]
    pub spread: bool,
    /// Throughput per GPU (that of the gang divided by its workers), in the unit of `throughput`.
    #[schema(exclusive_minimum = 0.0)]
    pub throughput: f64,
}

/// How fast a workload runs on each gpu type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Profile {
    /// In any unit; a type that is missing or 0: it cannot run there.
    pub throughput: BTreeMap<String, f64>,
    /// Where it comes from.
    pub provenance: Provenance,
    /// Since when it counts.
    pub since: Timestamp,
    /// Who or what brought it, in words.
    pub source: String,
    /// What is particular about single types; of one that is not named, the above holds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub marks: BTreeMap<String, TypeMark>,
    /// By type and number of workers: throughput of the whole gang on one host over that of as many single workers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scaling: BTreeMap<String, BTreeMap<u32, f64>>,
    /// What is known of gangs, on one host and over several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gangs: Vec<GangFigure>,
}

/// What is known about a profile's figure on one gpu type.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TypeMark {
    /// Where the figure comes from.
    pub provenance: Provenance,
    /// Since when it counts.
    pub since: Timestamp,
    /// How far the middle half of the batches lies apart, relative to their median.
    pub spread: Option<f64>,
    /// How many batches were measured.
    pub batches: Option<u32>,
    /// What the measurement took, in GPU-seconds.
    pub cost_s: Option<f64>,
    /// Why it cannot run there, or from what it was guessed, in words.
    pub detail: Option<String>,
}

/// A workload as it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Workload {
    /// Who owns it.
    pub tenant: String,
    /// Its name, unique within its tenant.
    pub name: String,
    /// Its part in the tenant's weight, relative to the tenant's other workloads.
    pub weight: f64,
    /// How fast it runs.
    pub profile: Profile,
    /// The profiles before, the newest first.
    pub history: Vec<Profile>,
    /// Throughput that was seen while its jobs ran, steps per second and worker, by type.
    pub observed: BTreeMap<String, f64>,
    /// What its jobs showed against its profile, where that is worth a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<GuardNote>,
    /// Its jobs that have not ended.
    pub jobs: u32,
    /// How fast its gangs count, by size and type, for sizes of which it has or had jobs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gangs: Vec<GangStanding>,
}

/// What the jobs of a workload showed against its profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GuardNote {
    /// In sentences.
    pub sentences: Vec<String>,
    /// What does not fit, in figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mismatch: Option<Mismatch>,
    /// What was seen counts instead of what was declared.
    pub replaced: bool,
    /// Its jobs wait for their data most of the time.
    pub host_bound: bool,
    /// Alike runs were seen on two gpu types: without that nothing can be compared.
    pub compared: bool,
}

/// A ratio of two gpu types that is not what the profile says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Mismatch {
    /// The faster type by the profile...
    pub fast: String,
    /// ... and the slower.
    pub slow: String,
    /// How many times as fast it is by the profile.
    pub declared: f64,
    /// How many times as fast it was seen to be.
    pub seen: f64,
    /// The factor that would have been taken for chance.
    pub tolerance: f64,
    /// Windows that it rests on.
    pub windows: u32,
    /// Runs that it rests on.
    pub runs: u32,
}

/// A workload to be created or changed.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(json!({"weight": 1.0})))]
pub struct WorkloadPut {
    /// Its part in the tenant's weight; 1 by default.
    #[schema(value_type = Option<f64>, exclusive_minimum = 0.0)]
    pub weight: Option<Weight>,
    /// Its profile, in any unit; none: an estimate until it is measured.
    pub throughput: Option<BTreeMap<String, f64>>,
    /// What is known of its gangs; needs `throughput`, whose unit it has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gangs: Vec<GangPut>,
    /// Where the profile comes from; declared by default. Only an admin may say that it was measured.
    pub provenance: Option<Provenance>,
}
