//! The time, which never goes back.

use oef_sched::Time;
use std::time::{SystemTime, UNIX_EPOCH};

/// The system's clock, held where it is while it lies behind what was read before. A clock that is set back
/// by an hour stands still for an hour here: records stay in order, and rounds come at the same pace after.
#[derive(Debug)]
pub(super) struct Clock {
    last: Time,
}

impl Clock {
    /// A clock that starts no earlier than what is known.
    pub fn after(last: Time) -> Clock {
        Clock { last }
    }

    pub fn now(&mut self) -> Time {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX);
        self.last = self.last.max(Time(now));
        self.last
    }
}
