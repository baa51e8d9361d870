//! What the jobs of a workload showed against its profile, as callers see it.

use crate::world::{WorkloadEntry, World};
use oef_api::types::{GuardNote, Mismatch, Provenance};
use oef_report::format::counted;
use oef_sched::WorkloadKey;
use oef_sched::guard::Policy;
use std::collections::BTreeMap;

/// Steps per second and worker that were seen, by gpu type; until enough was seen, what jobs told.
pub(super) fn observed(
    world: &World,
    key: WorkloadKey,
    entry: &WorkloadEntry,
) -> BTreeMap<String, f64> {
    let types = world.sched.cluster().types();
    let seen = world.guard.observed(key).into_iter();
    let seen = seen.filter_map(|(gpu, rate)| Some((types.get(gpu)?.clone(), rate)));
    let mut all = entry.observed.clone();
    all.extend(seen);
    all
}

/// What is worth a word; `None`: nothing was seen, or nobody looks.
pub(super) fn note(world: &World, key: WorkloadKey) -> Option<GuardNote> {
    if world.settings.guard == Policy::Off || world.guard.observed(key).is_empty() {
        return None;
    }
    let types = world.sched.cluster().types();
    let name = |gpu: usize| types.get(gpu).cloned().unwrap_or_default();
    let mismatch = world.guard.found(key).map(|v| Mismatch {
        fast: name(v.fast),
        slow: name(v.slow),
        declared: v.said,
        seen: v.seen,
        tolerance: v.tolerance,
        windows: v.windows,
        runs: v.runs,
    });
    Some(GuardNote {
        sentences: sentences(world, key),
        mismatch,
        replaced: world.guard.is_written(key),
        host_bound: world.guard.is_host_bound(key),
        compared: world.guard.can_compare(key),
    })
}

/// The same in sentences, as far as somebody should know.
pub(super) fn sentences(world: &World, key: WorkloadKey) -> Vec<String> {
    let mut sentences = Vec::new();
    let Some(entry) = world.workloads.get(&key) else { return sentences };
    if world.settings.guard == Policy::Off {
        return sentences;
    }
    let name = format!("{}/{}", entry.tenant, entry.name);
    let replaced = world.guard.is_written(key);
    if let Some(verdict) = world.guard.found(key) {
        let who = if replaced { "said" } else { "says" };
        let counts = if replaced { "; what was seen counts" } else { "" };
        sentences.push(format!("{}{counts}", world.sentence(&name, who, verdict)));
    }
    if replaced && world.guard.found(key).is_none() {
        sentences.push(format!("the profile of {name} is what its jobs showed"));
    }
    if world.guard.is_host_bound(key) {
        sentences.push(format!("jobs of {name} wait for their data most of the time"));
    }
    if world.guard.crowded(key) > 0 {
        sentences.push(format!(
            "{} of {name} did not count, because other jobs became slow at the same time",
            counted(world.guard.crowded(key) as usize, "window")
        ));
    }
    let is_declared = entry.profile.provenance == Provenance::Declared;
    let is_seen = !world.guard.observed(key).is_empty();
    if is_declared && is_seen && !world.guard.can_compare(key) {
        sentences.push(format!(
            "the profile of {name} could not be compared yet: no job of it, or two alike, ran on two gpu types"
        ));
    }
    sentences
}
