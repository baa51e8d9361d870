//! The shares of a round are the mechanism's answer to the problem of that round, and nothing else.

use super::dice::Dice;
use super::promises::promise;
use super::scenario::{Turmoil, WILD, live_on, profile, settings, world};
use super::world::{Answers, Solving, World};
use crate::answer::WarmStart;
use crate::*;
use oef_core::{Mechanism, Options, ProblemSpec, WorkloadId, solve};
use proptest::prelude::*;

/// Fewer faults, so that there is more to share.
const BUSY: Turmoil = Turmoil { faults: false, ..WILD };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn the_written_problem_of_every_round_gives_its_shares(
        seed: u64, calm: bool, aside: bool, promised: bool,
    ) {
        for mechanism in Mechanism::ALL {
            let dice = &mut Dice(seed);
            let settings = Settings { mechanism, ..settings(dice) };
            let mut world = world(dice, settings, 5);
            world.checked = false;
            world.solving = if aside { Solving::Aside } else { Solving::Inside };
            world.answers = Answers::AtOnce;
            let mut round = RoundId(0);
            for _ in 0..150 {
                if promised && dice.chance(0.1) {
                    promise(&mut world, dice);
                }
                live_on(&mut world, dice, if calm { BUSY } else { WILD });
                if world.state.round() != round {
                    round = world.state.round();
                    let result = is_the_answer(&world);
                    prop_assert!(result.is_ok(), "{mechanism}, {round:?}: {result:?}");
                }
            }
        }
    }
}

/// Solves what would be written of the round, without any memory, and compares.
fn is_the_answer(world: &World) -> Result<(), String> {
    let state = &world.state;
    if state.question().is_some() {
        return Err("the shares are not up to date".into());
    }
    let entitlement = state.entitlement();
    if let Some(trouble) = entitlement.trouble() {
        return Err(trouble.into());
    }
    let now = state.ask(WarmStart::default());
    let Some((problem, _)) = entitlement.answer() else {
        let nobody = now.problem().tenants.is_empty();
        return if nobody { Ok(()) } else { Err("somebody has no share".into()) };
    };
    if now.problem().validate().as_ref() != Ok(problem) {
        return Err(format!("{problem:?} is not the problem of this round"));
    }
    let written = ProblemSpec::from(problem).validate().map_err(|error| error.to_string())?;
    let mechanism = state.settings().mechanism;
    let cold = solve(&written, mechanism, &Options::default()).map_err(|e| e.to_string())?;
    for (l, key) in entitlement.workloads().iter().enumerate() {
        let used = &state.workloads()[key.0].share;
        let due = cold.shares.of_workload(WorkloadId(l));
        if due.iter().zip(used).any(|(a, b)| (a - b).abs() > 1e-9) {
            return Err(format!("{used:?} is used, {due:?} is the answer to {written:?}"));
        }
    }
    Ok(())
}

/// With few tenants `cooperative` is solved afresh for every round. Here are enough that most rounds start from the answer of
/// the one before; what they give must not depend on it.
#[test]
fn a_round_that_starts_from_the_last_answer_gives_the_same_shares() {
    let dice = &mut Dice(12);
    let settings = Settings { mechanism: Mechanism::Cooperative, ..Settings::default() };
    let mut world = World::new(settings, &[("k80", 6, 8), ("p100", 5, 8), ("v100", 4, 8)]);
    world.checked = false;
    let workloads: Vec<WorkloadKey> = (0..70)
        .map(|t| {
            let speeds = profile(dice, 3).into_iter().map(|speed| speed.max(0.5));
            world.tenant(&format!("t{t}"), 1.0, &speeds.collect::<Vec<f64>>())
        })
        .collect();
    workloads.iter().for_each(|&w| world.submit_many(w, 1, 3));
    let (mut from_last, rounds) = (0, 20);
    for _ in 0..rounds {
        let of = workloads[dice.below(workloads.len())];
        match world.any_running(dice).filter(|_| dice.chance(0.5)) {
            Some(job) => drop(world.finish(job)),
            None => drop(world.submit(of, 1)),
        }
        world.tick();
        assert_eq!(is_the_answer(&world), Ok(()));
        let (_, outcome) = world.state.entitlement().answer().expect("there is something to share");
        from_last += u32::from(outcome.solver.method.contains("the last"));
    }
    assert!(from_last >= rounds / 2, "{from_last} of {rounds} rounds started from the last answer");
}

