//! Tokens, and keys of submissions.

use super::index::Index;
use super::record::SubmitKey;
use super::{Rejection, World};
use oef_api::types::{EventTopic, Role};
use oef_sched::{JobId, Span, Time};
use serde::{Deserialize, Serialize};

/// A client that tries again does so within a day.
const KEYS_KEPT_FOR: Span = Span(24 * 3600 * 1000);
/// Some ten megabytes of keys.
pub(super) const KEYS_MAX: usize = 100_000;

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

/// Whose key that is: what stands before the first slash.
fn caller_of(key: &str) -> &str {
    key.split('/').next().unwrap_or_default()
}

impl Index {
    pub(super) fn add_key(&mut self, key: &str) {
        *self.keys.entry(caller_of(key).into()).or_default() += 1;
    }

    fn forget_key(&mut self, key: &str) {
        let caller = caller_of(key);
        if let Some(count) = self.keys.get_mut(caller) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.keys.remove(caller);
            }
        }
    }

    /// The caller with the most keys; of several the last by name.
    fn most_keys(&self) -> Option<&str> {
        let most = self.keys.iter().max_by_key(|(_, count)| **count);
        most.map(|(caller, _)| caller.as_str())
    }
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
        self.index.add_key(&key.text());
        while let Some(first) = self.key_order.front() {
            let is_old =
                self.keys.get(first).is_none_or(|entry| self.at.since(entry.at) > KEYS_KEPT_FOR);
            if !is_old && self.key_order.len() <= KEYS_MAX {
                break;
            }
            // Whoever submits without end takes no key of another, whose next try would be a second submission.
            let is_fair = !is_old && self.meaning >= super::FORGETS_KEYS_OF_THE_MOST;
            let at = if is_fair { self.first_key_of_the_most() } else { 0 };
            let Some(key) = self.key_order.remove(at) else { break };
            self.keys.remove(&key);
            self.index.forget_key(&key);
        }
    }

    /// Where the oldest key of the caller with the most of them stands.
    fn first_key_of_the_most(&self) -> usize {
        let most = self.index.most_keys();
        self.key_order.iter().position(|key| Some(caller_of(key)) == most).unwrap_or(0)
    }
}
