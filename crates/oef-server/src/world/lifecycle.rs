//! Jobs come, start, tell how far they are, and are cancelled.

use super::record::SubmitKey;
use super::texts::text_bytes;
use super::{
    Action, JobEntry, NewJob, NewSweep, Reason, Rejection, RunEntry, SweepEntry, Telemetry, World,
};
use oef_api::memory::mebibytes;
use oef_api::types::{GpuRef, JobState, JobSubmit};
use oef_report::format::counted;
use oef_sched::{
    EventKind, Generation, GpuId, JobId, JobSpec, Lease, Span, StartReason, TenantKey, Time,
    WorkloadKey,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Runs of one job that are remembered.
const RUNS_MAX: usize = 50;
/// How much of the throughput that was told before stays when a new figure comes: the mean of some ten.
const OBSERVED_MEMORY: f64 = 0.9;

impl World {
    pub(super) fn submitted(
        &mut self,
        jobs: &[NewJob],
        key: Option<&SubmitKey>,
        sweep: Option<NewSweep>,
    ) -> Result<(), Rejection> {
        if let Some(known) = key.and_then(|key| self.keys.get(&key.text())) {
            return Err(Rejection::Repeated(known.jobs.clone()));
        }
        self.check_new(jobs)?;
        let sweep = sweep
            .zip(jobs.first())
            .map(|(sweep, first)| SweepEntry { first: JobId(first.id), at_once: sweep.at_once });
        for job in jobs {
            self.take_in(job, sweep)?;
        }
        self.totals.submitted += jobs.len() as u64;
        if let Some(key) = key {
            let ids = jobs.iter().map(|job| JobId(job.id)).collect();
            self.remember_key(key, ids);
        }
        Ok(())
    }

    /// A job that the cluster's own scheduler looks after: it counts as any other, and nothing is decided about it here.
    pub(super) fn noticed_job(&mut self, job: &NewJob, origin: &str) -> Result<(), Rejection> {
        self.submitted(std::slice::from_ref(job), None, None)?;
        if let Some(entry) = self.jobs.get_mut(&JobId(job.id)).map(Arc::make_mut) {
            entry.origin = Some(origin.into());
        }
        Ok(())
    }

    /// Everything that could be refused, before anything is changed.
    fn check_new(&self, jobs: &[NewJob]) -> Result<(), Rejection> {
        let mut next = self.next_job;
        self.room_for(jobs.iter().map(|job| &job.spec))?;
        for NewJob { id, spec } in jobs {
            if *id < next {
                return Err(Rejection::UsedNumber(*id));
            }
            next = id.saturating_add(1);
            self.known_tenant(spec.tenant.as_deref().unwrap_or_default())?;
            self.rule_of_readers(|| spec.workers.check())?;
            if spec.probe.is_some() && !self.is_pinned(&spec.types) {
                let why = "a profile run names the one gpu type that it is for";
                return Err(Rejection::Bad(why.into()));
            }
            if spec.workload.is_none() {
                return Err(Rejection::Bad("a job belongs to a workload".into()));
            }
        }
        Ok(())
    }

    /// Whether each tenant may have so many more jobs.
    pub fn room_for<'a>(&self, jobs: impl Iterator<Item = &'a JobSubmit>) -> Result<(), Rejection> {
        let mut more: BTreeMap<&str, usize> = BTreeMap::new();
        for job in jobs {
            *more.entry(job.tenant.as_deref().unwrap_or_default()).or_default() += 1;
        }
        for (name, more) in more {
            let Some(tenant) = self.tenants.get(name) else { continue };
            let limit = tenant.limits.jobs.unwrap_or(u32::MAX);
            if tenant.live as usize + more > limit as usize {
                let live = counted(tenant.live as usize, "job");
                return Err(Rejection::LimitReached(format!(
                    "tenant `{name}` has {live} that have not ended and may have {limit}"
                )));
            }
        }
        Ok(())
    }

    /// Whether these are exactly one gpu type that there is.
    fn is_pinned(&self, types: &[String]) -> bool {
        matches!(types, [one] if self.sched.cluster().type_named(one).is_some())
    }

    fn take_in(&mut self, job: &NewJob, sweep: Option<SweepEntry>) -> Result<(), Rejection> {
        let (id, spec) = (JobId(job.id), &job.spec);
        let tenant = spec.tenant.as_deref().unwrap_or_default();
        let workload = spec.workload.as_deref().unwrap_or_default();
        let workload = self.find_workload(tenant, workload)?;
        let Some(owner) = self.tenants.get_mut(tenant) else {
            return Err(Rejection::UnknownTenant(tenant.into()));
        };
        let key = owner.key;
        owner.live += 1;
        let reason = Reason::Submitted { held: spec.held, suspended: owner.suspended };
        let entry = JobEntry { sweep, ..new_entry(spec.clone(), workload, self.at) };
        self.jobs.insert(id, Arc::new(entry));
        self.next_job = job.id.saturating_add(1);
        self.index.insert(tenant, JobState::Queued, id);
        self.index.add_text(tenant, text_bytes(spec));
        if spec.probe.is_some() {
            self.index.add_probe(tenant, id);
        }
        self.set_state(id, JobState::Queued, reason);
        // A profile run counts as what it is: neither the profile nor the demand of its workload is touched.
        let probed = spec.probe.as_ref().and(spec.types.first());
        let counts_as = match probed {
            Some(gpu) => self.sched.probe_workload(workload, gpu).unwrap_or(workload),
            None => workload,
        };
        let spec = JobSpec {
            gate: self.gate(self.at, spec),
            sweep: sweep.and_then(|sweep| sweep.limit()),
            ..for_scheduler(spec, id, key, counts_as)
        };
        self.step_and_follow(EventKind::Submitted(spec))?;
        self.index_waits(id);
        self.find_unmet(id);
        Ok(())
    }

    /// Takes up what the scheduler wants done.
    pub(super) fn follow(&mut self, actions: Vec<oef_sched::Action>) {
        self.follow_because(actions, None);
    }

    /// The same where somebody's wish is the reason of a stop.
    pub(super) fn follow_because(
        &mut self,
        actions: Vec<oef_sched::Action>,
        because: Option<&Reason>,
    ) {
        for action in actions {
            match action {
                oef_sched::Action::Start { job, lease, why } => {
                    self.start(job, &lease, why);
                }
                oef_sched::Action::Keep { job, generation, until } => {
                    if let Some(run) =
                        self.jobs.get_mut(&job).map(Arc::make_mut).and_then(JobEntry::run_mut)
                    {
                        run.until = until;
                    }
                    self.actions.push(Action::Keep { job, generation, until });
                }
                oef_sched::Action::Preempt { job, generation, why }
                | oef_sched::Action::Migrate { job, generation, why, .. } => {
                    let why = match self.halted {
                        true => Reason::DaemonStops,
                        false => because.cloned().unwrap_or(Reason::Stopped { why }),
                    };
                    self.stop(job, generation, why);
                }
            }
        }
    }

    fn start(&mut self, id: JobId, lease: &Lease, why: StartReason) {
        let gpus: Vec<GpuRef> = lease.gpus.iter().map(|&gpu| self.gpu_ref(gpu)).collect();
        let Some(job) = self.jobs.get(&id) else { return };
        let rate = self.gang_rate(job.workload, &gpus);
        let tenant = job.tenant().to_string();
        let place = describe(&gpus);
        let Some(job) = self.jobs.get_mut(&id).map(Arc::make_mut) else { return };
        job.telemetry.measured = None;
        if job.started.is_some() {
            job.restarts += 1;
            self.totals.restarts += 1;
        }
        job.started.get_or_insert(self.at);
        if job.runs.len() >= RUNS_MAX {
            job.runs.remove(0);
        }
        let held = gpus.clone();
        job.runs.push(RunEntry {
            generation: lease.generation,
            gpus,
            rate,
            until: lease.until,
            steps_before: job.telemetry.steps,
            began: self.at,
            started: None,
            stepped: None,
            stop_at: None,
            stop: None,
            ended: None,
            ending: None,
            exit: None,
            detail: None,
        });
        self.deliver(&tenant, rate, &held, 1.0);
        self.set_state(id, JobState::Starting, Reason::Started { gpus: place, why });
        self.actions.push(Action::Start { job: id, generation: lease.generation });
    }

    fn stop(&mut self, id: JobId, generation: Generation, why: Reason) {
        if let Some(run) = self.jobs.get_mut(&id).map(Arc::make_mut).and_then(JobEntry::run_mut) {
            run.stop = Some(why.clone());
            run.stop_at.get_or_insert(self.at);
        }
        self.set_state(id, JobState::Stopping, why.clone());
        self.actions.push(Action::Stop { job: id, generation, why: why.to_string() });
    }

    pub(super) fn started(
        &mut self,
        id: JobId,
        generation: Generation,
        at_ms: Option<u64>,
        host: Option<&String>,
    ) -> Result<(), Rejection> {
        let at = self.at;
        let run = self.live_run(id, generation)?;
        if run.started.is_some() {
            return Err(Rejection::WrongState(id));
        }
        let place = describe(&run.gpus);
        let seen = Time(at_ms.unwrap_or(at.0)).clamp(run.began, at);
        run.started = Some(seen);
        if let Some(job) = self.jobs.get_mut(&id).map(Arc::make_mut) {
            job.settle(host, seen);
        }
        if self.jobs.get(&id).is_some_and(|job| job.state == JobState::Starting) {
            self.set_state(id, JobState::Running, Reason::Runs { gpus: place });
        }
        Ok(())
    }

    /// What a job waits for before its workers run. Only the last word is remembered.
    pub(super) fn preparing(
        &mut self,
        id: JobId,
        generation: Generation,
        detail: &str,
    ) -> Result<(), Rejection> {
        let run = self.live_run(id, generation)?;
        if run.started.is_some() {
            return Err(Rejection::WrongState(id));
        }
        let is_first = run.detail.replace(detail.into()).is_none();
        let Some(job) = self.jobs.get_mut(&id).map(Arc::make_mut) else { return Ok(()) };
        if job.state != JobState::Starting {
            return Ok(());
        }
        let reason = Reason::Preparing { detail: detail.into() };
        if is_first {
            self.set_state(id, JobState::Starting, reason);
            return Ok(());
        }
        if let Some(last) = job.history.last_mut() {
            last.reason = reason.clone();
        }
        job.reason = reason;
        Ok(())
    }

    /// Some workers of a gang that is started again have nothing left to do, and are told so.
    pub(super) fn workers_finished(
        &mut self,
        id: JobId,
        generation: Generation,
        ranks: &[u32],
    ) -> Result<(), Rejection> {
        self.live_run(id, generation)?;
        if let Some(job) = self.jobs.get_mut(&id).map(Arc::make_mut) {
            job.finished.extend(ranks);
        }
        Ok(())
    }

    pub(super) fn progress(
        &mut self,
        id: JobId,
        generation: Generation,
        telemetry: &Telemetry,
    ) -> Result<(), Rejection> {
        self.rule_of_readers(|| match telemetry.is_sound() {
            true => Ok(()),
            false => Err("a figure of the progress is not a number".into()),
        })?;
        self.live_run(id, generation)?;
        self.step(EventKind::Progress { job: id, generation, steps: telemetry.steps })?;
        let Some(job) = self.jobs.get_mut(&id).map(Arc::make_mut) else { return Ok(()) };
        if telemetry.checkpoint > job.telemetry.checkpoint {
            job.checkpoint_at = Some(self.at);
        }
        job.has_saved(telemetry.checkpoint);
        job.telemetry = telemetry.clone();
        self.stepped(id);
        self.observe(id);
        self.listen(id);
        Ok(())
    }

    /// Counts a job's own figure for its workload, where all its GPUs are of one type.
    fn observe(&mut self, id: JobId) {
        // The first steps of a profile run are slow, and what it measures goes into the profile.
        let Some(job) = self.jobs.get(&id).filter(|job| job.spec.probe.is_none()) else { return };
        let (Some(run), Some(throughput)) = (job.run(), job.telemetry.throughput) else { return };
        let Some(first) = run.gpus.first() else { return };
        let one_type = run.gpus.iter().all(|gpu| gpu.gpu_type == first.gpu_type);
        let each = throughput / run.gpus.len() as f64;
        if !one_type || each <= 0.0 {
            return;
        }
        if let Some(workload) = self.workloads.get_mut(&job.workload) {
            let seen = workload.observed.entry(first.gpu_type.clone()).or_insert(each);
            *seen = OBSERVED_MEMORY * *seen + (1.0 - OBSERVED_MEMORY) * each;
        }
    }

    /// A job that has not ended, and that nobody has cancelled.
    pub(super) fn live_job(&self, id: JobId) -> Result<&JobEntry, Rejection> {
        match self.jobs.get(&id) {
            None => Err(Rejection::UnknownJob(id)),
            Some(job) if job.state.is_final() => Err(Rejection::JobEnded(id)),
            Some(job) if job.cancelled_by.is_some() => Err(Rejection::CancelledAlready(id)),
            Some(job) => Ok(job),
        }
    }

    pub(super) fn cancelled(
        &mut self,
        id: JobId,
        by: &str,
        why: Option<&Reason>,
    ) -> Result<(), Rejection> {
        self.live_job(id)?;
        let actions = self.step(EventKind::Cancelled { job: id })?;
        if let Some(job) = self.jobs.get_mut(&id).map(Arc::make_mut) {
            job.cancelled_by = Some(by.into());
        }
        let reason = why.cloned().unwrap_or_else(|| Reason::Cancelled { by: by.into() });
        let state = match self.sched.job(id) {
            None => JobState::Cancelled,
            Some(_) => JobState::Stopping,
        };
        self.set_state(id, state, reason.clone());
        self.follow_because(actions, Some(&reason));
        Ok(())
    }

    pub(super) fn released(&mut self, id: JobId) -> Result<(), Rejection> {
        let job = self.jobs.get(&id).ok_or(Rejection::UnknownJob(id))?;
        if self.start_time(id).is_some_and(|start| start <= self.at) {
            return self.start_time_came(id);
        }
        let due = job.retry_at.ok_or(Rejection::WrongState(id))?;
        let actions = self.step(EventKind::Release { job: id })?;
        self.index.wakeups.remove(&(due, id));
        if let Some(job) = self.jobs.get_mut(&id).map(Arc::make_mut) {
            job.retry_at = None;
        }
        self.set_state(id, JobState::Queued, Reason::TriedAgain);
        self.follow(actions);
        Ok(())
    }

    /// The run of a live job under a lease.
    fn live_run(&mut self, id: JobId, given: Generation) -> Result<&mut RunEntry, Rejection> {
        let job = self.jobs.get_mut(&id).map(Arc::make_mut).ok_or(Rejection::UnknownJob(id))?;
        if job.state.is_final() {
            return Err(Rejection::JobEnded(id));
        }
        let run = job.run_mut().filter(|run| run.generation == given);
        run.ok_or(Rejection::WrongState(id))
    }

    /// A GPU by name.
    pub(crate) fn gpu_ref(&self, gpu: GpuId) -> GpuRef {
        let cluster = self.sched.cluster();
        let node = cluster.nodes().get(gpu.node.0);
        let gpu_type = node.and_then(|node| cluster.types().get(node.gpu_type().0));
        GpuRef {
            node: node.map_or_else(String::new, |node| node.name().into()),
            index: gpu.index,
            gpu_type: gpu_type.cloned().unwrap_or_default(),
        }
    }
}

