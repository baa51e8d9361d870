//! What must hold in every world, each with its one name: in simulations, tests, metrics and alarms.
//!
//! The checks share nothing with the code that keeps the books: they count again what is there. Those that are cheap are
//! also made in production, whenever somebody asks for the metrics; the rest is for [`oef torture`](crate::core).

use crate::world::{JobEntry, World};
use oef_api::types::JobState;
use oef_sched::{JobId, deficit_bound, deficit_bound_ever};
use std::collections::BTreeMap;
use std::fmt;
use strum::IntoStaticStr;

/// Deficits may be so many times their bound: one that was within it before a change of cluster or settings may stay.
const DEFICIT_SLACK: f64 = 4.0;
/// Below this a deficit is never an alarm: small clusters have small bounds.
const DEFICIT_LEAST: f64 = 8.0;
/// Rates are sums of doubles.
const RATE_TOLERANCE: f64 = 1e-6;

/// A property with its one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Invariant {
    /// No GPU is in two leases.
    OneLeasePerGpu,
    /// A job that was taken is there.
    NoJobLost,
    /// A submission that comes twice is taken once, and a lease runs once.
    NoJobDoubled,
    /// A job that has ended stays so.
    EndsAreFinal,
    /// Leases of a job have rising numbers.
    GenerationsRise,
    /// Time does not go back.
    TimeRises,
    /// Leases are on GPUs that there are, one for each worker.
    GrantsWithinCapacity,
    /// What a workload is owed stays within a bound.
    DeficitsBounded,
    /// What is counted of a tenant is what it has.
    AccountsAddUp,
    /// The same records give the same world.
    ReplayIsIdentical,
    /// A certificate says what is so.
    CertificatesTrue,
    /// Others can lower a tenant's share by being there, and by nothing else.
    OnlyPresenceLowersShares,
    /// A journal that was damaged or replaced by an older one is not taken for the whole.
    DamageIsNoticed,
    /// A daemon that was killed starts again.
    Recovers,
    /// A node that is gone is known to be gone.
    NodesAreKnown,
    /// A job that is told to stop ends.
    StopsAreCarriedOut,
    /// A job that can run runs within a number of rounds.
    RunnableJobsRun,
}

impl Invariant {
    /// Those that a daemon looks at in production.
    pub const IN_PRODUCTION: [Invariant; 4] = [
        Invariant::OneLeasePerGpu,
        Invariant::GrantsWithinCapacity,
        Invariant::DeficitsBounded,
        Invariant::AccountsAddUp,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What was found broken, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// What does not hold.
    pub invariant: Invariant,
    /// How, in a sentence.
    pub what: String,
}

/// Nothing is broken, or the first thing that is.
pub type Checked = Result<(), Broken>;

/// That something is broken.
pub fn broken(invariant: Invariant, what: String) -> Checked {
    Err(Broken { invariant, what })
}

/// What is broken in the world of a running daemon. Jobs that have ended are not looked at.
pub fn of_running(world: &World) -> Vec<Broken> {
    let jobs = || {
        let ids = world.index.newest(None, &JobState::LIVE, None);
        ids.filter_map(|id| world.jobs.get(&id).map(|job| (id, &**job)))
    };
    let checks = [leases(world, jobs()), accounts(world, jobs()), deficits(world, &mut Vec::new())];
    checks.into_iter().filter_map(Result::err).collect()
}

/// What is broken among all jobs, whatever an index says of them. `deficits_max`: the largest bounds so far.
pub fn of_all(world: &World, deficits_max: &mut Vec<f64>) -> Checked {
    let jobs = || world.jobs.iter().map(|(id, job)| (*id, &**job));
    leases(world, jobs())?;
    accounts(world, jobs())?;
    for job in world.sched.jobs() {
        if !world.jobs.contains_key(&job.spec().id) {
            let what = format!("the scheduler has a job {} of its own", job.spec().id);
            return broken(Invariant::AccountsAddUp, what);
        }
    }
    deficits(world, deficits_max)
}

/// No GPU in two leases, and none that its node does not have.
fn leases<'a>(world: &World, jobs: impl Iterator<Item = (JobId, &'a JobEntry)>) -> Checked {
    let cluster = world.sched.cluster();
    let mut holders: BTreeMap<(&str, u32), JobId> = BTreeMap::new();
    for (id, job) in jobs {
        let Some(run) = job.run() else { continue };
        for gpu in &run.gpus {
            if let Some(other) = holders.insert((&gpu.node, gpu.index), id) {
                let what = format!("jobs {other} and {id} have GPU {} of {}", gpu.index, gpu.node);
                return broken(Invariant::OneLeasePerGpu, what);
            }
            let node = cluster.node_named(&gpu.node).and_then(|node| cluster.nodes().get(node.0));
            if node.is_none_or(|node| gpu.index as usize >= node.gpus()) {
                let what =
                    format!("job {id} has GPU {} of {}, which is not there", gpu.index, gpu.node);
                return broken(Invariant::GrantsWithinCapacity, what);
            }
        }
        if run.gpus.len() != *job.spec.workers as usize {
            let what =
                format!("job {id} has {} GPUs for {} workers", run.gpus.len(), job.spec.workers);
            return broken(Invariant::GrantsWithinCapacity, what);
        }
    }
    Ok(())
}

