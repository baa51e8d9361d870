//! Histories and events: what people are told, within limits.

use super::changes::millis;
use super::texts::{shorten, text_bytes};
use super::{Action, JobEntry, Reason, StateChange, World};
use jiff::Timestamp;
use oef_api::types::{Event, EventTopic, JobState};
use oef_sched::{JobId, Time};
use std::sync::Arc;

/// Changes of one job's state that are remembered. The first ones tell how it began, the last ones how it
/// is; a job that is preempted every round for a month has 17,000.
const HISTORY_MAX: usize = 100;
/// Of those, the oldest that stay.
const HISTORY_FIRST: usize = 10;

impl World {
    /// Something happened that is about no single job.
    pub(super) fn note(&mut self, topic: EventTopic, tenant: Option<&str>, message: String) {
        let tenant = tenant.map(String::from);
        self.push_event(Event { tenant, ..self.event(topic, message) });
    }

    /// An event of now that names nothing yet; its number comes when it is pushed.
    pub(super) fn event(&self, topic: EventTopic, message: String) -> Event {
        Event {
            id: 0,
            at: timestamp(self.at),
            topic,
            job: None,
            state: None,
            tenant: None,
            round: None,
            message,
        }
    }

    /// Something happened, numbered here.
    pub(super) fn push_event(&mut self, mut event: Event) {
        event.id = self.next_event;
        self.next_event += 1;
        self.events.push_back(event);
        self.forget_events();
    }

    /// Forgets the oldest events beyond the limit.
    pub(super) fn forget_events(&mut self) {
        while self.events.len() > self.settings.events_max {
            self.events.pop_front();
        }
    }

    /// A job's state changes, with a reason.
    pub(super) fn set_state(&mut self, id: JobId, state: JobState, reason: Reason) {
        if !matches!(state, JobState::Starting | JobState::Running) {
            self.stop_listening(id);
        }
        let Some(job) = self.jobs.get_mut(&id).map(Arc::make_mut) else { return };
        let before = std::mem::replace(&mut job.state, state);
        job.reason = reason;
        remember(job, self.at);
        let is_new = job.history.len() == 1;
        if let Some(due) = job.retry_at
            && state != JobState::Queued
        {
            job.retry_at = None;
            self.index.wakeups.remove(&(due, id));
        }
        let (tenant, name) = (job.tenant().to_string(), job.name().to_string());
        let message = format!("job {id} ({name}) {}: {}", state.phrase(), job.reason);
        let is_orphan = !self.tenants.contains_key(&tenant);
        if state.is_final() && !before.is_final() {
            job.ended = Some(self.at);
            self.index.drop_text(&tenant, text_bytes(&job.spec));
            shorten(&mut job.spec);
            self.ended.push_back(id);
            if let Some(owner) = self.tenants.get_mut(&tenant) {
                owner.live = owner.live.saturating_sub(1);
            }
            match state {
                JobState::Finished => self.totals.finished += 1,
                JobState::Failed => self.totals.failed += 1,
                JobState::TimedOut => self.totals.timed_out += 1,
                _ => self.totals.cancelled += 1,
            }
        }
        if before != state {
            self.index.remove(&tenant, before, id);
            self.index.insert(&tenant, state, id);
        }
        if before != state || is_new {
            self.notify(id, state);
        }
        self.tell(id, message);
        if state.is_final() && !before.is_final() {
            self.forget_waiting(id);
            self.resolve_dependents(id);
        }
        if state.is_final() && is_orphan {
            // Nobody is left who might ask for it, and a later tenant of that name must not see it.
            self.ended.retain(|job| *job != id);
            self.forget_job(id);
        }
        self.forget_ended();
    }

    /// An ended job waits for nothing any more.
    fn forget_waiting(&mut self, id: JobId) {
        self.index.depends(id, &[]);
        let start = self.jobs.get(&id).and_then(|job| job.spec.not_before);
        start.map(|start| self.index.wakeups.remove(&(millis(start), id)));
    }

    /// Forgets ended jobs beyond the limit: the first of the tenant with the most, so that no tenant's jobs, however many
    /// end, take the records, logs and checkpoints of another's. Before, it was the first of all.
    pub(super) fn forget_ended(&mut self) {
        while self.ended.len() > self.settings.ended_jobs_max {
            let of_most = || self.index.next_to_forget();
            let is_fair = self.meaning >= super::FORGETS_OF_THE_MOST;
            let first = if is_fair { of_most() } else { self.ended.front().copied() };
            let Some(id) = first else { break };
            match self.ended.iter().position(|job| *job == id) {
                Some(at) => drop(self.ended.remove(at)),
                None => break,
            }
            self.forget_job(id);
        }
    }

    /// Forgets an ended job; its place among the ended ones is the caller's business.
    pub(super) fn forget_job(&mut self, id: JobId) {
        if let Some(job) = self.jobs.remove(&id) {
            self.index.remove(job.tenant(), job.state, id);
            self.index.forget_probe(job.tenant(), id);
            self.actions.push(Action::Forget { job: id });
        }
    }
}

fn remember(job: &mut JobEntry, at: Time) {
    if job.history.len() >= HISTORY_MAX {
        job.history.remove(HISTORY_FIRST);
    }
    let (state, reason) = (job.state, job.reason.clone());
    job.history.push(StateChange { at_ms: at.0, state, reason });
}

/// An instant for people. What lies beyond the calendar is its last day.
pub(crate) fn timestamp(at: Time) -> Timestamp {
    let ms = i64::try_from(at.0).unwrap_or(i64::MAX);
    Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX)
}
