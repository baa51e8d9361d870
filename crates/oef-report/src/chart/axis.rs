//! Axes: what they measure, where they begin and end, and where a value lies on them.

use super::ticks;
use crate::format::{self, Unit};

/// The part of an axis that zero may be away from its end before it is left out.
const NEAR_ZERO: f64 = 0.05;

/// What one axis of a chart measures.
///
/// ```
/// use oef_report::chart::Axis;
/// let y = Axis::new("throughput").unit("jobs/h");
/// let x = Axis::time("since the start");
/// let jct = Axis::time("job completion time").log();
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    label: String,
    unit: Unit,
    is_log: bool,
    has_zero: bool,
    low: Option<f64>,
    high: Option<f64>,
}

impl Default for Axis {
    fn default() -> Self {
        Axis::new("")
    }
}

impl Axis {
    /// An axis of bare numbers that shows zero.
    pub fn new(label: impl Into<String>) -> Self {
        let label = label.into();
        Axis { label, unit: Unit::None, is_log: false, has_zero: true, low: None, high: None }
    }

    /// An axis of durations in seconds, shown in seconds, minutes, hours or days as fits.
    pub fn time(label: impl Into<String>) -> Self {
        Axis::new(label).unit(Unit::Seconds)
    }

    /// An axis of parts of one, shown in per cent.
    pub fn fraction(label: impl Into<String>) -> Self {
        Axis::new(label).unit(Unit::Fraction)
    }

    /// With this unit: a name such as `"jobs/h"`, or a [`Unit`].
    pub fn unit(mut self, unit: impl Into<Unit>) -> Self {
        self.unit = unit.into();
        self
    }

    /// Logarithmic. Values of zero and below have no place on it.
    pub fn log(mut self) -> Self {
        self.is_log = true;
        self
    }

    /// From the smallest value on rather than from zero.
    pub fn without_zero(mut self) -> Self {
        self.has_zero = false;
        self
    }

    /// Always as far as these two ends, even where the data ends earlier.
    pub fn range(mut self, low: f64, high: f64) -> Self {
        self.low = drawable(low);
        self.high = drawable(high);
        self
    }

    pub(crate) fn quantity(&self) -> &Unit {
        &self.unit
    }

    pub(crate) fn is_log(&self) -> bool {
        self.is_log
    }

    /// Whether a value has a place on this axis.
    pub(crate) fn takes(&self, value: f64) -> bool {
        drawable(value).is_some() && !(self.is_log && value <= 0.0)
    }

    /// The axis for these values; none where there is nothing to show. `is_tight` ends it where the data ends,
    /// otherwise it ends at a tick.
    pub(crate) fn resolve(
        &self,
        values: impl Iterator<Item = f64>,
        count: usize,
        is_tight: bool,
    ) -> Option<Resolved> {
        let ends = [self.low, self.high].into_iter().flatten();
        let all = values.filter(|v| self.takes(*v));
        let mut data = all.fold(None, |ends: Option<(f64, f64)>, v| match ends {
            Some((low, high)) => Some((low.min(v), high.max(v))),
            None => Some((v, v)),
        })?;
        for end in ends.filter(|v| self.takes(*v)) {
            data = (data.0.min(end), data.1.max(end));
        }
        Some(if self.is_log { self.logarithmic(data) } else { self.linear(data, count, is_tight) })
    }

