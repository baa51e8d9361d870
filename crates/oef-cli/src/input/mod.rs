//! Problem files: TOML, JSON and speedup tables, with the place of everything that is wrong.

mod build;
mod counts;
mod csv;
mod format;
mod load;
pub mod nearest;
mod places;

pub use counts::parse as parse_counts;
pub use load::{EXAMPLE, Loaded, load, load_tenants};
pub use nearest::hint;

use oef_sim::input::tree::Wrong;

/// One thing that is wrong with a file, by byte offset.
#[derive(Clone, Debug, PartialEq)]
struct Finding {
    at: usize,
    field: String,
    message: String,
    hint: Option<String>,
}

impl Finding {
    fn new(at: usize, field: &str, message: impl Into<String>) -> Self {
        Finding { at, field: field.into(), message: message.into(), hint: None }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<Wrong> for Finding {
    fn from(wrong: Wrong) -> Self {
        Finding { at: wrong.at, field: wrong.key, message: wrong.message, hint: wrong.hint }
    }
}
