//! Workloads and their profiles.

use super::gangs;
use super::guard;
use super::text::timestamp;
use super::visible;
use crate::caller::Caller;
use crate::problem::{Kind, More as _};
use crate::world::{Mark, ProfileEntry, WorkloadEntry, World};
use oef_api::types::PageQuery;
use oef_api::types::{ApiError, Profile, TypeMark, Workload, Workloads};
use oef_sched::{Time, WorkloadKey};
use std::collections::BTreeMap;

/// A workload.
pub fn workload(
    world: &World,
    caller: &Caller,
    tenant: &str,
    name: &str,
) -> Result<Workload, ApiError> {
    let owner = visible::tenant(world, caller, tenant)?;
    let key = owner.workloads.get(name).copied();
    let found = key.and_then(|key| Some((key, world.workloads.get(&key)?)));
    let (key, entry) = found.ok_or_else(|| {
        Kind::UnknownWorkload
            .problem(format!("tenant `{tenant}` has no workload `{name}`"))
            .hint("`oef workloads` lists those there are")
    })?;
    Ok(shown(world, caller, key, entry, live(world).get(&key).copied().unwrap_or(0)))
}

/// Workloads by tenant and name, of one tenant or of all that the caller may see.
pub fn workloads(
    world: &World,
    caller: &Caller,
    tenant: Option<&str>,
    page: &PageQuery,
) -> Result<Workloads, ApiError> {
    let owners: Vec<&str> = match tenant {
        Some(name) => {
            visible::tenant(world, caller, name)?;
            vec![name]
        }
        None => world.tenants.keys().map(String::as_str).filter(|n| caller.may_see(n)).collect(),
    };
    let all = owners.iter().flat_map(|owner| {
        let own = world.tenants.get(*owner).into_iter().flat_map(|t| &t.workloads);
        own.filter_map(move |(name, key)| {
            Some((format!("{owner}/{name}"), (*key, world.workloads.get(key)?)))
        })
    });
    let (entries, next) = visible::named(all, page)?;
    let live = live(world);
    let count = |key| live.get(&key).copied().unwrap_or(0);
    let shown =
        entries.into_iter().map(|(key, entry)| shown(world, caller, key, entry, count(key)));
    Ok(Workloads { workloads: shown.collect(), next })
}

/// How many jobs of each workload have not ended.
fn live(world: &World) -> BTreeMap<WorkloadKey, u32> {
    let mut counts = BTreeMap::new();
    for job in world.sched.jobs() {
        *counts.entry(job.spec().workload).or_default() += 1;
    }
    counts
}

fn shown(
    world: &World,
    caller: &Caller,
    key: WorkloadKey,
    entry: &WorkloadEntry,
    jobs: u32,
) -> Workload {
    let inside = caller.may_see_inside(&entry.tenant);
    let profile = |of: &ProfileEntry| profile(of, inside);
    Workload {
        tenant: entry.tenant.clone(),
        name: entry.name.clone(),
        weight: entry.weight,
        profile: profile(&entry.profile),
        history: entry.history.iter().map(profile).collect(),
        observed: guard::observed(world, key, entry),
        guard: guard::note(world, key),
        jobs,
        gangs: gangs::standings(world, key),
    }
}

fn profile(entry: &ProfileEntry, inside: bool) -> Profile {
    Profile {
        throughput: entry.throughput.clone(),
        provenance: entry.provenance,
        since: timestamp(Time(entry.since_ms)),
        source: entry.source.clone(),
        marks: entry.marks.iter().map(|(gpu, on)| (gpu.clone(), mark(on, inside))).collect(),
        scaling: gangs::scaling(entry),
        gangs: gangs::figures(entry),
    }
}

fn mark(mark: &Mark, inside: bool) -> TypeMark {
    let all = |detail: &str| match inside {
        true => detail.to_string(),
        false => visible::without_output(detail).into(),
    };
    TypeMark {
        provenance: mark.provenance,
        since: timestamp(Time(mark.since_ms)),
        spread: mark.spread,
        batches: mark.batches,
        cost_s: mark.cost_s,
        detail: mark.detail.as_deref().map(all),
    }
}
