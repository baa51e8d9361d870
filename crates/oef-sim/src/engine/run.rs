//! The loop.

use super::agenda::{Agenda, Entry};
use super::jobs::{SimJob, work_of};
use super::record::{JobRecord, Recorder, Segment, TenantRecord};
use super::scenario::{Detail, Happening, Inputs, Scenario};
use super::summary::{Quantiles, RunResult};
use crate::input::{InputError, ProfileTable, TraceJob, check_models};
use crate::world::{JobRates, report};
use oef_sched::{
    Action, Event, EventKind, Generation, JobId, Lease, NodeSpec, Profile, Provenance, Refusal,
    State, StopReason, TenantKey, Time, WorkloadKey, step,
};
use std::collections::BTreeMap;
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

/// Rounds between two looks at the progress.
const WATCHED_ROUNDS: u64 = 16;

struct Run<'a> {
    inputs: &'a Inputs<'a>,
    scenario: &'a Scenario,
    state: State,
    agenda: Agenda,
    happenings: Vec<(Time, Happening)>,
    jobs: Vec<SimJob>,
    /// Jobs that hold GPUs.
    running: Vec<usize>,
    live: usize,
    arrived: usize,
    ended: usize,
    pending_happenings: usize,
    now: Time,
    ticking: bool,
    recorder: Recorder,
    open_segments: BTreeMap<usize, (Time, Lease)>,
    migrations: u64,
    preemptions: u64,
    last_finish: Time,
    trouble: Option<String>,
    /// How scale and profile of every kind of job were found before.
    kinds: BTreeMap<(usize, String, Option<u32>), WorkloadKey>,
    tenant_keys: BTreeMap<String, TenantKey>,
    medians: Vec<f64>,
    reference: usize,
}

impl<'a> Run<'a> {
    fn new(inputs: &'a Inputs<'a>, scenario: &'a Scenario) -> Self {
        let (reference, medians) = reference(inputs, scenario);
        let mut settings = scenario.settings.clone();
        settings.reference = inputs.profiles.types.get(reference).cloned();
        let nodes: Vec<NodeSpec> = inputs
            .cluster
            .nodes
            .iter()
            .map(|n| NodeSpec {
                name: n.name.clone(),
                gpu_type: canonical(inputs, &n.gpu_type),
                gpus: n.gpus,
            })
            .collect();
        let mut run = Run {
            inputs,
            scenario,
            state: State::with_nodes(settings, &nodes),
            agenda: Agenda::default(),
            happenings: Vec::new(),
            jobs: Vec::new(),
            running: Vec::new(),
            live: 0,
            arrived: 0,
            ended: 0,
            pending_happenings: 0,
            now: Time(0),
            ticking: false,
            recorder: Recorder::new(scenario.detail),
            open_segments: BTreeMap::new(),
            migrations: 0,
            preemptions: 0,
            last_finish: Time(0),
            trouble: None,
            kinds: BTreeMap::new(),
            tenant_keys: BTreeMap::new(),
            medians,
            reference,
        };
        let mut order: Vec<usize> = (0..inputs.trace.jobs.len()).collect();
        order.sort_by(|&a, &b| {
            let submit = |i: usize| inputs.trace.jobs[i].submit_s;
            submit(a).total_cmp(&submit(b)).then(a.cmp(&b))
        });
        for index in order {
            run.add_job(index, &inputs.trace.jobs[index]);
        }
        run
    }

    /// Adds a job of the trace, its tenant and its workload.
    fn add_job(&mut self, index: usize, job: &TraceJob) {
        let Some((rates, work)) = work_of(job, self.inputs.profiles) else { return };
        let tenant = match self.tenant_keys.get(&job.tenant) {
            Some(&known) => known,
            None => {
                let key = self.state.tenant(&job.tenant, job.weight.unwrap_or(1.0));
                self.tenant_keys.insert(job.tenant.clone(), key);
                key
            }
        };
        let model = job.model.clone().unwrap_or_default();
        let kind = (tenant.0, model.to_lowercase(), job.batch_size);
        let known = self.kinds.get(&kind).copied();
        let workload = known.unwrap_or_else(|| {
            let key = self.add_workload(tenant, &job.tenant, &model, job.batch_size, &rates);
            self.kinds.insert(kind, key);
            key
        });
        let unit = self.unit(&rates);
        self.jobs.push(SimJob {
            index,
            tenant,
            workload,
            workers: job.gpus,
            priority: job.priority,
            submit: Time::from_seconds(job.submit_s),
            rates,
            work,
            done: 0.0,
            unit,
            run: None,
            first_start: None,
            finish: None,
            starts: 0,
            cancelled: false,
        });
    }

