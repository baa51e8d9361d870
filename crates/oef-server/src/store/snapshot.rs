//! Snapshots: written in parts, valid when their last row is there and their checksum fits.

use super::archive::Desk;
use super::chain::{Link, Sum};
use super::error::StoreError;
use super::gate::Gate;
use super::record::Snapshot;
use super::schema;
use rusqlite::{Connection, OptionalExtension as _};
use std::path::Path;

/// Bytes that are written in one transaction: a few milliseconds, which is how long the journal may have
/// to wait for one.
const PART_BYTES: usize = 1 << 20;

/// What stands in a snapshot's checksum where a record has its kind.
const KIND: &str = "snapshot";

/// A snapshot that was written to its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub seq: u64,
    at_ms: u64,
    parts: u64,
    sum: Option<Sum>,
}

/// All snapshots, the newest first.
pub(super) fn list(connection: &Connection, file: &Path) -> Result<Vec<Row>, StoreError> {
    let sql = "SELECT seq, at_ms, parts, sum FROM snapshots ORDER BY seq DESC";
    let read = |row: &rusqlite::Row<'_>| {
        let sum = Sum::read(row.get_ref(3)?.as_bytes()?);
        Ok(Row { seq: row.get(0)?, at_ms: row.get(1)?, parts: row.get(2)?, sum })
    };
    let mut query = connection.prepare_cached(sql).map_err(|e| reading(file, e))?;
    let rows = query.query_map([], read).and_then(Iterator::collect);
    rows.map_err(|source| reading(file, source))
}

/// A snapshot with its place in the chain, or what is wrong with it.
pub(super) fn read(
    connection: &Connection,
    file: &Path,
    row: &Row,
) -> Result<Result<(Snapshot, Link), String>, StoreError> {
    let Some(link) = link_at(connection, file, row.seq)? else {
        return Ok(Err("the journal has no such record".into()));
    };
    let bytes = match body(connection, row) {
        Ok(bytes) => bytes,
        Err(source) => match reading(file, source) {
            StoreError::Damaged { what, .. } => return Ok(Err(what)),
            other => return Err(other),
        },
    };
    let Ok(body) = String::from_utf8(bytes) else { return Ok(Err("it is not text".into())) };
    let sum = link.sum.over(row.seq, row.at_ms, KIND, &body);
    if row.sum != Some(sum) {
        return Ok(Err("its checksum does not fit".into()));
    }
    Ok(Ok((Snapshot { seq: row.seq, at_ms: row.at_ms, body }, link)))
}

fn body(connection: &Connection, row: &Row) -> rusqlite::Result<Vec<u8>> {
    let sql = "SELECT body FROM snapshot_parts WHERE seq = ?1 AND part < ?2 ORDER BY part";
    let mut query = connection.prepare_cached(sql)?;
    let mut parts = query.query((row.seq, row.parts))?;
    let mut bytes = Vec::new();
    while let Some(part) = parts.next()? {
        bytes.extend_from_slice(part.get_ref(0)?.as_bytes()?);
    }
    Ok(bytes)
}

/// Writes a snapshot. Whoever else writes may do so between two parts.
pub(super) fn save(
    connection: &Connection,
    file: &Path,
    desk: &Desk,
    snapshot: (u64, u64, &str),
) -> Result<(), StoreError> {
    let (seq, at_ms, body) = snapshot;
    let Some(link) = link_at(connection, file, seq)? else {
        let what = format!("a snapshot at record {seq} was to be written, which is not there");
        return Err(StoreError::Damaged { file: file.to_path_buf(), seq: Some(seq), what });
    };
    let sum = link.sum.over(seq, at_ms, KIND, body);
    write(connection, desk, snapshot, sum)
        .map_err(|source| StoreError::database(file, "writing a snapshot", source))
}

fn write(
    connection: &Connection,
    desk: &Desk,
    (seq, at_ms, body): (u64, u64, &str),
    sum: Sum,
) -> rusqlite::Result<()> {
    remove(connection, &desk.gate, seq)?;
    let mut parts = 0u64;
    for part in body.as_bytes().chunks(PART_BYTES) {
        let sql = "INSERT INTO snapshot_parts (seq, part, body) VALUES (?1, ?2, ?3)";
        let mut insert = connection.prepare_cached(sql)?;
        let turn = desk.gate.enter();
        insert.execute((seq, parts, part))?;
        drop(turn);
        desk.folding.wrote(part.len());
        parts += 1;
    }
    let sql = "INSERT INTO snapshots (seq, at_ms, parts, sum) VALUES (?1, ?2, ?3, ?4)";
    let _turn = desk.gate.enter();
    connection.prepare_cached(sql)?.execute((seq, at_ms, parts, sum.0)).map(|_| ())
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
pub(super) fn link_at(
    connection: &Connection,
    file: &Path,
    seq: u64,
) -> Result<Option<Link>, StoreError> {
    let base = schema::link(connection, file, "base")?;
    if base.seq == seq {
        return Ok(Some(base));
    }
    let found = connection
        .prepare_cached("SELECT sum FROM journal WHERE seq = ?1")
        .and_then(|mut query| {
            query.query_row([seq], |row| Ok(Sum::read(row.get_ref(0)?.as_bytes()?))).optional()
        })
        .map_err(|source| reading(file, source))?;
    Ok(found.flatten().map(|sum| Link { seq, sum }))
}

fn reading(file: &Path, source: rusqlite::Error) -> StoreError {
    StoreError::database(file, "reading the snapshots", source)
}
