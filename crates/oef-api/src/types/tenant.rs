//! Tenants and groups.

use super::job_change::given;
use crate::parsed::{TenantName, Weight};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::collections::BTreeMap;
use strum::IntoStaticStr;
use utoipa::openapi::{KnownFormat, ObjectBuilder, RefOr, Schema, SchemaFormat, Type};
use utoipa::{PartialSchema, ToSchema};

/// In the interface's document: a number of GPUs, as many as a `u32` holds.
pub struct GpuCount;

impl PartialSchema for GpuCount {
    fn schema() -> RefOr<Schema> {
        let count = ObjectBuilder::new()
            .schema_type(Type::Integer)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
            .minimum(Some(0))
            .maximum(Some(u32::MAX))
            .description(Some("A number of GPUs."));
        RefOr::T(Schema::Object(count.build()))
    }
}

impl ToSchema for GpuCount {}

/// A tenant to be created.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(json!({"name": "vision", "weight": 2.0, "limits": {"gpus": 16}})))]
pub struct TenantCreate {
    /// Its name, unique.
    #[schema(value_type = String)]
    pub name: TenantName,
    /// What it is entitled to, relative to the others; 1 by default.
    #[schema(value_type = Option<f64>, exclusive_minimum = 0.0)]
    pub weight: Option<Weight>,
    /// The group in which it stands.
    pub group: Option<String>,
    /// What it may use at most.
    #[serde(default)]
    pub limits: Limits,
    /// GPUs by gpu type that it gets before anybody's share, while it can use them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, GpuCount>)]
    pub guarantee: BTreeMap<String, u32>,
    /// GPUs by gpu type that it may have at most; a type that is missing: no limit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, GpuCount>)]
    pub limit: BTreeMap<String, u32>,
    /// The Unix user that its jobs run as; by default that of the daemon.
    pub user: Option<String>,
}

impl TenantCreate {
    /// A tenant of which only the name is said.
    pub fn named(name: TenantName) -> TenantCreate {
        TenantCreate {
            name,
            weight: None,
            group: None,
            limits: Limits::default(),
            guarantee: BTreeMap::new(),
            limit: BTreeMap::new(),
            user: None,
        }
    }
}

/// What changes about a tenant; what is left out stays.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(json!({"weight": 3.0, "suspended": false})))]
pub struct TenantPatch {
    /// Its weight.
    #[schema(value_type = Option<f64>, exclusive_minimum = 0.0)]
    pub weight: Option<Weight>,
    /// Its group; `null` takes it out of its group.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    pub group: Option<Option<String>>,
    /// Its limits, all of them.
    pub limits: Option<Limits>,
    /// GPUs by gpu type that it gets before anybody's share, all of them; an empty object takes them away.
    #[schema(value_type = Option<BTreeMap<String, GpuCount>>)]
    pub guarantee: Option<BTreeMap<String, u32>>,
    /// GPUs by gpu type that it may have at most, all of them; an empty object takes the limits away.
    #[schema(value_type = Option<BTreeMap<String, GpuCount>>)]
    pub limit: Option<BTreeMap<String, u32>>,
    /// Whether its jobs may not run.
    pub suspended: Option<bool>,
    /// In which order its waiting jobs start. A tenant may change this itself.
    pub order: Option<JobOrder>,
    /// The Unix user that its jobs run as from their next start on; `null`: that of the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    pub user: Option<Option<String>>,
}

/// In which order the waiting jobs of a workload start, among those of equal priority.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoStaticStr,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum JobOrder {
    /// Who has waited longest since it last ran; a running job that has had its turn gives way.
    #[default]
    Fair,
    /// The oldest first; who runs stays.
    Fifo,
    /// The one with the fewest steps left first; who runs stays. Jobs that do not tell their `steps` come last.
    Shortest,
}

impl JobOrder {
    /// All of them.
    pub const ALL: [JobOrder; 3] = [JobOrder::Fair, JobOrder::Fifo, JobOrder::Shortest];

    fn is_fair(&self) -> bool {
        *self == JobOrder::Fair
    }

