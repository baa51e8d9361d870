//! Problem files: TOML, JSON and speedup tables, with the place of everything that is wrong.

mod build;
mod counts;
mod csv;
mod format;
mod json;
mod load;
pub mod nearest;
mod places;
mod toml;
mod tree;

pub use counts::parse as parse_counts;
pub use load::{Loaded, load, load_tenants};
pub use nearest::hint;

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

/// A tree with what is wrong with the text it was read from.
#[derive(Debug)]
struct Parsed {
    root: tree::Table,
    findings: Vec<Finding>,
}
