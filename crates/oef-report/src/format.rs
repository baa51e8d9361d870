//! Numbers and durations as people read them: three significant digits, minutes, hours and days.
//!
//! Nothing here ever prints `NaN` or `inf`: what is not a finite number is shown as [`MISSING`].

/// What stands for a value that is not there.
pub const MISSING: &str = "–";

/// Seconds in a minute, an hour and a day.
pub(crate) const MINUTE: f64 = 60.0;
pub(crate) const HOUR: f64 = 3_600.0;
pub(crate) const DAY: f64 = 86_400.0;

/// What a number measures, and so how it is written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Unit {
    /// A bare number: a count, a ratio.
    #[default]
    None,
    /// A part of one, shown in per cent: 0.123 is `12.3 %`.
    Fraction,
    /// A duration in seconds, shown in the unit that fits: 5400 is `1.5 h`.
    Seconds,
    /// Any other unit by its name: `jobs/h`, `GPUs`.
    Named(String),
}

impl Unit {
    /// A value with its unit.
    pub fn show(&self, value: f64) -> String {
        match self {
            Unit::Named(name) if value.is_finite() => format!("{} {name}", number(value)),
            _ => self.show_bare(value),
        }
    }

    /// A value whose named unit stands elsewhere, as in the head of a column.
    pub fn show_bare(&self, value: f64) -> String {
        match self {
            Unit::None | Unit::Named(_) => number(value),
            Unit::Fraction => percent(value),
            Unit::Seconds => duration(value),
        }
    }

    /// What the head of a column or the title of an axis adds: the name of a named unit.
    pub fn name(&self) -> Option<&str> {
        match self {
            Unit::Named(name) if !name.is_empty() => Some(name),
            _ => None,
        }
    }
}

impl From<&str> for Unit {
    fn from(name: &str) -> Self {
        Unit::Named(name.to_string())
    }
}

/// A number with three significant digits. Whole parts are never rounded below a million, where letters begin.
///
/// ```
/// use oef_report::format::number;
/// assert_eq!(number(0.123456), "0.123");
/// assert_eq!(number(1234.6), "1,235");
/// assert_eq!(number(12_345_678.0), "12.3 M");
/// assert_eq!(number(f64::NAN), "–");
/// ```
pub fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return MISSING.into();
    }
    if size >= 999_999.5 {
        return si(value);
    }
    if size != 0.0 && size < 0.001 {
        return scientific(value);
    }
    trimmed(fixed(value, decimals(size)))
}

/// So many of something: `1 tenant`, `2 tenants`.
///
/// ```
/// use oef_report::format::counted;
/// assert_eq!([counted(1, "job"), counted(0, "job")], ["1 job", "0 jobs"]);
/// ```
pub fn counted(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// A figure with four decimals at most and no trailing zeros: `5.25`, `0.3333`, `1`.
pub fn figure(x: f64) -> String {
    if !x.is_finite() {
        return MISSING.into();
    }
    // Less is the solver's rounding.
    if x.abs() < 1e-9 {
        return "0".into();
    }
    if x.abs() < 5e-5 || x.abs() >= 1e9 {
        return format!("{x:.2e}");
    }
    let decimals = if x.abs() >= 1000.0 { 1 } else { 4 };
    trimmed(format!("{x:.decimals$}"))
}

/// A number with three significant digits and a letter for thousands, millions and so on: `1.23 k`.
pub fn si(value: f64) -> String {
    const LETTERS: [&str; 6] = ["", " k", " M", " G", " T", " P"];
    if !value.is_finite() {
        return MISSING.into();
    }
    let mut scaled = value;
    for letter in LETTERS {
        if scaled.abs() < 999.5 {
            let small = scaled != 0.0 && scaled.abs() < 0.001;
            return if small {
                scientific(value)
            } else {
                trimmed(fixed(scaled, decimals(scaled.abs()))) + letter
            };
        }
        scaled /= 1_000.0;
    }
    scientific(value)
}

/// An amount of memory or disk: `12.3 MiB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["B", "KiB", "MiB", "GiB"];
    let mut scaled = count as f64;
    let mut units = UNITS.iter();
    let mut unit = units.next().unwrap_or(&"B");
    while scaled >= 1024.0
        && let Some(larger) = units.next()
    {
        scaled /= 1024.0;
        unit = larger;
    }
    format!("{} {unit}", number(scaled))
}

