//! What every chart becomes: a picture with its words.

use super::svg::{Anchor, Svg};
use super::text::{TITLE_SIZE, wrapped};
use super::{palette, style};

/// A chart that can be drawn.
pub trait Chart {
    /// Draws it. Never fails: a chart without data says so.
    fn draw(&self) -> Figure;
}

/// A drawn chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    svg: String,
    width: f64,
    notes: Vec<String>,
}

impl Figure {
    /// The SVG element for an HTML page. Its colours and sizes come from [`Figure::style`].
    pub fn svg(&self) -> &str {
        &self.svg
    }

    /// What the picture leaves out, groups or samples, in sentences for the caption.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The width in pixels at which the text has its natural size.
    pub fn width(&self) -> f64 {
        self.width
    }

    /// The style that a page with charts needs once.
    pub fn style() -> String {
        palette::custom_properties() + style::CHARTS
    }

    /// Patterns that a page with charts needs once, as an SVG element that takes no room.
    pub fn patterns() -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"0\" height=\"0\" aria-hidden=\"true\" \
             style=\"position:absolute\">{}</svg>\n",
            style::PATTERNS
        )
    }

    pub(crate) fn new(svg: String, width: f64, notes: Vec<String>) -> Self {
        Figure { svg, width, notes }
    }

    /// The picture of a chart that has nothing to show.
    pub(crate) fn without_data(title: &str, description: &str, notes: Vec<String>) -> Self {
        const WIDTH: f64 = 480.0;
        let mut svg = Svg::new();
        let y = draw_title(&mut svg, title, WIDTH);
        svg.rect([8.0, y + 6.0, WIDTH - 16.0, 90.0], "empty", None);
        svg.text([WIDTH / 2.0, y + 56.0], Anchor::Middle, "quiet", "no data to show");
        Figure::new(svg.finish(WIDTH, y + 104.0, title, description), WIDTH, notes)
    }
}

/// Writes the title of a chart; the answer is where the rest begins.
pub(crate) fn draw_title(svg: &mut Svg, title: &str, width: f64) -> f64 {
    const LINE: f64 = 20.0;
    let mut y = 4.0;
    for line in wrapped(title, width - 16.0, TITLE_SIZE * 1.05, 3) {
        y += LINE;
        svg.text([8.0, y - 4.0], Anchor::Start, "title", &line);
    }
    y + 4.0
}

/// A sentence about values that have no place in a chart.
pub(crate) fn left_out(count: usize) -> Option<String> {
    match count {
        0 => None,
        1 => Some(
            "One value that is not a finite number or has no place on the axis is left out.".into(),
        ),
        n => Some(format!(
            "{} values that are not finite numbers or have no place on the axis are left out.",
            crate::format::fixed(n as f64, 0)
        )),
    }
}
