//! How wide the reader's screen is.

use std::io::{IsTerminal as _, stdout};

/// Narrower than this nothing is laid out.
const WIDTH_MIN: usize = 40;

/// The columns of the terminal on stdout, or those that `COLUMNS` names; none where nobody looks: a file or a
/// pipe gets whole lines.
pub fn columns() -> Option<usize> {
    let named = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let seen = || match stdout().is_terminal() {
        true => crossterm::terminal::size().ok().map(|(columns, _)| usize::from(columns)),
        false => None,
    };
    named.or_else(seen).map(|columns| columns.max(WIDTH_MIN))
}
