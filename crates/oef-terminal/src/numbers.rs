//! Numbers for people. Machines get theirs from `--json`, unrounded.

pub use oef_report::format::counted;

/// Below this an amount is the solver's rounding and reads as nothing.
const NOTHING: f64 = 1e-9;

/// A figure for a column: always three decimals, so that the points stand below each other.
pub fn fixed(x: f64) -> String {
    if x.abs() >= 1e9 {
        return format!("{x:.2e}");
    }
    // `-0.000` is the solver's rounding as well.
    let x = if x.abs() < 5e-4 { 0.0 } else { x };
    format!("{x:.3}")
}

/// An amount of GPUs for a column: a dot for nothing, so that the eye finds what is there.
pub fn amount(x: f64) -> String {
    if x.abs() < NOTHING {
        "·".into()
    } else if x.abs() < 5e-4 {
        "<.001".into()
    } else {
        fixed(x)
    }
}

/// A difference with its sign; a dot for none.
pub fn difference(x: f64) -> String {
    if x.abs() < 5e-4 { "·".into() } else { format!("{x:+.3}") }
}

/// A ratio, or 1 where there is nothing to compare with: a tenant that an equal split gives nothing
/// is no worse off with nothing. Keeps every number that is printed finite.
pub fn ratio(own: f64, yardstick: f64) -> f64 {
    if yardstick > 0.0 { own / yardstick } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        assert_eq!(fixed(-1e-7), "0.000");
        assert_eq!(amount(1e-12), "·");
        assert_eq!(difference(-0.25), "-0.250");
    }
}
