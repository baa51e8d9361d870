//! The store with real files: what comes back, what is found, what is refused.

mod compaction;
mod crash;
mod damage;
mod folder;
mod limits;
mod opening;
mod reading;
mod second;
mod upgrade;

use super::{Archive, NewRecord, OpenMode, Store, StoreError, StoredSnapshot};
use folder::Folder;
use std::io::Read as _;

/// Some bodies, each different.
fn bodies(from: u64, count: u64) -> Vec<String> {
    (from..from + count).map(|n| format!(r#"{{"n":{n},"text":"naïve ✓"}}"#)).collect()
}

fn records(bodies: &[String]) -> Vec<NewRecord<'_>> {
    bodies.iter().map(|body| NewRecord { at_ms: 1_000, kind: "tick", body }).collect()
}

fn append(store: &mut Store, count: u64) {
    let bodies = bodies(store.head() + 1, count);
    store.append(&records(&bodies)).expect("there is room");
}

fn open(folder: &Folder) -> Store {
    Store::open(folder.path(), OpenMode::Create).expect("the folder is free")
}

fn save_snapshot(archive: &Archive, seq: u64, at_ms: u64, body: &str) -> Result<(), StoreError> {
    archive.save_snapshot(seq, at_ms, &|to| to.write_all(body.as_bytes())).map(drop)
}

fn text_of(snapshot: &StoredSnapshot<'_>) -> String {
    let mut text = String::new();
    snapshot.text().read_to_string(&mut text).expect("it is sound");
    text
}
