//! The frame of a chart with two axes: title, legend, grid, ticks, and the lines that explain it.

use super::axis::Resolved;
use super::figure::{Figure, draw_title};
use super::legend::{self, Entry};
use super::markers::{Marker, Markers};
use super::svg::{Anchor, Svg};
use super::text::{SIZE, fitted, width};

/// A horizontal line with a label: something to compare with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reference {
    pub at: f64,
    pub label: String,
}

/// On which side of its line a label stands if it can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Above,
    Below,
}

/// The words of a chart and its size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head<'a> {
    pub title: &'a str,
    pub description: &'a str,
    pub width: f64,
    /// The height of the inner part.
    pub height: f64,
}

/// A chart in the making: the frame is drawn, and the inner part is up to the caller.
pub(crate) struct Frame<'a> {
    pub svg: Svg,
    head: Head<'a>,
    x: Resolved,
    y: Resolved,
    markers: Markers,
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

const TICK_SIZE: f64 = 12.0;

impl<'a> Frame<'a> {
    pub fn new(
        head: Head<'a>,
        entries: &[Entry],
        x: Resolved,
        y: Resolved,
        markers: &[Marker],
    ) -> Self {
        let mut svg = Svg::new();
        let after_title = draw_title(&mut svg, head.title, head.width);
        // One unnamed series needs no legend: the title says what it is.
        let after_legend = legend::draw(&mut svg, entries, after_title, head.width);
        let widest = y.ticks.iter().map(|(_, label)| width(label, TICK_SIZE)).fold(0.0, f64::max);
        let left = (widest + 16.0).clamp(34.0, head.width / 3.0);
        let right = head.width - 16.0;
        let mut frame = Frame {
            svg,
            head,
            x,
            y,
            markers: Markers::default(),
            left,
            right,
            top: after_legend,
            bottom: after_legend,
        };
        if !frame.y.title.is_empty() {
            frame.top += 20.0;
            let title = fitted(&frame.y.title, head.width - 16.0, SIZE);
            frame.svg.text([8.0, frame.top - 6.0], Anchor::Start, "axis", &title);
        }
        frame.markers = Markers::place(markers, &frame.x, [left, right]);
        frame.top += frame.markers.height() + 6.0;
        frame.bottom = frame.top + head.height;
        frame.draw_grid();
        frame
    }

    /// Where a value lies from left to right.
    pub fn px(&self, x: f64) -> f64 {
        self.left + self.x.part(x) * (self.right - self.left)
    }

    /// Where a value lies from top to bottom.
    pub fn py(&self, y: f64) -> f64 {
        self.bottom - self.y.part(y) * (self.bottom - self.top)
    }

    fn draw_grid(&mut self) {
        let (left, right, bottom) = (self.left, self.right, self.bottom);
        for (at, label) in self.y.ticks.clone() {
            let y = self.py(at);
            let class = if at == 0.0 { "base" } else { "grid" };
            self.svg.line([left, y, right, y], class, None);
            let label = fitted(&label, left - 10.0, TICK_SIZE);
            self.svg.text([left - 6.0, y + 4.0], Anchor::End, "tick", &label);
        }
        self.svg.line([left, bottom, right, bottom], "base", None);
        let mut free_from = 0.0;
        for (at, label) in self.x.ticks.clone() {
            let (x, half) = (self.px(at), width(&label, TICK_SIZE) / 2.0);
            self.svg.line([x, bottom, x, bottom + 4.0], "base", None);
            let middle = x.min(self.head.width - 2.0 - half);
            if middle - half >= free_from {
                self.svg.text([middle, bottom + 18.0], Anchor::Middle, "tick", &label);
                free_from = middle + half + 6.0;
            }
        }
        let middle = (left + right) / 2.0;
        let title = fitted(&self.x.title.clone(), right - left, SIZE);
        self.svg.text([middle, bottom + 37.0], Anchor::Middle, "axis", &title);
    }

    /// Draws the lines to compare with. A label that would cover another goes to the other side of its
    /// line, or away: the tooltip still has it.
    pub fn draw_references(&mut self, references: &[Reference], side: Side) {
        let mut taken: Vec<f64> = Vec::new();
        for reference in references.iter().filter(|r| self.y.contains(r.at)) {
            let y = self.py(reference.at);
            let line = [self.left, y, self.right, y];
            self.svg.line(line, "reference", Some(&reference.label));
            let places = match side {
                Side::Above => [y - 5.0, y + 14.0],
                Side::Below => [y + 14.0, y - 5.0],
            };
            let is_free = |at: &f64| {
                taken.iter().all(|t| (t - at).abs() >= 15.0)
                    && *at < self.bottom
                    && *at > self.top + 8.0
            };
            if let Some(at) = places.into_iter().find(is_free) {
                taken.push(at);
                let label = fitted(&reference.label, (self.right - self.left) * 0.6, SIZE);
                self.svg.text([self.right - 2.0, at], Anchor::End, "halo", &label);
            }
        }
    }

    pub fn finish(mut self, notes: Vec<String>) -> Figure {
        // Markers come last: they must not vanish below an area.
        self.markers.draw(&mut self.svg, self.top, self.bottom);
        let Head { title, description, width, .. } = self.head;
        let height = self.bottom + if self.x.title.is_empty() { 26.0 } else { 46.0 };
        Figure::new(self.svg.finish(width, height, title, description), width, notes)
    }
}
