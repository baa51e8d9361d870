//! Values that several commands take.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use jiff::civil::{DateTime, Time};
use jiff::{Timestamp, Zoned};
use oef_core::Mechanism;
use std::time::Duration;

/// A mechanism by its name.
pub fn mechanism() -> impl TypedValueParser<Value = Mechanism> {
    PossibleValuesParser::new(Mechanism::ALL.map(Mechanism::name))
        .try_map(|name| name.parse::<Mechanism>())
}

/// A number above 0.
pub fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x.is_finite() && x > 0.0 => Ok(x),
        _ => Err("a finite number above 0 is needed".into()),
    }
}

/// A time with a unit (`1s`, `500ms`, `2min`), or plain seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "write a time such as 1s, 500ms or 2min".to_string();
    match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).map_err(|_| wrong()),
        Err(_) => humantime::parse_duration(text).map_err(|_| wrong()),
    }
}

/// A time to come: after so long (`30m`), of the day (`18:30`), or of the calendar (`2026-12-24 08:00`), in the zone
/// of this machine.
pub fn moment(text: &str) -> Result<Timestamp, String> {
    moment_after(text, &Zoned::now())
}

fn moment_after(text: &str, now: &Zoned) -> Result<Timestamp, String> {
    let wrong = || "write a time such as 30m, 18:30 or 2026-12-24 08:00".to_string();
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time);
    }
    if let Ok(wait) = humantime::parse_duration(text) {
        return now.timestamp().checked_add(wait).map_err(|_| wrong());
    }
    let in_zone = |at: DateTime| at.to_zoned(now.time_zone().clone()).map_err(|_| wrong());
    if let Ok(time) = text.parse::<Time>() {
        let today = in_zone(now.date().to_datetime(time))?;
        let tomorrow = now.date().tomorrow().map_err(|_| wrong())?.to_datetime(time);
        let at = if today > *now { today } else { in_zone(tomorrow)? };
        return Ok(at.timestamp());
    }
    let at: DateTime = text.trim().replace(' ', "T").parse().map_err(|_| wrong())?;
    Ok(in_zone(at)?.timestamp())
}

/// A time that has been: so long ago (`30d`), or as [`moment`] has it.
pub fn past(text: &str) -> Result<Timestamp, String> {
    let now = Zoned::now();
    let wrong = || "write a time such as 30d, 2026-11-01 or 2026-11-01 08:00".to_string();
    match humantime::parse_duration(text) {
        Ok(ago) => now.timestamp().checked_sub(ago).map_err(|_| wrong()),
        Err(_) => moment_after(text, &now).map_err(|_| wrong()),
    }
}

/// The same in seconds.
pub fn seconds(text: &str) -> Result<f64, String> {
    duration(text).map(|time| time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_as_people_write_them() {
        let now: Zoned = "2026-11-16T10:00:00+00:00[UTC]".parse().expect("a time");
        let cases = [
            ("30m", "2026-11-16T10:30:00Z"),
            ("18:30", "2026-11-16T18:30:00Z"),
            ("08:00", "2026-11-17T08:00:00Z"),
            ("2026-12-24 08:00", "2026-12-24T08:00:00Z"),
            ("2026-12-24T08:00", "2026-12-24T08:00:00Z"),
            ("2026-12-24T08:00:00+02:00", "2026-12-24T06:00:00Z"),
        ];
        for (text, expected) in cases {
            assert_eq!(moment_after(text, &now).expect(text).to_string(), expected, "{text}");
        }
        for wrong in ["", "soon", "25:00", "-5m"] {
            assert!(moment_after(wrong, &now).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_are_read_with_and_without_a_unit() {
        assert_eq!(duration("1s"), Ok(Duration::from_secs(1)));
        assert_eq!(duration("0.5"), Ok(Duration::from_millis(500)));
        for wrong in ["", "soon", "-1", "nan", "1e300"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
