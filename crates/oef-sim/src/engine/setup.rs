//! From inputs and a scenario to a run that can begin: the cluster, tenants, workloads, jobs, and what will happen.

use super::agenda::{Agenda, Entry};
use super::jobs::{SimJob, work_of};
use super::record::{Recorder, Truth};
use super::run::Run;
use super::scenario::{Happening, Inputs, Scenario};
use crate::input::{ProfileTable, TraceJob};
use crate::world::{JobRates, profile_of, report};
use oef_sched::guard::Guard;
use oef_sched::{GangFigures, NodeSpec, Profile, Provenance, State, TenantKey, Time, WorkloadKey};
use std::collections::BTreeMap;
use std::rc::Rc;

impl<'a> Run<'a> {
    /// Everything in place, nothing begun.
    pub(super) fn new(inputs: &'a Inputs<'a>, scenario: &'a Scenario) -> Self {
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
            idle_rounds: 0,
            recorder: Recorder::new(scenario.detail),
            open_segments: BTreeMap::new(),
            migrations: 0,
            preemptions: 0,
            last_finish: Time(0),
            trouble: None,
            kinds: BTreeMap::new(),
            models: BTreeMap::new(),
            tenant_keys: BTreeMap::new(),
            hosts: hosts(inputs),
            medians,
            reference,
            guard: Guard::default(),
            found: Vec::new(),
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
        let Some(profile) = self.profile_of(job) else { return };
        let rates = JobRates::new(profile, job.gpus);
        let work = work_of(job, &rates, self.inputs.profiles);
        let tenant = match self.tenant_keys.get(&job.tenant) {
            Some(&known) => known,
            None => {
                let key = self.state.tenant(&job.tenant, job.weight.unwrap_or(1.0));
                self.state.set_order(key, self.scenario.order);
                self.tenant_keys.insert(job.tenant.clone(), key);
                key
            }
        };
        let model = job.model.clone().unwrap_or_default();
        let kind = (tenant.0, model.to_lowercase(), job.batch_size);
        let known = self.kinds.get(&kind).copied();
        let workload = known.unwrap_or_else(|| {
            let of = (job.tenant.as_str(), model.as_str(), job.batch_size);
            let key = self.add_workload(tenant, of, &rates.profile);
            self.kinds.insert(kind, key);
            key
        });
        let unit = self.unit(&rates.profile);
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

    /// The true speeds of a job's model, looked up once.
    fn profile_of(&mut self, job: &TraceJob) -> Option<Rc<Profile>> {
        let key = (job.model.clone()?, job.batch_size);
        if let Some(known) = self.models.get(&key) {
            return Some(Rc::clone(known));
        }
        let profile = Rc::new(profile_of(self.inputs.profiles, &key.0, key.1)?);
        self.models.insert(key, Rc::clone(&profile));
        Some(profile)
    }

    fn add_workload(
        &mut self,
        tenant: TenantKey,
        (owner, model, batch_size): (&str, &str, Option<u32>),
        truth: &Rc<Profile>,
    ) -> WorkloadKey {
        let name = match batch_size {
            Some(size) => format!("{model}/{size}"),
            None => model.to_string(),
        };
        let lie = self.scenario.lies.iter().find(|l| l.tenant == owner);
        let seeded = format!("{owner}/{name}");
        self.recorder.truths.push(Truth { profile: Rc::clone(truth), unit: self.unit(truth) });
        let (error, seed) = (self.scenario.profile_error, self.scenario.seed);
        let told = |figures: &[f64]| report(figures, error, lie, seed, &seeded);
        let gangs = truth
            .gangs
            .iter()
            .map(|gang| GangFigures { throughput: told(&gang.throughput), ..gang.clone() });
        let single = Profile::new(told(&truth.throughput), Provenance::Declared);
        let profile = Profile { gangs: gangs.collect(), ..single };
        // The tenant was added just before.
        self.state.workload(tenant, &name, 1.0, profile).unwrap_or_default()
    }

    /// Units of work per second that count as one reference GPU: what a single worker does there.
    fn unit(&self, profile: &Profile) -> f64 {
        let per_gpu = &profile.throughput;
        let at_reference = per_gpu.get(self.reference).copied().unwrap_or(0.0);
        if at_reference > 0.0 {
            return at_reference;
        }
        let runs = per_gpu.iter().zip(&self.medians).filter(|(speed, _)| **speed > 0.0);
        let slowest = runs.min_by(|a, b| a.0.total_cmp(b.0));
        slowest.map_or(1.0, |(speed, median)| speed / median.max(f64::MIN_POSITIVE))
    }

    /// Arrivals, happenings and outages.
    pub(super) fn fill_agenda(&mut self) {
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
}

/// By node: the first node of its host.
fn hosts(inputs: &Inputs<'_>) -> Vec<usize> {
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    let nodes = inputs.cluster.nodes.iter().enumerate();
    nodes.map(|(i, node)| *first.entry(&node.host).or_insert(i)).collect()
}

/// The cluster's own spelling of a type.
pub(super) fn canonical(inputs: &Inputs<'_>, name: &str) -> String {
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
