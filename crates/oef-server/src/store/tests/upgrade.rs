//! A schema of tomorrow, and an upgrade to it that is cut off anywhere.

use super::{Folder, append, open};
use crate::store::schema::{self, Durability};
use rusqlite::Connection;
use std::fs;

/// What two later versions might do: statement by statement, since a kill comes between any two.
const LATER: [&[&str]; 2] = [
    &["ALTER TABLE rounds ADD COLUMN gpus INTEGER", "CREATE INDEX rounds_at ON rounds (at_ms)"],
    &[
        "CREATE TABLE notes (seq INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT",
        "INSERT INTO notes SELECT seq, body FROM journal",
        "DELETE FROM notes WHERE seq % 2 = 0",
    ],
];

/// Everything that a database holds, schema and rows.
fn contents(connection: &Connection) -> Vec<String> {
    let texts = |sql: &str| -> Vec<String> {
        let mut query = connection.prepare(sql).expect("SQL");
        let rows = query.query_map([], |row| row.get::<_, String>(0)).expect("rows");
        rows.map(|row| row.expect("text")).collect()
    };
    let mut all = texts("SELECT ifnull(sql, name) FROM sqlite_schema ORDER BY name");
    all.extend(texts("SELECT seq || ' ' || body FROM journal ORDER BY seq"));
    all.extend(texts("SELECT seq || ' ' || body FROM notes ORDER BY seq"));
    all.extend(texts("SELECT 'version ' || user_version FROM pragma_user_version"));
    all
}

/// A folder of today with some records.
fn today() -> Folder {
    let folder = Folder::new("upgrade");
    append(&mut open(&folder), 2_000);
    folder
}

fn upgrade(folder: &Folder) -> Vec<String> {
    let steps: Vec<String> = LATER.iter().map(|step| step.join(";")).collect();
    let steps: Vec<&str> =
        schema::STEPS.iter().copied().chain(steps.iter().map(|s| &**s)).collect();
    let file = folder.database();
    let mut connection = schema::connect(&file, Durability::Full).expect("it opens");
    schema::migrate(&mut connection, &steps).expect("it can be brought up to date");
    contents(&connection)
}

#[test]
fn an_upgrade_that_is_killed_anywhere_is_repeated() {
    let expected = upgrade(&today());
    assert_eq!(expected.iter().filter(|line| line.contains("naïve")).count(), 3_000);
    let statements: Vec<&str> = LATER.iter().flat_map(|step| step.iter().copied()).collect();
    for killed_after in 0..=statements.len() {
        let folder = today();
        let connection = schema::connect(&folder.database(), Durability::Full).expect("it opens");
        // A small cache: what is not committed lies in the files as well.
        connection.execute_batch("PRAGMA cache_size = 2; BEGIN IMMEDIATE").expect("SQL");
        for sql in &statements[..killed_after] {
            connection.execute_batch(sql).expect("SQL");
        }
        let left = Folder::new("upgrade-killed");
        for name in ["oef.db", "oef.db-wal"] {
            fs::copy(folder.path().join(name), left.path().join(name)).expect("room");
        }
        drop(connection);
        assert!(upgrade(&left) == expected, "killed after {killed_after} statements");
        // And once it is done, doing it again changes nothing.
        assert!(upgrade(&left) == expected, "twice");
    }
}
