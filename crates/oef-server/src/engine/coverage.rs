//! What the last snapshot covers, and when the next one is due.

/// Records after which a snapshot is worth its while: replaying them takes about a second.
const RECORDS: u64 = 20_000;
/// The same in bytes: until then the disk keeps all of them.
const BYTES: u64 = 64 << 20;

/// What the last snapshot covers, and what was journalled since.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Coverage {
    /// The last record that it covers.
    last: u64,
    /// Bytes of the records after it.
    bytes: u64,
    /// How many of these the one covers that is being written; none: none is.
    writing: Option<u64>,
}

impl Coverage {
    /// A snapshot covers the records up to one.
    pub fn upto(last: u64) -> Coverage {
        Coverage { last, ..Coverage::default() }
    }

    /// The last record that is covered.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// So many bytes were journalled.
    pub fn wrote(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Whether a snapshot is due with so many records, in a world with so many jobs and bytes of their texts: writing
    /// the world costs about as much as these.
    pub fn is_due(&self, head: u64, jobs: u64, texts: u64) -> bool {
        let is_much =
            head.saturating_sub(self.last) >= RECORDS.max(jobs) || self.bytes >= BYTES.max(texts);
        self.writing.is_none() && is_much
    }

    /// One is being written.
    pub fn begun(&mut self) {
        self.writing = Some(self.bytes);
    }

    /// One was written, up to which record; none: it could not be.
    pub fn tried(&mut self, saved: Option<u64>) {
        let written = self.writing.take().unwrap_or(0);
        if let Some(saved) = saved {
            (self.last, self.bytes) = (saved, self.bytes.saturating_sub(written));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_due_by_records_or_by_bytes() {
        let mut coverage = Coverage::upto(5);
        assert!(!coverage.is_due(RECORDS + 4, 0, 0) && coverage.is_due(RECORDS + 5, 0, 0));
        assert!(!coverage.is_due(RECORDS + 5, RECORDS + 1, 0), "a large world, less often");
        coverage.wrote(BYTES);
        assert!(coverage.is_due(6, 0, 0), "few records may be long");
        assert!(!coverage.is_due(6, 0, BYTES + 1), "a world of long texts, less often");
        coverage.begun();
        coverage.wrote(10);
        assert!(!coverage.is_due(7, 0, 0), "one at a time");
        coverage.tried(None);
        assert!(coverage.is_due(7, 0, 0) && coverage.last() == 5, "it is tried again");
        coverage.begun();
        coverage.wrote(BYTES - 11);
        coverage.tried(Some(7));
        assert!(!coverage.is_due(8, 0, 0) && coverage.last() == 7);
        coverage.wrote(11);
        assert!(coverage.is_due(8, 0, 0), "what came while it was written counts from then on");
    }
}
