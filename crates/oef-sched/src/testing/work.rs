//! Never more than there is, nothing idle that somebody could use, and nothing breaks: after every step of
//! random lives with arrivals, departures, faults, changes and answers that come late.

use super::dice::Dice;
use super::scenario::{CALM, WILD, live_on, settings, world};
use super::world::Answers;
use proptest::prelude::*;

fn live(seed: u64, steps: u32, answers: Answers, turmoil: super::scenario::Turmoil) {
    let dice = &mut Dice(seed);
    let settings = settings(dice);
    let tenants = dice.between(1, 6) as usize;
    let mut world = world(dice, settings, tenants);
    world.answers = answers;
    for _ in 0..steps {
        live_on(&mut world, dice, turmoil);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_invariant_breaks_in_a_wild_life(seed: u64) {
        live(seed, 250, Answers::AtOnce, WILD);
    }

    #[test]
    fn no_invariant_breaks_while_jobs_stop_late(seed: u64) {
        live(seed, 250, Answers::Late, WILD);
    }

    #[test]
    fn no_invariant_breaks_in_a_calm_life(seed: u64) {
        live(seed, 250, Answers::AtOnce, CALM);
    }
}

/// What a gang leaves of its tenant's limit while it waits for room was kept from the tenant's other jobs.
#[test]
fn a_gang_that_waits_for_room_lends_its_tenants_limit() {
    live(15_469_298_246_847_338_553, 250, Answers::AtOnce, WILD);
}
