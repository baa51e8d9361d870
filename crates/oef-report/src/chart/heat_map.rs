//! A matrix of values as colours.

use super::axis::drawable;
use super::figure::{Chart, Figure, draw_title};
use super::palette::HEAT_STEPS;
use super::svg::{Anchor, Path, Svg};
use super::text::{SIZE, fitted, width};
use crate::format::Unit;
use std::collections::BTreeMap;

/// Larger matrices are drawn in blocks: cells below four pixels cannot be seen, and the file must stay small.
const MAX_CELLS_ACROSS: usize = 96;
/// Up to so many cells each has a tooltip.
const MAX_TIPS: usize = 900;
/// Up to so many columns, cells have room for their values.
const MAX_COLUMNS_WITH_TEXT: usize = 12;

/// Slanted names of columns are cut here.
const SLANT_ROOM: f64 = 130.0;
/// Longer names stand at a slant.
const MAX_LEVEL: f64 = 76.0;

/// A matrix with one colour per value, such as who would envy whom.
///
/// ```
/// use oef_report::chart::{Chart, HeatMap};
/// let figure = HeatMap::new("Envy", "What each tenant would make of each other tenant's share")
///     .rows(["a", "b"], "tenant")
///     .columns(["a", "b"], "share of")
///     .values(vec![vec![1.0, 0.9], vec![0.8, 1.0]])
///     .diverging(1.0)
///     .draw();
/// assert!(figure.svg().contains("0.9"));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HeatMap {
    title: String,
    description: String,
    rows: Vec<String>,
    row_label: String,
    columns: Vec<String>,
    column_label: String,
    values: Vec<Vec<f64>>,
    middle: Option<f64>,
    unit: Unit,
}

impl HeatMap {
    /// A map without cells, with a scale from the smallest value to the largest.
    pub fn new(title: impl Into<String>, description: impl Into<String>) -> Self {
        let (title, description) = (title.into(), description.into());
        HeatMap { title, description, ..HeatMap::default() }
    }

    /// The names of the rows, and what they are.
    pub fn rows<T: Into<String>>(
        mut self,
        names: impl IntoIterator<Item = T>,
        label: impl Into<String>,
    ) -> Self {
        self.rows = names.into_iter().map(Into::into).collect();
        self.row_label = label.into();
        self
    }

    /// The names of the columns, and what they are.
    pub fn columns<T: Into<String>>(
        mut self,
        names: impl IntoIterator<Item = T>,
        label: impl Into<String>,
    ) -> Self {
        self.columns = names.into_iter().map(Into::into).collect();
        self.column_label = label.into();
        self
    }

    /// The values, row by row. One that is not finite, or not there, is an empty cell.
    pub fn values(mut self, values: Vec<Vec<f64>>) -> Self {
        self.values = values;
        self
    }

    /// With colours for below and above `middle`, which has none.
    pub fn diverging(mut self, middle: f64) -> Self {
        self.middle = drawable(middle);
        self
    }

    /// What the values measure.
    pub fn unit(mut self, unit: impl Into<Unit>) -> Self {
        self.unit = unit.into();
        self
    }

    /// The value of a block of cells: the largest, so that envy does not hide behind its neighbours.
    fn block(&self, [first, last]: [usize; 2], [from, to]: [usize; 2]) -> Option<f64> {
        let rows = self.values.get(first..last.min(self.values.len()))?;
        let cells = rows.iter().filter_map(|row| row.get(from..to.min(row.len()))).flatten();
        cells.copied().filter_map(drawable).max_by(f64::total_cmp)
    }

    /// How many rows and columns have values.
    fn size(&self) -> [usize; 2] {
        [self.values.len(), self.values.iter().map(Vec::len).max().unwrap_or(0)]
    }
}

impl Chart for HeatMap {
    fn draw(&self) -> Figure {
        let [rows, columns] = self.size();
        let all: Vec<f64> = self.values.iter().flatten().copied().filter_map(drawable).collect();
        let mut notes = Vec::new();
        if all.len() < rows * columns && !all.is_empty() {
            notes.push("Hatched cells have no value.".to_string());
        }
        let Some(scale) = Scale::new(&all, self.middle) else {
            return Figure::without_data(&self.title, &self.description, notes);
        };
        let block = rows.max(columns).div_ceil(MAX_CELLS_ACROSS);
        if block > 1 {
            notes.push(format!(
                "Each cell stands for {block} by {block} values and shows the largest."
            ));
        }
        let mut picture = Picture::new(self, scale, block);
        picture.draw_head();
        picture.draw_cells();
        picture.draw_scale();
        let (width, height) = (picture.width, picture.bottom + 62.0);
        let svg = picture.svg.finish(width, height, &self.title, &self.description);
        Figure::new(svg, width, notes)
    }
}

