//! HTML in the making: what is markup and what is text cannot be mixed up.

use oef_report::{escape, format};
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
    format::figure((value * 100.0).round() / 100.0)
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
    }
}
