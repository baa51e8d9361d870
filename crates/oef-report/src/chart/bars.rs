//! Bars in groups, with error bars and with marks to compare with.

use super::axis::{Axis, Resolved, drawable};
use super::figure::{Chart, Figure, draw_title};
use super::legend::{self, Entry, Swatch};
use super::looks;
use super::palette::{DISTINCT, Look};
use super::svg::{Anchor, Path, Svg};
use super::text::{SIZE, fitted, width, wrapped};

/// More groups would make a picture longer than anybody reads; the table has them all.
const MAX_GROUPS: usize = 60;
/// Up to so many bars, each has its value written beside it.
const MAX_VALUES: usize = 60;
const WIDTH: f64 = 440.0;

/// Groups of lying bars: one group per thing, one bar per series.
///
/// Bars lie, since names then have room on a phone too.
///
/// ```
/// use oef_report::chart::{Axis, Bar, Bars, Chart};
/// let figure = Bars::new("Gain", "Gain over max-min, ours beside the paper's")
///     .axis(Axis::fraction("gain over max-min"))
///     .series(["estimated", "actual"])
///     .mark_name("the paper says")
///     .group("noncooperative", [Bar::new(0.09).mark(0.10), Bar::new(0.08).range(0.06, 0.11)])
///     .group("cooperative", [Bar::new(0.18).mark(0.20), Bar::new(0.29).mark(0.32)])
///     .draw();
/// assert!(figure.svg().contains("the paper says"));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bars {
    title: String,
    description: String,
    axis: Axis,
    series: Vec<String>,
    groups: Vec<(String, Vec<Bar>)>,
    mark_name: String,
}

/// One bar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bar {
    value: f64,
    range: Option<(f64, f64)>,
    mark: Option<f64>,
}

impl Bar {
    /// A bar as long as `value`. One that is not finite is shown as missing.
    pub fn new(value: f64) -> Self {
        Bar { value, range: None, mark: None }
    }

    /// With an error bar from `low` to `high`.
    pub fn range(mut self, low: f64, high: f64) -> Self {
        self.range = drawable(low).zip(drawable(high));
        self
    }

    /// With a mark beside it, to compare with.
    pub fn mark(mut self, at: f64) -> Self {
        self.mark = drawable(at);
        self
    }

    fn extent(&self) -> impl Iterator<Item = f64> {
        let range = self.range.map_or([f64::NAN; 2], |(low, high)| [low, high]);
        [self.value, range[0], range[1], self.mark.unwrap_or(f64::NAN)].into_iter()
    }
}

impl From<f64> for Bar {
    fn from(value: f64) -> Self {
        Bar::new(value)
    }
}

impl Bars {
    /// A chart without bars.
    pub fn new(title: impl Into<String>, description: impl Into<String>) -> Self {
        Bars {
            title: title.into(),
            description: description.into(),
            mark_name: "reference".into(),
            ..Bars::default()
        }
    }

    /// What the bars measure.
    pub fn axis(mut self, axis: Axis) -> Self {
        self.axis = axis;
        self
    }

    /// The names of the bars of each group. One nameless bar per group needs none.
    pub fn series<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.series = names.into_iter().map(Into::into).collect();
        self
    }

    /// What the marks beside the bars are: "the paper says".
    pub fn mark_name(mut self, name: impl Into<String>) -> Self {
        self.mark_name = name.into();
        self
    }

    /// Adds a group with one bar per series.
    pub fn group<B: Into<Bar>>(
        mut self,
        name: impl Into<String>,
        bars: impl IntoIterator<Item = B>,
    ) -> Self {
        self.groups.push((name.into(), bars.into_iter().map(Into::into).collect()));
        self
    }

    fn per_group(&self) -> usize {
        let longest = self.groups.iter().map(|(_, bars)| bars.len()).max().unwrap_or(0);
        longest.min(DISTINCT)
    }

    fn notes(&self) -> Vec<String> {
        let bars = || self.groups.iter().flat_map(|(_, bars)| bars);
        let missing = bars().filter(|bar| !self.axis.takes(bar.value)).count();
        let mut notes = Vec::new();
        if missing > 0 {
            let bars = if missing == 1 { "One bar has" } else { "Some bars have" };
            notes.push(format!("{bars} no value."));
        }
        if self.groups.len() > MAX_GROUPS {
            let all = self.groups.len();
            notes.push(format!("The first {MAX_GROUPS} of {all} groups are shown."));
        }
        if self.groups.iter().any(|(_, bars)| bars.len() > DISTINCT) {
            notes.push(format!("The first {DISTINCT} bars of each group are shown."));
        }
        notes
    }

    fn entries(&self, looks: &[Look]) -> Vec<Entry> {
        let named = self.series.iter().zip(looks).filter(|(name, _)| !name.is_empty());
        let mut entries: Vec<Entry> = named
            .map(|(name, look)| Entry { name: name.clone(), look: *look, swatch: Swatch::Area })
            .collect();
        if self.groups.iter().any(|(_, bars)| bars.iter().any(|bar| bar.mark.is_some())) {
            let name = self.mark_name.clone();
            entries.push(Entry { name, look: Look::Rest, swatch: Swatch::Mark });
        }
        entries
    }
}