/// From a value to a step of the colours.
#[derive(Debug, Clone, Copy)]
struct Scale {
    low: f64,
    high: f64,
    middle: Option<f64>,
}

impl Scale {
    fn new(values: &[f64], middle: Option<f64>) -> Option<Scale> {
        let first = *values.first()?;
        let ends = |(low, high): (f64, f64), v: &f64| (low.min(*v), high.max(*v));
        let (low, high) = values.iter().fold((first, first), ends);
        let Some(middle) = middle else {
            // From zero where that is possible, so that no colour means nothing.
            let low = if low > 0.0 && low < high * 0.5 { 0.0 } else { low };
            return Some(Scale { low, high, middle: None });
        };
        // The same length to both sides, so that the same colour means the same distance.
        let reach = (middle - low).abs().max((high - middle).abs());
        Some(Scale { low: middle - reach, high: middle + reach, middle: Some(middle) })
    }

    fn step(&self, value: f64) -> usize {
        let part = (value - self.low) / (self.high - self.low);
        let part = if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.5 };
        let last = (HEAT_STEPS - 1) as f64;
        // A map without a middle uses the lower half of the colours, from none to full.
        let place = if self.middle.is_some() { part * last } else { (1.0 - part) * last / 2.0 };
        (place.round() as usize).min(HEAT_STEPS - 1)
    }
}

struct Picture<'a> {
    map: &'a HeatMap,
    svg: Svg,
    scale: Scale,
    block: usize,
    cell: [f64; 2],
    left: f64,
    top: f64,
    bottom: f64,
    width: f64,
    has_text: bool,
    is_slanted: bool,
    /// Many cells are drawn as strips by colour, without tooltips, so that the file stays small.
    is_crowd: bool,
    strips: BTreeMap<Option<usize>, Path>,
}

impl<'a> Picture<'a> {
    fn new(map: &'a HeatMap, scale: Scale, block: usize) -> Self {
        let [rows, columns] = map.size().map(|n| n.div_ceil(block).max(1));
        let left = (widest(&map.rows) + 18.0).clamp(30.0, 150.0);
        let has_text = columns <= MAX_COLUMNS_WITH_TEXT && rows <= 40 && block == 1;
        let longest = widest(&map.columns);
        let wide = match has_text {
            true if longest <= MAX_LEVEL => longest.max(44.0) + 8.0,
            true => 58.0,
            false => (600.0 / columns as f64).clamp(5.0, 26.0),
        };
        let tall = if has_text { 32.0 } else { wide.min((600.0 / rows as f64).max(5.0)) };
        // Names that do not fit above their columns stand at a slant, while columns are wide enough for that.
        let is_slanted = wide >= 14.0 && block == 1 && longest > wide - 4.0;
        let beyond = if is_slanted { longest.min(SLANT_ROOM) * 0.6 } else { 0.0 };
        let needed = left + wide * columns as f64 + 16.0 + beyond;
        let width = needed.max(320.0);
        let svg = Svg::new();
        let cell = [wide, tall];
        let is_crowd = rows * columns > MAX_TIPS || block > 1;
        let strips = BTreeMap::new();
        let (top, bottom) = (0.0, 0.0);
        Picture {
            map,
            svg,
            scale,
            block,
            cell,
            left,
            top,
            bottom,
            width,
            has_text,
            is_slanted,
            is_crowd,
            strips,
        }
    }

    fn draw_head(&mut self) {
        let [_, columns] = self.map.size().map(|n| n.div_ceil(self.block));
        self.top = draw_title(&mut self.svg, &self.map.title, self.width);
        let words = match (self.map.row_label.as_str(), self.map.column_label.as_str()) {
            ("", "") => String::new(),
            (row, "") => format!("rows: {row}"),
            ("", column) => format!("columns: {column}"),
            (row, column) => format!("rows: {row} · columns: {column}"),
        };
        if !words.is_empty() {
            self.top += 18.0;
            let words = fitted(&words, self.width - 16.0, SIZE);
            self.svg.text([8.0, self.top - 4.0], Anchor::Start, "axis", &words);
        }
        self.top += if self.is_slanted { self.slant_height() } else { 22.0 };
        let mut free_from = 0.0;
        for column in 0..columns {
            let name = self.map.columns.get(column * self.block).map_or("", String::as_str);
            let middle = self.left + (column as f64 + 0.5) * self.cell[0];
            if self.is_slanted {
                let name = fitted(name, SLANT_ROOM, SIZE);
                self.svg.slanted_text([middle + 3.0, self.top - 6.0], "tick", &name);
                continue;
            }
            let name = fitted(name, if self.has_text { self.cell[0] - 4.0 } else { 76.0 }, SIZE);
            let half = width(&name, SIZE) / 2.0;
            if middle - half >= free_from && middle + half <= self.width {
                self.svg.text([middle, self.top - 6.0], Anchor::Middle, "tick", &name);
                free_from = middle + half + 5.0;
            }
        }
    }

