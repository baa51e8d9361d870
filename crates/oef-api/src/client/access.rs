//! Finding the daemon: the environment first, then the access file.

use super::unix;
use crate::types::Access;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Where the daemon listens.
const SERVER: &str = "OEF_SERVER";
/// The token to show.
const TOKEN: &str = "OEF_TOKEN";
/// The access file of a daemon other than the usual one.
const ACCESS: &str = "OEF_ACCESS";
/// A file with the certificates of an authority of one's own.
const CA: &str = "OEF_CA";
/// An access file is three short lines; whatever is larger is something else.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Why no daemon was found.
#[derive(Debug, Error)]
pub enum AccessError {
    /// Nothing says where the daemon is.
    #[error("no daemon is known: there is no {path} and OEF_SERVER is not set")]
    None {
        /// Where the access file would be.
        path: PathBuf,
    },
    /// There is no place where an access file could be.
    #[error("no daemon is known: OEF_SERVER is not set, and neither XDG_STATE_HOME nor HOME is")]
    NoFolder,
    /// A server without a token.
    #[error("OEF_SERVER is {server}, but OEF_TOKEN is not set")]
    NoToken {
        /// The server.
        server: String,
    },
    /// Others may read the token.
    #[error("{path} can be read by others (mode {mode:03o})")]
    Open {
        /// The access file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The file is there and cannot be read.
    #[error("{path} cannot be read: {cause}")]
    Unreadable {
        /// The access file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// The file is no access file.
    #[error("{path} is not an access file: {cause}")]
    Damaged {
        /// The access file.
        path: PathBuf,
        /// Why.
        cause: String,
    },
}

impl AccessError {
    /// The way out.
    pub fn hint(&self) -> String {
        match self {
            AccessError::None { .. } | AccessError::NoFolder => {
                "start a daemon on this machine with `oef up`, or set OEF_SERVER and OEF_TOKEN".into()
            }
            AccessError::NoToken { .. } => {
                "set OEF_TOKEN to a token of that server (its operator makes one with `oef token create`)".into()
            }
            AccessError::Open { path, .. } => {
                let path = path.display();
                format!("it holds a token: run `chmod 600 {path}`, and make a new token if somebody may have seen it")
            }
            AccessError::Unreadable { .. } => {
                "run as the user who started the daemon, or set OEF_SERVER and OEF_TOKEN".into()
            }
            AccessError::Damaged { .. } => {
                "remove it and start the daemon again, which writes a new one".into()
            }
        }
    }
}

impl Access {
    /// The daemon that the environment names, or else the one whose access file is there.
    ///
    /// Where neither is there, the daemon that listens for the users of this machine: it needs no token.
    pub fn find() -> Result<Access, AccessError> {
        let found = find(&variable);
        match (&found, unix::usual()) {
            (Err(AccessError::None { .. } | AccessError::NoFolder), Some(path)) => Ok(Access {
                server: unix::address_of(&path),
                token: String::new(),
                ca: None,
                state: None,
            }),
            _ => found,
        }
    }
}

/// The access file that `OEF_ACCESS` names, if it names one.
pub fn named_file() -> Option<PathBuf> {
    variable(ACCESS).map(PathBuf::from)
}

/// Where the access file is: `$XDG_STATE_HOME/oef/access.json`, by default under `~/.local/state`.
pub fn file() -> Option<PathBuf> {
    file_in(&variable)
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

fn file_in(env: Env<'_>) -> Option<PathBuf> {
    let state = env("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let state = state.or_else(|| env("HOME").map(|home| Path::new(&home).join(".local/state")));
    state.map(|state| state.join("oef/access.json"))
}

fn find(env: Env<'_>) -> Result<Access, AccessError> {
    let (server, token, ca) = (env(SERVER), env(TOKEN), env(CA));
    if let (Some(server), Some(token)) = (&server, &token) {
        return Ok(Access { server: trimmed(server), token: token.clone(), ca, state: None });
    }
    if let Some(server) = server.as_ref().filter(|server| unix::path_of(server).is_some()) {
        return Ok(Access { server: server.clone(), token: String::new(), ca: None, state: None });
    }
    let named = env(ACCESS).map(PathBuf::from);
    let read = match named.or_else(|| file_in(env)) {
        Some(path) => read(&path),
        None => Err(AccessError::NoFolder),
    };
    match (server, read) {
        // The token of one server is not shown to another.
        (Some(server), Ok(access)) if trimmed(&access.server) != trimmed(&server) => {
            Err(AccessError::NoToken { server })
        }
        (Some(server), Err(_)) => Err(AccessError::NoToken { server }),
        (_, Ok(access)) => Ok(Access {
            server: trimmed(&access.server),
            token: token.unwrap_or(access.token),
            ca: ca.or(access.ca),
            state: access.state,
        }),
        (None, Err(error)) => Err(error),
    }
}

/// Without the slashes at the end and with a scheme, so that paths can be put behind it.
fn trimmed(server: &str) -> String {
    let server = server.trim().trim_end_matches('/');
    if server.contains("://") { server.into() } else { format!("http://{server}") }
}

fn read(path: &Path) -> Result<Access, AccessError> {
    let unreadable = |cause| AccessError::Unreadable { path: path.into(), cause };
    let meta = match fs::metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(AccessError::None { path: path.into() });
        }
        Err(error) => return Err(unreadable(error)),
    };
    check_mode(path, &meta)?;
    let damaged = |cause: String| AccessError::Damaged { path: path.into(), cause };
    if !meta.is_file() || meta.len() > FILE_BYTES_MAX {
        return Err(damaged("a small file is expected there".into()));
    }
    let text = fs::read_to_string(path).map_err(unreadable)?;
    serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))
}

#[cfg(unix)]
fn check_mode(path: &Path, meta: &fs::Metadata) -> Result<(), AccessError> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = meta.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(AccessError::Open { path: path.into(), mode });
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_mode(_: &Path, _: &fs::Metadata) -> Result<(), AccessError> {
    Ok(())
}

#[cfg(test)]
#[path = "access_tests.rs"]
mod tests;