    fn linear(&self, (mut low, mut high): (f64, f64), count: usize, is_tight: bool) -> Resolved {
        // An axis that begins almost at zero may as well begin there.
        if self.has_zero || (low > 0.0 && low < high * NEAR_ZERO) {
            (low, high) = (low.min(0.0), high.max(0.0));
        }
        // One value, or values that doubles hardly tell apart, still need an axis with a length.
        if high - low <= (high.abs() + low.abs()) * 1e-9 {
            let half = if high == 0.0 { 0.5 } else { high.abs() * 0.5 };
            (low, high) = (low - half, high + half);
            if self.has_zero {
                (low, high) = if high > 0.0 { (low.max(0.0), high) } else { (low, high.min(0.0)) };
            }
        }
        let span = high - low;
        let step = match self.unit {
            Unit::Seconds => ticks::time_step(span, count),
            Unit::Fraction => ticks::step(span * 100.0, count) / 100.0,
            _ => ticks::step(span, count),
        };
        if !is_tight {
            low = (low / step + 1e-9).floor() * step;
            high = (high / step - 1e-9).ceil() * step;
        }
        let at = ticks::multiples(low, high, step);
        let (labels, unit) = self.labels(&at, step);
        Resolved::new(low, high, false, at.into_iter().zip(labels).collect(), self.title(unit))
    }

    fn logarithmic(&self, (low, high): (f64, f64)) -> Resolved {
        let (low, high) =
            if high / low < 1.5 { (low / 2.0, high * 2.0) } else { (low / 1.05, high * 1.05) };
        let at = match self.unit {
            Unit::Seconds => ticks::log_time(low, high),
            _ => ticks::log(low, high),
        };
        let label = |v: &f64| (*v, self.log_label(*v));
        let ticks = at.iter().map(label).collect();
        Resolved::new(low, high, true, ticks, self.title(self.unit.name()))
    }

    /// A decade of a large or small number is shortest as a letter or a power.
    fn log_label(&self, value: f64) -> String {
        match self.unit {
            Unit::Seconds => format::clock(value),
            Unit::Fraction => format::percent(value),
            _ if value >= 10_000.0 => format::si(value),
            _ => format::number(value),
        }
    }

    /// The texts at the ticks, and the unit they are in where it goes into the title.
    fn labels(&self, at: &[f64], step: f64) -> (Vec<String>, Option<&str>) {
        let largest = at.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        match self.unit {
            Unit::Seconds => {
                let (name, length) = time_unit(step, largest);
                (numbers(at, step, length, largest), Some(name))
            }
            Unit::Fraction => {
                let texts = numbers(at, step, 0.01, largest);
                (texts.into_iter().map(|text| text + " %").collect(), None)
            }
            _ => (numbers(at, step, 1.0, largest), self.unit.name()),
        }
    }

    fn title(&self, unit: Option<&str>) -> String {
        match unit {
            Some(unit) if self.label.is_empty() => unit.to_string(),
            Some(unit) => format!("{} ({unit})", self.label),
            None => self.label.clone(),
        }
    }
}

/// The unit of a time axis: the largest that leaves whole numbers at the ticks, unless they become long.
fn time_unit(step: f64, largest: f64) -> (&'static str, f64) {
    const MOST: f64 = 200.0;
    let units = [("d", format::DAY), ("h", format::HOUR), ("min", format::MINUTE), ("s", 1.0)];
    let whole = units.into_iter().find(|(_, length)| step >= *length * 0.999);
    whole
        .filter(|(_, length)| largest / length <= MOST)
        .unwrap_or_else(|| format::duration_unit(largest))
}

/// Ticks divided by `length`, all with the decimals that the step needs.
fn numbers(at: &[f64], step: f64, length: f64, largest: f64) -> Vec<String> {
    let (step, largest) = (step / length, largest / length);
    let decimals = (0..9).find(|d| {
        let scaled = step * 10f64.powi(*d);
        (scaled - scaled.round()).abs() < 1e-6 * scaled
    });
    let plain = |v: &f64| match decimals {
        // The number of decimals is between 0 and 8.
        Some(d) if largest < 1e6 => format::fixed(v / length, d as usize),
        _ => format::number(v / length),
    };
    let texts: Vec<String> = at.iter().map(plain).collect();
    let are_distinct = texts.windows(2).all(|pair| pair[0] != pair[1]);
    if are_distinct {
        return texts;
    }
    at.iter().map(|v| format!("{:.6e}", v / length)).collect()
}

