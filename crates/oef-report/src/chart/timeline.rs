//! Who ran where: a map of rows by time.

use super::axis::{Axis, Resolved, drawable};
use super::figure::{Chart, Figure, left_out};
use super::looks;
use super::markers::Marker;
use super::palette::Look;
use super::segments::{Segment, sampled, tidied};
use super::timeline_picture::Picture;
use std::collections::BTreeMap;

/// More rows cannot be told apart on a screen; past this, rows are sampled and the caption says so.
pub const MAX_ROWS: usize = 160;

/// A map of GPUs by time, coloured by who held them.
///
/// Rows come in groups (gpu types) and nodes. Past [`MAX_ROWS`] rows, evenly chosen ones of each group are drawn;
/// past some thousand segments, time is drawn in columns. The caption says both.
///
/// ```
/// use oef_report::chart::{Chart, Row, Timeline};
/// let figure = Timeline::new("Who ran where", "GPUs by time, coloured by tenant")
///     .categories(["tenant 1", "tenant 2"])
///     .row(Row::new("RTX 3070", "node 1", "gpu 0").segment(0.0, 300.0, 0).segment(300.0, 900.0, 1))
///     .row(Row::new("RTX 3070", "node 1", "gpu 1").segment(0.0, 900.0, 1))
///     .draw();
/// assert!(figure.notes().is_empty());
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Timeline {
    title: String,
    description: String,
    x: Axis,
    rows: Vec<Row>,
    categories: Vec<String>,
    slots: Vec<Option<usize>>,
    markers: Vec<Marker>,
    until: Option<f64>,
}

/// One GPU.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub(crate) group: String,
    pub(crate) node: String,
    pub(crate) name: String,
    pub(crate) segments: Vec<Segment>,
    dropped: usize,
}

impl Row {
    /// A row of a group (a gpu type) on a node.
    pub fn new(group: impl Into<String>, node: impl Into<String>, name: impl Into<String>) -> Self {
        let (group, node, name) = (group.into(), node.into(), name.into());
        Row { group, node, name, segments: Vec::new(), dropped: 0 }
    }

    /// From `start` to `end`, in seconds, it belonged to the category of this index.
    pub fn segment(mut self, start: f64, end: f64, category: usize) -> Self {
        self.add(start, end, category);
        self
    }

    /// The same, for loops. Rounds that follow each other in one category take the room of one segment.
    pub fn add(&mut self, start: f64, end: f64, category: usize) {
        let Some((start, end)) = drawable(start).zip(drawable(end)) else {
            self.dropped += 1;
            return;
        };
        match self.segments.last_mut() {
            Some(last) if last.category == category && start == last.end => {
                last.end = last.end.max(end)
            }
            _ => self.segments.push(Segment { start, end, category }),
        }
    }
}

impl Timeline {
    /// A map without rows.
    pub fn new(title: impl Into<String>, description: impl Into<String>) -> Self {
        Timeline {
            title: title.into(),
            description: description.into(),
            x: Axis::time("time").without_zero(),
            ..Timeline::default()
        }
    }

