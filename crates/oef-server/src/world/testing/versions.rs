//! What older versions wrote is still read, and means the same.
//!
//! `OEF_WRITE_SAMPLE=1 cargo test -p oef-server versions` writes the sample anew: only for a version that was
//! never released.

use super::life::{Life, empty};
use crate::world::{Record, World};
use serde_json::{Value, json};
use std::path::PathBuf;

const LENGTH: usize = 400;

#[test]
fn the_journal_of_version_1_gives_the_world_that_it_gave() {
    if std::env::var_os("OEF_WRITE_SAMPLE").is_some() {
        write_sample();
    }
    let mut world = empty();
    let journal = std::fs::read_to_string(data("journal-v1.jsonl")).expect("the sample");
    let mut kinds: Vec<&str> = Vec::new();
    for (number, line) in journal.lines().enumerate() {
        let record: Record = serde_json::from_str(line)
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

/// What a user would notice if it were different. The scheduler's own state is not in it: a better scheduler
/// may decide otherwise about the same records.
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
        (Value::String(found), Value::String(expected)) if place.ends_with(".reason") => {
            let what = |text: &str| text.split(':').next().unwrap_or_default().to_string();
            assert_eq!(what(found), what(expected), "{place}");
        }
        _ => assert_eq!(found, expected, "{place}"),
    }
}

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn write_sample() {
    let mut life = Life::new(1);
    life.live_on(LENGTH);
    let lines: Vec<String> =
        life.journal.iter().map(|r| serde_json::to_string(r).expect("text")).collect();
    std::fs::create_dir_all(data("")).expect("a folder");
    std::fs::write(data("journal-v1.jsonl"), lines.join("\n") + "\n").expect("written");
    let known = serde_json::to_string_pretty(&known(&life.world)).expect("text");
    std::fs::write(data("journal-v1.world.json"), known + "\n").expect("written");
    let snapshot = life.world.to_snapshot().expect("text");
    std::fs::write(data("snapshot-v1.json"), snapshot + "\n").expect("written");
}
