//! A folder that is gone after the test.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

static COUNT: AtomicU32 = AtomicU32::new(0);

pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("oef-store-{name}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("the temporary folder can be written");
        Folder(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn database(&self) -> PathBuf {
        self.0.join(super::super::DATABASE)
    }

    /// Runs SQL behind the store's back.
    pub fn meddle(&self, sql: &str) {
        let connection = rusqlite::Connection::open(self.database()).expect("a database");
        connection.execute_batch(sql).expect("SQL that works");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
