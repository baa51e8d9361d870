//! What would happen if, as sliders ask: the whole scenario at once, and everybody before and after.

use super::Audit;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Changes to the problem of the current shares; nothing is changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(json!({"weights": {"vision": 2.0}, "gpus": {"rtx3090": 12}})))]
pub struct Scenario {
    /// Another mechanism.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mechanism: Option<String>,
    /// Other weights, by tenant.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, f64>,
    /// How many GPUs of a type there are instead.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gpus: BTreeMap<String, f64>,
    /// Tenants that leave.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 100)]
    pub removed: Vec<String>,
    /// Tenants that come.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 100)]
    pub added: Vec<ScenarioTenant>,
    /// Whether the certificate is wanted: with many tenants it takes longer than the shares.
    #[serde(default)]
    pub certificate: bool,
}

/// A tenant that is not there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(json!({"name": "newcomer", "weight": 1.0, "demand": 8.0, "throughput": {"rtx3070": 1.0, "rtx3090": 2.0}})))]
pub struct ScenarioTenant {
    /// Its name.
    pub name: String,
    /// Its weight.
    pub weight: f64,
    /// GPUs that it can use; none: any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demand: Option<f64>,
    /// Its profile, in any unit.
    pub throughput: BTreeMap<String, f64>,
}

/// Everybody before and after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScenarioAnswer {
    /// The round whose shares are `before`.
    pub round: u64,
    /// The mechanism before.
    pub mechanism_before: String,
    /// And after.
    pub mechanism_after: String,
    /// What it promises before.
    pub promises_before: Vec<String>,
    /// And after.
    pub promises_after: Vec<String>,
    /// The type against which speedups are counted.
    pub reference: String,
    /// The gpu types.
    pub types: Vec<ScenarioType>,
    /// Total normalised throughput before, of the tenants that are listed.
    pub total_before: f64,
    /// And after.
    pub total_after: f64,
    /// Every tenant that is there before or after; for a tenant itself.
    pub tenants: Vec<ScenarioEffect>,
    /// The certificate before, where it was asked for.
    pub audit_before: Option<Audit>,
    /// And after.
    pub audit_after: Option<Audit>,
    /// How long the computation of the shares took.
    pub solve_s: f64,
}

/// A gpu type before and after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScenarioType {
    /// Its name.
    #[serde(rename = "type")]
    pub gpu_type: String,
    /// GPUs before.
    pub before: f64,
    /// And after.
    pub after: f64,
    /// Value of one more before, in total throughput.
    pub price_before: f64,
    /// And after; none: it follows from the profiles of others, which the caller may not see.
    pub price_after: Option<f64>,
}

/// A tenant before and after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScenarioEffect {
    /// Its name.
    pub tenant: String,
    /// Its figures before; none: it comes.
    pub before: Option<ScenarioFigures>,
    /// And after; none: it leaves.
    pub after: Option<ScenarioFigures>,
}

/// A tenant's figures in one answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScenarioFigures {
    /// The weight that counts.
    pub weight: f64,
    /// Normalised throughput of its share.
    pub throughput: f64,
    /// Normalised throughput of an equal split.
    pub equal_split: f64,
    /// GPUs by type, in the order of `types`.
    pub share: Vec<f64>,
}
