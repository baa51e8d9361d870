//! Who ran where: the runs of a stretch of time, or what is new about them.

use crate::caller::Caller;
use crate::world::{JobEntry, RunEntry, World};
use oef_api::types::{JobState, Span, Timeline, TimelineNode, TimelineQuery};
use oef_sched::{Health, JobId};
use std::collections::{BTreeMap, HashMap};

/// By default the last hour.
const HOUR_MS: u64 = 3_600_000;
/// Runs in one answer: an hour of five-minute rounds on some thousand GPUs. Beyond, the oldest are left out.
const SPANS_MAX: usize = 40_000;

/// The runs that a question asks for.
pub fn timeline(world: &World, caller: &Caller, asked: &TimelineQuery, now_ms: u64) -> Timeline {
    let to = asked.to_ms.unwrap_or(now_ms);
    let from = asked.from_ms.unwrap_or(to.saturating_sub(HOUR_MS));
    let places = places(world);
    let mut found =
        SpanCollector { caller, places: &places, tenants: BTreeMap::new(), spans: Vec::new() };
    let is_asked = |run: &RunEntry| {
        let ended = run.ended.map(|at| at.0);
        let overlaps = run.began.0 <= to && ended.is_none_or(|at| at >= from);
        let is_new = asked
            .changed_after_ms
            .is_none_or(|after| run.began.0 > after || ended.is_some_and(|at| at > after));
        overlaps && is_new
    };
    for (id, job) in jobs(world, caller, asked, from) {
        for run in job.runs.iter().rev() {
            // Runs follow one another: before one that ended too early there is none.
            if run.ended.is_some_and(|at| at.0 < from) {
                break;
            }
            if is_asked(run) {
                found.add(id, job, run);
            }
        }
    }
    let SpanCollector { tenants, mut spans, .. } = found;
    spans.sort_by_key(|span| (span.from, span.job, span.run));
    let left_out = spans.len().saturating_sub(SPANS_MAX);
    spans.drain(..left_out);
    let mut names = vec![String::new(); tenants.len()];
    for (name, at) in tenants {
        names[at as usize] = name.to_string();
    }
    Timeline {
        from_ms: from,
        to_ms: to,
        nodes: if asked.changed_after_ms.is_some() { Vec::new() } else { nodes(world) },
        tenants: names,
        spans,
        left_out: u32::try_from(left_out).unwrap_or(u32::MAX),
    }
}

/// The jobs that may have such runs: live ones, and those that ended late enough.
fn jobs<'a>(
    world: &'a World,
    caller: &Caller,
    asked: &TimelineQuery,
    from: u64,
) -> Box<dyn Iterator<Item = (JobId, &'a JobEntry)> + 'a> {
    let entry = |id: JobId| world.jobs.get(&id).map(|job| (id, &**job));
    if let Some(job) = asked.job {
        // The job of another is not there, for all that a caller can tell.
        let own = entry(JobId(job)).filter(|(_, job)| caller.may_see(job.tenant()));
        return Box::new(own.into_iter());
    }
    let from = asked.changed_after_ms.map_or(from, |after| after.max(from));
    let live = world.index.newest(None, &JobState::LIVE, None).filter_map(entry);
    let ended = world.ended.iter().rev().filter_map(move |&id| entry(id));
    // Jobs end in order, so that the rest need not be looked at.
    let ended = ended.take_while(move |(_, job)| job.ended.is_none_or(|at| at.0 >= from));
    Box::new(live.chain(ended))
}

/// The number of the first GPU of each node.
fn places(world: &World) -> HashMap<&str, u32> {
    let mut first = 0;
    let mut places = HashMap::new();
    for node in world.sched.cluster().nodes() {
        places.insert(node.name(), first);
        first += node.gpus() as u32;
    }
    places
}

fn nodes(world: &World) -> Vec<TimelineNode> {
    let cluster = world.sched.cluster();
    let shown = cluster.nodes().iter().map(|node| TimelineNode {
        name: node.name().into(),
        gpu_type: cluster.types().get(node.gpu_type().0).cloned().unwrap_or_default(),
        gpus: node.gpus() as u32,
        up: node.health() == Health::Up,
    });
    shown.collect()
}

struct SpanCollector<'a> {
    caller: &'a Caller,
    places: &'a HashMap<&'a str, u32>,
    tenants: BTreeMap<&'a str, u32>,
    spans: Vec<Span>,
}

impl<'a> SpanCollector<'a> {
    fn add(&mut self, id: JobId, job: &'a JobEntry, run: &RunEntry) {
        let visible = self.caller.may_see(job.tenant());
        let tenant = visible.then(|| {
            let next = self.tenants.len() as u32;
            *self.tenants.entry(job.tenant()).or_insert(next)
        });
        // A node that is gone has no row any more.
        let gpus = run.gpus.iter();
        let mut at: Vec<u32> =
            gpus.filter_map(|gpu| Some(self.places.get(gpu.node.as_str())? + gpu.index)).collect();
        at.sort_unstable();
        self.spans.push(Span {
            job: if visible { id.0 } else { 0 },
            run: if visible { run.generation.0 } else { 0 },
            tenant,
            from: run.began.0,
            to: run.ended.map(|at| at.0),
            gpus: rows(&at),
        });
    }
}

/// Sorted numbers as pairs: the first of each row, and how many follow one another.
fn rows(sorted: &[u32]) -> Vec<u32> {
    let mut pairs: Vec<u32> = Vec::new();
    for &gpu in sorted {
        match pairs.as_mut_slice() {
            [.., first, count] if *first + *count == gpu => *count += 1,
            _ => pairs.extend([gpu, 1]),
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_row() {
        assert_eq!(rows(&[]), [0; 0]);
        assert_eq!(rows(&[3, 4, 5, 9, 11, 12]), [3, 3, 9, 1, 11, 2]);
    }
}
