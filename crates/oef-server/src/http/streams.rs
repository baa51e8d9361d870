//! Event streams that are open: so many in all, and so many of one token, so that no token has them all. Some room is for
//! admins and operators, and callers who have many give way to those who have few.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// One part in so many is for admins and operators alone.
const RESERVED_PART: usize = 8;

/// All open streams.
#[derive(Clone)]
pub(super) struct Streams {
    inner: Arc<Inner>,
}

struct Inner {
    max: usize,
    max_per_token: usize,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    next: u64,
    callers: BTreeMap<u64, Own>,
}

/// The streams of one caller, the oldest first.
#[derive(Default)]
struct Own {
    is_staff: bool,
    streams: VecDeque<(u64, Arc<Notify>)>,
}

/// The right to have one stream, until it is dropped.
pub(super) struct Permit {
    streams: Streams,
    token: u64,
    number: u64,
    leave: Arc<Notify>,
}

/// Why there is no stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// All together have as many as there may be.
    All(usize),
    /// This token has as many as one may have.
    Own(usize),
}

impl Streams {
    pub fn new(max: usize, max_per_token: usize) -> Streams {
        let inner = Inner { max, max_per_token, open: Mutex::default() };
        Streams { inner: Arc::new(inner) }
    }

    /// Opens one for a token. Where there is no room, the oldest stream of the caller who has the most is told to give
    /// way, if that caller still has no fewer than this one then: otherwise two would push each other out without end.
    /// Staff are admins and operators: theirs give way to staff only, and others' always give way to theirs.
    pub fn open(&self, token: u64, is_staff: bool) -> Result<Permit, Full> {
        let mut open = self.lock();
        let own = open.callers.get(&token).map_or(0, |own| own.streams.len());
        if own >= self.inner.max_per_token {
            return Err(Full::Own(self.inner.max_per_token));
        }
        let max = self.inner.max;
        let is_full = match is_staff {
            true => open.count(|_| true) >= max,
            // What staff has beyond the reserve is room that others do not have.
            false => {
                let reserved = (max / RESERVED_PART).max(open.count(|own| own.is_staff));
                open.count(|own| !own.is_staff) + reserved >= max
            }
        };
        if is_full {
            let least = own + 2;
            let is_made = open
                .leave_first(|known| !known.is_staff, if is_staff { 1 } else { least })
                || (is_staff && open.leave_first(|_| true, least));
            if !is_made {
                return Err(Full::All(max));
            }
        }
        let (number, leave) = (open.next, Arc::new(Notify::new()));
        open.next += 1;
        let own = open.callers.entry(token).or_default();
        own.is_staff = is_staff;
        own.streams.push_back((number, Arc::clone(&leave)));
        Ok(Permit { streams: self.clone(), token, number, leave })
    }

    /// How many are open.
    pub fn count(&self) -> usize {
        self.lock().count(|_| true)
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.inner.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn count(&self, of: impl Fn(&Own) -> bool) -> usize {
        self.callers.values().filter(|own| of(own)).map(|own| own.streams.len()).sum()
    }

    /// Tells the oldest stream of the caller who has the most of these to give way; false: nobody has so many.
    fn leave_first(&mut self, of: impl Fn(&Own) -> bool, least: usize) -> bool {
        let most = self.callers.values_mut().filter(|own| of(own));
        let most =
            most.max_by_key(|own| own.streams.len()).filter(|own| own.streams.len() >= least);
        let first = most.and_then(|own| own.streams.pop_front());
        first.inspect(|(_, leave)| leave.notify_one()).is_some()
    }
}

impl Permit {
    /// Ends when the stream is to give way.
    pub async fn told(&self) {
        self.leave.notified().await;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut open = self.streams.lock();
        if let Some(own) = open.callers.get_mut(&self.token) {
            own.streams.retain(|(number, _)| *number != self.number);
            if own.streams.is_empty() {
                open.callers.remove(&self.token);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(streams: &Streams, token: u64, is_staff: bool) -> Permit {
        streams.open(token, is_staff).unwrap_or_else(|full| panic!("no room: {full:?}"))
    }

    /// Whether it was told to give way.
    fn is_told(permit: &Permit) -> bool {
        let told = std::pin::pin!(permit.told());
        told.poll(&mut std::task::Context::from_waker(std::task::Waker::noop())).is_ready()
    }

    #[test]
    fn one_token_never_has_them_all() {
        let streams = Streams::new(3, 2);
        let own: Vec<Permit> = (0..2).map(|_| open(&streams, 1, false)).collect();
        assert_eq!(streams.open(1, false).err(), Some(Full::Own(2)));
        let other = open(&streams, 2, false);
        assert!(!is_told(&own[0]));
        let third = open(&streams, 3, false);
        assert!(is_told(&own[0]) && !is_told(&own[1]), "the oldest of who has the most gives way");
        assert_eq!(streams.open(4, false).err(), Some(Full::All(3)), "each has one");
        assert_eq!(streams.open(3, false).err(), Some(Full::All(3)));
        drop(own);
        assert_eq!(streams.count(), 2);
        drop((other, third));
        assert_eq!(streams.count(), 0);
        open(&streams, 1, false);
    }

    #[test]
    fn admins_and_operators_always_get_in() {
        let streams = Streams::new(16, 4);
        let callers = [10, 10, 10, 10, 11, 11, 11, 11, 12, 12, 12, 13, 13, 13];
        let mut others: Vec<Permit> =
            callers.iter().map(|&token| open(&streams, token, false)).collect();
        assert_eq!(streams.open(13, false).err(), Some(Full::All(16)), "two are reserved");
        let mut staff: Vec<Permit> = (0..2).map(|_| open(&streams, 1, true)).collect();
        assert!(!others.iter().any(is_told));
        staff.push(open(&streams, 2, true));
        let told = others.iter().position(is_told).expect("one of those with four");
        assert!(!others.iter().any(is_told), "and no other");
        others.remove(told);
        assert_eq!(streams.count(), 16);
        assert!(streams.open(20, false).is_ok_and(|_| !staff.iter().any(is_told)));
        for token in 3..16 {
            staff.push(open(&streams, token, true));
        }
        assert_eq!(streams.open(99, false).err(), Some(Full::All(16)));
        assert!(streams.open(99, true).is_ok() && is_told(&staff[0]), "who has two gives way");
    }
}
