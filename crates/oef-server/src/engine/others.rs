//! Jobs that a cluster looks after by itself, as an executor that observes tells them, and what follows for the world.

use super::checks;
use super::readings::GpuPlace;
use super::tenancy::create_checked;
use crate::world::{Change, JobEntry, NewJob, RunEnding, World};
use oef_api::check::cleaned;
use oef_api::limits::JOB_NAME_MAX;
use oef_api::parsed::{Weight, Workers};
use oef_api::types::{JobState, JobSubmit, Limits};
use oef_executor::{Event, OtherEnd, OtherJob, OtherState};
use oef_sched::{GpuId, JobId, NodeId};
use std::collections::{BTreeMap, BTreeSet};

/// Changes that go into one batch; the rest follows with the next.
const AT_ONCE: usize = 1000;
/// The workload of a job of which nothing else is known.
const WORKLOAD: &str = "default";

/// The jobs as they were told last.
#[derive(Clone, Debug, Default)]
pub(super) struct Others {
    /// By what tells them apart; none: nothing was told yet.
    told: Option<BTreeMap<String, OtherJob>>,
    /// Something may follow from it.
    is_due: bool,
    /// Accounts that cannot be tenants.
    refused: BTreeSet<String>,
}

impl Others {
    /// Takes what was told.
    pub fn take(&mut self, event: &Event) {
        match event {
            Event::Others(jobs) => {
                let by_key = jobs.iter().map(|job| (job.key.clone(), job.clone()));
                self.told = Some(by_key.collect());
                self.is_due = true;
            }
            // A job may run on a node that was not known.
            Event::Node(_) | Event::NodesListed => self.is_due = true,
            Event::Lease { .. } | Event::Readings { .. } => {}
        }
    }

    /// What was given last is not durable: it is to be given again.
    pub fn announce_again(&mut self) {
        self.is_due = true;
    }

    /// What follows for the world: jobs that came, have their GPUs, lost them, or ended.
    pub fn changes(&mut self, world: &World, next_job: &mut u64) -> Vec<Change> {
        let Some(told) = self.told.as_ref().filter(|_| std::mem::take(&mut self.is_due)) else {
            return Vec::new();
        };
        let known: BTreeMap<&str, JobId> = world
            .index
            .newest(None, &JobState::LIVE, None)
            .filter_map(|id| Some((world.jobs.get(&id)?.origin.as_deref()?, id)))
            .collect();
        let mut changes = Vec::new();
        for (&key, &id) in &known {
            let Some(entry) = world.jobs.get(&id) else { continue };
            match told.get(key).map(|job| &job.state) {
                None => changes.extend(ended(id, entry, &OtherEnd::Finished)),
                Some(OtherState::Over(end)) => changes.extend(ended(id, entry, end)),
                Some(OtherState::Waits(_)) => changes.extend(lost(id, entry)),
                Some(OtherState::Runs(places)) if !is_there(entry, places) => {
                    changes.extend(lost(id, entry));
                }
                Some(OtherState::Runs(_)) => {}
            }
        }
        let mut used = used(world);
        let mut new_tenants = BTreeSet::new();
        for (key, job) in told {
            if changes.len() >= AT_ONCE {
                break;
            }
            match (known.get(key.as_str()), &job.state) {
                (_, OtherState::Over(_)) => {}
                (None, _) if !world.tenants.contains_key(&job.tenant) => {
                    // Its jobs follow when it is there.
                    if new_tenants.insert(&job.tenant) {
                        changes.extend(new_tenant(world, job, &mut self.refused));
                    }
                }
                (None, _) => changes.extend(noticed(world, job, next_job)),
                (Some(id), OtherState::Runs(places)) => {
                    let waits = world.jobs.get(id).is_some_and(|entry| entry.run().is_none());
                    let gpus = if waits { free(world, places, &mut used) } else { None };
                    changes.extend(gpus.map(|gpus| world.noticed_start(*id, gpus)));
                }
                (Some(_), OtherState::Waits(_)) => {}
            }
        }
        self.is_due = !changes.is_empty();
        changes
    }
}

/// The tenant of a job, where that can be one.
fn new_tenant(world: &World, job: &OtherJob, refused: &mut BTreeSet<String>) -> Option<Change> {
    let weight = Weight::try_from(job.weight).unwrap_or_default();
    let created = checks::parse("tenant", &job.tenant)
        .and_then(|name| create_checked(world, name, weight, None, Limits::default()));
    if let Err(problem) = &created
        && refused.insert(job.tenant.clone())
    {
        let tenant = &job.tenant;
        tracing::warn!(tenant, %problem, "the jobs of an account are not shown");
    }
    created.ok()
}

