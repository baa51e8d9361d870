//! What a soak found: how long a submission took, what grows, and what broke first.

use super::load::{Seen, Submitted};
use super::report::{Growth, Sample, Soak};

/// What grows by no more than this from one quarter of the run to the next is flat.
const FLAT: f64 = 0.05;

/// Adds up what the threads of the load saw, and judges the samples.
pub(super) fn judge(soak: &mut Soak, parts: Vec<Submitted>, seen: &[Seen], ended_max: usize) {
    let mut took = Vec::new();
    for part in parts {
        took.extend(part.took);
        soak.refused += part.refused;
        if let Some((at, why)) = part.first {
            broke(soak, at, why);
        }
    }
    took.sort_by(f64::total_cmp);
    let at = |part: f64| {
        let last = took.len().saturating_sub(1);
        took.get((last as f64 * part) as usize).copied().unwrap_or(0.0)
    };
    (soak.submission_p50_s, soak.submission_p99_s, soak.submission_max_s) =
        (at(0.5), at(0.99), at(1.0));
    soak.submitted = took.len();
    soak.events = seen.iter().map(|seen| seen.events).sum();
    soak.lost_events = seen.iter().map(|seen| seen.lost).sum();
    for (at, lost) in seen.iter().filter_map(|seen| seen.first) {
        broke(soak, at, format!("an event stream lost {lost} events"));
    }
    soak.memory = growth(&soak.samples, ended_max, |sample| sample.memory_bytes);
    soak.journal = growth(&soak.samples, ended_max, |sample| Some(sample.journal_bytes));
}

/// Notes that something broke, if nothing did before.
pub(super) fn broke(soak: &mut Soak, at: f64, what: String) {
    if soak.broke_first.as_ref().is_none_or(|(known, _)| at < *known) {
        soak.broke_first = Some((at, what));
    }
}

/// How a figure changed from the third quarter of the run to the last; none: it is not known, or the daemon was still
/// filling the memory that it gives to ended jobs.
fn growth(
    samples: &[Sample],
    ended_max: usize,
    figure: impl Fn(&Sample) -> Option<u64>,
) -> Option<Growth> {
    let quarter = samples.len() / 4;
    let (_, rest) = samples.split_at_checked(2 * quarter).filter(|_| quarter > 0)?;
    if rest.first()?.ended < ended_max as u64 {
        return None;
    }
    let (third, last) = rest.split_at(quarter);
    let most = |samples: &[Sample]| samples.iter().filter_map(&figure).max();
    let (before, after) = (most(third)?, most(last)?);
    let growth = (after as f64 - before as f64) / before.max(1) as f64;
    Some(Growth { before, after, is_flat: growth <= FLAT })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(memory: [u64; 8], ended: u64) -> Vec<Sample> {
        let sample = |bytes| Sample { memory_bytes: Some(bytes), ended, ..Sample::default() };
        memory.into_iter().map(sample).collect()
    }

    #[test]
    fn what_grows_is_told_from_what_is_flat() {
        let of = |memory, ended| growth(&samples(memory, ended), 10, |sample| sample.memory_bytes);
        let flat = of([1, 50, 90, 100, 100, 101, 99, 105], 10);
        assert_eq!(flat, Some(Growth { before: 101, after: 105, is_flat: true }));
        let grows = of([1, 50, 90, 100, 110, 120, 130, 140], 10);
        assert_eq!(grows, Some(Growth { before: 120, after: 140, is_flat: false }));
        assert_eq!(of([1, 50, 90, 100, 110, 120, 130, 140], 9), None, "it is still filling");
        assert_eq!(growth(&samples([1; 8], 10)[..3], 10, |s| s.memory_bytes), None, "too short");
    }

    #[test]
    fn the_earliest_of_what_broke_is_told() {
        let mut soak = Soak::default();
        let seen = [Seen { events: 3, lost: 2, first: Some((7.0, 2)) }];
        let refused =
            |at| Submitted { took: vec![1.0], refused: 1, first: Some((at, "no room".into())) };
        judge(&mut soak, vec![refused(9.0), refused(4.0)], &seen, 10);
        let (at, what) = soak.broke_first.clone().expect("something broke");
        assert!(at == 4.0 && what.contains("no room"), "{at} {what}");
        assert_eq!((soak.refused, soak.submitted, soak.lost_events), (2, 2, 2));
        assert!(!soak.holds());
    }
}