impl Chart for Bars {
    fn draw(&self) -> Figure {
        let notes = self.notes();
        let shown = &self.groups[..self.groups.len().min(MAX_GROUPS)];
        let extent = shown.iter().flat_map(|(_, bars)| bars).flat_map(Bar::extent);
        let values = shown.iter().flat_map(|(_, bars)| bars).any(|b| self.axis.takes(b.value));
        let Some(axis) = self.axis.resolve(extent, 5, false).filter(|_| values) else {
            return Figure::without_data(&self.title, &self.description, notes);
        };
        let looks = looks::choose(&vec![1.0; self.per_group()], &[]);
        let mut picture = Picture::new(self, axis, shown);
        let top = draw_title(&mut picture.svg, &self.title, WIDTH);
        let top = legend::draw(&mut picture.svg, &self.entries(&looks), top, WIDTH);
        let mut y = top + 6.0;
        picture.draw_axis(y, y + picture.height(shown));
        for (name, bars) in shown {
            y = picture.draw_group(name, bars, &looks, y);
        }
        let svg = picture.svg.finish(WIDTH, y + 46.0, &self.title, &self.description);
        Figure::new(svg, WIDTH, notes)
    }
}

/// The bars in the making.
struct Picture<'a> {
    chart: &'a Bars,
    svg: Svg,
    axis: Resolved,
    left: f64,
    right: f64,
    /// The thickness of a bar, and the room between groups.
    bar: f64,
    gap: f64,
    has_values: bool,
}

impl<'a> Picture<'a> {
    fn new(chart: &'a Bars, axis: Resolved, shown: &[(String, Vec<Bar>)]) -> Self {
        let widest = shown.iter().map(|(name, _)| width(name, SIZE)).fold(0.0, f64::max);
        let left = (widest + 18.0).clamp(40.0, WIDTH * 0.32);
        let count: usize = shown.iter().map(|(_, bars)| bars.len()).sum();
        let bar = if count <= 16 { 20.0 } else { 16.0 };
        let gap = if count > shown.len() { 14.0 } else { 7.0 };
        let has_values = count <= MAX_VALUES;
        let mut picture = Picture {
            chart,
            svg: Svg::new(),
            axis,
            left,
            right: WIDTH - 16.0,
            bar,
            gap,
            has_values,
        };
        picture.right = picture.right_end(shown);
        picture
    }

    /// How far right the axis can reach so that every value still fits beside its bar.
    fn right_end(&self, shown: &[(String, Vec<Bar>)]) -> f64 {
        let room = |bar: &Bar| {
            let text = self.chart.axis.quantity().show_bare(bar.value);
            let reach = bar.extent().map(|v| self.axis.part(v)).fold(0.0, f64::max);
            let free = WIDTH - 14.0 - self.left - width(&text, 12.0);
            if reach > 0.0 && self.has_values { free / reach } else { f64::INFINITY }
        };
        let bars = shown.iter().flat_map(|(_, bars)| bars);
        let length = bars.map(room).fold(self.right - self.left, f64::min);
        self.left + length.max(WIDTH * 0.3)
    }

    fn group_height(&self, bars: &[Bar]) -> f64 {
        bars.len().clamp(1, DISTINCT) as f64 * self.bar
    }

    fn height(&self, shown: &[(String, Vec<Bar>)]) -> f64 {
        shown.iter().map(|(_, bars)| self.group_height(bars) + self.gap).sum()
    }

