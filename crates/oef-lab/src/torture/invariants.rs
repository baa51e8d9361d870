//! What must hold from one step to the next, looked at by code that shares nothing with what keeps it. What can be seen
//! in one world alone is in [`oef_server::invariants`], for production too.

use oef_api::types::JobState;
use oef_core::Mechanism;
use oef_sched::{JobId, Time};
use oef_server::invariants::{Checked, Invariant, broken, of_all};
use oef_server::replay::Replay;
use oef_server::store::{Snapshot, StoredRecord};
use oef_server::view::RoundDocument;
use oef_server::world::World;
use std::collections::{BTreeMap, BTreeSet};

/// What is remembered from one look to the next.
#[derive(Default)]
pub(super) struct Watch {
    acknowledged: BTreeMap<JobId, String>,
    removed: BTreeSet<JobId>,
    /// Jobs of a tenant below this number were removed with it.
    removed_below: BTreeMap<String, JobId>,
    ends: BTreeMap<JobId, JobState>,
    generations: BTreeMap<JobId, u64>,
    now: Time,
    deficits_max: Vec<f64>,
}

impl Watch {
    /// Somebody was told that this job is taken.
    pub fn acknowledge(&mut self, job: JobId, tenant: &str) {
        self.acknowledged.insert(job, tenant.into());
        // The answer may be to a submission that came again, after its tenant was removed with its jobs.
        if self.removed_below.get(tenant).is_some_and(|next| job < *next) {
            self.removed.insert(job);
        }
    }

    /// A tenant is removed with its jobs: those below the next number.
    pub fn remove(&mut self, tenant: &str, next: JobId) {
        let own = self.acknowledged.iter().filter(|(_, of)| *of == tenant).map(|(job, _)| *job);
        self.removed.extend(own);
        self.removed_below.insert(tenant.into(), next);
    }

    pub fn look(&mut self, world: &World) -> Checked {
        self.jobs(world)?;
        of_all(world, &mut self.deficits_max)?;
        let now = world.sched.now();
        if now < self.now {
            return broken(Invariant::TimeRises, format!("{} came after {}", now.0, self.now.0));
        }
        self.now = now;
        Ok(())
    }

    fn jobs(&mut self, world: &World) -> Checked {
        for job in self.acknowledged.keys().filter(|job| !self.removed.contains(job)) {
            if !world.jobs.contains_key(job) {
                return broken(
                    Invariant::NoJobLost,
                    format!("job {job} was taken and is not there"),
                );
            }
        }
        for (&id, job) in &world.jobs {
            if let Some(end) = self.ends.get(&id)
                && *end != job.state
            {
                let what = format!("job {id} was {} and is {}", end.name(), job.state.name());
                return broken(Invariant::EndsAreFinal, what);
            }
            if job.state.is_final() {
                self.ends.insert(id, job.state);
            }
            let generation = job.runs.last().map_or(0, |run| run.generation.0);
            let known = self.generations.entry(id).or_default();
            if generation < *known {
                let what = format!("job {id} has lease {generation} after lease {known}");
                return broken(Invariant::GenerationsRise, what);
            }
            *known = generation;
        }
        Ok(())
    }
}

/// The world that these records give.
pub(super) fn replayed(
    snapshot: Option<&Snapshot>,
    records: &[StoredRecord],
) -> Result<World, String> {
    let mut replay = Replay::default();
    if let Some(snapshot) = snapshot {
        let read = replay.text(&mut snapshot.body.as_bytes());
        read.map_err(|why| format!("the snapshot cannot be read: {why}"))?;
    }
    let covered = snapshot.map_or(0, |snapshot| snapshot.seq);
    for record in records.iter().filter(|record| record.seq > covered) {
        replay.record(record).map_err(|why| format!("record {}: {why}", record.seq))?;
    }
    Ok(replay.finish())
}

/// The same records give the same world, byte for byte.
pub(super) fn replays(
    world: &World,
    snapshot: Option<&Snapshot>,
    records: &[StoredRecord],
) -> Checked {
    let failed = |what: String| broken(Invariant::ReplayIsIdentical, what);
    let again = match replayed(snapshot, records) {
        Ok(again) => again,
        Err(why) => return failed(why),
    };
    let (again, there) = (again.to_snapshot(), world.to_snapshot());
    match (again, there) {
        (Ok(again), Ok(there)) if again == there => Ok(()),
        (Ok(again), Ok(there)) => {
            let at = again.bytes().zip(there.bytes()).take_while(|(a, b)| a == b).count();
            let part =
                |text: &str| text.chars().skip(at.saturating_sub(60)).take(120).collect::<String>();
            failed(format!("the journal says `{}`, the daemon `{}`", part(&again), part(&there)))
        }
        (again, there) => {
            failed(format!("it cannot be written: {:?} {:?}", again.err(), there.err()))
        }
    }
}

/// A round gives nothing that is not there, and its certificate says so.
pub(super) fn round(document: &RoundDocument) -> Checked {
    let round = &document.round;
    let failed = |what: String| {
        broken(Invariant::CertificatesTrue, format!("round {}: {what}", round.round))
    };
    let odd = round
        .shares
        .iter()
        .flat_map(|entry| entry.share.values())
        .find(|share| !share.is_finite() || **share < -1e-9);
    if let Some(odd) = odd {
        return failed(format!("a share is {odd}"));
    }
    let Some(audit) = &round.audit else { return Ok(()) };
    if !audit.capacity.holds {
        return failed(format!("more is shared than there is, by {}", audit.capacity.worst));
    }
    presence(document)
}

/// Whatever others submit, declare or cancel, a tenant's share is worth at least its part by weight among those who want
/// GPUs, as far as it can use that. So another lowers it by being there with its weight, and by nothing else. This is
/// promised by mechanisms with the sharing incentive, for shares that are the mechanism's own.
fn presence(document: &RoundDocument) -> Checked {
    let round = &document.round;
    let promises =
        [Mechanism::Nash, Mechanism::Cooperative, Mechanism::Incentive, Mechanism::MaxMin];
    let is_promised = promises.iter().any(|mechanism| mechanism.name() == round.mechanism)
        && !round.shares_age.kept
        && round.shares_age.trouble.is_none();
    match &round.audit {
        Some(audit) if is_promised && !audit.sharing_incentive.holds => {
            let worst = audit.sharing_incentive.worst;
            let witness = audit.sharing_incentive.witness.as_deref().unwrap_or_default();
            let what = format!("round {}: {worst} of an equal split; {witness}", round.round);
            broken(Invariant::OnlyPresenceLowersShares, what)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_that_were_removed_with_their_tenant_are_not_lost_however_late_their_answer_comes() {
        let mut watch = Watch::default();
        watch.acknowledge(JobId(3), "t1");
        watch.remove("t1", JobId(16));
        // Job 15 was taken before the removal, and its answer was lost with the machine.
        watch.acknowledge(JobId(15), "t1");
        watch.acknowledge(JobId(15), "t2");
        assert_eq!(watch.removed, BTreeSet::from([JobId(3), JobId(15)]));
        let empty = World::new(Default::default(), Default::default());
        assert_eq!(watch.jobs(&empty), Ok(()));
        watch.acknowledge(JobId(16), "t1");
        let lost = watch.jobs(&empty).map_err(|broken| broken.invariant);
        assert_eq!(lost, Err(Invariant::NoJobLost));
    }
}
