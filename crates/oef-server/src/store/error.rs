//! What goes wrong with a state folder, and the way out.

use rusqlite::ErrorCode;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// What SQLite says where a page that should be there is beyond the end of the file.
const SHORT_READ: i32 = rusqlite::ffi::SQLITE_IOERR_SHORT_READ;

/// Why the store could not do what it was asked.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The folder cannot be used at all.
    #[error(
        "the state folder cannot be used: `{path}`: {source}; name another folder, or make this one writable"
    )]
    Folder {
        /// The folder, or the file in it.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another daemon works there.
    #[error("the state folder `{dir}` is in use by {}; stop that daemon first, or name another folder", holder(.pid))]
    InUse {
        /// The folder.
        dir: PathBuf,
        /// The process that the lock file names.
        pid: Option<u32>,
    },
    /// A daemon works there, and does by itself what was asked.
    #[error(
        "the state folder `{dir}` is in use by {}, which compacts its journal by itself after every snapshot; to do it now, stop that daemon first",
        holder(.pid)
    )]
    Compacts {
        /// The folder.
        dir: PathBuf,
        /// The process that the lock file names.
        pid: Option<u32>,
    },
    /// The end of the journal is missing, or another's.
    #[error("`{file}` is not what this daemon wrote last, at record {seq}: {what}")]
    Shortened {
        /// The database.
        file: PathBuf,
        /// The first record that is missing or another.
        seq: u64,
        /// What is wrong, and the way out.
        what: String,
    },
    /// There is no journal although there was one.
    #[error(
        "the journal of `{dir}` is gone: {what}; put it back (a backup as `oef.db`), or empty the folder to start again"
    )]
    Lost {
        /// The folder.
        dir: PathBuf,
        /// How that is known.
        what: String,
    },
    /// The folder was removed or replaced while it was in use.
    #[error(
        "the state folder `{dir}` was removed or replaced under the daemon; nothing is taken any more: stop the daemon, put \
         the folder back, and start it again"
    )]
    Gone {
        /// The folder.
        dir: PathBuf,
    },
    /// There is no store in the folder.
    #[error(
        "there is no journal in `{dir}`; name the state folder of a daemon (it holds a file `oef.db`)"
    )]
    Missing {
        /// The folder.
        dir: PathBuf,
    },
    /// The folder was written by a newer version.
    #[error(
        "`{file}` has version {found} and this program knows versions up to {known}; use the newer program, or name another folder"
    )]
    Newer {
        /// The database.
        file: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The file is something else.
    #[error(
        "`{file}` is not a database of this program ({what}); name another folder, or move the file away"
    )]
    NotOurs {
        /// The file.
        file: PathBuf,
        /// What it is instead.
        what: String,
    },
    /// Bytes are wrong or missing.
    #[error(
        "`{file}` is damaged{}: {what}; `oef journal check` says how far, and a backup put in its place helps",
        at_record(.seq)
    )]
    Damaged {
        /// The database.
        file: PathBuf,
        /// The record at which it was found.
        seq: Option<u64>,
        /// What is wrong.
        what: String,
    },
    /// The file may not be written.
    #[error(
        "`{file}` cannot be opened as it must be; check who owns it, and whether its disk is mounted read-only"
    )]
    ReadOnly {
        /// The database.
        file: PathBuf,
    },
    /// No room is left.
    #[error("the disk of `{file}` is full; nothing was changed; make room and try again")]
    Full {
        /// The database.
        file: PathBuf,
    },
    /// The system does not read or write it.
    #[error(
        "the disk of `{file}` fails or has become read-only ({doing}: {source}); nothing was changed; see the kernel's log (`dmesg`) and how the disk is mounted"
    )]
    Failing {
        /// The database.
        file: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// A file is in the way.
    #[error("`{file}` exists already; name a file that does not")]
    Exists {
        /// The file.
        file: PathBuf,
    },
    /// The store was closed while somebody still asked.
    #[error("the state folder `{dir}` was closed; start the daemon again")]
    Closed {
        /// The folder.
        dir: PathBuf,
    },
    /// Something else went wrong in a file that the tools write.
    #[error("cannot write `{file}`: {source}")]
    Output {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Whatever else SQLite says.
    #[error("`{file}`: {doing} failed: {source}")]
    Database {
        /// The database.
        file: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What SQLite says.
        source: rusqlite::Error,
    },
}

impl StoreError {
    /// Whether the same call may work later without anybody touching the folder itself.
    pub fn is_temporary(&self) -> bool {
        match self {
            StoreError::Full { .. } | StoreError::Failing { .. } => true,
            StoreError::Database { source, .. } => matches!(
                source.sqlite_error_code(),
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
            ),
            _ => false,
        }
    }

    /// What an error of SQLite means for the folder.
    pub(super) fn database(file: &Path, doing: &'static str, source: rusqlite::Error) -> Self {
        let file = file.to_path_buf();
        let what = |source: &rusqlite::Error| source.to_string();
        if source.sqlite_error().is_some_and(|e| e.extended_code == SHORT_READ) {
            let what = "the file ends before its last page".into();
            return StoreError::Damaged { what, file, seq: None };
        }
        match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => StoreError::NotOurs { what: what(&source), file },
            Some(ErrorCode::DatabaseCorrupt) => {
                StoreError::Damaged { what: what(&source), file, seq: None }
            }
            Some(ErrorCode::DiskFull) => StoreError::Full { file },
            Some(ErrorCode::SystemIoFailure) => StoreError::Failing { file, doing, source },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
                StoreError::ReadOnly { file }
            }
            _ => StoreError::Database { file, doing, source },
        }
    }
}

fn holder(pid: &Option<u32>) -> String {
    match pid {
        Some(pid) => format!("another daemon (process {pid})"),
        None => "another daemon".into(),
    }
}

fn at_record(seq: &Option<u64>) -> String {
    seq.map_or_else(String::new, |seq| format!(" at record {seq}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_became_read_only_is_named_with_the_way_out() {
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR_WRITE);
        let source = rusqlite::Error::SqliteFailure(code, None);
        let error = StoreError::database(Path::new("/s/oef.db"), "writing the journal", source);
        assert!(error.is_temporary(), "the operator may mount it again");
        let text = error.to_string();
        for part in ["`/s/oef.db`", "read-only", "writing the journal", "dmesg"] {
            assert!(text.contains(part), "{text}");
        }
    }
}
