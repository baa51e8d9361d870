//! What was not given: the demonstration's, or something that fits what was.

use oef_sim::generate::{self, Load, ProfileSpec, TraceLike, TraceSpec, demo, measured_profiles};
use oef_sim::input::{ClusterSpec, NodeSpec, ProfileTable, Trace, match_types};
use oef_terminal::Failure;

/// GPUs of each type, and on each node, of a cluster that nobody described: those of the paper's.
const GPUS_PER_TYPE: u32 = 8;
const GPUS_PER_NODE: u32 = 4;
/// Models of profiles that nobody measured.
const MODELS: u32 = 8;
/// Jobs per GPU of a trace that nobody recorded, and how many at most.
const JOBS_PER_GPU: u64 = 5;
const JOBS_MAX: u64 = 20_000;
const TENANTS: (u64, u64) = (8, 50);
/// Somewhat more work than there is room for: only contention shows what a mechanism does.
const LOAD: f64 = 1.1;
const LONGEST_S: f64 = 4.0 * 3600.0;

/// A cluster for these profiles.
pub fn cluster(profiles: Option<&ProfileTable>, notes: &mut Vec<String>) -> ClusterSpec {
    let Some(profiles) = profiles else {
        notes.push("no cluster is given: it is the demonstration's, 8 each of three types".into());
        return demo().cluster;
    };
    let types = profiles.types.join(", ");
    notes.push(format!(
        "no cluster is given: it has {GPUS_PER_TYPE} GPUs each of {types}, {GPUS_PER_NODE} to a host"
    ));
    let node = |gpu_type: &String, i: u32| {
        let name = format!("{gpu_type}-{i}");
        NodeSpec { host: name.clone(), name, gpu_type: gpu_type.clone(), gpus: GPUS_PER_NODE }
    };
    let nodes = 1..=GPUS_PER_TYPE / GPUS_PER_NODE;
    let all = profiles.types.iter().flat_map(|t| nodes.clone().map(move |i| node(t, i)));
    ClusterSpec { nodes: all.collect() }
}

/// Profiles for this cluster: known ones where they have all its types.
pub fn profiles(
    cluster: &ClusterSpec,
    seed: u64,
    notes: &mut Vec<String>,
) -> Result<ProfileTable, Failure> {
    let fits = |table: &ProfileTable| {
        match_types(cluster, table).is_ok_and(|matched| matched.unmeasured.is_empty())
    };
    let known =
        [("the demonstration's", demo().profiles), ("our measured ones", measured_profiles())];
    if let Some((name, table)) = known.into_iter().find(|(_, table)| fits(table)) {
        notes.push(format!("no profiles are given: they are {name}"));
        return Ok(table);
    }
    let spec = ProfileSpec {
        types: cluster.types(),
        models: MODELS,
        scale_factors: Vec::new(),
        empty: 0.0,
        seed,
    };
    let order = spec.types.join(" < ");
    notes.push(format!(
        "no profiles are given: they are made up from the seed, with {order}; --profiles gives real ones"
    ));
    Ok(generate::profiles(&spec)?)
}

/// A trace that keeps this cluster busy for half a day.
pub fn trace(
    cluster: &ClusterSpec,
    profiles: &ProfileTable,
    seed: u64,
    notes: &mut Vec<String>,
) -> Result<Trace, Failure> {
    let gpus = cluster.gpus();
    // Both are clamped to what fits.
    let jobs = (JOBS_PER_GPU * gpus).clamp(120, JOBS_MAX) as u32;
    let tenants = (gpus / 3).clamp(TENANTS.0, TENANTS.1) as u32;
    let sizes = [(1, 70.0), (2, 18.0), (4, 12.0)];
    let fitting = sizes.iter().copied().filter(|(size, _)| u64::from(*size) <= gpus.max(1));
    let spec = TraceSpec {
        tenants: Some(tenants),
        jobs,
        days: 0.5,
        gpus: Some(fitting.collect()),
        load: Some(Load { gpus: gpus.max(1), load: LOAD }),
        longest_s: Some(LONGEST_S),
        ..TraceSpec::new(TraceLike::Philly, seed)
    };
    notes.push(format!(
        "no trace is given: {jobs} jobs of {tenants} tenants over half a day are made up from the seed"
    ));
    Ok(generate::trace(&spec, profiles)?)
}
