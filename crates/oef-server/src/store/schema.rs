//! The database: where it lies, its tables, and the versions it went through.

use super::chain::Link;
use super::database::Database;
use super::error::StoreError;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use rusqlite_migration::{M, Migrations};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::Duration;

/// The database's name in the state folder.
pub const DATABASE: &str = "oef.db";

/// Tells our files from other databases: "OEFj" in the file's header.
const APPLICATION: i64 = 0x4F45_466A;

/// A writer waits so long for another one. Every transaction here is short; only a stalled disk takes longer,
/// and then an error is better than a daemon that seems dead.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// The log is folded into the database by a thread of its own (`fold`). Only when so many pages (16 MiB) have
/// gathered, the journal's connection does what is left, so that the log begins anew: the one who commits
/// then waits.
const JOURNAL_CHECKPOINT_PAGES: u32 = 4096;

/// The log is cut down to this size after something large went through it.
const LOG_BYTES_KEPT: u32 = 64 << 20;

/// Whether a folder may be set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// The folder and the database are made where there are none.
    Create,
    /// There must be a database.
    Existing,
}

/// How soon what was committed is safe from a power cut. From a crash of the program it is at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Durability {
    /// At once.
    Full,
    /// With the next commit that is [`Full`](Durability::Full); what comes later is never kept without it.
    Later,
}

/// The schema, one step per version; never changed once released, only added to.
pub(super) const STEPS: [&str; 1] = [
    // Version 1. `body` is JSON. A snapshot's text lies in parts, so that writing one holds nobody up.
    "PRAGMA application_id = 1329940074;
     CREATE TABLE journal (
        seq INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL, sum BLOB NOT NULL
     ) STRICT;
     CREATE TABLE snapshots (
        seq INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, parts INTEGER NOT NULL, sum BLOB NOT NULL
     ) STRICT;
     CREATE TABLE snapshot_parts (
        seq INTEGER NOT NULL, part INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (seq, part)
     ) STRICT;
     CREATE TABLE rounds (round INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
     CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
     INSERT INTO meta VALUES
        ('base', '0 00000000000000000000000000000000'),
        ('head', '0 00000000000000000000000000000000');",
];

/// The newest version that this program knows.
pub(super) const VERSION: i64 = STEPS.len() as i64;

/// Makes the folder, readable by its owner alone, where there is none.
pub(super) fn make_folder(dir: &Path) -> Result<(), StoreError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(|source| StoreError::Folder { path: dir.to_path_buf(), source })
}

/// The database for writing, with its schema brought up to date. The folder's lock must be held.
pub(super) fn open_for_writing(dir: &Path, mode: OpenMode) -> Result<Database, StoreError> {
    let file = dir.join(DATABASE);
    if mode == OpenMode::Create {
        create_file(dir, &file)?;
    }
    // Looked at before anything is written: what we do not understand stays as it is.
    match examine(dir, &file)? {
        Contents::Nothing if mode == OpenMode::Existing => {
            return Err(StoreError::Missing { dir: dir.to_path_buf() });
        }
        Contents::Nothing | Contents::Ours => {}
    }
    let mut db = connect(&file, Durability::Full)?;
    migrate(&mut db, &STEPS)?;
    Ok(db)
}

/// Takes the steps that a database has not taken yet: all of them in one transaction, or none.
pub(super) fn migrate(db: &mut Database, steps: &[&str]) -> Result<(), StoreError> {
    let steps: Vec<M<'_>> = steps.iter().map(|sql| M::up(sql)).collect();
    match Migrations::new(steps).to_latest(db) {
        Ok(()) => Ok(()),
        Err(rusqlite_migration::Error::RusqliteError { err, .. }) => {
            Err(db.failed("bringing the schema up to date")(err))
        }
        Err(other) => Err(db.damaged(None, other.to_string())),
    }
}

/// Brings what is in the write-ahead log into the file itself. Before that, the file of a new folder is empty: a copy of it
/// alone would look like a cluster that has yet to begin.
pub(super) fn write_through(db: &Database) -> Result<(), StoreError> {
    let done = db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    done.map_err(db.failed("writing the log through"))
}

/// One more connection for writing to a database that is set up.
pub(super) fn connect(file: &Path, durability: Durability) -> Result<Database, StoreError> {
    let failed = |source| StoreError::database(file, "opening", source);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags).map_err(failed)?;
    configure(&connection, durability).map_err(failed)?;
    let mode: String =
        connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)).map_err(failed)?;
    if mode != "wal" {
        let source = io::Error::other("its file system cannot hold a write-ahead log");
        return Err(StoreError::Folder { path: file.to_path_buf(), source });
    }
    Ok(Database { connection, file: file.to_path_buf() })
}

