//! Text made safe for HTML and SVG, in elements and in attributes alike.

/// Escapes markup, and leaves out the characters that XML does not know or that turn a line around.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' | '\r' => out.push(' '),
            // Text that runs from right to left must not turn the rest of the line around.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            // Control characters and non-characters; a parser would refuse the whole file.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn markup_becomes_text() {
        assert_eq!(
            escape(r#"<a href="x">R&D's</a>"#),
            "&lt;a href=&quot;x&quot;&gt;R&amp;D&#39;s&lt;/a&gt;"
        );
        assert_eq!(escape("bell\u{7} nul\0 two\nlines"), "bell nul two lines");
        assert_eq!(escape("a\u{202e}b"), "ab");
    }
}
