//! What a restart reads: a snapshot, and the records after it, page by page.

use super::chain::{Link, Sum};
use super::database::Database;
use super::error::StoreError;
use super::record::StoredRecord;
use super::snapshot::StoredSnapshot;
use super::{schema, snapshot};
use std::collections::VecDeque;

/// Records that are held in memory at once. Even if each were as large as a request may be, that is little.
const PAGE_RECORDS: u32 = 256;

/// What the store holds.
#[derive(Debug)]
pub struct Loaded<'a> {
    /// The newest snapshot that is sound.
    pub snapshot: Option<StoredSnapshot<'a>>,
    /// Newer snapshots that are not, in sentences: worth a warning, and nothing is lost by them.
    pub skipped: Vec<String>,
    /// The records after the snapshot, in order.
    pub records: Records<'a>,
}

/// Finds the newest sound snapshot, and the place after it.
pub(super) fn load<'a>(db: &'a Database) -> Result<Loaded<'a>, StoreError> {
    let head = schema::link(db, "head")?;
    let mut skipped = Vec::new();
    let mut newest = None;
    for row in snapshot::list(db)? {
        match snapshot::find(db, &row)? {
            Ok(found) => {
                newest = Some(found);
                break;
            }
            Err(what) => skipped.push(format!("the snapshot at record {}: {what}", row.seq)),
        }
    }
    let (snapshot, from) = match newest {
        Some((snapshot, link)) => (Some(snapshot), link),
        None => (None, schema::link(db, "base")?),
    };
    if snapshot.is_none() && from.seq > 0 {
        let what = format!(
            "the records up to {} were compacted, and no snapshot that holds them is sound",
            from.seq
        );
        return Err(db.damaged(None, what));
    }
    let records = Records { rows: Rows::after(db, from.seq), link: from, head, over: false };
    Ok(Loaded { snapshot, skipped, records })
}

/// The records in order, each checked against the chain. An error is the last thing that comes.
#[derive(Debug)]
pub struct Records<'a> {
    rows: Rows<'a>,
    link: Link,
    head: Link,
    over: bool,
}

impl Iterator for Records<'_> {
    type Item = Result<StoredRecord, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let checked = match self.rows.next() {
            None => {
                self.over = true;
                let whole = self.link == self.head;
                return (!whole).then(|| Err(self.damaged(missing_end(self.link, self.head))));
            }
            Some(Err(error)) => Err(error),
            Some(Ok(row)) => self.check(row),
        };
        self.over = checked.is_err();
        Some(checked)
    }
}

impl Records<'_> {
    fn check(&mut self, row: Row) -> Result<StoredRecord, StoreError> {
        let Row { record, sum } = row;
        self.link = self.link.check(&record, sum).map_err(|wrong| self.damaged(wrong))?;
        Ok(record)
    }

    fn damaged(&self, (seq, what): (u64, String)) -> StoreError {
        self.rows.db.damaged(Some(seq), what)
    }
}

/// Where the end of the journal is missing, and how that is said.
pub(super) fn missing_end(end: Link, head: Link) -> (u64, String) {
    (end.seq + 1, format!("the journal ends at {} and should end at {}", end.seq, head.seq))
}

/// A row of the journal, not checked.
#[derive(Debug)]
pub(super) struct Row {
    pub record: StoredRecord,
    /// `None`: not as long as a checksum is.
    pub sum: Option<Sum>,
}

/// The rows of the journal in order, read in pages: no statement stays open between two of them.
#[derive(Debug)]
pub(super) struct Rows<'a> {
    db: &'a Database,
    after: u64,
    page: VecDeque<Row>,
}

impl<'a> Rows<'a> {
    /// The rows after a record.
    pub fn after(db: &'a Database, seq: u64) -> Self {
        Rows { db, after: seq, page: VecDeque::new() }
    }

    fn fill(&mut self) -> rusqlite::Result<()> {
        let sql =
            "SELECT seq, at_ms, kind, body, sum FROM journal WHERE seq > ?1 ORDER BY seq LIMIT ?2";
        let mut query = self.db.prepare_cached(sql)?;
        let mut rows = query.query((self.after, PAGE_RECORDS))?;
        while let Some(row) = rows.next()? {
            let seq = row.get(0)?;
            // Damaged text is shown as far as it goes; its checksum gives it away.
            let text = |at| -> rusqlite::Result<String> {
                Ok(String::from_utf8_lossy(row.get_ref(at)?.as_bytes()?).into_owned())
            };
            let record = StoredRecord { seq, at_ms: row.get(1)?, kind: text(2)?, body: text(3)? };
            self.page.push_back(Row { record, sum: Sum::read(row.get_ref(4)?.as_bytes()?) });
            self.after = seq;
        }
        Ok(())
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<Row, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.page.is_empty()
            && let Err(source) = self.fill()
        {
            return Some(Err(self.db.failed("reading the journal")(source)));
        }
        self.page.pop_front().map(Ok)
    }
}
