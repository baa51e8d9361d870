//! What earlier versions wrote is opened by this one; what a newer one wrote is refused; an upgrade that was cut off is
//! repeated.

use crate::sample::{data, load, open};
use oef_server::daemon::StopJobs;
use oef_server::store::{HEAD_FILE, NewRecord, OpenMode, Store, journal};
use oef_server::world::{MEANING, World};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

pub const TESTS: &[(&str, fn())] = &[
    ("every_sample_is_opened_twice", every_sample_is_opened_twice),
    ("what_is_newer_is_refused_and_stays", what_is_newer_is_refused_and_stays),
    ("an_upgrade_that_was_cut_off_is_repeated", an_upgrade_that_was_cut_off_is_repeated),
];

/// Journals of a daemon that ran under every version of the records, and whole folders.
const JOURNALS: [&str; 5] = ["daemon-v1", "life-v2", "life-v3", "life-v4", "every-v4"];
const FOLDERS: [&str; 3] = ["state-1-3", "state-1-3-later", "state-1-4"];

/// A state folder as an earlier version left it.
fn folder(sample: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    if FOLDERS.contains(&sample) {
        fs::copy(data(&format!("{sample}.db")), folder.path().join("oef.db")).expect("room");
        return folder;
    }
    let journal = fs::read_to_string(data(&format!("{sample}.journal.jsonl"))).expect("a sample");
    let lines = journal.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let records: Vec<(u64, String)> = lines
        .map(|line: Value| (line["at"].as_u64().expect("a time"), line["change"].to_string()))
        .collect();
    let mut store = Store::open(folder.path(), OpenMode::Create).expect("a new one");
    write(&mut store, &records);
    folder
}

fn write(store: &mut Store, records: &[(u64, String)]) {
    let records = records.iter();
    let records = records.map(|(at_ms, body)| NewRecord { at_ms: *at_ms, kind: "sample", body });
    store.append(&records.collect::<Vec<_>>()).expect("room");
}

/// What must survive an upgrade, whatever the daemon does when it starts: who is there, and which jobs ended how.
fn kept(world: &World) -> Value {
    let ended: BTreeMap<u64, _> = world
        .jobs
        .iter()
        .filter(|(_, job)| job.state.is_final())
        .map(|(id, job)| (id.0, (job.state, job.tenant(), job.spec.command.clone())))
        .collect();
    let tenants: BTreeMap<_, _> =
        world.tenants.iter().map(|(name, t)| (name, (t.weight, &t.group, &t.limits))).collect();
    serde_json::json!({
        "ended": ended,
        "tenants": tenants,
        "groups": world.groups,
        "tokens": world.tokens,
        "windows": world.windows,
        "drains": world.drains,
        "notifications": world.notifications.all.values().map(|n| &n.spec).collect::<Vec<_>>(),
        "jobs": world.jobs.keys().map(|id| id.0).collect::<Vec<_>>(),
    })
}

fn is_whole(before: &Value, after: &World, sample: &str) {
    let after = kept(after);
    for field in ["tenants", "groups", "tokens", "windows", "drains", "notifications", "jobs"] {
        assert_eq!(before[field], after[field], "{sample}: {field}");
    }
    // Others may have ended since.
    for (id, job) in before["ended"].as_object().expect("an object") {
        assert_eq!(Some(job), after["ended"].get(id), "{sample}: job {id}");
    }
}

fn every_sample_is_opened_twice() {
    for sample in JOURNALS.into_iter().chain(FOLDERS) {
        let folder = folder(sample);
        let before = kept(&load(folder.path()));
        for start in 1..=2 {
            let daemon = open(folder.path()).unwrap_or_else(|why| panic!("{sample}: {why}"));
            assert!(daemon.is_ready() && daemon.problems().is_empty(), "{sample}, start {start}");
            daemon.with_world(|world| is_whole(&before, world, sample));
            assert_eq!(daemon.with_world(|world| world.meaning), MEANING);
            daemon.stop(StopJobs::Checkpoint);
        }
        let report = journal::check(folder.path(), &mut |_| Ok(())).expect("readable");
        assert!(report.is_sound(), "{sample}: {report:?}");
        is_whole(&before, &load(folder.path()), sample);
    }
}

