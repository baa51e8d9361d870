//! The loop.

use super::agenda::{Agenda, Entry};
use super::guarding::Detection;
use super::jobs::SimJob;
use super::record::{Recorder, Segment};
use super::scenario::{Detail, Happening, Inputs, Scenario};
use super::setup::canonical;
use super::standing::Stood;
use super::summary::RunResult;
use crate::input::{InputError, check_models};
use oef_sched::guard::Guard;
use oef_sched::{
    Action, Event, EventKind, Generation, JobId, Lease, NodeSpec, Profile, Refusal, RoundingRule,
    State, StopReason, TenantKey, Time, WorkloadKey, refresh_shares, step,
};
use std::collections::BTreeMap;
use std::rc::Rc;
use thiserror::Error;

/// How far a simulation is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Jobs that have ended.
    pub ended: usize,
    /// Jobs in all.
    pub jobs: usize,
    /// The round.
    pub round: u64,
}

/// Why a simulation could not be run.
#[derive(Debug, Error)]
pub enum SimulationError {
    /// The inputs do not fit together.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The world and the scheduler disagree: a bug, told rather than hidden.
    #[error("the scheduler refused what the simulated world did: {0}")]
    Refused(Refusal),
    /// Somebody asked to stop.
    #[error("stopped")]
    Stopped,
}

/// Runs a trace through the scheduler. `watch` is told the progress every few rounds and ends the run by
/// returning false.
pub fn simulate(
    inputs: &Inputs<'_>,
    scenario: &Scenario,
    watch: &mut dyn FnMut(Progress) -> bool,
) -> Result<RunResult, SimulationError> {
    check_models(inputs.trace, inputs.profiles, "the trace")?;
    let mut run = Run::new(inputs, scenario);
    run.fill_agenda();
    while let Some((at, entry)) = run.agenda.next() {
        if run.is_over(at) {
            break;
        }
        run.now = at;
        match entry {
            Entry::Arrives(job) => run.arrives(job)?,
            Entry::Ends(job, generation) => run.ends(job, generation)?,
            Entry::Happens(index) => run.happens(index)?,
            Entry::Tick => {
                run.tick()?;
                let round = run.state.round().0;
                let progress = Progress { ended: run.ended, jobs: run.jobs.len(), round };
                if round.is_multiple_of(WATCHED_ROUNDS) && !watch(progress) {
                    return Err(SimulationError::Stopped);
                }
            }
        }
    }
    Ok(run.finish())
}

/// Idle rounds after which nobody is taken to save up any more: a day of five-minute rounds.
const IDLE_ROUNDS_MAX: u64 = 288;

/// Rounds between two looks at the progress.
const WATCHED_ROUNDS: u64 = 16;

/// A simulation under way.
pub(super) struct Run<'a> {
    pub(super) inputs: &'a Inputs<'a>,
    pub(super) scenario: &'a Scenario,
    pub(super) state: State,
    pub(super) agenda: Agenda,
    pub(super) happenings: Vec<(Time, Happening)>,
    pub(super) jobs: Vec<SimJob>,
    /// Jobs that hold GPUs.
    pub(super) running: Vec<usize>,
    pub(super) live: usize,
    pub(super) arrived: usize,
    pub(super) ended: usize,
    pub(super) pending_happenings: usize,
    pub(super) now: Time,
    pub(super) ticking: bool,
    /// Rounds in a row in which nothing ran.
    pub(super) idle_rounds: u64,
    pub(super) recorder: Recorder,
    pub(super) open_segments: BTreeMap<usize, (Time, Lease)>,
    pub(super) migrations: u64,
    pub(super) preemptions: u64,
    pub(super) last_finish: Time,
    pub(super) trouble: Option<String>,
    /// How scale and profile of every kind of job were found before.
    pub(super) kinds: BTreeMap<(usize, String, Option<u32>), WorkloadKey>,
    /// The true speeds of every model and batch size.
    pub(super) models: BTreeMap<(String, Option<u32>), Rc<Profile>>,
    pub(super) tenant_keys: BTreeMap<String, TenantKey>,
    /// By node: the first node of its host.
    pub(super) hosts: Vec<usize>,
    pub(super) medians: Vec<f64>,
    pub(super) reference: usize,
    pub(super) guard: Guard,
    pub(super) found: Vec<Detection>,
}

