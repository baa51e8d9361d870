//! Codes in links: each logs one browser in, once, within minutes.

use super::fair::{Limits, make_room};
use crate::secret;
use oef_api::types::{ApiError, LoginCode};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Long enough to walk to another screen with it.
const LIFETIME: Duration = Duration::from_secs(15 * 60);
/// Codes of one caller that nobody used yet; beyond, the oldest of its own is void.
const CODES_OF_ONE_MAX: usize = 32;
/// Codes of all callers; beyond, the oldest of the caller with the most is void.
const CODES_MAX: usize = 10_000;

/// Codes by their hash, with whose they are and until when.
#[derive(Default)]
pub(in crate::http) struct Codes {
    open: Mutex<BTreeMap<String, (u64, Instant)>>,
}

impl Codes {
    /// A new code for the holder of a token.
    pub fn create(&self, token: u64) -> Result<LoginCode, ApiError> {
        let secret = secret::new()?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        open.retain(|_, (_, until)| *until > now);
        let limits = Limits { of_one: CODES_OF_ONE_MAX, of_all: CODES_MAX };
        make_room(&mut open, token, limits, |(token, until)| (*token, *until));
        let code = secret.text.trim_start_matches("oef_").to_string();
        open.insert(secret::hash(&code), (token, now + LIFETIME));
        Ok(LoginCode {
            path: format!("/login#{code}"),
            code,
            expires_in_s: LIFETIME.as_secs(),
            server: None,
        })
    }

    /// Whose code that is. It still counts after that.
    pub fn whose(&self, code: &str) -> Option<u64> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let (token, until) = open.get(&secret::hash(code))?;
        (*until > Instant::now()).then_some(*token)
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
        assert_eq!((codes.whose("other"), codes.redeem("other")), (None, None));
        assert_eq!(codes.whose(&code.code), Some(7), "who looks does not use it");
        assert_eq!(codes.redeem(&code.code), Some(7));
        assert_eq!(codes.redeem(&code.code), None);
    }

    #[test]
    fn a_caller_voids_its_own_codes_only() {
        let codes = Codes::default();
        let [other, first] = [1, 2].map(|token| codes.create(token).expect("a code"));
        for _ in 0..2_000 {
            codes.create(2).expect("a code");
        }
        assert_eq!(codes.redeem(&first.code), None);
        assert_eq!(codes.redeem(&other.code), Some(1));
        assert_eq!(codes.open.lock().expect("not poisoned").len(), CODES_OF_ONE_MAX);
    }
}