/// Folders that a newer version has opened, each known by something else.
fn what_is_newer_is_refused_and_stays() {
    type MakeNewer = fn(&Path);
    let newer: [(&str, MakeNewer); 4] = [
        ("the database", |folder| {
            let database = rusqlite::Connection::open(folder.join("oef.db")).expect("a database");
            database.execute_batch("PRAGMA user_version = 2").expect("written");
        }),
        ("what records mean", |folder| {
            append(folder, &format!(r#"{{"meaning":{{"version":{}}}}}"#, MEANING + 1))
        }),
        ("a kind of record", |folder| append(folder, r#"{"something_new":{}}"#)),
        ("a snapshot", |folder| {
            let text = load(folder).to_snapshot().expect("text");
            let text = text.replacen("\"version\":3", "\"version\":4", 1);
            let store = Store::open(folder, OpenMode::Existing).expect("it opens");
            let write = |to: &mut dyn std::io::Write| to.write_all(text.as_bytes());
            store.archive().save_snapshot(store.head(), 1, &write).expect("room");
        }),
    ];
    for (what, make_newer) in newer {
        let folder = folder("state-1-3");
        make_newer(folder.path());
        let before = journal_of(folder.path());
        let why = open(folder.path()).err().unwrap_or_else(|| panic!("{what} was not noticed"));
        assert!(why.contains("newer"), "{what}: {why}");
        assert_eq!(journal_of(folder.path()), before, "{what}: nothing was written");
    }
}

fn append(folder: &Path, body: &str) {
    let (at_ms, _) = journal_of(folder).pop().expect("a record");
    let mut store = Store::open(folder, OpenMode::Existing).expect("it opens");
    write(&mut store, &[(at_ms, body.into())]);
}

/// The records with their times, as they lie in the file.
fn journal_of(folder: &Path) -> Vec<(u64, String)> {
    let database = rusqlite::Connection::open(folder.join("oef.db")).expect("a database");
    let mut query = database.prepare("SELECT at_ms, body FROM journal ORDER BY seq").expect("ours");
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("ours");
    rows.map(|row| row.expect("readable")).collect()
}

/// A daemon that is killed while it brings a folder up to date leaves what was committed. Every such folder is opened
/// again: after each record that the upgrade wrote, once it worked, and after its snapshot.
fn an_upgrade_that_was_cut_off_is_repeated() {
    for sample in JOURNALS.into_iter().chain(FOLDERS) {
        let first = folder(sample);
        let world = load(first.path());
        let before = kept(&world);
        let old = journal_of(first.path()).len();
        let daemon = open(first.path()).expect("it opens");
        let killed = copy_of(first.path());
        daemon.stop(StopJobs::Checkpoint);
        let stopped = copy_of(first.path());
        let written = journal_of(killed.path());
        let mut cut_off = vec![killed, stopped];
        // What comes with the first round is a daemon's daily work.
        let is_upgrade = |(_, body): &&(u64, String)| !body.starts_with("{\"round\"");
        let steps = written[old..].iter().take_while(is_upgrade).count();
        let is_older = world.meaning != MEANING;
        assert!(steps > 0 || !is_older, "{sample}: the upgrade is written down: {written:?}");
        for length in old..=old + steps {
            let folder = folder(sample);
            let mut store = Store::open(folder.path(), OpenMode::Existing).expect("it opens");
            write(&mut store, &written[old..length]);
            drop(store);
            cut_off.push(folder);
        }
        for (n, folder) in cut_off.iter().enumerate() {
            let daemon = open(folder.path()).unwrap_or_else(|why| panic!("{sample}, {n}: {why}"));
            assert_eq!(daemon.with_world(|world| world.meaning), MEANING);
            daemon.with_world(|world| is_whole(&before, world, sample));
            daemon.stop(StopJobs::Checkpoint);
        }
    }
}

/// The files as a kill would leave them.
fn copy_of(folder: &Path) -> TempDir {
    let copy = tempfile::tempdir().expect("a folder");
    // The second copy of the end first: it may be behind, and never ahead.
    for name in [HEAD_FILE, "oef.db", "oef.db-wal"] {
        if folder.join(name).exists() {
            fs::copy(folder.join(name), copy.path().join(name)).expect("room");
        }
    }
    copy
}
