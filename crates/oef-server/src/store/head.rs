//! The end of the journal's chain in a second place, `STATE/journal.head`: a database that was shortened, replaced or
//! copied without its log is noticed, and does not pass for the whole.
//!
//! It is written and synced after every transaction, before anybody is told that it is durable. So the database is never
//! behind it; where it is, records are missing that somebody relies on.

use super::chain::{Link, Sum, compare_ends};
use super::database::Database;
use super::error::StoreError;
use super::schema::{self, DATABASE};
use oef_report::format::counted;
use rusqlite::{Connection, OptionalExtension as _};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The file's name in the state folder.
pub const HEAD_FILE: &str = "journal.head";

/// The line has always the same length: it is written over in one go.
const LINE_BYTES: usize = 64;

/// In the database: there is such a file beside it.
const HAS_FILE: &str = "head_file";
/// In a copy that `oef backup` made: it has none, and need not have.
const IS_BACKUP: &str = "backup";

/// In a database that was a backup, or was taken as it is: it may not know all that was started.
const MAY_LACK: &str = "may_lack";

/// The file, open.
#[derive(Debug)]
pub(super) struct HeadFile {
    file: File,
    /// The database and this file, as they were when they were opened.
    watched: [(PathBuf, (u64, u64)); 2],
    written: Option<Link>,
}

impl HeadFile {
    /// Compares what is there with what was last acknowledged, and goes on from it.
    pub fn open(dir: &Path, db: &Database, head: Link) -> Result<HeadFile, StoreError> {
        let database = dir.join(DATABASE);
        compare(dir, db, head)?;
        let path = dir.join(HEAD_FILE);
        let folder = |source| StoreError::Folder { path: path.clone(), source };
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(&path).map_err(folder)?;
        let watched = [identity(&database), identity(&path)];
        let [Ok(first), Ok(second)] = watched else {
            return Err(StoreError::Gone { dir: dir.to_path_buf() });
        };
        let watched = [(database.clone(), first), (path.clone(), second)];
        let mut opened = HeadFile { file, watched, written: None };
        opened.write(head).map_err(folder)?;
        File::open(dir).and_then(|dir| dir.sync_all()).map_err(folder)?;
        let may_lack = head.seq > 0 && (has_mark(db, IS_BACKUP)? || !has_mark(db, HAS_FILE)?);
        let noted = if may_lack { mark(db, MAY_LACK, true) } else { Ok(()) };
        let marked = noted.and_then(|()| mark(db, HAS_FILE, true));
        marked.and_then(|()| mark(db, IS_BACKUP, false)).map_err(db.failed("marking"))?;
        Ok(opened)
    }

    /// Notes the end of the chain, and has it on disk when it returns.
    pub fn write(&mut self, head: Link) -> io::Result<()> {
        if self.written == Some(head) {
            return Ok(());
        }
        let mut line = format!("{head}").into_bytes();
        line.resize(LINE_BYTES - 1, b' ');
        line.push(b'\n');
        self.written = None;
        self.file.write_all_at(&line, 0)?;
        self.file.sync_data()?;
        self.written = Some(head);
        Ok(())
    }

    /// Whether the folder is still the one that was opened: neither removed nor replaced.
    pub fn is_in_place(&self) -> bool {
        self.watched.iter().all(|(path, known)| identity(path).is_ok_and(|now| now == *known))
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|metadata| (metadata.dev(), metadata.ino()))
}

/// What the file says; `None`: there is none.
pub(super) fn read(dir: &Path) -> Result<Option<Link>, StoreError> {
    let path = dir.join(HEAD_FILE);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(StoreError::Folder { path, source }),
    };
    // One that a power cut left empty was never acknowledged.
    if text.trim().is_empty() {
        return Ok(None);
    }
    let unreadable = |()| {
        let what = format!("`{HEAD_FILE}` is not readable; {WAY_OUT}");
        StoreError::Damaged { file: path.clone(), seq: None, what }
    };
    text.trim().parse().map(Some).map_err(unreadable)
}

/// How an operator goes on who knows that nothing better is left.
const WAY_OUT: &str = "put the whole folder or a backup in place, or, if this is all that is left, take it as it is with \
                       `oef journal accept`";

