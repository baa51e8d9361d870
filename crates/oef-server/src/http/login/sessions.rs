//! Browsers that are logged in. Of the secret in their cookie only the hash is kept.

use super::fair::{Limits, make_room};
use crate::secret;
use oef_api::types::ApiError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A working day, and a little more.
pub(super) const LIFETIME_S: u64 = 12 * 3600;
/// Sessions of one caller; beyond, the one of its own that ends first goes. Many people may share the token of a viewer.
const SESSIONS_OF_ONE_MAX: usize = 500;
/// Sessions of all callers; beyond, the first of the caller with the most goes. Some hundred kilobytes.
const SESSIONS_MAX: usize = 4_000;

/// Sessions by the hash of their secret.
#[derive(Default)]
pub(in crate::http) struct Sessions {
    inner: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    sessions: BTreeMap<String, Session>,
    file: Option<PathBuf>,
}

/// A browser that is logged in.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Session {
    /// The token that it was begun with: what it may do is asked there, every time.
    token: u64,
    expires_ms: u64,
}

impl Sessions {
    /// Keeps them in a file from now on, and goes on with those in it.
    pub fn keep_in(&self, file: PathBuf) {
        let mut kept = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let text = fs::read_to_string(&file).unwrap_or_default();
        // A file that cannot be read logs everybody out, which is safe.
        kept.sessions = serde_json::from_str(&text).unwrap_or_default();
        kept.file = Some(file);
    }

    /// Begins one. Returns the secret for the cookie, and when it ends.
    pub fn begin(&self, token: u64, now_ms: u64) -> Result<(String, u64), ApiError> {
        let secret = secret::new()?;
        let expires_ms = now_ms.saturating_add(LIFETIME_S * 1000);
        let mut kept = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        kept.sessions.retain(|_, session| session.expires_ms > now_ms);
        let limits = Limits { of_one: SESSIONS_OF_ONE_MAX, of_all: SESSIONS_MAX };
        make_room(&mut kept.sessions, token, limits, |one| (one.token, one.expires_ms));
        kept.sessions.insert(secret.hash, Session { token, expires_ms });
        kept.save();
        Ok((secret.text, expires_ms))
    }

    /// The token behind a secret, and when the session ends.
    pub fn find(&self, secret: &str, now_ms: u64) -> Option<(u64, u64)> {
        let kept = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let session = kept.sessions.get(&secret::hash(secret))?;
        (session.expires_ms > now_ms).then_some((session.token, session.expires_ms))
    }

    /// Ends one.
    pub fn end(&self, secret: &str) {
        let mut kept = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.sessions.remove(&secret::hash(secret)).is_some() {
            kept.save();
        }
    }
}

impl Kept {
    fn save(&self) {
        let Some(file) = &self.file else { return };
        if let Err(error) = write(file, &serde_json::json!(self.sessions).to_string()) {
            tracing::warn!(%error, "sessions of browsers could not be written: a restart logs them out");
        }
    }
}

/// Whole or not at all, and never readable for others.
fn write(file: &Path, text: &str) -> io::Result<()> {
    let part = file.with_extension("part");
    let _ = fs::remove_file(&part);
    let mut out = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part)?;
    out.write_all(text.as_bytes())?;
    fs::rename(&part, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_ends_its_own_sessions_only() {
        let sessions = Sessions::default();
        let (other, _) = sessions.begin(1, 0).expect("a session");
        let (first, _) = sessions.begin(2, 1).expect("a session");
        for now in 0..SESSIONS_MAX as u64 {
            sessions.begin(2, 2 + now).expect("a session");
        }
        assert_eq!(sessions.find(&first, 5_000), None);
        assert!(sessions.find(&other, 5_000).is_some());
    }

    #[test]
    fn a_session_ends_by_time_or_by_word_and_survives_a_restart() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("sessions.json");
        let sessions = Sessions::default();
        sessions.keep_in(file.clone());
        let (secret, until) = sessions.begin(3, 1_000).expect("a session");
        assert_eq!(sessions.find(&secret, until - 1), Some((3, until)));
        assert_eq!(sessions.find(&secret, until), None);
        assert!(!fs::read_to_string(&file).expect("written").contains(&secret));
        let again = Sessions::default();
        again.keep_in(file.clone());
        assert_eq!(again.find(&secret, 2_000), Some((3, until)));
        again.end(&secret);
        assert_eq!(again.find(&secret, 2_000), None);
        fs::write(&file, "{").expect("written");
        again.keep_in(file);
        assert!(again.begin(0, 0).is_ok());
    }
}