/// A job that was not known.
fn noticed(world: &World, job: &OtherJob, next_job: &mut u64) -> Option<Change> {
    let workers = Workers::try_from(job.gpus).ok()?;
    let id = (*next_job).max(world.next_job);
    *next_job = id + 1;
    let cluster = world.sched.cluster();
    let spec = JobSubmit {
        tenant: job.tenant.parse().ok(),
        workload: WORKLOAD.parse().ok(),
        name: Some(cleaned(&job.name, JOB_NAME_MAX)),
        command: vec!["slurm-job".into(), job.shown.clone()],
        workers,
        types: job
            .types
            .iter()
            .filter(|name| cluster.type_named(name).is_some())
            .cloned()
            .collect(),
        labels: [("slurm_job", &job.shown), ("slurm_user", &job.user)]
            .map(|(name, value)| (name.to_string(), value.clone()))
            .into(),
        user: Some(job.user.clone()).filter(|user| !user.is_empty()),
        ..JobSubmit::default()
    };
    Some(Change::Noticed { job: Box::new(NewJob { id, spec }), origin: job.key.clone() })
}

/// What is journalled of a job that is over.
fn ended(id: JobId, entry: &JobEntry, end: &OtherEnd) -> Vec<Change> {
    let cancelled = |by: &str| Change::Cancelled { job: id, by: by.into(), why: None };
    let Some(run) = entry.run() else {
        let by = match end {
            OtherEnd::Finished => "Slurm: it is over".to_string(),
            OtherEnd::Cancelled => "its user, in Slurm".to_string(),
            OtherEnd::Failed(word) => format!("Slurm: {word}"),
        };
        return if entry.cancelled_by.is_some() { Vec::new() } else { vec![cancelled(&by)] };
    };
    let over = |ending, detail: &str| Change::ended(id, run.generation, ending, detail);
    match end {
        OtherEnd::Finished => vec![over(RunEnding::Finished, "it did its work")],
        OtherEnd::Failed(word) => vec![over(RunEnding::Failed, &format!("Slurm says {word}"))],
        OtherEnd::Cancelled => {
            let first = entry.cancelled_by.is_none().then(|| cancelled("its user, in Slurm"));
            let last = over(RunEnding::Stopped, "cancelled in Slurm");
            first.into_iter().chain([last]).collect()
        }
    }
}

/// A job that has not its GPUs any more: it waits again.
fn lost(id: JobId, entry: &JobEntry) -> Option<Change> {
    let detail = "it does not run there any more in Slurm";
    Some(Change::ended(id, entry.run()?.generation, RunEnding::Lost, detail))
}

/// Whether a job that has GPUs has them where it is said to run.
fn is_there(entry: &JobEntry, places: &[GpuPlace]) -> bool {
    let Some(run) = entry.run() else { return true };
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for gpu in &run.gpus {
        *counts.entry(gpu.node.as_str()).or_default() += 1;
    }
    counts == places.iter().map(|(node, count)| (node.as_str(), *count)).collect()
}

/// The GPUs that jobs have.
fn used(world: &World) -> BTreeSet<GpuPlace> {
    let placed = world.index.newest(None, &JobState::PLACED, None);
    let runs = placed.filter_map(|id| world.jobs.get(&id)?.run());
    runs.flat_map(|run| run.gpus.iter().map(|gpu| (gpu.node.clone(), gpu.index))).collect()
}

/// Free GPUs for a job, as many as it has on each node; none: they are not there, or not yet free.
fn free(world: &World, places: &[GpuPlace], used: &mut BTreeSet<GpuPlace>) -> Option<Vec<GpuId>> {
    let cluster = world.sched.cluster();
    let mut found = Vec::new();
    let mut taken = Vec::new();
    for (name, count) in places {
        let node: NodeId = cluster.node_named(name).filter(|_| world.sched.is_up(name))?;
        let gpus = u32::try_from(cluster.nodes().get(node.0)?.gpus()).unwrap_or(u32::MAX);
        let indices = (0..gpus).filter(|index| !used.contains(&(name.clone(), *index)));
        let here: Vec<u32> = indices.take(*count as usize).collect();
        if here.len() < *count as usize {
            return None;
        }
        found.extend(here.iter().map(|&index| GpuId { node, index }));
        taken.extend(here.into_iter().map(|index| (name.clone(), index)));
    }
    used.extend(taken);
    Some(found)
}

/// What is to be ended when a daemon decides again: jobs of others are none of its own.
pub(super) fn leave(world: &World) -> Vec<Change> {
    let mut changes = Vec::new();
    for id in world.index.newest(None, &JobState::LIVE, None) {
        let Some(entry) = world.jobs.get(&id).filter(|entry| entry.origin.is_some()) else {
            continue;
        };
        changes.extend(ended(id, entry, &OtherEnd::Finished));
    }
    changes
}