    /// The word for it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What a tenant may use at most.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// GPUs at once.
    #[schema(value_type = Option<u64>, maximum = 4_294_967_295_u32)]
    pub gpus: Option<u32>,
    /// Jobs that have not ended.
    #[schema(value_type = Option<u64>, maximum = 4_294_967_295_u32)]
    pub jobs: Option<u32>,
}

/// A tenant as it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Tenant {
    /// Its name.
    pub name: String,
    /// Its weight.
    pub weight: f64,
    /// The weight that counted in the last shares: its part of its group's, and more or less by past usage where that counts.
    pub effective_weight: Option<f64>,
    /// What it used lately, where that counts (`usage_half_life_s` in the settings).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub past: Option<PastUsage>,
    /// Its group.
    pub group: Option<String>,
    /// What it may use at most.
    pub limits: Limits,
    /// GPUs by gpu type that it gets before anybody's share, while it can use them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, GpuCount>)]
    pub guarantee: BTreeMap<String, u32>,
    /// GPUs by gpu type that it may have at most; a type that is missing: no limit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, GpuCount>)]
    pub limit: BTreeMap<String, u32>,
    /// Whether its jobs may not run.
    pub suspended: bool,
    /// In which order its waiting jobs start; left out where it is `fair`.
    #[serde(default, skip_serializing_if = "JobOrder::is_fair")]
    pub order: JobOrder,
    /// The Unix user that its jobs run as; none: that of the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// When it was created.
    pub created: Timestamp,
    /// Its jobs that wait.
    pub queued: u32,
    /// Its jobs that run.
    pub running: u32,
    /// GPUs that it is entitled to in this round, by type.
    pub share: BTreeMap<String, f64>,
    /// GPUs that its jobs hold, by type.
    pub holds: BTreeMap<String, u32>,
    /// GPU-rounds that it is owed, by type; negative: it has had more than its share.
    pub deficit: BTreeMap<String, f64>,
}

/// What a tenant used lately, and what that does to its weight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PastUsage {
    /// GPU-hours of the reference type that its jobs held; what lies back by a half-life counts half.
    pub used_hours: f64,
    /// What its equal split among all tenants would have been, counted in the same way.
    pub split_hours: f64,
    /// The first over the second: 1 for a tenant that used its equal split, 0 for one that was idle.
    pub usage: f64,
    /// What its weight is multiplied by in this round.
    pub factor: f64,
}

/// Why a tenant has what it has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TenantWhy {
    /// The tenant.
    pub tenant: String,
    /// In a sentence or two.
    pub sentence: String,
    /// More sentences: the prices, what binds, what it waits for.
    pub details: Vec<String>,
}

/// A group of tenants and of other groups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Group {
    /// Its name, unique among groups.
    pub name: String,
    /// Its weight, divided among its active members.
    pub weight: f64,
    /// The group in which it stands itself.
    pub parent: Option<String>,
    /// The tenants that stand in it directly.
    pub tenants: Vec<String>,
    /// GPUs by gpu type that the tenants below it together get before anybody's share, while they can use them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, GpuCount>)]
    pub guarantee: BTreeMap<String, u32>,
    /// GPUs by gpu type that the tenants below it together may have at most; a type that is missing: no limit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, GpuCount>)]
    pub limit: BTreeMap<String, u32>,
}

/// A group to be created or changed.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(json!({"weight": 2.0})))]
pub struct GroupPut {
    /// Its weight; 1 by default.
    #[schema(value_type = Option<f64>, exclusive_minimum = 0.0)]
    pub weight: Option<Weight>,
    /// The group in which it stands.
    pub parent: Option<String>,
    /// GPUs by gpu type that the tenants below it together get before anybody's share, all of them; an empty object takes them away.
    #[schema(value_type = Option<BTreeMap<String, GpuCount>>)]
    pub guarantee: Option<BTreeMap<String, u32>>,
    /// GPUs by gpu type that the tenants below it together may have at most, all of them; an empty object takes the limits away.
    #[schema(value_type = Option<BTreeMap<String, GpuCount>>)]
    pub limit: Option<BTreeMap<String, u32>>,
}
