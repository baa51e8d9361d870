//! Snapshots: written in parts, valid when their last row is there and their checksum fits. A text is never held as a
//! whole, neither while it is written or checked nor while it is read.

use super::archive::Writers;
use super::chain::{Link, Sum, Summing};
use super::database::Database;
use super::error::StoreError;
use super::gate::Gate;
use super::schema;
use rusqlite::{Connection, OptionalExtension as _};
use std::io::{self, Read, Write};

/// Bytes that are written in one transaction: a few milliseconds, which is how long the journal may have
/// to wait for one.
const PART_BYTES: usize = 1 << 20;

/// What is done when reading fails.
const READING: &str = "reading the snapshots";

/// What stands in a snapshot's checksum where a record has its kind.
const KIND: &str = "snapshot";

/// Writes a snapshot's text, the same bytes each time: its checksum begins with its length.
pub type WriteText<'a> = dyn Fn(&mut dyn Write) -> io::Result<()> + 'a;

/// A snapshot that was written to its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub seq: u64,
    at_ms: u64,
    parts: u64,
    sum: Option<Sum>,
}

/// All snapshots, the newest first.
pub(super) fn list(db: &Database) -> Result<Vec<Row>, StoreError> {
    let sql = "SELECT seq, at_ms, parts, sum FROM snapshots ORDER BY seq DESC";
    let read = |row: &rusqlite::Row<'_>| {
        let sum = Sum::read(row.get_ref(3)?.as_bytes()?);
        Ok(Row { seq: row.get(0)?, at_ms: row.get(1)?, parts: row.get(2)?, sum })
    };
    let mut query = db.prepare_cached(sql).map_err(db.failed(READING))?;
    let rows = query.query_map([], read).and_then(Iterator::collect);
    rows.map_err(db.failed(READING))
}

/// A snapshot in the database, which is as it was written. Its text is read as it is asked for.
#[derive(Clone, Copy, Debug)]
pub struct StoredSnapshot<'a> {
    /// The last record that is in it.
    pub seq: u64,
    /// When it was taken, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    parts: u64,
    connection: &'a Connection,
}

impl<'a> StoredSnapshot<'a> {
    /// The world as JSON, from the beginning.
    pub fn text(&self) -> impl Read + use<'a> {
        let StoredSnapshot { seq, parts, connection, .. } = *self;
        Text { connection, seq, parts, next: 0, part: Vec::new(), at: 0 }
    }
}

/// The parts of a snapshot one after the other; one of them is in memory.
struct Text<'a> {
    connection: &'a Connection,
    seq: u64,
    parts: u64,
    /// The part that is read next.
    next: u64,
    part: Vec<u8>,
    /// How much of the part was taken.
    at: usize,
}

impl Read for Text<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while self.at == self.part.len() && self.next < self.parts {
            let sql = "SELECT body FROM snapshot_parts WHERE seq = ?1 AND part = ?2";
            let read = self
                .connection
                .prepare_cached(sql)
                .and_then(|mut query| query.query_row((self.seq, self.next), |row| row.get(0)));
            self.part = read.map_err(io::Error::other)?;
            (self.at, self.next) = (0, self.next + 1);
        }
        let taken = (&self.part[self.at..]).read(to)?;
        self.at += taken;
        Ok(taken)
    }
}

/// A snapshot with its place in the chain, or what is wrong with it.
pub(super) fn find<'a>(
    db: &'a Database,
    row: &Row,
) -> Result<Result<(StoredSnapshot<'a>, Link), String>, StoreError> {
    let Row { seq, at_ms, parts, .. } = *row;
    let sound = walk(db, row)?;
    Ok(sound.map(|link| (StoredSnapshot { seq, at_ms, parts, connection: &db.connection }, link)))
}

/// Whether a snapshot is as it was written.
pub(super) fn is_sound(db: &Database, row: &Row) -> Result<bool, StoreError> {
    Ok(walk(db, row)?.is_ok())
}

/// Goes through a snapshot's parts and compares its checksum: its place in the chain, or what is wrong with it.
fn walk(db: &Database, row: &Row) -> Result<Result<Link, String>, StoreError> {
    let Some(link) = link_at(db, row.seq)? else {
        return Ok(Err("the journal has no such record".into()));
    };
    match sum_parts(db, row, link) {
        Ok(sum) if row.sum == Some(sum) => Ok(Ok(link)),
        Ok(_) => Ok(Err("its checksum does not fit".into())),
        Err(source) => match db.failed(READING)(source) {
            StoreError::Damaged { what, .. } => Ok(Err(what)),
            other => Err(other),
        },
    }
}

fn sum_parts(connection: &Connection, row: &Row, link: Link) -> rusqlite::Result<Sum> {
    let sql =
        "SELECT ifnull(sum(length(body)), 0) FROM snapshot_parts WHERE seq = ?1 AND part < ?2";
    let bytes =
        connection.prepare_cached(sql)?.query_row((row.seq, row.parts), |row| row.get(0))?;
    let mut sum = Summing::begin(link.sum, (row.seq, row.at_ms, KIND), bytes);
    let sql = "SELECT body FROM snapshot_parts WHERE seq = ?1 AND part < ?2 ORDER BY part";
    let mut query = connection.prepare_cached(sql)?;
    let mut parts = query.query((row.seq, row.parts))?;
    while let Some(part) = parts.next()? {
        sum.add(part.get_ref(0)?.as_bytes()?);
    }
    Ok(sum.finish())
}

