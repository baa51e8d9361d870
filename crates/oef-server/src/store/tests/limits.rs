use super::{Folder, append, bodies, open, records};
use crate::store::{StoreError, journal};

#[test]
fn a_full_disk_is_said_and_when_there_is_room_again_it_goes_on() {
    let folder = Folder::new("full");
    let mut store = open(&folder);
    append(&mut store, 10);
    store.limit_pages(20);
    let many = bodies(11, 5_000);
    for _ in 0..3 {
        let error = store.append(&records(&many)).expect_err("it does not fit");
        assert!(matches!(error, StoreError::Full { .. }), "{error}");
        assert!(error.is_temporary() && error.to_string().contains("make room"), "{error}");
        assert_eq!(store.head(), 10);
    }
    assert_eq!(store.load().expect("readable").records.count(), 10);
    store.limit_pages(0);
    assert_eq!(store.append(&records(&many)).expect("there is room"), 11..5_011);
    let report = journal::check(folder.path(), &mut |_| Ok(())).expect("readable");
    assert!(report.is_sound() && report.records == 5_010, "{report:?}");
}

#[test]
fn a_number_that_the_file_cannot_hold_is_an_error_and_changes_nothing() {
    let folder = Folder::new("number");
    let mut store = open(&folder);
    let odd = crate::store::NewRecord { at_ms: u64::MAX, kind: "odd", body: "{}" };
    let error = store.append(&[odd]).expect_err("too large");
    assert!(!error.is_temporary(), "{error}");
    append(&mut store, 1);
    assert_eq!(store.head(), 1);
    assert!(store.archive().save_round(u64::MAX, 0, "{}").is_err());
    assert_eq!(store.archive().round(u64::MAX - 1).ok().flatten(), None);
}

#[test]
fn fifty_thousand_records_are_taken_and_read() {
    let folder = Folder::new("many");
    let mut store = open(&folder);
    append(&mut store, 50_000);
    assert_eq!(store.load().expect("readable").records.filter(Result::is_ok).count(), 50_000);
}
