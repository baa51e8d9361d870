//! The trace's jobs in the simulated world: how much is left, and how fast it goes.

use crate::input::{ProfileTable, TraceJob, Work};
use crate::world::JobRates;
use oef_sched::guard::RunPlace;
use oef_sched::{Cluster, Generation, JobId, JobSpec, Lease, Span, TenantKey, Time, WorkloadKey};

/// One job of the trace.
#[derive(Debug)]
pub(crate) struct SimJob {
    /// Its place in the trace.
    pub index: usize,
    pub tenant: TenantKey,
    pub workload: WorkloadKey,
    pub workers: u32,
    pub priority: i32,
    pub submit: Time,
    pub rates: JobRates,
    /// Units of work in all, and done.
    pub work: f64,
    pub done: f64,
    /// Units of work per normalised unit of throughput and second.
    pub unit: f64,
    pub run: Option<RunState>,
    pub first_start: Option<Time>,
    pub finish: Option<Time>,
    pub starts: u32,
    pub cancelled: bool,
}

/// A job that holds GPUs.
#[derive(Clone, Debug)]
pub(crate) struct RunState {
    pub generation: Generation,
    /// Since when work is done: the start, and what a restart costs.
    pub from: Time,
    /// Up to when the work is counted.
    pub counted: Time,
    /// Units of work per second.
    pub rate: f64,
    /// Units of work per second if the gang stood on as few hosts as it can.
    pub possible: f64,
    /// Workers on gangs across types.
    pub across: bool,
    /// On more hosts than it needs.
    pub spread: bool,
    /// Where it stands, if that is on one type.
    pub place: Option<RunPlace>,
    /// GPUs that it holds, by type.
    pub gpus: Vec<u32>,
}

impl SimJob {
    pub fn spec(&self, id: JobId) -> JobSpec {
        let spec = JobSpec::new(id, self.tenant, self.workload, self.workers);
        JobSpec { priority: self.priority, steps: Some(self.work), ..spec }
    }

    /// Counts the work done up to now and returns it, in normalised units times seconds.
    pub fn count(&mut self, now: Time) -> f64 {
        let Some(run) = &mut self.run else { return 0.0 };
        let from = run.counted.max(run.from);
        run.counted = now.max(run.counted);
        let worked = (now.since(from).seconds() * run.rate).min(self.work - self.done).max(0.0);
        self.done += worked;
        worked / self.unit
    }

    /// Begins to run on a lease and returns the instant of the last step. `host_of` has the host of every node.
    pub fn start(
        &mut self,
        lease: &Lease,
        (cluster, host_of): (&Cluster, &[usize]),
        now: Time,
        cost: Span,
    ) -> Time {
        let mut types: Vec<usize> = Vec::new();
        let mut hosts = Vec::new();
        let mut gpus = vec![0; cluster.types().len()];
        for gpu in &lease.gpus {
            let gpu_type = cluster.nodes()[gpu.node.0].gpu_type().0;
            gpus[gpu_type] += 1;
            if !types.contains(&gpu_type) {
                types.push(gpu_type);
            }
            // A machine with several gpu types is several nodes, and no network lies between them.
            let host = host_of.get(gpu.node.0).copied().unwrap_or(gpu.node.0);
            if !hosts.contains(&host) {
                hosts.push(host);
            }
        }
        let across = types.len() > 1;
        let place = (types.first().copied().zip(hosts.first().copied())).filter(|_| !across);
        let (workers, nodes) = (self.workers, hosts.len() as u32);
        let place =
            place.map(|(gpu_type, node)| RunPlace { gpu_type, workers, nodes, node, kind: 0 });
        let rate = self.rates.on(types.iter().copied(), hosts.len());
        let needed = |&j: &usize| cluster.hosts_needed(j, self.workers) as usize;
        let possible = types.iter().map(|j| self.rates.on([*j], needed(j)));
        let possible = possible.fold(f64::INFINITY, f64::min);
        let spread = types.iter().map(needed).max().unwrap_or(1) < hosts.len();
        // The first start is part of the job; a later one is what preemption costs.
        let from = if self.starts == 0 { now } else { now + cost };
        self.starts += 1;
        self.first_start = self.first_start.or(Some(now));
        let generation = lease.generation;
        let counted = now;
        self.run = Some(RunState {
            generation,
            from,
            counted,
            rate,
            possible,
            across,
            spread,
            place,
            gpus,
        });
        let seconds = (self.work - self.done) / rate;
        let left = Span(((seconds * 1000.0).ceil().min(1e15)) as u64);
        from + left.max(Span(1))
    }
}

/// Units of work of a job of the trace.
pub(crate) fn work_of(job: &TraceJob, rates: &JobRates, profiles: &ProfileTable) -> f64 {
    let together = rates.together();
    let fastest = || together.iter().copied().fold(0.0, f64::max);
    match &job.work {
        Work::Steps(steps) => *steps,
        Work::DurationOnFastest(seconds) => seconds * fastest(),
        Work::DurationOn { gpu_type, seconds } => {
            let rate = profiles.type_index(gpu_type).map_or(0.0, |j| together[j]);
            seconds * if rate > 0.0 { rate } else { fastest() }
        }
    }
}
