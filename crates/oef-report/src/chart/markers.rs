//! Vertical lines at things that happened, with labels above the picture.

use super::axis::Resolved;
use super::svg::{Anchor, Svg};
use super::text::{SIZE, fitted, width};

/// Rows of labels; more would push the picture off a screen. A label that finds no place is in the tooltip only.
const MAX_ROWS: usize = 3;
const ROW: f64 = 16.0;

/// Something that happened, and when.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Marker {
    pub at: f64,
    pub label: String,
}

/// Markers with their places.
#[derive(Debug, Default)]
pub(crate) struct Markers {
    placed: Vec<Placed>,
    rows: usize,
}

#[derive(Debug)]
struct Placed {
    x: f64,
    whole_label: String,
    /// The row of the label, where it begins, and how much of it is written.
    label: Option<(usize, f64, String)>,
}

impl Markers {
    /// Gives each marker on the axis, which lies between `left` and `right`, a row that no other label is in.
    pub fn place(markers: &[Marker], axis: &Resolved, [left, right]: [f64; 2]) -> Self {
        let mut sorted: Vec<&Marker> = markers.iter().filter(|m| axis.contains(m.at)).collect();
        sorted.sort_by(|a, b| a.at.total_cmp(&b.at));
        let mut free_from = [0.0; MAX_ROWS];
        let place = |marker: &Marker| {
            let x = left + axis.part(marker.at) * (right - left);
            let text = fitted(&marker.label, (right - left) * 0.6, SIZE);
            let length = width(&text, SIZE);
            let start = (x - 2.0).min(right + 12.0 - length).max(0.0);
            let row = free_from.iter().position(|free| *free <= start);
            let label = row.filter(|_| !text.is_empty()).map(|row| {
                free_from[row] = start + length + 8.0;
                (row, start, text)
            });
            Placed { x, whole_label: marker.label.clone(), label }
        };
        let placed: Vec<Placed> = sorted.into_iter().map(place).collect();
        let used = placed.iter().filter_map(|p| p.label.as_ref()).map(|label| label.0 + 1);
        let rows = used.max().unwrap_or(0);
        Markers { placed, rows }
    }

    /// The room that the labels need above the picture.
    pub fn height(&self) -> f64 {
        self.rows as f64 * ROW
    }

    /// Draws lines from the labels, which stand above `top`, down to `bottom`.
    pub fn draw(&self, svg: &mut Svg, top: f64, bottom: f64) {
        for Placed { x, whole_label, label } in &self.placed {
            let rows = label.as_ref().map_or(0, |(row, ..)| self.rows - row);
            let start = top - (rows as f64 * ROW - 2.0).max(0.0);
            svg.line([*x, start, *x, bottom], "marker", Some(whole_label));
            if let Some((_, at, text)) = label {
                svg.text([*at, start - 2.0], Anchor::Start, "halo", text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::axis::Axis;
    use super::*;

    #[test]
    fn labels_that_would_touch_stand_in_rows() {
        let marker = |at: f64| Marker { at, label: "something happens".into() };
        let axis = Axis::time("t").resolve([0.0, 100.0].into_iter(), 5, true).expect("an axis");
        let place = |times: &[f64]| {
            let markers: Vec<Marker> = times.iter().copied().map(marker).collect();
            Markers::place(&markers, &axis, [40.0, 700.0])
        };
        assert_eq!(place(&[]).height(), 0.0);
        assert_eq!(place(&[10.0, 80.0]).height(), ROW);
        assert_eq!(place(&[80.0, 10.0, 12.0]).height(), 2.0 * ROW);
        let crowd = place(&[10.0, 10.0, 10.0, 10.0, 500.0]);
        assert_eq!(crowd.height(), 3.0 * ROW);
        assert_eq!(crowd.placed.len(), 4);
        assert!(crowd.placed[3].label.is_none());
    }
}