    /// The names of the categories (tenants), in the order of their indices. The order gives the colours.
    pub fn categories<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.categories = names.into_iter().map(Into::into).collect();
        self
    }

    /// The colours of the categories by number, so that a tenant looks the same in every chart of a report; `None`:
    /// any that is free, or grey where there are too many.
    pub fn colours(mut self, slots: impl IntoIterator<Item = Option<usize>>) -> Self {
        self.slots = slots.into_iter().collect();
        self
    }

    /// Adds a row. Rows of one group and node stay together, in the order in which they first came.
    pub fn row(mut self, row: Row) -> Self {
        self.rows.push(row);
        self
    }

    /// Adds many rows.
    pub fn rows(mut self, rows: impl IntoIterator<Item = Row>) -> Self {
        self.rows.extend(rows);
        self
    }

    /// A vertical line at something that happened.
    pub fn marker(mut self, at: f64, label: impl Into<String>) -> Self {
        self.markers.push(Marker { at, label: label.into() });
        self
    }

    /// The end of the time axis, where the last segment ends earlier.
    pub fn until(mut self, end: f64) -> Self {
        self.until = drawable(end);
        self
    }

    /// The rows by group and node, each in the order of its first row.
    fn grouped(&self) -> Vec<Vec<&Row>> {
        let mut groups: BTreeMap<&str, usize> = BTreeMap::new();
        let mut nodes: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        let mut out: Vec<Vec<&Row>> = Vec::new();
        for row in &self.rows {
            let count = nodes.len();
            nodes.entry((&row.group, &row.node)).or_insert(count);
            let index = *groups.entry(&row.group).or_insert(out.len());
            if index == out.len() {
                out.push(Vec::new());
            }
            out[index].push(row);
        }
        for group in &mut out {
            group.sort_by_key(|row| nodes.get(&(row.group.as_str(), row.node.as_str())));
        }
        out
    }

    /// The time of each category over all rows.
    fn held(&self, rows: &[Vec<&Row>]) -> Vec<f64> {
        let segments = || rows.iter().flatten().flat_map(|row| &row.segments);
        let count = segments().map(|s| s.category + 1).max().unwrap_or(0);
        // A category without a name is one all the same; an absurd index must not fill the memory.
        let mut held = vec![0.0; count.max(self.categories.len()).min(self.categories.len() + 1)];
        let last = held.len().saturating_sub(1);
        for segment in segments() {
            if let Some(held) = held.get_mut(segment.category.min(last)) {
                *held += (segment.end - segment.start).max(0.0);
            }
        }
        held
    }

    fn axis(&self, rows: &[Vec<&Row>]) -> Option<(Resolved, [f64; 2])> {
        let segments = rows.iter().flatten().flat_map(|row| &row.segments);
        let times = segments.filter(|s| s.end > s.start).flat_map(|s| [s.start, s.end]);
        let ends = times.fold(None, |ends: Option<[f64; 2]>, t| match ends {
            Some([low, high]) => Some([low.min(t), high.max(t)]),
            None => Some([t, t]),
        });
        let [low, high] = ends?;
        let high = self.until.map_or(high, |until| until.max(high));
        Some((self.x.resolve([low, high].into_iter(), 10, true)?, [low, high]))
    }

    fn notes(&self, shown: usize, is_gridded: Option<f64>, looks: &[Look]) -> Vec<String> {
        let mut notes: Vec<String> =
            left_out(self.rows.iter().map(|r| r.dropped).sum()).into_iter().collect();
        if shown < self.rows.len() {
            let all = crate::format::fixed(self.rows.len() as f64, 0);
            notes.push(format!("{shown} of {all} GPUs are shown, chosen evenly from each group."));
        }
        if let Some(length) = is_gridded {
            let length = crate::format::clock(length);
            notes.push(format!(
                "Time is drawn in columns of {length}; each has the colour of who held most of it."
            ));
        }
        let rest = looks::in_grey(looks);
        if rest > 0 {
            let told_apart = looks.len() - rest;
            notes.push(format!(
                "The {told_apart} with the most GPU time have colours; the other {rest} are grey."
            ));
        }
        notes
    }
}

impl Chart for Timeline {
    fn draw(&self) -> Figure {
        let groups = self.grouped();
        let held = self.held(&groups);
        let looks = looks::choose(&held, &self.slots);
        let Some((axis, ends)) = self.axis(&groups) else {
            return Figure::without_data(
                &self.title,
                &self.description,
                self.notes(self.rows.len(), None, &[]),
            );
        };
        let sizes: Vec<usize> = groups.iter().map(Vec::len).collect();
        let all: Vec<&Row> = groups.iter().flatten().copied().collect();
        let chosen: Vec<(&Row, Vec<Segment>)> = sampled(&sizes, MAX_ROWS)
            .into_iter()
            .filter_map(|i| all.get(i))
            .map(|row| (*row, tidied(&row.segments)))
            .collect();
        let totals = groups.iter().map(|g| (g[0].group.as_str(), g.len())).collect();
        let mut picture = Picture::new(axis, ends, chosen, totals);
        picture.draw_head(&self.title, &self.categories, &looks, &held, &self.markers);
        picture.draw_rows(&self.categories, &looks, &held);
        picture.draw_axis();
        let notes = self.notes(picture.shown(), picture.column_length(), &looks);
        picture.finish(&self.title, &self.description, notes)
    }
}
