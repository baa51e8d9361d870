//! What an operator may change while the daemon runs.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

/// The daemon in a few words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Info {
    /// The program.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Who asks: the role of the token.
    pub role: super::Role,
    /// And its tenant.
    pub tenant: Option<String>,
    /// The current round.
    pub round: u64,
    /// Seconds since the daemon was started.
    pub up_s: f64,
}

/// The settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Settings {
    /// How shares are computed.
    pub mechanism: String,
    /// The length of a round.
    pub round_s: f64,
    /// The reference type, where it is declared.
    pub reference: Option<String>,
    /// A job that was started runs at least so long.
    pub min_run_s: f64,
    /// How long a job may take to stop.
    pub grace_s: f64,
    /// How strongly a running job holds its GPUs.
    pub stickiness: f64,
    /// The memory of GPUs by type (`fast=24G,slow=11G`), where it was set.
    #[serde(default)]
    pub gpu_memory: String,
    /// What is done about profiles that are not what jobs show: off, report or replace.
    #[serde(default)]
    pub guard: String,
    /// Past usage counts, and what lies back by so long counts half; `null`: it does not count.
    pub usage_half_life_s: Option<f64>,
    /// What a weight is multiplied or divided by at most because of past usage.
    #[serde(default = "usual_bound")]
    pub usage_bound: f64,
}

fn usual_bound() -> f64 {
    2.0
}

/// What changes; what is left out stays.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(json!({"mechanism": "nash", "round_s": 60.0})))]
pub struct SettingsPatch {
    /// How shares are computed.
    pub mechanism: Option<String>,
    /// The length of a round.
    #[schema(minimum = 0.1, maximum = 86400.0)]
    pub round_s: Option<f64>,
    /// The reference type; the empty text: derived from the profiles.
    pub reference: Option<String>,
    /// A job that was started runs at least so long.
    #[schema(minimum = 0.0)]
    pub min_run_s: Option<f64>,
    /// How long a job may take to stop.
    #[schema(minimum = 0.0)]
    pub grace_s: Option<f64>,
    /// How strongly a running job holds its GPUs.
    #[schema(minimum = 0.0, maximum = 100.0)]
    pub stickiness: Option<f64>,
    /// The memory of GPUs by type, as in `fast=24G,slow=11G`; the empty text: what the names of the types tell.
    pub gpu_memory: Option<String>,
    /// What is done about profiles that are not what jobs show: off, report or replace.
    pub guard: Option<String>,
    /// Past usage counts, and what lies back by so long counts half; 0: it does not count.
    #[schema(minimum = 0.0)]
    pub usage_half_life_s: Option<f64>,
    /// What a weight is multiplied or divided by at most because of past usage.
    #[schema(minimum = 1.0, maximum = 16.0)]
    pub usage_bound: Option<f64>,
}
