//! The machines with who is on them, and the settings.

use crate::caller::Caller;
use crate::engine::{GpuNow, Latest};
use crate::world::{World, timestamp};
use oef_api::memory;
use oef_api::types::{
    ApiError, Cluster, GpuTypeStatus, JobState, Node, NodeGpu, NodeHealth, NodeWindow, Settings,
};
use oef_sched::Health;
use std::collections::BTreeMap;

/// What stands for a job that the caller may not see: no job has this number.
const SOMEBODY: u64 = 0;

/// The machines, who is on them, and what their GPUs do.
pub(crate) fn cluster(
    world: &World,
    caller: &Caller,
    latest: &Latest,
) -> Result<Cluster, ApiError> {
    let cluster = world.sched.cluster();
    let types = types(world);
    let holders = holders(world, caller);
    let drain = |node: &oef_sched::Node| world.drains.get(node.name());
    let read: BTreeMap<(&str, u32), &GpuNow> =
        latest.gpus().map(|((node, index), gpu)| ((node.as_str(), *index), gpu)).collect();
    // What another tenant's job does is not for the caller to know.
    let shown = |place: &(&str, u32)| match holders.get(place) {
        Some(&SOMEBODY) => NodeGpu::default(),
        _ => read.get(place).map(|gpu| figures(gpu)).unwrap_or_default(),
    };
    let nodes = cluster.nodes().iter().map(|node| Node {
        name: node.name().into(),
        gpu_type: cluster.types().get(node.gpu_type().0).cloned().unwrap_or_default(),
        health: health(world, node),
        reason: reason(world, node.name()),
        until: drain(node).and_then(|drain| drain.until).map(timestamp),
        windows: windows(world, node.name()),
        jobs: (0..node.gpus() as u32).map(|at| holders.get(&(node.name(), at)).copied()).collect(),
        gpus: (0..node.gpus() as u32).map(|at| shown(&(node.name(), at))).collect(),
    });
    Ok(Cluster { types, nodes: nodes.collect(), reference: world.reference() })
}

fn figures(gpu: &GpuNow) -> NodeGpu {
    NodeGpu {
        utilisation: gpu.utilisation,
        memory_used: gpu.memory_used,
        memory_total: gpu.memory_total,
        idle_s: gpu.idle_for.map(|idle| idle.as_secs_f64()),
    }
}

/// Why a node cannot be used, as an operator or the cluster told it.
pub(super) fn reason(world: &World, node: &str) -> Option<String> {
    let drain = world.drains.get(node).and_then(|drain| drain.reason.clone());
    let told = drain.or_else(|| world.node_reasons.get(node).cloned());
    told.or_else(|| world.drained.contains(node).then(|| "taken out by an operator".into()))
}

/// A node that closes is down when the last job has left it.
fn health(world: &World, node: &oef_sched::Node) -> NodeHealth {
    let is_empty = || world.sched.cluster().is_unused(node);
    match node.health() {
        Health::Up => NodeHealth::Up,
        Health::Closing if !is_empty() => NodeHealth::Draining,
        Health::Closing | Health::Down => NodeHealth::Down,
    }
}

fn windows(world: &World, node: &str) -> Vec<NodeWindow> {
    let own = world.windows.iter().filter(|(_, window)| window.node == node);
    let mut windows: Vec<NodeWindow> = own
        .map(|(&id, window)| NodeWindow {
            id,
            from: timestamp(window.from),
            closes: timestamp(window.closes()),
            until: window.drain.until.map(timestamp),
            reason: window.drain.reason.clone(),
            by: window.drain.by.clone(),
        })
        .collect();
    windows.sort_by_key(|window| window.from);
    windows
}

/// How each gpu type is used.
pub(crate) fn types(world: &World) -> Vec<GpuTypeStatus> {
    let cluster = world.sched.cluster();
    let answer = world.sched.entitlement().answer();
    let price = |name: &str| {
        let (problem, outcome) = answer?;
        outcome.prices.get(problem.type_named(name)?.0).copied()
    };
    let figures = cluster.types().iter().zip(cluster.capacity()).zip(cluster.idle());
    let types = figures.map(|((name, &capacity), &idle)| GpuTypeStatus {
        gpu_type: name.clone(),
        capacity,
        idle,
        memory_gib: world.sched.settings().memory_of(name).map(|mib| f64::from(mib) / 1024.0),
        price: price(name).filter(|_| capacity > 0),
    });
    types.collect()
}

/// The job on each GPU, by node and index.
fn holders<'a>(world: &'a World, caller: &Caller) -> BTreeMap<(&'a str, u32), u64> {
    let mut holders = BTreeMap::new();
    for id in world.index.newest(None, &JobState::PLACED, None) {
        let Some(job) = world.jobs.get(&id) else { continue };
        let shown = if caller.may_see(job.tenant()) { id.0 } else { SOMEBODY };
        let gpus = job.run().map_or(&[][..], |run| &run.gpus);
        holders.extend(gpus.iter().map(|gpu| ((gpu.node.as_str(), gpu.index), shown)));
    }
    holders
}

/// The settings that an operator may change.
pub fn settings(world: &World, _caller: &Caller) -> Result<Settings, ApiError> {
    let sched = world.sched.settings();
    Ok(Settings {
        mechanism: sched.mechanism.name().into(),
        round_s: sched.round.seconds(),
        reference: sched.reference.clone(),
        min_run_s: sched.min_run.seconds(),
        grace_s: world.settings.grace_ms as f64 / 1000.0,
        stickiness: sched.stickiness,
        gpu_memory: memory::as_text(&sched.gpu_memory),
        guard: world.settings.guard.name().into(),
        usage_half_life_s: sched.usage_half_life.map(|half_life| half_life.seconds()),
        usage_bound: sched.usage_bound,
    })
}
