use super::{Folder, append, bodies, open, records, save_snapshot, text_of};
use crate::store::{Keep, OpenMode, Store, StoreError, StoredRecord, WriteText, journal};
use std::cell::Cell;
use std::io::{self, Read as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn stored(store: &Store) -> Vec<StoredRecord> {
    let loaded = store.load().expect("it can be read");
    loaded.records.map(|r| r.expect("the chain holds")).collect()
}

#[test]
fn what_was_appended_comes_back_in_order_after_a_restart() {
    let folder = Folder::new("back");
    let all = bodies(1, 1_000);
    let mut store = open(&folder);
    assert_eq!(store.head(), 0);
    assert_eq!(store.append(&[]).expect("nothing to do"), 1..1);
    assert_eq!(store.append(&records(&all[..1])).expect("room"), 1..2);
    assert_eq!(store.append(&records(&all[1..])).expect("room"), 2..1_001);
    drop(store);
    let store = open(&folder);
    assert_eq!(store.head(), 1_000);
    let back = stored(&store);
    assert_eq!(back.iter().map(|r| &r.body).collect::<Vec<_>>(), all.iter().collect::<Vec<_>>());
    assert!(
        back.iter().zip(1..).all(|(r, seq)| r.seq == seq && r.at_ms == 1_000 && r.kind == "tick")
    );
}

#[test]
fn the_newest_snapshot_is_taken_and_only_the_records_after_it() {
    let folder = Folder::new("snapshot");
    let mut store = open(&folder);
    save_snapshot(&store.archive(), 0, 1, "{}").expect("an empty world can be saved");
    append(&mut store, 10);
    // Longer than one part, and not a whole number of them.
    let body = format!("\"{}\"", "x✓".repeat(700_000));
    save_snapshot(&store.archive(), 7, 2_000, &body).expect("room");
    drop(store);
    let store = open(&folder);
    let snapshot = store.load().expect("readable").snapshot.expect("there is one");
    assert_eq!((snapshot.seq, snapshot.at_ms), (7, 2_000));
    assert!(text_of(&snapshot) == body);
    assert_eq!(stored(&store).iter().map(|r| r.seq).collect::<Vec<_>>(), [8, 9, 10]);
    save_snapshot(&store.archive(), 7, 2_500, "{}").expect("the same place again");
    assert_eq!(store.load().expect("readable").snapshot.map(|s| text_of(&s)), Some("{}".into()));
}

#[test]
fn a_text_that_changes_while_it_is_written_or_breaks_off_is_no_snapshot() {
    let folder = Folder::new("changing");
    let mut store = open(&folder);
    append(&mut store, 3);
    save_snapshot(&store.archive(), 2, 1, "\"two\"").expect("room");
    let asked = Cell::new(0);
    let longer = |to: &mut dyn Write| {
        asked.set(asked.get() + 1);
        to.write_all(&vec![b'1'; asked.get() * 1_500_000])
    };
    let shorter = |to: &mut dyn Write| {
        asked.set(asked.get() - 1);
        to.write_all(&vec![b'1'; asked.get() * 1_500_000])
    };
    let breaks = |_: &mut dyn Write| Err(io::Error::other("no text"));
    let texts: [&WriteText<'_>; 3] = [&longer, &shorter, &breaks];
    for text in texts {
        asked.set(if asked.get() == 0 { 0 } else { 3 });
        let error = store.archive().save_snapshot(3, 1, text).expect_err("not twice the same");
        assert!(matches!(error, StoreError::Output { .. }), "{error}");
        let found = store.load().expect("readable").snapshot.expect("the one before");
        assert_eq!((found.seq, text_of(&found).as_str()), (2, "\"two\""));
    }
    // What was begun is removed with the next compaction.
    store.archive().compact(&Keep::default()).expect("room");
    let connection = rusqlite::Connection::open(folder.database()).expect("a database");
    let count = "SELECT count(DISTINCT seq) FROM snapshot_parts";
    let left: u64 = connection.query_row(count, [], |row| row.get(0)).expect("a number");
    assert_eq!(left, 1);
}

#[test]
fn a_snapshot_of_a_record_that_is_not_there_is_refused() {
    let folder = Folder::new("ahead");
    let mut store = open(&folder);
    append(&mut store, 3);
    let error = save_snapshot(&store.archive(), 4, 1, "{}").expect_err("there is no record 4");
    assert!(matches!(error, StoreError::Damaged { seq: Some(4), .. }), "{error}");
}

#[test]
fn rounds_are_read_from_another_thread_while_the_journal_is_written() {
    let folder = Folder::new("rounds");
    let mut store = open(&folder);
    let archive = store.archive();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = 0;
            while !over.load(Ordering::Acquire) {
                for round in archive.rounds(None, 5).expect("readable") {
                    assert_eq!(round.body, format!(r#"{{"round":{}}}"#, round.round));
                }
                seen += 1;
            }
            seen
        });
        for round in 1..=50 {
            append(&mut store, 5);
            let body = format!(r#"{{"round":{round}}}"#);
            store.archive().save_round(round, round * 10, &body).expect("room");
        }
        over.store(true, Ordering::Release);
        assert!(reader.join().expect("no panic") > 0);
    });
    let numbers = |before, limit| -> Vec<u64> {
        let found = store.archive().rounds(before, limit).expect("readable");
        found.iter().map(|r| r.round).collect()
    };
    assert_eq!(numbers(None, 3), [50, 49, 48]);
    assert_eq!(numbers(Some(48), 2), [47, 46]);
    assert_eq!(numbers(Some(1), 2), [] as [u64; 0]);
    assert_eq!(numbers(Some(u64::MAX), usize::MAX).len(), 50);
    let last = store.archive().last_round().expect("readable").expect("there is one");
    assert_eq!((last.round, last.at_ms), (50, 500));
    assert_eq!(store.archive().round(7).expect("readable").map(|r| r.at_ms), Some(70));
    assert_eq!(store.archive().round(51).expect("readable"), None);
}

#[test]
fn the_archive_has_its_turn_however_busy_the_journal_is() {
    let folder = Folder::new("busy");
    let mut store = open(&folder);
    append(&mut store, 10);
    let archive = store.archive();
    let body = format!("\"{}\"", "x".repeat(8 << 20));
    std::thread::scope(|scope| {
        let saving = scope.spawn(|| {
            for seq in 8..=10 {
                save_snapshot(&archive, seq, 1, &body).expect("its turn comes");
                archive.save_round(seq, 1, "{}").expect("its turn comes");
                archive
                    .compact(&Keep { records: 5, rounds: 1, ..Keep::default() })
                    .expect("its turn comes");
            }
        });
        // Without a pause, as an engine does when many submit.
        while !saving.is_finished() {
            append(&mut store, 1);
        }
    });
    let report = journal::check(folder.path(), &mut |_| Ok(())).expect("readable");
    assert!(report.is_sound() && report.snapshots == 2 && report.last > 20, "{report:?}");
}

#[test]
fn an_archive_that_outlives_its_store_says_so_and_holds_nobody_up() {
    let folder = Folder::new("closed");
    let archive = open(&folder).archive();
    assert!(matches!(archive.round(1), Err(StoreError::Closed { .. })));
    assert!(matches!(archive.save_round(1, 1, "{}"), Err(StoreError::Closed { .. })));
    // A process that another test starts at this moment has a copy of the lock until it runs its own program.
    let opens = || Store::open(folder.path(), OpenMode::Existing).is_ok();
    let is_free = (0..250).any(|_| {
        let is_open = opens();
        if !is_open {
            std::thread::sleep(Duration::from_millis(20));
        }
        is_open
    });
    assert!(is_free, "the lock is still held");
}

#[test]
fn the_export_has_a_line_for_every_record() {
    let folder = Folder::new("export");
    let mut store = open(&folder);
    append(&mut store, 300);
    let mut out = Vec::new();
    // The store is still open: a running daemon is no obstacle.
    assert_eq!(journal::export(folder.path(), &mut out).expect("readable"), 300);
    let text = String::from_utf8(out).expect("text");
    for (line, n) in text.lines().zip(1u64..) {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert_eq!((&line["seq"], &line["body"]["n"]), (&n.into(), &n.into()));
        assert_eq!((&line["kind"], &line["at_ms"]), (&"tick".into(), &1_000.into()));
    }
    assert_eq!(text.lines().count(), 300);
}

#[test]
fn a_backup_during_writes_is_whole_and_can_be_opened() {
    let folder = Folder::new("backup");
    let mut store = open(&folder);
    append(&mut store, 500);
    let over = AtomicBool::new(false);
    let copies: Vec<Folder> = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            while !over.load(Ordering::Acquire) {
                append(&mut store, 20);
            }
        });
        let copies = (0..3).map(|_| {
            let copy = Folder::new("copy");
            let bytes = journal::backup(folder.path(), &copy.database()).expect("room");
            assert_eq!(bytes, copy.database().metadata().expect("a file").len());
            copy
        });
        let copies = copies.collect();
        over.store(true, Ordering::Release);
        writer.join().expect("no panic");
        copies
    });
    for copy in copies {
        let report = journal::check(copy.path(), &mut |_| Ok(())).expect("readable");
        assert!(report.is_sound() && report.records >= 500, "{report:?}");
        let mut back =
            Store::open(copy.path(), OpenMode::Existing).expect("a store like any other");
        let head = back.head();
        append(&mut back, 1);
        assert_eq!((head, back.head()), (report.last, report.last + 1));
    }
}

