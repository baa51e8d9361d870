//! A soak of some seconds: the daemon under load with every part of the benchmark.

use oef_lab::bench::soak::{Load, soak};
use std::cell::Cell;

#[test]
fn a_short_soak_loses_nothing_and_says_what_it_saw() {
    let folder = std::env::temp_dir().join(format!("oef-short-soak-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let told = Cell::new(0);
    let result = soak(Load::QUICK, &folder, &|_| told.set(told.get() + 1));
    std::fs::remove_dir_all(&folder).expect("it is ours");
    let soak = result.expect("the daemon starts");
    let due = (Load::QUICK.seconds * Load::QUICK.rate) as usize;
    assert_eq!((soak.submitted, soak.refused), (due, 0), "{soak:#?}");
    assert_eq!(soak.lost_events, 0);
    // At the least, each job that ended was submitted, started and ended: three events in each stream.
    assert!(soak.finished > 0, "{soak:#?}");
    assert!(soak.events >= 3 * soak.finished * u64::from(Load::QUICK.streams), "{soak:#?}");
    assert!(soak.rounds > 0, "{soak:#?}");
    assert_eq!(told.get(), soak.samples.len());
    assert!(soak.samples.last().is_some_and(|last| last.running > 0 && last.journal_bytes > 0));
}
