//! Instants and durations for people.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use oef_report::format::span;

/// Seconds from one instant to another; none where the second lies before the first.
pub fn between(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64().max(0.0)
}

/// An instant on this machine's clock: `2026-11-15 09:53:31`.
pub fn at(instant: Timestamp) -> String {
    instant.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// The same for a narrow screen: `11-15 09:53`.
pub fn minute(instant: Timestamp) -> String {
    instant.to_zoned(TimeZone::system()).strftime("%m-%d %H:%M").to_string()
}

/// The same without the day, where that is clear.
pub fn clock(instant: Timestamp) -> String {
    instant.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string()
}

/// The same with its day where that is not today's: `09:53:31`, `2026-11-15 09:53:31`.
pub fn moment(instant: Timestamp, now: Timestamp) -> String {
    let day = |instant: Timestamp| instant.to_zoned(TimeZone::system()).date();
    if day(instant) == day(now) { clock(instant) } else { at(instant) }
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
    fn a_moment_of_another_day_has_its_day() {
        let noon = jiff::civil::date(2026, 11, 19).at(12, 0, 0, 0);
        let noon = noon.to_zoned(TimeZone::system()).unwrap().timestamp();
        let hours = |n: i64| Timestamp::from_second(noon.as_second() + n * 3600).unwrap();
        assert_eq!(moment(hours(3), noon), "15:00:00");
        assert_eq!(moment(hours(24), noon), "2026-11-20 12:00:00");
        assert_eq!(moment(hours(-13), noon), "2026-11-18 23:00:00");
    }

    #[test]
    fn instants_are_told_from_now() {
        let now = Timestamp::from_second(1000).unwrap();
        assert_eq!(relative(Timestamp::from_second(1065).unwrap(), now), "in 1m05s");
        assert_eq!(relative(Timestamp::from_second(955).unwrap(), now), "45s ago");
    }
}
