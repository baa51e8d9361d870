//! Codes in links: each logs one browser in, once, within minutes.

use crate::secret;
use oef_api::types::{LoginCode, Problem};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Long enough to walk to another screen with it.
const LIFETIME: Duration = Duration::from_secs(15 * 60);
/// Codes that nobody used yet; beyond, the oldest is void.
const CODES_MAX: usize = 1_000;

/// Codes by their hash, with whose they are and until when.
#[derive(Default)]
pub(in crate::http) struct Codes {
    open: Mutex<HashMap<String, (u64, Instant)>>,
}

impl Codes {
    /// A new code for the holder of a token.
    pub fn create(&self, token: u64) -> Result<LoginCode, Problem> {
        let secret = secret::new()?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        open.retain(|_, (_, until)| *until > now);
        if open.len() >= CODES_MAX {
            let oldest = open.iter().min_by_key(|(_, (_, until))| *until);
            if let Some(oldest) = oldest.map(|(hash, _)| hash.clone()) {
                open.remove(&oldest);
            }
        }
        let code = secret.text.trim_start_matches("oef_").to_string();
        open.insert(secret::hash(&code), (token, now + LIFETIME));
        Ok(LoginCode {
            path: format!("/login#{code}"),
            code,
            expires_in_s: LIFETIME.as_secs(),
            server: None,
        })
    }

    /// Whose code that is. It counts this once.
    pub fn redeem(&self, code: &str) -> Option<u64> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let (token, until) = open.remove(&secret::hash(code))?;
        (until > Instant::now()).then_some(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_counts_once() {
        let codes = Codes::default();
        let code = codes.create(7).expect("a code");
        assert_eq!(code.path, format!("/login#{}", code.code));
        assert!(!format!("{code:?}").contains(&code.code), "it gets into no log");
        assert_eq!(codes.redeem("other"), None);
        assert_eq!(codes.redeem(&code.code), Some(7));
        assert_eq!(codes.redeem(&code.code), None);
    }

    #[test]
    fn there_is_an_end_to_them() {
        let codes = Codes::default();
        let first = codes.create(1).expect("a code");
        for _ in 0..CODES_MAX {
            codes.create(2).expect("a code");
        }
        assert_eq!(codes.redeem(&first.code), None);
    }
}
