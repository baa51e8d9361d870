//! What stands in a record counts, whatever the constants and the rules of the program that reads it.

use super::life::{created, empty, train};
use crate::replay::Replay;
use crate::store::StoredRecord;
use crate::world::{Change, MEANING, NewJob, Record, SettingsEntry, World};
use oef_api::types::{JobSubmit, SettingsPatch};
use oef_sched::{GpuId, JobId, NodeId, NodeSpec, Settings, Span, Time};

fn happen(world: &mut World, change: Change) -> Vec<Record> {
    world.happen(Time(1_000), change).expect("taken").0
}

fn stored(seq: u64, change: &Change) -> StoredRecord {
    let body = serde_json::to_string(change).expect("text");
    StoredRecord { seq, at_ms: 1_000, kind: String::new(), body }
}

fn began(meaning: u32) -> Change {
    let (sched, settings) = (Box::new(Settings::default()), SettingsEntry::default());
    Change::Began { meaning, sched, settings, whole: false }
}

#[test]
fn what_follows_from_the_length_of_a_round_stands_in_the_records() {
    let mut world = empty();
    let first = happen(&mut world, began(MEANING)).remove(0);
    let patch = SettingsPatch { round_s: Some(5.0), ..SettingsPatch::default() };
    let second = happen(&mut world, Change::Settings(patch)).remove(0);
    assert_eq!(world.sched.settings().round, Span(5_000));
    let mut other = empty();
    for mut record in [first, second] {
        let (Change::Began { sched, .. } | Change::SettingsSet { sched, .. }) = &mut record.change
        else {
            panic!("the settings stand in it: {record:?}")
        };
        // As if the constants had been others when it was written.
        sched.min_run = Span(sched.min_run.0 + 1);
        (sched.turn, sched.horizon, sched.restart_cost) = (Span(11), Span(12), Span(13));
        let expected = Settings::clone(sched);
        other.apply(&record).expect("taken");
        assert_eq!(*other.sched.settings(), expected);
    }
}

/// Records of before leave it to the reader.
#[test]
fn without_them_they_follow_from_the_length_of_a_round() {
    let mut world = empty();
    let sched = Box::new(Settings { round: Span(10_000), ..Settings::default() });
    let settings = SettingsEntry::default();
    let first = Change::Began { meaning: MEANING, sched, settings, whole: false };
    let patch = SettingsPatch { round_s: Some(5.0), ..SettingsPatch::default() };
    for (change, round) in [(first, Span(10_000)), (Change::Settings(patch), Span(5_000))] {
        world.apply(&Record { at: Time(1_000), change }).expect("taken");
        let settings = world.sched.settings();
        assert_eq!((settings.round, settings.min_run), (round, round));
        assert_eq!((settings.turn, settings.horizon), (round.times(4), round.times(12)));
    }
}

/// Only what was written before records meant 2 was checked by whoever reads it.
#[test]
fn a_rule_that_has_become_stricter_makes_no_folder_unreadable() {
    let wrong = SettingsPatch { stickiness: Some(1e6), ..SettingsPatch::default() };
    assert!(!wrong.check().is_empty(), "today's rule is stricter");
    for (meaning, counts) in [(1, false), (2, true), (MEANING, true)] {
        let mut replay = Replay::default();
        replay.record(&stored(1, &began(meaning))).expect("it begins");
        replay.record(&stored(2, &Change::Settings(wrong.clone()))).expect("it is explained");
        let now = replay.world().sched.settings().stickiness;
        assert_eq!(now == 1e6, counts, "version {meaning}: {now}");
    }
}

/// A plan is checked against the gates of the program that reads it. One that they refuse is told with its job and the way
/// out: it never becomes another plan.
#[test]
fn a_plan_that_the_gates_of_this_version_refuse_is_an_error_with_its_job() {
    let mut replay = Replay::default();
    let job = JobSubmit { held: true, ..train() };
    let up = NodeSpec { name: "n".into(), gpu_type: "g".into(), gpus: 1 };
    let jobs = vec![NewJob { id: 1, spec: job }];
    let before = [
        began(MEANING),
        created("ada", 1.0),
        Change::NodeUp(up),
        Change::Submitted { jobs, key: None, sweep: None },
    ];
    for (n, change) in before.iter().enumerate() {
        replay.record(&stored(n as u64 + 1, change)).expect("taken");
    }
    let plan = replay.world().noticed_start(JobId(1), vec![GpuId { node: NodeId(0), index: 0 }]);
    let why = replay.record(&stored(5, &plan)).expect_err("the job is held");
    assert!(why.contains("job 1") && why.contains("open the folder once"), "{why}");
    assert!(replay.world().jobs[&JobId(1)].runs.is_empty(), "nothing has changed");
}
