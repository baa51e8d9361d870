//! Bad luck that is nobody's lie: neighbours, slow disks, clocks that jump; and the limits.

use super::lab::{Lab, Noise, Setup, WORKLOAD};
use crate::guard::{Guard, News, Notice, Policy, RunPlace, Word};
use crate::ids::{Generation, JobId};
use crate::time::Time;

fn quiet(jobs: u64, truth: [f64; 2]) -> Setup {
    let noise = (Noise::None, Noise::None);
    let (truth, said) = (truth.to_vec(), vec![1.0, 2.0]);
    Setup { truth, said, jobs, differ: false, moves: 1000, noise, seed: 5 }
}

#[test]
fn windows_in_which_all_become_slow_together_do_not_count_and_it_is_said_once() {
    let mut lab = Lab::new(quiet(8, [1.0, 2.0]));
    lab.round(Policy::Replace);
    let before = lab.guard.observed(WORKLOAD);
    let noticed = lab.while_slowed(40, 0.3, None);
    let crowds = noticed.iter().filter(|n| matches!(n, Notice::Crowded(_))).count();
    assert!((1..=3).contains(&crowds), "{noticed:?}");
    assert!(lab.guard.crowded(WORKLOAD) > 200);
    let after = lab.guard.observed(WORKLOAD);
    for (gpu, rate) in &before {
        assert!((after[gpu] / rate - 1.0).abs() < 1e-9, "{before:?}, then {after:?}");
    }
    assert_eq!(lab.round(Policy::Replace).news, None);
}

#[test]
fn one_job_that_becomes_slow_alone_is_heard() {
    let mut lab = Lab::new(quiet(1, [1.0, 2.0]));
    lab.round(Policy::Replace);
    assert_eq!(lab.while_slowed(5, 0.3, None), []);
    assert_eq!(lab.guard.crowded(WORKLOAD), 0);
}

#[test]
fn phases_of_waiting_for_data_do_not_count() {
    let mut lab = Lab::new(quiet(8, [1.0, 2.0]));
    lab.round(Policy::Replace);
    lab.round(Policy::Replace);
    let before = lab.guard.observed(WORKLOAD);
    assert_eq!(lab.while_slowed(12, 0.2, Some(0.9)), [], "less than half of the time");
    assert_eq!(lab.guard.observed(WORKLOAD), before);
    assert!(!lab.guard.is_host_bound(WORKLOAD));
}

#[test]
fn a_workload_that_always_waits_for_its_data_is_what_it_is() {
    // The same speed everywhere, because the GPUs are not what it waits for.
    let mut lab = Lab::new(quiet(8, [1.0, 1.0]));
    let noticed = lab.while_slowed(60, 1.0, Some(0.9));
    assert_eq!(noticed, [Notice::HostBound(WORKLOAD)], "said once");
    assert!(lab.guard.is_host_bound(WORKLOAD));
    let judged = lab.guard.judge(WORKLOAD, &lab.profile, Policy::Replace);
    let Some(News::Found(verdict)) = judged.news else { panic!("{judged:?}") };
    assert!(verdict.host_bound && (verdict.seen - 1.0).abs() < 1e-9, "{verdict:?}");
    let throughput = judged.profile.expect("what was seen counts").throughput;
    assert!((throughput[0] / throughput[1] - 1.0).abs() < 1e-9);
}

/// A job's words, one after the other: the clock of the daemon, of the machine, steps, checkpoint.
fn told(words: &[(u64, u64, f64, Option<f64>)]) -> Guard {
    let mut guard = Guard::default();
    for &(at, clock, steps, checkpoint) in words {
        let place = RunPlace { gpu_type: 0, workers: 2, nodes: 1, node: 0, kind: 1 };
        let word = Word {
            job: JobId(1),
            generation: Generation(1),
            workload: WORKLOAD,
            place,
            steps,
            checkpoint,
            wait: None,
            clock_ms: Some(clock),
        };
        guard.word(Time(at), &word);
    }
    guard
}

