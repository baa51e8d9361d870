//! How a client on the same machine finds the daemon.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// The access file: where the daemon listens and the token of its owner. It has mode 0600.
#[skip_serializing_none]
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// For example `http://127.0.0.1:7733`.
    pub server: String,
    /// An admin's token.
    pub token: String,
    /// The daemon's certificate authority, where it has one of its own.
    pub ca: Option<String>,
    /// Its state folder, for the commands that read it.
    pub state: Option<String>,
}

impl std::fmt::Debug for Access {
    /// Without the token: it must not get into a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access").field("server", &self.server).finish_non_exhaustive()
    }
}