/// Jobs that were submitted here and have not ended: they cannot go on while nothing is started.
pub(super) fn own_jobs(world: &World) -> usize {
    let live = world.index.newest(None, &JobState::LIVE, None);
    live.filter(|id| world.jobs.get(id).is_some_and(|entry| entry.origin.is_none())).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Record;
    use oef_sched::{NodeSpec, Time};

    fn other(key: &str, gpus: u32, state: OtherState) -> OtherJob {
        OtherJob {
            key: key.into(),
            shown: key.into(),
            tenant: "vision".into(),
            weight: 3.0,
            user: "ada".into(),
            name: "train".into(),
            gpus,
            types: Vec::new(),
            state,
        }
    }

    fn world() -> World {
        let mut world = World::new(Default::default(), Default::default());
        world.observes = true;
        for name in ["n1", "n2"] {
            let spec = NodeSpec { name: name.into(), gpu_type: "g".into(), gpus: 4 };
            world.happen(Time(1), Change::NodeUp(spec)).expect("taken");
        }
        world
    }

    /// Lets everything happen that follows from a list, until nothing does.
    fn settle(world: &mut World, others: &mut Others, list: Vec<OtherJob>) {
        others.take(&Event::Others(list));
        for _ in 0..10 {
            let mut next = world.next_job;
            let changes = others.changes(world, &mut next);
            if changes.is_empty() {
                return;
            }
            for change in changes {
                let at = world.sched.now();
                world.happen(at, change).expect("taken");
            }
        }
        panic!("it never settles");
    }

    fn states(world: &World) -> Vec<(JobState, Vec<String>)> {
        let job = |job: &std::sync::Arc<JobEntry>| {
            let gpus = job.run().map_or(&[][..], |run| &run.gpus);
            (job.state, gpus.iter().map(|gpu| format!("{}:{}", gpu.node, gpu.index)).collect())
        };
        world.jobs.values().map(job).collect()
    }

    fn runs(places: &[(&str, u32)]) -> OtherState {
        OtherState::Runs(places.iter().map(|(node, count)| (node.to_string(), *count)).collect())
    }

    #[test]
    fn the_world_follows_what_the_cluster_does() {
        let (mut world, mut others) = (world(), Others::default());
        let waits = || OtherState::Waits("Resources".into());
        settle(&mut world, &mut others, vec![other("1", 2, waits()), other("2", 3, waits())]);
        assert_eq!(world.tenants["vision"].weight, 3.0);
        assert_eq!(states(&world).len(), 2);
        assert!(states(&world).iter().all(|(state, _)| *state == JobState::Queued), "not planned");
        let one = || other("1", 2, runs(&[("n1", 2)]));
        let two = || other("2", 3, runs(&[("n1", 2), ("n2", 1)]));
        settle(&mut world, &mut others, vec![one(), two()]);
        let gpus = |list: &[&str]| list.iter().map(|gpu| gpu.to_string()).collect::<Vec<_>>();
        assert_eq!(states(&world)[0].1, gpus(&["n1:0", "n1:1"]));
        assert_eq!(states(&world)[1].1, gpus(&["n1:2", "n1:3", "n2:0"]));
        // A round changes nothing of it.
        world.happen(Time(400_000), Change::Round { kept: false }).expect("taken");
        assert_eq!(states(&world)[1].1.len(), 3);
        // It was requeued, and one ended.
        let over = other("1", 2, OtherState::Over(OtherEnd::Failed("TIMEOUT".into())));
        settle(&mut world, &mut others, vec![over, other("2", 3, waits())]);
        assert_eq!(states(&world)[0].0, JobState::Failed);
        assert_eq!(states(&world)[1].0, JobState::Queued);
        settle(&mut world, &mut others, vec![other("2", 3, runs(&[("n2", 3)]))]);
        assert_eq!(states(&world)[1].1, gpus(&["n2:0", "n2:1", "n2:2"]));
        settle(&mut world, &mut others, vec![other("2", 3, OtherState::Over(OtherEnd::Cancelled))]);
        assert_eq!(states(&world)[1].0, JobState::Cancelled);
    }

    #[test]
    fn jobs_on_nodes_that_are_not_capacity_wait_here_and_are_not_lost() {
        let (mut world, mut others) = (world(), Others::default());
        let list = || vec![other("1", 2, runs(&[("n1", 2)]))];
        settle(&mut world, &mut others, list());
        let down = Change::NodeDown { node: "n1".into() };
        world.happen(world.sched.now(), down).expect("taken");
        assert_eq!(states(&world)[0].0, JobState::Stopping);
        let generation = world.jobs[&JobId(1)].run().expect("a run").generation;
        let entry = world.jobs[&JobId(1)].clone();
        let left = lost(JobId(1), &entry).expect("it ran");
        assert!(matches!(&left, Change::Ended(end) if end.generation == generation));
        world.happen(world.sched.now(), left).expect("taken");
        settle(&mut world, &mut others, list());
        assert_eq!(states(&world)[0].0, JobState::Queued);
        settle(&mut world, &mut others, Vec::new());
        assert_eq!(states(&world)[0].0, JobState::Cancelled);
    }

    #[test]
    fn whoever_decides_again_leaves_the_jobs_of_others() {
        let (mut world, mut others) = (world(), Others::default());
        let list = vec![
            other("1", 2, runs(&[("n1", 2)])),
            other("2", 9, OtherState::Waits("Resources".into())),
        ];
        settle(&mut world, &mut others, list);
        assert_eq!(own_jobs(&world), 0);
        for change in leave(&world) {
            let record = Record { at: world.sched.now(), change };
            let change = world.complete(record.at, record.change);
            world.apply(&Record { at: record.at, change }).expect("taken");
        }
        assert!(states(&world).iter().all(|(state, _)| state.is_final()), "{:?}", states(&world));
    }
}