/// A part of one in per cent: `12.3 %`.
pub fn percent(fraction: f64) -> String {
    if !fraction.is_finite() {
        return MISSING.into();
    }
    format!("{} %", number(fraction * 100.0))
}

/// A duration in seconds, with three significant digits in the unit that fits: `90 s`, `1.5 h`, `12.3 d`.
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() {
        return MISSING.into();
    }
    let (unit, length) = duration_unit(seconds.abs());
    format!("{} {unit}", number(seconds / length))
}

/// A duration as one would say it, in at most two units: `1 h 25 min`, `3 d 4 h`, `42 s`.
pub fn clock(seconds: f64) -> String {
    if !seconds.is_finite() {
        return MISSING.into();
    }
    let size = seconds.abs();
    if !(MINUTE - 0.5..=1e6 * DAY).contains(&size) {
        return duration(seconds);
    }
    let sign = if seconds < 0.0 { "-" } else { "" };
    let parts = |big: f64, small: f64, names: [&str; 2]| {
        let count = (size / small).round();
        let (whole, rest) = ((count / (big / small)).floor(), count % (big / small));
        let tail = if rest > 0.0 { format!(" {rest:.0} {}", names[1]) } else { String::new() };
        format!("{sign}{} {}{tail}", fixed(whole, 0), names[0])
    };
    if size < HOUR - 0.5 {
        parts(MINUTE, 1.0, ["min", "s"])
    } else if size < DAY - MINUTE / 2.0 {
        parts(HOUR, MINUTE, ["h", "min"])
    } else {
        parts(DAY, HOUR, ["d", "h"])
    }
}

/// The same where room is short: `45s`, `5m`, `3m12s`, `2h05m`, `3d04h`.
pub fn span(seconds: f64) -> String {
    if !seconds.is_finite() {
        return MISSING.into();
    }
    if seconds > 0.0 && seconds < 0.95 {
        return format!("{:.0}ms", (seconds * 1000.0).ceil());
    }
    // Saturates; nothing is shown of what lies below a second.
    let s = seconds.max(0.0).round() as u64;
    let (whole, rest) = match s {
        0..60 => return format!("{s}s"),
        60..3600 => ((s / 60, "m"), (s % 60, "s")),
        3600..86400 => ((s / 3600, "h"), (s % 3600 / 60, "m")),
        _ => ((s / 86400, "d"), (s % 86400 / 3600, "h")),
    };
    match rest.0 {
        0 => format!("{}{}", whole.0, whole.1),
        more => format!("{}{}{more:02}{}", whole.0, whole.1, rest.1),
    }
}

/// A number with so many decimals, and commas between the thousands.
pub fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return MISSING.into();
    }
    let plain = format!("{:.*}", decimals.min(15), value.abs());
    let (whole, rest) = plain.split_at(plain.find('.').unwrap_or(plain.len()));
    let is_zero = plain.bytes().all(|b| matches!(b, b'0' | b'.'));
    let mut out = String::from(if value < 0.0 && !is_zero { "-" } else { "" });
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

/// The unit in which a duration is shown, and its length in seconds.
pub(crate) fn duration_unit(seconds: f64) -> (&'static str, f64) {
    match seconds {
        0.0 => ("s", 1.0),
        s if s < 0.999_5e-6 => ("ns", 1e-9),
        s if s < 0.999_5e-3 => ("µs", 1e-6),
        s if s < 0.999_5 => ("ms", 1e-3),
        s if s < 2.0 * MINUTE => ("s", 1.0),
        s if s < 2.0 * HOUR => ("min", MINUTE),
        s if s < 2.0 * DAY => ("h", HOUR),
        _ => ("d", DAY),
    }
}