    fn add_workload(
        &mut self,
        tenant: TenantKey,
        owner: &str,
        model: &str,
        batch_size: Option<u32>,
        rates: &JobRates,
    ) -> WorkloadKey {
        let name = match batch_size {
            Some(size) => format!("{model}/{size}"),
            None => model.to_string(),
        };
        let lie = self.scenario.lies.iter().find(|l| l.tenant == owner);
        let seeded = format!("{owner}/{name}");
        let unit = self.unit(rates);
        let truth = rates.per_gpu();
        self.recorder.truths.push(truth.iter().map(|speed| speed / unit).collect());
        let told = report(&truth, self.scenario.profile_error, lie, self.scenario.seed, &seeded);
        let profile = Profile { throughput: told, provenance: Provenance::Declared };
        // The tenant was added just before.
        self.state.workload(tenant, &name, 1.0, profile).unwrap_or_default()
    }

    /// Units of work per second that count as one reference GPU.
    fn unit(&self, rates: &JobRates) -> f64 {
        let per_gpu = rates.per_gpu();
        let at_reference = per_gpu.get(self.reference).copied().unwrap_or(0.0);
        if at_reference > 0.0 {
            return at_reference;
        }
        let runs = per_gpu.iter().zip(&self.medians).filter(|(speed, _)| **speed > 0.0);
        let slowest = runs.min_by(|a, b| a.0.total_cmp(b.0));
        slowest.map_or(1.0, |(speed, median)| speed / median.max(f64::MIN_POSITIVE))
    }

    fn fill_agenda(&mut self) {
        for (index, job) in self.jobs.iter().enumerate() {
            self.agenda.add(job.submit, Entry::Arrives(index));
        }
        let end = self.scenario.until_s.unwrap_or_else(|| {
            let last = self.jobs.iter().map(|j| j.submit).max().unwrap_or_default();
            // Failures go on for a while after the last submission; how long the run takes is not known.
            last.seconds() * 2.0 + 86_400.0
        });
        let mut all: Vec<(Time, Happening)> = self
            .scenario
            .happenings
            .iter()
            .map(|(at, h)| (Time::from_seconds(*at), h.clone()))
            .collect();
        let nodes = &self.inputs.cluster.nodes;
        let outages = self.scenario.failures.map(|f| f.until(end, nodes.len(), self.scenario.seed));
        for outage in outages.into_iter().flatten() {
            let node = nodes[outage.node].name.clone();
            let down = Happening::NodeDown { node: node.clone() };
            all.push((Time::from_seconds(outage.from_s), down));
            all.push((Time::from_seconds(outage.to_s), Happening::NodeUp { node }));
        }
        for (index, (at, _)) in all.iter().enumerate() {
            self.agenda.add(*at, Entry::Happens(index));
        }
        self.pending_happenings = all.len();
        self.happenings = all;
    }

    fn is_over(&self, at: Time) -> bool {
        let late = self.scenario.until_s.is_some_and(|end| at > Time::from_seconds(end));
        late || (self.ended == self.jobs.len() && self.scenario.until_s.is_none())
    }

