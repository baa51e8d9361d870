//! What names and numbers from outside must be like.

use crate::problem::{Kind, More};
use oef_api::types::Problem;

/// Longer names do not fit into any table.
const NAME_MAX: usize = 100;
/// A second is too short for a person and a century too long for a job.
const SECONDS_MAX: f64 = 3.2e9;

/// A name of a tenant, group, workload or node: something that can be shown and stand in a path.
pub(super) fn name(what: &str, field: &str, name: &str) -> Result<(), Problem> {
    let bad = |why: String| Err(Kind::BadRequest.problem(why).field(field));
    if name.is_empty() {
        return bad(format!("{what} is empty"));
    }
    if name.chars().count() > NAME_MAX {
        return bad(format!("{what} has more than {NAME_MAX} characters"));
    }
    if name.trim() != name || name == "." || name == ".." {
        return bad(format!("{what} `{name}` begins or ends with a space, or is a path"));
    }
    if let Some(odd) = name.chars().find(|c| c.is_control() || *c == '/') {
        return bad(format!("{what} contains {odd:?}, which is not allowed in a name"));
    }
    Ok(())
}

/// A text that is shown in one line.
pub(super) fn line(what: &str, field: &str, text: &str, max: usize) -> Result<(), Problem> {
    if text.chars().count() > max {
        let why = format!("{what} has more than {max} characters");
        return Err(Kind::BadRequest.problem(why).field(field));
    }
    match text.chars().find(|c| c.is_control()) {
        Some(odd) => {
            let why = format!("{what} contains {odd:?}, which is not allowed there");
            Err(Kind::BadRequest.problem(why).field(field))
        }
        None => Ok(()),
    }
}

/// A weight.
pub(super) fn weight(field: &str, weight: f64) -> Result<(), Problem> {
    match weight.is_finite() && weight > 0.0 {
        true => Ok(()),
        false => Err(Kind::BadRequest
            .problem(format!("a weight is a number above 0, not {weight}"))
            .field(field)),
    }
}

/// A number of seconds, from `min` on; 0 only where `min` says so.
pub(super) fn seconds(
    what: &str,
    field: &str,
    seconds: Option<f64>,
    zero: bool,
) -> Result<(), Problem> {
    let Some(seconds) = seconds else { return Ok(()) };
    let positive = seconds > 0.0 || (zero && seconds == 0.0);
    match seconds.is_finite() && positive && seconds <= SECONDS_MAX {
        true => Ok(()),
        false => Err(Kind::BadRequest
            .problem(format!("{what} is a number of seconds up to a century, not {seconds}"))
            .field(field)),
    }
}

/// The name that was probably meant, as a hint.
pub(super) fn did_you_mean<'a>(
    wrong: &str,
    known: impl Iterator<Item = &'a str>,
) -> Option<String> {
    let near = known.map(|name| (distance(wrong, name), name)).min()?;
    let close = near.0 <= 2.max(wrong.chars().count() / 3);
    close.then(|| format!("did you mean `{}`?", near.1))
}

/// How many characters must be changed, added or left out.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = corner + usize::from(!x.eq_ignore_ascii_case(y));
            corner = row[j + 1];
            row[j + 1] = change.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_cannot_be_shown_or_stand_in_a_path_are_refused() {
        for good in ["a", "vision lab", "<script>", "ü", &"x".repeat(100)] {
            assert!(name("the name", "name", good).is_ok(), "{good}");
        }
        for bad in ["", " a", "a\n", "a/b", "..", "\u{0}", &"x".repeat(101)] {
            let problem = name("the name", "name", bad).expect_err(bad);
            assert_eq!((problem.status, problem.field.as_deref()), (400, Some("name")));
        }
    }

    #[test]
    fn the_nearest_name_is_meant() {
        let known = || ["rtx3070", "rtx3090", "h100"].into_iter();
        assert_eq!(did_you_mean("rtx309", known()), Some("did you mean `rtx3090`?".into()));
        assert_eq!(did_you_mean("H100", known()), Some("did you mean `h100`?".into()));
        assert_eq!(did_you_mean("tpu-v5", known()), None);
        assert_eq!(did_you_mean("x", std::iter::empty()), None);
    }

    #[test]
    fn odd_numbers_of_seconds_are_refused() {
        for bad in [f64::NAN, -1.0, f64::INFINITY, 1e12, 0.0] {
            assert!(seconds("it", "f", Some(bad), false).is_err(), "{bad}");
        }
        assert!(seconds("it", "f", Some(0.0), true).is_ok());
        assert!(seconds("it", "f", None, false).is_ok());
    }
}
