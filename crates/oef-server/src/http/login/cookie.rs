//! The one cookie: written and read.

use super::sessions::LIFETIME_S;
use axum::http::{HeaderMap, header};

/// The header that sets it; an empty value takes it away.
pub(super) fn write(name: &str, value: &str, is_secure: bool) -> String {
    let age = if value.is_empty() { 0 } else { LIFETIME_S };
    let secure = if is_secure { "; Secure" } else { "" };
    format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={age}{secure}")
}

/// Its value in a request.
pub(super) fn read<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|text| text.split(';')).filter_map(|pair| pair.split_once('='));
    let found = pairs.find(|(key, _)| key.trim() == name);
    found.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn it_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.append(header::COOKIE, HeaderValue::from_static("a=b; oef_session_1=x"));
        headers.append(header::COOKIE, HeaderValue::from_static("oef_session_2=y"));
        assert_eq!(read(&headers, "oef_session_1"), Some("x"));
        assert_eq!(read(&headers, "oef_session_2"), Some("y"));
        assert_eq!(read(&headers, "oef_session_3"), None);
    }

    #[test]
    fn scripts_and_other_sites_do_not_get_it() {
        let text = write("n", "v", true);
        for part in ["HttpOnly", "SameSite=Strict", "Max-Age=43200", "Secure"] {
            assert!(text.contains(part), "{text}");
        }
        assert!(write("n", "", false).contains("Max-Age=0"));
        assert!(!write("n", "v", false).contains("Secure"));
    }
}
