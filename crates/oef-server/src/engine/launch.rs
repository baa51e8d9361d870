//! From what the world says about a job to what the executor needs to start it.

use super::environment;
use super::nodes::Nodes;
use super::others::Others;
use crate::terminal::TerminalEndpoint;
use crate::world::{JobEntry, RunEnding, World};
use oef_api::types::StopSignal;
use oef_executor::{CheckpointLocation, Checkpoints, Held, Known, Launch, Program, RunAs};
use oef_sched::{Generation, JobId, Span};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// What all jobs of this daemon have in common.
#[derive(Clone, Debug)]
pub(super) struct Site {
    /// Variables for every job.
    pub env: BTreeMap<String, String>,
    /// The nodes as the executor tells them.
    pub nodes: Nodes,
    /// The jobs that the cluster looks after by itself.
    pub others: Others,
    /// Output that is kept of each worker's stream.
    pub log_limit_bytes: u64,
    /// How jobs in a terminal reach the daemon.
    pub terminal: Option<Arc<TerminalEndpoint>>,
}

impl Site {
    /// A job as its current run is to be started; none: it has no run.
    pub fn launch(&self, world: &World, id: JobId) -> Option<Launch> {
        let job = world.jobs.get(&id)?;
        let run = job.run()?;
        let spec = &job.spec;
        let user = world.tenants.get(job.tenant()).and_then(|tenant| tenant.user.clone());
        let mut env = match &user {
            // What is the daemon's user's own is not another's.
            Some(_) => environment::for_others(&self.env),
            None => self.env.clone(),
        };
        env.extend(spec.env.clone());
        let grace = spec.grace_s.map(Span::from_seconds);
        Some(Launch {
            job: id,
            generation: run.generation,
            tenant: job.tenant().into(),
            workload: job.workload_name().into(),
            name: job.name().into(),
            program: match &spec.script {
                Some(text) => Program::Script(text.clone().into_bytes()),
                None => Program::Command(spec.command.clone()),
            },
            run_as: user.map_or(RunAs::Daemon, RunAs::User),
            env,
            workdir: spec.workdir.as_ref().map(PathBuf::from),
            checkpoints: checkpoints(job),
            devices: run.gpus.iter().map(|gpu| self.nodes.device(gpu)).collect(),
            restart: job.restarts,
            finished: job.finished.clone(),
            stop_signal: stop_signal(spec.stop_signal),
            grace: grace.unwrap_or(Span(world.settings.grace_ms)),
            max_run: time_left(job),
            until: run.until,
            log_limit_bytes: self.log_limit_bytes,
            warm: spec.warm.clone(),
            probe: spec.probe.as_ref().map(|probe| oef_executor::Probe {
                batches: probe.batches,
                warmup: probe.warmup,
                least: Span::from_seconds(probe.least_s),
                limit: Span::from_seconds(probe.limit_s),
            }),
            terminal: spec.terminal.as_ref().and_then(|terminal| {
                let access = self.terminal.as_ref()?;
                Some(access.terminal(id, run.generation, None, terminal.pty))
            }),
        })
    }

    /// What the world knows of jobs and leases.
    pub fn known(&self, world: &World) -> Known {
        // Jobs of others are known to who observes, and to nobody else.
        let is_own = |job: &JobEntry| job.origin.is_none() || world.observes;
        let runs = |job: &JobEntry| job.run().is_some() && !job.state.is_final() && is_own(job);
        let held = world.jobs.iter().filter(|(_, job)| runs(job)).filter_map(|(&id, job)| {
            let stop = job.run().and_then(|run| run.stop.as_ref()).map(|why| why.to_string());
            Some(Held { launch: self.launch(world, id)?, stop })
        });
        let ended = world.jobs.iter().filter(|(_, job)| job.state.is_final());
        Known {
            held: held.collect(),
            jobs: world.jobs.keys().copied().collect(),
            retired: ended.map(|(&id, _)| id).collect(),
            leases: started(world),
            next: JobId(world.next_job),
        }
    }
}

/// The latest lease under which each job was started that has not ended. GPUs that are promised and not free yet are no
/// start, although the scheduler has a number for them.
fn started(world: &World) -> BTreeMap<JobId, Generation> {
    let live = world.jobs.iter().filter(|(_, job)| !job.state.is_final());
    let last = |job: &JobEntry| job.runs.last().map_or(Generation(0), |run| run.generation);
    live.map(|(&id, job)| (id, last(job))).collect()
}

/// Where the executor finds a job's checkpoints, and whether it has to.
fn checkpoints(job: &JobEntry) -> Checkpoints {
    Checkpoints {
        own_dir: job.spec.checkpoint_dir.as_ref().map(PathBuf::from),
        last: last_location(job),
        is_known: has_saved(job),
        saved: saved_steps(job),
    }
}

