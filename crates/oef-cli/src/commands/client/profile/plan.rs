//! What is to be measured, and what need not be.

use oef_api::types::{GpuTypeStatus, Profile, Provenance};
use serde::Serialize;

/// One measurement: a gpu type and a number of workers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Point {
    /// The gpu type.
    #[serde(rename = "type")]
    pub gpu_type: String,
    /// The workers.
    pub workers: u32,
}

/// A measurement that is not made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Which.
    #[serde(flatten)]
    pub point: Point,
    /// Why not.
    pub why: Why,
}

/// Why a measurement is not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It was made lately.
    Fresh,
    /// There are not so many GPUs of the type.
    TooFewGpus,
}

/// What is asked for.
pub struct Wanted<'a> {
    /// The gpu types.
    pub types: Vec<&'a GpuTypeStatus>,
    /// The numbers of workers.
    pub workers: &'a [u32],
    /// Whether what is fresh is measured all the same.
    pub again: bool,
    /// How many seconds a measurement stays fresh.
    pub fresh_s: f64,
    /// Now, in seconds since 1970.
    pub now_s: f64,
}

/// What is to be measured, and what is left out. One worker comes with more, as there is nothing to compare with
/// otherwise.
pub fn plan(wanted: &Wanted<'_>, known: Option<&Profile>) -> (Vec<Point>, Vec<Skipped>) {
    let (mut points, mut skipped) = (Vec::new(), Vec::new());
    let mut workers = wanted.workers.to_vec();
    workers.push(1);
    workers.sort_unstable();
    workers.dedup();
    for gpu in &wanted.types {
        for &workers in &workers {
            let is_asked = wanted.workers.contains(&workers);
            let point = Point { gpu_type: gpu.gpu_type.clone(), workers };
            let is_fresh = known.is_some_and(|known| is_fresh(known, &point, wanted));
            if workers > gpu.capacity.max(1) {
                skipped.push(Skipped { point, why: Why::TooFewGpus });
            } else if is_fresh && !(wanted.again && is_asked) {
                if is_asked {
                    skipped.push(Skipped { point, why: Why::Fresh });
                }
            } else {
                points.push(point);
            }
        }
    }
    (points, skipped)
}

fn is_fresh(profile: &Profile, point: &Point, wanted: &Wanted<'_>) -> bool {
    let Some(mark) = profile.marks.get(&point.gpu_type) else { return false };
    let gang = profile.scaling.get(&point.gpu_type).is_some_and(|s| s.contains_key(&point.workers));
    let age_s = wanted.now_s - mark.since.as_millisecond() as f64 / 1000.0;
    mark.provenance == Provenance::Measured
        && mark.batches.is_some()
        && age_s < wanted.fresh_s
        && (point.workers == 1 || gang)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use oef_api::types::TypeMark;
    use std::collections::BTreeMap;

    const DAY: f64 = 86_400.0;

    fn profile() -> Profile {
        let mark = |batches, days: i64| TypeMark {
            provenance: Provenance::Measured,
            since: Timestamp::from_second(days * 86_400).expect("a time"),
            spread: None,
            batches,
            cost_s: None,
            detail: None,
        };
        let estimated = TypeMark { provenance: Provenance::Estimated, ..mark(None, 99) };
        let marks = [
            ("new", mark(Some(20), 99)),
            ("old", mark(Some(20), 10)),
            ("failed", mark(None, 99)),
            ("guessed", estimated),
        ];
        Profile {
            throughput: BTreeMap::new(),
            provenance: Provenance::Measured,
            since: Timestamp::UNIX_EPOCH,
            source: String::new(),
            marks: marks.into_iter().map(|(gpu, mark)| (gpu.to_string(), mark)).collect(),
            scaling: BTreeMap::from([("new".into(), BTreeMap::from([(2, 0.9)]))]),
        }
    }

    fn planned(workers: &[u32], again: bool) -> (Vec<String>, Vec<String>) {
        let types: Vec<GpuTypeStatus> = ["new", "old", "failed", "guessed", "none"]
            .map(|name| GpuTypeStatus {
                gpu_type: name.into(),
                capacity: if name == "old" { 1 } else { 4 },
                idle: 0,
                price: None,
            })
            .into();
        let types = types.iter().collect();
        let wanted = Wanted { types, workers, again, fresh_s: 30.0 * DAY, now_s: 100.0 * DAY };
        let (points, skipped) = plan(&wanted, Some(&profile()));
        let shown = |p: &Point| format!("{}*{}", p.gpu_type, p.workers);
        let skipped = skipped.iter().map(|s| format!("{} {:?}", shown(&s.point), s.why));
        (points.iter().map(shown).collect(), skipped.collect())
    }

    #[test]
    fn what_is_fresh_is_left_alone() {
        let (points, skipped) = planned(&[1], false);
        assert_eq!(points, ["old*1", "failed*1", "guessed*1", "none*1"]);
        assert_eq!(skipped, ["new*1 Fresh"]);
        let (points, skipped) = planned(&[1], true);
        assert_eq!((points.len(), skipped.len()), (5, 0));
    }

    #[test]
    fn gangs_bring_the_single_worker_that_they_are_compared_with() {
        let (points, skipped) = planned(&[2, 4], false);
        let expected = [
            "new*4",
            "old*1",
            "failed*1",
            "failed*2",
            "failed*4",
            "guessed*1",
            "guessed*2",
            "guessed*4",
            "none*1",
            "none*2",
            "none*4",
        ];
        assert_eq!(points, expected);
        assert_eq!(skipped, ["new*2 Fresh", "old*2 TooFewGpus", "old*4 TooFewGpus"]);
        let (points, _) = planned(&[2], true);
        assert_eq!(
            points[..2],
            ["new*2", "old*1"],
            "the single worker is fresh and was not asked for"
        );
    }
}
