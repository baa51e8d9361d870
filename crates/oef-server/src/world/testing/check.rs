//! What holds in every world.

use crate::world::{Index, World};
use oef_api::types::JobState;
use std::collections::BTreeMap;

/// Panics with what is wrong.
pub fn check(world: &World) {
    jobs_agree(world);
    counts_agree(world);
    assert_eq!(world.index, Index::of(world), "the index follows from the rest");
    let mut numbers = world.events.iter().map(|event| event.id);
    let first = numbers.next().unwrap_or(world.next_event);
    assert!(numbers.eq(first + 1..world.next_event), "events are numbered without gaps");
    assert!(world.events.len() <= world.settings.events_max);
    assert!(world.ended.len() <= world.settings.ended_jobs_max);
}

/// Every job is in one state, for a reason, and the scheduler sees it the same way.
fn jobs_agree(world: &World) {
    for (&id, job) in &world.jobs {
        let sched = world.sched.job(id).map(|job| job.state());
        let agrees = match (job.state, sched) {
            (JobState::Queued, Some(state)) => matches!(
                state,
                oef_sched::JobState::Queued
                    | oef_sched::JobState::Held
                    | oef_sched::JobState::Starting
            ),
            (JobState::Starting | JobState::Running, Some(state)) => {
                state == oef_sched::JobState::Running
            }
            (JobState::Stopping, Some(state)) => state == oef_sched::JobState::Stopping,
            (state, None) => state.is_final(),
            _ => false,
        };
        assert!(agrees, "job {id} is {:?} and {sched:?} in the scheduler", job.state);
        let last = job.history.last().expect("a first state");
        assert_eq!((last.state, &last.reason), (job.state, &job.reason));
        assert!(job.history.iter().all(|change| !change.reason.to_string().is_empty()), "job {id}");
        let placed =
            matches!(job.state, JobState::Starting | JobState::Running | JobState::Stopping);
        assert_eq!(job.run().is_some(), placed, "job {id} has a run while it has GPUs");
        if let (Some(run), Some(job)) = (job.run(), world.sched.job(id)) {
            assert_eq!(Some(run.generation), job.lease().map(|lease| lease.generation));
        }
        if job.retry_at.is_some() {
            assert_eq!(job.state, JobState::Queued);
            assert!(world.sched.job(id).is_some_and(|job| job.is_backing_off()));
        }
        assert_eq!(job.ended.is_some(), job.state.is_final());
    }
    for job in world.sched.jobs() {
        assert!(world.jobs.contains_key(&job.spec().id), "the scheduler has no job of its own");
    }
    let ended = world.jobs.iter().filter(|(_, job)| job.state.is_final()).count();
    assert_eq!(ended, world.ended.len());
}

/// What is counted is what there is.
fn counts_agree(world: &World) {
    let mut live: BTreeMap<&str, u32> = BTreeMap::new();
    let mut rates: BTreeMap<&str, f64> = BTreeMap::new();
    for job in world.jobs.values().filter(|job| !job.state.is_final()) {
        *live.entry(job.tenant()).or_default() += 1;
        *rates.entry(job.tenant()).or_default() += job.run().map_or(0.0, |run| run.rate);
    }
    for (name, tenant) in &world.tenants {
        assert_eq!(tenant.live, live.get(name.as_str()).copied().unwrap_or(0), "{name}");
        let rate = rates.get(name.as_str()).copied().unwrap_or(0.0);
        let counted = tenant.account.delivered_rate;
        assert!((counted - rate).abs() < 1e-6, "{name} gets {rate}, and {counted} is counted");
        for (workload, key) in &tenant.workloads {
            assert_eq!(&world.workloads[key].name, workload);
        }
    }
}