/// Where the last good checkpoints of a job are; none: it never ran.
fn last_location(job: &JobEntry) -> Option<CheckpointLocation> {
    let has_run = || job.telemetry.steps > 0.0 || job.runs.iter().any(|run| run.started.is_some());
    match &job.checkpoints {
        Some(home) => {
            let host = home.host.clone();
            Some(host.map_or(CheckpointLocation::Shared, CheckpointLocation::Host))
        }
        // It ran before anybody wrote down where.
        None if has_run() => Some(CheckpointLocation::Shared),
        None => None,
    }
}

/// Whether the job has said that it saved its work: in its progress, or by its exit code.
fn has_saved(job: &JobEntry) -> bool {
    let by_code = |ending: Option<RunEnding>| ending == Some(RunEnding::Checkpointed);
    saved_steps(job) > 0.0 || job.runs.iter().any(|run| by_code(run.ending))
}

/// The greatest step that a checkpoint was told to hold.
fn saved_steps(job: &JobEntry) -> f64 {
    let told = job.telemetry.checkpoint.unwrap_or(0.0);
    job.checkpoints.as_ref().map_or(told, |home| home.saved.max(told))
}

/// What is left of a job's maximum run time. None left is a moment, so that its end is told like any other.
fn time_left(job: &JobEntry) -> Option<Span> {
    let max = Span::from_seconds(job.spec.max_run_s?);
    Some((max - Span(job.ran_ms)).max(Span(1)))
}

fn stop_signal(signal: StopSignal) -> oef_executor::StopSignal {
    match signal {
        StopSignal::Term => oef_executor::StopSignal::Term,
        StopSignal::Int => oef_executor::StopSignal::Int,
        StopSignal::Usr1 => oef_executor::StopSignal::Usr1,
        StopSignal::Usr2 => oef_executor::StopSignal::Usr2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::lifecycle::new_entry;
    use crate::world::testing::{empty, with_jobs};
    use crate::world::{Change, LastCheckpoints, NewJob, RunEntry};
    use oef_api::types::JobSubmit;
    use oef_sched::{NodeSpec, Time, WorkloadKey};

    fn job(last: Option<Option<&str>>, checkpoint: Option<f64>) -> JobEntry {
        let mut job = new_entry(Default::default(), WorkloadKey(0), Time(1));
        job.checkpoints = last.map(|host| LastCheckpoints {
            host: host.map(String::from),
            since: Time(5),
            ..LastCheckpoints::default()
        });
        job.telemetry.checkpoint = checkpoint;
        job
    }

    #[test]
    fn where_checkpoints_are_by_the_journal() {
        use CheckpointLocation::{Host, Shared};
        assert_eq!(checkpoints(&job(None, None)), Checkpoints::default(), "it never ran");
        let on_host = checkpoints(&job(Some(Some("a-0")), Some(3.0)));
        let a = Host("a-0".into());
        assert_eq!((on_host.last, on_host.is_known, on_host.saved), (Some(a), true, 3.0));
        let shared = checkpoints(&job(Some(None), Some(0.0)));
        assert_eq!((shared.last, shared.is_known), (Some(Shared), false));
        // One of an older version has its checkpoint in the shared folder.
        let mut old = job(None, Some(3.0));
        old.telemetry.steps = 4.0;
        assert_eq!(checkpoints(&old).last, Some(Shared));
    }

    #[test]
    fn a_job_says_by_its_exit_code_too_that_it_saved() {
        let mut saved = job(Some(Some("a-0")), None);
        assert!(!has_saved(&saved));
        saved.runs.push(RunEntry {
            generation: Generation(1),
            gpus: Vec::new(),
            rate: 1.0,
            until: Time(9),
            steps_before: 0.0,
            began: Time(2),
            started: Some(Time(3)),
            stepped: None,
            stop_at: None,
            stop: None,
            ended: Some(Time(9)),
            ending: Some(RunEnding::Checkpointed),
            exit: None,
            detail: None,
        });
        assert!(has_saved(&saved));
    }

    /// A journal that ends where GPUs were promised would otherwise seem to know of the start that followed.
    #[test]
    fn gpus_that_are_promised_are_no_start() {
        let mut world = empty();
        let node = NodeSpec { name: "n".into(), gpu_type: "g".into(), gpus: 1 };
        for change in [Change::NodeUp(node)].into_iter().chain(with_jobs(1)) {
            world.happen(Time(1), change).expect("taken");
        }
        let (job, generation) = (JobId(1), Generation(1));
        let started = Change::Started { job, generation, at_ms: None, host: None };
        world.happen(Time(2), started).expect("taken");
        let spec = JobSubmit { priority: 5, now: true, ..world.jobs[&job].spec.clone() };
        let jobs = vec![NewJob { id: 2, spec }];
        world.happen(Time(3), Change::Submitted { jobs, key: None, sweep: None }).expect("taken");
        let promised = world.sched.job(JobId(2)).expect("it waits");
        assert_eq!(promised.generation(), Generation(1), "the GPU of the first is promised to it");
        let known = super::started(&world);
        assert_eq!(known, BTreeMap::from([(job, generation), (JobId(2), Generation(0))]));
    }
}
