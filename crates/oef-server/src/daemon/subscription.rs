//! Events as they happen, for one caller.

use crate::caller::Caller;
use crate::engine::Shared;
use crate::view::without_output;
use crate::world::World;
use oef_api::types::{Event, EventTopic};
use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

/// What comes next.
#[derive(Clone, Debug, PartialEq)]
pub enum Delivery {
    /// An event.
    Event(Event),
    /// Events between are lost: they are older than what is remembered, or the reader was too slow. What
    /// was known should be read again; the events after this number follow.
    Reset {
        /// The number of the last event that is lost.
        upto: u64,
    },
}

/// Events after a number: first those that are remembered, then each as it happens.
pub struct Subscription {
    /// Not held: with the daemon goes who sends.
    shared: Weak<Shared>,
    caller: Caller,
    /// The number of the last event that was delivered or left out.
    last: u64,
    backlog: VecDeque<Delivery>,
    live: broadcast::Receiver<Arc<Event>>,
}

impl Subscription {
    /// Events after a number; none: those that happen from now on.
    pub(crate) fn begin(shared: &Arc<Shared>, caller: &Caller, after: Option<u64>) -> Self {
        let live = shared.events.subscribe();
        let (last, backlog) = remembered(&shared.world(), caller, after);
        Subscription { shared: Arc::downgrade(shared), caller: caller.clone(), last, backlog, live }
    }

    /// What comes next; `None`: the daemon stops.
    pub async fn next(&mut self) -> Option<Delivery> {
        loop {
            if let Some(delivery) = self.backlog.pop_front() {
                match &delivery {
                    Delivery::Event(event) if event.id <= self.last => continue,
                    Delivery::Event(event) => self.last = event.id,
                    Delivery::Reset { upto } => self.last = *upto,
                }
                if self.is_for_caller(&delivery) {
                    return Some(shown(&self.caller, delivery));
                }
                continue;
            }
            match self.live.recv().await {
                Ok(event) => self.backlog.push_back(Delivery::Event((*event).clone())),
                // A reader that fell behind continues with what is remembered, which is more than what waits here.
                Err(RecvError::Lagged(_)) => {
                    let shared = self.shared.upgrade()?;
                    (_, self.backlog) = remembered(&shared.world(), &self.caller, Some(self.last));
                }
                Err(RecvError::Closed) => return None,
            }
        }
    }

    fn is_for_caller(&self, delivery: &Delivery) -> bool {
        match delivery {
            Delivery::Event(event) => is_visible(&self.caller, event),
            Delivery::Reset { .. } => true,
        }
    }
}

/// What is remembered of the events after a number, and the number from which it is counted.
fn remembered(world: &World, caller: &Caller, after: Option<u64>) -> (u64, VecDeque<Delivery>) {
    let newest = world.next_event - 1;
    let after = after.unwrap_or(newest);
    let oldest = world.events.front().map_or(world.next_event, |event| event.id);
    let mut backlog = VecDeque::new();
    // A number that was never given out is of another state folder.
    let is_strange = after > newest;
    if after.saturating_add(1) < oldest || is_strange {
        backlog.push_back(Delivery::Reset { upto: oldest - 1 });
    }
    let after = if is_strange { newest } else { after };
    let events = world.events.iter().filter(|event| event.id > after);
    // An earlier tenant of the same name is not for the caller.
    let own = caller.tenant.as_ref().and_then(|name| world.tenants.get(name));
    let since = own.map_or(0, |entry| i64::try_from(entry.created_ms).unwrap_or(0));
    let visible =
        events.filter(|event| event.at.as_millisecond() >= since && is_visible(caller, event));
    backlog.extend(visible.cloned().map(Delivery::Event));
    (after, backlog)
}

/// An event without the output of a job, for those who may not see inside.
fn shown(caller: &Caller, delivery: Delivery) -> Delivery {
    match delivery {
        Delivery::Event(mut event) => {
            let inside = event.tenant.as_deref().is_none_or(|t| caller.may_see_inside(t));
            if !inside {
                event.message = without_output(&event.message).into();
            }
            Delivery::Event(event)
        }
        reset => reset,
    }
}

/// Whether a caller may see an event: what belongs to a tenant is for those who may see the tenant.
pub(crate) fn is_visible(caller: &Caller, event: &Event) -> bool {
    match (&event.tenant, event.topic) {
        (Some(tenant), _) => caller.may_see(tenant),
        (None, EventTopic::Tenant) => caller.is_admin(),
        (None, _) => true,
    }
}
