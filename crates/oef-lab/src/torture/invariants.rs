//! What must hold in every world, looked at by code that shares nothing with what keeps it.

use super::plants::Broken;
use oef_api::types::JobState;
use oef_sched::{JobId, Time, deficit_bound};
use oef_server::replay::Replay;
use oef_server::store::{Snapshot, StoredRecord};
use oef_server::view::RoundDocument;
use oef_server::world::World;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A property with its one name: in simulations, tests and reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Invariant {
    OneLeasePerGpu,
    NoJobLost,
    NoJobDoubled,
    EndsAreFinal,
    GenerationsRise,
    TimeRises,
    GrantsWithinCapacity,
    DeficitsBounded,
    AccountsAddUp,
    ReplayIsIdentical,
    CertificatesTrue,
    Recovers,
    NodesAreKnown,
    StopsAreCarriedOut,
    RunnableJobsRun,
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Invariant::OneLeasePerGpu => "one-lease-per-gpu",
            Invariant::NoJobLost => "no-job-lost",
            Invariant::NoJobDoubled => "no-job-doubled",
            Invariant::EndsAreFinal => "ends-are-final",
            Invariant::GenerationsRise => "generations-rise",
            Invariant::TimeRises => "time-rises",
            Invariant::GrantsWithinCapacity => "grants-within-capacity",
            Invariant::DeficitsBounded => "deficits-bounded",
            Invariant::AccountsAddUp => "accounts-add-up",
            Invariant::ReplayIsIdentical => "replay-is-identical",
            Invariant::CertificatesTrue => "certificates-true",
            Invariant::Recovers => "recovers",
            Invariant::NodesAreKnown => "nodes-are-known",
            Invariant::StopsAreCarriedOut => "stops-are-carried-out",
            Invariant::RunnableJobsRun => "runnable-jobs-run",
        })
    }
}

/// What is remembered from one look to the next.
#[derive(Default)]
pub(super) struct Watch {
    acknowledged: BTreeMap<JobId, String>,
    removed: BTreeSet<JobId>,
    ends: BTreeMap<JobId, JobState>,
    generations: BTreeMap<JobId, u64>,
    now: Time,
    deficits_max: Vec<f64>,
}

type Checked = Result<(), Broken>;

fn broken(invariant: Invariant, what: String) -> Checked {
    Err(Broken { invariant, what })
}

impl Watch {
    /// Somebody was told that this job is taken.
    pub fn acknowledge(&mut self, job: JobId, tenant: &str) {
        self.acknowledged.insert(job, tenant.into());
    }

    /// A tenant was removed with its jobs.
    pub fn remove(&mut self, tenant: &str) {
        let own = self.acknowledged.iter().filter(|(_, of)| *of == tenant).map(|(job, _)| *job);
        self.removed.extend(own);
    }

    pub fn look(&mut self, world: &World) -> Checked {
        self.jobs(world)?;
        leases(world)?;
        accounts(world)?;
        self.deficits(world)?;
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

    /// Deficits stay near their bound; one that was larger before a change may stay.
    fn deficits(&mut self, world: &World) -> Checked {
        let types = world.sched.cluster().types().len();
        self.deficits_max.resize(types, 0.0);
        let total = f64::from(world.sched.cluster().total());
        for gpu in 0..types {
            let bound = deficit_bound(&world.sched, gpu).max(total).max(8.0);
            self.deficits_max[gpu] = self.deficits_max[gpu].max(bound);
            for workload in world.sched.workloads() {
                let deficit = workload.deficit_on(gpu);
                if !deficit.is_finite() || deficit.abs() > 4.0 * self.deficits_max[gpu] {
                    let what = format!("a workload is owed {deficit} GPU-rounds of a type");
                    return broken(Invariant::DeficitsBounded, what);
                }
            }
        }
        Ok(())
    }
}

/// No GPU in two leases, and none that its node does not have.
fn leases(world: &World) -> Checked {
    let mut holders: BTreeMap<(&str, u32), JobId> = BTreeMap::new();
    for (&id, job) in &world.jobs {
        let Some(run) = job.run() else { continue };
        for gpu in &run.gpus {
            if let Some(other) = holders.insert((&gpu.node, gpu.index), id) {
                let what = format!("jobs {other} and {id} have GPU {} of {}", gpu.index, gpu.node);
                return broken(Invariant::OneLeasePerGpu, what);
            }
            let cluster = world.sched.cluster();
            let node = cluster.nodes().iter().find(|node| node.name() == gpu.node);
            if node.is_none_or(|node| gpu.index as usize >= node.gpus()) {
                let what =
                    format!("job {id} has GPU {} of {}, which is not there", gpu.index, gpu.node);
                return broken(Invariant::GrantsWithinCapacity, what);
            }
        }
        if run.gpus.len() != job.spec.workers as usize {
            let what =
                format!("job {id} has {} GPUs for {} workers", run.gpus.len(), job.spec.workers);
            return broken(Invariant::GrantsWithinCapacity, what);
        }
    }
    Ok(())
}

/// What is counted is what there is.
fn accounts(world: &World) -> Checked {
    let mut live: BTreeMap<&str, (u32, f64)> = BTreeMap::new();
    for job in world.jobs.values().filter(|job| !job.state.is_final()) {
        let own = live.entry(job.tenant()).or_default();
        own.0 += 1;
        own.1 += job.run().map_or(0.0, |run| run.rate);
    }
    for (name, tenant) in &world.tenants {
        let (count, rate) = live.get(name.as_str()).copied().unwrap_or_default();
        if tenant.live != count {
            let what = format!("{name} has {count} live jobs, and {} are counted", tenant.live);
            return broken(Invariant::AccountsAddUp, what);
        }
        let counted = tenant.account.delivered_rate;
        if (counted - rate).abs() > 1e-6 {
            let what = format!("{name} is given {rate}, and {counted} is counted");
            return broken(Invariant::AccountsAddUp, what);
        }
    }
    for job in world.sched.jobs() {
        if !world.jobs.contains_key(&job.spec().id) {
            let what = format!("the scheduler has a job {} of its own", job.spec().id);
            return broken(Invariant::AccountsAddUp, what);
        }
    }
    Ok(())
}

/// The same records give the same world, byte for byte.
pub(super) fn replays(
    world: &World,
    snapshot: Option<&Snapshot>,
    records: &[StoredRecord],
) -> Checked {
    let mut replay = Replay::default();
    let failed = |what: String| broken(Invariant::ReplayIsIdentical, what);
    if let Some(snapshot) = snapshot
        && let Err(why) = replay.snapshot(snapshot)
    {
        return failed(format!("the snapshot cannot be read: {why}"));
    }
    let covered = snapshot.map_or(0, |snapshot| snapshot.seq);
    for record in records.iter().filter(|record| record.seq > covered) {
        if let Err(why) = replay.record(record) {
            return failed(format!("record {}: {why}", record.seq));
        }
    }
    let (again, there) = (replay.finish().to_snapshot(), world.to_snapshot());
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
    match &round.audit {
        Some(audit) if !audit.capacity.holds => {
            failed(format!("more is shared than there is, by {}", audit.capacity.worst))
        }
        _ => Ok(()),
    }
}
