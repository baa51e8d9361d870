//! Tools for a state folder from outside. All but [`compact`] also work while a daemon is running there.

use super::chain::{Link, WRONG_SUM, gap};
use super::compaction::{self, Compacted, Keep};
use super::database::Database;
use super::error::StoreError;
use super::head;
use super::load::{self, Row, Rows};
use super::lock::Lock;
use super::record::StoredRecord;
use super::schema::{self, DATABASE, OpenMode};
use super::snapshot::{self, StoredSnapshot};
use super::writer::Store;
use serde::de::IgnoredAny;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Problems that are listed; a damaged disk would list every record.
const PROBLEMS_MAX: usize = 100;

/// What a restart would apply, in order.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// First, where there is one, the world of a snapshot.
    Snapshot(&'a StoredSnapshot<'a>),
    /// Then the records after it.
    Record(&'a StoredRecord),
}

/// What was found in a state folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Records that are there.
    pub records: u64,
    /// The first of them; 0: none.
    pub first: u64,
    /// The last of them; 0: none.
    pub last: u64,
    /// Snapshots.
    pub snapshots: u64,
    /// Documents of rounds.
    pub rounds: u64,
    /// The size of the database in bytes.
    pub bytes: u64,
    /// What is wrong; within a limit.
    pub problems: Vec<Damage>,
}

/// Something that is wrong in a state folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// At which record, if it is about one.
    pub seq: Option<u64>,
    /// What.
    pub what: String,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }

    fn add(&mut self, seq: Option<u64>, what: impl Into<String>) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(Damage { seq, what: what.into() });
        }
    }

    /// Takes what is only damaged as a finding, and everything else as a reason to give up.
    fn take(&mut self, error: StoreError) -> Result<(), StoreError> {
        match error {
            StoreError::Damaged { seq, what, .. } => {
                let found = Damage { seq, what };
                if !self.problems.contains(&found) {
                    self.add(found.seq, found.what);
                }
                Ok(())
            }
            other => Err(other),
        }
    }
}

