//! Signatures of requests: HMAC-SHA256 (RFC 2104) over the time and the body.

use crate::secret::hexadecimal;
use sha2::{Digest, Sha256};

/// Bytes that SHA-256 takes at once.
const BLOCK: usize = 64;

/// The value of the header `OEF-Signature`. The time is signed too, so that a receiver can refuse what somebody recorded
/// and sends again later.
pub(super) fn signature(secret: &str, at_s: u64, body: &str) -> String {
    let mac = hmac(secret.as_bytes(), &[at_s.to_string().as_bytes(), b".", body.as_bytes()]);
    format!("t={at_s},v1={}", hexadecimal(&mac))
}

/// HMAC-SHA256 of texts, one after the other.
pub(crate) fn hmac(key: &[u8], text: &[&[u8]]) -> [u8; 32] {
    let mut block = [0u8; BLOCK];
    if key.len() > BLOCK {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let digest = |pad: u8, parts: &[&[u8]]| -> [u8; 32] {
        let mut sum = Sha256::new();
        sum.update(block.map(|byte| byte ^ pad));
        parts.iter().for_each(|part| sum.update(part));
        sum.finalize().into()
    };
    digest(0x5c, &[&digest(0x36, text)])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, cases 1 to 4, 6 and 7.
    #[test]
    fn hmac_is_that_of_the_standard() {
        let long: &[u8] = b"This is a test using a larger than block-size key and a larger than block-size data. \
            The key needs to be hashed before being used by the HMAC algorithm.";
        let counting: Vec<u8> = (1..=25).collect();
        let cases: [(&[u8], &[u8], &str); 6] = [
            (
                &[0x0b; 20],
                b"Hi There",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &[0xaa; 20],
                &[0xdd; 50],
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
            ),
            (
                &counting,
                &[0xcd; 50],
                "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
            ),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
            (
                &[0xaa; 131],
                long,
                "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
            ),
        ];
        for (key, text, expected) in cases {
            assert_eq!(hexadecimal(&hmac(key, &[text])), expected);
            let (a, b) = text.split_at(3);
            assert_eq!(hexadecimal(&hmac(key, &[a, b])), expected, "in parts");
        }
    }

    #[test]
    fn the_time_is_signed() {
        let (a, b) = (signature("secret", 1, "{}"), signature("secret", 2, "{}"));
        assert!(a.starts_with("t=1,v1=") && a.len() == 7 + 64, "{a}");
        assert_ne!(a.split_once(",v1=").map(|x| x.1), b.split_once(",v1=").map(|x| x.1));
    }
}
