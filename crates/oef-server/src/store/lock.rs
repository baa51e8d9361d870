//! One daemon per folder.

use super::error::StoreError;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The file that is locked. It stays when the daemon is gone: removing it would let two daemons lock two
/// files of the same name.
const LOCK: &str = "lock";

/// A process that was just forked has its parent's lock too, until it is another program: a moment after the last daemon
/// ended, its lock may still be there.
const LET_GO: Duration = Duration::from_secs(1);
/// How long a waiter sleeps between tries.
const RETRY: Duration = Duration::from_millis(10);

/// The right to work in a folder, until it is dropped or the process ends, however it ends.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock, or says who has it and does not let it go in a moment.
    pub fn take(dir: &Path) -> Result<Lock, StoreError> {
        let path = dir.join(LOCK);
        let folder = |source| StoreError::Folder { path: path.clone(), source };
        let mut options = OpenOptions::new();
        // Not truncated: until the lock is ours, what is inside tells whose it is.
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(&path).map_err(folder)?;
        let began = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if began.elapsed() < LET_GO => sleep(RETRY),
                Err(TryLockError::WouldBlock) => {
                    let pid = holder(&mut file);
                    return Err(StoreError::InUse { dir: dir.to_path_buf(), pid });
                }
                Err(TryLockError::Error(error)) => return Err(folder(error)),
            }
        }
        // The number is only for the message to others: a full disk must not keep a daemon from its folder.
        let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(Lock { _file: file })
    }
}

fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().ok()?;
    // A process number has few digits; the file may be anything.
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
