//! Values that several commands take.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use jiff::{Timestamp, Zoned, civil};
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

/// An instant: a time from now (`2h`), one of the day on this machine's clock (`18:00`, the next one), or with its day.
pub fn instant(text: &str) -> Result<Timestamp, String> {
    instant_after(text, &Zoned::now())
}

fn instant_after(text: &str, now: &Zoned) -> Result<Timestamp, String> {
    let wrong = || "write a time such as 2h, 18:00 or 2026-12-01 08:00".to_string();
    if let Ok(wait) = humantime::parse_duration(text) {
        return now.timestamp().checked_add(wait).map_err(|_| wrong());
    }
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Ok(instant);
    }
    if let Ok(day) = text.parse::<civil::DateTime>() {
        return Ok(day.to_zoned(now.time_zone().clone()).map_err(|_| wrong())?.timestamp());
    }
    let clock: civil::Time = text.parse().map_err(|_| wrong())?;
    let today = now.with().time(clock).build().map_err(|_| wrong())?;
    let next = if today > *now { today } else { today.tomorrow().map_err(|_| wrong())? };
    Ok(next.timestamp())
}

/// The same in seconds.
pub fn seconds(text: &str) -> Result<f64, String> {
    duration(text).map(|time| time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_and_without_a_unit() {
        assert_eq!(duration("1s"), Ok(Duration::from_secs(1)));
        assert_eq!(duration("0.5"), Ok(Duration::from_millis(500)));
        for wrong in ["", "soon", "-1", "nan", "1e300"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn instants_are_read_in_the_forms_that_people_write() {
        let now: Zoned = "2026-11-16T10:00:00[UTC]".parse().unwrap();
        let read = |text: &str| instant_after(text, &now).map(|at| at.to_string());
        let cases = [
            ("2h", "2026-11-16T12:00:00Z"),
            ("18:00", "2026-11-16T18:00:00Z"),
            ("09:30", "2026-11-17T09:30:00Z"),
            ("2026-12-01 08:00", "2026-12-01T08:00:00Z"),
            ("2026-12-01", "2026-12-01T00:00:00Z"),
            ("2026-12-01T08:00:00+02:00", "2026-12-01T06:00:00Z"),
        ];
        for (text, instant) in cases {
            assert_eq!(read(text).as_deref(), Ok(instant), "{text}");
        }
        for wrong in ["", "soon", "25:00", "2026-13-01", "300000y"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