#[test]
fn a_limit_and_the_jobs_are_part_of_the_problem() {
    let mut world = World::new(Settings::default(), &[("k80", 1, 4), ("v100", 1, 4)]);
    let a = world.tenant("a", 1.0, &[1.0, 2.0]);
    let second = world.workload(TenantKey(0), "second", 1.0, &[1.0, 3.0]);
    let b = world.tenant("b", 2.0, &[1.0, 4.0]);
    world.happen(EventKind::Limit { tenant: TenantKey(0), gpus: Some(3) });
    world.submit_many(a, 1, 2);
    world.submit_many(second, 1, 5);
    world.submit_many(b, 2, 50);
    world.tick();
    let (problem, _) = world.state.entitlement().answer().expect("there is something to share");
    let limits: Vec<Option<f64>> = problem.tenants().iter().map(|t| t.demand).collect();
    assert_eq!(limits, [Some(3.0), None]);
    let demands: Vec<Option<f64>> = problem.workloads().iter().map(|w| w.declared_demand).collect();
    // More than there are count as all.
    assert_eq!(demands, [Some(2.0), Some(5.0), Some(8.0)]);
    let total: f64 = problem.workloads()[..2].iter().filter_map(|w| w.demand).sum();
    assert_eq!((total, problem.tenants()[1].weight), (3.0, 2.0));
    assert_eq!(is_the_answer(&world), Ok(()));
}

#[test]
fn a_solve_that_fails_or_is_late_keeps_the_last_shares() {
    let mut world = World::new(Settings::default(), &[("k80", 1, 4), ("v100", 1, 4)]);
    world.solving = Solving::Late;
    let a = world.tenant("a", 1.0, &[1.0, 2.0]);
    let b = world.tenant("b", 1.0, &[1.0, 4.0]);
    let c = world.tenant("c", 2.0, &[1.0, 3.0]);
    world.submit_many(a, 1, 20);
    world.submit_many(b, 1, 20);
    world.tick();
    world.answer_question();
    let shares = |world: &World, w: WorkloadKey| world.state.workloads()[w.0].share.clone();
    let before = [a, b].map(|w| shares(&world, w));
    let trouble = |world: &mut World| {
        let question = world.state.question().expect("something has changed");
        let answer = question.keep_last("a test");
        world.happen(EventKind::Shares(Box::new(answer)));
        world.state.entitlement().trouble().map(String::from)
    };
    let said = Some("shares could not be computed; using last round's (a test)".to_string());
    // Nothing that they depend on has changed but a weight: they stay as they are.
    world.happen(EventKind::Weight { tenant: TenantKey(0), weight: 1.5 });
    assert_eq!(trouble(&mut world), said);
    assert_eq!([a, b].map(|w| shares(&world, w)), before);
    // Somebody came, and GPUs went.
    world.submit_many(c, 1, 20);
    world.happen(EventKind::NodeDown { node: "v100-0".into() });
    assert_eq!(trouble(&mut world), said);
    let given = [a, b, c].map(|w| shares(&world, w));
    assert!(given.iter().all(|of| of[0] > 0.0 && of[1] == 0.0), "{given:?}");
    assert!((given.iter().map(|of| of[0]).sum::<f64>() - 4.0).abs() < 1e-9, "{given:?}");
    // It is tried again, and again.
    assert!(world.state.question().is_some());
    world.asked = world.state.question();
    world.answer_question();
    assert_eq!(world.state.entitlement().trouble(), None);
    assert!(world.state.question().is_none());
}

/// A problem that is wrong as a whole has no answer, and nobody to leave out: everybody keeps what it has.
#[test]
fn without_any_answer_nobody_loses_its_share() {
    let mut world = World::new(Settings::default(), &[("k80", 1, 4), ("v100", 1, 4)]);
    let a = world.tenant("a", 1.0, &[1.0, 2.0]);
    let b = world.tenant("b", 1.0, &[1.0, 4.0]);
    world.submit_many(a, 1, 20);
    world.submit_many(b, 1, 20);
    world.tick();
    let shares = |world: &World| [a, b].map(|w| world.state.workloads()[w.0].share.clone());
    let before = shares(&world);
    world.happen(EventKind::Weight { tenant: TenantKey(0), weight: 1.5 });
    let mut question = world.state.question().expect("a weight has changed");
    question.spec.gpus.iter_mut().for_each(|gpu| gpu.count = 0.0);
    let answer = question.answer(&Options::default());
    assert!(answer.solved().is_none() && answer.trouble().is_some(), "{answer:?}");
    world.happen(EventKind::Shares(Box::new(answer)));
    assert_eq!(shares(&world), before);
    assert!(world.state.entitlement().trouble().is_some());
    assert!(world.state.question().is_some(), "it is tried again");
}
