//! Tokens, and keys of submissions.

use super::record::SubmitKey;
use super::{Rejection, World};
use oef_api::types::{EventTopic, Role};
use oef_sched::{JobId, Span, Time};
use serde::{Deserialize, Serialize};

/// A client that tries again does so within a day.
const KEYS_KEPT_FOR: Span = Span(24 * 3600 * 1000);
/// Some ten megabytes of keys.
const KEYS_MAX: usize = 100_000;

/// What is kept of a token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TokenEntry {
    /// SHA-256 of the secret, in hexadecimal digits.
    pub hash: String,
    /// What its holder may do.
    pub role: Role,
    /// For which tenant.
    pub tenant: Option<String>,
    /// A note for people.
    pub note: Option<String>,
    /// When it was created.
    pub created_ms: u64,
    /// When it becomes void.
    pub expires_ms: Option<u64>,
}

/// A submission that may come again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyEntry {
    /// When it came first.
    pub at: Time,
    /// What it was, as a digest.
    pub digest: String,
    /// The jobs that it made.
    pub jobs: Vec<JobId>,
}

impl World {
    pub(super) fn token_created(&mut self, id: u64, token: &TokenEntry) -> Result<(), Rejection> {
        if id < self.next_token {
            return Err(Rejection::UsedNumber(id));
        }
        token.tenant.as_deref().map(|tenant| self.known_tenant(tenant)).transpose()?;
        self.next_token = id.saturating_add(1);
        self.tokens.insert(id, token.clone());
        self.index.secrets.insert(token.hash.clone(), id);
        self.note(EventTopic::Tenant, None, format!("token {id} was created"));
        Ok(())
    }

    pub(super) fn token_revoked(&mut self, id: u64) -> Result<(), Rejection> {
        let token = self.tokens.remove(&id).ok_or(Rejection::UnknownToken(id))?;
        self.index.secrets.remove(&token.hash);
        self.note(EventTopic::Tenant, None, format!("token {id} was revoked"));
        Ok(())
    }

    pub(super) fn remember_key(&mut self, key: &SubmitKey, jobs: Vec<JobId>) {
        let entry = KeyEntry { at: self.at, digest: key.digest.clone(), jobs };
        self.keys.insert(key.text(), entry);
        self.key_order.push_back(key.text());
        while let Some(first) = self.key_order.front() {
            let is_old =
                self.keys.get(first).is_none_or(|entry| self.at.since(entry.at) > KEYS_KEPT_FOR);
            if !is_old && self.key_order.len() <= KEYS_MAX {
                break;
            }
            self.keys.remove(first);
            self.key_order.pop_front();
        }
    }
}
