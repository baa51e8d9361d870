//! Names as people wrote them, made safe for a terminal.

use oef_api::check::is_unseen;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Longer names are cut in tables, so that one of them cannot push the figures off the screen.
const NAME_WIDTH_MAX: usize = 36;

/// The text with every character escaped that could move the cursor, recolour the terminal or
/// reorder what is shown.
pub fn safe(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_misleading(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// The same for a text of several lines: its line breaks stay.
pub fn safe_lines(text: &str) -> String {
    text.split('\n').map(safe).collect::<Vec<_>>().join("\n")
}

/// A name for a table: safe, and cut with an ellipsis where it is too long.
pub fn short(name: &str) -> String {
    cut(name, NAME_WIDTH_MAX)
}

/// The same with at most this width.
pub fn cut(name: &str, width: usize) -> String {
    let name = safe(name);
    if name.width() <= width {
        return name;
    }
    let mut cut = String::new();
    for c in name.chars() {
        if cut.width() + c.width().unwrap_or(0) + 1 > width {
            break;
        }
        cut.push(c);
    }
    cut.push('…');
    cut
}

/// What no name may have, but for two kinds that text has for good reasons: how an emoji looks (`⚠️`), and the empty
/// field of a plot in Braille dots.
pub fn is_misleading(c: char) -> bool {
    is_unseen(c) && !matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{2800}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_what_a_terminal_would_obey() {
        assert_eq!(safe("a\u{1b}[31mb"), "a\\u{1b}[31mb");
        assert_eq!(safe("line\nbreak"), "line\\u{a}break");
        assert_eq!(safe("\u{202e}evil"), "\\u{202e}evil");
        assert_eq!(safe("Grüße 漢字"), "Grüße 漢字");
    }

    #[test]
    fn cuts_long_names() {
        let cut = short(&"x".repeat(100));
        assert!(cut.width() <= NAME_WIDTH_MAX && cut.ends_with('…'), "{cut}");
    }

    #[test]
    fn characters_of_two_columns_are_cut_to_what_fits() {
        for width in 1..12 {
            let cut = cut("漢字 und Ä漢字漢字", width);
            assert!(cut.width() <= width, "{width}: {cut}");
        }
    }
}
