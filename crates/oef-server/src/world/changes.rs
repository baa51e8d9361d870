//! Jobs that are changed after they were submitted, and what they wait for before they may start.

use super::texts::text_bytes;
use super::{JobEntry, Reason, Rejection, SweepEntry, World};
use jiff::Timestamp;
use oef_api::memory::mebibytes;
use oef_api::types::{
    Dependency, DependencyCondition, Event, EventTopic, JobPatch, JobState, JobSubmit,
};
use oef_sched::{EventKind, Gate, JobChange, JobId, Span, SweepLimit, Time};
use std::sync::Arc;

/// Whether a job that ended so lets one start that waits for it.
pub(crate) fn is_met(condition: DependencyCondition, ended: JobState) -> bool {
    match condition {
        DependencyCondition::Finished => ended == JobState::Finished,
        DependencyCondition::Ended => ended.is_final(),
        DependencyCondition::Failed => ended.is_failure(),
    }
}

/// What a job wanted of one that ended otherwise.
pub(crate) fn unmet(dependency: &Dependency, ended: JobState) -> Reason {
    Reason::DependencyUnmet { job: JobId(dependency.job), when: dependency.when, ended }
}

impl SweepEntry {
    /// As the scheduler needs to know it: only a limit counts there.
    pub(super) fn limit(&self) -> Option<SweepLimit> {
        self.at_once.map(|jobs| SweepLimit { sweep: self.first, jobs })
    }
}

impl World {
    /// What has to be over before a job starts, as things are.
    pub(super) fn gate(&self, at: Time, spec: &JobSubmit) -> Gate {
        let is_open = |dependency: &&Dependency| match self.jobs.get(&JobId(dependency.job)) {
            Some(job) if job.state.is_final() => !is_met(dependency.when, job.state),
            Some(_) => true,
            // It was looked at when the job was submitted; forgotten since, it has ended.
            None => false,
        };
        let after = spec.after.iter().filter(is_open).map(|d| JobId(d.job)).collect();
        let not_before = spec.not_before.map(millis).filter(|start| *start > at);
        Gate { held: spec.held, not_before, after }
    }

    /// Something about a job was changed.
    pub(super) fn job_changed(
        &mut self,
        id: JobId,
        by: &str,
        patch: &JobPatch,
    ) -> Result<(), Rejection> {
        let job = self.live_job(id)?;
        if patch.needs_waiting().is_some() && job.state != JobState::Queued {
            return Err(Rejection::WrongState(id));
        }
        let (before, spec) = (job.spec.clone(), patch.apply_to(&job.spec));
        let gates = |spec: &JobSubmit| (spec.held, spec.not_before, spec.after.clone());
        let change = JobChange {
            priority: patch.priority,
            types: (before.types != spec.types)
                .then(|| (!spec.types.is_empty()).then(|| spec.types.clone())),
            memory: patch.gpu_memory_gib.map(|least| least.map(mebibytes)),
            now: patch.now,
            gate: (gates(&before) != gates(&spec)).then(|| self.gate(self.at, &spec)),
            min_run: None,
            max_run: patch.max_run_s.map(|max| max.map(Span::from_seconds)),
        };
        let actions = self.change_in_scheduler(id, change)?;
        let what = describe(&before, &spec, by);
        let Some(job) = self.jobs.get_mut(&id).map(Arc::make_mut) else { return Ok(()) };
        job.spec = spec.clone();
        let (tenant, state) = (job.tenant().to_string(), job.state);
        self.index.drop_text(&tenant, text_bytes(&before));
        self.index.add_text(&tenant, text_bytes(&spec));
        self.find_unmet(id);
        match state {
            JobState::Queued => self.set_state(id, state, what.clone()),
            _ => self.tell(id, format!("job {id} ({}): {what}", spec.name.unwrap_or_default())),
        }
        self.follow_because(actions, Some(&what));
        Ok(())
    }

    /// Tells the scheduler, and keeps the times at which jobs wake up.
    fn change_in_scheduler(
        &mut self,
        id: JobId,
        change: JobChange,
    ) -> Result<Vec<oef_sched::Action>, Rejection> {
        let before = self.start_time(id);
        let actions = self.step(EventKind::Changed { job: id, change })?;
        before.map(|before| self.index.wakeups.remove(&(before, id)));
        self.index_waits(id);
        Ok(actions)
    }

    /// Notes when a job wakes up, and whom it waits for.
    pub(super) fn index_waits(&mut self, id: JobId) {
        let retry = self.jobs.get(&id).and_then(|job| job.retry_at);
        let start = self.start_time(id);
        self.index.wakeups.extend(start.into_iter().chain(retry).map(|at| (at, id)));
        self.index.depends(id, self.sched.job(id).map_or(&[], |job| &job.spec().gate.after));
    }

