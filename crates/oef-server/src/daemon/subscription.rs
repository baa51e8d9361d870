//! Events as they happen, for one caller.

use crate::caller::Caller;
use crate::engine::Shared;
use crate::view::without_output;
use crate::world::World;
use oef_api::types::{Event, EventTopic};
use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use tokio::sync::watch;

/// What comes next.
#[derive(Clone, Debug, PartialEq)]
pub enum Delivery {
    /// An event.
    Event(Event),
    /// Events between are lost: they are older than what is remembered. What was known should be read again; the events
    /// after this number follow.
    Reset {
        /// The number of the last event that is lost.
        upto: u64,
    },
}

/// Events after a number: first those that are remembered, then those that happen. All are read from what is remembered,
/// so a slow reader loses nothing before that is full.
pub struct Subscription {
    /// Not held: with the daemon goes who tells of new events.
    shared: Weak<Shared>,
    caller: Caller,
    /// Events up to this number were delivered or left out, or are in the backlog.
    upto: u64,
    backlog: VecDeque<Delivery>,
    /// The number of the newest event.
    newest: watch::Receiver<u64>,
}

impl Subscription {
    /// Events after a number; none: those that happen from now on.
    pub(crate) fn begin(shared: &Arc<Shared>, caller: &Caller, after: Option<u64>) -> Self {
        Subscription {
            newest: shared.newest_event.subscribe(),
            upto: after.unwrap_or_else(|| shared.world().next_event - 1),
            shared: Arc::downgrade(shared),
            caller: caller.clone(),
            backlog: VecDeque::new(),
        }
    }

    /// Whether what comes next was read together with what came last.
    pub fn has_more(&self) -> bool {
        !self.backlog.is_empty()
    }

    /// What comes next; `None`: the daemon stops.
    pub async fn next(&mut self) -> Option<Delivery> {
        loop {
            if let Some(delivery) = self.backlog.pop_front() {
                return Some(shown(&self.caller, delivery));
            }
            // What happens from here on is told again.
            self.newest.mark_unchanged();
            (self.upto, self.backlog) =
                remembered(&self.shared.upgrade()?.world(), &self.caller, self.upto);
            if self.backlog.is_empty() {
                self.newest.changed().await.ok()?;
            }
        }
    }
}

/// The number of the newest event, and what is remembered after another number for a caller.
fn remembered(world: &World, caller: &Caller, after: u64) -> (u64, VecDeque<Delivery>) {
    let newest = world.next_event - 1;
    let oldest = world.events.front().map_or(world.next_event, |event| event.id);
    let mut backlog = VecDeque::new();
    // A number that was never given out is of another state folder.
    let is_strange = after > newest;
    if after.saturating_add(1) < oldest || is_strange {
        backlog.push_back(Delivery::Reset { upto: oldest - 1 });
    }
    // They are numbered without gaps.
    let known = if is_strange { newest } else { after };
    let skip = usize::try_from((known + 1).saturating_sub(oldest)).unwrap_or(usize::MAX);
    let events = world.events.iter().skip(skip);
    // An earlier tenant of the same name is not for the caller.
    let own = caller.tenant.as_ref().and_then(|name| world.tenants.get(name));
    let since = own.map_or(0, |entry| i64::try_from(entry.created_ms).unwrap_or(0));
    let visible =
        events.filter(|event| event.at.as_millisecond() >= since && is_visible(caller, event));
    backlog.extend(visible.cloned().map(Delivery::Event));
    (newest, backlog)
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
fn is_visible(caller: &Caller, event: &Event) -> bool {
    match (&event.tenant, event.topic) {
        (Some(tenant), _) => caller.may_see(tenant),
        (None, EventTopic::Tenant) => caller.is_admin(),
        (None, _) => true,
    }
}
