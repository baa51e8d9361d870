//! Shares that are computed aside: in time they are those of a round that computes its own, late ones break
//! nothing, and a replay of the events solves nothing.

use super::dice::Dice;
use super::scenario::{WILD, live_on, settings, world};
use super::world::{Answers, Solving, World};
use crate::*;
use oef_core::{Mechanism, Options};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn shares_that_come_in_time_give_the_plan_of_a_round_that_computes_its_own(seed: u64) {
        let dice = &mut Dice(seed);
        let settings = settings(dice);
        let mut world = world(dice, settings, 4);
        world.solving = Solving::Aside;
        let mut inside = world.state.clone();
        let mut told = 0;
        for _ in 0..60 {
            live_on(&mut world, dice, WILD);
            for event in &world.log[told..] {
                let kind = match &event.kind {
                    EventKind::Shares(_) | EventKind::Planned(_) => continue,
                    other => other.clone(),
                };
                if kind == EventKind::Tick {
                    refresh_shares(&mut inside, event.at);
                }
                let _ = step(&mut inside, Event { at: event.at, kind });
            }
            told = world.log.len();
            prop_assert_eq!(inside.placements(), world.state.placements());
            prop_assert_eq!(format!("{inside:?}"), format!("{:?}", world.state));
        }
    }

    #[test]
    fn late_answers_keep_every_invariant_and_a_replay_solves_and_decides_nothing(seed: u64, late: bool) {
        let dice = &mut Dice(seed);
        let settings = settings(dice);
        let mut world = world(dice, settings, 4);
        world.solving = Solving::Late;
        world.answers = if late { Answers::Late } else { Answers::AtOnce };
        let mut again = world.state.clone();
        for _ in 0..100 {
            // Every step is checked by the world.
            live_on(&mut world, dice, WILD);
        }
        for event in &world.log {
            let _ = apply(&mut again, event.clone());
        }
        prop_assert_eq!(format!("{:?}", world.state), format!("{again:?}"));
    }
}

fn two(solving: Solving) -> (World, WorkloadKey, WorkloadKey) {
    let settings = Settings { mechanism: Mechanism::MaxMin, ..Settings::default() };
    let mut world = World::new(settings, &[("k80", 1, 4)]);
    world.solving = solving;
    let a = world.tenant("a", 1.0, &[1.0]);
    let b = world.tenant("b", 1.0, &[1.0]);
    (world, a, b)
}

#[test]
fn there_is_no_question_while_the_shares_are_up_to_date() {
    let (mut world, a, b) = two(Solving::Aside);
    assert!(world.state.question().is_none());
    world.submit_many(a, 1, 6);
    assert!(world.state.question().is_some());
    world.tick();
    assert!(world.state.question().is_none());
    // A demand that no share touches changes no share.
    world.submit(a, 1);
    assert!(world.state.question().is_none());
    world.submit_many(b, 1, 6);
    assert_eq!(world.state.question().map(|q| q.tenants().len()), Some(2));
}

#[test]
fn an_answer_that_the_state_has_moved_on_from_counts_until_the_next() {
    let (mut world, a, b) = two(Solving::Late);
    world.submit_many(a, 1, 6);
    world.tick();
    let late = world.submit(b, 1);
    world.submit_many(b, 1, 5);
    assert_eq!(why(&world.state, late).and_then(|f| f.waits), Some(WaitReason::NextRound));
    world.answer_question();
    let shares = |world: &World| [a, b].map(|w| world.state.workloads()[w.0].share_on(0));
    assert_eq!(shares(&world), [4.0, 0.0]);
    assert!(world.state.question().is_some(), "somebody came since");
    world.tick();
    world.happen(EventKind::Weight { tenant: TenantKey(1), weight: 3.0 });
    world.answer_question();
    assert_eq!(shares(&world), [2.0, 2.0]);
    assert!(world.state.question().is_some(), "a weight changed since");
    world.tick();
    world.answer_question();
    assert_eq!(shares(&world), [1.0, 3.0]);
    assert!(world.state.question().is_none());
}

#[test]
fn an_answer_for_another_cluster_is_refused() {
    let (mut world, a, b) = two(Solving::Aside);
    world.submit_many(a, 1, 6);
    world.submit_many(b, 1, 6);
    let answer = world.state.question().map(|q| q.answer(&Options::default()));
    let answer = answer.expect("there was a question");
    // One that has not come so far, and one without these tenants.
    for mut other in [two(Solving::Aside).0, World::new(Settings::default(), &[])] {
        let actions = other.happen(EventKind::Shares(Box::new(answer.clone())));
        assert!(matches!(other.refused, Some(Refusal::BadValue(_))), "{actions:?}");
    }
}

#[test]
fn a_question_can_be_handed_to_another_thread_and_cut_short() {
    fn handed<T: Clone + Send + 'static>(value: T) -> T {
        value
    }
    let (mut world, a, b) = two(Solving::Aside);
    world.state.set_settings(Settings::default());
    world.submit_many(a, 1, 6);
    world.submit_many(b, 1, 6);
    let question = handed(world.state.question().expect("nothing was answered yet"));
    let answer = handed(question.answer(&Options { stop: Some(&|| true), ..Options::default() }));
    assert!(answer.solved().is_some(), "{:?}", answer.trouble());
    world.happen(EventKind::Shares(Box::new(answer)));
    let given: f64 = world.state.workloads().iter().map(|w| w.share_on(0)).sum();
    assert!((given - 4.0).abs() < 1e-6, "{given}");
}

#[test]
fn a_solve_that_is_stopped_far_from_the_optimum_keeps_the_last_shares_and_says_so() {
    let settings = Settings { mechanism: Mechanism::Cooperative, ..Settings::default() };
    let mut world = World::new(settings, &[("k80", 1, 4), ("v100", 1, 4)]);
    let (a, b) = (world.tenant("a", 1.0, &[1.0, 2.0]), world.tenant("b", 1.0, &[1.0, 9.0]));
    world.submit_many(a, 1, 8);
    world.submit_many(b, 1, 8);
    world.tick();
    let shares = |state: &State| [a, b].map(|w| state.workloads()[w.0].share.clone());
    let last = shares(&world.state);
    world.happen(EventKind::Weight { tenant: TenantKey(0), weight: 3.0 });
    let question = world.state.question().expect("a weight has changed");
    let answer = question.answer(&Options { stop: Some(&|| true), ..Options::default() });
    let trouble = answer.trouble().unwrap_or_default().to_string();
    assert!(trouble.contains("using last round's (stopped"), "{trouble}");
    world.happen(EventKind::Shares(Box::new(answer)));
    for (had, has) in last.iter().flatten().zip(shares(&world.state).iter().flatten()) {
        assert!((had - has).abs() < 1e-9, "{last:?} {:?}", shares(&world.state));
    }
}
