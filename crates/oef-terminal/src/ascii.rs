//! Text for terminals whose locale is `C`: ASCII, one character for each, so that tables stay in line.

use std::borrow::Cow;

/// The text as the reader's locale can show it: without a locale, or with another than `C`, as it is.
pub fn shown(text: &str) -> Cow<'_, str> {
    let is_fine = text.is_ascii() || !is_c(|name| std::env::var(name).ok());
    if is_fine { Cow::Borrowed(text) } else { plain(text) }
}

/// Whether the locale for characters is `C` (or `POSIX`), by the first variable that says anything.
fn is_c(variable: impl Fn(&str) -> Option<String>) -> bool {
    let said = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(variable);
    said.into_iter().find(|value| !value.is_empty()).is_some_and(|v| v == "C" || v == "POSIX")
}

fn plain(text: &str) -> Cow<'_, str> {
    if text.is_ascii() { Cow::Borrowed(text) } else { Cow::Owned(text.chars().map(of).collect()) }
}

/// The nearest ASCII character; a letter of another script is a question mark.
fn of(c: char) -> char {
    match c {
        c if c.is_ascii() => c,
        '✓' => '+',
        '✗' | '×' => 'x',
        '·' | '–' | '—' | '−' | '─' | '▂' | '▃' => '-',
        '★' | '•' => '*',
        '▽' | '↓' => 'v',
        '↑' => '^',
        '→' | '≥' => '>',
        '≤' => '<',
        '…' | '▁' | '▏' => '.',
        '‖' | '│' => '|',
        'µ' => 'u',
        '▄' | '▅' | '▎' | '▍' | '▌' => '=',
        '▆' | '▇' | '█' | '▋' | '▊' | '▉' => '#',
        '‘' | '’' => '\'',
        '“' | '”' => '"',
        _ => '?',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_says_anything_decides() {
        let locale = |pairs: &[(&str, &str)]| {
            is_c(|name| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_string()))
        };
        assert!(locale(&[("LANG", "C")]));
        assert!(locale(&[("LC_ALL", "POSIX"), ("LANG", "de_DE.UTF-8")]));
        assert!(locale(&[("LC_ALL", ""), ("LANG", "C")]));
        assert!(!locale(&[("LC_ALL", "C.UTF-8"), ("LANG", "C")]));
        assert!(!locale(&[("LC_CTYPE", "en_US.UTF-8"), ("LANG", "C")]));
        assert!(!locale(&[]), "nothing is said: terminals show UTF-8");
    }

    #[test]
    fn every_character_becomes_one_of_ascii() {
        for text in ["✓ 2×rtx3090 · ██▌  ▁▃▆█ …", "größe 漢字 → ≥ 5 µs", "plain"]
        {
            let shown = plain(text);
            assert!(shown.is_ascii(), "{shown}");
            assert_eq!(shown.chars().count(), text.chars().count());
        }
        assert_eq!(plain("✓ 2×a ▁█ …"), "+ 2xa .# .");
    }
}
