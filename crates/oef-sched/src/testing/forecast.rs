//! Every waiting job knows what it waits for, and when its turn can be expected.

use super::dice::Dice;
use super::fairness::{Fixed, Kind};
use super::scenario::{WILD, live_on, settings, world};
use super::world::World;
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
            let waits = forecast.waits.expect("it waits for something");
            use WaitReason::{AtLimit, CannotRun, NoShare, NoneUp, TooLarge, TooLittleMemory, Urgent};
            let never = matches!(
                waits,
                AtLimit { .. } | CannotRun | NoneUp { .. } | TooLarge { .. } | NoShare | TooLittleMemory { .. } | Urgent { .. }
            );
            prop_assert_eq!(forecast.expected.is_none(), never, "{}", forecast.sentence);
            if let Some(round) = forecast.expected {
                prop_assert!(round > world.state.round(), "{}", forecast.sentence);
            }
        }
    }
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
            "its workload saves up for 4 GPUs: 1.00 of k80 in each round, balance +0.00 GPU-rounds; expected in round 3",
        ),
        (behind, "job 9 of its workload goes first; expected in round 7"),
        (huge, "needs 5 GPUs at once; it can have 4 at most"),
        (nowhere, "runs on no gpu type of this cluster"),
    ];
    for (job, sentence) in expected {
        assert_eq!(said(job), sentence);
    }
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
    let said = |t: usize| why_tenant(&world.state, tenant(t)).map(|f| f.sentence);
    let expected = [
        "is entitled to 2.00 of k80, 1.00 of v100, with weight 1.00 of 4.00; it holds 3, 17 jobs waiting",
        "is entitled to 1.00 of v100, all that its jobs can use; it holds 1",
        "is entitled to 1.00 of v100, all that its limit allows; it holds 1, 19 jobs waiting",
        "is entitled to 2.00 of k80, 1.00 of v100, with weight 1.00 of 4.00; it holds 3, 17 jobs waiting",
        "is suspended: 2 jobs held",
        "has no jobs",
        "has its first share in the next round; it holds 0, 1 job waiting",
    ];
    for (t, expected) in expected.into_iter().enumerate() {
        assert_eq!(said(t).as_deref(), Some(expected), "{}", names[t]);
    }
    assert_eq!(why_tenant(&world.state, TenantKey(99)), None);
}
