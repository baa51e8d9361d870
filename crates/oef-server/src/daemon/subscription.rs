//! Events as they happen, for one caller.

use crate::caller::Caller;
use crate::view::without_output;
use oef_api::types::{Event, EventTopic};
use std::collections::VecDeque;
use std::sync::Arc;
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
#[derive(Debug)]
pub struct Subscription {
    caller: Caller,
    /// The number of the last event that was delivered or left out.
    last: u64,
    backlog: VecDeque<Delivery>,
    live: broadcast::Receiver<Arc<Event>>,
}

impl Subscription {
    pub(crate) fn new(
        caller: Caller,
        last: u64,
        backlog: VecDeque<Delivery>,
        live: broadcast::Receiver<Arc<Event>>,
    ) -> Self {
        Subscription { caller, last, backlog, live }
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
                Err(RecvError::Lagged(missed)) => {
                    return Some(Delivery::Reset { upto: self.last.saturating_add(missed) });
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
