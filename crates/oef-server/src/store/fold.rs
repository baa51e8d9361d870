//! Folding the log into the database, on a thread of its own: whoever commits does not wait for it.

use super::error::StoreError;
use super::schema::{self, Durability};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

/// Bytes that are written between two foldings: little enough that one takes a moment.
const FOLD_BYTES: u64 = 4 << 20;
/// What a commit writes beside its contents: whole pages of the tables' edges.
const COMMIT_BYTES: u64 = 16 << 10;

/// The thread, and what it waits for.
#[derive(Debug)]
pub(super) struct Folding {
    written: AtomicU64,
    running: Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    wake: SyncSender<()>,
    thread: JoinHandle<()>,
}

impl Folding {
    /// Starts it.
    pub fn start(file: &Path) -> Result<Folding, StoreError> {
        let connection = schema::connect(file, Durability::Later)?;
        // One wish is enough, however many have it.
        let (wake, wakes): (SyncSender<()>, Receiver<()>) = sync_channel(1);
        let fold = move || {
            for () in wakes {
                // What cannot be folded now is folded the next time, or by the one who commits.
                let _ = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
            }
        };
        let thread = std::thread::Builder::new().name("oef-fold".into()).spawn(fold);
        let thread =
            thread.map_err(|source| StoreError::Folder { path: file.to_path_buf(), source })?;
        let running = Mutex::new(Some(Running { wake, thread }));
        Ok(Folding { written: AtomicU64::new(0), running })
    }

    /// So many bytes were committed.
    pub fn wrote(&self, bytes: usize) {
        let more = COMMIT_BYTES.saturating_add(bytes as u64);
        if self.written.fetch_add(more, Ordering::Relaxed) + more < FOLD_BYTES {
            return;
        }
        self.written.store(0, Ordering::Relaxed);
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = running.as_ref() {
            let _ = running.wake.try_send(());
        }
    }

    /// Ends it.
    pub fn stop(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Running { wake, thread }) = running {
            drop(wake);
            let _ = thread.join();
        }
    }
}