#[test]
fn a_backup_replaces_nothing() {
    let folder = Folder::new("no-backup");
    drop(open(&folder));
    let target = folder.path().join("there");
    std::fs::write(&target, "mine").expect("room");
    let error = journal::backup(folder.path(), &target).expect_err("it is in the way");
    assert!(matches!(error, StoreError::Exists { .. }), "{error}");
    assert_eq!(std::fs::read_to_string(&target).expect("still there"), "mine");
    let nowhere = folder.path().join("no/such/folder");
    let error = journal::backup(folder.path(), &nowhere).expect_err("no such folder");
    assert!(matches!(error, StoreError::Output { .. }), "{error}");
}

/// One part of a text is in memory at a time: a part that disappears is missed when it is its turn, and not before.
#[test]
fn a_snapshot_is_read_part_by_part() {
    let folder = Folder::new("parts");
    let mut store = open(&folder);
    append(&mut store, 3);
    let body = format!("\"{}\"", "x".repeat(5 << 20));
    save_snapshot(&store.archive(), 3, 1, &body).expect("room");
    let snapshot = store.load().expect("readable").snapshot.expect("there is one");
    assert!(text_of(&snapshot) == body);
    let other = rusqlite::Connection::open(folder.database()).expect("a database");
    other.execute("DELETE FROM snapshot_parts WHERE part = 4", []).expect("written");
    let mut text = snapshot.text();
    let mut first = vec![0; 4 << 20];
    text.read_exact(&mut first).expect("the parts before it are there");
    assert!(first == body.as_bytes()[..4 << 20]);
    assert!(text.read_to_end(&mut Vec::new()).is_err(), "the fifth part is gone");
}