    fn tell(&mut self, kind: EventKind) -> Result<(), SimulationError> {
        let mut todo = step(&mut self.state, Event { at: self.now, kind });
        // A stop is answered at once: what it costs is counted when the job starts again.
        while !todo.is_empty() {
            let mut answers = Vec::new();
            for action in todo {
                match action {
                    Action::Start { job, lease, .. } => self.started(job, &lease),
                    Action::Keep { .. } => {}
                    Action::Preempt { job, generation, why } => {
                        self.preemptions += u64::from(why != StopReason::Cancelled);
                        self.stopped(job);
                        answers.push(EventKind::Preempted { job, generation });
                    }
                    Action::Migrate { job, generation, .. } => {
                        self.migrations += 1;
                        self.stopped(job);
                        answers.push(EventKind::Preempted { job, generation });
                    }
                    Action::Refuse(refusal) => return Err(SimulationError::Refused(refusal)),
                }
            }
            todo = Vec::new();
            for kind in answers {
                todo.extend(step(&mut self.state, Event { at: self.now, kind }));
            }
        }
        Ok(())
    }

    fn started(&mut self, id: JobId, lease: &Lease) {
        let index = id.0 as usize;
        let cost = self.scenario.settings.restart_cost;
        let job = &mut self.jobs[index];
        let end = job.start(lease, self.state.cluster(), self.now, cost);
        self.agenda.add(end, Entry::Ends(index, lease.generation));
        self.running.push(index);
        if self.recorder.detail == Detail::Full {
            self.open_segments.insert(index, (self.now, lease.clone()));
        }
    }

    fn stopped(&mut self, id: JobId) {
        let index = id.0 as usize;
        self.count(index);
        self.jobs[index].run = None;
        self.running.retain(|&r| r != index);
        self.close_segment(index);
    }

    /// Counts a running job's work and GPU time up to now.
    fn count(&mut self, index: usize) {
        let job = &mut self.jobs[index];
        let Some(before) = job.run.as_ref().map(|run| run.counted) else { return };
        let worked = job.count(self.now);
        let held = self.now.since(before).seconds() * f64::from(job.workers);
        self.recorder.worked(job.tenant, worked);
        self.recorder.held(job.tenant, held);
    }

    fn close_segment(&mut self, index: usize) {
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
        self.tell(EventKind::Tick)?;
        let waiting = self.live.saturating_sub(self.running.len()) as u32;
        self.recorder.begin_round(&self.state, &self.jobs, waiting, &self.running);
        if let Some(trouble) = self.state.entitlement().trouble() {
            self.trouble.get_or_insert_with(|| trouble.to_string());
        }
        // Nothing runs, and nothing can change that: only what arrives or happens makes another round.
        let stuck = self.running.is_empty();
        self.ticking = self.live > 0 && !stuck;
        if self.ticking || (stuck && self.live > 0 && self.pending_happenings > 0) {
            self.ticking = true;
            self.agenda.add(self.now + self.state.settings().round, Entry::Tick);
        }
        Ok(())
    }

    fn finish(mut self) -> RunResult {
        if let Some(end) = self.scenario.until_s {
            self.now = Time::from_seconds(end).max(self.now);
        }
        let running = std::mem::take(&mut self.running);
        for &index in &running {
            self.count(index);
            self.close_segment(index);
        }
        self.recorder.end_round(&self.state, self.now);
        summarise(self)
    }
}

