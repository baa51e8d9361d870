//! Tokens and what their holders may do.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use strum::IntoStaticStr;
use utoipa::ToSchema;

/// What the holder of a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Everything.
    Admin,
    /// Runs the cluster: everybody's jobs (but not their commands, environments and logs), nodes, and what tenants
    /// are entitled to. Neither tokens nor settings.
    Operator,
    /// Its tenant's jobs, workloads and logs.
    Tenant,
    /// Look at everything but logs, commands and environments; change nothing.
    Viewer,
}

impl Role {
    /// The word for it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A token to be created.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(json!({"role": "viewer", "note": "the screen in the corridor"})))]
pub struct TokenCreate {
    /// What its holder may do.
    pub role: Role,
    /// For which tenant; needed for the role `tenant`.
    pub tenant: Option<String>,
    /// A note for people: whose it is, what it is for.
    pub note: Option<String>,
    /// It is void after so many seconds; by default never.
    #[schema(exclusive_minimum = 0.0)]
    pub expires_in_s: Option<f64>,
}

/// A new token: its secret is shown this once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NewToken {
    /// What is kept of it.
    pub token: Token,
    /// The secret: what goes into `Authorization: Bearer`.
    pub secret: String,
}

/// A token, without its secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Token {
    /// Its number, with which it is revoked.
    pub id: u64,
    /// What its holder may do.
    pub role: Role,
    /// For which tenant.
    pub tenant: Option<String>,
    /// A note for people.
    pub note: Option<String>,
    /// When it was created.
    pub created: Timestamp,
    /// When it becomes void.
    pub expires: Option<Timestamp>,
}
