//! The journal's one writer.

use super::archive::Archive;
use super::chain::Link;
use super::database::Database;
use super::error::StoreError;
use super::head::{self, HeadFile};
use super::load::{self, Loaded};
use super::lock::Lock;
use super::record::NewRecord;
use super::schema::{self, DATABASE, OpenMode};
use rusqlite::{Connection, TransactionBehavior};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Written and removed to see whether there is room.
const PROBE: &str = ".room";

/// The store of a daemon: it alone works in the folder until it is dropped.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    db: Database,
    archive: Archive,
    /// The end of the chain. `None`: a commit failed, and the file knows better.
    head: Option<Link>,
    last: u64,
    /// The same end in a second place.
    second: HeadFile,
    may_lack: bool,
    /// Dropped last: nobody else may come in while the connections close.
    _lock: Lock,
}

impl Store {
    /// Opens the store of a folder. After an error nothing there is changed, except that an empty folder
    /// or database may have been made.
    pub fn open(dir: &Path, mode: OpenMode) -> Result<Store, StoreError> {
        match mode {
            OpenMode::Create => schema::make_folder(dir)?,
            // No lock file in a folder that was named by mistake.
            OpenMode::Existing if !dir.join(DATABASE).exists() => {
                return Err(StoreError::Missing { dir: dir.to_path_buf() });
            }
            OpenMode::Existing => {}
        }
        let lock = Lock::take(dir)?;
        if !dir.join(DATABASE).exists() || schema::is_empty(dir)? {
            head::check_missing(dir)?;
        }
        let db = schema::open_for_writing(dir, mode)?;
        let head = schema::link(&db, "head")?;
        let second = HeadFile::open(dir, &db, head)?;
        let may_lack = head::may_lack(&db)?;
        schema::write_through(&db)?;
        let archive = Archive::open(dir)?;
        let (dir, last) = (dir.to_path_buf(), head.seq);
        Ok(Store { dir, db, archive, head: Some(head), last, second, may_lack, _lock: lock })
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The number of the last record; 0: there is none yet.
    pub fn head(&self) -> u64 {
        self.last
    }

    /// Appends records, all or none, and returns their numbers. When it returns they are on disk. After an
    /// error the journal is as it was, and the same records may be tried again.
    pub fn append(&mut self, records: &[NewRecord<'_>]) -> Result<Range<u64>, StoreError> {
        self.check_in_place()?;
        let head = match self.head.take() {
            Some(head) => head,
            None => schema::link(&self.db, "head")?,
        };
        let writers = self.archive.writers();
        let end = {
            let _turn = writers.gate.enter();
            write(&mut self.db, head, records)
        };
        let end = end.map_err(self.db.failed("writing the journal"))?;
        // A transaction in a file that nobody finds any more is none.
        self.check_in_place()?;
        if let Err(error) = self.second.write(end) {
            // It is durable all the same; only a loss of it would not be noticed.
            tracing::error!(%error, "the journal's end could not be noted in its second place");
        }
        writers.folding.wrote(records.iter().map(|record| record.body.len()).sum());
        self.head = Some(end);
        self.last = end.seq;
        Ok(head.seq + 1..end.seq + 1)
    }

    /// Whether the next record could be written, as far as that can be told without one.
    pub fn probe(&self) -> Result<(), StoreError> {
        self.check_in_place()?;
        let path = self.dir.join(PROBE);
        let write = || {
            let mut file = File::create(&path)?;
            file.write_all(&[0; 4096])?;
            file.sync_data()
        };
        let written = write();
        let _ = fs::remove_file(&path);
        written.map_err(|source| match source.kind() {
            io::ErrorKind::StorageFull => StoreError::Full { file: self.db.file.clone() },
            _ => StoreError::Folder { path, source },
        })
    }

    /// Whether a backup was put in place, or an operator took the folder as it is, and it has not caught up since.
    pub fn may_lack(&self) -> bool {
        self.may_lack
    }

    /// It has caught up.
    pub fn lacks_nothing(&self) {
        if self.may_lack
            && let Err(error) = head::lacks_nothing(&self.db)
        {
            tracing::warn!(%error, "a restart may take a shorter journal for the whole");
        }
    }

    fn check_in_place(&self) -> Result<(), StoreError> {
        match self.second.is_in_place() {
            true => Ok(()),
            false => Err(StoreError::Gone { dir: self.dir.clone() }),
        }
    }

    /// The newest sound snapshot and the records after it: what a restart applies.
    pub fn load(&self) -> Result<Loaded<'_>, StoreError> {
        load::load(&self.db)
    }

    /// Snapshots, rounds and compaction, for any thread. It is closed with the store.
    pub fn archive(&self) -> Archive {
        self.archive.clone()
    }

    /// Lets the database have only so many pages, as if the disk were full then; 0: as many as it likes.
    #[cfg(test)]
    pub(super) fn limit_pages(&self, pages: u32) {
        let sql =
            format!("PRAGMA max_page_count = {}", if pages == 0 { u32::MAX - 1 } else { pages });
        self.db.query_row(&sql, [], |_| Ok(())).expect("a limit can be set");
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.archive.close();
    }
}

fn write(
    connection: &mut Connection,
    head: Link,
    records: &[NewRecord<'_>],
) -> rusqlite::Result<Link> {
    if records.is_empty() {
        return Ok(head);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut end = head;
    {
        let sql = "INSERT INTO journal (seq, at_ms, kind, body, sum) VALUES (?1, ?2, ?3, ?4, ?5)";
        let mut insert = transaction.prepare_cached(sql)?;
        for record in records {
            end = end.next(record.at_ms, record.kind, record.body);
            insert.execute((end.seq, record.at_ms, record.kind, record.body, end.sum.0))?;
        }
    }
    schema::set_link(&transaction, "head", end)?;
    transaction.commit()?;
    Ok(end)
}
