//! How wide text is, about: without a font one can only guess, and guesses a little too wide.

/// The fonts of charts and pages: those of the reader's system; nothing is fetched.
pub(crate) const FONT: &str = "system-ui,-apple-system,&#39;Segoe UI&#39;,Roboto,&#39;Noto Sans&#39;,&#39;Liberation Sans&#39;,Arial,sans-serif";
/// The size of plain text in a chart.
pub(crate) const SIZE: f64 = 13.0;
/// The size of the title of a chart.
pub(crate) const TITLE_SIZE: f64 = 15.0;

/// The width of a text in pixels at a font size.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(|c| relative_width(c) * size).sum()
}

fn relative_width(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 0.3,
        ' ' | 'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | '-' => 0.39,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.89,
        'A'..='Z' | '&' => 0.7,
        c if (c as u32) < 0x1100 => 0.6,
        // Scripts of square characters, and pictures.
        _ => 1.05,
    }
}

/// The text, cut with an ellipsis where it is wider than `room`.
pub(crate) fn fitted(text: &str, room: f64, size: f64) -> String {
    if width(text, size) <= room {
        return text.to_string();
    }
    let mut used = width("…", size);
    let mut out = String::new();
    for c in text.chars() {
        used += relative_width(c) * size;
        if used > room {
            break;
        }
        out.push(c);
    }
    out.trim_end().to_string() + "…"
}

/// The text in at most `lines` lines no wider than `room`, broken between words; the last is cut where it must be.
pub(crate) fn wrapped(text: &str, room: f64, size: f64, lines: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let longer = out.last().map(|line| format!("{line} {word}"));
        match longer {
            Some(longer) if width(&longer, size) <= room || out.len() >= lines => {
                out.pop();
                out.push(longer);
            }
            _ => out.push(word.to_string()),
        }
    }
    out.iter().map(|line| fitted(line, room, size)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_or_broken() {
        assert_eq!(fitted("tenant", 100.0, SIZE), "tenant");
        let cut = fitted("a tenant with a very long name", 80.0, SIZE);
        assert!(cut.ends_with('…') && width(&cut, SIZE) <= 80.0, "{cut}");
        let lines = wrapped("a tenant with a very long name indeed", 80.0, SIZE, 2);
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| width(line, SIZE) <= 80.0), "{lines:?}");
        assert!(wrapped("", 80.0, SIZE, 2).is_empty());
    }
}
