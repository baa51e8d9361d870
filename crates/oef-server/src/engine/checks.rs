//! What names and numbers from outside must be like, as problems.

use crate::problem::{Kind, More};
use oef_api::check::{self, BadValue};
use oef_api::types::ApiError;
use std::str::FromStr;

/// A value that is wrong by itself.
pub(super) fn refused(bad: BadValue) -> ApiError {
    let BadValue { field, message, hint } = bad;
    Kind::BadRequest.problem(message).field(field).maybe_hint(hint)
}

/// Refuses everything that is wrong at once, with the place of the first.
pub(crate) fn all_right(found: Vec<BadValue>) -> Result<(), ApiError> {
    let told = found.iter().map(|bad| bad.message.as_str()).collect::<Vec<_>>().join("; ");
    match found.into_iter().next() {
        Some(first) => Err(refused(BadValue { message: told, ..first })),
        None => Ok(()),
    }
}

/// A name from a path, or from elsewhere than a body.
pub(crate) fn parse<T: FromStr<Err = String>>(field: &str, text: &str) -> Result<T, ApiError> {
    text.parse().map_err(|why: String| refused(BadValue::new(field, why)))
}

/// A name that has no type of its own: of a user, of a command.
pub(super) fn name(what: &str, field: &str, name: &str) -> Result<(), ApiError> {
    check::name(what, name).map_err(|why| refused(BadValue::new(field, why)))
}

/// A text that is shown in one line.
pub(super) fn line(what: &str, field: &str, text: &str, max: usize) -> Result<(), ApiError> {
    check::line(what, field, text, max).map_err(refused)
}

/// A number of seconds; 0 only where that makes sense.
pub(super) fn seconds(
    what: &str,
    field: &str,
    seconds: Option<f64>,
    zero: bool,
) -> Result<(), ApiError> {
    check::seconds(what, field, seconds, zero).map_err(refused)
}

/// The name that was probably meant, as a hint.
pub(super) fn did_you_mean<'a>(
    wrong: &str,
    known: impl Iterator<Item = &'a str>,
) -> Option<String> {
    let lower = wrong.to_lowercase();
    let near =
        known.map(|name| (strsim::osa_distance(&lower, &name.to_lowercase()), name)).min()?;
    let close = near.0 <= 2.max(wrong.chars().count() / 3);
    close.then(|| format!("did you mean `{}`?", near.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_meant() {
        let known = || ["rtx3070", "rtx3090", "h100"].into_iter();
        assert_eq!(did_you_mean("rtx309", known()), Some("did you mean `rtx3090`?".into()));
        assert_eq!(did_you_mean("H100", known()), Some("did you mean `h100`?".into()));
        assert_eq!(did_you_mean("tpu-v5", known()), None);
        assert_eq!(did_you_mean("x", std::iter::empty()), None);
    }
}
