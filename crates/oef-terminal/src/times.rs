//! Instants and durations for people.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A duration in its two largest units: `45s`, `3m12s`, `2h05m`, `3d04h`.
pub fn span(seconds: f64) -> String {
    if !seconds.is_finite() {
        return "?".into();
    }
    if seconds > 0.0 && seconds < 0.95 {
        return format!("{:.0}ms", (seconds * 1000.0).ceil());
    }
    // Saturates; nothing is shown of what lies below a second.
    let s = seconds.max(0.0).round() as u64;
    match s {
        0..60 => format!("{s}s"),
        60..3600 => format!("{}m{:02}s", s / 60, s % 60),
        3600..86400 => format!("{}h{:02}m", s / 3600, s % 3600 / 60),
        _ => format!("{}d{:02}h", s / 86400, s % 86400 / 3600),
    }
}

/// Seconds from one instant to another; none where the second lies before the first.
pub fn between(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64().max(0.0)
}

/// An instant on this machine's clock: `2026-11-15 09:53:31`.
pub fn at(instant: Timestamp) -> String {
    instant.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// The same without the day, for lists whose day is clear.
pub fn clock(instant: Timestamp) -> String {
    instant.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string()
}

/// How an instant lies to now: `in 3m12s`, `45s ago`.
pub fn relative(instant: Timestamp, now: Timestamp) -> String {
    if instant > now {
        format!("in {}", span(between(now, instant)))
    } else {
        format!("{} ago", span(between(instant, now)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_well() {
        let cases = [
            (0.0, "0s"),
            (0.2, "200ms"),
            (0.97, "1s"),
            (59.4, "59s"),
            (59.6, "1m00s"),
            (192.0, "3m12s"),
            (7500.0, "2h05m"),
            (273_600.0, "3d04h"),
            (-5.0, "0s"),
            (f64::NAN, "?"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(span(seconds), expected);
        }
    }

    #[test]
    fn instants_are_told_from_now() {
        let now = Timestamp::from_second(1000).unwrap();
        assert_eq!(relative(Timestamp::from_second(1065).unwrap(), now), "in 1m05s");
        assert_eq!(relative(Timestamp::from_second(955).unwrap(), now), "45s ago");
    }
}
