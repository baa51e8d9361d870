//! A profile with what was seen in it.
//!
//! Only ratios are seen, so that the unit is free. It is chosen such that the type in the middle keeps its figure:
//! where one type of several was told falsely, the others stay as they were and that one is put right. Every
//! other type that was seen gets what was seen relative to it. A type that was not seen keeps what was said about it relative to the
//! nearest type that was, but corrected as much as the rest was wrong: whoever made four of two on the
//! types that were seen gets two for four elsewhere, too. So no part of a lie is left where nobody
//! could look; whoever said the truth there is measured as soon as a job of it runs there.

use super::link::Link;

/// Declared ratios nearer to one than this say nothing of the measure in which they are true, as a logarithm.
const FLAT: f64 = 0.05;
/// What was said is taken to have been stretched or shrunk by no more than this power.
const MEASURE: (f64, f64) = (0.25, 4.0);

/// A profile with what was seen in it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Corrected {
    /// By gpu type, in the unit of the profile before.
    pub throughput: Vec<f64>,
    /// Which of them were seen.
    pub seen: Vec<bool>,
}

/// The profile as it was seen; `None`: nothing was seen that says anything about it.
pub(super) fn corrected(links: &[Link], profile: &[f64]) -> Option<Corrected> {
    let types = links.iter().map(|l| l.low.max(l.high) + 1).fold(profile.len(), usize::max);
    let said = |gpu: usize| profile.get(gpu).copied().filter(|on| on.is_finite() && *on > 0.0);
    let anchor = anchor(links, &said)?;
    let seen = reach(links, anchor, types);
    let unit = unit(&seen, &said, anchor)?;
    let measure = measure(&seen, &said);
    let entry = |gpu: usize| match (seen[gpu], said(gpu)) {
        (Some(relative), _) => (unit + relative).exp(),
        (None, None) => 0.0,
        (None, Some(on)) => {
            let near = (0..types).filter_map(|k| Some((k, said(k)?.ln(), seen[k]?)));
            let near = near.min_by(|a, b| {
                (a.1 - on.ln()).abs().total_cmp(&(b.1 - on.ln()).abs()).then(a.0.cmp(&b.0))
            });
            near.map_or(on, |(_, told, relative)| {
                (unit + relative + measure * (on.ln() - told)).exp()
            })
        }
    };
    let throughput: Vec<f64> = (0..types).map(entry).collect();
    let is_sound = throughput.iter().all(|on| on.is_finite());
    is_sound.then(|| Corrected { throughput, seen: seen.iter().map(Option::is_some).collect() })
}

/// The type with the most evidence among those of which the profile says something.
fn anchor(links: &[Link], said: &impl Fn(usize) -> Option<f64>) -> Option<usize> {
    let weight = |gpu: usize| {
        let of = links.iter().filter(|l| l.low == gpu || l.high == gpu);
        of.map(|l| l.weight).sum::<f64>()
    };
    let ends = links.iter().flat_map(|l| [l.low, l.high]).filter(|&gpu| said(gpu).is_some());
    ends.max_by(|&a, &b| weight(a).total_cmp(&weight(b)).then(b.cmp(&a)))
}

/// The logarithm of the figure of the anchor, such that the type in the middle, by what was said over what was seen,
/// keeps its own. Of two in the middle it is the one that is nearer to the anchor, which has the most evidence.
fn unit(seen: &[Option<f64>], said: &impl Fn(usize) -> Option<f64>, anchor: usize) -> Option<f64> {
    let own = said(anchor)?.ln();
    let both =
        seen.iter().enumerate().filter_map(|(gpu, relative)| Some(said(gpu)?.ln() - (*relative)?));
    let mut units: Vec<f64> = both.collect();
    units.sort_by(f64::total_cmp);
    let (below, above) = (*units.get((units.len() - 1) / 2)?, *units.get(units.len() / 2)?);
    Some(own.clamp(below, above))
}

