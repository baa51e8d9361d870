//! What older versions wrote is still read, and means the same.

use super::every_kind::everything;
use super::life::{Life, empty};
use crate::replay::Replay;
use crate::store::{OpenMode, Store, StoredRecord};
use crate::world::{Change, Record, World};
use oef_api::parsed::recorded;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;
use strum::VariantNames;

const LENGTH: usize = 400;

#[test]
fn the_journal_of_version_1_gives_the_world_that_it_gave() {
    let mut world = empty();
    let journal = std::fs::read_to_string(data("journal-v1.jsonl")).expect("the sample");
    let mut kinds: Vec<&str> = Vec::new();
    for (number, line) in journal.lines().enumerate() {
        let record: Record = recorded(|| serde_json::from_str(line))
            .unwrap_or_else(|error| panic!("line {}: {error}", number + 1));
        kinds.push(record.change.kind());
        let _ = world.apply(&record);
    }
    kinds.sort();
    kinds.dedup();
    assert_eq!(kinds.len(), 23, "the sample has every kind of record: {kinds:?}");
    let expected = std::fs::read_to_string(data("journal-v1.world.json")).expect("the sample");
    let expected: Value = serde_json::from_str(&expected).expect("JSON");
    contains(&known(&world), &expected, "the world");
}

#[test]
fn the_snapshot_of_version_1_is_the_same_world() {
    let text = std::fs::read_to_string(data("snapshot-v1.json")).expect("the sample");
    let world = World::from_snapshot(&text).expect("a world");
    let expected = std::fs::read_to_string(data("journal-v1.world.json")).expect("the sample");
    let expected: Value = serde_json::from_str(&expected).expect("JSON");
    contains(&known(&world), &expected, "the world");
}

/// Journals that version 1 wrote: after every so many records the leases are those of then. One is of a daemon that
/// was killed; the others have much that was refused then, too.
#[test]
fn the_journals_of_version_1_give_the_leases_that_they_gave() {
    for name in ["life-v1-11", "life-v1-12", "daemon-v1"] {
        let mut replay = Replay::default();
        let mut expected = read_leases(name).into_iter().peekable();
        for (n, line) in read_journal(name).lines().enumerate() {
            let taken = replay.record(&stored(n as u64 + 1, line));
            assert!(taken.is_ok() || name != "daemon-v1", "record {}: {taken:?}", n + 1);
            if let Some(mark) = expected.next_if(|mark| mark["after"] == n + 1) {
                assert_eq!(leases(replay.world()), mark["leases"], "{name} after {}", n + 1);
            }
        }
        assert!(expected.next().is_none(), "{name}: every mark was reached");
    }
}

#[test]
fn a_snapshot_of_version_1_has_the_leases_of_its_journal() {
    let text = std::fs::read_to_string(data("life-v1-12.snapshot.json")).expect("the sample");
    let world = World::from_snapshot(&text).expect("a world");
    let mut replay = Replay::default();
    for (n, line) in read_journal("life-v1-12").lines().enumerate() {
        let _ = replay.record(&stored(n as u64 + 1, line));
    }
    assert_eq!((leases(&world), world.meaning), (leases(replay.world()), 1));
}

/// A journal of version 1 that this scheduler does not replay as it was: told with its record, never passed over.
#[test]
fn a_journal_of_version_1_under_other_settings_is_an_error_that_names_the_record() {
    let journal = read_journal("daemon-v1");
    let other = journal.replacen("\"packed\"", "\"first_free\"", 1);
    let other = other.replacen("\"mechanism\":\"nash\"", "\"mechanism\":\"efficiency\"", 1);
    let other = other.replacen("\"stickiness\":1.0", "\"stickiness\":0.0", 1);
    assert_ne!(journal, other);
    let mut replay = Replay::default();
    let mut lines = other.lines().enumerate();
    let failed = lines.find_map(|(n, line)| replay.record(&stored(n as u64 + 1, line)).err());
    let why = failed.expect("it was not replayed as it was");
    assert!(why.contains("open the folder once with the version"), "{why}");
}

