//! How fast a workload would run where nobody has tried: what its nearest relatives do.
//!
//! Profiles are compared by their shape alone: two are near if, on the types where both are known, the logarithms
//! of their throughputs differ by nearly the same amount, which is the difference of their units.

/// Relatives that an estimate is taken from, and all that are as near as the last of them.
const NEAREST: usize = 3;

/// A distance below this is none: two measurements of the same thing differ by some per cent.
const NOISE: f64 = 0.02;

/// How far a relative counts that shares a single type: its shape is not known to be near or far. Half of a
/// logarithm is a factor of 1.6, about what unrelated models differ by between neighbouring generations of GPUs.
const UNKNOWN: f64 = 0.5;

/// One figure, and how it came about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Throughput in the unit of the workload's own figures.
    pub throughput: f64,
    /// How many other workloads it was taken from.
    pub from: usize,
}

/// Figures for the types of which a workload has none; `None` where it has one, or where nobody can tell.
///
/// `own` and each of `others` are throughputs by type, each in a unit of its own; `None` or 0 where nothing is
/// known or where it cannot run.
pub fn estimate(own: &[Option<f64>], others: &[Vec<Option<f64>>]) -> Vec<Option<Estimate>> {
    let relatives: Vec<Relative> = others.iter().filter_map(|o| Relative::of(own, o)).collect();
    let known = |j: usize| own[j].is_some_and(|x| x > 0.0);
    (0..own.len()).map(|j| if known(j) { None } else { guess(j, &relatives) }).collect()
}

/// Another workload, seen from the one that is estimated.
struct Relative {
    /// Logarithms of its throughputs, in the other's unit.
    logs: Vec<Option<f64>>,
    distance: f64,
}

impl Relative {
    fn of(own: &[Option<f64>], other: &[Option<f64>]) -> Option<Relative> {
        let sound = |x: &Option<f64>| x.filter(|x| *x > 0.0 && x.is_finite());
        let theirs: Vec<Option<f64>> = other.iter().map(sound).collect();
        let pairs = own.iter().map(sound).zip(&theirs);
        let common: Vec<(f64, f64)> =
            pairs.filter_map(|(own, theirs)| Some((own?, (*theirs)?))).collect();
        if common.is_empty() {
            return None;
        }
        let count = common.len() as f64;
        let apart = |(own, theirs): &(f64, f64)| (own / theirs).ln();
        let unit = common.iter().map(apart).sum::<f64>() / count;
        let squares = common.iter().map(|pair| (apart(pair) - unit).powi(2)).sum::<f64>();
        let distance = match common.len() {
            1 => UNKNOWN,
            _ => (squares / count).sqrt().max(NOISE),
        };
        // By ratios within each profile: what the units are does not even show in the last digit.
        let log = |x: f64| {
            common.iter().map(|(own, theirs)| (x / theirs).ln() + own.ln()).sum::<f64>() / count
        };
        Some(Relative { logs: theirs.into_iter().map(|x| x.map(log)).collect(), distance })
    }
}

