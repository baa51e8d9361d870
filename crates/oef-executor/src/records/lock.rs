//! Locks that end with the process that holds them, however it ends.

use crate::untrusted;
use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// A held lock; dropping it, or dying, lets it go. Programs that are started do not inherit it.
#[derive(Debug)]
pub(crate) struct Lock {
    /// Held for its lock alone.
    _file: File,
}

/// How long a waiter sleeps between tries. A lock that is only looked at is held for microseconds.
const RETRY: Duration = Duration::from_millis(10);

impl Lock {
    /// Takes the lock if nobody has it.
    pub(crate) fn try_take(path: &Path) -> io::Result<Option<Lock>> {
        let file = untrusted::open_or_create(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Takes the lock within a time, unless `give_up` says that it is not wanted any more.
    pub(crate) fn take_within(
        path: &Path,
        limit: Duration,
        mut give_up: impl FnMut() -> bool,
    ) -> io::Result<Option<Lock>> {
        let start = Instant::now();
        loop {
            if let Some(lock) = Lock::try_take(path)? {
                return Ok(Some(lock));
            }
            if start.elapsed() >= limit || give_up() {
                return Ok(None);
            }
            std::thread::sleep(RETRY);
        }
    }
}
