//! Lengths of time as people write them.

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::time::Duration;

/// A length of time, written as `5m`, `30s` or `1h 30m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Length(pub Duration);

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
    }
}

impl std::str::FromStr for Length {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = humantime::parse_duration(text);
        parsed
            .map(Length)
            .map_err(|_| format!("`{text}` is not a duration; write it as `30s`, `5m` or `2h`"))
    }
}

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LengthVisitor)
    }
}

struct LengthVisitor;

impl Visitor<'_> for LengthVisitor {
    type Value = Length;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a length of time such as \"5m\" or \"30s\"")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Length, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Length, E> {
        Err(E::custom(format!("{number} has no unit; write \"{number}s\" for seconds")))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Length, E> {
        Err(E::custom(format!("{number} has no unit; write it in quotes, with one: \"1500ms\"")))
    }
}