/// In version 2 the same change of a setting changes no lease: what was decided is written down.
#[test]
fn a_journal_of_version_2_under_other_settings_gives_the_same_leases() {
    let mut life = Life::new(3);
    life.live_on(LENGTH);
    let mut world = empty();
    for record in &life.journal {
        let mut record = record.clone();
        if let Change::Began { sched, .. } = &mut record.change {
            sched.stickiness = 7.0;
            sched.placement = oef_sched::PlacementRule::FirstFree;
            sched.mechanism = oef_core::Mechanism::Efficiency;
        }
        world.apply(&record).expect("what is written can be applied");
    }
    assert_eq!(leases(&world), leases(&life.world));
}

#[test]
fn the_journal_of_version_2_gives_the_leases_and_the_world_that_it_gave() {
    gives_what_it_gave("life-v2");
}

#[test]
fn the_journal_of_version_3_gives_the_leases_and_the_world_that_it_gave() {
    gives_what_it_gave("life-v3");
}

#[test]
fn the_journal_of_version_4_gives_the_leases_and_the_world_that_it_gave() {
    gives_what_it_gave("life-v4");
}

#[test]
fn the_journal_of_version_5_gives_the_leases_and_the_world_that_it_gave() {
    gives_what_it_gave("life-v5");
}

/// `OEF_WRITE_SAMPLE=life-v6 cargo test -p oef-server versions` writes the sample of this version anew: only until it is
/// released.
#[test]
fn the_journal_of_version_6_gives_the_leases_and_the_world_that_it_gave() {
    if std::env::var_os("OEF_WRITE_SAMPLE").is_some_and(|written| written == "life-v6") {
        write_sample("life-v6");
    }
    gives_what_it_gave("life-v6");
}

#[test]
fn a_restart_decides_nothing_about_the_past() {
    let mut replay = Replay::default();
    for (n, line) in read_journal("life-v5").lines().enumerate() {
        replay.record(&stored(n as u64 + 1, line)).expect("what is written can be applied");
    }
    assert_eq!(replay.finish().decide(), None);
}

/// State folders as a daemon left them, a snapshot and records after it: the database's version, then that of the records.
/// `OEF_WRITE_SAMPLE=NAME cargo test -p oef-server --test daemon -- a_life_with` makes another one, for a form that is new;
/// with the same variable this test writes what it holds.
#[test]
fn every_state_folder_holds_what_it_held() {
    for name in ["state-1-3", "state-1-3-later", "state-1-4"] {
        let folder = tempfile::tempdir().expect("a folder");
        let copied = std::fs::copy(data(&format!("{name}.db")), folder.path().join("oef.db"));
        copied.expect("the sample");
        let store = Store::open(folder.path(), OpenMode::Existing).expect("it opens");
        let loaded = store.load().expect("it is whole");
        let (mut replay, mut records) = (Replay::default(), 0);
        replay.snapshot(&loaded.snapshot.expect("it has one")).expect("a world");
        for record in loaded.records {
            replay.record(&record.expect("the chain holds")).expect("it is replayed");
            records += 1;
        }
        assert!(records > 0, "records come after the snapshot");
        let world = replay.finish();
        let beside = data(&format!("{name}.world.json"));
        if std::env::var_os("OEF_WRITE_SAMPLE").is_some_and(|written| written == name) {
            std::fs::write(&beside, format!("{:#}\n", known(&world))).expect("written");
            let leases = json!({"leases": leases(&world)}).to_string();
            std::fs::write(data(&format!("{name}.leases.jsonl")), leases + "\n").expect("written");
        }
        let expected = std::fs::read_to_string(&beside).expect("the sample");
        let expected: Value = serde_json::from_str(&expected).expect("JSON");
        for field in ["drains", "windows", "usage", "totals", "tokens", "groups", "keys"] {
            let is_there = expected[field].as_object().is_some_and(|object| !object.is_empty());
            assert!(is_there, "the sample has {field}");
        }
        contains(&known(&world), &expected, "the world");
        decides_as_it_did(name, &world);
        if name != "state-1-3" {
            has_what_came_later(&world, &expected);
            assert_eq!(vec![json!({"leases": leases(&world)})], read_leases(name));
        }
    }
}

