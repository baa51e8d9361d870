//! Addresses: names in paths and values in queries, escaped.

use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A name as one segment of a path.
pub fn segment(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    // A segment of dots alone would be taken as a step in the path.
    if out == "." || out == ".." { out.replace('.', "%2E") } else { out }
}

/// The fields of a query that are set, as `?a=1&b=2`; nothing where none is.
pub fn query(query: &impl Serialize) -> String {
    let Ok(Value::Object(fields)) = serde_json::to_value(query) else { return String::new() };
    let mut out = String::new();
    // In the order of the names, whatever order the map keeps.
    for (name, value) in fields.into_iter().collect::<BTreeMap<_, _>>() {
        let text = match value {
            Value::Null => continue,
            Value::String(text) => text,
            other => other.to_string(),
        };
        let mark = if out.is_empty() { '?' } else { '&' };
        let _ = write!(out, "{mark}{}={}", segment(&name), segment(&text));
    }
    out
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
