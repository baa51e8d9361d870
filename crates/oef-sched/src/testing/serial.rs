//! What is written down is the same when it is read again, and goes on in the same way.
#![cfg(feature = "serde")]

use super::dice::Dice;
use super::scenario::{WILD, live_on, settings, world};
use super::world::{Answers, Solving};
use crate::*;
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

fn again<T: Serialize + DeserializeOwned>(value: &T) -> T {
    let text = serde_json::to_string(value).expect("it can be written");
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e} in {text}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn a_state_that_was_written_down_goes_on_as_the_original(seed: u64, late: bool) {
        let dice = &mut Dice(seed);
        let usage_half_life = late.then_some(Span(3_600_000));
        let settings = Settings { usage_half_life, ..settings(dice) };
        let mut world = world(dice, settings, 4);
        world.answers = Answers::Late;
        world.solving = if late { Solving::Late } else { Solving::Aside };
        for _ in 0..60 {
            live_on(&mut world, dice, WILD);
        }
        let mut copy: State = again(&world.state);
        prop_assert_eq!(format!("{copy:?}"), format!("{:?}", world.state));
        let (mut state, told) = (world.state.clone(), world.log.len());
        for _ in 0..40 {
            live_on(&mut world, dice, WILD);
        }
        for event in &world.log[told..] {
            let read: Event = again(event);
            prop_assert_eq!(&read, event);
            let (one, two) = (apply(&mut state, event.clone()), apply(&mut copy, read));
            if let Ok(actions) = &one {
                prop_assert_eq!(&again(actions), actions);
            }
            prop_assert_eq!(one, two);
        }
        prop_assert_eq!(format!("{copy:?}"), format!("{state:?}"));
        for job in state.jobs() {
            let forecast = why(&state, job.spec().id);
            prop_assert_eq!(&again(&forecast), &forecast);
        }
        prop_assert_eq!(&again(&state.placements()), &state.placements());
        prop_assert_eq!(&again(state.settings()), state.settings());
    }
}

#[test]
fn names_are_those_that_others_rely_on() {
    let spec = NodeSpec { name: "n".into(), gpu_type: "k80".into(), gpus: 2 };
    let events = [
        (EventKind::Tick, r#""tick""#),
        (EventKind::Cancelled { job: JobId(3) }, r#"{"cancelled":{"job":3}}"#),
        (EventKind::NodeUp(spec), r#"{"node_up":{"name":"n","gpu_type":"k80","gpus":2}}"#),
    ];
    for (event, text) in events {
        assert_eq!(serde_json::to_string(&event).unwrap(), text);
    }
    let settings = serde_json::from_str::<Settings>(r#"{"mechanism":"max-min"}"#).unwrap();
    // What an old version wrote keeps its meaning.
    let expected = Settings {
        mechanism: oef_core::Mechanism::MaxMin,
        gangs: GangRule::Blind,
        restart_part: 0.0,
        patience: 0,
        ..Settings::default()
    };
    assert_eq!(settings, expected);
}
