//! One daemon per folder.

use super::error::StoreError;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// The file that is locked. It stays when the daemon is gone: removing it would let two daemons lock two
/// files of the same name.
const LOCK: &str = "lock";

/// The right to work in a folder, until it is dropped or the process ends, however it ends.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock, or says who has it.
    pub fn take(dir: &Path) -> Result<Lock, StoreError> {
        let path = dir.join(LOCK);
        let folder = |source| StoreError::Folder { path: path.clone(), source };
        let mut options = OpenOptions::new();
        // Not truncated: until the lock is ours, what is inside tells whose it is.
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(&path).map_err(folder)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::InUse { dir: dir.to_path_buf(), pid: holder(&mut file) });
            }
            Err(TryLockError::Error(error)) => return Err(folder(error)),
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
