//! The drawing of a timeline.

use super::axis::Resolved;
use super::figure::{Figure, draw_title};
use super::legend::{self, Swatch};
use super::looks::in_grey;
use super::markers::{Marker, Markers};
use super::palette::Look;
use super::segments::{Segment, on_grid};
use super::svg::{Anchor, Path, Svg};
use super::text::{SIZE, fitted, width};
use super::timeline::Row;
use crate::format::{clock, duration, number};
use std::collections::BTreeMap;

/// Up to so many segments each has a tooltip; past that, one path per category holds them all.
const MAX_TIPS: usize = 500;
/// Past so many segments time is drawn in columns, so that the file stays small.
const MAX_SEGMENTS: usize = 6_000;
/// Rows times columns of that grid. In the worst case every cell is a segment of some fifteen bytes.
const MAX_CELLS: usize = 40_000;
const MAX_COLUMNS: usize = 480;
const WIDTH: f64 = 860.0;
/// The height that all rows share.
const ROOM: f64 = 520.0;
const GROUP_HEAD: f64 = 22.0;

/// A timeline in the making.
pub(crate) struct Picture<'a> {
    svg: Svg,
    axis: Resolved,
    rows: Vec<(&'a Row, Vec<Segment>)>,
    /// The groups with how many rows each has in all.
    totals: Vec<(&'a str, usize)>,
    column_length: Option<f64>,
    markers: Markers,
    left: f64,
    top: f64,
    bottom: f64,
    /// The height of a row.
    row: f64,
}

impl<'a> Picture<'a> {
    pub fn new(
        axis: Resolved,
        [low, high]: [f64; 2],
        mut rows: Vec<(&'a Row, Vec<Segment>)>,
        totals: Vec<(&'a str, usize)>,
    ) -> Self {
        let count: usize = rows.iter().map(|(_, segments)| segments.len()).sum();
        let mut column_length = None;
        if count > MAX_SEGMENTS {
            let columns = (MAX_CELLS / rows.len().max(1)).clamp(1, MAX_COLUMNS);
            column_length = Some((high - low) / columns as f64);
            for (_, segments) in &mut rows {
                *segments = on_grid(segments, columns, low, high);
            }
        }
        let row = (ROOM / rows.len().max(1) as f64).clamp(3.0, 18.0).floor();
        let widest = rows.iter().map(|(r, _)| width(&r.node, 12.0)).fold(0.0, f64::max);
        let left = (widest + 16.0).clamp(24.0, 130.0);
        let svg = Svg::new();
        Picture {
            svg,
            axis,
            rows,
            totals,
            column_length,
            markers: Markers::default(),
            left,
            top: 0.0,
            bottom: 0.0,
            row,
        }
    }

    /// How many rows are drawn.
    pub fn shown(&self) -> usize {
        self.rows.len()
    }

    /// The length of a column in seconds, if time is drawn in columns.
    pub fn column_length(&self) -> Option<f64> {
        self.column_length
    }

    pub fn draw_head(
        &mut self,
        title: &str,
        names: &[String],
        looks: &[Look],
        held: &[f64],
        markers: &[Marker],
    ) {
        self.top = draw_title(&mut self.svg, title, WIDTH);
        let all = names.iter().zip(looks).zip(held).filter(|(_, held)| **held > 0.0);
        let named = all.map(|(named, _)| named);
        let entries = legend::entries(named, in_grey(looks), Swatch::Area);
        self.top = legend::draw(&mut self.svg, &entries, self.top, WIDTH);
        self.markers = Markers::place(markers, &self.axis, [self.left, WIDTH - 16.0]);
        self.top += self.markers.height();
        self.top += 4.0;
    }

    pub fn draw_rows(&mut self, names: &[String], looks: &[Look], held: &[f64]) {
        let tops = self.place_rows();
        let rows = std::mem::take(&mut self.rows);
        let count: usize = rows.iter().map(|(_, segments)| segments.len()).sum();
        if count <= MAX_TIPS {
            for ((row, segments), y) in rows.iter().zip(&tops) {
                for segment in segments {
                    let name = names.get(segment.category).map_or("unnamed", String::as_str);
                    self.draw_segment(row, segment, *y, look_of(segment, looks), name);
                }
            }
        } else {
            self.draw_strips(&rows, &tops, names, looks, held);
        }
        self.rows = rows;
    }

    /// Draws all segments of a category as one path. All greys are one, and neighbours among them one piece.
    fn draw_strips(
        &mut self,
        rows: &[(&Row, Vec<Segment>)],
        tops: &[f64],
        names: &[String],
        looks: &[Look],
        held: &[f64],
    ) {
        let key = |segment: &Segment| match look_of(segment, looks) {
            Look::Rest => usize::MAX,
            Look::Slot(_) => segment.category.min(looks.len().saturating_sub(1)),
        };
        let is_one = |a: &Segment, b: &Segment| key(a) == key(b) && a.end >= b.start;
        let mut paths: BTreeMap<usize, Path> = BTreeMap::new();
        for ((_, segments), y) in rows.iter().zip(tops) {
            for run in segments.chunk_by(is_one) {
                let (start, end) = (run[0].start, run[run.len() - 1].end);
                let path = paths.entry(key(&run[0])).or_default();
                path.start([self.px(start), y + self.row / 2.0]).across_to(self.px(end));
            }
        }
        for (slot, path) in paths {
            let look = looks.get(slot).copied().unwrap_or(Look::Rest);
            let name = names.get(slot).map_or("others", String::as_str);
            let tip = match held.get(slot) {
                Some(time) => {
                    format!("{name}: {} GPU hours in all", number(time / 3_600.0))
                }
                None => name.to_string(),
            };
            self.strip(&path, look, &tip);
        }
    }

    fn strip(&mut self, path: &Path, look: Look, tip: &str) {
        let thickness = if self.row >= 6.0 { self.row - 1.0 } else { self.row };
        let class = format!("{} strip crisp", look.class());
        self.svg.wide_path(path, thickness, &class, Some(tip));
        if look.is_second() {
            self.svg.wide_path(path, thickness, "strip hatch", None);
        }
    }

    fn draw_segment(&mut self, row: &Row, segment: &Segment, y: f64, look: Look, name: &str) {
        let (from, to) = (clock(segment.start), clock(segment.end));
        let length = duration(segment.end - segment.start);
        let tip = format!("{}, {}: {name}, {from} to {to} ({length})", row.node, row.name);
        let (x, end) = (self.px(segment.start), self.px(segment.end));
        let area = [x, y, (end - x).max(0.6), (self.row - 1.0).max(2.0)];
        self.svg.rect(area, &format!("{} area crisp", look.class()), Some(&tip));
        if look.is_second() {
            self.svg.rect(area, "hatch", Some(&tip));
        }
    }

    /// Gives each row its place, and writes the names of groups and nodes beside them.
    fn place_rows(&mut self) -> Vec<f64> {
        let mut tops = Vec::with_capacity(self.rows.len());
        let mut y = self.top;
        let mut nodes: Vec<(String, f64, f64)> = Vec::new();
        for i in 0..self.rows.len() {
            let row = self.rows[i].0;
            let before = i.checked_sub(1).map(|i| self.rows[i].0);
            let is_new_group = before.is_none_or(|before| before.group != row.group);
            let is_new_node = is_new_group || before.is_some_and(|before| before.node != row.node);
            if is_new_group {
                y += GROUP_HEAD + if i > 0 { 4.0 } else { 0.0 };
                self.draw_group_head(&row.group, y);
            } else if is_new_node && self.row >= 4.0 {
                y += if self.row >= 6.0 { 3.0 } else { 1.0 };
            }
            match nodes.last_mut() {
                Some(last) if !is_new_node => last.2 = y + self.row,
                _ => nodes.push((row.node.clone(), y, y + self.row)),
            }
            self.svg.rect([self.left, y, WIDTH - 16.0 - self.left, self.row - 1.0], "panel", None);
            tops.push(y);
            y += self.row;
        }
        let mut free_from = 0.0;
        for (node, start, end) in nodes {
            let middle = (start + end) / 2.0;
            if middle - 6.0 >= free_from {
                let name = fitted(&node, self.left - 12.0, 12.0);
                self.svg.text([self.left - 7.0, middle + 4.0], Anchor::End, "tick", &name);
                free_from = middle + 7.0;
            }
        }
        self.bottom = y + 2.0;
        tops
    }

    fn draw_group_head(&mut self, group: &str, y: f64) {
        let total = self.totals.iter().find(|(name, _)| *name == group).map_or(0, |(_, n)| *n);
        let shown = self.rows.iter().filter(|(row, _)| row.group == group).count();
        let plural = if total == 1 { "" } else { "s" };
        let count = if shown < total {
            format!("{shown} of {} GPU{plural} shown", crate::format::fixed(total as f64, 0))
        } else {
            format!("{total} GPU{plural}")
        };
        let text = match group {
            "" => count,
            group => format!("{} · {count}", fitted(group, 400.0, SIZE)),
        };
        self.svg.text([self.left, y - 6.0], Anchor::Start, "head", &text);
    }

    pub fn draw_axis(&mut self) {
        let bottom = self.bottom;
        self.svg.line([self.left, bottom, WIDTH - 16.0, bottom], "base", None);
        let mut free_from = 0.0;
        for (at, label) in self.axis.ticks.clone() {
            let (x, half) = (self.px(at), width(&label, 12.0) / 2.0);
            self.svg.line([x, bottom, x, bottom + 4.0], "base", None);
            if x - half >= free_from {
                self.svg.text([x, bottom + 18.0], Anchor::Middle, "tick", &label);
                free_from = x + half + 6.0;
            }
        }
        let middle = (self.left + WIDTH) / 2.0;
        self.svg.text([middle, bottom + 37.0], Anchor::Middle, "axis", &self.axis.title.clone());
        self.markers.draw(&mut self.svg, self.top, bottom);
    }

    fn px(&self, time: f64) -> f64 {
        self.left + self.axis.part(time) * (WIDTH - 16.0 - self.left)
    }

    pub fn finish(self, title: &str, description: &str, notes: Vec<String>) -> Figure {
        Figure::new(self.svg.finish(WIDTH, self.bottom + 46.0, title, description), WIDTH, notes)
    }
}

/// Categories without a name share the last look.
fn look_of(segment: &Segment, looks: &[Look]) -> Look {
    let slot = segment.category.min(looks.len().saturating_sub(1));
    looks.get(slot).copied().unwrap_or(Look::Rest)
}
