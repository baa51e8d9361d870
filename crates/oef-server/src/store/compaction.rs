//! Removing what no restart needs: old records, snapshots and rounds.

use super::database::Database;
use super::error::StoreError;
use super::gate::Gate;
use super::{schema, snapshot};
use rusqlite::{Connection, TransactionBehavior};

/// Records that stay although snapshots cover them, for those who look into the past: some days of a busy
/// cluster, some tens of megabytes.
const RECORDS_KEPT: u64 = 100_000;

/// Bytes of such records that stay, whatever their number: a record may have some hundred kilobytes.
const RECORD_BYTES_KEPT: u64 = 256 << 20;

/// Documents of rounds that stay: two weeks of rounds of five minutes.
const ROUNDS_KEPT: u64 = 4_032;

/// Bytes of such documents that stay, whatever their number: one of 10,000 GPUs has almost two megabytes, so this is a
/// day of rounds of five minutes there, and two weeks on a cluster of some hundred.
const ROUND_BYTES_KEPT: u64 = 512 << 20;

/// Snapshots that stay. Records are removed only when so many sound snapshots cover them: one damaged
/// snapshot loses nothing.
const SNAPSHOTS_KEPT: usize = 2;

/// Rows that are removed in one transaction: milliseconds, so that the journal can go on.
const STEP_ROWS: u64 = 2_000;

/// Pages that are given back to the disk in one transaction, and that may stay free for what comes next.
const STEP_PAGES: u32 = 1_024;

/// What stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// So many of the last records, and all that the snapshots do not cover...
    pub records: u64,
    /// ... and no more of them than fit into so many bytes.
    pub record_bytes: u64,
    /// So many of the last rounds...
    pub rounds: u64,
    /// ... and no more of them than fit into so many bytes. The last one stays whatever its size.
    pub round_bytes: u64,
}

impl Default for Keep {
    fn default() -> Self {
        Keep {
            records: RECORDS_KEPT,
            record_bytes: RECORD_BYTES_KEPT,
            rounds: ROUNDS_KEPT,
            round_bytes: ROUND_BYTES_KEPT,
        }
    }
}

/// What was removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Records.
    pub records: u64,
    /// Snapshots.
    pub snapshots: u64,
    /// Rounds.
    pub rounds: u64,
    /// Bytes by which the database is smaller.
    pub bytes: u64,
}

pub(super) fn compact(
    db: &mut Database,
    gate: &Gate,
    keep: &Keep,
) -> Result<Compacted, StoreError> {
    let failed = db.failed("compacting");
    let before = bytes(db).map_err(&failed)?;
    let (covered, snapshots) = trim_snapshots(db, gate)?;
    let head = schema::link(db, "head")?;
    let records = match covered {
        Some(covered) => {
            let end = last_surplus(db, head.seq, keep).map_err(&failed)?.min(covered);
            trim_journal(db, gate, end)?
        }
        None => 0,
    };
    let rounds = trim_rounds(db, gate, keep)?;
    free_disk(db, gate).map_err(&failed)?;
    let after = bytes(db).map_err(&failed)?;
    Ok(Compacted { records, snapshots, rounds, bytes: before.saturating_sub(after) })
}

/// Removes all but the newest sound snapshots. Returns up to which record there are enough of them, and how
/// many were removed.
fn trim_snapshots(db: &Database, gate: &Gate) -> Result<(Option<u64>, u64), StoreError> {
    let failed = db.failed("compacting");
    let mut sound = Vec::new();
    let mut surplus = snapshot::unfinished(db).map_err(&failed)?;
    let begun = surplus.len();
    for row in snapshot::list(db)? {
        let is_kept = sound.len() < SNAPSHOTS_KEPT && snapshot::is_sound(db, &row)?;
        if is_kept { sound.push(row.seq) } else { surplus.push(row.seq) }
    }
    for &seq in &surplus {
        snapshot::remove(db, gate, seq).map_err(&failed)?;
    }
    let covered = sound.get(SNAPSHOTS_KEPT - 1).copied();
    Ok((covered, (surplus.len() - begun) as u64))
}

