//! Which part of the samples is at most so large.

use super::axis::{Axis, drawable};
use super::figure::{Chart, Figure, left_out};
use super::frame::{Frame, Head, Reference, Side};
use super::legend::{self, Swatch, line_class};
use super::looks;
use super::markers::Marker;
use super::palette::Look;
use super::svg::Path;
use crate::format::{fixed, percent};

/// So many points are enough for a smooth curve; the smallest and the largest sample are always among them.
const MAX_POINTS: usize = 300;
const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 225.0;

/// Distributions as cumulative curves, made from raw samples.
///
/// ```
/// use oef_report::chart::{Axis, Cdf, Chart};
/// let figure = Cdf::new("Job completion time", "Share of jobs that are done after a time")
///     .x(Axis::time("job completion time").log())
///     .samples("oef", vec![300.0, 900.0, 4000.0])
///     .samples("gavel", vec![350.0, 1100.0, 5200.0])
///     .quantile(0.5)
///     .draw();
/// assert!(figure.notes().is_empty());
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cdf {
    title: String,
    description: String,
    x: Axis,
    curves: Vec<Curve>,
    quantiles: Vec<f64>,
    markers: Vec<Marker>,
}

#[derive(Debug, Clone, PartialEq)]
struct Curve {
    name: String,
    sorted: Vec<f64>,
    dropped: usize,
}

impl Cdf {
    /// A chart of durations on a linear axis.
    pub fn new(title: impl Into<String>, description: impl Into<String>) -> Self {
        Cdf {
            title: title.into(),
            description: description.into(),
            x: Axis::time("duration"),
            ..Cdf::default()
        }
    }

    /// What the samples measure. On a logarithmic axis, samples of zero and below count but lie left of it.
    pub fn x(mut self, axis: Axis) -> Self {
        self.x = axis;
        self
    }

    /// Adds a curve. The samples need no order; those that are not finite are left out.
    pub fn samples(mut self, name: impl Into<String>, samples: Vec<f64>) -> Self {
        let count = samples.len();
        let mut sorted: Vec<f64> = samples.into_iter().filter_map(drawable).collect();
        sorted.sort_by(f64::total_cmp);
        let dropped = count - sorted.len();
        self.curves.push(Curve { name: name.into(), sorted, dropped });
        self
    }

    /// A line across at this part of the samples: 0.5 is the median, 0.95 the slowest twentieth.
    pub fn quantile(mut self, part: f64) -> Self {
        self.quantiles.push(part);
        self
    }

    /// A vertical line with a label, such as a deadline.
    pub fn marker(mut self, at: f64, label: impl Into<String>) -> Self {
        self.markers.push(Marker { at, label: label.into() });
        self
    }

    fn draw_curve(&self, frame: &mut Frame, curve: &Curve, look: Look) {
        let points = curve.steps(self.x.is_log());
        let Some(first) = points.first() else { return };
        let mut path = Path::new();
        let start = if first.2 { frame.px(first.0) } else { frame.left };
        path.start([start, frame.py(first.1)]);
        for (x, part, _) in &points {
            path.across_to(frame.px(*x)).down_to(frame.py(*part));
        }
        path.across_to(frame.right);
        let class = format!("{} {}", look.class(), line_class(look));
        frame.svg.path(&path, &class, None);
        frame.svg.path(&path, "hit", Some(&self.tip(curve)));
    }

    fn tip(&self, curve: &Curve) -> String {
        let [half, most] = [0.5, 0.95].map(|part| self.x.quantity().show(curve.quantile(part)));
        let count = fixed(curve.sorted.len() as f64, 0);
        format!("{}: {count} samples, median {half}, 95 % at most {most}", curve.name)
    }
}

impl Curve {
    /// The corners of the curve: a sample, the part of all that is at most as large, and whether the curve begins
    /// there.
    fn steps(&self, is_log: bool) -> Vec<(f64, f64, bool)> {
        let count = self.sorted.len();
        let hidden = if is_log { self.sorted.partition_point(|v| *v <= 0.0) } else { 0 };
        let shown = count - hidden;
        let kept = shown.min(MAX_POINTS);
        let index = |i: usize| hidden + if kept > 1 { i * (shown - 1) / (kept - 1) } else { 0 };
        let part = |i: usize| (i + 1) as f64 / count.max(1) as f64;
        let mut steps: Vec<(f64, f64, bool)> = Vec::new();
        if shown > 0 {
            steps.push((self.sorted[hidden], hidden as f64 / count as f64, hidden == 0));
        }
        steps.extend((0..kept).map(|i| (self.sorted[index(i)], part(index(i)), false)));
        steps
    }