    /// The height of the longest slanted name.
    fn slant_height(&self) -> f64 {
        let longest = widest(&self.map.columns).min(SLANT_ROOM);
        longest * std::f64::consts::FRAC_1_SQRT_2 + 18.0
    }

    fn draw_cells(&mut self) {
        let [rows, columns] = self.map.size();
        let block = self.block;
        let blocks = |count: usize, i: usize| [i * block, ((i + 1) * block).min(count)];
        let mut free_from = 0.0;
        for row in 0..rows.div_ceil(self.block) {
            let y = self.top + row as f64 * self.cell[1];
            let middle = y + self.cell[1] / 2.0;
            if middle - 7.0 >= free_from {
                let name = self.map.rows.get(row * self.block).map_or("", String::as_str);
                let name = fitted(name, self.left - 14.0, SIZE);
                self.svg.text([self.left - 8.0, middle + 4.5], Anchor::End, "tick", &name);
                free_from = middle + 8.0;
            }
            let across = 0..columns.div_ceil(block);
            let values: Vec<Option<f64>> = across
                .map(|column| self.map.block(blocks(rows, row), blocks(columns, column)))
                .collect();
            if self.is_crowd {
                self.add_strips(&values, y);
            } else {
                let cells = values.into_iter().enumerate();
                cells.for_each(|(column, value)| self.draw_cell(row, column, y, value));
            }
        }
        let strips = std::mem::take(&mut self.strips);
        for (step, path) in strips {
            let class = step.map_or("strip none".into(), |step| format!("h{step} heat"));
            // A little wider than the row: between rows that only touch, the page would shine through.
            self.svg.wide_path(&path, self.cell[1] + 0.6, &class, None);
        }
        self.bottom = self.top + rows.div_ceil(block) as f64 * self.cell[1];
    }

    /// Adds a row of cells to the strips of their colours; neighbours of one colour are one piece.
    fn add_strips(&mut self, values: &[Option<f64>], y: f64) {
        let step = |value: &Option<f64>| value.map(|value| self.scale.step(value));
        let mut column = 0;
        for run in values.chunk_by(|a, b| step(a) == step(b)) {
            let x = self.left + column as f64 * self.cell[0];
            let strip = self.strips.entry(step(&run[0])).or_default();
            strip.start([x, y + self.cell[1] / 2.0]);
            strip.across_to(x + run.len() as f64 * self.cell[0] + 0.4);
            column += run.len();
        }
    }

    fn draw_cell(&mut self, row: usize, column: usize, y: f64, value: Option<f64>) {
        let x = self.left + column as f64 * self.cell[0];
        let area = [x, y, self.cell[0], self.cell[1]];
        let name = |names: &[String], i: usize| {
            names.get(i).cloned().unwrap_or_else(|| format!("{}", i + 1))
        };
        let (row, column) = (name(&self.map.rows, row), name(&self.map.columns, column));
        let Some(value) = value else {
            let tip = format!("{row}, {column}: no value");
            self.svg.rect(area, "none", Some(&tip));
            return;
        };
        let tip = format!("{row}, {column}: {}", self.map.unit.show(value));
        let step = self.scale.step(value);
        self.svg.rect(area, &format!("h{step} cell"), Some(&tip));
        if self.has_text {
            let at = [x + self.cell[0] / 2.0, y + self.cell[1] / 2.0 + 4.5];
            let text = fitted(&self.map.unit.show_bare(value), self.cell[0] - 2.0, 12.0);
            self.svg.text(at, Anchor::Middle, &format!("h{step} value"), &text);
        }
    }

    /// The legend: all steps of the colours from the low end to the high end.
    fn draw_scale(&mut self) {
        let Scale { low, high, middle } = self.scale;
        let length = 240f64.min(self.width - 32.0);
        let (x, y) = (16.0, self.bottom + 16.0);
        let steps = if middle.is_some() { HEAT_STEPS } else { HEAT_STEPS / 2 + 1 };
        let each = length / steps as f64;
        for i in 0..steps {
            let step = if middle.is_some() { i } else { steps - 1 - i };
            let area = [x + i as f64 * each, y, each + 0.3, 12.0];
            self.svg.rect(area, &format!("h{step} cell tight"), None);
        }
        let unit = &self.map.unit;
        self.svg.text([x, y + 28.0], Anchor::Start, "tick", &unit.show_bare(low));
        self.svg.text([x + length, y + 28.0], Anchor::End, "tick", &unit.show(high));
        if let Some(middle) = middle {
            let at = [x + length / 2.0, y + 28.0];
            self.svg.text(at, Anchor::Middle, "tick", &unit.show_bare(middle));
        }
    }
}

fn widest(names: &[String]) -> f64 {
    names.iter().map(|name| width(name, SIZE)).fold(0.0, f64::max)
}
