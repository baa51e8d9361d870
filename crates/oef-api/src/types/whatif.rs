//! What would happen if.

use super::{Audit, JobSubmit};
use crate::parsed::Weight;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Changes to think through on the live state; nothing is changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(json!({"changes": [{"change": "mechanism", "mechanism": "nash"}]})))]
pub struct WhatIf {
    /// One after the other.
    #[schema(min_items = 1, max_items = 100)]
    pub changes: Vec<WhatIfChange>,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "change", rename_all = "snake_case", deny_unknown_fields)]
pub enum WhatIfChange {
    /// A tenant's weight.
    Weight {
        /// The tenant.
        tenant: String,
        /// Its new weight.
        #[schema(value_type = f64)]
        weight: Weight,
    },
    /// More GPUs of a type (known or new).
    AddGpus {
        /// The type.
        #[serde(rename = "type")]
        gpu_type: String,
        /// How many.
        #[schema(value_type = u64, maximum = 4_294_967_295_u32)]
        count: u32,
    },
    /// Fewer GPUs of a type.
    RemoveGpus {
        /// The type.
        #[serde(rename = "type")]
        gpu_type: String,
        /// How many.
        #[schema(value_type = u64, maximum = 4_294_967_295_u32)]
        count: u32,
    },
    /// A tenant leaves with all its jobs.
    RemoveTenant {
        /// The tenant.
        tenant: String,
    },
    /// A job is submitted.
    Submit {
        /// The job.
        job: Box<JobSubmit>,
    },
    /// Another mechanism.
    Mechanism {
        /// Its name.
        mechanism: String,
    },
}

/// What would happen to everyone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WhatIfAnswer {
    /// Total normalised throughput before, of the tenants that are listed.
    pub total_before: f64,
    /// And after.
    pub total_after: f64,
    /// Every tenant that has jobs before or after; for a tenant itself.
    pub tenants: Vec<TenantEffect>,
    /// When each submitted job could expect to start, in the order of the changes.
    pub starts: Vec<ExpectedStart>,
    /// The certificate after; none for a tenant.
    pub audit: Option<Audit>,
    /// In sentences.
    pub sentences: Vec<String>,
}

/// When a job could expect to start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ExpectedStart {
    /// The round, if one can be told.
    pub round: Option<u64>,
    /// The same as a time.
    pub at: Option<Timestamp>,
    /// Why then.
    pub reason: String,
}

/// What would happen to a tenant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TenantEffect {
    /// The tenant.
    pub tenant: String,
    /// Normalised throughput of its share before.
    pub before: f64,
    /// And after.
    pub after: f64,
}
