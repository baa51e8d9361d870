//! What is known of the gangs of a workload, and how fast they count.

use super::text::timestamp;
use crate::world::{ProfileEntry, World};
use oef_api::types::{FigureSource, GangFigure, GangStanding};
use oef_report::format::figure;
use oef_sched::{GangRule, Stands, Time, WorkloadKey};
use std::collections::BTreeMap;

/// Every figure of a profile.
pub(super) fn figures(entry: &ProfileEntry) -> Vec<GangFigure> {
    let single = |gpu: &str| entry.throughput.get(gpu).copied().unwrap_or(0.0);
    let shown = |gang: crate::world::GangEntry| GangFigure {
        throughput: gang.kept.map(|kept| kept * single(&gang.gpu_type)),
        gpu_type: gang.gpu_type,
        workers: gang.workers,
        spread: gang.stands == Stands::Spread,
        kept: gang.kept,
        source: gang.source,
        since: timestamp(Time(gang.since_ms)),
        detail: gang.detail,
    };
    entry.gangs().into_iter().map(shown).collect()
}

/// The parts that gangs on one host keep, by type and size.
pub(super) fn scaling(entry: &ProfileEntry) -> BTreeMap<String, BTreeMap<u32, f64>> {
    let mut scaling: BTreeMap<String, BTreeMap<u32, f64>> = BTreeMap::new();
    for gang in entry.gangs().into_iter().filter(|gang| gang.stands == Stands::Together) {
        if let Some(kept) = gang.kept {
            scaling.entry(gang.gpu_type).or_default().insert(gang.workers, kept);
        }
    }
    scaling
}

/// The sizes of the gangs of a workload that have not ended.
pub(super) fn live_sizes(world: &World, key: WorkloadKey) -> Vec<u32> {
    let Some(workload) = world.sched.workloads().get(key.0) else { return Vec::new() };
    let rows = workload.gangs().iter().filter_map(|row| world.sched.workloads().get(row.0));
    let live = rows.filter(|row| row.wanted() > 0);
    let mut sizes: Vec<u32> = live.filter_map(|row| row.gang_workers()).collect();
    sizes.sort_unstable();
    sizes
}

/// How fast the gangs of a workload count, for all sizes of which it had jobs.
pub(super) fn standings(world: &World, key: WorkloadKey) -> Vec<GangStanding> {
    let Some(workload) = world.sched.workloads().get(key.0) else { return Vec::new() };
    let rows = workload.gangs().iter().filter_map(|row| world.sched.workloads().get(row.0));
    let mut sizes: Vec<u32> = rows.filter_map(|row| row.gang_workers()).collect();
    sizes.sort_unstable();
    sizes.into_iter().flat_map(|workers| standing(world, key, workers)).collect()
}

/// How fast gangs of one size count, on each type where they run; empty where gangs count as single workers.
pub(super) fn standing(world: &World, key: WorkloadKey, workers: u32) -> Vec<GangStanding> {
    let rows = world.sched.settings().gangs == GangRule::Rows && workers > 1;
    let known = world.sched.workloads().get(key.0).zip(world.workloads.get(&key));
    let Some((workload, entry)) = known.filter(|_| rows) else { return Vec::new() };
    let (profile, told) = (&workload.profile, entry.profile.gangs());
    let cluster = world.sched.cluster();
    let types = cluster.types().iter().enumerate();
    let on_type = |(gpu, name): (usize, &String)| {
        let hosts = cluster.hosts_needed(gpu, workers);
        let throughput = profile.of_gang(gpu, workers, hosts);
        let basis = profile.gang_basis(gpu, workers, hosts);
        let of = |size: u32| {
            told.iter().find(|gang| {
                (&gang.gpu_type, gang.workers, gang.stands) == (name, size, Stands::on(hosts))
            })
        };
        let source =
            basis.and_then(|(size, _)| of(size)).map_or(FigureSource::Estimated, |g| g.source);
        let fits = cluster.capacity()[gpu] >= workers;
        (throughput > 0.0 && fits).then(|| GangStanding {
            workers,
            gpu_type: name.clone(),
            hosts,
            throughput,
            kept: throughput / profile.on(gpu),
            source,
            from: basis.map(|(size, _)| size).filter(|size| *size != workers),
        })
    };
    types.filter_map(on_type).collect()
}

/// The same in a sentence.
pub(super) fn sentence(world: &World, key: WorkloadKey, workers: u32) -> Option<String> {
    let standing = standing(world, key, workers);
    let on_type = |on: &GangStanding| {
        let place = match on.hosts {
            1 => "on one host".into(),
            hosts => format!("over {hosts} hosts"),
        };
        let source = match (on.source, on.from) {
            (source, None) => source.name().into(),
            (source, Some(from)) => format!("from gangs of {from}, {}", source.name()),
        };
        format!("{} {place} {} ({source})", on.gpu_type, figure(on.throughput))
    };
    let words: Vec<String> = standing.iter().map(on_type).collect();
    (!words.is_empty())
        .then(|| format!("throughput per GPU as a gang of {workers}: {}", words.join(", ")))
}