/// The newest record that is too old or too far down to stay; 0: all stay.
fn last_surplus(connection: &Connection, head: u64, keep: &Keep) -> rusqlite::Result<u64> {
    let by_number = head.saturating_sub(keep.records);
    // Sizes stand at the beginning of a row: the records themselves are not read.
    let sql = "SELECT seq, octet_length(body) FROM journal WHERE seq > ?1 ORDER BY seq DESC";
    let mut query = connection.prepare_cached(sql)?;
    let mut rows = query.query([by_number])?;
    let mut bytes = 0u64;
    while let Some(row) = rows.next()? {
        bytes = bytes.saturating_add(row.get(1)?);
        if bytes > keep.record_bytes {
            return row.get(0);
        }
    }
    Ok(by_number)
}

/// Removes the records up to one.
fn trim_journal(db: &mut Database, gate: &Gate, end: u64) -> Result<u64, StoreError> {
    let failed = db.failed("compacting");
    let mut removed = 0;
    loop {
        let base = schema::link(db, "base")?;
        let next = end.min(base.seq.saturating_add(STEP_ROWS));
        if next <= base.seq {
            return Ok(removed);
        }
        // Where the chain is broken nothing is removed: it is evidence.
        let Some(link) = snapshot::link_at(db, next)? else { return Ok(removed) };
        let _turn = gate.enter();
        let behavior = TransactionBehavior::Immediate;
        let transaction = db.transaction_with_behavior(behavior).map_err(&failed)?;
        let rows = transaction.execute("DELETE FROM journal WHERE seq <= ?1", [next]);
        removed += rows.map_err(&failed)? as u64;
        schema::set_link(&transaction, "base", link).map_err(&failed)?;
        transaction.commit().map_err(&failed)?;
    }
}

/// Removes the documents of rounds that are too many or too large, the oldest first.
pub(super) fn trim_rounds(db: &Database, gate: &Gate, keep: &Keep) -> Result<u64, StoreError> {
    let trimmed = || -> rusqlite::Result<u64> {
        let first = first_round(db, keep)?;
        let sql = "DELETE FROM rounds WHERE round IN (SELECT round FROM rounds WHERE round < ?1 LIMIT ?2)";
        let mut removed = 0;
        loop {
            let _turn = gate.enter();
            let rows = db.execute(sql, (first, STEP_ROWS))? as u64;
            removed += rows;
            if rows == 0 {
                return Ok(removed);
            }
        }
    };
    trimmed().map_err(db.failed("removing old rounds"))
}

/// The oldest round that stays.
fn first_round(connection: &Connection, keep: &Keep) -> rusqlite::Result<u64> {
    // Sizes stand at the beginning of a row: the documents themselves are not read.
    let sql = "SELECT round, octet_length(body) FROM rounds ORDER BY round DESC";
    let mut query = connection.prepare_cached(sql)?;
    let mut rows = query.query([])?;
    let (mut first, mut count, mut bytes) = (0, 0u64, 0u64);
    while let Some(row) = rows.next()? {
        count += 1;
        bytes = bytes.saturating_add(row.get(1)?);
        if count > 1 && (count > keep.rounds || bytes > keep.round_bytes) {
            return Ok(first);
        }
        first = row.get(0)?;
    }
    Ok(0)
}

/// Gives free pages back to the disk.
fn free_disk(connection: &Connection, gate: &Gate) -> rusqlite::Result<()> {
    loop {
        let free: u64 = connection.query_row("PRAGMA freelist_count", [], |row| row.get(0))?;
        if free <= u64::from(STEP_PAGES) {
            return Ok(());
        }
        let _turn = gate.enter();
        connection.execute_batch(&format!("PRAGMA incremental_vacuum({STEP_PAGES})"))?;
        let left: u64 = connection.query_row("PRAGMA freelist_count", [], |row| row.get(0))?;
        if left >= free {
            return Ok(());
        }
    }
}

/// The size of the database.
pub(super) fn bytes(connection: &Connection) -> rusqlite::Result<u64> {
    let number = |sql| connection.query_row(sql, [], |row| row.get::<_, u64>(0));
    Ok(number("PRAGMA page_count")?.saturating_mul(number("PRAGMA page_size")?))
}
