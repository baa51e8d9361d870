//! HTML in the making: what is markup and what is text cannot be mixed up.

use oef_report::escape;
use std::fmt::{Display, Write};

/// A page that grows.
#[derive(Default)]
pub(super) struct Markup {
    out: String,
}

impl Markup {
    /// Markup of our own.
    pub fn raw(&mut self, markup: &str) -> &mut Self {
        self.out.push_str(markup);
        self
    }

    /// Text of others, made safe for elements and attributes alike.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.out.push_str(&escape(text));
        self
    }

    /// A number.
    pub fn number(&mut self, number: impl Display) -> &mut Self {
        // Writing to a string cannot fail.
        let _ = write!(self.out, "{number}");
        self
    }

    /// The page.
    pub fn done(self) -> String {
        self.out
    }
}

/// A figure with two digits after the point, without those that say nothing.
pub(super) fn figure(value: f64) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    let text = format!("{value:.2}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" { "0".into() } else { short.into() }
}

/// A length of time in the largest unit that fits.
pub(super) fn span(seconds: f64) -> String {
    let seconds = seconds.max(0.0);
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.1} d", s / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_text_is_no_markup() {
        let mut page = Markup::default();
        page.raw("<b>").text("<script>alert('x&y')</script>\0").raw("</b>");
        assert_eq!(page.done(), "<b>&lt;script&gt;alert(&#39;x&amp;y&#39;)&lt;/script&gt;</b>");
    }

    #[test]
    fn figures_are_short() {
        let shown = [0.0, -0.001, 1.5, 2.0, 2.7251, 100.0, f64::NAN].map(figure);
        assert_eq!(shown, ["0", "0", "1.5", "2", "2.73", "100", "–"]);
        assert_eq!(
            [3.0, 600.0, 9000.0, 200_000.0, -1.0].map(span),
            ["3 s", "10 min", "2.5 h", "2.3 d", "0 s"]
        );
    }
}
