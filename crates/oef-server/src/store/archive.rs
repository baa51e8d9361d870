//! Snapshots, rounds and compaction: what may take long, away from the journal's writer.

use super::compaction::{self, Compacted, Keep};
use super::database::Database;
use super::error::StoreError;
use super::fold::Folding;
use super::gate::Gate;
use super::record::StoredRound;
use super::schema::{self, DATABASE, Durability};
use super::snapshot::{self, WriteText};
use rusqlite::{Connection, OptionalExtension as _, Row};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A handle for any thread. Reads wait for no writer; writes are short, so that the journal can go on
/// between them. It is closed with its [`Store`](super::Store).
#[derive(Clone, Debug)]
pub struct Archive {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    dir: PathBuf,
    writers: Writers,
    /// `None`: closed.
    writer: Mutex<Option<Database>>,
    reader: Mutex<Option<Database>>,
}

/// What all who write to the database share.
#[derive(Debug)]
pub(super) struct Writers {
    /// Whose turn it is.
    pub gate: Gate,
    /// Who folds what they wrote.
    pub folding: Folding,
}

impl Archive {
    pub(super) fn open(dir: &Path) -> Result<Archive, StoreError> {
        let file = dir.join(DATABASE);
        let writer = Mutex::new(Some(schema::connect(&file, Durability::Later)?));
        let reader = Mutex::new(Some(schema::open_for_reading(dir)?));
        let writers = Writers { gate: Gate::default(), folding: Folding::start(&file)? };
        let dir = dir.to_path_buf();
        Ok(Archive { inner: Arc::new(Inner { dir, writers, writer, reader }) })
    }

    pub(super) fn writers(&self) -> &Writers {
        &self.inner.writers
    }

    /// Saves the world after a record, and says how many bytes that took. The text is asked for twice and never held as
    /// a whole. Appends go on meanwhile; each may wait for one part, some milliseconds.
    pub fn save_snapshot(
        &self,
        seq: u64,
        at_ms: u64,
        text: &WriteText<'_>,
    ) -> Result<u64, StoreError> {
        let writers = self.writers();
        self.write(|db| snapshot::save(db, writers, (seq, at_ms), text))
    }

    /// Saves the document of a round; one that was there under this number is replaced.
    pub fn save_round(&self, round: u64, at_ms: u64, body: &str) -> Result<(), StoreError> {
        let sql = "INSERT OR REPLACE INTO rounds (round, at_ms, body) VALUES (?1, ?2, ?3)";
        self.write(|db| {
            let saved = {
                let _turn = self.writers().gate.enter();
                let insert = db.prepare_cached(sql);
                insert.and_then(|mut insert| insert.execute((round, at_ms, body)))
            };
            self.writers().folding.wrote(body.len());
            saved.map(|_| ()).map_err(db.failed("writing a round"))
        })
    }

    /// The document of a round, if it is still there.
    pub fn round(&self, round: u64) -> Result<Option<StoredRound>, StoreError> {
        let sql = "SELECT round, at_ms, body FROM rounds WHERE round = ?1";
        // A number that the database cannot hold is no round's.
        let Ok(round) = i64::try_from(round) else { return Ok(None) };
        self.read(|c| c.prepare_cached(sql)?.query_row([round], stored).optional())
    }

    /// The document of the last round.
    pub fn last_round(&self) -> Result<Option<StoredRound>, StoreError> {
        let sql = "SELECT round, at_ms, body FROM rounds ORDER BY round DESC LIMIT 1";
        self.read(|c| c.prepare_cached(sql)?.query_row([], stored).optional())
    }

    /// The documents of the last rounds before one (by default the last of all), the newest first.
    pub fn rounds(
        &self,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<StoredRound>, StoreError> {
        let sql =
            "SELECT round, at_ms, body FROM rounds WHERE round < ?1 ORDER BY round DESC LIMIT ?2";
        let before = before.map_or(i64::MAX, |n| i64::try_from(n).unwrap_or(i64::MAX));
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read(|c| c.prepare_cached(sql)?.query_map([before, limit], stored)?.collect())
    }

    /// The beginnings of the documents of the last rounds after one, the newest first.
    pub fn round_heads(
        &self,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<StoredRound>, StoreError> {
        let sql = "SELECT round, at_ms, substr(body, 1, 4096) FROM rounds WHERE round > ?1 ORDER BY round DESC LIMIT ?2";
        let after = after.map_or(-1, |n| i64::try_from(n).unwrap_or(i64::MAX));
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read(|c| c.prepare_cached(sql)?.query_map([after, limit], stored)?.collect())
    }

    /// Removes what is no longer needed, in small steps.
    pub fn compact(&self, keep: &Keep) -> Result<Compacted, StoreError> {
        let gate = &self.writers().gate;
        self.write(|db| compaction::compact(db, gate, keep))
    }

    /// Removes the documents of old rounds, and nothing else.
    pub fn trim_rounds(&self, keep: &Keep) -> Result<u64, StoreError> {
        let gate = &self.writers().gate;
        self.write(|db| compaction::trim_rounds(db, gate, keep))
    }

    /// Lets go of the files; whoever asks from now on is told so.
    pub(super) fn close(&self) {
        for connection in [&self.inner.reader, &self.inner.writer] {
            connection.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
        self.inner.writers.folding.stop();
    }

    fn write<T>(
        &self,
        what: impl FnOnce(&mut Database) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut writer = self.inner.writer.lock().unwrap_or_else(PoisonError::into_inner);
        match writer.as_mut() {
            Some(db) => what(db),
            None => Err(StoreError::Closed { dir: self.inner.dir.clone() }),
        }
    }

    fn read<T>(
        &self,
        what: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let reader = self.inner.reader.lock().unwrap_or_else(PoisonError::into_inner);
        match reader.as_ref() {
            Some(db) => what(db).map_err(db.failed("reading the rounds")),
            None => Err(StoreError::Closed { dir: self.inner.dir.clone() }),
        }
    }
}

fn stored(row: &Row<'_>) -> rusqlite::Result<StoredRound> {
    Ok(StoredRound { round: row.get(0)?, at_ms: row.get(1)?, body: row.get(2)? })
}
