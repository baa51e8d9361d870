use super::{Folder, append, open, save_snapshot, text_of};
use crate::store::{Compacted, Keep, NewRecord, StoreError, journal};

const NOTHING: Keep = Keep { records: 0, record_bytes: u64::MAX, rounds: 2, round_bytes: u64::MAX };

#[test]
fn only_what_two_sound_snapshots_cover_is_removed() {
    let folder = Folder::new("compact");
    let mut store = open(&folder);
    let archive = store.archive();
    append(&mut store, 5_000);
    assert_eq!(archive.compact(&NOTHING).expect("room"), Compacted::default());
    save_snapshot(&archive, 4_000, 1, r#""four""#).expect("room");
    assert_eq!(archive.compact(&NOTHING).expect("room").records, 0);
    save_snapshot(&archive, 4_500, 2, r#""four and a half""#).expect("room");
    assert_eq!(archive.compact(&NOTHING).expect("room").records, 4_000);
    save_snapshot(&archive, 5_000, 3, r#""five""#).expect("room");
    let keep = Keep { records: 700, ..NOTHING };
    let removed = archive.compact(&keep).expect("room");
    assert_eq!((removed.records, removed.snapshots), (300, 1));
    append(&mut store, 10);
    let report = journal::check(folder.path(), &mut |_| Ok(())).expect("readable");
    assert!(report.is_sound(), "{report:?}");
    assert_eq!((report.first, report.last, report.snapshots), (4_301, 5_010, 2));
    drop(store);
    let store = open(&folder);
    let loaded = store.load().expect("readable");
    assert_eq!(loaded.snapshot.map(|s| text_of(&s)), Some(r#""five""#.into()));
    assert_eq!(loaded.records.filter(Result::is_ok).count(), 10);
}

#[test]
fn few_records_that_are_long_do_not_stay() {
    let folder = Folder::new("compact-bytes");
    let mut store = open(&folder);
    let archive = store.archive();
    append(&mut store, 10);
    let body = format!("\"{}\"", "✓".repeat(1_000));
    let long = NewRecord { at_ms: 1, kind: "test", body: &body };
    store.append(&[long; 20]).expect("room");
    for covered in [25, 28] {
        save_snapshot(&archive, covered, 1, "{}").expect("room");
    }
    let left = |record_bytes| {
        let keep = Keep { records: 1_000, record_bytes, ..NOTHING };
        archive.compact(&keep).expect("room");
        journal::check(folder.path(), &mut |_| Ok(())).expect("readable").first
    };
    assert_eq!(left(u64::MAX), 1);
    assert_eq!(left(10 * 3_002), 21, "the last ten are so long");
    assert_eq!(left(1), 26, "what the snapshots do not cover stays");
}

#[test]
fn a_damaged_snapshot_does_not_count() {
    let folder = Folder::new("compact-bad");
    let mut store = open(&folder);
    append(&mut store, 100);
    save_snapshot(&store.archive(), 50, 1, "{}").expect("room");
    save_snapshot(&store.archive(), 100, 2, "{}").expect("room");
    folder.meddle("UPDATE snapshots SET at_ms = 7 WHERE seq = 100");
    let removed = store.archive().compact(&NOTHING).expect("room");
    assert_eq!((removed.records, removed.snapshots), (0, 1));
    assert_eq!(store.load().expect("readable").snapshot.map(|s| s.seq), Some(50));
}

#[test]
fn rounds_and_unfinished_snapshots_go_and_the_file_shrinks() {
    let folder = Folder::new("shrink");
    let mut store = open(&folder);
    append(&mut store, 10);
    let large = format!("\"{}\"", "x".repeat(3 << 20));
    for round in 1..=5 {
        store.archive().save_round(round, round, &large).expect("room");
    }
    folder.meddle("INSERT INTO snapshot_parts VALUES (3, 0, zeroblob(4000000))");
    let removed = store.archive().compact(&NOTHING).expect("room");
    assert_eq!((removed.rounds, removed.snapshots), (3, 0));
    assert!(removed.bytes > 8 << 20, "{removed:?}");
    drop(store);
    let parts: u32 = rusqlite::Connection::open(folder.database())
        .and_then(|c| c.query_row("SELECT count(*) FROM snapshot_parts", [], |row| row.get(0)))
        .expect("readable");
    assert_eq!(parts, 0);
    let size = folder.database().metadata().expect("a file").len();
    assert!(size < 12 << 20, "{size} bytes are left");
    assert_eq!(journal::compact(folder.path(), &NOTHING).expect("nobody is there").rounds, 0);
}

#[test]
fn without_a_snapshot_that_can_be_read_a_compacted_journal_is_no_world() {
    let folder = Folder::new("no-world");
    let mut store = open(&folder);
    append(&mut store, 10);
    save_snapshot(&store.archive(), 4, 1, "{}").expect("room");
    save_snapshot(&store.archive(), 8, 1, "{}").expect("room");
    store.archive().compact(&NOTHING).expect("room");
    folder.meddle("DELETE FROM snapshots");
    let error = store.load().expect_err("the first records are gone");
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("up to 4"), "{error}");
}

#[test]
fn rounds_stay_as_long_as_they_are_few_and_small_enough() {
    let folder = Folder::new("rounds-bytes");
    let store = open(&folder);
    let archive = store.archive();
    let left = |rounds, round_bytes| {
        archive.trim_rounds(&Keep { rounds, round_bytes, ..NOTHING }).expect("room");
        let rounds = archive.rounds(None, 100).expect("readable");
        rounds.iter().map(|round| round.round).collect::<Vec<_>>()
    };
    assert_eq!(left(5, 5), [] as [u64; 0]);
    // Characters are not bytes.
    let text = "✓".repeat(1_000);
    for round in [1, 2, 3, 5, 8, 9] {
        archive.save_round(round, round, &text).expect("room");
    }
    assert_eq!(left(6, 18_000), [9, 8, 5, 3, 2, 1]);
    assert_eq!(left(5, 18_000), [9, 8, 5, 3, 2]);
    assert_eq!(left(5, 9_500), [9, 8, 5]);
    assert_eq!(left(2, u64::MAX), [9, 8]);
    assert_eq!(left(5, 1), [9], "the last one stays");
}
