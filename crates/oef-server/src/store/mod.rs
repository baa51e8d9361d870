//! The state folder: what must outlive the daemon, in one SQLite database.
//!
//! - The *journal*: every record in the order in which it counts, numbered from 1 without gaps. Each has a
//!   checksum over itself and the one before, so that a changed byte or a missing record is found.
//! - *Snapshots*: the whole world after some record, so that a restart need not apply everything. Two are
//!   kept, and all records since the older one: one damaged snapshot loses nothing.
//! - *Rounds*: the document of each round, for those who ask later.
//!
//! [`Store`] is the one writer of the journal, for the engine's thread: what it has appended is on disk.
//! [`Archive`] is for the rest, which may take long and must not hold the journal up. [`journal`] has the
//! tools that look at a folder from outside, also while a daemon works on it.

mod archive;
mod chain;
mod compaction;
mod database;
mod error;
mod fold;
mod gate;
mod head;
pub mod journal;
mod ledger;
mod load;
mod lock;
mod record;
mod schema;
mod snapshot;
#[cfg(test)]
mod tests;
mod writer;

pub use archive::Archive;
pub use chain::{Link, Sum, compare_ends};
pub use compaction::{Compacted, Keep};
pub use error::StoreError;
pub use head::HEAD_FILE;
pub use ledger::Ledger;
pub use load::{Loaded, Records};
pub use record::{NewRecord, Snapshot, StoredRecord, StoredRound};
pub use schema::{DATABASE, OpenMode};
pub(crate) use snapshot::ByteCount;
pub use snapshot::{StoredSnapshot, WriteText};
pub use writer::Store;
