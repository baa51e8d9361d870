//! A connection to the database of a state folder, with the file that it is to: what goes wrong names it.

use super::error::StoreError;
use rusqlite::Connection;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;

/// A connection and its file.
#[derive(Debug)]
pub(super) struct Database {
    pub connection: Connection,
    pub file: PathBuf,
}

impl Database {
    /// What an error of SQLite means that came while something was done.
    pub fn failed(&self, doing: &'static str) -> impl Fn(rusqlite::Error) -> StoreError + use<> {
        let file = self.file.clone();
        move |source| StoreError::database(&file, doing, source)
    }

    /// It is not as it was written.
    pub fn damaged(&self, seq: Option<u64>, what: String) -> StoreError {
        StoreError::Damaged { file: self.file.clone(), seq, what }
    }
}

impl Deref for Database {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl DerefMut for Database {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }
}