/// Decimals that leave three significant digits of a number of this size.
pub(crate) fn decimals(size: f64) -> usize {
    match size {
        0.0 => 0,
        s if s < 0.01 => 5,
        s if s < 0.1 => 4,
        s if s < 0.999_5 => 3,
        s if s < 9.995 => 2,
        s if s < 99.95 => 1,
        _ => 0,
    }
}

/// Without zeros at the end of the decimals, which say nothing.
pub(crate) fn trimmed(text: String) -> String {
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

pub(crate) fn scientific(value: f64) -> String {
    let text = format!("{value:.2e}");
    match text.split_once('e') {
        Some((digits, exponent)) => format!("{}e{exponent}", trimmed(digits.to_string())),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_significant_digits() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (1.5, "1.5"),
            (9.996, "10"),
            (99.96, "100"),
            (12.345, "12.3"),
            (0.0012345, "0.00123"),
            (-1234.4, "-1,234"),
            (999_999.0, "999,999"),
            (999_999.9, "1 M"),
            (1e-7, "1e-7"),
            (1.234e20, "1.23e20"),
            (f64::INFINITY, "–"),
        ];
        for (value, expected) in cases {
            assert_eq!(number(value), expected, "{value}");
        }
    }

    #[test]
    fn durations_are_in_the_unit_that_fits() {
        let cases = [
            (0.0, "0 s"),
            (0.0123, "12.3 ms"),
            (90.0, "90 s"),
            (330.0, "5.5 min"),
            (5_400.0, "90 min"),
            (9_000.0, "2.5 h"),
            (DAY * 30.0, "30 d"),
            (-330.0, "-5.5 min"),
            (2e-9, "2 ns"),
        ];
        for (value, expected) in cases {
            assert_eq!(duration(value), expected, "{value}");
        }
    }

    #[test]
    fn clocks_have_at_most_two_units() {
        let cases = [
            (42.0, "42 s"),
            (59.9, "1 min"),
            (60.0, "1 min"),
            (200.0, "3 min 20 s"),
            (5_100.0, "1 h 25 min"),
            (86_399.0, "1 d"),
            (DAY * 3.0 + HOUR * 4.0, "3 d 4 h"),
            (-5_100.0, "-1 h 25 min"),
        ];
        for (value, expected) in cases {
            assert_eq!(clock(value), expected, "{value}");
        }
    }

    #[test]
    fn figures_have_four_decimals_at_most() {
        let cases =
            [(5.25, "5.25"), (1.0 / 3.0, "0.3333"), (1.0, "1"), (-0.0, "0"), (1234.56, "1234.6")];
        for (x, expected) in cases {
            assert_eq!(figure(x), expected);
        }
        assert_eq!(figure(1e-6), "1.00e-6");
    }

    #[test]
    fn spans_read_well() {
        let cases = [
            (0.0, "0s"),
            (0.2, "200ms"),
            (0.97, "1s"),
            (59.4, "59s"),
            (59.6, "1m"),
            (192.0, "3m12s"),
            (7500.0, "2h05m"),
            (273_600.0, "3d04h"),
            (-5.0, "0s"),
            (f64::NAN, MISSING),
        ];
        for (seconds, expected) in cases {
            assert_eq!(span(seconds), expected);
        }
    }

    #[test]
    fn units_follow_their_numbers() {
        assert_eq!(Unit::from("jobs/h").show(12.0), "12 jobs/h");
        assert_eq!(Unit::from("jobs/h").show_bare(12.0), "12");
        assert_eq!(Unit::Fraction.show(0.17), "17 %");
        assert_eq!(Unit::Seconds.show(f64::NAN), "–");
        assert_eq!(bytes(1_500), "1.46 KiB");
        assert_eq!(bytes(2_147_483_648), "2 GiB");
        assert_eq!(si(1_234.0), "1.23 k");
    }
}