/// Ten steps a second of two workers, with something odd at one word.
fn steady(count: u64, odd: impl Fn(u64, &mut (u64, u64, f64, Option<f64>))) -> Guard {
    let words: Vec<_> = (0..count)
        .map(|i| {
            let mut word = (i * 5_000, 900_000 + i * 5_000, 50.0 * i as f64, None);
            odd(i, &mut word);
            word
        })
        .collect();
    told(&words)
}

fn rate(guard: &Guard) -> Option<f64> {
    guard.observed(WORKLOAD).get(&0).copied()
}

#[test]
fn clocks_that_jump_and_steps_that_go_back_give_no_window() {
    let five = |guard: Guard| {
        let rate = rate(&guard).expect("enough windows are left");
        assert!((rate - 5.0).abs() < 1e-9, "{rate}");
    };
    five(steady(12, |_, _| {}));
    // From then on, by an hour, forward and back.
    five(steady(12, |i, w| w.1 += u64::from(i > 5) * 3_600_000));
    five(steady(12, |i, w| w.1 -= u64::from(i > 5) * 800_000));
    five(steady(12, |i, w| w.0 += u64::from(i > 5) * 3_600_000));
    // A restart from a checkpoint, and a word that comes twice.
    five(steady(14, |i, w| w.2 -= if i > 5 { 120.0 } else { 0.0 }));
    five(steady(12, |i, w| *w = if i == 6 { (25_000, 925_000, 250.0, None) } else { *w }));
}

#[test]
fn a_window_with_a_checkpoint_does_not_count_unless_it_always_has_one() {
    // Every fourth word comes after a checkpoint that took as long as the steps.
    let slow = |i: u64| i / 4;
    let guard = steady(24, |i, w| {
        let late = slow(i) * 5_000;
        *w = (w.0 + late, w.1 + late, w.2, Some(slow(i) as f64));
    });
    assert!((rate(&guard).expect("a rate") - 5.0).abs() < 1e-9);
    let guard = steady(24, |i, w| w.3 = Some(i as f64));
    assert!((rate(&guard).expect("it always saves") - 5.0).abs() < 1e-9);
}

#[test]
fn few_words_and_mad_figures_say_nothing() {
    assert_eq!(rate(&steady(5, |_, _| {})), None);
    assert_eq!(rate(&steady(12, |_, w| w.2 = 7.0)), None, "no step");
    let guard = steady(12, |i, w| w.2 = if i % 2 == 0 { f64::NAN } else { f64::MAX });
    assert_eq!(rate(&guard), None);
    assert_eq!(rate(&steady(100, |i, w| (w.0, w.1) = (i, i))), None, "too short");
}

#[test]
fn memory_is_bounded_and_everything_can_be_written_down() {
    let setup = Setup { moves: 1, jobs: 6, ..quiet(6, [1.0, 2.0]) };
    let mut lab = Lab::new(setup);
    let mut sizes = Vec::new();
    for round in 0..600 {
        lab.round(Policy::Replace);
        if round % 200 == 199 {
            sizes.push(serde_json::to_string(&lab.guard).expect("written").len());
        }
    }
    assert!(sizes[2] < sizes[1] + sizes[1] / 10 && sizes[2] < 50_000, "{sizes:?}");
    let text = serde_json::to_string(&lab.guard).expect("written");
    let mut again: Guard = serde_json::from_str(&text).expect("read");
    assert_eq!(again, lab.guard);
    let (profile, policy) = (lab.profile.clone(), Policy::Replace);
    assert_eq!(
        again.judge(WORKLOAD, &profile, policy),
        lab.guard.judge(WORKLOAD, &profile, policy)
    );
    lab.guard.forget(WORKLOAD);
    assert_eq!(lab.guard, Guard::default(), "a workload that is gone leaves nothing");
}
