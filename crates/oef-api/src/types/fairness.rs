//! Who was promised what, who got it, and who would rather be another.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Fairness now and in the last rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Fairness {
    /// The round.
    pub round: u64,
    /// How shares were computed.
    pub mechanism: String,
    /// Every tenant with jobs.
    pub tenants: Vec<TenantFairness>,
    /// How much each values each other's share over its own: row tenant, column tenant; over 1 is envy. With
    /// more than 64 tenants only the largest of each row.
    pub envy: Vec<EnvyEntry>,
    /// The smallest throughput over that of an equal split; 1 and more: the sharing incentive holds.
    pub sharing_incentive: Option<f64>,
    /// The largest envy; 0: none.
    pub worst_envy: Option<f64>,
    /// Whether envy and sharing incentive are about what lies beyond guarantees and limits by gpu type: some tenant has one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub beyond_guarantees: bool,
    /// The half-life of past usage, where it counts: all of this is judged with the weights that counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage_half_life_s: Option<f64>,
}

/// A tenant's part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TenantFairness {
    /// The tenant.
    pub tenant: String,
    /// Its effective weight.
    pub weight: f64,
    /// Normalised throughput of its share.
    pub promised: f64,
    /// Normalised throughput of the GPUs that it holds now.
    pub delivered: f64,
    /// Normalised throughput of an equal split.
    pub equal_split: f64,
    /// Promised since it first had jobs, in GPU-seconds of the reference type.
    pub promised_total: f64,
    /// Delivered since then.
    pub delivered_total: f64,
    /// Promised and delivered over time, the oldest first.
    pub history: Vec<FairnessPoint>,
    /// What the last 24 hours delivered; absent before its first round.
    pub day: Option<DayFairness>,
}

/// What the last 24 hours delivered to a tenant, while it had jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DayFairness {
    /// Hours in which it had jobs.
    pub hours: f64,
    /// What it got over its equal split (what its jobs could use of it).
    pub of_equal_split: Option<f64>,
    /// The tenant whose GPUs would have been worth more to it, if there is one.
    pub envies: Option<String>,
    /// What the GPUs of the tenant whose were worth most to it would have given it, scaled by weight, over what it got;
    /// over 1 is envy. Absent with more than 300 tenants.
    pub envy: Option<f64>,
    /// The same in a sentence.
    pub sentence: String,
}

/// A tenant's part in one round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FairnessPoint {
    /// The round.
    pub round: u64,
    /// When it ended.
    pub at: Timestamp,
    /// Mean normalised throughput that was promised.
    pub promised: f64,
    /// Mean normalised throughput that was delivered.
    pub delivered: f64,
}

/// How one tenant values another's share over its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EnvyEntry {
    /// Who compares.
    pub tenant: String,
    /// With whom, per weight.
    pub other: String,
    /// The other's share over its own, in its own eyes; over 1 is envy.
    pub ratio: f64,
}