    fn quantile(&self, part: f64) -> f64 {
        let count = self.sorted.len();
        // The smallest sample that so large a part of all does not exceed.
        let rank = (part * count as f64).ceil().max(1.0) as usize;
        self.sorted.get(rank.min(count).wrapping_sub(1)).copied().unwrap_or(f64::NAN)
    }
}

impl Chart for Cdf {
    fn draw(&self) -> Figure {
        let importance: Vec<f64> = self.curves.iter().map(|c| c.sorted.len() as f64).collect();
        let looks = looks::choose(&importance, &[]);
        let mut notes: Vec<String> =
            left_out(self.curves.iter().map(|c| c.dropped).sum()).into_iter().collect();
        let rest = looks::in_grey(&looks);
        if rest > 0 {
            let are = if rest == 1 { "is" } else { "are" };
            notes.push(format!("{rest} of {} curves {are} drawn in grey.", looks.len()));
        }
        let samples = self.curves.iter().flat_map(|c| c.sorted.iter().copied());
        let y =
            Axis::fraction("part of all").range(0.0, 1.0).resolve([0.0, 1.0].into_iter(), 5, false);
        let (Some(x), Some(y)) = (self.x.resolve(samples, 6, true), y) else {
            return Figure::without_data(&self.title, &self.description, notes);
        };
        let (title, description) = (&self.title, &self.description);
        let head = Head { title, description, width: WIDTH, height: HEIGHT };
        let entries =
            legend::entries(self.curves.iter().map(|c| &c.name).zip(&looks), rest, Swatch::Line);
        let mut frame = Frame::new(head, &entries, x, y, &self.markers);
        let lines: Vec<Reference> = self
            .quantiles
            .iter()
            .map(|q| Reference {
                at: *q,
                label: if *q == 0.5 { "median".into() } else { percent(*q) },
            })
            .collect();
        // Right of the curves' rise there is room below the lines, not above.
        frame.draw_references(&lines, Side::Below);
        for (curve, look) in self.curves.iter().zip(&looks) {
            self.draw_curve(&mut frame, curve, *look);
        }
        frame.finish(notes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(sorted: &[f64]) -> Curve {
        Curve { name: "a".into(), sorted: sorted.to_vec(), dropped: 0 }
    }

    #[test]
    fn a_curve_rises_by_one_step_per_sample() {
        let steps = curve(&[1.0, 2.0, 4.0, 8.0]).steps(false);
        let parts: Vec<f64> = steps.iter().map(|s| s.1).collect();
        assert_eq!(parts, [0.0, 0.25, 0.5, 0.75, 1.0]);
    }

    #[test]
    fn samples_left_of_a_logarithmic_axis_still_count() {
        let steps = curve(&[0.0, 2.0, 4.0, 8.0]).steps(true);
        assert_eq!(steps[0], (2.0, 0.25, false));
        assert_eq!(steps.last(), Some(&(8.0, 1.0, false)));
        assert!(curve(&[0.0]).steps(true).is_empty());
    }

    #[test]
    fn many_samples_keep_their_ends() {
        let sorted: Vec<f64> = (0..100_000).map(f64::from).collect();
        let steps = curve(&sorted).steps(false);
        assert!(steps.len() <= MAX_POINTS + 1);
        assert_eq!((steps[0].0, steps.last().map(|s| s.0)), (0.0, Some(99_999.0)));
    }

    #[test]
    fn quantiles_are_samples() {
        let curve = curve(&[1.0, 2.0, 4.0, 8.0]);
        assert_eq!([0.0, 0.5, 0.51, 1.0].map(|q| curve.quantile(q)), [1.0, 2.0, 4.0, 8.0]);
        assert!(Curve { sorted: vec![], ..curve }.quantile(0.5).is_nan());
    }
}
