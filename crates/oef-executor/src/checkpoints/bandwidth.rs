//! How fast something may be, as people write it.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::str::FromStr;

/// A rate, written as `100MiB/s` or `10MB/s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bandwidth {
    /// KiB in a second, at least 1.
    pub kib_per_second: u64,
}

/// Units in bytes: those of memory, and those of lines.
const UNITS: [(&str, f64); 6] = [
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
];

/// A thousand times what the fastest line of today carries.
const MOST_BYTES: f64 = 1e15;

impl FromStr for Bandwidth {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is not a bandwidth; write it as in \"100MiB/s\" or \"10MB/s\"");
        let size = text.trim().strip_suffix("/s").ok_or_else(wrong)?.trim_end();
        let unit = UNITS.iter().find_map(|(name, bytes)| Some((size.strip_suffix(name)?, bytes)));
        let (number, unit) = unit.ok_or_else(wrong)?;
        let number: f64 = number.trim().parse().map_err(|_| wrong())?;
        let bytes = number * unit;
        if !(1.0..=MOST_BYTES).contains(&bytes) {
            return Err(format!("`{text}` is not more than 0, or too much"));
        }
        // In bounds by the check above.
        Ok(Bandwidth { kib_per_second: ((bytes / 1024.0).round() as u64).max(1) })
    }
}

impl fmt::Display for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}KiB/s", self.kib_per_second)
    }
}

impl<'de> Deserialize<'de> for Bandwidth {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_as_people_write_them() {
        let cases = [
            ("100MiB/s", Some(102_400)),
            ("1.5 MiB/s", Some(1536)),
            ("10MB/s", Some(9766)),
            ("1KB/s", Some(1)),
            ("512KiB/s", Some(512)),
            ("0MiB/s", None),
            ("-1MiB/s", None),
            ("NaNMiB/s", None),
            ("infGB/s", None),
            ("100MiB", None),
            ("100/s", None),
            ("fast", None),
            ("", None),
        ];
        for (text, expected) in cases {
            let read = text.parse::<Bandwidth>().ok().map(|rate| rate.kib_per_second);
            assert_eq!(read, expected, "{text}");
        }
    }
}
