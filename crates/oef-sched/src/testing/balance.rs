//! What a tenant reads of its balance agrees with what it was promised and what it got.

use super::dice::Dice;
use super::scenario::{CALM, Turmoil, live_on, settings};
use super::world::World;
use crate::*;
use proptest::prelude::*;

const GANGS: Turmoil = Turmoil { gangs: &[1, 1, 2, 4], ..CALM };

/// What a tenant was promised and had in a life, in GPU-rounds.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    promised: f64,
    had: f64,
    /// What its workloads used beyond their shares, and fell short of them.
    beyond: f64,
    short: f64,
}

impl Sums {
    fn add(&mut self, workload: &Workload, rounds: f64) {
        let (share, used) = (workload.share_on(0), f64::from(workload.used_on(0)));
        self.promised += share * rounds;
        self.had += used * rounds;
        self.beyond += (used - share).max(0.0) * rounds;
        self.short += (share - used).max(0.0) * rounds;
    }
}

/// A life on one gpu type, where nothing is exchanged and nobody is paid for room; and the sums of every tenant.
fn life(seed: u64) -> (World, Vec<Sums>) {
    let dice = &mut Dice(seed);
    let settings = Settings { placement: PlacementRule::Packed, ..settings(dice) };
    let mut world = World::new(settings, &[("k80", 2, 4)]);
    let tenants = dice.between(2, 5) as usize;
    for t in 0..tenants {
        world.tenant(&format!("t{t}"), dice.one_of(&[1.0, 2.0]), &[1.0]);
    }
    let mut sums = vec![Sums::default(); tenants];
    for _ in 0..200 {
        let (began, workloads) = (world.now, world.state.workloads().to_vec());
        live_on(&mut world, dice, GANGS);
        let rounds = world.now.since(began).rounds(world.state.settings().round);
        workloads.iter().for_each(|w| sums[w.tenant.0].add(w, rounds));
    }
    (world, sums)
}

/// What follows a word in a text, up to the next blank, as a number.
fn number_after(text: &str, word: &str) -> Option<f64> {
    text.split_once(word)?.1.split_whitespace().next()?.parse().ok()
}

/// True: the tenant is told that it used more than its turns, although it got less than its share.
fn check(sentence: &str, of: &Sums, deficit: f64) -> Result<bool, TestCaseError> {
    let claims = |words: &[&str]| words.iter().any(|word| sentence.contains(word));
    if claims(&[concat!("ahead of", " its share"), "over its share"]) {
        prop_assert!(of.had >= of.promised, "{sentence}: {of:?}");
    }
    if claims(&["still to get", "under its share"]) {
        prop_assert!(of.had <= of.promised, "{sentence}: {of:?}");
    }
    let Some(balance) = number_after(sentence, "balance ") else { return Ok(false) };
    prop_assert!((balance - deficit).abs() < 0.006, "{sentence}: {deficit}");
    prop_assert!(balance <= of.short + 0.006 && -balance <= of.beyond + 0.006, "{sentence} {of:?}");
    Ok(balance < 0.0 && of.had < 0.97 * of.promised)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_balance_is_no_claim_about_what_was_delivered(seed: u64) {
        let (world, sums) = life(seed);
        for (t, of) in sums.iter().enumerate() {
            let forecast = why_tenant(&world.state, TenantKey(t)).expect("it is there");
            check(&forecast.sentence, of, forecast.deficit.iter().sum())?;
        }
    }
}

/// It is common that a tenant used more than its turns, as unused turns lapse, and got less than its share all the same.
#[test]
fn who_used_more_than_its_turns_may_have_got_less_than_its_share() {
    let mut both = 0;
    for seed in 0..60 {
        let (world, sums) = life(seed);
        for (t, of) in sums.iter().enumerate() {
            let forecast = why_tenant(&world.state, TenantKey(t)).expect("it is there");
            let is_both = check(&forecast.sentence, of, forecast.deficit.iter().sum());
            both += u32::from(is_both.unwrap_or_else(|error| panic!("{seed}: {error}")));
        }
    }
    assert!(both > 0, "the case that the words are for has not come up");
}

/// Whose jobs have all ended keeps its account, and is told nothing of it.
#[test]
fn what_counts_for_nothing_now_is_no_balance() {
    let mut world = World::new(Settings::default(), &[("k80", 1, 2)]);
    let [a, b] = ["a", "b"].map(|name| world.tenant(name, 1.0, &[1.0]));
    let jobs = [world.submit(a, 1), world.submit(a, 1)];
    world.tick();
    world.submit_many(b, 1, 2);
    world.tick();
    world.wait(Span::from_seconds(100.0));
    for job in jobs {
        world.finish(job);
    }
    let account = &world.state.workloads()[a.0];
    assert!(account.deficit_on(0) < -0.1, "{account:?}");
    assert_eq!(account.balance_on(0), 0.0);
    let forecast = why_tenant(&world.state, TenantKey(0)).expect("it is there");
    assert_eq!((forecast.deficit, forecast.sentence.as_str()), (vec![0.0], "has no jobs"));
}
