//! Instants and lengths of time, in whole milliseconds: exact, ordered, and the same on every machine.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// An instant: milliseconds since the driver's epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Time(pub u64);

/// A length of time in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Span(pub u64);

impl Time {
    /// The time from `earlier` to here; nothing if that lies ahead.
    pub fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// In seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1000.0
    }

    /// The instant that many seconds after the epoch; negative and undefined ones are the epoch.
    pub fn from_seconds(seconds: f64) -> Time {
        Time(Span::from_seconds(seconds).0)
    }
}

impl Span {
    /// In seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1000.0
    }

    /// That many seconds, to the nearest millisecond; negative and undefined ones are nothing.
    pub fn from_seconds(seconds: f64) -> Span {
        // `as` saturates, and takes NaN to 0.
        Span((seconds * 1000.0).round() as u64)
    }

    /// This length, that many times.
    pub fn times(self, count: u64) -> Span {
        Span(self.0.saturating_mul(count))
    }

    /// How many rounds of a length it is.
    pub(crate) fn rounds(self, round: Span) -> f64 {
        self.0 as f64 / round.0.max(1) as f64
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0 / 1000;
        match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
            (0, 0, s) => write!(f, "{s}s"),
            (0, m, 0) => write!(f, "{m}m"),
            (0, m, s) => write!(f, "{m}m{s:02}s"),
            (h, 0, _) => write!(f, "{h}h"),
            (h, m, _) => write!(f, "{h}h{m:02}m"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_numbers_of_seconds_are_no_time() {
        for odd in [-1.0, f64::NAN, f64::NEG_INFINITY] {
            assert_eq!(Time::from_seconds(odd), Time(0));
        }
        assert_eq!(Span::from_seconds(0.0004), Span(0));
        assert_eq!(Span::from_seconds(f64::INFINITY), Span(u64::MAX));
    }

    #[test]
    fn lengths_read_well() {
        let shown = |s: u64| Span(s * 1000).to_string();
        assert_eq!(
            [shown(5), shown(300), shown(301), shown(7200), shown(5400)],
            ["5s", "5m", "5m01s", "2h", "1h30m"]
        );
    }
}