/// The value where it can be drawn. Differences of larger ones overflow; smaller ones are zero to any eye.
pub(crate) fn drawable(value: f64) -> Option<f64> {
    const LARGEST: f64 = 1e100;
    const SMALLEST: f64 = 1e-100;
    match value.abs() {
        size if size < SMALLEST => Some(0.0),
        size if size <= LARGEST => Some(value),
        _ => None,
    }
}

/// An axis that fits its data.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Resolved {
    /// The values at the ends, or their logarithms.
    low: f64,
    high: f64,
    is_log: bool,
    /// Where there are ticks, and what is written there.
    pub ticks: Vec<(f64, String)>,
    pub title: String,
}

impl Resolved {
    fn new(low: f64, high: f64, is_log: bool, ticks: Vec<(f64, String)>, title: String) -> Self {
        let (low, high) = if is_log { (low.ln(), high.ln()) } else { (low, high) };
        Resolved { low, high, is_log, ticks, title }
    }

    /// How far along the axis a value lies: 0 is the low end, 1 the high end. What lies outside is at the end.
    pub fn part(&self, value: f64) -> f64 {
        let value = match (self.is_log, value > 0.0) {
            (true, true) => value.ln(),
            (true, false) => self.low,
            (false, _) => value,
        };
        let part = (value - self.low) / (self.high - self.low);
        if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Whether a value lies between the ends.
    pub fn contains(&self, value: f64) -> bool {
        let value = if self.is_log { value.ln() } else { value };
        let hair = (self.high - self.low) * 1e-9;
        value >= self.low - hair && value <= self.high + hair
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, values: &[f64]) -> Vec<String> {
        let resolved = axis.resolve(values.iter().copied(), 5, false).expect("an axis");
        resolved.ticks.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn labels_have_the_decimals_of_the_step() {
        assert_eq!(labels(&Axis::new(""), &[0.0, 1.0]), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(
            labels(&Axis::fraction(""), &[0.43]),
            ["0 %", "10 %", "20 %", "30 %", "40 %", "50 %"]
        );
        assert_eq!(labels(&Axis::new(""), &[4e6]), ["0", "1 M", "2 M", "3 M", "4 M"]);
        assert_eq!(
            labels(&Axis::time("").log(), &[50.0, 90_000.0]),
            ["1 min", "10 min", "1 h", "6 h", "1 d"]
        );
    }

    #[test]
    fn time_is_in_the_unit_that_fits() {
        let title = |end: f64| {
            let axis =
                Axis::time("time").resolve([0.0, end].into_iter(), 6, true).expect("an axis");
            axis.title
        };
        assert_eq!(title(4_800.0), "time (min)");
        assert_eq!(title(90.0), "time (s)");
        assert_eq!(title(86_400.0), "time (h)");
        assert_eq!(title(3.0 * 86_400.0), "time (h)");
        assert_eq!(title(0.02), "time (ms)");
        assert_eq!(title(30.0 * 86_400.0), "time (d)");
    }

    #[test]
    fn strange_ranges_have_axes() {
        for values in [
            &[5.0][..],
            &[0.0],
            &[-3.0, -3.0],
            &[1e99, -1e99],
            &[1e-300],
            &[1e15, 1e15 + 1.0],
            &[f64::NAN, 2.0, f64::INFINITY],
        ] {
            for axis in [Axis::new("a"), Axis::new("a").without_zero(), Axis::time("t")] {
                let resolved = axis.resolve(values.iter().copied(), 5, false).expect("an axis");
                assert!(resolved.high > resolved.low, "{values:?}");
                assert!(!resolved.ticks.is_empty(), "{values:?}");
            }
        }
        assert_eq!(Axis::new("a").resolve([f64::NAN].into_iter(), 5, true), None);
        assert_eq!(Axis::new("a").log().resolve([0.0, -1.0].into_iter(), 5, true), None);
    }
}
