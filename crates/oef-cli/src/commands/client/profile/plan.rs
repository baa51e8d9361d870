//! What is to be measured, and what need not be.

use jiff::Timestamp;
use oef_api::types::{FigureSource, GpuTypeStatus, Node, NodeHealth, Profile, Provenance};
use serde::Serialize;

/// One measurement: a gpu type and a number of workers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Point {
    /// The gpu type.
    #[serde(rename = "type")]
    pub gpu_type: String,
    pub workers: u32,
    /// The fewest hosts of the type on which they can stand.
    pub hosts: u32,
}

impl Point {
    /// In words: `a100 with 8 workers over 2 hosts`.
    pub fn words(&self) -> String {
        let gpu = &self.gpu_type;
        match (self.workers, self.hosts) {
            (1, _) => format!("{gpu} with one worker"),
            (workers, 0 | 1) => format!("{gpu} with {workers} workers on one host"),
            (workers, hosts) => format!("{gpu} with {workers} workers over {hosts} hosts"),
        }
    }
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
    /// The nodes: a gang that is larger than a host is measured over several.
    pub nodes: &'a [Node],
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
            let hosts = hosts_needed(wanted.nodes, &gpu.gpu_type, workers);
            let point = Point { gpu_type: gpu.gpu_type.clone(), workers, hosts };
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

/// The fewest hosts of a type on which so many workers can stand: the largest first.
fn hosts_needed(nodes: &[Node], gpu_type: &str, workers: u32) -> u32 {
    let up = nodes.iter().filter(|n| n.gpu_type == gpu_type && n.health == NodeHealth::Up);
    let mut sizes: Vec<u32> = up.map(|node| node.jobs.len() as u32).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let mut room = 0;
    let needed = sizes.iter().take_while(|size| {
        let more = room < workers;
        room += **size;
        more
    });
    (needed.count() as u32).max(1)
}

fn is_fresh(profile: &Profile, point: &Point, wanted: &Wanted<'_>) -> bool {
    let young =
        |since: Timestamp| wanted.now_s - since.as_millisecond() as f64 / 1000.0 < wanted.fresh_s;
    if point.workers > 1 {
        let key = (&point.gpu_type, point.workers, point.hosts > 1);
        let mut known = profile.gangs.iter().filter(|g| (&g.gpu_type, g.workers, g.spread) == key);
        return known
            .any(|g| g.source == FigureSource::Measured && g.kept.is_some() && young(g.since));
    }
    profile.marks.get(&point.gpu_type).is_some_and(|mark| {
        mark.provenance == Provenance::Measured && mark.batches.is_some() && young(mark.since)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use oef_api::types::{GangFigure, TypeMark};
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
            scaling: BTreeMap::new(),
            gangs: vec![GangFigure {
                gpu_type: "new".into(),
                workers: 2,
                spread: false,
                throughput: None,
                kept: Some(0.9),
                source: FigureSource::Measured,
                since: Timestamp::from_second(99 * 86_400).expect("a time"),
                detail: None,
            }],
        }
    }

    fn planned(workers: &[u32], again: bool) -> (Vec<String>, Vec<String>) {
        let types: Vec<GpuTypeStatus> = ["new", "old", "failed", "guessed", "none"]
            .map(|name| GpuTypeStatus {
                gpu_type: name.into(),
                capacity: if name == "old" { 1 } else { 4 },
                idle: 0,
                memory_gib: None,
                price: None,
            })
            .into();
        let nodes: Vec<Node> = types
            .iter()
            .flat_map(|gpu| {
                // Hosts of two GPUs on one type, of four on the others.
                let size = if gpu.gpu_type == "none" { 2 } else { 4 }.min(gpu.capacity);
                (0..gpu.capacity / size).map(move |n| Node {
                    name: format!("{}-{n}", gpu.gpu_type),
                    gpu_type: gpu.gpu_type.clone(),
                    health: NodeHealth::Up,
                    reason: None,
                    until: None,
                    windows: Vec::new(),
                    jobs: vec![None; size as usize],
                    gpus: Vec::new(),
                })
            })
            .collect();
        let types = types.iter().collect();
        let wanted = Wanted {
            types,
            nodes: &nodes,
            workers,
            again,
            fresh_s: 30.0 * DAY,
            now_s: 100.0 * DAY,
        };
        let (points, skipped) = plan(&wanted, Some(&profile()));
        let shown = |p: &Point| match p.hosts {
            1 => format!("{}*{}", p.gpu_type, p.workers),
            hosts => format!("{}*{} over {hosts}", p.gpu_type, p.workers),
        };
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
            "none*4 over 2",
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