fn guess(gpu: usize, relatives: &[Relative]) -> Option<Estimate> {
    let log = |r: &Relative| r.logs.get(gpu).copied().flatten();
    let mut near: Vec<(f64, f64)> =
        relatives.iter().filter_map(|r| Some((r.distance, log(r)?))).collect();
    near.sort_by(|a, b| a.0.total_cmp(&b.0));
    let last = near.get(NEAREST - 1).or(near.last())?.0;
    near.retain(|(distance, _)| *distance <= last);
    let weight = |distance: f64| distance.powi(-2);
    let total: f64 = near.iter().map(|(distance, _)| weight(*distance)).sum();
    let mean = near.iter().map(|(distance, log)| weight(*distance) * log).sum::<f64>() / total;
    Some(Estimate { throughput: mean.exp(), from: near.len() }).filter(|e| e.throughput.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn figures(list: &[f64]) -> Vec<Option<f64>> {
        list.iter().map(|&x| (x > 0.0).then_some(x)).collect()
    }

    fn guesses(own: &[f64], others: &[&[f64]]) -> Vec<Option<f64>> {
        let others: Vec<_> = others.iter().map(|o| figures(o)).collect();
        let round = |e: Estimate| (e.throughput * 1000.0).round() / 1000.0;
        estimate(&figures(own), &others).into_iter().map(|e| e.map(round)).collect()
    }

    #[test]
    fn from_the_shapes_of_others() {
        // One type in common: the ratios of the others, whatever their units, at their geometric mean.
        let check = |own: &[f64], others: &[&[f64]], expected: &[Option<f64>]| {
            assert_eq!(guesses(own, others), expected, "{own:?} {others:?}");
        };
        check(&[10.0, 0.0], &[&[1.0, 2.0]], &[None, Some(20.0)]);
        check(&[10.0, 0.0], &[&[1.0, 2.0], &[100.0, 800.0]], &[None, Some(40.0)]);
        // Nothing in common, or nothing known there.
        check(&[10.0, 0.0], &[&[0.0, 2.0]], &[None, None]);
        check(&[10.0, 0.0, 0.0], &[&[1.0, 3.0, 0.0]], &[None, Some(30.0), None]);
        check(&[0.0, 0.0], &[&[1.0, 2.0]], &[None, None]);
        check(&[], &[], &[]);
        // Two in common: the one with the same shape counts, the far ones hardly.
        let near: &[f64] = &[5.0, 10.0, 20.0];
        let far: &[f64] = &[5.0, 50.0, 500.0];
        let found = guesses(&[1.0, 2.0, 0.0], &[near, far])[2].expect("a guess");
        assert!((3.9..4.3).contains(&found), "{found}");
        // Bad figures count as unknown.
        check(&[10.0, 0.0], &[&[f64::INFINITY, 2.0], &[1.0, f64::NAN]], &[None, None]);
    }

    #[test]
    fn those_as_near_as_the_last_all_count() {
        let others: Vec<_> = (1..=5).map(|n| figures(&[1.0, f64::from(n)])).collect();
        let found = estimate(&figures(&[1.0, 0.0]), &others)[1].expect("a guess");
        assert_eq!(found.from, 5);
        let mean = 120f64.powf(0.2);
        assert!((found.throughput - mean).abs() < 1e-9, "{found:?}");
    }

    proptest! {
        #[test]
        fn units_do_not_matter_and_guesses_lie_between_those_they_come_from(
            shapes in prop::collection::vec(prop::collection::vec(0.1..10.0f64, 4), 1..8),
            units in prop::collection::vec(1e-3..1e3f64, 8),
            own in prop::collection::vec(0.1..10.0f64, 2),
        ) {
            let own = vec![Some(own[0]), Some(own[1]), None, None];
            let plain: Vec<Vec<_>> =
                shapes.iter().map(|s| s.iter().map(|&x| Some(x)).collect()).collect();
            let scaled: Vec<Vec<_>> = shapes
                .iter()
                .zip(&units)
                .map(|(s, unit)| s.iter().map(|&x| Some(x * unit)).collect())
                .collect();
            let (one, other) = (estimate(&own, &plain), estimate(&own, &scaled));
            for (one, other) in one.iter().flatten().zip(other.iter().flatten()) {
                prop_assert!((one.throughput / other.throughput - 1.0).abs() < 1e-6);
            }
            let unit = |s: &[f64]| ((own[0].unwrap() / s[0]).ln() + (own[1].unwrap() / s[1]).ln()) / 2.0;
            for j in 2..4 {
                let all = shapes.iter().map(|s| s[j] * unit(s).exp());
                let (least, most) = all.fold((f64::MAX, 0.0f64), |(a, b), x| (a.min(x), b.max(x)));
                let found = one[j].unwrap().throughput;
                prop_assert!(found >= least * 0.999 && found <= most * 1.001);
            }
        }
    }
}
