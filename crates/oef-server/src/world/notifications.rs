//! Notifications, and the notices that wait to be delivered. The queue is a part of the world: a notice is durable with
//! the change that it is about, and gone when its delivery is durable.

use super::history::timestamp;
use super::{Rejection, World};
use oef_api::types::{EventTopic, JobState, Notice};
use oef_sched::{JobId, Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// Notices of one notification that wait. Beyond it the oldest are given up: the newest say how things are.
const WAITING_MAX: usize = 1000;
/// A notice that was not delivered for so long is of no use any more.
const KEPT_FOR: Span = Span(24 * 3600 * 1000);
/// A notification that fails for so long is told in an event.
const TOLD_AFTER: Span = Span(10 * 60 * 1000);
/// Characters of a reason in a notice: all of it fits into the pipe to a command.
const REASON_MAX: usize = 500;
/// Characters that are kept of a receiver's error.
const DETAIL_MAX: usize = 300;

/// Every notification, and the number of the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Notifications {
    /// The number of the next one; 0 and 1: there was none.
    pub next: u64,
    /// By number.
    pub all: BTreeMap<u64, NotificationEntry>,
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NotificationSpec {
    /// Whose jobs; none: everybody's.
    pub tenant: Option<String>,
    /// Who is told.
    pub receiver: Receiver,
    /// On which states.
    pub on: Vec<JobState>,
    /// An admin added it: it may reach any address.
    pub any_address: bool,
    /// Whoever added it may see what jobs write.
    pub with_output: bool,
}

/// Who is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Receiver {
    /// A server.
    Webhook {
        /// Its address.
        url: String,
        /// What requests are signed with.
        secret: String,
    },
    /// A command of the configuration, by name.
    Command(String),
}

/// A notification and how it does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NotificationEntry {
    /// What was asked for.
    pub spec: NotificationSpec,
    /// When it was added.
    pub created: Time,
    /// Notices that wait, in the order of events.
    #[serde(default)]
    pub waiting: VecDeque<Notice>,
    /// Tries that failed since the last one that did not.
    #[serde(default)]
    pub tries: u32,
    /// Notices that were delivered.
    #[serde(default)]
    pub delivered: u64,
    /// Notices that were given up.
    #[serde(default)]
    pub dropped: u64,
    /// Since when every try has failed.
    pub failing_since: Option<Time>,
    /// Whether an event said so.
    #[serde(default)]
    pub told: bool,
    /// The last try.
    pub last: Option<Tried>,
}

/// One try to deliver a notice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// When.
    pub at: Time,
    /// Which notice.
    pub notice: String,
    /// Whether it was taken.
    pub delivered: bool,
    /// The answer, or what went wrong.
    pub detail: String,
}

impl Notifications {
    /// Whether there has never been any: then nothing is written about them.
    pub(super) fn is_unused(&self) -> bool {
        self.next <= 1 && self.all.is_empty()
    }

    /// Those of one tenant (none: those about all jobs).
    pub fn of<'a>(
        &'a self,
        tenant: Option<&'a str>,
    ) -> impl Iterator<Item = &'a NotificationEntry> {
        self.all.values().filter(move |entry| entry.spec.tenant.as_deref() == tenant)
    }
}

impl World {
    pub(super) fn notification_added(
        &mut self,
        id: u64,
        spec: &NotificationSpec,
    ) -> Result<(), Rejection> {
        if id < self.notifications.next.max(1) {
            return Err(Rejection::UsedNumber(id));
        }
        spec.tenant.as_deref().map(|tenant| self.known_tenant(tenant)).transpose()?;
        self.notifications.next = id.saturating_add(1);
        let entry = NotificationEntry {
            spec: spec.clone(),
            created: self.at,
            waiting: VecDeque::new(),
            tries: 0,
            delivered: 0,
            dropped: 0,
            failing_since: None,
            told: false,
            last: None,
        };
        self.notifications.all.insert(id, entry);
        self.note_about(id, spec.tenant.clone(), "was added");
        Ok(())
    }

    pub(super) fn notification_removed(&mut self, id: u64) -> Result<(), Rejection> {
        let entry = self.notifications.all.remove(&id);
        let entry = entry.ok_or(Rejection::UnknownNotification(id))?;
        self.note_about(id, entry.spec.tenant, "was removed");
        Ok(())
    }