/// Whether a folder has no database although there was one: what was acknowledged is gone.
pub(super) fn check_missing(dir: &Path) -> Result<(), StoreError> {
    let lost = |what: String| Err(StoreError::Lost { dir: dir.to_path_buf(), what });
    if let Some(head) = read(dir)?.filter(|head| head.seq > 0) {
        return lost(format!("`{HEAD_FILE}` says that it had records up to number {}", head.seq));
    }
    for name in ["runs", "jobs"] {
        let jobs = fs::read_dir(dir.join(name)).into_iter().flatten().flatten().count();
        if jobs > 0 {
            return lost(format!("the folder `{name}` has {} in it", counted(jobs, "job")));
        }
    }
    Ok(())
}

fn compare(dir: &Path, db: &Database, head: Link) -> Result<(), StoreError> {
    if has_mark(db, IS_BACKUP)? {
        tracing::warn!(
            records = head.seq,
            "a backup was put in place: what came after it is not known"
        );
        return Ok(());
    }
    match found(db, read(dir)?, head)? {
        None => Ok(()),
        Some((seq, what)) => {
            let what = format!("{what}; {WAY_OUT}");
            Err(StoreError::Shortened { file: db.file.clone(), seq, what })
        }
    }
}

/// What is wrong with the end of the chain, at which record, given what the file said before the database was read: while
/// a daemon writes, the file may already be ahead of what was read.
pub(super) fn found(
    db: &Database,
    known: Option<Link>,
    head: Link,
) -> Result<Option<(u64, String)>, StoreError> {
    if has_mark(db, IS_BACKUP)? {
        return Ok(None);
    }
    let Some(known) = known else {
        let is_copy = has_mark(db, HAS_FILE)?;
        let what = format!(
            "`{HEAD_FILE}` is missing beside it: a database that is copied by itself lacks its last records (only `oef \
             backup` copies all of them)"
        );
        return Ok(is_copy.then_some((head.seq, what)));
    };
    let base = schema::link(db, "base")?;
    let is_kept = known.seq > base.seq && known.seq < head.seq;
    let sum = if is_kept { sum_of(db, known.seq)? } else { None };
    Ok(compare_ends(known, head, |_| sum))
}

/// Takes a folder as it is: what was acknowledged beyond it is given up.
pub(super) fn accept(dir: &Path) -> Result<(), StoreError> {
    let path = dir.join(HEAD_FILE);
    match fs::remove_file(&path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(source) => return Err(StoreError::Folder { path, source }),
    }
    let db = schema::connect(&dir.join(DATABASE), schema::Durability::Full)?;
    mark(&db, HAS_FILE, false).map_err(db.failed("marking"))
}

/// Marks a copy that `oef backup` made.
pub(super) fn mark_backup(file: &Path) -> rusqlite::Result<()> {
    let connection = Connection::open(file)?;
    mark(&connection, IS_BACKUP, true)?;
    mark(&connection, HAS_FILE, false)
}

/// Whether a backup was put in place, or an operator took the folder as it is, and more was started since than it knows.
pub(super) fn may_lack(db: &Database) -> Result<bool, StoreError> {
    has_mark(db, MAY_LACK)
}

/// It knows all that was started.
pub(super) fn lacks_nothing(db: &Database) -> Result<(), StoreError> {
    mark(db, MAY_LACK, false).map_err(db.failed("marking"))
}

fn sum_of(db: &Database, seq: u64) -> Result<Option<Sum>, StoreError> {
    let sql = "SELECT sum FROM journal WHERE seq = ?1";
    let row = db.query_row(sql, [seq], |row| row.get::<_, Vec<u8>>(0)).optional();
    let bytes = row.map_err(db.failed("reading the journal"))?;
    // One of a wrong length is none that was acknowledged.
    Ok(bytes.map(|bytes| Sum::read(&bytes).unwrap_or_default()))
}

fn has_mark(db: &Database, key: &str) -> Result<bool, StoreError> {
    let sql = "SELECT value FROM meta WHERE key = ?1";
    let value = db.query_row(sql, [key], |row| row.get::<_, String>(0)).optional();
    let value = value.map_err(db.failed("reading the marks"))?;
    Ok(value.is_some_and(|value| value == "1"))
}

fn mark(connection: &Connection, key: &str, is_set: bool) -> rusqlite::Result<()> {
    let sql = "SELECT value FROM meta WHERE key = ?1";
    let known = connection.query_row(sql, [key], |row| row.get::<_, String>(0)).optional()?;
    if known.as_deref() == Some("1") || is_set {
        let value = if is_set { "1" } else { "0" };
        if known.as_deref() != Some(value) {
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?1, ?2)", [key, value])?;
        }
    }
    Ok(())
}
