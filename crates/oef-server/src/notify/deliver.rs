//! Who sends what when: one notice of a notification at a time, in their order, each by a thread of its own.

use super::program;
use super::settings::NotifySettings;
use super::webhook::Webhooks;
use crate::caller::Caller;
use crate::engine::{Command, Message, Shared};
use crate::world::{NotificationEntry, Receiver, World};
use oef_api::types::Notice;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};

/// How soon a change is seen, and the end.
const WAKE: Duration = Duration::from_millis(100);
/// Notices that are on their way at once: each has a thread.
const ON_THEIR_WAY_MAX: usize = 64;
/// Those of one tenant: its slow receivers hold up only itself.
const OF_ONE_TENANT_MAX: usize = 4;
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(3600);

/// Delivers what waits in the world.
pub(crate) struct Notifier {
    pub shared: Arc<Shared>,
    pub engine: Sender<Message>,
    pub settings: Arc<NotifySettings>,
    /// What commands get of the daemon's environment.
    pub env: BTreeMap<String, String>,
    pub stop: Arc<AtomicBool>,
}

/// What is known of a notification beside what the world says.
enum Standing {
    /// A notice is on its way, for this tenant.
    Sending(Option<String>),
    /// The last try failed: not before then again.
    Paused(Instant),
}

/// A notice to be sent.
struct Parcel {
    id: u64,
    tenant: Option<String>,
    receiver: Receiver,
    any_address: bool,
    notice: Notice,
    tries: u32,
}

/// What every try needs.
struct Means {
    webhooks: Webhooks,
    settings: Arc<NotifySettings>,
    env: BTreeMap<String, String>,
    engine: Sender<Message>,
}

impl Notifier {
    /// Works until it is told to stop. What is on its way then may come twice: its end is not waited for.
    pub fn run(self) {
        let Notifier { shared, engine, settings, env, stop } = self;
        let webhooks = Webhooks::new(&settings);
        let means = Arc::new(Means { webhooks, settings, env, engine });
        let mut events = shared.newest_event.subscribe();
        events.mark_changed();
        let (back, done) = mpsc::channel::<(u64, Option<Duration>)>();
        let mut standing: BTreeMap<u64, Standing> = BTreeMap::new();
        while !stop.load(Ordering::Relaxed) {
            let mut look = has_changed(&mut events);
            let mut next = done.recv_timeout(WAKE);
            while let Ok((id, pause)) = next {
                match pause {
                    Some(pause) => standing.insert(id, Standing::Paused(Instant::now() + pause)),
                    None => standing.remove(&id),
                };
                look = true;
                next = done.try_recv().map_err(|_| RecvTimeoutError::Timeout);
            }
            let now = Instant::now();
            let is_over = |s: &Standing| matches!(s, Standing::Paused(until) if *until <= now);
            look |= standing.values().any(is_over);
            if !look {
                continue;
            }
            standing.retain(|_, s| !is_over(s));
            let parcels = due(&shared.world(), &standing);
            for parcel in parcels {
                standing.insert(parcel.id, Standing::Sending(parcel.tenant.clone()));
                post(parcel, &means, &back);
            }
        }
    }
}

fn has_changed(events: &mut watch::Receiver<u64>) -> bool {
    let changed = events.has_changed().unwrap_or(false);
    events.mark_unchanged();
    changed
}