/// Writes a snapshot, and says how many bytes it has. Whoever else writes may do so between two parts.
pub(super) fn save(
    db: &Database,
    writers: &Writers,
    (seq, at_ms): (u64, u64),
    text: &WriteText<'_>,
) -> Result<u64, StoreError> {
    let Some(link) = link_at(db, seq)? else {
        let what = format!("a snapshot at record {seq} was to be written, which is not there");
        return Err(db.damaged(Some(seq), what));
    };
    let mut length = ByteCount::default();
    let counted = text(&mut length).map(|()| length.0);
    let written = counted.and_then(|bytes| {
        let sum = Summing::begin(link.sum, (seq, at_ms, KIND), bytes);
        remove(db, &writers.gate, seq).map_err(io::Error::other)?;
        let mut parts = Parts { db, writers, seq, sum, part: Vec::new(), count: 0, left: bytes };
        text(&mut parts)?;
        parts.finish(at_ms).map(|()| bytes)
    });
    written.map_err(|error| match error.downcast::<rusqlite::Error>() {
        Ok(source) => db.failed("writing a snapshot")(source),
        Err(source) => StoreError::Output { file: db.file.clone(), source },
    })
}

/// Counts what is written to it.
#[derive(Default)]
pub(crate) struct ByteCount(pub u64);

impl Write for ByteCount {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Puts what is written to it into the database, a part at a time.
struct Parts<'a> {
    db: &'a Database,
    writers: &'a Writers,
    seq: u64,
    sum: Summing,
    part: Vec<u8>,
    /// Parts that are written.
    count: u64,
    /// Bytes that are still to come.
    left: u64,
}

impl Parts<'_> {
    fn put(&mut self) -> io::Result<()> {
        let bytes = self.part.len() as u64;
        self.left = self.left.checked_sub(bytes).ok_or_else(two_lengths)?;
        self.sum.add(&self.part);
        let sql = "INSERT INTO snapshot_parts (seq, part, body) VALUES (?1, ?2, ?3)";
        let put = self.db.prepare_cached(sql).and_then(|mut insert| {
            let _turn = self.writers.gate.enter();
            insert.execute((self.seq, self.count, &self.part))
        });
        put.map_err(io::Error::other)?;
        self.writers.folding.wrote(self.part.len());
        self.part.clear();
        self.count += 1;
        Ok(())
    }

    /// Writes what is left, and the row that makes it valid.
    fn finish(mut self, at_ms: u64) -> io::Result<()> {
        if !self.part.is_empty() {
            self.put()?;
        }
        if self.left > 0 {
            return Err(two_lengths());
        }
        let sql = "INSERT INTO snapshots (seq, at_ms, parts, sum) VALUES (?1, ?2, ?3, ?4)";
        let _turn = self.writers.gate.enter();
        let put = self.db.prepare_cached(sql).and_then(|mut insert| {
            insert.execute((self.seq, at_ms, self.count, self.sum.finish().0))
        });
        put.map(drop).map_err(io::Error::other)
    }
}

fn two_lengths() -> io::Error {
    io::Error::other("internal error: a snapshot was written twice with different lengths")
}

impl Write for Parts<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(PART_BYTES - self.part.len());
        self.part.extend_from_slice(&bytes[..taken]);
        if self.part.len() == PART_BYTES {
            self.put()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Removes a snapshot, or what was written of one, part by part.
pub(super) fn remove(connection: &Connection, gate: &Gate, seq: u64) -> rusqlite::Result<()> {
    {
        let _turn = gate.enter();
        connection.execute("DELETE FROM snapshots WHERE seq = ?1", [seq])?;
    }
    let sql = "DELETE FROM snapshot_parts WHERE seq = ?1
        AND part = (SELECT min(part) FROM snapshot_parts WHERE seq = ?1)";
    let mut next = connection.prepare_cached(sql)?;
    loop {
        let _turn = gate.enter();
        if next.execute([seq])? == 0 {
            return Ok(());
        }
    }
}

/// Snapshots that were begun and never finished.
pub(super) fn unfinished(connection: &Connection) -> rusqlite::Result<Vec<u64>> {
    let sql =
        "SELECT DISTINCT seq FROM snapshot_parts WHERE seq NOT IN (SELECT seq FROM snapshots)";
    connection.prepare_cached(sql)?.query_map([], |row| row.get(0))?.collect()
}

/// The place in the chain after a record, if the record is there or was the last to be compacted.
pub(super) fn link_at(db: &Database, seq: u64) -> Result<Option<Link>, StoreError> {
    let base = schema::link(db, "base")?;
    if base.seq == seq {
        return Ok(Some(base));
    }
    let found = db
        .prepare_cached("SELECT sum FROM journal WHERE seq = ?1")
        .and_then(|mut query| {
            query.query_row([seq], |row| Ok(Sum::read(row.get_ref(0)?.as_bytes()?))).optional()
        })
        .map_err(db.failed(READING))?;
    Ok(found.flatten().map(|sum| Link { seq, sum }))
}
