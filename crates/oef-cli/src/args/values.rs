//! Values that several commands take.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use jiff::{Timestamp, Zoned, civil};
use oef_core::Mechanism;
use std::time::Duration;

/// An enum whose variants are named on the command line, with their comments as the help. Each stands for the variant of
/// the same name of another enum.
macro_rules! named {
    ($(#[$about:meta])* $name:ident for $of:ty { $($(#[$help:meta])* $variant:ident,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
        pub enum $name {
            $($(#[$help])* $variant,)*
        }

        impl From<$name> for $of {
            fn from(name: $name) -> Self {
                match name {
                    $($name::$variant => <$of>::$variant,)*
                }
            }
        }
    };
}
pub(super) use named;

/// A value that can be taken away with a word such as `none`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Removable<T>(pub Option<T>);

/// Reads a value, or the word that takes it away.
pub fn removable<T>(
    text: &str,
    word: &str,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Removable<T>, String> {
    if text == word { Ok(Removable(None)) } else { parse(text).map(|x| Removable(Some(x))) }
}

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

/// A time with a unit (`1s`, `500ms`, `2m`), or plain seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "write a time such as 1s, 500ms or 2m".to_string();
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

/// A time that has been: so long ago (`30d`), or as [`instant`] has it.
pub fn past(text: &str) -> Result<Timestamp, String> {
    let now = Zoned::now();
    let wrong = || "write a time such as 30d, 2026-11-01 or 2026-11-01 08:00".to_string();
    match humantime::parse_duration(text) {
        Ok(ago) => now.timestamp().checked_sub(ago).map_err(|_| wrong()),
        Err(_) => instant_after(text, &now).map_err(|_| wrong()),
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
    fn times_are_read_with_and_without_a_unit() {
        assert_eq!(duration("1s"), Ok(Duration::from_secs(1)));
        assert_eq!(duration("0.5"), Ok(Duration::from_millis(500)));
        for wrong in ["", "soon", "-1", "nan", "1e300"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