    fn px(&self, value: f64) -> f64 {
        self.left + self.axis.part(value) * (self.right - self.left)
    }

    fn draw_axis(&mut self, top: f64, bottom: f64) {
        let mut free_from = 0.0;
        for (at, label) in self.axis.ticks.clone() {
            let (x, half) = (self.px(at), width(&label, 12.0) / 2.0);
            let class = if at == 0.0 { "base" } else { "grid" };
            self.svg.line([x, top, x, bottom], class, None);
            if x - half >= free_from {
                self.svg.text([x, bottom + 16.0], Anchor::Middle, "tick", &label);
                free_from = x + half + 6.0;
            }
        }
        let title = fitted(&self.axis.title.clone(), WIDTH - 16.0, SIZE);
        let middle = (self.left + self.right) / 2.0;
        self.svg.text([middle, bottom + 36.0], Anchor::Middle, "axis", &title);
    }

    fn draw_group(&mut self, name: &str, bars: &[Bar], looks: &[Look], top: f64) -> f64 {
        let height = self.group_height(bars);
        let middle = top + (height + self.gap) / 2.0;
        let lines = if height > 32.0 { 2 } else { 1 };
        let lines = wrapped(name, self.left - 16.0, SIZE, lines);
        let first = middle + 4.5 - (lines.len().saturating_sub(1)) as f64 * 8.0;
        for (i, line) in lines.iter().enumerate() {
            let at = [self.left - 10.0, first + i as f64 * 16.0];
            self.svg.text(at, Anchor::End, "", line);
        }
        for (i, (bar, look)) in bars.iter().zip(looks).enumerate() {
            let y = top + self.gap / 2.0 + i as f64 * self.bar;
            let tip = self.tip(name, i, bar);
            self.draw_bar(bar, *look, y, &tip);
        }
        top + height + self.gap
    }

    fn draw_bar(&mut self, bar: &Bar, look: Look, y: f64, tip: &str) {
        let middle = y + self.bar / 2.0;
        let mut reach = self.px(0.0);
        if !self.chart.axis.takes(bar.value) {
            self.svg.text([reach + 6.0, middle + 4.5], Anchor::Start, "quiet", "no value");
        } else {
            let (zero, end) = (self.px(0.0), self.px(bar.value));
            let area = [zero.min(end), y + 1.0, (end - zero).abs().max(0.8), self.bar - 2.0];
            self.svg.rect(area, &format!("{} area", look.class()), Some(tip));
            if look.is_second() {
                self.svg.rect(area, "hatch", Some(tip));
            }
            reach = reach.max(end);
        }
        if let Some((low, high)) = bar.range {
            let (low, high) = (self.px(low), self.px(high));
            let mut whisker = Path::new();
            whisker.start([low, middle]).across_to(high);
            whisker.start([low, middle - 4.0]).down_to(middle + 4.0);
            whisker.start([high, middle - 4.0]).down_to(middle + 4.0);
            self.svg.path(&whisker, "whisker", Some(tip));
            reach = reach.max(high);
        }
        if let Some(mark) = bar.mark {
            let at = self.px(mark);
            self.svg.path(&legend::diamond([at, middle], 5.0), "mark", Some(tip));
            reach = reach.max(at + 5.0);
        }
        if self.has_values && self.chart.axis.takes(bar.value) {
            let text = self.chart.axis.quantity().show_bare(bar.value);
            self.svg.text([reach + 5.0, middle + 4.2], Anchor::Start, "tick halo", &text);
        }
    }

    fn tip(&self, group: &str, index: usize, bar: &Bar) -> String {
        let unit = self.chart.axis.quantity();
        let series = self.chart.series.get(index).filter(|name| !name.is_empty());
        let mut tip = group.to_string();
        if let Some(series) = series {
            tip = format!("{tip}, {series}");
        }
        tip = format!("{tip}: {}", unit.show(bar.value));
        if let Some((low, high)) = bar.range {
            tip = format!("{tip} ({} to {})", unit.show_bare(low), unit.show_bare(high));
        }
        if let Some(mark) = bar.mark {
            tip = format!("{tip}; {}: {}", self.chart.mark_name, unit.show(mark));
        }
        tip
    }
}
