//! Speedups from throughputs, by the documented rule, in fractions.
//!
//! The rounded speedups of a problem would do almost always. But two that are equal by the rule may
//! differ in their last bit, and in fractions that bit would decide between optima.

use crate::instance::fraction;
use crate::program::Q;
use num_traits::{One, Zero};
use oef_core::Problem;

/// The speedups of all workloads over the problem's reference type.
pub(crate) fn speedups(problem: &Problem) -> Vec<Vec<Q>> {
    let exact =
        |w: &oef_core::problem::Workload| w.throughput.iter().copied().map(fraction).collect();
    let throughput: Vec<Vec<Q>> = problem.workloads().iter().map(exact).collect();
    let weight: Vec<Q> = problem.workloads().iter().map(|w| fraction(w.weight)).collect();
    let reference = problem.reference().index();
    let scale = |row: &Vec<Q>| {
        if !row[reference].is_zero() {
            return row[reference].recip();
        }
        let slowest =
            row.iter().filter(|q| !q.is_zero()).min().expect("every workload runs somewhere");
        let types = (0..row.len()).filter(|&j| row[j] == *slowest);
        let median = types.map(|j| median(&throughput, &weight, j, reference)).min();
        median.expect("the slowest type is one of the types") / slowest
    };
    throughput
        .iter()
        .map(|row| (row, scale(row)))
        .map(|(row, s)| row.iter().map(|q| q * &s).collect())
        .collect()
}

/// The median by weight of the speedup on type `j` of those who run on it and on the reference.
fn median(throughput: &[Vec<Q>], weight: &[Q], j: usize, reference: usize) -> Q {
    let both =
        throughput.iter().zip(weight).filter(|(t, _)| !t[j].is_zero() && !t[reference].is_zero());
    let mut known: Vec<(Q, Q)> = both.map(|(t, w)| (&t[j] / &t[reference], w.clone())).collect();
    known.sort();
    let half = known.iter().map(|(_, w)| w).sum::<Q>() / Q::from_integer(2.into());
    // Thirds of a weight are rounded, and three of them are the whole all the same.
    let rounding = &half * fraction(1e-12);
    let mut below = Q::zero();
    for (i, (speedup, weight)) in known.iter().enumerate() {
        below += weight;
        if below > &half + &rounding {
            return speedup.clone();
        }
        if below >= &half - &rounding {
            let next = known.get(i + 1).map_or(speedup, |(next, _)| next);
            return (speedup + next) / Q::from_integer(2.into());
        }
    }
    Q::one()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::{Family, Size, problem};
    use num_traits::ToPrimitive;

    #[test]
    fn the_problem_s_own_speedups_are_these_rounded() {
        for family in Family::ALL {
            for seed in 0..200 {
                let problem = problem(family, Size::SMALL, seed).validate().unwrap();
                for (row, workload) in speedups(&problem).iter().zip(problem.workloads()) {
                    for (exact, rounded) in row.iter().zip(&workload.speedup) {
                        let exact = exact.to_f64().unwrap();
                        assert!((exact - rounded).abs() <= 1e-14 * exact, "{exact} {rounded}");
                    }
                }
            }
        }
    }
}
