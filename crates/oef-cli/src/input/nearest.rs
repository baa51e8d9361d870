//! "Did you mean", as in the readers of `oef-sim`.

pub use oef_sim::input::nearest::nearest;

/// A hint that names the nearest known name, or else some of the known ones.
pub fn hint<'a>(
    what: &str,
    wrong: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
) -> String {
    oef_sim::input::nearest::hint(&format!("known {what}"), wrong, known)
}
