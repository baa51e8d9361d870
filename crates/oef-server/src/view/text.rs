//! Words and figures that several views share.

pub(super) use crate::world::timestamp;

use std::collections::BTreeMap;

/// Amounts below this are the rounding of a solver.
const NOTHING: f64 = 1e-9;

/// A figure for every gpu type.
pub(super) fn by_type<T>(types: &[String], figure: impl Fn(usize) -> T) -> BTreeMap<String, T> {
    types.iter().enumerate().map(|(j, name)| (name.clone(), figure(j))).collect()
}

/// An amount of every gpu type. The sum of nothing is -0, which nobody wants to read.
pub(super) fn amounts_by_type(
    types: &[String],
    amount: impl Fn(usize) -> f64,
) -> BTreeMap<String, f64> {
    by_type(types, |j| amount(j) + 0.0)
}

/// Amounts of gpu types in words: `2.00 slow + 0.50 fast`.
pub(super) fn amounts<'a>(of: impl Iterator<Item = (&'a String, f64)>) -> String {
    let some = of.filter(|(_, x)| x.abs() > NOTHING);
    joined(some.map(|(name, x)| format!("{x:.2} {name}")).collect())
}

/// Whole GPUs of gpu types in words: `2 slow + 1 fast`.
pub(super) fn gpus<'a>(of: impl Iterator<Item = (&'a String, u32)>) -> String {
    let some = of.filter(|(_, n)| *n > 0);
    joined(some.map(|(name, n)| format!("{n} {name}")).collect())
}

fn joined(parts: Vec<String>) -> String {
    if parts.is_empty() { "nothing".into() } else { parts.join(" + ") }
}

/// A change in percent: `+52 %`.
pub(super) fn change(before: f64, after: f64) -> String {
    match before > NOTHING {
        true => format!("{:+.0} %", 100.0 * (after - before) / before),
        false => "new".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        assert_eq!(
            [change(2.1, 3.2), change(4.0, 2.0), change(0.0, 1.0)],
            ["+52 %", "-50 %", "new"]
        );
        let types = ["slow".to_string(), "fast".to_string()];
        assert_eq!(amounts(types.iter().zip([2.0, 0.5])), "2.00 slow + 0.50 fast");
        assert_eq!(amounts(types.iter().zip([0.0, -0.5])), "-0.50 fast");
        assert_eq!(gpus(types.iter().zip([0, 0])), "nothing");
    }
}
