//! What holds in every world.

use crate::invariants::of_all;
use crate::world::{Index, World};
use oef_api::types::JobState;

/// Panics with what is wrong. How large deficits may be follows from what has been before.
pub fn check(world: &World) {
    check_after(world, &mut vec![f64::INFINITY; world.sched.cluster().types().len()]);
}

/// The same after a life in which the bounds of deficits were no larger than these: limits become smaller when gangs end
/// and when rounds become longer, and what is owed stays.
pub fn check_after(world: &World, largest: &mut Vec<f64>) {
    jobs_agree(world);
    assert_eq!(of_all(world, largest), Ok(()));
    names_agree(world);
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
    let ended = world.jobs.iter().filter(|(_, job)| job.state.is_final()).count();
    assert_eq!(ended, world.ended.len());
}

/// Names lead to what has them.
fn names_agree(world: &World) {
    for tenant in world.tenants.values() {
        for (workload, key) in &tenant.workloads {
            assert_eq!(&world.workloads[key].name, workload);
        }
    }
}