/// What is to be sent now, the oldest first, as much as there is room for.
fn due(world: &World, standing: &BTreeMap<u64, Standing>) -> Vec<Parcel> {
    let mut sending: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    for tenant in standing.values().filter_map(|s| match s {
        Standing::Sending(tenant) => Some(tenant.as_deref()),
        Standing::Paused(_) => None,
    }) {
        *sending.entry(tenant).or_default() += 1;
    }
    let mut room = ON_THEIR_WAY_MAX.saturating_sub(sending.values().sum());
    let mut waiting: Vec<(&Notice, u64, &NotificationEntry)> = Vec::new();
    for (&id, entry) in &world.notifications.all {
        let Some(first) = entry.waiting.front() else { continue };
        match standing.get(&id) {
            Some(Standing::Sending(_)) => {}
            // Whoever tests it wants to know now.
            Some(Standing::Paused(_)) if !first.test => {}
            _ => waiting.push((first, id, entry)),
        }
    }
    waiting.sort_by_key(|(first, id, _)| (!first.test, first.at, *id));
    let mut parcels = Vec::new();
    for (notice, id, entry) in waiting {
        let own = sending.entry(entry.spec.tenant.as_deref()).or_default();
        if room == 0 || *own >= OF_ONE_TENANT_MAX {
            continue;
        }
        (room, *own) = (room - 1, *own + 1);
        parcels.push(Parcel {
            id,
            tenant: entry.spec.tenant.clone(),
            receiver: entry.spec.receiver.clone(),
            any_address: entry.spec.any_address,
            notice: notice.clone(),
            tries: entry.tries,
        });
    }
    parcels
}

/// Sends a notice on a thread of its own, which says when the next one may follow.
fn post(parcel: Parcel, means: &Arc<Means>, back: &Sender<(u64, Option<Duration>)>) {
    let (means, back, id) = (Arc::clone(means), back.clone(), parcel.id);
    let (told, first) = (back.clone(), means.first_pause());
    let work = move || {
        let pause = catch_unwind(AssertUnwindSafe(|| means.deliver(&parcel)));
        let _ = back.send((parcel.id, pause.unwrap_or(Some(PAUSE_MAX))));
    };
    if thread::Builder::new().name("notify".into()).spawn(work).is_err() {
        let _ = told.send((id, Some(first)));
    }
}

impl Means {
    fn first_pause(&self) -> Duration {
        self.settings.pause.0
    }

    /// Sends it and has what came of it written down. How long to wait then; none: not at all.
    fn deliver(&self, parcel: &Parcel) -> Option<Duration> {
        let Parcel { id, receiver, any_address, notice, tries, .. } = parcel;
        let sent = serde_json::to_string(notice)
            .map_err(|error| error.to_string())
            .and_then(|body| self.send(receiver, *any_address, &body));
        let delivered = sent.is_ok();
        let detail = sent.unwrap_or_else(|why| why);
        let command = Command::Notified { id: *id, notice: notice.id.clone(), delivered, detail };
        let (reply, answer) = oneshot::channel();
        let caller = Caller::admin();
        let message = Message::Command { caller, command: Box::new(command), reply };
        let is_durable =
            self.engine.send(message).is_ok() && answer.blocking_recv().is_ok_and(|a| a.is_ok());
        match delivered || notice.test {
            // Else it is sent again; not at once, because nothing can be written now.
            true => (!is_durable).then(|| self.first_pause()),
            false => Some(pause(self.first_pause(), *tries)),
        }
    }

    fn send(&self, receiver: &Receiver, any: bool, body: &str) -> Result<String, String> {
        match receiver {
            Receiver::Webhook { url, secret } => self.webhooks.send(url, secret, any, body),
            Receiver::Command(name) => match self.settings.commands.get(name) {
                Some(command) => program::run(command, &self.env, body),
                None => Err(format!("the configuration has no command `{name}` any more")),
            },
        }
    }
}

/// How long to wait after so many failures, and one more.
fn pause(first: Duration, tries: u32) -> Duration {
    first.saturating_mul(2u32.saturating_pow(tries)).min(PAUSE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_end_at_an_hour() {
        let first = Duration::from_secs(5);
        let seconds: Vec<u64> = (0..12).map(|tries| pause(first, tries).as_secs()).collect();
        assert_eq!(seconds, [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600]);
        assert_eq!(pause(first, u32::MAX), PAUSE_MAX);
    }
}
