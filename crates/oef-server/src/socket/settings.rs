//! What the operator says about people on this machine.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The local socket, and who is who.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SocketSettings {
    /// Where it is; none: `/run/oef/oef.sock` for a daemon of the machine (`oef serve` as root), and none otherwise.
    pub path: Option<PathBuf>,
    /// The tenant of a Unix user, with `{user}` for the name.
    pub tenant_of: String,
    /// Tenants of users that are an exception.
    pub tenants: BTreeMap<String, String>,
    /// Users who may do everything, beside root and the daemon's own.
    pub operators: Vec<String>,
    /// Whether a tenant is created when its user first comes.
    pub create_tenants: bool,
}

impl Default for SocketSettings {
    fn default() -> Self {
        SocketSettings {
            path: None,
            tenant_of: "{user}".into(),
            tenants: BTreeMap::new(),
            operators: Vec::new(),
            create_tenants: true,
        }
    }
}
