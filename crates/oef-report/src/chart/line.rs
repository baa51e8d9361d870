//! Lines over time, and areas on top of each other.

use super::axis::{Axis, Resolved};
use super::figure::{Chart, Figure, left_out};
use super::frame::{Frame, Head, Reference, Side};
use super::legend::{self, Entry, Swatch, dot, line_class};
use super::looks::{self, in_grey};
use super::markers::Marker;
use super::palette::{DISTINCT, Look};
use super::reduce::reduce;
use super::stack;
use super::svg::Path;

/// Columns in which points are reduced: about two pixels each.
const COLUMNS: usize = 320;
/// Grey lines are background; they get fewer, and there are at most so many.
const REST_COLUMNS: usize = 60;
const REST_LINES: usize = 60;
/// Lines of up to so many points are drawn a second time, unseen and wide, so that the mouse finds them.
const HIT_POINTS: usize = 200;
/// Up to so many points, each gets a dot with its values.
const DOTS: usize = 40;
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 270.0;

/// A chart of series over time.
///
/// ```
/// use oef_report::chart::{Axis, Chart, LineChart, Series};
/// let figure = LineChart::new("Throughput", "Throughput of each tenant over time")
///     .y(Axis::new("throughput").unit("jobs/h"))
///     .series(Series::new("tenant 1", vec![(0.0, 2.0), (300.0, 2.5)]))
///     .reference(2.2, "equal split")
///     .marker(150.0, "tenant 4 leaves")
///     .draw();
/// assert!(figure.svg().contains("tenant 4 leaves"));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LineChart {
    title: String,
    description: String,
    x: Axis,
    y: Axis,
    is_stacked: bool,
    is_step: bool,
    series: Vec<Series>,
    references: Vec<Reference>,
    markers: Vec<Marker>,
}

/// One series of points.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    pub(crate) name: String,
    /// Sorted by x, which is finite; a y that is not finite is a gap.
    pub(crate) points: Vec<(f64, f64)>,
    pub(crate) dropped: usize,
    pub(crate) slot: Option<usize>,
}

impl Series {
    /// Points as (x, y). They need no order. A y that is not finite makes a gap; an x that is not is left out.
    pub fn new(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        use super::axis::drawable;
        let count = points.len();
        let place = |(x, y): (f64, f64)| Some((drawable(x)?, drawable(y).unwrap_or(f64::NAN)));
        let mut points: Vec<(f64, f64)> = points.into_iter().filter_map(place).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let dropped = count - points.iter().filter(|p| p.1.is_finite()).count();
        Series { name: name.into(), points, dropped, slot: None }
    }

    /// Always with the colour number `slot`, so that a tenant looks the same in every chart of a report.
    pub fn colour(mut self, slot: usize) -> Self {
        self.slot = Some(slot % DISTINCT);
        self
    }

    /// The mean of the sizes: how much there is to see.
    fn importance(&self) -> f64 {
        let finite = self.points.iter().filter(|p| p.1.is_finite());
        let (sum, count) = finite.fold((0.0, 0.0), |(s, n), p| (s + p.1.abs(), n + 1.0));
        if count > 0.0 { sum / count } else { 0.0 }
    }
}

impl LineChart {
    /// A chart with a title, and a description that says for screen readers what one sees.
    pub fn new(title: impl Into<String>, description: impl Into<String>) -> Self {
        LineChart {
            title: title.into(),
            description: description.into(),
            x: Axis::time("time").without_zero(),
            ..LineChart::default()
        }
    }

    /// Another x axis than time in seconds.
    pub fn x(mut self, axis: Axis) -> Self {
        self.x = axis;
        self
    }

    /// What the y axis measures.
    pub fn y(mut self, axis: Axis) -> Self {
        self.y = axis;
        self
    }