/// Looks at everything: the database's own structure, the chain of the records, whether each can be read,
/// the snapshots, and whether a restart would understand it all, which `replay` says.
pub fn check(
    dir: &Path,
    replay: &mut dyn FnMut(Step<'_>) -> Result<(), String>,
) -> Result<Report, StoreError> {
    // First, because a daemon that writes meanwhile moves it ahead of the state that is looked at.
    let known = head::read(dir);
    let db = look(dir)?;
    let mut report = Report::default();
    let parts = [check_structure, check_chain, check_snapshots, check_rounds];
    for part in parts {
        if let Err(error) = part(&db, &mut report) {
            report.take(error)?;
        }
    }
    if let Err(error) = known.and_then(|known| check_end(&db, known, &mut report)) {
        report.take(error)?;
    }
    if let Err(error) = check_replay(&db, &mut report, replay) {
        report.take(error)?;
    }
    Ok(report)
}

/// A connection that sees one state of the folder from here on, whatever a daemon does meanwhile.
fn look(dir: &Path) -> Result<Database, StoreError> {
    let db = schema::open_for_reading(dir)?;
    db.execute_batch("BEGIN").map_err(db.failed("opening"))?;
    Ok(db)
}

fn check_structure(db: &Database, report: &mut Report) -> Result<(), StoreError> {
    let failed = db.failed("checking the structure");
    report.bytes = compaction::bytes(db).map_err(&failed)?;
    let sql = format!("PRAGMA integrity_check({PROBLEMS_MAX})");
    let mut query = db.prepare(&sql).map_err(&failed)?;
    let found = query.query_map([], |row| row.get::<_, String>(0));
    for line in found.map_err(&failed)? {
        let line = line.map_err(&failed)?;
        if line != "ok" {
            let line = line.replace('\n', "; ");
            report.add(None, format!("the database's structure: {line}"));
        }
    }
    Ok(())
}

fn check_chain(db: &Database, report: &mut Report) -> Result<(), StoreError> {
    let head = schema::link(db, "head")?;
    let base = schema::link(db, "base")?;
    // Where a checksum does not fit, either it or the record is wrong: the next record stands on one of two.
    let mut ends = [base, base];
    let mut at_ms = 0;
    for row in Rows::after(db, 0) {
        let Row { record, sum } = row?;
        let seq = record.seq;
        if ends[0].seq + 1 != seq {
            let (seq, what) = gap(ends[0].seq + 1, seq);
            report.add(Some(seq), what);
        }
        let expected = ends.map(|end| end.next(record.at_ms, &record.kind, &record.body).sum);
        let is_next = ends[0].seq + 1 == seq;
        if is_next && !expected.iter().any(|e| Some(*e) == sum) {
            report.add(Some(seq), WRONG_SUM);
        }
        if serde_json::from_str::<IgnoredAny>(&record.body).is_err() {
            report.add(Some(seq), "it is not JSON");
        }
        if record.at_ms < at_ms {
            report.add(Some(seq), "it is earlier than the record before");
        }
        at_ms = record.at_ms;
        ends = [Link { seq, sum: sum.unwrap_or_default() }, Link { seq, sum: expected[0] }];
        report.first = if report.records == 0 { seq } else { report.first };
        report.records += 1;
        report.last = seq;
    }
    let end = ends.into_iter().find(|end| *end == head);
    if end.is_none() {
        let (seq, what) = load::missing_end(ends[0], head);
        report.add(Some(seq), what);
    }
    Ok(())
}

/// Whether the database has all that was acknowledged.
fn check_end(db: &Database, known: Option<Link>, report: &mut Report) -> Result<(), StoreError> {
    let head = schema::link(db, "head")?;
    if let Some((seq, what)) = head::found(db, known, head)? {
        report.add(Some(seq), what);
    }
    Ok(())
}

fn check_snapshots(db: &Database, report: &mut Report) -> Result<(), StoreError> {
    for row in snapshot::list(db)? {
        report.snapshots += 1;
        if let Err(what) = snapshot::find(db, &row)? {
            report.add(Some(row.seq), format!("the snapshot at this record: {what}"));
        }
    }
    Ok(())
}

fn check_rounds(db: &Database, report: &mut Report) -> Result<(), StoreError> {
    let failed = db.failed("reading the rounds");
    let sql = "SELECT round, body FROM rounds ORDER BY round";
    let mut query = db.prepare(sql).map_err(&failed)?;
    let mut rows = query.query([]).map_err(&failed)?;
    while let Some(row) = rows.next().map_err(&failed)? {
        report.rounds += 1;
        let round: u64 = row.get(0).map_err(&failed)?;
        let body: rusqlite::Result<String> = row.get(1);
        if !body.is_ok_and(|body| serde_json::from_str::<IgnoredAny>(&body).is_ok()) {
            report.add(None, format!("the document of round {round} is not JSON"));
        }
    }
    Ok(())
}

fn check_replay(
    db: &Database,
    report: &mut Report,
    replay: &mut dyn FnMut(Step<'_>) -> Result<(), String>,
) -> Result<(), StoreError> {
    let loaded = load::load(db)?;
    if let Some(snapshot) = &loaded.snapshot
        && let Err(what) = replay(Step::Snapshot(snapshot))
    {
        report.add(Some(snapshot.seq), format!("the snapshot cannot be used: {what}"));
        return Ok(());
    }
    for record in loaded.records {
        let record = record?;
        if let Err(what) = replay(Step::Record(&record)) {
            report.add(Some(record.seq), format!("it cannot be applied: {what}"));
            return Ok(());
        }
    }
    Ok(())
}

/// Writes the journal as JSON lines with `seq`, `at_ms`, `kind` and `body`, and returns how many. Where the
/// first records were compacted, the oldest snapshot comes first, as a line of the kind `snapshot`. A record
/// that is damaged is written as far as it can be read, as text under `damaged`.
pub fn export(dir: &Path, out: &mut dyn Write) -> Result<u64, StoreError> {
    let db = look(dir)?;
    let output = |source| StoreError::Output { file: PathBuf::from("the export"), source };
    let mut lines = 0;
    let base = schema::link(&db, "base")?;
    if base.seq > 0
        && let Some(row) = snapshot::list(&db)?.last()
        && let Ok((found, _)) = snapshot::find(&db, row)?
    {
        snapshot_line(out, &found).map_err(output)?;
        lines += 1;
    }
    for row in Rows::after(&db, 0) {
        let StoredRecord { seq, at_ms, kind, body } = row?.record;
        line(out, seq, at_ms, &kind, &body).map_err(output)?;
        lines += 1;
    }
    out.flush().map_err(output)?;
    Ok(lines)
}

/// A snapshot as a line. It is as the daemon wrote it: JSON without line ends.
fn snapshot_line(out: &mut dyn Write, found: &StoredSnapshot<'_>) -> io::Result<()> {
    let StoredSnapshot { seq, at_ms, .. } = found;
    write!(out, r#"{{"seq":{seq},"at_ms":{at_ms},"kind":"snapshot","body":"#)?;
    io::copy(&mut found.text(), out)?;
    writeln!(out, "}}")
}

fn line(out: &mut dyn Write, seq: u64, at_ms: u64, kind: &str, body: &str) -> io::Result<()> {
    let kind = serde_json::to_string(kind)?;
    let is_one_line = !body.contains(['\n', '\r']);
    if is_one_line && serde_json::from_str::<IgnoredAny>(body).is_ok() {
        writeln!(out, r#"{{"seq":{seq},"at_ms":{at_ms},"kind":{kind},"body":{body}}}"#)
    } else {
        let body = serde_json::to_string(body)?;
        writeln!(out, r#"{{"seq":{seq},"at_ms":{at_ms},"kind":{kind},"damaged":{body}}}"#)
    }
}

/// Copies the database into a new file, as it is at one instant, and returns the size. To go back to it, put
/// it into an empty folder under the name `oef.db`.
pub fn backup(dir: &Path, target: &Path) -> Result<u64, StoreError> {
    if target.symlink_metadata().is_ok() {
        return Err(StoreError::Exists { file: target.to_path_buf() });
    }
    let part = part_of(target);
    let copied = copy(&schema::open_for_reading(dir)?, &part, target);
    if copied.is_err() {
        let _ = fs::remove_file(&part);
    }
    copied
}

fn copy(db: &Database, part: &Path, target: &Path) -> Result<u64, StoreError> {
    let output = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists => StoreError::Exists { file: target.to_path_buf() },
        _ => StoreError::Output { file: target.to_path_buf(), source },
    };
    // Made here, because the copy holds what only the owner may see; SQLite fills an empty file.
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(part).map_err(output)?;
    let name = part.to_str().ok_or_else(|| output(io::Error::other("its name is not UTF-8")))?;
    // One statement, one state of the database; a daemon may write meanwhile.
    db.execute("VACUUM INTO ?1", [name]).map_err(|source| match db.failed("copying")(source) {
        StoreError::Full { .. } => StoreError::Full { file: target.to_path_buf() },
        other => other,
    })?;
    let marked = head::mark_backup(part);
    marked.map_err(|source| StoreError::database(part, "marking", source))?;
    let copy = File::open(part).map_err(output)?;
    copy.sync_all().map_err(output)?;
    // A link, not a rename: it never replaces what somebody put there meanwhile.
    fs::hard_link(part, target).map_err(output)?;
    fs::remove_file(part).map_err(output)?;
    let folder = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(output)?;
    copy.metadata().map(|meta| meta.len()).map_err(output)
}

fn part_of(target: &Path) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.part", std::process::id()));
    target.with_file_name(name)
}

/// Takes a folder as it is, although records that were acknowledged are missing. What they were is lost.
pub fn accept(dir: &Path) -> Result<u64, StoreError> {
    if !dir.join(DATABASE).exists() {
        return Err(StoreError::Missing { dir: dir.to_path_buf() });
    }
    let _lock = Lock::take(dir)?;
    head::accept(dir)?;
    Ok(schema::link(&schema::open_for_reading(dir)?, "head")?.seq)
}

/// Removes what no restart needs. It refuses while a daemon is running, which does it by itself after every
/// snapshot.
pub fn compact(dir: &Path, keep: &Keep) -> Result<Compacted, StoreError> {
    match Store::open(dir, OpenMode::Existing) {
        Ok(store) => store.archive().compact(keep),
        Err(StoreError::InUse { dir, pid }) => Err(StoreError::Compacts { dir, pid }),
        Err(other) => Err(other),
    }
}
