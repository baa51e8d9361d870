//! Gangs: what is promised to them and what they get, before and after, on hosts of 8 GPUs.
//!
//! *Before* is how every worker counts as if it were alone, gangs take what is free, and turns do not depend on restarts.

use super::args::BenchSimArgs;
use super::instances;
use super::measure::{CaseFigures, Part, timed};
use crate::bench::memory;
use oef_core::Mechanism;
use oef_sched::{GangRule, PlacementRule, Settings};
use oef_sim::engine::{Inputs, RunResult, Scenario};
use oef_sim::input::{ClusterSpec, Prepared, scale_to_load};
use oef_terminal::Failure;

/// Loads, in GPU time of the fastest type.
const LOADS: [f64; 2] = [0.8, 1.2];
/// What must be delivered of what was promised, to all together and to each.
const DELIVERED: (f64, f64) = (0.9, 0.85);
/// What the least favoured tenant must get of its equal split.
const INCENTIVE: f64 = 0.9;
/// Gangs that fit on a host: throughput and mean completion time against one large host for each type.
const HOSTS: (f64, f64) = (0.95, 1.3);
/// Restarts of a GPU-day, against before.
const RESTARTS: f64 = 0.5;

/// Runs every load before and after, and with gangs that all fit on a host.
pub fn measure(args: &BenchSimArgs) -> Result<CaseFigures, Failure> {
    let (profiles, origin) = instances::gang_profiles(args.data.as_deref(), args.seed)?;
    let mut parts = Vec::new();
    let (mut wall, mut rounds) = (0.0, 0);
    for load in LOADS {
        let all = instances::gangs(8, &profiles, (u32::MAX, load), args.seed)?;
        let mut restarts_before = None;
        for (name, settings) in ways() {
            let (run, elapsed) = one(&all, &settings, args.seed)?;
            let before = *restarts_before.get_or_insert(run.restarts_per_gpu_day);
            let judged = (name != "before").then(|| holds(&run, before));
            wall += elapsed.wall;
            rounds += run.rounds;
            let (seconds, note) = (elapsed.cpu, describe(&run, load, before));
            parts.push(Part { name, seconds, rounds: run.rounds, note, holds: judged });
        }
        let part = against_large_hosts(&profiles, load, args.seed)?;
        wall += part.seconds;
        rounds += part.rounds;
        parts.push(part);
    }
    let seconds = parts.iter().map(|part| part.seconds).sum();
    Ok(CaseFigures { seconds, wall, rounds, peak: memory::peak(), origin, parts })
}

/// Before, and after under two mechanisms.
fn ways() -> [(&'static str, Settings); 3] {
    let of = |mechanism| Settings { mechanism, ..Settings::default() };
    let before = Settings {
        gangs: GangRule::Blind,
        placement: PlacementRule::Packed,
        restart_part: 0.0,
        ..of(Mechanism::Nash)
    };
    [("before", before), ("nash", of(Mechanism::Nash)), ("cooperative", of(Mechanism::Cooperative))]
}

fn one(
    inputs: &Prepared,
    settings: &Settings,
    seed: u64,
) -> Result<(RunResult, super::stopwatch::Elapsed), Failure> {
    let Prepared { cluster, profiles, trace, .. } = inputs;
    timed(&Inputs { cluster, profiles, trace }, &Scenario::new(settings.clone(), seed))
}

/// Gangs that all fit on a host of 8, there and on one large host for each type.
fn against_large_hosts(
    profiles: &oef_sim::input::ProfileTable,
    load: f64,
    seed: u64,
) -> Result<Part, Failure> {
    let settings = Settings { mechanism: Mechanism::Nash, ..Settings::default() };
    let run = |per_host: u32| -> Result<_, Failure> {
        let inputs = instances::gangs(per_host, profiles, (8, load), seed)?;
        one(&inputs, &settings, seed)
    };
    let ((small, first), (large, second)) = (run(8)?, run(64)?);
    let (throughput, time) = (small.actual / large.actual, small.jct.mean / large.jct.mean);
    let note = format!(
        "load {load}: gangs of 8 and less on hosts of 8, against one host for each type: throughput {throughput:.2}, \
         completion time {time:.2}x"
    );
    Ok(Part {
        name: "hosts",
        seconds: first.cpu + second.cpu,
        rounds: small.rounds + large.rounds,
        note,
        holds: Some(throughput >= HOSTS.0 && time <= HOSTS.1),
    })
}

fn holds(run: &RunResult, restarts_before: f64) -> bool {
    run.actual >= DELIVERED.0 * run.estimated
        && run.worst_delivered >= DELIVERED.1
        && run.worst_sharing_incentive >= INCENTIVE
        && run.restarts_per_gpu_day <= RESTARTS * restarts_before
}

fn describe(run: &RunResult, load: f64, restarts_before: f64) -> String {
    format!(
        "load {load}: promised {:.0}, possible {:.0}, delivered {:.0} ({:.2}; each {:.2}), over the equal split {:.2}, \
         spread {:.0} %, restarts {:.1} a GPU-day ({:.2}x), completion time {:.1} h",
        run.estimated,
        run.possible,
        run.actual,
        run.actual / run.estimated,
        run.worst_delivered,
        run.worst_sharing_incentive,
        100.0 * run.standing.spread_part(),
        run.restarts_per_gpu_day,
        run.restarts_per_gpu_day / restarts_before,
        run.jct.mean / 3600.0
    )
}

/// Scales a prepared trace to a load of its cluster.
pub(super) fn to_load(
    trace: &mut oef_sim::input::Trace,
    profiles: &oef_sim::input::ProfileTable,
    cluster: &ClusterSpec,
    load: f64,
) -> Result<(), Failure> {
    scale_to_load(trace, profiles, cluster.gpus(), None, load)?;
    Ok(())
}