    /// Adds a series. The order gives the colours.
    pub fn series(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// Values hold until the next point: steps rather than slopes.
    pub fn steps(mut self) -> Self {
        self.is_step = true;
        self
    }

    /// Areas on top of each other, so that the sum shows. What is below zero counts as zero. A series counts from its
    /// first point to its last; with steps the last value holds to the end, so one that leaves ends with a zero.
    pub fn stacked(mut self) -> Self {
        self.is_stacked = true;
        self
    }

    /// A horizontal line to compare with.
    pub fn reference(mut self, at: f64, label: impl Into<String>) -> Self {
        self.references.push(Reference { at, label: label.into() });
        self
    }

    /// A vertical line at something that happened.
    pub fn marker(mut self, at: f64, label: impl Into<String>) -> Self {
        self.markers.push(Marker { at, label: label.into() });
        self
    }

    fn looks(&self) -> Vec<Look> {
        let importance: Vec<f64> = self.series.iter().map(Series::importance).collect();
        let slots: Vec<Option<usize>> = self.series.iter().map(|s| s.slot).collect();
        looks::choose(&importance, &slots)
    }

    fn notes(&self, looks: &[Look]) -> Vec<String> {
        let dropped = self.series.iter().map(|s| s.dropped).sum();
        let mut notes: Vec<String> = left_out(dropped).into_iter().collect();
        let rest = in_grey(looks);
        if rest > 0 {
            let shown = looks.len() - rest;
            let how = match (self.is_stacked, rest > REST_LINES) {
                (true, _) => "are drawn together in grey".to_string(),
                (_, false) => "are drawn in grey".to_string(),
                (_, true) => format!("are in grey, {REST_LINES} of them drawn"),
            };
            notes.push(format!("The {shown} largest series have colours; the other {rest} {how}."));
        }
        notes
    }

    fn axes(&self, tops: &[f64]) -> Option<(Resolved, Resolved)> {
        let points = || self.series.iter().flat_map(|s| &s.points).filter(|p| p.1.is_finite());
        let x = self.x.resolve(points().map(|p| p.0), 8, true)?;
        let references = self.references.iter().map(|r| r.at);
        let values: Vec<f64> = match self.is_stacked {
            true => tops.to_vec(),
            false => points().map(|p| p.1).collect(),
        };
        // Nothing to show is nothing, whatever it would be compared with.
        values.iter().find(|v| self.y.takes(**v))?;
        let y = self.y.resolve(values.into_iter().chain(references), 5, false)?;
        Some((x, y))
    }

    fn entries(&self, looks: &[Look]) -> Vec<Entry> {
        let swatch = if self.is_stacked { Swatch::Area } else { Swatch::Line };
        let named = self.series.iter().map(|s| &s.name).zip(looks);
        let entries = legend::entries(named, in_grey(looks), swatch);
        if entries.len() == 1 && entries[0].name.is_empty() { Vec::new() } else { entries }
    }

    fn draw_line(&self, frame: &mut Frame, series: &Series, look: Look) {
        let tip = self.tip(series);
        let runs = self.reduced_runs(frame, series, look);
        let mut line = Path::new();
        runs.iter().for_each(|run| trace(&mut line, run, self.is_step));
        frame.svg.path(&line, &format!("{} {}", look.class(), line_class(look)), Some(&tip));
        if look != Look::Rest && runs.iter().map(Vec::len).sum::<usize>() <= HIT_POINTS {
            frame.svg.path(&line, "hit", Some(&tip));
        }
        self.draw_dots(frame, series, look);
    }

    fn reduced_runs(&self, frame: &Frame, series: &Series, look: Look) -> Vec<Vec<[f64; 2]>> {
        let columns = if look == Look::Rest { REST_COLUMNS } else { COLUMNS };
        let ends = |points: &[(f64, f64)]| Some((points.first()?.0, points.last()?.0));
        let Some((low, high)) = ends(&series.points) else { return Vec::new() };
        let runs = series.points.split(|p| !self.takes(p));
        let draw = |run: &[(f64, f64)]| {
            let kept = reduce(run, columns, low, high);
            kept.into_iter().map(|i| [frame.px(run[i].0), frame.py(run[i].1)]).collect()
        };
        runs.filter(|run| !run.is_empty()).map(draw).collect()
    }

    fn takes(&self, point: &(f64, f64)) -> bool {
        self.x.takes(point.0) && self.y.takes(point.1)
    }

    fn draw_dots(&self, frame: &mut Frame, series: &Series, look: Look) {
        let visible: Vec<_> = series.points.iter().filter(|p| self.takes(p)).collect();
        // A point between two gaps would be a line without length, so it needs its dot in any case.
        let is_few = visible.len() <= DOTS && !self.is_step || visible.len() == 1;
        if look == Look::Rest || !is_few {
            return;
        }
        for (x, y) in visible {
            let (at_x, at_y) = (self.x.quantity().show(*x), self.y.quantity().show(*y));
            let tip = format!("{}: {at_y} at {at_x}", series.name);
            let centre = [frame.px(*x), frame.py(*y)];
            let class = format!("{} dot", look.class());
            frame.svg.path(&dot(centre, 3.0, look), &class, Some(&tip));
        }
    }

    fn tip(&self, series: &Series) -> String {
        let finite: Vec<f64> =
            series.points.iter().map(|p| p.1).filter(|y| y.is_finite()).collect();
        let low = finite.iter().copied().fold(f64::INFINITY, f64::min);
        let high = finite.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let last = finite.last().copied().unwrap_or(f64::NAN);
        let [low, high, last] = [low, high, last].map(|v| self.y.quantity().show(v));
        format!("{}: {low} to {high}, {last} at the end", series.name)
    }

    fn draw_stacked(&self, frame: &mut Frame, layers: &[stack::Layer]) {
        // From the top down, each over the one before: no gap can show between two neighbours.
        for layer in layers.iter().rev() {
            let (Some(first), Some(last)) = (layer.edge.first(), layer.edge.last()) else {
                continue;
            };
            let kept = reduce(&layer.edge, COLUMNS, first.0, last.0);
            let points: Vec<[f64; 2]> = kept
                .iter()
                .map(|i| [frame.px(layer.edge[*i].0), frame.py(layer.edge[*i].1)])
                .collect();
            let mut area = Path::new();
            trace(&mut area, &points, self.is_step);
            let zero = frame.py(0.0);
            area.to([frame.px(last.0), zero]).to([frame.px(first.0), zero]).close();
            let total = self.y.quantity().show(layer.mean);
            let tip = format!("{}: {total} on average", layer.name);
            frame.svg.path(&area, &format!("{} area edge", layer.look.class()), Some(&tip));
            if layer.look.is_second() {
                frame.svg.path(&area, "hatch", Some(&tip));
            }
        }
    }
}

/// Continues a path through points, by slopes or by steps.
fn trace(path: &mut Path, points: &[[f64; 2]], is_step: bool) {
    for (i, point) in points.iter().enumerate() {
        if i == 0 {
            path.start(*point);
        } else if is_step {
            path.across_to(point[0]);
            if point[1] != points[i - 1][1] {
                path.down_to(point[1]);
            }
        } else {
            path.to(*point);
        }
    }
}

impl Chart for LineChart {
    fn draw(&self) -> Figure {
        let looks = self.looks();
        let notes = self.notes(&looks);
        let layers = if self.is_stacked {
            stack::layers(&self.series, &looks, self.is_step)
        } else {
            Vec::new()
        };
        let tops: Vec<f64> = layers.iter().flat_map(|l| &l.edge).map(|p| p.1).collect();
        let Some((x, y)) = self.axes(&tops) else {
            return Figure::without_data(&self.title, &self.description, notes);
        };
        let (title, description) = (&self.title, &self.description);
        let head = Head { title, description, width: WIDTH, height: HEIGHT };
        let mut frame = Frame::new(head, &self.entries(&looks), x, y, &self.markers);
        if self.is_stacked {
            self.draw_stacked(&mut frame, &layers);
        }
        let drawn = self.series.iter().zip(&looks).filter(|_| !self.is_stacked);
        let (rest, told_apart): (Vec<_>, Vec<_>) =
            drawn.partition(|(_, look)| **look == Look::Rest);
        for (series, look) in rest.into_iter().take(REST_LINES).chain(told_apart) {
            self.draw_line(&mut frame, series, *look);
        }
        frame.draw_references(&self.references, Side::Above);
        frame.finish(notes)
    }
}