/// What is counted is what there is.
fn accounts<'a>(world: &World, jobs: impl Iterator<Item = (JobId, &'a JobEntry)>) -> Checked {
    let mut live: BTreeMap<&str, (u32, f64)> = BTreeMap::new();
    for (_, job) in jobs.filter(|(_, job)| !job.state.is_final()) {
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
        if (counted - rate).abs() > RATE_TOLERANCE * rate.abs().max(1.0) {
            let what = format!("{name} is given {rate}, and {counted} is counted");
            return broken(Invariant::AccountsAddUp, what);
        }
    }
    Ok(())
}

/// Deficits stay near their bound; the largest bound so far counts.
fn deficits(world: &World, largest: &mut Vec<f64>) -> Checked {
    largest.resize(world.sched.cluster().types().len(), 0.0);
    let ever = deficit_bound_ever(&world.sched).max(DEFICIT_LEAST);
    for (gpu, largest) in largest.iter_mut().enumerate() {
        let bound = deficit_bound(&world.sched, gpu).max(ever);
        *largest = largest.max(bound);
        for workload in world.sched.workloads() {
            let deficit = workload.deficit_on(gpu);
            if !deficit.is_finite() || deficit.abs() > DEFICIT_SLACK * *largest {
                let what = format!("a workload is owed {deficit} GPU-rounds of a type");
                return broken(Invariant::DeficitsBounded, what);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Change;
    use crate::world::testing::{empty, with_jobs};
    use oef_sched::{NodeSpec, Time};
    use std::sync::Arc;

    /// One node of two GPUs, and two jobs that have one each.
    fn world() -> World {
        let mut world = empty();
        let up = Change::NodeUp(NodeSpec { name: "n".into(), gpu_type: "g".into(), gpus: 2 });
        for change in [up].into_iter().chain(with_jobs(2)) {
            world.happen(Time(1), change).expect("taken");
        }
        world
    }

    fn names(world: &World) -> Vec<&'static str> {
        of_running(world).iter().map(|broken| broken.invariant.name()).collect()
    }

    #[test]
    fn a_sound_world_breaks_nothing_and_each_mistake_is_named() {
        let sound = world();
        assert_eq!(names(&sound), [""; 0]);
        assert_eq!(of_all(&sound, &mut Vec::new()), Ok(()));

        let mut doubled = world();
        let first = doubled.jobs[&JobId(1)].run().expect("a run").gpus.clone();
        let job = Arc::make_mut(doubled.jobs.get_mut(&JobId(2)).expect("a job"));
        job.runs.last_mut().expect("a run").gpus = first;
        assert_eq!(names(&doubled), ["one-lease-per-gpu"]);

        let mut beyond = world();
        let job = Arc::make_mut(beyond.jobs.get_mut(&JobId(2)).expect("a job"));
        job.runs.last_mut().expect("a run").gpus[0].index = 7;
        assert_eq!(names(&beyond), ["grants-within-capacity"]);

        let mut miscounted = world();
        miscounted.tenants.get_mut("ada").expect("a tenant").live = 5;
        assert_eq!(names(&miscounted), ["accounts-add-up"]);
        assert!(of_all(&miscounted, &mut Vec::new()).is_err());
    }
}
