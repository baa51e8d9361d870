//! Round numbers along an axis.

use crate::format::{DAY, HOUR, MINUTE};

/// No axis needs more, and a bug in the arithmetic must not fill the memory.
const MAX_TICKS: i64 = 60;

/// Lengths between ticks of a time axis, in seconds.
const TIME_STEPS: [f64; 22] = [
    1.0,
    2.0,
    5.0,
    10.0,
    15.0,
    30.0,
    MINUTE,
    2.0 * MINUTE,
    5.0 * MINUTE,
    10.0 * MINUTE,
    15.0 * MINUTE,
    30.0 * MINUTE,
    HOUR,
    2.0 * HOUR,
    3.0 * HOUR,
    6.0 * HOUR,
    12.0 * HOUR,
    DAY,
    2.0 * DAY,
    5.0 * DAY,
    10.0 * DAY,
    20.0 * DAY,
];

/// Durations that are ticks of a logarithmic axis, from a second to a day, and those between for a short axis.
const LOG_TIMES: [f64; 6] = [1.0, 10.0, MINUTE, 10.0 * MINUTE, HOUR, 6.0 * HOUR];
const LOG_TIMES_BETWEEN: [f64; 11] = [
    2.0,
    5.0,
    20.0,
    30.0,
    2.0 * MINUTE,
    5.0 * MINUTE,
    20.0 * MINUTE,
    30.0 * MINUTE,
    2.0 * HOUR,
    12.0 * HOUR,
    2.0 * DAY,
];
/// Powers of ten of a day that are ticks; the next would be longer than history.
const LOG_DAYS: std::ops::Range<i32> = 0..7;

/// The distance between about `count` round ticks: one, two or five times a power of ten.
pub(crate) fn step(span: f64, count: usize) -> f64 {
    let rough = span / count.max(1) as f64;
    if !(rough.is_finite() && rough > 0.0) {
        return 1.0;
    }
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= rough * 0.999);
    step.unwrap_or(rough)
}

/// The same for time: round in seconds, minutes, hours or days.
pub(crate) fn time_step(span: f64, count: usize) -> f64 {
    let rough = span / count.max(1) as f64;
    if !(rough.is_finite() && rough > 0.5) {
        return step(span, count);
    }
    let fits = TIME_STEPS.into_iter().find(|s| *s >= rough * 0.999);
    fits.unwrap_or_else(|| DAY * step(span / DAY, count))
}

/// The multiples of `step` from `low` to `high`.
pub(crate) fn multiples(low: f64, high: f64, step: f64) -> Vec<f64> {
    // A hair's breadth, so that an end that is a multiple but for rounding has its tick.
    const HAIR: f64 = 1e-9;
    let (first, last) = ((low / step - HAIR).ceil(), (high / step + HAIR).floor());
    if !(first.is_finite() && last.is_finite() && last >= first) {
        return Vec::new();
    }
    // Saturates on huge values; the count is limited right here.
    let count = ((last - first) as i64).saturating_add(1).min(MAX_TICKS);
    (0..count).map(|i| (first + i as f64) * step + 0.0).collect()
}

/// Ticks of a logarithmic axis: powers of ten, thinned where there are many, with twos and fives where few.
pub(crate) fn log(low: f64, high: f64) -> Vec<f64> {
    if !(low > 0.0 && high > low && high.is_finite()) {
        return Vec::new();
    }
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let decades = last.saturating_sub(first);
    let stride = decades / 8 + 1;
    let factors: &[f64] = if decades <= 2 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let powers = (first..=last).filter(|e| e.rem_euclid(stride) == 0);
    let ticks = powers.flat_map(|e| factors.iter().map(move |f| f * 10f64.powi(e)));
    ticks.filter(|t| within(*t, low, high)).collect()
}

/// Ticks of a logarithmic axis of durations.
pub(crate) fn log_time(low: f64, high: f64) -> Vec<f64> {
    if high < 2.0 || low > 1e6 * DAY {
        return log(low, high);
    }
    // Below a second, time is decimal.
    let mut ticks: Vec<f64> = (-9..0).map(|e| 10f64.powi(e)).collect();
    ticks.extend(LOG_TIMES);
    ticks.extend(LOG_DAYS.map(|e| DAY * 10f64.powi(e)));
    if high / low.max(0.5) < 100.0 {
        ticks.extend(LOG_TIMES_BETWEEN);
    }
    ticks.retain(|t| within(*t, low, high));
    ticks.sort_by(f64::total_cmp);
    ticks
}

fn within(tick: f64, low: f64, high: f64) -> bool {
    tick >= low * 0.999_999 && tick <= high * 1.000_001
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        assert_eq!(step(10.0, 5), 2.0);
        assert_eq!(step(1.0, 4), 0.5);
        assert_eq!(step(7_300.0, 6), 2_000.0);
        assert_eq!(time_step(4_800.0, 6), 900.0);
        assert_eq!(time_step(3.0 * DAY, 6), 12.0 * HOUR);
        assert_eq!(time_step(400.0 * DAY, 6), 100.0 * DAY);
        assert_eq!(step(f64::NAN, 5), 1.0);
    }

    #[test]
    fn ticks_lie_inside() {
        assert_eq!(multiples(0.0, 1.0, 0.25), [0.0, 0.25, 0.5, 0.75, 1.0]);
        assert_eq!(multiples(-0.3, 0.3, 0.2), [-0.2, 0.0, 0.2]);
        assert_eq!(log(1.0, 100.0), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(log(1e-3, 1e4).len(), 8);
        assert!(log(1e-90, 1e90).len() <= 10);
        assert_eq!(log_time(30.0, 2.0 * DAY), [60.0, 600.0, 3_600.0, 21_600.0, 86_400.0]);
        assert_eq!(log_time(0.02, 700.0), [0.1, 1.0, 10.0, 60.0, 600.0]);
        assert_eq!(log_time(50.0, 700.0), [60.0, 120.0, 300.0, 600.0]);
        assert!(multiples(0.0, 1e300, 1.0).len() <= MAX_TICKS as usize);
    }
}
