//! What the engine needs of a journal.

use super::error::StoreError;
use super::record::NewRecord;
use super::writer::Store;
use std::ops::Range;

/// Where records are made durable, in order. The daemon's is a [`Store`]; a simulated disk is another.
pub trait Ledger: Send {
    /// The number of the last record; 0: there is none yet.
    fn head(&self) -> u64;

    /// Appends records, all or none, and returns their numbers. When it returns they are durable. After an error the
    /// journal is as it was.
    fn append(&mut self, records: &[NewRecord<'_>]) -> Result<Range<u64>, StoreError>;

    /// Whether the next record could be written, as far as that can be told without one.
    fn probe(&self) -> Result<(), StoreError>;

    /// Whether more may have been started than it knows, and somebody has said so.
    fn may_lack(&self) -> bool {
        false
    }

    /// It knows all that was started: from now on it must.
    fn lacks_nothing(&self) {}
}

impl Ledger for Store {
    fn head(&self) -> u64 {
        Store::head(self)
    }

    fn append(&mut self, records: &[NewRecord<'_>]) -> Result<Range<u64>, StoreError> {
        Store::append(self, records)
    }

    fn probe(&self) -> Result<(), StoreError> {
        Store::probe(self)
    }

    fn may_lack(&self) -> bool {
        Store::may_lack(self)
    }

    fn lacks_nothing(&self) {
        Store::lacks_nothing(self);
    }
}
