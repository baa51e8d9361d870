//! Values that several commands take.

use clap::builder::{PossibleValuesParser, TypedValueParser};
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