fn summarise(run: Run<'_>) -> RunResult {
    let mut recorder = run.recorder;
    recorder
        .segments
        .sort_by(|a, b| (a.node, a.gpu).cmp(&(b.node, b.gpu)).then(a.from_s.total_cmp(&b.from_s)));
    for (record, tenant) in recorder.tenants.iter_mut().zip(run.state.tenants()) {
        (record.name, record.weight) = (tenant.name.clone(), tenant.weight);
    }
    let seconds = |t: Option<Time>| t.map(Time::seconds);
    let jobs: Vec<JobRecord> = (run.jobs.iter())
        .map(|job| JobRecord {
            job: job.index,
            tenant: job.tenant.0,
            workers: job.workers,
            submit_s: job.submit.seconds(),
            start_s: seconds(job.first_start),
            finish_s: seconds(job.finish),
            restarts: job.starts.saturating_sub(1),
        })
        .collect();
    let jct: Vec<f64> = jobs.iter().filter_map(|j| Some(j.finish_s? - j.submit_s)).collect();
    let wait: Vec<f64> = jobs.iter().filter_map(|j| Some(j.start_s? - j.submit_s)).collect();
    let first = jobs.iter().map(|j| j.submit_s).fold(f64::INFINITY, f64::min);
    let live = recorder.live_seconds.max(f64::MIN_POSITIVE);
    RunResult {
        mechanism: run.scenario.settings.mechanism,
        rounds: run.state.round().0,
        seconds: run.now.seconds(),
        finished: jct.len(),
        unfinished: jobs.len() - jct.len(),
        jct: Quantiles::of(&jct),
        wait: Quantiles::of(&wait),
        makespan: if jct.is_empty() { 0.0 } else { run.last_finish.seconds() - first },
        estimated: recorder.estimated / live,
        actual: recorder.actual / live,
        utilisation: recorder.held / recorder.capacity.max(f64::MIN_POSITIVE),
        straggler_workers: recorder.straggler_workers,
        migrations: run.migrations,
        preemptions: run.preemptions,
        overcommitted: recorder.overcommitted,
        worst_sharing_incentive: least(&recorder.tenants, |t| t.delivered),
        worst_promised_incentive: least(&recorder.tenants, |t| t.promised),
        deficit_max: recorder.deficit_max,
        solves: run.state.entitlement().solves(),
        trouble: run.trouble,
        tenants: recorder.tenants,
        jobs,
        series: recorder.series,
        segments: recorder.segments,
        busiest: recorder.busiest,
    }
}

/// Rounds that a tenant must have been there before its throughput is compared with its equal split: a gang
/// that saves up for its turn gets nothing at first, and all of it later.
const COMPARED_ROUNDS_MIN: u64 = 12;

/// The least ratio to the equal split among tenants that were there long enough.
fn least(tenants: &[TenantRecord], figure: impl Fn(&TenantRecord) -> f64) -> f64 {
    let there = tenants.iter().filter(|t| t.rounds >= COMPARED_ROUNDS_MIN && t.equal_split > 0.0);
    let least = there.map(|t| figure(t) / t.equal_split).fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { 0.0 }
}

/// The cluster's own spelling of a type.
fn canonical(inputs: &Inputs<'_>, name: &str) -> String {
    let column = inputs.profiles.type_index(name);
    column.map_or_else(|| name.to_string(), |j| inputs.profiles.types[j].clone())
}

/// The reference type (the one asked for, or else the one that is slowest for the most jobs), and the median
/// speedup of every type over it.
fn reference(inputs: &Inputs<'_>, scenario: &Scenario) -> (usize, Vec<f64>) {
    let table = inputs.profiles;
    let asked = scenario.settings.reference.as_deref().and_then(|name| table.type_index(name));
    let reference = asked.unwrap_or_else(|| slowest_for_most(inputs));
    let medians = (0..table.types.len()).map(|j| median_speedup(table, reference, j));
    (reference, medians.collect())
}

fn slowest_for_most(inputs: &Inputs<'_>) -> usize {
    let table = inputs.profiles;
    let mut votes = vec![0usize; table.types.len().max(1)];
    let mut known: BTreeMap<(String, Option<u32>), Option<usize>> = BTreeMap::new();
    for job in &inputs.trace.jobs {
        let model = job.model.clone().unwrap_or_default();
        let slowest = known.entry((model, job.batch_size)).or_insert_with_key(|(model, size)| {
            let row = table.nearest_scale(model, *size, 1)?;
            let runs = row.throughput.iter().enumerate().filter_map(|(j, t)| Some((j, (*t)?)));
            runs.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(j, _)| j)
        });
        if let Some(j) = slowest {
            votes[*j] += 1;
        }
    }
    // The first of the most voted.
    (0..votes.len()).rev().max_by_key(|&j| votes[j]).unwrap_or(0)
}

fn median_speedup(table: &ProfileTable, reference: usize, gpu: usize) -> f64 {
    let mut speedups: Vec<f64> = table
        .rows
        .iter()
        .filter_map(|row| Some((*row.throughput.get(gpu)?)? / (*row.throughput.get(reference)?)?))
        .filter(|s| s.is_finite() && *s > 0.0)
        .collect();
    speedups.sort_by(f64::total_cmp);
    speedups.get(speedups.len() / 2).copied().unwrap_or(1.0)
}
