//! A small writer of SVG: every number is finite, every text is escaped, every element is closed.

use super::text::FONT;
use crate::escape::escape;
use std::fmt::Write;

/// The inside of an SVG element in the making.
#[derive(Debug, Default)]
pub(crate) struct Svg {
    out: String,
}

/// Where a text stands relative to its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Svg {
    pub fn new() -> Self {
        Svg::default()
    }

    /// A rectangle with an optional tooltip.
    pub fn rect(&mut self, [x, y, w, h]: [f64; 4], class: &str, tip: Option<&str>) {
        let [x, y, w, h] = [x, y, w.max(0.0), h.max(0.0)].map(coordinate);
        let attributes = format!(r#"x="{x}" y="{y}" width="{w}" height="{h}""#);
        self.element("rect", &attributes, class, tip);
    }

    pub fn line(&mut self, [x1, y1, x2, y2]: [f64; 4], class: &str, tip: Option<&str>) {
        let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(coordinate);
        let attributes = format!(r#"x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}""#);
        self.element("line", &attributes, class, tip);
    }

    pub fn path(&mut self, path: &Path, class: &str, tip: Option<&str>) {
        if !path.is_empty() {
            self.element("path", &format!(r#"d="{}""#, path.data), class, tip);
        }
    }

    /// A path as wide as `width`, where the width comes from data and not from the style.
    pub fn wide_path(&mut self, path: &Path, width: f64, class: &str, tip: Option<&str>) {
        if !path.is_empty() {
            let width = coordinate(width);
            let attributes = format!(r#"d="{}" stroke-width="{width}""#, path.data);
            self.element("path", &attributes, class, tip);
        }
    }

    pub fn text(&mut self, [x, y]: [f64; 2], anchor: Anchor, class: &str, text: &str) {
        let [x, y] = [x, y].map(coordinate);
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " m",
            Anchor::End => " e",
        };
        let class = format!("{class}{anchor}");
        let class = class.trim();
        let class = if class.is_empty() { String::new() } else { format!(r#" class="{class}""#) };
        let _ = write!(self.out, r#"<text x="{x}" y="{y}"{class}>{}</text>"#, escape(text));
        self.out.push('\n');
    }

    /// A text that rises to the right from its point.
    pub fn slanted_text(&mut self, [x, y]: [f64; 2], class: &str, text: &str) {
        let ([x, y], text) = ([x, y].map(coordinate), escape(text));
        let turn = format!(r#"transform="translate({x} {y}) rotate(-45)""#);
        let _ = writeln!(self.out, r#"<text {turn} class="{class}">{text}</text>"#);
    }

    /// Everything that `inside` draws, as a group with a class.
    pub fn group(&mut self, class: &str, inside: impl FnOnce(&mut Svg)) {
        let _ = writeln!(self.out, r#"<g class="{}">"#, escape(class));
        inside(self);
        self.out.push_str("</g>\n");
    }

    /// The whole element, of `width` by `height`, with its words for screen readers.
    pub fn finish(self, width: f64, height: f64, title: &str, description: &str) -> String {
        let (w, h) = (coordinate(width), coordinate(height));
        let (title, description) = (escape(title), escape(description));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"oef\" role=\"img\" aria-label=\"{title}\" \
             viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" font-family=\"{FONT}\">\n\
             <title>{title}</title>\n<desc>{description}</desc>\n{}</svg>\n",
            self.out
        )
    }

    fn element(&mut self, name: &str, attributes: &str, class: &str, tip: Option<&str>) {
        let class = if class.is_empty() { String::new() } else { format!(r#" class="{class}""#) };
        let _ = match tip {
            Some(tip) => writeln!(
                self.out,
                "<{name} {attributes}{class}><title>{}</title></{name}>",
                escape(tip)
            ),
            None => writeln!(self.out, "<{name} {attributes}{class}/>"),
        };
    }
}

/// The data of a path.
#[derive(Debug, Default, Clone)]
pub(crate) struct Path {
    data: String,
}

impl Path {
    pub fn new() -> Self {
        Path::default()
    }

    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    pub fn start(&mut self, [x, y]: [f64; 2]) -> &mut Self {
        let _ = write!(self.data, "M{} {}", coordinate(x), coordinate(y));
        self
    }

    pub fn to(&mut self, [x, y]: [f64; 2]) -> &mut Self {
        let _ = write!(self.data, "L{} {}", coordinate(x), coordinate(y));
        self
    }

    pub fn across_to(&mut self, x: f64) -> &mut Self {
        let _ = write!(self.data, "H{}", coordinate(x));
        self
    }

    pub fn down_to(&mut self, y: f64) -> &mut Self {
        let _ = write!(self.data, "V{}", coordinate(y));
        self
    }

    pub fn close(&mut self) -> &mut Self {
        self.data.push('z');
        self
    }
}

/// A coordinate with one decimal, which is finer than any screen; never `NaN`, `inf` or `-0`.
pub(crate) fn coordinate(value: f64) -> String {
    /// Far outside of any chart, and still few digits.
    const FAR: f64 = 1e5;
    let value = if value.is_finite() { value.clamp(-FAR, FAR) } else { 0.0 };
    let tenths = (value * 10.0).round() + 0.0;
    if tenths % 10.0 == 0.0 {
        format!("{:.0}", tenths / 10.0 + 0.0)
    } else {
        format!("{:.1}", tenths / 10.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short_and_finite() {
        let cases = [
            (0.0, "0"),
            (-0.01, "0"),
            (12.34, "12.3"),
            (12.96, "13"),
            (f64::NAN, "0"),
            (f64::INFINITY, "0"),
            (-1e30, "-100000"),
        ];
        for (value, expected) in cases {
            assert_eq!(coordinate(value), expected);
        }
    }

    #[test]
    fn elements_are_closed_and_escaped() {
        let mut svg = Svg::new();
        svg.group("a", |svg| svg.text([1.0, 2.0], Anchor::End, "", "<x & y>"));
        svg.rect([0.0, 0.0, -1.0, f64::NAN], "", Some("\"tip\""));
        let text = svg.finish(10.0, 10.0, "a <title>", "d");
        let document = roxmltree::Document::parse(&text).expect("well-formed");
        assert_eq!(document.root_element().attribute("aria-label"), Some("a <title>"));
    }
}
