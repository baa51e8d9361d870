//! Every waiting job knows what it waits for, and when its turn can be expected.

use super::dice::Dice;
use super::fairness::{Fixed, Kind};
use super::scenario::{WILD, live_on, settings, world};
use super::world::World;
use crate::why::FORECAST_ROUNDS_MAX;
use crate::*;
use oef_core::Mechanism;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_waiting_job_has_a_reason_and_who_can_run_has_a_round(seed: u64) {
        let dice = &mut Dice(seed);
        let settings = settings(dice);
        let mut world = world(dice, settings, 4);
        for _ in 0..80 {
            live_on(&mut world, dice, WILD);
        }
        world.tick();
        for tenant in 0..world.state.tenants().len() {
            let forecast = why_tenant(&world.state, TenantKey(tenant)).expect("it is there");
            prop_assert!(!forecast.sentence.is_empty());
            let jobs = forecast.running + forecast.waiting + forecast.held;
            let own = world.state.jobs().filter(|job| job.spec().tenant.0 == tenant);
            prop_assert_eq!(jobs, own.count());
        }
        for job in world.state.jobs() {
            let forecast = why(&world.state, job.spec().id).expect("it is live");
            prop_assert!(!forecast.sentence.is_empty());
            if job.state() != JobState::Queued {
                continue;
            }
            let waits = forecast.waits.clone().expect("it waits for something");
            use WaitReason::{AtLimit, CannotRun, NoShare, NoneUp, TooLarge, TooLittleMemory, Urgent};
            let never = matches!(
                waits,
                AtLimit { .. } | CannotRun | NoneUp { .. } | TooLarge { .. } | NoShare | TooLittleMemory { .. } | Urgent { .. }
            );
            if let WaitReason::Behind { next, .. } = waits {
                let first = why(&world.state, next).expect("it waits, too");
                let earlier = match (first.expected, forecast.expected) {
                    (Some(first), Some(own)) => first <= own,
                    (Some(_), None) => is_far_away(&forecast),
                    (None, Some(_)) => false,
                    (None, None) => true,
                };
                prop_assert!(earlier, "{}; {}", forecast.sentence, first.sentence);
                continue;
            }
            let no_round = never || is_far_away(&forecast);
            prop_assert_eq!(forecast.expected.is_none(), no_round, "{}", forecast.sentence);
            if let Some(round) = forecast.expected {
                prop_assert!(round > world.state.round(), "{}", forecast.sentence);
            }
        }
    }
}

fn is_far_away(forecast: &Forecast) -> bool {
    forecast.sentence.ends_with("; its turn is more than 10000 rounds away")
}

