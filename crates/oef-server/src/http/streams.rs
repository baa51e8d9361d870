//! Event streams that are open: so many in all, and so many of one token, so that no token has them all.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// All open streams.
#[derive(Clone)]
pub(super) struct Streams {
    inner: Arc<Inner>,
}

struct Inner {
    max: usize,
    max_per_token: usize,
    open: Mutex<BTreeMap<u64, usize>>,
}

/// The right to have one stream, until it is dropped.
pub(super) struct Permit {
    streams: Streams,
    token: u64,
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

    /// Opens one for a token.
    pub fn open(&self, token: u64) -> Result<Permit, Full> {
        let mut open = self.lock();
        if open.get(&token).is_some_and(|own| *own >= self.inner.max_per_token) {
            return Err(Full::Own(self.inner.max_per_token));
        }
        if open.values().sum::<usize>() >= self.inner.max {
            return Err(Full::All(self.inner.max));
        }
        *open.entry(token).or_default() += 1;
        Ok(Permit { streams: self.clone(), token })
    }

    /// How many are open.
    pub fn count(&self) -> usize {
        self.lock().values().sum()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, usize>> {
        self.inner.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut open = self.streams.lock();
        if let Some(own) = open.get_mut(&self.token) {
            *own -= 1;
            if *own == 0 {
                open.remove(&self.token);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_token_never_has_them_all() {
        let streams = Streams::new(3, 2);
        let own: Vec<Permit> =
            (0..2).map(|_| streams.open(1).unwrap_or_else(|_| panic!("no room"))).collect();
        assert_eq!(streams.open(1).err(), Some(Full::Own(2)));
        let other = streams.open(2).unwrap_or_else(|_| panic!("no room for another"));
        assert_eq!(streams.open(3).err(), Some(Full::All(3)));
        drop(own);
        assert_eq!(streams.count(), 1);
        drop(other);
        assert!(streams.open(1).is_ok());
    }
}
