//! Who used how much of what.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

/// By what usage is summed up.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum UsageBy {
    /// Tenants.
    #[default]
    Tenant,
    /// People who submitted, over all their tenants.
    User,
    /// Workloads of tenants.
    Workload,
    /// Gpu types.
    Type,
}

/// Which usage is wanted.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct UsageQuery {
    /// From this day on (UTC); beyond two months from this month on. Default: all that is known.
    pub since: Option<Timestamp>,
    /// Until this day, and with it. Default: today.
    pub until: Option<Timestamp>,
    /// By what it is summed up.
    #[param(inline)]
    pub by: Option<UsageBy>,
}

/// GPU time that was used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Usage {
    /// The beginning of the first period that is counted.
    pub from: Timestamp,
    /// Until when it is counted.
    pub to: Timestamp,
    /// By what it is summed up.
    pub by: UsageBy,
    /// In the order of names; one line for each gpu type.
    pub rows: Vec<UsageRow>,
}

/// Hours of GPUs of one type.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UsageRow {
    /// The tenant, user or workload (`TENANT/WORKLOAD`); empty where it is by type, or where the user is not known.
    pub name: String,
    /// The gpu type.
    #[serde(rename = "type")]
    pub gpu_type: String,
    /// GPU-hours that were held.
    pub gpu_hours: f64,
    /// GPU-hours that were its share; shares belong to tenants, so workloads and users have none.
    pub promised: Option<f64>,
    /// Of what was held, beyond its share.
    pub borrowed: Option<f64>,
    /// Of its share, not used by it.
    pub lent: Option<f64>,
    /// Of what was held, work that was lost because a run ended before it was saved.
    pub wasted: f64,
    /// Of what was held, GPU-hours in which it was measured how busy the GPUs were.
    #[serde(default)]
    pub measured: f64,
    /// The part of these GPU-hours in which they computed, from 0 to 1; null where nothing was measured.
    #[serialize_always]
    pub utilisation: Option<f64>,
}
