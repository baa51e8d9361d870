//! Whether one profile can be used in a problem, whatever the others are.
//!
//! A profile is judged by its own numbers alone: its owner hears of it when it is set, and no other tenant's numbers
//! can make it unusable later.

use thiserror::Error;

/// Counts, weights and raw throughputs up to here keep every product of three finite.
pub(super) const MAX_NUMBER: f64 = 1e100;
/// No two gpu types differ by nine orders of magnitude; a unit mistake does.
pub(super) const MAX_RATIO: f64 = 1e9;

/// Why a profile cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum UnusableProfile {
    /// An entry is negative, infinite, far too large or not a number.
    #[error("a throughput is a number from 0 to {MAX_NUMBER:e}, not {}", brief(*.0))]
    Number(f64),
    /// It runs on no gpu type.
    #[error("it has no throughput above 0")]
    RunsNowhere,
    /// Its entries differ by more than double precision can resolve.
    #[error("its throughputs range from {low:e} to {high:e}; {}", broken(*.low, *.high, *.most))]
    Range {
        /// The least entry above 0.
        low: f64,
        /// The greatest entry.
        high: f64,
        /// By how much they may differ.
        most: f64,
    },
}

/// Which limit a range breaks.
fn broken(low: f64, high: f64, most: f64) -> String {
    match high / low > most {
        true => format!("they may differ by a factor of {most:e} at most"),
        false => format!("those above 0 must be at least {:e}", 1.0 / MAX_NUMBER),
    }
}

/// A number without rows of zeros.
fn brief(number: f64) -> String {
    if number.abs() < 1e6 { number.to_string() } else { format!("{number:e}") }
}

/// In a cluster that many share, less: one tenant's huge range would cost the shares of all their last digits, and no
/// GPU is a million times as fast as another.
pub const MAX_LIVE_RATIO: f64 = 1e6;

/// Checks the throughputs of one workload; 0: it cannot run there.
pub fn check_profile(throughput: &[f64]) -> Result<(), UnusableProfile> {
    check_profile_within(throughput, MAX_RATIO)
}

/// The same with another limit on how much they may differ.
pub fn check_profile_within(throughput: &[f64], most: f64) -> Result<(), UnusableProfile> {
    if let Some(&wrong) = throughput.iter().find(|t| !(0.0..=MAX_NUMBER).contains(*t)) {
        return Err(UnusableProfile::Number(wrong));
    }
    let runs = throughput.iter().copied().filter(|&t| t > 0.0);
    let (low, high) = runs.fold((f64::INFINITY, 0.0_f64), |(l, h), t| (l.min(t), h.max(t)));
    match high {
        0.0 => Err(UnusableProfile::RunsNowhere),
        _ if high / low > most || low < 1.0 / MAX_NUMBER => {
            Err(UnusableProfile::Range { low, high, most })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ProblemSpec;

    #[test]
    fn a_profile_is_judged_by_its_own_numbers() {
        let wrong: [&[f64]; 8] = [
            &[1e-12, 1.0],
            &[1.0, 1.1e9],
            &[f64::NAN, 1.0],
            &[1.0, f64::INFINITY],
            &[-1.0, 1.0],
            &[1e101, 1.0],
            &[0.0, 0.0],
            &[1e-310, 0.0],
        ];
        for profile in wrong {
            assert!(check_profile(profile).is_err(), "{profile:?}");
            let spec = ProblemSpec::from_matrix(&[1.0, 1.0], &[profile, &[1.0, 2.0]]);
            assert!(spec.validate().is_err(), "{profile:?}");
        }
        for profile in [[1e-9, 1.0], [1e90, 1e90], [0.0, 3.0], [1e-90, 1e-85]] {
            assert_eq!(check_profile(&profile), Ok(()), "{profile:?}");
        }
    }

    #[test]
    fn the_limit_that_is_broken_is_named() {
        let cases: [(&[f64], &str); 4] = [
            (
                &[1e-12, 1.0],
                "its throughputs range from 1e-12 to 1e0; they may differ by a factor of 1e9 at most",
            ),
            (
                &[1e-310, 1e-310],
                "its throughputs range from 1e-310 to 1e-310; those above 0 must be at least 1e-100",
            ),
            (&[1e300, 1.0], "a throughput is a number from 0 to 1e100, not 1e300"),
            (&[-1.5, 1.0], "a throughput is a number from 0 to 1e100, not -1.5"),
        ];
        for (profile, said) in cases {
            assert_eq!(check_profile(profile).unwrap_err().to_string(), said);
        }
    }

    /// The first profile cannot run on the reference type, so that it is normalised by the median of the others.
    #[test]
    fn no_profile_pushes_another_one_out_of_range() {
        let extremes: [&[f64]; 3] = [&[1.0, 1e9, 0.0], &[1e9, 1.0, 0.0], &[1.0, 1e-9, 1.0]];
        for hostile in extremes {
            for other in [[0.0, 1.0, 1e9], [0.0, 1e9, 1.0], [0.0, 1.0, 2.0]] {
                for reference in ["g1", "g2", "g3"] {
                    let rows = [hostile, &other];
                    let mut spec = ProblemSpec::from_matrix(&[1.0, 1.0, 1.0], &rows);
                    spec.reference = Some(reference.into());
                    let problem = spec.validate().unwrap();
                    let speedups = problem.workloads().iter().flat_map(|w| &w.speedup);
                    for &speedup in speedups.filter(|s| **s > 0.0) {
                        let fits = (1e-9..=1e9).contains(&speedup);
                        assert!(fits, "{hostile:?} {other:?}, reference {reference}: {speedup:e}");
                    }
                }
            }
        }
    }
}
