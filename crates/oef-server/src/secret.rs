//! Secrets of tokens: made here, shown once, kept as a hash.

use crate::problem::Kind;
use oef_api::types::ApiError;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// Bytes of chance in a secret: nobody guesses it.
const BYTES: usize = 32;
/// How a secret begins, so that scanners for leaked secrets find it.
const PREFIX: &str = "oef_";

/// A new secret.
pub struct Secret {
    /// What its holder sends.
    pub text: String,
    /// What is kept of it.
    pub hash: String,
}

/// Makes a secret from the system's randomness.
pub fn new() -> Result<Secret, ApiError> {
    let mut bytes = [0u8; BYTES];
    getrandom::fill(&mut bytes).map_err(|error| {
        Kind::Unavailable.problem(format!("the system has no randomness to give: {error}"))
    })?;
    let text = format!("{PREFIX}{}", hexadecimal(&bytes));
    let hash = hash(&text);
    Ok(Secret { text, hash })
}

/// SHA-256 in hexadecimal digits. The secret is all chance, so that no slower function is needed.
pub fn hash(secret: &str) -> String {
    hexadecimal(&Sha256::digest(secret.as_bytes()))
}

/// Whether two hashes are the same, in a time that does not tell how much of them is.
pub fn same(a: &str, b: &str) -> bool {
    let different = a.bytes().zip(b.bytes()).fold(0, |acc, (x, y)| acc | (x ^ y));
    a.len() == b.len() && different == 0
}

/// Bytes in hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a text does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_and_only_their_own_hash_fits() {
        let (a, b) = (new().expect("a secret"), new().expect("a secret"));
        assert_ne!(a.text, b.text);
        assert_eq!(a.text.len(), PREFIX.len() + 2 * BYTES);
        assert!(same(&hash(&a.text), &a.hash) && !same(&hash(&b.text), &a.hash));
        assert!(!same("ab", "abc") && !same("", "a"));
    }
}
