//! Addresses: names in paths and values in queries, escaped.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

/// All but what means nothing in an address.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A name as one segment of a path.
pub fn segment(name: &str) -> String {
    match name {
        // A segment of dots alone would be taken as a step in the path.
        "." | ".." => name.replace('.', "%2E"),
        _ => utf8_percent_encode(name, ESCAPED).to_string(),
    }
}

/// The fields of a query that are set, as `?a=1&b=2`; nothing where none is.
pub fn query(query: &impl Serialize) -> String {
    let text = serde_urlencoded::to_string(query).unwrap_or_default();
    let mut fields: Vec<&str> = text.split('&').filter(|field| !field.is_empty()).collect();
    // In the order of the names, whatever order the type has.
    fields.sort();
    if fields.is_empty() { String::new() } else { format!("?{}", fields.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{JobsQuery, LogQuery, LogStream};

    #[test]
    fn names_cannot_leave_their_segment() {
        let cases = [
            ("vision", "vision"),
            ("a/b", "a%2Fb"),
            ("..", "%2E%2E"),
            ("a?b#c%", "a%3Fb%23c%25"),
            ("grüße", "gr%C3%BC%C3%9Fe"),
            ("\r\n", "%0D%0A"),
        ];
        for (name, expected) in cases {
            assert_eq!(segment(name), expected);
        }
    }

    #[test]
    fn queries_hold_what_is_set() {
        assert_eq!(query(&JobsQuery::default()), "");
        let jobs = JobsQuery { tenant: Some("a&b".into()), all: true, ..JobsQuery::default() };
        assert_eq!(query(&jobs), "?all=true&tenant=a%26b");
        let log = LogQuery { stream: LogStream::Err, tail: Some(5), ..LogQuery::default() };
        assert_eq!(query(&log), "?stream=err&tail=5");
    }
}