    /// Somebody tests a notification: this notice goes first, and once.
    pub(super) fn notification_tested(&mut self, id: u64, notice: &str) -> Result<(), Rejection> {
        let entry = self.notifications.all.get_mut(&id);
        let entry = entry.ok_or(Rejection::UnknownNotification(id))?;
        entry.waiting.push_front(Notice {
            id: notice.into(),
            at: timestamp(self.at),
            notification: id,
            test: true,
            job: None,
            name: None,
            tenant: entry.spec.tenant.clone(),
            state: None,
            reason: "this is a test".into(),
            dropped: entry.dropped,
        });
        let tenant = entry.spec.tenant.clone();
        self.note_about(id, tenant, "is tested");
        Ok(())
    }

    /// A job has a new state: whoever wants to know will be told. The event about it is the next one.
    pub(super) fn notify(&mut self, job: JobId, state: JobState) {
        let Some(entry) = self.jobs.get(&job) else { return };
        let (number, tenant) = (self.next_event, entry.tenant());
        for (&id, wish) in &mut self.notifications.all {
            let spec = &wish.spec;
            if !spec.on.contains(&state) || spec.tenant.as_deref().is_some_and(|own| own != tenant)
            {
                continue;
            }
            if wish.waiting.len() >= WAITING_MAX {
                wish.waiting.pop_front();
                wish.dropped += 1;
                self.totals.notices_dropped += 1;
            }
            let reason = match spec.with_output {
                true => entry.reason.to_string(),
                false => entry.reason.without_output().to_string(),
            };
            wish.waiting.push_back(Notice {
                // Also unlike those of another daemon, or of this one with a new state folder.
                id: format!("{:x}-{id}-{number}", wish.created.0),
                at: timestamp(self.at),
                notification: id,
                test: false,
                job: Some(job.0),
                name: Some(entry.name().into()),
                tenant: Some(tenant.into()),
                state: Some(state),
                reason: reason.chars().take(REASON_MAX).collect(),
                dropped: wish.dropped,
            });
        }
    }

    /// It was tried to deliver a notice.
    pub(super) fn notified(
        &mut self,
        id: u64,
        notice: &str,
        delivered: bool,
        detail: &str,
    ) -> Result<(), Rejection> {
        let entry = self.notifications.all.get_mut(&id);
        let entry = entry.ok_or(Rejection::UnknownNotification(id))?;
        let place = entry.waiting.iter().position(|waiting| waiting.id == notice);
        let is_test = place.is_some_and(|place| entry.waiting[place].test);
        if let Some(place) = place.filter(|_| delivered || is_test) {
            entry.waiting.remove(place);
        }
        let detail: String = detail.chars().take(DETAIL_MAX).collect();
        let mut said = is_test.then(|| match delivered {
            true => format!("was tested: {detail}"),
            false => format!("failed its test: {detail}"),
        });
        if delivered {
            entry.delivered += 1;
            entry.tries = 0;
            entry.failing_since = None;
            if std::mem::take(&mut entry.told) {
                said = Some("is delivered again".into());
            }
        } else if !is_test {
            entry.tries = entry.tries.saturating_add(1);
            let since = *entry.failing_since.get_or_insert(self.at);
            let before = entry.waiting.len();
            let oldest = timestamp(Time(self.at.0.saturating_sub(KEPT_FOR.0)));
            entry.waiting.retain(|waiting| waiting.at > oldest);
            let given_up = (before - entry.waiting.len()) as u64;
            entry.dropped += given_up;
            self.totals.notices_dropped += given_up;
            if !entry.told && self.at.since(since) >= TOLD_AFTER {
                entry.told = true;
                let waiting = entry.waiting.len();
                said = Some(format!(
                    "could not be delivered for 10 minutes: {detail}; waiting: {waiting}"
                ));
            }
        }
        entry.last = Some(Tried { at: self.at, notice: notice.into(), delivered, detail });
        let tenant = entry.spec.tenant.clone();
        if let Some(said) = said {
            self.note_about(id, tenant, &said);
        }
        Ok(())
    }

    /// A removed tenant is told nothing more.
    pub(super) fn forget_notifications_of(&mut self, tenant: &str) {
        self.notifications.all.retain(|_, entry| entry.spec.tenant.as_deref() != Some(tenant));
    }

    fn note_about(&mut self, id: u64, tenant: Option<String>, what: &str) {
        let message = format!("notification {id} {what}");
        self.note(EventTopic::Tenant, tenant.as_deref(), message);
    }
}