fn configure(connection: &Connection, durability: Durability) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // Counts only while the file is empty, and must come before everything that writes.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    let (synchronous, checkpoint) = match durability {
        Durability::Full => ("FULL", JOURNAL_CHECKPOINT_PAGES),
        Durability::Later => ("NORMAL", 0),
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    let sql = format!("PRAGMA wal_autocheckpoint = {checkpoint}");
    connection.query_row(&sql, [], |_| Ok(()))?;
    connection.query_row(&format!("PRAGMA journal_size_limit = {LOG_BYTES_KEPT}"), [], |_| Ok(()))
}

/// The database for reading; it changes nothing and waits for nobody.
pub(super) fn open_for_reading(dir: &Path) -> Result<Database, StoreError> {
    let file = dir.join(DATABASE);
    match examine(dir, &file)? {
        Contents::Ours => read_only(&file),
        Contents::Nothing => Err(StoreError::Missing { dir: dir.to_path_buf() }),
    }
}

fn read_only(file: &Path) -> Result<Database, StoreError> {
    let failed = |source| StoreError::database(file, "opening", source);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(file, flags).map_err(failed)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
    let looked = connection.query_row("PRAGMA user_version", [], |_| Ok(()));
    let refused = looked.err().and_then(|error| error.sqlite_error_code());
    let log = file.with_extension("db-wal");
    if refused == Some(ErrorCode::CannotOpen) && !log.exists() {
        // On a read-only disk readers cannot share an index of the log; without a log they need none.
        let uri = format!("file:{}?immutable=1", escaped(file));
        let flags = flags | OpenFlags::SQLITE_OPEN_URI;
        connection = Connection::open_with_flags(uri, flags).map_err(failed)?;
    }
    Ok(Database { connection, file: file.to_path_buf() })
}

/// A path as it stands in a URI.
fn escaped(path: &Path) -> String {
    let mut text = String::new();
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' => {
                text.push(byte.into());
            }
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    text
}

/// What lies under the database's name.
enum Contents {
    /// No file, or one in which nothing was written yet.
    Nothing,
    /// A store of a version that we know.
    Ours,
}

/// Whether there is nothing in the database yet.
pub(super) fn is_empty(dir: &Path) -> Result<bool, StoreError> {
    Ok(matches!(examine(dir, &dir.join(DATABASE))?, Contents::Nothing))
}

/// Looks at a database without writing to it.
fn examine(dir: &Path, file: &Path) -> Result<Contents, StoreError> {
    match file.metadata() {
        Ok(found) if found.is_file() => {}
        Ok(_) => {
            let what = "it is not a plain file".into();
            return Err(StoreError::NotOurs { file: file.to_path_buf(), what });
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Contents::Nothing),
        Err(source) => return Err(StoreError::Folder { path: dir.to_path_buf(), source }),
    }
    let db = read_only(file)?;
    let failed = db.failed("reading the header");
    let number = |sql| db.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(&failed);
    let application = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
    let tables = number("SELECT count(*) FROM sqlite_schema")?;
    match (application, version) {
        (0, 0) if tables == 0 => Ok(Contents::Nothing),
        (APPLICATION, found) if found > VERSION => {
            Err(StoreError::Newer { file: file.to_path_buf(), found, known: VERSION })
        }
        (APPLICATION, found) if found >= 1 => Ok(Contents::Ours),
        _ => {
            let what = format!("application {application}, version {version}, {tables} tables");
            Err(StoreError::NotOurs { file: file.to_path_buf(), what })
        }
    }
}

/// An empty file that only its owner may read; what SQLite puts beside it takes its mode.
fn create_file(dir: &Path, file: &Path) -> Result<(), StoreError> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    let synced = match made {
        Ok(_) => File::open(dir).and_then(|dir| dir.sync_all()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    };
    synced.map_err(|source| StoreError::Folder { path: file.to_path_buf(), source })
}

/// A named place in the chain: `base`, before the first record that is still there, or `head`, the last one.
pub(super) fn link(db: &Database, name: &str) -> Result<Link, StoreError> {
    let sql = "SELECT value FROM meta WHERE key = ?1";
    let text: String = db
        .prepare_cached(sql)
        .and_then(|mut query| query.query_row([name], |row| row.get(0)))
        .map_err(db.failed("reading the chain's ends"))?;
    text.parse().map_err(|()| db.damaged(None, format!("the chain's `{name}` is not readable")))
}

/// Notes a named place in the chain.
pub(super) fn set_link(connection: &Connection, name: &str, link: Link) -> rusqlite::Result<()> {
    let sql = "UPDATE meta SET value = ?2 WHERE key = ?1";
    connection.prepare_cached(sql)?.execute((name, link.to_string())).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_survive_in_a_uri() {
        assert_eq!(escaped(Path::new("/a b/100%?#é")), "/a%20b/100%25%3F%23%C3%A9");
    }
}
