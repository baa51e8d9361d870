use super::{Folder, append, open, save_snapshot};
use crate::store::journal::{self, Damage, Report, Step};
use crate::store::{OpenMode, Store, StoreError};

fn check(folder: &Folder) -> Report {
    journal::check(folder.path(), &mut |_| Ok(())).expect("it can be looked at")
}

fn filled(name: &str) -> Folder {
    let folder = Folder::new(name);
    let mut store = open(&folder);
    append(&mut store, 20);
    save_snapshot(&store.archive(), 5, 1, r#"{"at":5}"#).expect("room");
    append(&mut store, 5);
    save_snapshot(&store.archive(), 22, 2, r#"{"at":22}"#).expect("room");
    store.archive().save_round(1, 3, "{}").expect("room");
    drop(store);
    folder
}

/// Record numbers at which problems were found, without the last one, which is about the end of a replay.
fn seqs(report: &Report) -> Vec<Option<u64>> {
    report.problems.iter().map(|p| p.seq).collect()
}

#[test]
fn a_sound_folder_is_reported_so() {
    let folder = filled("sound");
    let mut steps = Vec::new();
    let report = journal::check(folder.path(), &mut |step| {
        steps.push(match step {
            Step::Snapshot(s) => (true, s.seq),
            Step::Record(r) => (false, r.seq),
        });
        Ok(())
    });
    let report = report.expect("readable");
    assert!(report.is_sound(), "{report:?}");
    assert_eq!((report.records, report.first, report.last), (25, 1, 25));
    assert_eq!((report.snapshots, report.rounds), (2, 1));
    assert_eq!(steps, [(true, 22), (false, 23), (false, 24), (false, 25)]);
}

#[test]
fn any_change_of_a_record_is_found_with_its_number() {
    for change in [
        "UPDATE journal SET body = replace(body, '23', '32') WHERE seq = 23",
        "UPDATE journal SET at_ms = at_ms + 1 WHERE seq = 23",
        "UPDATE journal SET kind = 'tock' WHERE seq = 23",
        "UPDATE journal SET sum = zeroblob(16) WHERE seq = 23",
        "UPDATE journal SET sum = zeroblob(3) WHERE seq = 23",
    ] {
        let folder = filled("changed");
        folder.meddle(change);
        let report = check(&folder);
        assert!(!report.is_sound(), "{change}");
        assert!(seqs(&report).iter().all(|s| matches!(s, Some(23 | 24))), "{change}: {report:?}");
        assert!(seqs(&report).contains(&Some(23)), "{change}: {report:?}");
        let store = open(&folder);
        let last = store.load().expect("the snapshot is sound").records.last();
        let error = last.expect("an error").expect_err("the chain is broken");
        assert!(matches!(error, StoreError::Damaged { seq: Some(23), .. }), "{change}: {error}");
    }
}

#[test]
fn missing_records_are_found_wherever_they_were() {
    for (change, seq) in [
        ("DELETE FROM journal WHERE seq = 1", 1),
        ("DELETE FROM journal WHERE seq = 24", 24),
        ("DELETE FROM journal WHERE seq >= 24", 24),
    ] {
        let folder = filled("missing");
        folder.meddle(change);
        let report = check(&folder);
        assert!(seqs(&report).contains(&Some(seq)), "{change}: {report:?}");
    }
}

#[test]
fn a_flipped_byte_in_the_file_is_found_with_its_record() {
    let folder = filled("flipped");
    folder.meddle("PRAGMA wal_checkpoint(TRUNCATE)");
    let mut bytes = std::fs::read(folder.database()).expect("readable");
    let text = br#"{"n":24,"#;
    let at = bytes.windows(text.len()).position(|w| w == text).expect("record 24 is in there");
    bytes[at + 5] ^= 4;
    std::fs::write(folder.database(), bytes).expect("room");
    let report = check(&folder);
    assert_eq!(report.problems[0].seq, Some(24), "{report:?}");
}

#[test]
fn a_damaged_snapshot_is_passed_over_and_nothing_is_lost() {
    let folder = filled("bad-snapshot");
    folder.meddle("UPDATE snapshot_parts SET body = CAST('{\"at\":21}' AS BLOB) WHERE seq = 22");
    let report = check(&folder);
    assert!(report.problems.iter().any(|p| p.seq == Some(22)), "{report:?}");
    let store = open(&folder);
    let loaded = store.load().expect("the older one is sound");
    assert_eq!(loaded.snapshot.map(|s| s.seq), Some(5));
    assert_eq!(loaded.skipped.len(), 1);
    assert_eq!(loaded.records.filter(Result::is_ok).count(), 20);
}

#[test]
fn what_cannot_be_replayed_or_read_is_a_problem() {
    let folder = filled("replay");
    let report = journal::check(folder.path(), &mut |step| match step {
        Step::Record(r) if r.seq == 24 => Err("no such tenant".into()),
        _ => Ok(()),
    });
    let problem = Damage { seq: Some(24), what: "it cannot be applied: no such tenant".into() };
    assert_eq!(report.expect("readable").problems, [problem]);
    let mut store = open(&folder);
    let odd = crate::store::NewRecord { at_ms: 1, kind: "odd", body: "{\n" };
    store.append(&[odd]).expect("the store does not read what it keeps");
    let report = check(&folder);
    assert_eq!(seqs(&report), [Some(26), Some(26)], "{report:?}");
    let mut out = Vec::new();
    assert_eq!(journal::export(folder.path(), &mut out).expect("readable"), 26);
    let last = String::from_utf8(out).expect("text").lines().last().map(str::to_string);
    assert_eq!(last.as_deref(), Some(r#"{"seq":26,"at_ms":1,"kind":"odd","damaged":"{\n"}"#));
}

#[test]
fn a_torn_file_is_an_error_and_never_a_panic() {
    let folder = filled("torn");
    folder.meddle("PRAGMA wal_checkpoint(TRUNCATE)");
    let whole = std::fs::read(folder.database()).expect("readable");
    for (at, page) in (0..whole.len()).step_by(4096).enumerate() {
        let mut torn = whole.clone();
        torn[page..page + 4096].fill(0xA5);
        let copy = Folder::new("torn-copy");
        std::fs::write(copy.database(), torn).expect("room");
        let found = journal::check(copy.path(), &mut |_| Ok(()));
        let lines = |report: &Report| report.problems.iter().all(|p| !p.what.contains('\n'));
        assert!(found.as_ref().map_or(true, lines), "a problem is a line: {found:?}");
        assert!(!found.is_ok_and(|report| report.is_sound()), "page {at} was torn unseen");
        if let Ok(mut store) = Store::open(copy.path(), OpenMode::Existing) {
            let _ = store.load().map(|loaded| loaded.records.count());
            let _ = store.append(&[]);
            let _ = store.archive().rounds(None, 10);
        }
    }
    for length in [1, 99, 100, 4096, 5000, whole.len() - 4096] {
        let copy = Folder::new("short");
        std::fs::write(copy.database(), &whole[..length]).expect("room");
        let found = journal::check(copy.path(), &mut |_| Ok(()));
        assert!(!found.is_ok_and(|report| report.is_sound()), "cut at {length} unseen");
    }
}

#[test]
fn a_file_that_was_cut_is_called_damaged_and_not_a_failure_of_the_disk() {
    let folder = Folder::new("cut");
    let mut store = open(&folder);
    append(&mut store, 3000);
    drop(store);
    let length = std::fs::metadata(folder.database()).expect("a file").len();
    let file = std::fs::OpenOptions::new().write(true).open(folder.database()).expect("a file");
    file.set_len(length / 3 / 4096 * 4096).expect("cut");
    match journal::check(folder.path(), &mut |_| Ok(())) {
        Ok(report) => assert!(!report.is_sound()),
        Err(error) => assert!(matches!(error, StoreError::Damaged { .. }), "{error}"),
    }
    let error = match Store::open(folder.path(), OpenMode::Existing) {
        Err(error) => error,
        Ok(store) => match store.load() {
            Err(error) => error,
            Ok(mut loaded) => loaded.records.find_map(Result::err).expect("records are missing"),
        },
    };
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
}
