//! Whoever tells something else is found, soon or later.

use super::lab::{Lab, Noise, Setup};
use crate::guard::{Direction, News, Policy};

fn liar(said: [f64; 2], noise: (Noise, Noise), seed: u64) -> Setup {
    let (truth, said) = (vec![1.0, 2.0], said.to_vec());
    Setup { truth, said, jobs: 4, differ: false, moves: 3, noise, seed }
}

/// The round in which each of many is found, and in which way.
fn found(said: [f64; 2], noise: (Noise, Noise)) -> Vec<Option<(u64, Direction)>> {
    let one = |seed| {
        let mut lab = Lab::new(liar(said, noise, seed));
        (0..60).find_map(|_| match lab.round(Policy::Report).news {
            Some(News::Found(verdict)) => Some((lab.round, verdict.direction)),
            _ => None,
        })
    };
    (0..100).map(one).collect()
}

fn check(said: [f64; 2], noise: (Noise, Noise), direction: Direction, median: u64, last: u64) {
    let found = found(said, noise);
    let mut rounds: Vec<u64> =
        found.iter().map(|f| f.map_or(u64::MAX, |(round, _)| round)).collect();
    rounds.sort();
    let in_the_middle = rounds[rounds.len() / 2];
    assert!(in_the_middle <= median && rounds[rounds.len() - 1] <= last, "{said:?}: {rounds:?}");
    assert!(found.iter().all(|f| f.is_some_and(|(_, d)| d == direction)), "{found:?}");
}

#[test]
fn who_says_twice_as_much_or_half_as_much_is_found_within_a_few_rounds() {
    let quiet = (Noise::None, Noise::None);
    check([1.0, 4.0], quiet, Direction::Over, 4, 12);
    check([1.0, 1.0], quiet, Direction::Under, 4, 12);
    let noisy = (Noise::Uniform, Noise::Uniform);
    check([1.0, 4.0], noisy, Direction::Over, 8, 40);
    check([1.0, 1.0], noisy, Direction::Under, 8, 40);
}

#[test]
fn who_says_half_as_much_again_is_found_later() {
    let quiet = (Noise::None, Noise::None);
    check([1.0, 3.0], quiet, Direction::Over, 40, 60);
    check([3.0, 4.0], quiet, Direction::Under, 40, 60);
}

#[test]
fn what_was_seen_takes_the_place_of_what_was_said_and_gets_better() {
    for seed in 0..50 {
        let noise = (Noise::Uniform, Noise::Uniform);
        let mut lab = Lab::new(liar([1.0, 5.0], noise, seed));
        let news: Vec<News> = (0..60).filter_map(|_| lab.round(Policy::Replace).news).collect();
        assert!(matches!(news[0], News::Found(_)), "{news:?}");
        assert!(news[1..].iter().all(|n| *n == News::Refined), "accused once: {news:?}");
        let ratio = lab.profile.throughput[1] / lab.profile.throughput[0];
        assert!((ratio / 2.0).ln().abs() < 0.15, "seed {seed}: {ratio}");
    }
}

#[test]
fn the_same_lie_told_again_is_not_believed() {
    let quiet = (Noise::None, Noise::None);
    let mut lab = Lab::new(liar([1.0, 4.0], quiet, 1));
    while !lab.guard.is_written(super::lab::WORKLOAD) {
        lab.round(Policy::Replace);
        assert!(lab.round < 20);
    }
    let mut tell = |profile: [f64; 2], policy: Policy| {
        let told = lab.guard.told_judgement(super::lab::WORKLOAD, &profile, policy);
        lab.guard.settle_told(super::lab::WORKLOAD, &told);
        (told.seen.map(|seen| seen.throughput[1] / seen.throughput[0]), told.verdict)
    };
    let (ratio, verdict) = tell([10.0, 40.0], Policy::Replace);
    let ratio = ratio.expect("it is corrected");
    assert!((ratio - 2.0).abs() < 1e-6 && verdict.is_some(), "{ratio}");
    // A little less of it is no accusation, and no gain either.
    let (ratio, verdict) = tell([10.0, 22.0], Policy::Replace);
    assert!((ratio.expect("what was seen counts") - 2.0).abs() < 1e-6);
    assert_eq!(verdict, None);
    // Where it is only reported, everybody is believed.
    assert_eq!(tell([10.0, 40.0], Policy::Report), (None, None));
}

#[test]
fn a_verdict_falls_when_the_profile_becomes_true() {
    let quiet = (Noise::None, Noise::None);
    let mut lab = Lab::new(liar([1.0, 4.0], quiet, 1));
    lab.until_found(20);
    assert_eq!(lab.round(Policy::Report).news, None, "it is said once");
    lab.profile.throughput = vec![3.0, 6.0];
    assert_eq!(lab.round(Policy::Report).news, Some(News::Cleared));
    assert_eq!(lab.round(Policy::Report).news, None);
}

/// Which two of three types stick out most changes from round to round, and it is one lie.
#[test]
fn a_lie_about_three_types_is_said_once() {
    for seed in 0..20 {
        let (truth, said) = (vec![1.0, 1.6, 2.1], vec![1.0, 1.6, 6.3]);
        let noise = (Noise::Uniform, Noise::Uniform);
        let mut lab =
            Lab::new(Setup { truth, said, jobs: 6, differ: false, moves: 3, noise, seed });
        let news: Vec<News> = (0..60).filter_map(|_| lab.round(Policy::Report).news).collect();
        assert!(matches!(news[..], [News::Found(_)]), "{seed}: {news:?}");
    }
}

#[test]
fn what_seemed_a_mistake_and_is_a_lie_is_said_once_more() {
    let quiet = (Noise::None, Noise::None);
    let mut lab = Lab::new(liar([1.0, 2.9], quiet, 1));
    lab.until_found(60);
    lab.profile.throughput = vec![1.0, 4.0];
    let news = |lab: &mut Lab| lab.round(Policy::Report).news;
    assert!(matches!(news(&mut lab), Some(News::Found(v)) if !v.may_be_honest()));
    lab.profile.throughput = vec![1.0, 2.9];
    assert_eq!(news(&mut lab), None);
    lab.profile.throughput = vec![1.0, 4.0];
    assert_eq!(news(&mut lab), None, "no to and fro");
}

#[test]
fn what_was_only_said_counts_from_when_the_operator_wants_it_and_that_is_said() {
    let quiet = (Noise::None, Noise::None);
    let mut lab = Lab::new(liar([1.0, 4.0], quiet, 1));
    lab.until_found(20);
    let judged = lab.round(Policy::Replace);
    assert!(matches!(judged.news, Some(News::Replaced(_))), "{judged:?}");
    assert!(judged.profile.is_some());
    let next = lab.round(Policy::Replace).news;
    assert!(matches!(next, None | Some(News::Refined)), "{next:?}");
}

#[test]
fn an_estimate_gives_way_without_an_accusation() {
    let quiet = (Noise::None, Noise::None);
    for policy in [Policy::Report, Policy::Replace] {
        let mut lab = Lab::new(liar([1.0, 1.1], quiet, 1));
        lab.profile.provenance = crate::profile::Provenance::Estimated;
        let news = (0..10).find_map(|_| lab.round(policy).news);
        assert_eq!(news, Some(News::Learnt));
        assert!((lab.profile.throughput[1] / lab.profile.throughput[0] - 2.0).abs() < 1e-6);
    }
}