/// The sample that the program itself wrote, with jobs that ran and everything that there was by then: gangs, urgent, held
/// and dependent jobs, reservations, notifications with notices that wait, usage, tokens and groups.
fn has_what_came_later(world: &World, expected: &Value) {
    for field in ["waiting", "spec"] {
        assert!(!expected["notifications"]["all"]["1"][field].is_null(), "it has {field}");
    }
    let jobs = || world.jobs.values();
    assert!(jobs().any(|job| *job.spec.workers > 1 && job.run().is_some()), "a gang runs");
    assert!(jobs().any(|job| job.spec.now && job.run().is_some()), "an urgent job runs");
    assert!(jobs().any(|job| job.spec.held), "jobs are held");
    assert!(jobs().any(|job| !job.spec.after.is_empty()), "jobs wait for others");
    assert!(expected["workloads"].to_string().contains("gang_figures"), "gangs are known");
}

/// `OEF_WRITE_SAMPLE=every-v4 cargo test -p oef-server versions` writes it anew: only until it is released.
#[test]
fn the_journal_with_every_kind_of_record_gives_what_it_gave() {
    if std::env::var_os("OEF_WRITE_SAMPLE").is_some_and(|written| written == "every-v4") {
        write_life("every-v4", &everything());
    }
    gives_what_it_gave("every-v4");
}

