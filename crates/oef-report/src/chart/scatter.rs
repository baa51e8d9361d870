//! Points by two measures.

use super::axis::{Axis, drawable};
use super::figure::{Chart, Figure, left_out};
use super::frame::{Frame, Head};
use super::legend::{Entry, Swatch, dot};
use super::line::Series;
use super::looks;
use super::palette::Look;
use super::svg::{Anchor, Path};
use super::text::{SIZE, width};
use std::collections::BTreeSet;

/// More points than this are thinned to one per small square, which looks the same.
const MAX_POINTS: usize = 1_500;
/// The side of that square, in pixels.
const SQUARE: f64 = 4.0;
/// More points than this are drawn small, without a form and a tooltip of their own.
const CROWD: usize = 400;
const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 250.0;

/// A cloud of points per series, such as solver time by number of tenants.
///
/// ```
/// use oef_report::chart::{Axis, Chart, Scatter, Series};
/// let figure = Scatter::new("Solver time", "Time to solve by number of tenants")
///     .x(Axis::new("tenants").log())
///     .y(Axis::time("time").log())
///     .series(Series::new("noncooperative", vec![(10.0, 0.001), (100.0, 0.02)]))
///     .draw();
/// assert!(figure.svg().starts_with("<svg"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Scatter {
    title: String,
    description: String,
    x: Axis,
    y: Axis,
    series: Vec<Series>,
    diagonal: Option<String>,
}

impl Scatter {
    /// A chart without points.
    pub fn new(title: impl Into<String>, description: impl Into<String>) -> Self {
        Scatter {
            title: title.into(),
            description: description.into(),
            x: Axis::new(""),
            y: Axis::new(""),
            series: Vec::new(),
            diagonal: None,
        }
    }

    /// What the x axis measures.
    pub fn x(mut self, axis: Axis) -> Self {
        self.x = axis;
        self
    }

    /// What the y axis measures.
    pub fn y(mut self, axis: Axis) -> Self {
        self.y = axis;
        self
    }

    /// Adds a cloud of points.
    pub fn series(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// With the line where both measures are equal: delivered equals promised.
    pub fn diagonal(mut self, label: impl Into<String>) -> Self {
        self.diagonal = Some(label.into());
        self
    }

    fn takes(&self, point: &(f64, f64)) -> bool {
        self.x.takes(point.0) && self.y.takes(point.1)
    }

    fn looks(&self) -> Vec<Look> {
        let importance: Vec<f64> = self.series.iter().map(|s| s.points.len() as f64).collect();
        let slots: Vec<Option<usize>> = self.series.iter().map(|s| s.slot).collect();
        looks::choose(&importance, &slots)
    }

    fn draw_cloud(&self, frame: &mut Frame, series: &Series, look: Look, total: usize) {
        let mut taken = BTreeSet::new();
        let mut all = Path::new();
        let kind = if total > CROWD { "crowd" } else { "dot" };
        let class = format!("{} {kind}", look.class());
        for (x, y) in series.points.iter().filter(|p| self.takes(p)) {
            let centre = [frame.px(*x), frame.py(*y)];
            // Within the picture, so it fits.
            let square = centre.map(|c| (c / SQUARE) as i32);
            if total > MAX_POINTS && !taken.insert(square) {
                continue;
            }
            if total <= CROWD {
                let (at_x, at_y) = (self.x.quantity().show(*x), self.y.quantity().show(*y));
                let tip = format!("{}: {at_x}, {at_y}", series.name);
                frame.svg.path(&dot(centre, 4.5, look), &class, Some(&tip));
            } else {
                // A line without length has a round end on both sides: the shortest dot there is.
                all.start(centre).across_to(centre[0]);
            }
        }
        frame.svg.path(&all, &class, Some(&series.name));
    }

    fn draw_diagonal(&self, frame: &mut Frame, ends: [f64; 2]) {
        let Some(label) = &self.diagonal else { return };
        let [low, high] = ends;
        let line = [frame.px(low), frame.py(low), frame.px(high), frame.py(high)];
        frame.svg.line(line, "diagonal", Some(label));
        // Below the line in its upper half: away from both axes.
        let at = [(line[0] + 3.0 * line[2]) / 4.0 + 4.0, (line[1] + 3.0 * line[3]) / 4.0 + 44.0];
        let at = [at[0].min(frame.right - width(label, SIZE)), at[1].min(frame.bottom - 6.0)];
        frame.svg.text(at, Anchor::Start, "halo", label);
    }

    /// The values that lie on both axes, where the diagonal runs.
    fn common(&self, points: &[(f64, f64)]) -> Option<[f64; 2]> {
        let ends = |get: fn(&(f64, f64)) -> f64| {
            let low = points.iter().map(get).fold(f64::INFINITY, f64::min);
            let high = points.iter().map(get).fold(f64::NEG_INFINITY, f64::max);
            [low, high]
        };
        let (x, y) = (ends(|p| p.0), ends(|p| p.1));
        let (low, high) = (x[0].max(y[0]), x[1].min(y[1]));
        let zero = if self.x.is_log() || self.y.is_log() || low < 0.0 { low } else { 0.0 };
        drawable(zero).zip(drawable(high)).filter(|(l, h)| h > l).map(|(l, h)| [l, h])
    }
}

impl Chart for Scatter {
    fn draw(&self) -> Figure {
        let looks = self.looks();
        let all = || self.series.iter().flat_map(|s| &s.points);
        let points: Vec<(f64, f64)> = all().filter(|p| self.takes(p)).copied().collect();
        let given: usize = self.series.iter().map(|s| s.points.len()).sum();
        let hidden: usize = self.series.iter().map(|s| s.dropped_places()).sum();
        let mut notes: Vec<String> = left_out(given - points.len() + hidden).into_iter().collect();
        if points.len() > MAX_POINTS {
            notes.push("Points that lie on top of each other are drawn once.".into());
        }
        if looks.contains(&Look::Rest) {
            notes.push("The series with the fewest points are drawn in grey.".into());
        }
        let x = self.x.resolve(points.iter().map(|p| p.0), 6, false);
        let y = self.y.resolve(points.iter().map(|p| p.1), 5, false);
        let (Some(x), Some(y)) = (x, y) else {
            return Figure::without_data(&self.title, &self.description, notes);
        };
        let (title, description) = (&self.title, &self.description);
        let head = Head { title, description, width: WIDTH, height: HEIGHT };
        let named = self.series.iter().zip(&looks).filter(|(_, look)| **look != Look::Rest);
        let entries: Vec<Entry> = named
            .filter(|(s, _)| !s.name.is_empty())
            .map(|(s, look)| Entry { name: s.name.clone(), look: *look, swatch: Swatch::Dot })
            .collect();
        let mut frame = Frame::new(head, &entries, x, y, &[]);
        for (series, look) in self.series.iter().zip(&looks) {
            self.draw_cloud(&mut frame, series, *look, points.len());
        }
        if let Some(ends) = self.common(&points) {
            self.draw_diagonal(&mut frame, ends);
        }
        frame.finish(notes)
    }
}
