//! Figures of gangs that somebody tells with a profile.

use super::tenancy::known_type;
use crate::problem::{Kind, More as _};
use crate::world::{GangEntry, World};
use oef_api::limits::WORKERS_MAX;
use oef_api::types::{ApiError, FigureSource, GangPut, Provenance};
use oef_core::problem::{MAX_LIVE_RATIO, UnusableProfile, check_profile_within};
use oef_sched::{Stands, Time};
use std::collections::BTreeMap;

/// Figures of one profile: some sizes on every type, on one host and over several.
const FIGURES_MAX: usize = 1000;

/// Each GPU of a gang may be told to be faster than a single worker by this much, for noise; it counts as fast.
const KEPT_MAX: f64 = 1.25;

/// The figures as they are kept.
pub(super) fn told(
    world: &World,
    now: Time,
    throughput: Option<&BTreeMap<String, f64>>,
    gangs: &[GangPut],
    provenance: Provenance,
) -> Result<Vec<GangEntry>, ApiError> {
    if gangs.len() > FIGURES_MAX {
        return Err(bad(format!("a profile has {FIGURES_MAX} figures of gangs at most")));
    }
    let mut told: Vec<GangEntry> = Vec::new();
    for gang in gangs {
        known_type(world, &gang.gpu_type, "gangs")?;
        let entry = figure(now, throughput, gang, provenance)?;
        let key = |e: &GangEntry| (e.gpu_type.clone(), e.workers, e.stands);
        if told.iter().any(|known| key(known) == key(&entry)) {
            return Err(bad(format!("{} is told twice", named(gang)))
                .hint("leave one of the two figures out"));
        }
        told.push(entry);
    }
    check_range(throughput, &told)?;
    Ok(told)
}

/// A gang is a row of the shares' problem: its speeds may differ as little as those of single workers may.
fn check_range(
    throughput: Option<&BTreeMap<String, f64>>,
    told: &[GangEntry],
) -> Result<(), ApiError> {
    let Some(throughput) = throughput.filter(|_| !told.is_empty()) else { return Ok(()) };
    let of_gangs = told.iter().filter_map(|g| Some(g.kept? * throughput.get(&g.gpu_type)?));
    let all: Vec<f64> = throughput.values().copied().chain(of_gangs).collect();
    match check_profile_within(&all, MAX_LIVE_RATIO) {
        Err(reason @ UnusableProfile::Range { .. }) => {
            Err(bad(format!("these figures of gangs cannot be used: {reason}"))
                .hint("check the units: they are per GPU, like those of single workers"))
        }
        // What is wrong with the figures of single workers is told of these.
        _ => Ok(()),
    }
}

fn figure(
    now: Time,
    throughput: Option<&BTreeMap<String, f64>>,
    gang: &GangPut,
    provenance: Provenance,
) -> Result<GangEntry, ApiError> {
    let Some(throughput) = throughput else {
        return Err(bad("figures of gangs come with the throughput of single workers")
            .hint("give `throughput`, too: the figures of gangs are in its unit"));
    };
    if !(2..=WORKERS_MAX).contains(&gang.workers) {
        return Err(bad(format!("a gang has 2 to {WORKERS_MAX} workers, not {}", gang.workers)));
    }
    let GangPut { throughput: on, gpu_type, workers, .. } = gang;
    if !(on.is_finite() && *on > 0.0) {
        return Err(bad(format!(
            "the throughput of {} is a number above 0, not {on}",
            named(gang)
        )));
    }
    let single = throughput.get(gpu_type).copied().unwrap_or(0.0);
    if single <= 0.0 {
        return Err(bad(format!(
            "{} has a figure, and a single worker on {gpu_type} has none",
            named(gang)
        ))
        .hint(format!(
            "give a throughput on {gpu_type}: what counts is the part of it that a gang keeps"
        )));
    }
    if on / single > KEPT_MAX {
        let why = format!(
            "{} has {on} per GPU, more than a single worker, which has {single}",
            named(gang)
        );
        return Err(
            bad(why).hint(format!("divide the throughput of the gang by its {workers} workers"))
        );
    }
    Ok(GangEntry {
        gpu_type: gpu_type.clone(),
        workers: *workers,
        stands: if gang.spread { Stands::Spread } else { Stands::Together },
        kept: Some(on / single),
        steps: None,
        source: match provenance {
            Provenance::Measured => FigureSource::Measured,
            Provenance::Declared => FigureSource::Declared,
            Provenance::Estimated => FigureSource::Estimated,
        },
        since_ms: now.0,
        detail: None,
    })
}

fn named(gang: &GangPut) -> String {
    let place = if gang.spread { "over several hosts" } else { "on one host" };
    format!("a gang of {} {place} of {}", gang.workers, gang.gpu_type)
}

fn bad(why: impl Into<String>) -> ApiError {
    Kind::BadRequest.problem(why).field("gangs")
}
