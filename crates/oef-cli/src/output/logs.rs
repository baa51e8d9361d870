//! What a job wrote, made safe for a terminal.

use oef_terminal::names::safe;

/// The text with colours and line breaks kept, and everything escaped that would move the cursor elsewhere,
/// rename the window or answer for the user. A job may be another's.
pub fn for_terminal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\r')) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let taken = match colour(rest) {
            Some(length) => {
                out.push_str(&rest[..length]);
                length
            }
            None => {
                let length = rest.chars().next().map_or(0, char::len_utf8);
                out.push_str(&safe(&rest[..length]));
                length
            }
        };
        rest = &rest[taken..];
    }
    out.push_str(rest);
    out
}

/// The length of a colour sequence at the beginning: `ESC [ 1;31 m`.
fn colour(text: &str) -> Option<usize> {
    let inner = text.strip_prefix("\u{1b}[")?;
    let end = inner.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    inner[end..].starts_with('m').then_some(end + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_pass_and_commands_do_not() {
        let cases = [
            ("plain\ttext\r\n", "plain\ttext\r\n"),
            ("\u{1b}[1;31mred\u{1b}[0m", "\u{1b}[1;31mred\u{1b}[0m"),
            ("\u{1b}[2J", "\\u{1b}[2J"),
            ("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}"),
            ("\u{1b}[6n", "\\u{1b}[6n"),
            ("é\u{9b}31m", "é\\u{9b}31m"),
            ("\u{1b}", "\\u{1b}"),
        ];
        for (text, expected) in cases {
            assert_eq!(for_terminal(text), expected);
        }
    }
}