    /// The time before which a job does not start, while it has not come.
    pub(super) fn start_time(&self, id: JobId) -> Option<Time> {
        self.sched.job(id)?.spec().gate.not_before
    }

    /// The jobs that a live job waits for.
    pub(super) fn waits_for(&self, id: JobId) -> &[JobId] {
        self.sched.job(id).map_or(&[], |job| &job.spec().gate.after)
    }

    /// A job's start time has come.
    pub(super) fn start_time_came(&mut self, id: JobId) -> Result<(), Rejection> {
        let Some(job) = self.sched.job(id) else { return Err(Rejection::UnknownJob(id)) };
        let gate = Gate { not_before: None, ..job.spec().gate.clone() };
        let change = JobChange { gate: Some(gate), ..JobChange::default() };
        let actions = self.change_in_scheduler(id, change)?;
        self.set_state(id, JobState::Queued, Reason::StartTimeCame);
        self.follow(actions);
        Ok(())
    }

    /// A job has ended: those that waited for it may start, or never will.
    pub(super) fn resolve_dependents(&mut self, ended: JobId) {
        let Some(state) = self.jobs.get(&ended).map(|job| job.state) else { return };
        for id in self.index.dependents(ended) {
            let Some(job) = self.jobs.get(&id) else { continue };
            let mut on_it = job.spec.after.iter().filter(|d| d.job == ended.0);
            if !on_it.all(|dependency| is_met(dependency.when, state)) {
                self.due.never_starts(id);
                continue;
            }
            let Some(job) = self.sched.job(id) else { continue };
            let mut gate = job.spec().gate.clone();
            gate.after.retain(|job| *job != ended);
            let change = JobChange { gate: Some(gate), ..JobChange::default() };
            // A live job that was not cancelled takes any gate: nothing can be refused.
            let actions = self.change_in_scheduler(id, change).unwrap_or_default();
            let reason = Reason::DependencyMet { job: ended, ended: state };
            self.set_state(id, JobState::Queued, reason);
            self.follow(actions);
        }
    }

    /// Looks whether a job waits for one that has ended otherwise already.
    pub(super) fn find_unmet(&mut self, id: JobId) {
        if self.unmet_dependency(id).is_some() {
            self.due.never_starts(id);
        }
    }

    /// Why a job can never start: it waits for a job that ended otherwise.
    pub(super) fn unmet_dependency(&self, id: JobId) -> Option<Reason> {
        let job = self.jobs.get(&id).filter(|job| !job.state.is_final())?;
        let open = self.waits_for(id);
        let ended = job.spec.after.iter().filter(|d| open.contains(&JobId(d.job))).find_map(|d| {
            let state = self.jobs.get(&JobId(d.job))?.state;
            (state.is_final() && !is_met(d.when, state)).then_some((d, state))
        });
        ended.map(|(dependency, state)| unmet(dependency, state))
    }

    /// Something about a job, in the state that it is in.
    pub(super) fn tell(&mut self, id: JobId, message: String) {
        let Some(entry) = self.jobs.get(&id) else { return };
        let (job, state) = (Some(id.0), Some(entry.state));
        let tenant = Some(entry.tenant().to_string());
        let event = self.event(EventTopic::Job, message);
        self.push_event(Event { job, state, tenant, ..event });
    }
}

/// What was changed, and by whom.
fn describe(before: &JobSubmit, after: &JobSubmit, by: &str) -> Reason {
    let by = by.to_string();
    match (before.held, after.held) {
        (false, true) => return Reason::Held { by },
        (true, false) => return Reason::Released { by },
        _ => {}
    }
    let fields = [
        ("name", before.name != after.name),
        ("priority", before.priority != after.priority),
        ("gpu types", before.types != after.types),
        ("gpu memory", before.gpu_memory_gib != after.gpu_memory_gib),
        ("start at once", before.now != after.now),
        ("labels", before.labels != after.labels),
        ("time limit", before.max_run_s != after.max_run_s),
        ("start time", before.not_before != after.not_before),
        ("dependencies", before.after != after.after),
    ];
    let changed = fields.into_iter().filter(|(_, is_new)| *is_new);
    Reason::Edited { fields: changed.map(|(name, _)| name.into()).collect(), by }
}

/// An instant as the scheduler counts.
pub(super) fn millis(at: Timestamp) -> Time {
    Time(u64::try_from(at.as_millisecond()).unwrap_or(0))
}

impl JobEntry {
    /// The number of its sweep's first job.
    pub fn sweep_id(&self) -> Option<u64> {
        self.sweep.map(|sweep| sweep.first.0)
    }
}