/// A kind that is in no sample could become unreadable, or mean something else, and nothing would say so.
#[test]
fn every_kind_of_record_is_in_a_sample() {
    let mut kinds: BTreeSet<&str> = BTreeSet::new();
    for sample in ["life-v2", "life-v3", "life-v4", "every-v4"] {
        let journal = read_journal(sample);
        for line in journal.lines() {
            let record: Record = recorded(|| serde_json::from_str(line)).expect("a record");
            kinds.insert(record.change.kind());
        }
    }
    let all = Change::VARIANTS.iter().copied();
    let missing: Vec<&str> = all.filter(|kind| !kinds.contains(kind)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

fn gives_what_it_gave(name: &str) {
    let mut replay = Replay::default();
    for (n, line) in read_journal(name).lines().enumerate() {
        replay.record(&stored(n as u64 + 1, line)).expect("what is written can be applied");
    }
    let expected = std::fs::read_to_string(data(&format!("{name}.world.json")));
    let expected: Value = serde_json::from_str(&expected.expect("the sample")).expect("JSON");
    contains(&known(replay.world()), &expected, "the world");
    assert_eq!(vec![json!({"leases": leases(replay.world())})], read_leases(name));
    decides_as_it_did(name, replay.world());
}

/// What the next decision is made from, down to the last figure: since records meant 3 nothing of it is computed by a
/// scheduler that may be a better one later. A change of it needs another `MEANING`. With the whole sample it is written
/// anew, too; alone by `OEF_WRITE_SAMPLE=NAME.sched`.
fn decides_as_it_did(name: &str, world: &World) {
    if name == "life-v2" {
        return;
    }
    let beside = data(&format!("{name}.sched.json"));
    let decides = json!({"sched": world.sched, "guard": world.guard});
    let word = format!("{name}.sched");
    if std::env::var_os("OEF_WRITE_SAMPLE").is_some_and(|w| w == name || *w == *word) {
        std::fs::write(&beside, format!("{decides}\n")).expect("written");
    }
    let expected = std::fs::read_to_string(&beside).expect("the sample");
    let expected = serde_json::from_str(&expected).expect("JSON");
    contains(&decides, &expected, "what decides");
}

fn write_sample(name: &str) {
    let mut life = Life::new(21);
    life.live_on(LENGTH);
    write_life(name, &life);
}

fn write_life(name: &str, life: &Life) {
    let lines: Vec<String> =
        life.journal.iter().map(|r| serde_json::to_string(r).expect("text")).collect();
    std::fs::write(data(&format!("{name}.journal.jsonl")), lines.join("\n") + "\n")
        .expect("written");
    let leases = json!({"leases": leases(&life.world)}).to_string();
    std::fs::write(data(&format!("{name}.leases.jsonl")), leases + "\n").expect("written");
    let known = serde_json::to_string(&known(&life.world)).expect("text");
    std::fs::write(data(&format!("{name}.world.json")), known + "\n").expect("written");
}

#[test]
fn records_that_a_newer_version_wrote_are_an_error_with_the_way_out() {
    let lines = [
        r#"{"at":1,"change":{"began":{"meaning":7,"sched":{},"settings":{"grace_ms":1,"ended_jobs_max":1,"events_max":1}}}}"#,
        r#"{"at":1,"change":{"something_new":{}}}"#,
    ];
    for line in lines {
        let why = Replay::default().record(&stored(1, line)).expect_err("it is newer");
        assert!(why.contains("newer"), "{why}");
    }
    let text = empty().to_snapshot().expect("text").replacen("\"version\":3", "\"version\":4", 1);
    let why = World::from_snapshot(&text).expect_err("it is newer").to_string();
    assert!(why.contains("version 4") && why.contains("newer"), "{why}");
}

fn stored(seq: u64, line: &str) -> StoredRecord {
    let line: Value = serde_json::from_str(line).expect("JSON");
    let at_ms = line["at"].as_u64().expect("a time");
    StoredRecord { seq, at_ms, kind: String::new(), body: line["change"].to_string() }
}

fn read_journal(name: &str) -> String {
    std::fs::read_to_string(data(&format!("{name}.journal.jsonl"))).expect("the sample")
}

fn read_leases(name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(data(&format!("{name}.leases.jsonl"))).expect("the sample");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Every live job with its state, and its lease where it has one.
fn leases(world: &World) -> Value {
    let jobs = world.sched.jobs().map(|job| {
        let lease = job.lease().map(|lease| {
            let gpus: Vec<(usize, u32)> = lease.gpus.iter().map(|g| (g.node.0, g.index)).collect();
            json!({"generation": lease.generation, "until": lease.until, "gpus": gpus})
        });
        json!({"job": job.spec().id, "state": job.state(), "lease": lease})
    });
    Value::Array(jobs.collect())
}

/// What a user would notice if it were different. The scheduler's own state is not in it: before records meant 3, a
/// better scheduler may decide otherwise about the same ones. After, see [`decides_as_it_did`].
fn known(world: &World) -> Value {
    json!({
        "jobs": world.jobs,
        "tenants": world.tenants,
        "groups": world.groups,
        "workloads": world.workloads,
        "tokens": world.tokens,
        "ended": world.ended,
        "keys": world.keys,
        "drained": world.drained,
        "drains": world.drains,
        "windows": world.windows,
        "usage": world.usage,
        "notifications": world.notifications,
        "totals": world.totals,
        "settings": world.settings,
        "next_job": world.next_job,
        "next_event": world.next_event,
        "round": world.sched.round(),
    })
}

/// Whether everything that is expected is there; more may be.
fn contains(found: &Value, expected: &Value, place: &str) {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            for (key, value) in expected {
                let place = format!("{place}.{key}");
                contains(found.get(key).unwrap_or(&Value::Null), value, &place);
            }
        }
        (Value::Array(found), Value::Array(expected)) => {
            assert_eq!(found.len(), expected.len(), "{place}");
            for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
                contains(found, expected, &format!("{place}[{i}]"));
            }
        }
        // What was decided is the same; why, it may say in better words.
        (found, Value::String(_)) if place.ends_with(".reason") || place.ends_with(".stop") => {
            let is_told = found.is_object() || found.as_str().is_some_and(|text| !text.is_empty());
            assert!(is_told, "{place}");
        }
        _ => assert_eq!(found, expected, "{place}"),
    }
}

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}
