//! What holds in random lives.

use super::check::{check, check_after};
use super::life::{Life, empty};
use crate::world::{Record, World};
use proptest::prelude::*;

/// Long enough for jobs to end, be forgotten, and names to come again.
const LONG: usize = 300;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_job_is_in_one_state_that_the_scheduler_agrees_with(seed: u64) {
        check_all_along(seed);
    }

    #[test]
    fn the_journal_gives_the_same_world(seed: u64) {
        let mut life = Life::new(seed);
        life.live_on(LONG);
        let mut again = empty();
        for record in &life.journal {
            again.apply(&through_text(record)).expect("what is written can be applied");
        }
        prop_assert_eq!(text(&again), text(&life.world));
    }

    #[test]
    fn a_journal_that_another_scheduler_wrote_gives_the_world_that_it_was(seed: u64) {
        let mut life = Life::new(seed);
        life.is_bent = true;
        life.live_on(LONG);
        check(&life.world);
        let mut again = empty();
        for record in &life.journal {
            again.apply(&through_text(record)).expect("what is written can be applied");
        }
        prop_assert_eq!(text(&again), text(&life.world));
    }

    #[test]
    fn a_snapshot_stands_for_the_records_before_it(seed: u64, part in 0.0..1.0) {
        let mut life = Life::new(seed);
        life.live_on(LONG);
        let middle = (life.journal.len() as f64 * part) as usize;
        let (before, after) = life.journal.split_at(middle);
        let mut world = empty();
        for record in before {
            world.apply(record).expect("what is written can be applied");
        }
        let mut world = World::from_snapshot(&text(&world)).expect("a world");
        check(&world);
        for record in after {
            world.apply(record).expect("what is written can be applied");
        }
        check(&world);
        prop_assert_eq!(text(&world), text(&life.world));
    }

    #[test]
    fn a_rejected_record_changes_nothing(seed: u64) {
        let mut life = Life::new(seed);
        for _ in 0..LONG / 3 {
            let (before, length) = (life.world.clone(), life.journal.len());
            let taken = life.live();
            // One turn may make two records: those before the last one were taken.
            if !taken && life.journal.len() == length {
                prop_assert_eq!(text(&life.world), text(&before));
                prop_assert_eq!(&life.world.index, &before.index);
            }
        }
    }
}

/// Lives in which a profile run was cancelled and ended before it was measured: the daemon queued it again
/// and the scheduler had forgotten it.
#[test]
fn lives_with_a_cancelled_profile_run_that_was_not_measured() {
    let seeds = [
        5_539_222_048_884_478_533,
        10_148_119_441_048_942_976,
        17_846_116_951_941_684_723,
        17_281_438_180_089_562_851,
    ];
    for seed in seeds {
        check_all_along(seed);
    }
}

fn check_all_along(seed: u64) {
    let (mut life, mut largest) = (Life::new(seed), Vec::new());
    for _ in 0..LONG {
        life.live();
        check_after(&life.world, &mut largest);
    }
}

fn text(world: &World) -> String {
    world.to_snapshot().expect("text")
}

/// As it is read back from the disk.
fn through_text(record: &Record) -> Record {
    let body = serde_json::to_string(&record.change).expect("text");
    let tag = body.trim_start_matches(['{', '"']);
    assert!(
        tag.starts_with(record.change.kind()),
        "{} is not the tag of {body}",
        record.change.kind()
    );
    Record { at: record.at, change: serde_json::from_str(&body).expect("a change") }
}
