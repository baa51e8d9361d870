//! What the cases run on: published data where it is at hand, else generated alike.

use super::cases::Work;
use oef_sim::generate::{
    self, ClusterLike, Load, ProfileSpec, TraceLike, TraceSpec, cluster as make_cluster,
};
use oef_sim::input::{
    self, ClusterSpec, NodeSpec, PrepareOptions, Prepared, ProfileTable, Source, Trace,
    TraceOptions,
};
use oef_terminal::Failure;
use oef_terminal::Source as Text;
use std::path::Path;

/// Models of generated profiles: about as many as the measured tables have.
const MODELS: u32 = 24;
const JOBS: u32 = 100_000;
const TENANTS: u32 = 500;
/// Busy, and not without end.
const LOAD: f64 = 0.9;
/// Before the load is reckoned: a single job of a year would be all that is left to simulate.
const LONGEST_S: f64 = 2.0 * 86_400.0;

/// An instance, and whether it was made up for want of files.
#[derive(Debug)]
pub struct Instance {
    /// Cluster, profiles and trace.
    pub inputs: Prepared,
    /// Where they came from.
    pub origin: &'static str,
}

/// The instance of a case that runs a trace.
pub fn instance(work: Work, data: Option<&Path>, seed: u64) -> Result<Instance, Failure> {
    match work {
        Work::Large => large(data, seed),
        Work::SingleJobs => single_jobs(data, seed),
        Work::ThreeDays | Work::Planning | Work::Gangs => three_days(data, seed),
    }
}

fn three_days(data: Option<&Path>, seed: u64) -> Result<Instance, Failure> {
    let nodes = ["k80", "p100", "v100"].into_iter().flat_map(|gpu_type| {
        (1..=2).map(move |i| {
            let name = format!("{gpu_type}-{i}");
            NodeSpec { host: name.clone(), name, gpu_type: gpu_type.into(), gpus: 4 }
        })
    });
    let cluster = ClusterSpec { nodes: nodes.collect() };
    let (profiles, measured) = profiles(&cluster, data, seed)?;
    let file = data.map(|dir| dir.join("philly_3day_50tenants.csv")).filter(|path| path.is_file());
    let (trace, origin) = match file.filter(|_| measured) {
        Some(path) => (philly(&path)?, "Philly, as published"),
        None => {
            let spec = TraceSpec {
                load: Some(Load { gpus: cluster.gpus(), load: 1.0 }),
                gpus: Some(vec![(1, 93.0), (2, 2.5), (4, 2.5), (8, 2.0)]),
                ..TraceSpec::new(TraceLike::Philly, seed)
            };
            (generate::trace(&spec, &profiles)?, "generated like Philly")
        }
    };
    prepared(cluster, &profiles, trace, (seed, origin))
}

fn single_jobs(data: Option<&Path>, seed: u64) -> Result<Instance, Failure> {
    let cluster = make_cluster(ClusterLike::Gavel);
    let (profiles, measured) = profiles(&cluster, data, seed)?;
    let spec = TraceSpec { jobs: 300, at_once: true, ..TraceSpec::new(TraceLike::Gavel, seed) };
    let trace = generate::trace(&spec, &profiles)?;
    let origin = if measured { "generated, profiles as published" } else { "generated" };
    prepared(cluster, &profiles, trace, (seed, origin))
}

/// Profiles of models that run in gangs, on one host and spread, and where they come from.
pub fn gang_profiles(
    data: Option<&Path>,
    seed: u64,
) -> Result<(ProfileTable, &'static str), Failure> {
    let (profiles, measured) = profiles(&gang_hosts(8), data, seed)?;
    let origin = if measured { "generated, profiles as published" } else { "generated" };
    Ok((profiles, origin))
}