impl Run<'_> {
    fn is_over(&self, at: Time) -> bool {
        let late = self.scenario.until_s.is_some_and(|end| at > Time::from_seconds(end));
        late || (self.ended == self.jobs.len() && self.scenario.until_s.is_none())
    }

    pub(super) fn tell(&mut self, kind: EventKind) -> Result<(), SimulationError> {
        let refused = SimulationError::Refused;
        let mut todo = step(&mut self.state, Event { at: self.now, kind }).map_err(refused)?;
        // A stop is answered at once: what it costs is counted when the job starts again.
        while !todo.is_empty() {
            let mut answers = Vec::new();
            for action in todo {
                let (job, generation) = match action {
                    Action::Start { job, lease, .. } => {
                        self.started(job, &lease);
                        continue;
                    }
                    Action::Keep { .. } => continue,
                    Action::Preempt { job, generation, why } => {
                        self.preemptions += u64::from(why != StopReason::Cancelled);
                        (job, generation)
                    }
                    Action::Migrate { job, generation, .. } => {
                        self.migrations += 1;
                        (job, generation)
                    }
                };
                let steps = self.stopped(job);
                answers.push(EventKind::Progress { job, generation, steps });
                answers.push(EventKind::Preempted { job, generation });
            }
            todo = Vec::new();
            for kind in answers {
                let event = Event { at: self.now, kind };
                todo.extend(step(&mut self.state, event).map_err(refused)?);
            }
        }
        Ok(())
    }

    fn started(&mut self, id: JobId, lease: &Lease) {
        let index = id.0 as usize;
        let cost = self.scenario.settings.restart_cost;
        let job = &mut self.jobs[index];
        let end = job.start(lease, (self.state.cluster(), &self.hosts), self.now, cost);
        self.agenda.add(end, Entry::Ends(index, lease.generation));
        self.running.push(index);
        if self.recorder.detail == Detail::Full {
            self.open_segments.insert(index, (self.now, lease.clone()));
        }
    }

    fn stopped(&mut self, id: JobId) -> f64 {
        let index = id.0 as usize;
        self.count(index);
        self.guard.ended(self.jobs[index].workload, id);
        self.jobs[index].run = None;
        self.running.retain(|&r| r != index);
        self.close_segment(index);
        self.jobs[index].done
    }

    /// Counts a running job's work and GPU time up to now.
    pub(super) fn count(&mut self, index: usize) {
        let job = &mut self.jobs[index];
        let Some(before) = job.run.as_ref().map(|run| run.counted) else { return };
        let worked = job.count(self.now);
        self.listen(index, before);
        let job = &self.jobs[index];
        let seconds = self.now.since(before).seconds();
        self.recorder.worked(job.tenant, job.workload, worked);
        let Some(run) = &job.run else { return };
        self.recorder.held(job.tenant, &run.gpus, seconds);
        let working = self.now.since(before.max(run.from)).seconds().min(seconds);
        let stood = Stood {
            workers: job.workers,
            spread: run.spread,
            seconds,
            restarting: seconds - working,
            possible: run.possible / job.unit,
        };
        self.recorder.stood(job.tenant, &stood);
    }

    pub(super) fn close_segment(&mut self, index: usize) {
        let Some((from, lease)) = self.open_segments.remove(&index) else { return };
        let tenant = self.jobs[index].tenant.0;
        for gpu in &lease.gpus {
            self.recorder.segments.push(Segment {
                node: gpu.node.0,
                gpu: gpu.index,
                from_s: from.seconds(),
                to_s: self.now.seconds(),
                tenant,
            });
        }
    }

    fn arrives(&mut self, index: usize) -> Result<(), SimulationError> {
        self.live += 1;
        self.arrived += 1;
        let spec = self.jobs[index].spec(JobId(index as u64));
        self.tell(EventKind::Submitted(spec))?;
        if !self.ticking {
            // The cluster was idle: a round begins with the job, not at the next full round.
            self.ticking = true;
            self.agenda.add(self.now, Entry::Tick);
        }
        Ok(())
    }

    fn ends(&mut self, index: usize, generation: Generation) -> Result<(), SimulationError> {
        let current = self.jobs[index].run.as_ref().map(|run| run.generation);
        if current != Some(generation) {
            return Ok(());
        }
        let id = JobId(index as u64);
        self.stopped(id);
        self.jobs[index].done = self.jobs[index].work;
        self.jobs[index].finish = Some(self.now);
        self.last_finish = self.now;
        self.live -= 1;
        self.ended += 1;
        self.tell(EventKind::Finished { job: id, generation })
    }

    fn happens(&mut self, index: usize) -> Result<(), SimulationError> {
        self.pending_happenings -= 1;
        match self.happenings[index].1.clone() {
            Happening::Leaves { tenant } => self.leaves(&tenant),
            Happening::Weight { tenant, weight } => match self.tenant_keys.get(&tenant) {
                Some(&tenant) => self.tell(EventKind::Weight { tenant, weight }),
                None => Ok(()),
            },
            Happening::NodeDown { node } => self.tell(EventKind::NodeDown { node }),
            Happening::NodeUp { node } => {
                let known = self.inputs.cluster.nodes.iter().find(|n| n.name == node);
                let Some(known) = known else { return Ok(()) };
                let gpu_type = canonical(self.inputs, &known.gpu_type);
                self.tell(EventKind::NodeUp(NodeSpec { name: node, gpu_type, gpus: known.gpus }))
            }
        }
    }

    fn leaves(&mut self, tenant: &str) -> Result<(), SimulationError> {
        let Some(&key) = self.tenant_keys.get(tenant) else { return Ok(()) };
        for index in 0..self.jobs.len() {
            let job = &mut self.jobs[index];
            let here = job.tenant == key && job.submit <= self.now && job.finish.is_none();
            if here && !job.cancelled {
                job.cancelled = true;
                self.live -= 1;
                self.ended += 1;
                self.tell(EventKind::Cancelled { job: JobId(index as u64) })?;
            }
        }
        Ok(())
    }

    fn tick(&mut self) -> Result<(), SimulationError> {
        for index in 0..self.running.len() {
            self.count(self.running[index]);
        }
        self.recorder.end_round(&self.state, self.now);
        self.judge()?;
        refresh_shares(&mut self.state, self.now);
        self.tell(EventKind::Tick)?;
        let waiting = self.live.saturating_sub(self.running.len()) as u32;
        self.recorder.begin_round(&self.state, &self.jobs, waiting, &self.running);
        if let Some(trouble) = self.state.entitlement().trouble() {
            self.trouble.get_or_insert_with(|| trouble.to_string());
        }
        self.idle_rounds = if self.running.is_empty() { self.idle_rounds + 1 } else { 0 };
        // Nothing runs, and nothing can change that: only what arrives or happens makes another round. The
        // paper's rounding is the exception: tenants save up while everything is idle.
        let patience = match self.scenario.settings.rounding {
            RoundingRule::Deficit => 0,
            RoundingRule::Paper => IDLE_ROUNDS_MAX,
        };
        let stuck = self.idle_rounds > patience;
        self.ticking = self.live > 0 && !stuck;
        if self.ticking || (stuck && self.live > 0 && self.pending_happenings > 0) {
            self.ticking = true;
            self.agenda.add(self.now + self.state.settings().round, Entry::Tick);
        }
        Ok(())
    }
}