/// The logarithm of what was seen on each type over that on the first, along the links with the most
/// evidence.
fn reach(links: &[Link], from: usize, types: usize) -> Vec<Option<f64>> {
    let mut seen: Vec<Option<f64>> = vec![None; types];
    seen[from] = Some(0.0);
    loop {
        let steps = links.iter().filter_map(|link| match (seen[link.low], seen[link.high]) {
            (Some(low), None) => Some((link.weight, link.high, low + link.ratio)),
            (None, Some(high)) => Some((link.weight, link.low, high - link.ratio)),
            _ => None,
        });
        let next = steps.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        let Some((_, gpu, relative)) = next else { return seen };
        seen[gpu] = Some(relative);
    }
}

/// By which power the ratios that were said were stretched, judged by the fastest and the slowest type that
/// was seen.
fn measure(seen: &[Option<f64>], said: &impl Fn(usize) -> Option<f64>) -> f64 {
    let both = seen.iter().enumerate().filter_map(|(gpu, s)| Some((said(gpu)?.ln(), (*s)?)));
    let both: Vec<(f64, f64)> = both.collect();
    let ends = (
        both.iter().min_by(|a, b| a.0.total_cmp(&b.0)),
        both.iter().max_by(|a, b| a.0.total_cmp(&b.0)),
    );
    match ends {
        (Some(slow), Some(fast)) if fast.0 - slow.0 > FLAT => {
            ((fast.1 - slow.1) / (fast.0 - slow.0)).clamp(MEASURE.0, MEASURE.1)
        }
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(low: usize, high: usize, ratio: f64, weight: f64) -> Link {
        let (runs, windows, waiting) = (2, 20, false);
        let (ratio, tolerance, windows_weight) = (ratio.ln(), 0.5, weight);
        Link { low, high, ratio, weight, windows_weight, tolerance, runs, windows, waiting }
    }

    fn check(links: &[Link], profile: &[f64], expected: &[f64]) {
        let found = corrected(links, profile).expect("something was seen").throughput;
        let close = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(close && found.len() == expected.len(), "{found:?}, not {expected:?}");
    }

    #[test]
    fn types_that_were_seen_get_what_was_seen_and_others_the_same_measure() {
        check(&[link(0, 1, 2.0, 1.0)], &[1.0, 4.0], &[1.0, 2.0]);
        check(&[link(0, 1, 2.0, 1.0)], &[10.0, 40.0, 160.0], &[10.0, 20.0, 40.0]);
        check(&[link(0, 1, 4.0, 1.0)], &[1.0, 2.0, 4.0], &[1.0, 4.0, 16.0]);
        check(&[link(0, 1, 2.0, 1.0)], &[1.0, 1.0, 3.0], &[1.0, 2.0, 3.0]);
        check(&[link(0, 1, 2.0, 1.0)], &[1.0, 4.0, 0.0], &[1.0, 2.0, 0.0]);
        check(&[link(0, 1, 2.0, 1.0)], &[3.0], &[3.0, 6.0]);
        let chain = [link(0, 1, 2.0, 1.0), link(1, 2, 2.0, 3.0), link(0, 2, 9.0, 0.5)];
        check(&chain, &[1.0, 8.0, 8.0], &[2.0, 4.0, 8.0]);
    }

    /// Three types in turn told falsely, whichever has the most evidence: only that one changes.
    #[test]
    fn one_false_figure_is_put_right_and_the_others_stay() {
        let truth = [24.0, 26.0, 32.0];
        for (false_one, by, heavy) in
            (0..3).flat_map(|g| (0..3).flat_map(move |h| [(g, 0.4, h), (g, 3.0, h)]))
        {
            let weight = |a: usize, b: usize| if a == heavy || b == heavy { 5.0 } else { 1.0 };
            let links: Vec<Link> = [(0, 1), (0, 2), (1, 2)]
                .map(|(a, b)| link(a, b, truth[b] / truth[a], weight(a, b)))
                .into();
            let mut told = truth;
            told[false_one] *= by;
            check(&links, &told, &truth);
        }
    }

    #[test]
    fn nothing_seen_changes_nothing() {
        assert_eq!(corrected(&[], &[1.0, 2.0]), None);
        assert_eq!(corrected(&[link(0, 1, 2.0, 1.0)], &[0.0, 0.0]), None);
    }
}