/// Two weeks of gangs, none larger than `largest`, at a load.
pub fn gangs(
    per_host: u32,
    profiles: &ProfileTable,
    (largest, load): (u32, f64),
    seed: u64,
) -> Result<Prepared, Failure> {
    let cluster = gang_hosts(per_host);
    let spec = TraceSpec { jobs: 24_000, days: 14.0, ..TraceSpec::new(TraceLike::Itp, seed) };
    let mut trace = generate::trace(&spec, profiles)?;
    trace.jobs.iter_mut().for_each(|job| job.gpus = job.gpus.min(largest));
    super::gangs::to_load(&mut trace, profiles, &cluster, load)?;
    Ok(prepared(cluster, profiles, trace, (seed, ""))?.inputs)
}

/// 64 GPUs of each of three types.
fn gang_hosts(per_host: u32) -> ClusterSpec {
    let nodes = ["k80", "p100", "v100"].into_iter().flat_map(|gpu_type| {
        (1..=64 / per_host).map(move |i| {
            let name = format!("{gpu_type}-{i}");
            NodeSpec { host: name.clone(), name, gpu_type: gpu_type.into(), gpus: per_host }
        })
    });
    ClusterSpec { nodes: nodes.collect() }
}

fn large(data: Option<&Path>, seed: u64) -> Result<Instance, Failure> {
    let file = data.map(|dir| dir.join("openb_nodes.csv")).filter(|path| path.is_file());
    let (cluster, origin) = match &file {
        Some(path) => {
            let text = Text::read_data(path, "`oef generate cluster` makes an example")?;
            let source = Source::new(&text.label, &text.text);
            (input::read_cluster(source, None, false)?.value, "nodes as published, jobs generated")
        }
        None => (make_cluster(ClusterLike::OpenbSize), "generated"),
    };
    let profiles = made_up(&cluster, seed)?;
    let spec = TraceSpec {
        tenants: Some(TENANTS),
        jobs: JOBS,
        days: 30.0,
        longest_s: Some(LONGEST_S),
        load: Some(Load { gpus: cluster.gpus(), load: LOAD }),
        ..TraceSpec::new(TraceLike::Philly, seed)
    };
    let trace = generate::trace(&spec, &profiles)?;
    prepared(cluster, &profiles, trace, (seed, origin))
}

fn prepared(
    cluster: ClusterSpec,
    profiles: &ProfileTable,
    trace: Trace,
    (seed, origin): (u64, &'static str),
) -> Result<Instance, Failure> {
    let options = PrepareOptions { seed, ..PrepareOptions::default() };
    let inputs = input::prepare(cluster, profiles, trace, "the trace", &options)?;
    Ok(Instance { inputs, origin })
}

fn philly(path: &Path) -> Result<Trace, Failure> {
    let text = Text::read_data(path, "`oef generate trace` makes an example")?;
    let options = TraceOptions {
        duration_column: Some("duration_load1_s".into()),
        ..TraceOptions::default()
    };
    Ok(input::read_trace(Source::new(&text.label, &text.text), None, &options)?.value)
}

/// CaseFigures profiles if they are at hand, and whether they were.
fn profiles(
    cluster: &ClusterSpec,
    data: Option<&Path>,
    seed: u64,
) -> Result<(ProfileTable, bool), Failure> {
    let file = data.map(|dir| dir.join("gavel_physical_speedups.csv"));
    let Some(path) = file.filter(|path| path.is_file()) else {
        return Ok((made_up(cluster, seed)?, false));
    };
    let text = Text::read_data(&path, "`oef generate profiles` makes an example")?;
    let read = input::read_profiles(Source::new(&text.label, &text.text), None, false)?;
    Ok((read.value, true))
}

fn made_up(cluster: &ClusterSpec, seed: u64) -> Result<ProfileTable, Failure> {
    let spec = ProfileSpec {
        types: cluster.types(),
        models: MODELS,
        scale_factors: vec![2, 4, 8],
        empty: 0.05,
        seed,
    };
    Ok(generate::profiles(&spec)?)
}
