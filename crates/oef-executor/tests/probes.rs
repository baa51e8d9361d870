//! Profile runs: measured by what they write, ended, and gone without a trace.

mod common;

use common::{Seen, World};
use oef_executor::{Ending, FailReason, Launch, Probe, Timing};
use oef_sched::Span;

fn probe(world: &World, id: u64, script: &str, limit_ms: u64) -> Launch {
    let probe = Probe { batches: 6, warmup: 2, least: Span(0), limit: Span(limit_ms) };
    Launch { probe: Some(probe), grace: Span(500), ..world.script(id, script) }
}

fn measured(world: &World, launch: &Launch) -> Option<Timing> {
    let about = (launch.job, launch.generation);
    let own = world.seen.iter().rev().filter(|seen| seen.about == about);
    own.filter_map(Seen::progress).find_map(|progress| progress.measured)
}

/// A loop that never ends by itself, with a step after each of these sleeps.
fn steps(sleep: &str) -> String {
    format!(
        "for i in $(seq 1 100000); do sleep {sleep}; echo '{{\"step\": '$i'}}' >> $OEF_PROGRESS_FILE; done"
    )
}

#[test]
fn a_program_is_measured_by_its_lines_and_ended() {
    let mut world = World::new();
    let launch =
        probe(&world, 1, &format!("touch $OEF_CHECKPOINT_DIR/mine; {}", steps("0.1")), 60_000);
    assert_eq!(world.run(&launch), Ending::Finished);
    let found = measured(&world, &launch).expect("a figure");
    assert!(found.batches == 6 && found.batch_seconds >= 0.09, "{found:?}");
    assert!(!world.path("state/jobs/1/probe").exists(), "its checkpoints are nobody's");
}

#[test]
fn a_program_that_ignores_the_signal_is_ended_all_the_same() {
    let mut world = World::new();
    let script = format!("trap '' TERM; {}", steps("0.06"));
    let launch = probe(&world, 1, &script, 60_000);
    assert_eq!(world.run(&launch), Ending::Finished);
    assert!(measured(&world, &launch).is_some());
}

#[test]
fn a_program_that_measures_itself_is_believed_where_its_steps_were_seen() {
    let mut world = World::new();
    let line = r#"{"step": 25, "profile": {"batch_seconds": 0.25, "spread": 0.01, "batches": 20, "lots": 1}}"#;
    let told = "test $OEF_PROFILE$OEF_PROFILE_BATCHES$OEF_PROFILE_WARMUP = 162";
    let steps = "for i in 1 2 3 4 5 6 7 8 9; do sleep 0.25; echo '{\"step\": '$i'}' >> $OEF_PROGRESS_FILE; done";
    let script = format!("{told} && {steps} && echo '{line}' >> $OEF_PROGRESS_FILE");
    let launch = probe(&world, 1, &script, 60_000);
    assert_eq!(world.run(&launch), Ending::Finished);
    assert_eq!(measured(&world, &launch).map(|m| m.batch_seconds), Some(0.25));
    // Nobody saw these: a figure alone is nothing but a word.
    let launch = probe(&world, 2, &format!("echo '{line}' > $OEF_PROGRESS_FILE"), 60_000);
    let ending = world.run(&launch);
    assert!(ending.to_string().contains("measured itself"), "{ending}");
    assert_eq!(measured(&world, &launch), None);
}

#[test]
fn what_says_nothing_of_use_fails_with_what_to_write() {
    let mut world = World::new();
    let scripts = [
        "sleep 1000",
        "true",
        "while sleep 0.05; do echo garbage >> $OEF_PROGRESS_FILE; done",
        "while sleep 0.05; do echo '{\"step\": 3}' >> $OEF_PROGRESS_FILE; done",
    ];
    for (id, script) in (1..).zip(scripts) {
        let launch = probe(&world, id, script, 500);
        let ending = world.run(&launch);
        let is_told =
            matches!(&ending, Ending::Failed { reason: FailReason::NotMeasured { .. }, .. });
        assert!(is_told && ending.to_string().contains("OEF_PROGRESS_FILE"), "{script}: {ending}");
        assert_eq!(measured(&world, &launch), None, "{script}");
    }
}

#[test]
fn a_crash_is_a_crash_and_a_stop_a_stop() {
    let mut world = World::new();
    let crash = probe(&world, 1, "echo no kernel for this GPU >&2; exit 7", 60_000);
    match world.run(&crash) {
        Ending::Failed { reason: FailReason::Exit, code: Some(7), last_lines, .. } => {
            assert_eq!(last_lines, "no kernel for this GPU\n");
        }
        other => panic!("{other}"),
    }
    let launch = probe(&world, 2, "trap 'exit 0' TERM; while :; do sleep 0.05; done", 60_000);
    world.start(&launch);
    world.started(&launch);
    world.stop(&launch, "others are owed more");
    assert!(matches!(world.ending(&launch), Ending::Stopped { .. }));
    assert!(!world.path("state/jobs/2/probe").exists());
}
