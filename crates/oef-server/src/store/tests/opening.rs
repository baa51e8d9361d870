use super::{Folder, append, open};
use crate::store::{Keep, OpenMode, Store, StoreError, journal, schema};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

fn refused(folder: &Folder) -> StoreError {
    Store::open(folder.path(), OpenMode::Create).expect_err("it must be refused")
}

#[test]
fn a_new_folder_is_for_its_owner_alone() {
    let folder = Folder::new("mode");
    let dir = folder.path().join("a/b");
    let mut store = Store::open(&dir, OpenMode::Create).expect("it can be made");
    append(&mut store, 1);
    let mode = |path: &str| dir.join(path).metadata().expect("it is there").permissions().mode();
    assert_eq!(mode("") & 0o777, 0o700);
    for file in ["oef.db", "oef.db-wal", "oef.db-shm", "lock"] {
        assert_eq!(mode(file) & 0o777, 0o600, "{file}");
    }
}

#[test]
fn a_second_daemon_is_refused_and_told_who_was_first() {
    let folder = Folder::new("second");
    let mut first = open(&folder);
    append(&mut first, 1);
    let error = refused(&folder);
    let own = std::process::id();
    assert!(matches!(error, StoreError::InUse { pid: Some(pid), .. } if pid == own), "{error}");
    let text = error.to_string();
    assert!(text.contains(&folder.path().display().to_string()), "{text}");
    assert!(text.contains(&format!("process {own}")), "{text}");
    let error = journal::compact(folder.path(), &Keep::default()).expect_err("it is in use");
    assert!(error.to_string().contains("by itself"), "{error}");
    append(&mut first, 1);
    drop(first);
    assert_eq!(open(&folder).head(), 2);
}

/// A process that was forked a moment ago has copies of all files of its parent, this lock among them, until it is
/// another program.
#[test]
fn a_lock_that_outlives_its_daemon_by_a_moment_is_waited_for() {
    let folder = Folder::new("forked");
    append(&mut open(&folder), 1);
    let copy = fs::File::open(folder.path().join("lock")).expect("it is there");
    copy.lock().expect("nobody has it");
    let lets_go = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        drop(copy);
    });
    assert_eq!(open(&folder).head(), 1);
    lets_go.join().expect("it ended");
}

#[test]
fn a_folder_without_a_journal_is_not_set_up_by_those_who_want_to_read() {
    let folder = Folder::new("none");
    let missing = |error: StoreError| matches!(error, StoreError::Missing { .. });
    assert!(missing(Store::open(folder.path(), OpenMode::Existing).expect_err("none")));
    assert!(missing(journal::check(folder.path(), &mut |_| Ok(())).expect_err("none")));
    assert!(missing(journal::export(folder.path(), &mut Vec::new()).expect_err("none")));
    assert!(missing(journal::backup(folder.path(), &folder.path().join("x")).expect_err("none")));
    assert!(missing(journal::compact(folder.path(), &Keep::default()).expect_err("none")));
    assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 0);
}

#[test]
fn a_folder_of_a_newer_version_is_refused_with_both_versions_and_stays_as_it_is() {
    let folder = Folder::new("newer");
    append(&mut open(&folder), 2);
    folder.meddle("PRAGMA user_version = 99; CREATE TABLE from_the_future (x)");
    let before = fs::read(folder.database()).expect("readable");
    let error = refused(&folder);
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("version 99") && text.contains(&format!("up to {}", schema::VERSION)));
    let error = journal::check(folder.path(), &mut |_| Ok(())).expect_err("not ours to judge");
    assert!(matches!(error, StoreError::Newer { .. }), "{error}");
    assert!(fs::read(folder.database()).expect("readable") == before);
}

#[test]
fn an_empty_file_becomes_the_newest_version_and_keeps_its_data_when_opened_again() {
    let folder = Folder::new("zero");
    fs::write(folder.database(), "").expect("room");
    append(&mut open(&folder), 5);
    let connection = rusqlite::Connection::open(folder.database()).expect("a database");
    let version = |name: &str| -> i64 {
        connection.query_row(&format!("PRAGMA {name}"), [], |r| r.get(0)).expect("a number")
    };
    assert_eq!(version("user_version"), schema::VERSION);
    assert_eq!(version("auto_vacuum"), 2);
    drop(connection);
    assert_eq!(open(&folder).load().expect("readable").records.count(), 5);
}

#[test]
fn other_files_are_refused_and_left_alone() {
    let other = Folder::new("sqlite");
    other.meddle("CREATE TABLE mine (x); INSERT INTO mine VALUES (1)");
    let text = Folder::new("text");
    fs::write(text.database(), "not a database, but longer than its header would be ".repeat(20))
        .expect("room");
    let folder = Folder::new("directory");
    fs::create_dir(folder.database()).expect("room");
    for (folder, is_file) in [(&other, true), (&text, true), (&folder, false)] {
        let before = is_file.then(|| fs::read(folder.database()).expect("readable"));
        let error = refused(folder);
        assert!(matches!(error, StoreError::NotOurs { .. }), "{error}");
        assert!(before == is_file.then(|| fs::read(folder.database()).expect("readable")));
    }
}

#[test]
fn a_file_where_the_folder_should_be_is_an_error_that_names_it() {
    let folder = Folder::new("file");
    let path = folder.path().join("state");
    fs::write(&path, "").expect("room");
    let error = Store::open(&path, OpenMode::Create).expect_err("it is a file");
    assert!(matches!(error, StoreError::Folder { .. }), "{error}");
    assert!(error.to_string().contains(&path.display().to_string()), "{error}");
}