/// The last round that a reader of a sentence can expect, and the first: figures are rounded to the digits that are shown.
fn rounds_from(sentence: &str) -> Option<(f64, f64)> {
    let words = sentence.split_whitespace().map(|word| word.trim_end_matches([',', ';']));
    let signed: Vec<&str> = words.filter(|word| word.starts_with(['+', '-'])).collect();
    let [balance, growth, turn] = signed[..] else { return None };
    let range = |word: &str| {
        let digits = word.split_once('.').map_or(0, |(_, behind)| behind.len());
        let (value, half) = (word.parse::<f64>().ok()?, 0.5 * 0.1f64.powi(digits as i32) + 1e-9);
        Some((value - half, value + half))
    };
    let (balance, growth, turn) = (range(balance)?, range(growth)?, range(turn)?);
    let rounds = |way: f64, growth: f64| (way / growth).ceil().max(1.0);
    Some((rounds(turn.0 - balance.1, growth.1), rounds(turn.1 - balance.0, growth.0)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_figures_of_a_sentence_give_the_expected_round(seed: u64) {
        let dice = &mut Dice(seed);
        let settings = settings(dice);
        let mut world = world(dice, settings, 4);
        for _ in 0..80 {
            live_on(&mut world, dice, WILD);
        }
        world.tick();
        for job in world.state.jobs() {
            let forecast = why(&world.state, job.spec().id).expect("it is live");
            let Some(WaitReason::Saving { deficit, share, workers, .. }) = forecast.waits else { continue };
            let sentence = &forecast.sentence;
            let exactly = ((f64::from(workers) / 2.0 - deficit) / share).ceil().max(1.0);
            let Some(expected) = forecast.expected else {
                prop_assert!(share > 0.0 && exactly > FORECAST_ROUNDS_MAX, "{sentence}");
                prop_assert!(is_far_away(&forecast), "{sentence}");
                continue;
            };
            let within = (expected.0 - world.state.round().0) as f64;
            prop_assert!(sentence.ends_with(&format!("; expected in round {}", expected.0)), "{sentence}");
            if share <= 0.0 {
                prop_assert_eq!(within, 1.0);
                continue;
            }
            prop_assert_eq!(within, exactly);
            let read = rounds_from(sentence);
            prop_assert!(read.is_some_and(|(first, last)| first <= within && within <= last), "{sentence}: {read:?}, {within}");
        }
    }
}

/// Both types count, and half of the gang: 2 GPUs are saved up, by 1 in each round.
#[test]
fn a_gang_that_may_use_two_types_is_told_of_both() {
    let mut world = World::new(max_min(), &[("k80", 1, 4), ("v100", 1, 4)]);
    let other = world.tenant("other", 7.0, &[1.0, 1.0]);
    world.submit_many(other, 1, 16);
    let workload = world.tenant("a", 1.0, &[1.0, 1.0]);
    let gang = world.submit(workload, 4);
    world.tick();
    let forecast = why(&world.state, gang).expect("it is live");
    let share = match forecast.waits {
        Some(WaitReason::Saving { share, .. }) => share,
        other => panic!("{other:?}"),
    };
    assert!((share - 1.0).abs() < 1e-9, "{share}");
    assert_eq!(
        forecast.sentence,
        "its workload saves up for 4 GPUs: balance +0.00 GPU-rounds, +1.00 in each round, its turn comes near +2.00; expected in round 3"
    );
}

/// One part in a million of eight GPUs: its turn comes in half a million rounds, and nobody is told the number of that round.
#[test]
fn a_turn_that_is_far_away_has_no_round() {
    let mut world = World::new(max_min(), &[("k80", 1, 8)]);
    let other = world.tenant("other", 8e6, &[1.0]);
    world.submit_many(other, 1, 16);
    let workload = world.tenant("a", 1.0, &[1.0]);
    let job = world.submit(workload, 1);
    world.tick();
    let forecast = why(&world.state, job).expect("it is live");
    assert_eq!(forecast.expected, None);
    assert!(is_far_away(&forecast), "{}", forecast.sentence);
}

/// Who is next of each workload is asked when it will start, and watched until it does.
#[test]
fn expected_rounds_are_right_within_a_small_factor() {
    let (mut ratios, mut misses) = (Vec::new(), 0);
    for seed in 0..60 {
        let kind = Kind { gangs: &[1, 2, 4], stickiness: 1.0, min_run: 1, budget: false };
        let mut fixed = Fixed::new(seed, &kind);
        fixed.run(20);
        let state = &fixed.world.state;
        let next = state.workloads().iter().filter_map(|w| {
            w.classes.iter().filter_map(|c| c.waiting.first()).min().map(|&(_, _, id, _)| id)
        });
        let asked: Vec<(JobId, u64)> = next
            .filter_map(|id| Some((id, why(state, id)?.expected?.0.checked_sub(state.round().0)?)))
            .collect();
        let (begun, mut open) = (state.round().0, asked);
        for _ in 0..200 {
            fixed.round();
            let world = &fixed.world;
            open.retain(|&(job, expected)| {
                if world.runs(job) {
                    let waited = world.state.round().0 - begun;
                    ratios.push(waited as f64 / expected as f64);
                }
                !world.runs(job)
            });
        }
        misses += open.len();
    }
    ratios.sort_by(f64::total_cmp);
    let at = |part: f64| ratios[(part * (ratios.len() - 1) as f64) as usize];
    let spread = [at(0.1), at(0.5), at(0.9)];
    assert!(ratios.len() > 100 && misses * 20 < ratios.len(), "{} {misses}", ratios.len());
    assert!(spread[1] > 0.4 && spread[1] < 2.5 && spread[2] < 6.0, "{spread:?}");
}

fn max_min() -> Settings {
    Settings { mechanism: Mechanism::MaxMin, restart_part: 0.0, ..Settings::default() }
}

#[test]
fn reasons_say_what_a_job_waits_for() {
    let mut world = World::new(max_min(), &[("k80", 1, 4)]);
    let other = world.tenant("other", 3.0, &[1.0]);
    world.submit_many(other, 1, 8);
    let workload = world.tenant("a", 1.0, &[1.0]);
    let gang = world.submit(workload, 4);
    let behind = world.submit(workload, 4);
    let huge = world.submit(workload, 5);
    let none = world.tenant("none", 1.0, &[0.0]);
    let nowhere = world.submit(none, 1);
    world.tick();
    let said = |job: JobId| why(&world.state, job).map(|f| f.sentence).unwrap_or_default();
    let expected = [
        (
            gang,
            "its workload saves up for 4 GPUs: balance +0.00 GPU-rounds, +1.00 in each round, its turn comes near +2.00; expected in round 3",
        ),
        (behind, "job 9 of its workload goes first; expected in round 7"),
        (huge, "needs 5 GPUs at once; it can have 4 at most"),
        (nowhere, "runs on no gpu type of this cluster"),
    ];
    for (job, sentence) in expected {
        assert_eq!(said(job), sentence);
    }
}

/// A turn of a single job is 14 s / 0.03, or 7 min 47 s, and a round takes 5 minutes.
#[test]
fn who_waits_for_protected_jobs_is_told_how_long() {
    let mut world = World::new(
        Settings { mechanism: Mechanism::MaxMin, ..Settings::default() },
        &[("k80", 1, 2)],
    );
    let busy = world.tenant("busy", 1.0, &[1.0]);
    world.submit_many(busy, 1, 2);
    world.tick();
    let late = world.tenant("late", 1.0, &[1.0]);
    let (single, next) = (world.submit(late, 1), world.submit(late, 1));
    world.tick();
    let said = |world: &World, job| why(&world.state, job).map(|f| f.sentence).unwrap_or_default();
    assert_eq!(
        said(&world, single),
        "its workload is due 1 GPU of k80; the jobs there are protected for 2m46s more; expected in round 3"
    );
    assert_eq!(said(&world, next), "job 3 of its workload goes first; expected in round 4");
    world.tick();
    assert!(world.runs(single));
}

/// Its own turn is near, but that of the job before it is not.
#[test]
fn who_is_behind_another_is_not_expected_before_it() {
    let min_run = Span::from_seconds(3000.0);
    let settings = Settings { mechanism: Mechanism::MaxMin, min_run, ..Settings::default() };
    let mut world = World::new(settings, &[("k80", 1, 2)]);
    let [busy, late] = ["busy", "late"].map(|name| world.tenant(name, 1.0, &[1.0]));
    world.submit_many(busy, 1, 2);
    world.tick();
    let jobs = [world.submit(late, 1), world.submit(late, 1)];
    world.tick();
    let [first, next] = jobs.map(|job| why(&world.state, job).expect("it is live"));
    assert!(matches!(first.waits, Some(WaitReason::Protected { .. })), "{}", first.sentence);
    assert!(matches!(next.waits, Some(WaitReason::Behind { .. })), "{}", next.sentence);
    assert!(first.expected <= next.expected, "{}; {}", first.sentence, next.sentence);
}

#[test]
fn jobs_that_may_be_stopped_keep_their_gpus_from_those_who_are_owed_little_more() {
    let settings = Settings { stickiness: 4.0, ..max_min() };
    let mut world = World::new(settings, &[("k80", 1, 4)]);
    let [a, b] = ["a", "b"].map(|name| world.tenant(name, 1.0, &[1.0]));
    world.submit_many(a, 1, 4);
    world.submit(b, 1);
    world.tick();
    let more = world.submit(b, 1);
    let said = |world: &World| why(&world.state, more).map(|f| f.sentence).unwrap_or_default();
    let sticky = (0..10).any(|_| {
        world.tick();
        said(&world).starts_with("its workload is due 1 GPU of k80; the jobs there keep theirs until it is owed clearly more than they are; expected in round")
    });
    assert!(sticky, "{}", said(&world));
}

#[test]
fn tenants_are_told_what_they_have_and_why() {
    let mut world = World::new(max_min(), &[("k80", 1, 4), ("v100", 1, 4)]);
    let group = world.state.group("g", 1.0, None);
    let names = ["plain", "few", "capped", "grouped", "away", "nobody", "late"];
    let keys = names.map(|name| world.tenant(name, 1.0, &[1.0, 2.0]));
    let tenant = |t: usize| TenantKey(t);
    for (t, jobs) in [(0, 20), (1, 1), (2, 20), (3, 20), (4, 2)] {
        world.submit_many(keys[t], 1, jobs);
    }
    world.happen(EventKind::Limit { tenant: tenant(2), gpus: Some(1) });
    world.happen(EventKind::TenantGroup { tenant: tenant(3), group });
    world.happen(EventKind::Suspend { tenant: tenant(4), suspended: true });
    world.tick();
    world.submit(keys[6], 1);
    let say = |world: &World, t: usize| why_tenant(&world.state, tenant(t)).map(|f| f.sentence);
    let said = |t: usize| say(&world, t);
    let expected = [
        "is entitled to 2.00 of k80, 1.00 of v100, with weight 1.00 of 4.00; it holds 3 GPUs, 17 jobs waiting",
        "is entitled to 1.00 of v100, all that its jobs can use; it holds 1 GPU",
        "is entitled to 1.00 of v100, all that its limit allows; it holds 1 GPU, 19 jobs waiting",
        "is entitled to 2.00 of k80, 1.00 of v100, with weight 1.00 of 4.00; it holds 3 GPUs, 17 jobs waiting",
        "is suspended: 2 jobs held",
        "has no jobs",
        "has its first share in the next round; it holds no GPUs, 1 job waiting",
    ];
    for (t, expected) in expected.into_iter().enumerate() {
        assert_eq!(said(t).as_deref(), Some(expected), "{}", names[t]);
    }
    assert_eq!(why_tenant(&world.state, TenantKey(99)), None);
    world.happen(EventKind::Limit { tenant: tenant(2), gpus: Some(0) });
    world.ticks(2);
    let none = "has no share: its jobs need more GPUs at once than its limit of 0; it holds no GPUs, 20 jobs waiting";
    assert_eq!(say(&world, 2).as_deref(), Some(none));
}
