//! What a job wrote, made safe for a terminal.

use oef_terminal::names::{is_misleading, safe};

/// The text with colours and line breaks kept, and everything escaped that would move the cursor elsewhere,
/// rename the window, answer for the user, change the direction of the text or hide in it. A job may be another's.
pub fn for_terminal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| is_misleading(c) && !matches!(c, '\n' | '\t' | '\r')) {
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

/// The marks of a job with one worker.
const MARKS: [&str; 2] = ["[0] ", "[0 err] "];

/// Takes the marks off the lines of a job with one worker; a mark may come in two parts.
#[derive(Debug, Default)]
pub struct Unmarked {
    /// What may be the beginning of a mark.
    pending: String,
    in_line: bool,
}

impl Unmarked {
    /// The next part of the text; `is_end`: nothing follows.
    pub fn take(&mut self, text: &str, is_end: bool) -> String {
        let text = std::mem::take(&mut self.pending) + text;
        let mut out = String::with_capacity(text.len());
        for line in text.split_inclusive(['\n', '\r']) {
            let ends = line.ends_with(['\n', '\r']);
            let begins = |mark: &&str| mark.starts_with(line);
            if !self.in_line && !ends && !is_end && MARKS.iter().any(begins) {
                self.pending = line.into();
                continue;
            }
            let marked = MARKS.iter().find_map(|mark| line.strip_prefix(mark));
            out.push_str(if self.in_line { line } else { marked.unwrap_or(line) });
            self.in_line = !ends;
        }
        self.in_line &= !is_end;
        out
    }
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
    fn marks_are_taken_off_wherever_the_text_is_cut() {
        let text = "[0] one\n[0 err] two [0] \n[0] 10%\r[0] 20%\r\n[0] end";
        let expected = "one\ntwo [0] \n10%\r20%\r\nend";
        for cut in 0..=text.len() {
            let mut marks = Unmarked::default();
            let (one, other) = text.split_at(cut);
            let shown = marks.take(one, false) + &marks.take(other, true);
            assert_eq!(shown, expected, "cut at {cut}");
        }
    }

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
            ("loss \u{202e}1.0", "loss \\u{202e}1.0"),
            ("a\u{200b}b\u{2066}c", "a\\u{200b}b\\u{2066}c"),
            ("⚠\u{fe0f} 漢字 \u{2800}⠋", "⚠\u{fe0f} 漢字 \u{2800}⠋"),
        ];
        for (text, expected) in cases {
            assert_eq!(for_terminal(text), expected);
        }
    }
}
