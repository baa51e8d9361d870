//! What is missing is noticed: a journal that was cut, replaced, copied by itself, or taken away.

use super::{Folder, append, open};
use crate::store::{HEAD_FILE, OpenMode, Store, StoreError, journal};
use std::fs;
use std::path::Path;

fn refused(folder: &Folder) -> StoreError {
    Store::open(folder.path(), OpenMode::Create).expect_err("it must be refused")
}

/// Copies files from one folder to another, as somebody would who does not know better.
fn copy(from: &Path, to: &Path, names: &[&str]) {
    for name in names {
        fs::copy(from.join(name), to.join(name)).expect("copied");
    }
}

const ALL: [&str; 3] = ["oef.db", "oef.db-wal", HEAD_FILE];

fn problems(folder: &Folder) -> Vec<String> {
    let report = journal::check(folder.path(), &mut |_| Ok(())).expect("it can be read");
    report.problems.into_iter().map(|problem| problem.what).collect()
}

#[test]
fn a_log_that_is_cut_or_removed_is_noticed() {
    let first = Folder::new("cut");
    let mut store = open(&first);
    append(&mut store, 5);
    for part in [0, 1, 2, 3] {
        let folder = Folder::new("cut");
        copy(first.path(), folder.path(), &ALL);
        let log = folder.path().join("oef.db-wal");
        let bytes = fs::read(&log).expect("readable");
        match part {
            0 => fs::remove_file(&log).expect("removed"),
            part => fs::write(&log, &bytes[..bytes.len() * part / 4]).expect("written"),
        }
        let error = refused(&folder).to_string();
        assert!(error.contains("missing") || error.contains("is gone"), "{part}: {error}");
        assert!(error.contains("backup"), "the way out: {error}");
    }
    // What is whole is opened, also after a power cut that the second place did not live to see.
    let folder = Folder::new("cut");
    copy(first.path(), folder.path(), &ALL);
    assert_eq!(open(&folder).head(), 5);
}

#[test]
fn what_was_acknowledged_and_is_missing_is_said_by_the_check_and_can_be_given_up() {
    let (old, new) = (Folder::new("old"), Folder::new("new"));
    let mut store = open(&old);
    append(&mut store, 3);
    // Folded into the database: then more.
    drop(store);
    fs::copy(old.database(), new.path().join("oef.db")).expect("copied");
    let mut store = open(&old);
    append(&mut store, 4);
    fs::copy(old.path().join(HEAD_FILE), new.path().join(HEAD_FILE)).expect("copied");
    let error = refused(&new);
    assert!(matches!(error, StoreError::Shortened { seq: 4, .. }), "{error}");
    assert!(error.to_string().contains("records 4 to 7"), "{error}");
    assert!(problems(&new)[0].contains("records 4 to 7 were acknowledged"), "{:?}", problems(&new));
    assert_eq!(journal::accept(new.path()).expect("accepted"), 3);
    assert_eq!(open(&new).head(), 3);
    assert!(problems(&new).is_empty());
}

#[test]
fn a_database_that_was_copied_by_itself_is_refused_and_a_backup_is_not() {
    let folder = Folder::new("source");
    let mut store = open(&folder);
    append(&mut store, 3);
    drop(store);
    let alone = Folder::new("alone");
    copy(folder.path(), alone.path(), &["oef.db"]);
    let error = refused(&alone).to_string();
    assert!(error.contains("oef backup"), "{error}");
    assert!(!problems(&alone).is_empty());
    let mut store = open(&folder);
    append(&mut store, 2);
    let restored = Folder::new("restored");
    journal::backup(folder.path(), &restored.path().join("oef.db")).expect("a backup");
    assert!(problems(&restored).is_empty());
    let mut again = open(&restored);
    assert_eq!(again.head(), 5);
    append(&mut again, 1);
    drop(again);
    assert_eq!(open(&restored).head(), 6);
    // From then on it is a folder like any other.
    fs::remove_file(restored.path().join(HEAD_FILE)).expect("removed");
    assert!(matches!(refused(&restored), StoreError::Shortened { .. }));
}

/// All that it wrote may still be in the log then.
#[test]
fn a_database_that_was_copied_by_itself_while_it_was_in_use_is_refused() {
    let folder = Folder::new("in-use");
    let mut store = open(&folder);
    append(&mut store, 3);
    let alone = Folder::new("alone-in-use");
    copy(folder.path(), alone.path(), &["oef.db"]);
    let error = refused(&alone).to_string();
    assert!(error.contains("oef backup"), "{error}");
}

#[test]
fn a_backup_that_is_put_in_place_of_a_longer_journal_counts() {
    let folder = Folder::new("back");
    let mut store = open(&folder);
    append(&mut store, 2);
    let copy = folder.path().join("copy.db");
    journal::backup(folder.path(), &copy).expect("a backup");
    append(&mut store, 5);
    drop(store);
    fs::rename(&copy, folder.database()).expect("moved");
    assert_eq!(open(&folder).head(), 2);
    assert_eq!(open(&folder).head(), 2);
}

#[test]
fn a_journal_that_is_gone_does_not_become_an_empty_cluster() {
    let folder = Folder::new("gone");
    let mut store = open(&folder);
    append(&mut store, 2);
    drop(store);
    fs::remove_file(folder.database()).expect("removed");
    assert!(matches!(refused(&folder), StoreError::Lost { .. }));
    fs::remove_file(folder.path().join(HEAD_FILE)).expect("removed");
    for left in ["runs/7/1", "jobs/7/checkpoint"] {
        fs::create_dir_all(folder.path().join(left)).expect("made");
        let error = refused(&folder);
        assert!(error.to_string().contains(&left[..4]), "{error}");
        fs::remove_dir_all(folder.path().join(&left[..4])).expect("removed");
    }
    assert_eq!(open(&folder).head(), 0);
}

#[test]
fn a_folder_that_is_removed_or_replaced_takes_nothing_any_more() {
    let folder = Folder::new("removed");
    let mut store = open(&folder);
    append(&mut store, 1);
    store.probe().expect("all is well");
    let aside = folder.path().with_extension("aside");
    fs::rename(folder.path(), &aside).expect("moved");
    let bodies = super::bodies(2, 1);
    let error = store.append(&super::records(&bodies)).expect_err("there is no folder");
    assert!(matches!(error, StoreError::Gone { .. }), "{error}");
    assert!(store.probe().is_err());
    // Another folder in its place is another folder.
    fs::create_dir_all(folder.path()).expect("made");
    fs::copy(aside.join("oef.db"), folder.database()).expect("copied");
    assert!(store.append(&super::records(&bodies)).is_err());
    fs::remove_dir_all(folder.path()).expect("removed");
    fs::rename(&aside, folder.path()).expect("moved back");
    store.append(&super::records(&bodies)).expect("the same folder as before");
}

#[test]
fn a_record_that_was_replaced_is_noticed() {
    let folder = Folder::new("replaced");
    let mut store = open(&folder);
    append(&mut store, 3);
    drop(store);
    let path = folder.path().join(HEAD_FILE);
    let line = fs::read_to_string(&path).expect("readable");
    let other = line.replacen(|c: char| c.is_ascii_hexdigit() && c != '3', "x", 1);
    fs::write(&path, other).expect("written");
    assert!(matches!(refused(&folder), StoreError::Damaged { .. } | StoreError::Shortened { .. }));
}
