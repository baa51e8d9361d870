//! The problem of a round, as a problem file has it: `oef share` reads it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// The problem that the shares of a round answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RoundProblem {
    /// The type against which speedups are counted.
    pub reference: String,
    /// The gpu types.
    pub gpu: Vec<ProblemGpu>,
    /// The tenants with live jobs.
    pub tenant: Vec<ProblemTenant>,
}

/// A gpu type with its healthy GPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ProblemGpu {
    /// Its name.
    #[serde(rename = "type")]
    pub gpu_type: String,
    /// How many there were.
    pub count: f64,
}

/// A tenant of the problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ProblemTenant {
    /// Its name.
    pub name: String,
    /// What it counted.
    pub weight: f64,
    /// GPUs that it may have at most; none: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demand: Option<f64>,
    /// GPUs by type that it was guaranteed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub guarantee: BTreeMap<String, f64>,
    /// GPUs by type that it could have at most; a type that is missing: no limit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limit: BTreeMap<String, f64>,
    /// Its workloads.
    pub workload: Vec<ProblemWorkload>,
}

/// A workload of the problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ProblemWorkload {
    /// Its name.
    pub name: String,
    /// What it counted.
    pub weight: f64,
    /// GPUs that its live jobs could use; none: any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demand: Option<f64>,
    /// Throughput by type; a type that is missing: none of its jobs could use it.
    pub throughput: BTreeMap<String, f64>,
    /// Of gangs: the throughput of a single worker by type, which says what counts as 1.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub single: BTreeMap<String, f64>,
}