/// A job as the scheduler sees it.
pub(crate) fn for_scheduler(
    spec: &JobSubmit,
    id: JobId,
    tenant: TenantKey,
    workload: WorkloadKey,
) -> JobSpec {
    JobSpec {
        priority: spec.priority,
        now: spec.now,
        types: (!spec.types.is_empty()).then(|| spec.types.clone()),
        one_type: spec.one_type,
        memory: spec.gpu_memory_gib.map(mebibytes),
        min_run: spec.min_run_s.map(Span::from_seconds),
        max_run: spec.max_run_s.map(Span::from_seconds),
        steps: spec.steps,
        ..JobSpec::new(id, tenant, workload, *spec.workers)
    }
}

pub(crate) fn new_entry(spec: JobSubmit, workload: WorkloadKey, at: Time) -> JobEntry {
    JobEntry {
        spec,
        workload,
        submitted: at,
        started: None,
        ended: None,
        state: JobState::Queued,
        reason: Reason::Text(String::new()),
        history: Vec::new(),
        runs: Vec::new(),
        telemetry: Telemetry::default(),
        checkpoints: None,
        finished: Default::default(),
        checkpoint_at: None,
        failures: 0,
        losses: 0,
        hindrances: 0,
        steps_at_loss: 0.0,
        retry_at: None,
        ran_ms: 0,
        restarts: 0,
        cancelled_by: None,
        sweep: None,
        origin: None,
    }
}

/// GPUs in words: `2 rtx3090 on rtx3090-0`, with more nodes counted.
fn describe(gpus: &[GpuRef]) -> String {
    let mut types: Vec<&str> = gpus.iter().map(|gpu| gpu.gpu_type.as_str()).collect();
    types.dedup();
    let mut nodes: Vec<&str> = gpus.iter().map(|gpu| gpu.node.as_str()).collect();
    nodes.sort();
    nodes.dedup();
    let place = match nodes.as_slice() {
        [one] => (*one).into(),
        several => format!("{} nodes", several.len()),
    };
    format!("{} {} on {place}", gpus.len(), types.join("+"))
}

/// A length of time for people; tenths below ten seconds.
pub(super) fn shown(span: Span) -> String {
    match span.0 < 10_000 && !span.0.is_multiple_of(1000) {
        true => format!("{:.1}s", span.seconds()),
        false => span.to_string(),
    }
}
