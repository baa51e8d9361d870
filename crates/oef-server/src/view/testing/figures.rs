use super::{Scene, of};
use crate::view::{FairnessDraft, RoundDraft, RoundFacts};
use crate::world::Change;
use oef_api::types::Fairness;
use oef_core::Mechanism;
use oef_sched::Promises;
use std::time::Duration;

fn fairness(scene: &Scene) -> Fairness {
    FairnessDraft::take(&scene.world, &of("alice")).expect("for all").finish()
}

#[test]
fn fairness_shows_what_the_mechanism_promises_and_what_it_does_not() {
    let fair = fairness(&Scene::two_tenants(Mechanism::Cooperative));
    assert!(fair.sharing_incentive.expect("shares") >= 1.0 - 1e-9);
    assert!(fair.worst_envy.expect("shares") <= 1e-9);
    assert_eq!(fair.envy.len(), 2);
    let even = fairness(&Scene::two_tenants(Mechanism::Noncooperative));
    let worst = even.sharing_incentive.expect("shares");
    assert!((worst - 5.0 / 7.0).abs() < 1e-9, "{worst}");
    let envy = even.envy.iter().find(|pair| pair.tenant == "bob").expect("a pair");
    assert_eq!(envy.other, "alice");
    assert!((even.worst_envy.expect("shares") - (envy.ratio - 1.0)).abs() < 1e-12);
    assert!(envy.ratio > 1.0, "{envy:?}");
}

/// The shares that are judged are those of the mechanism that they were computed with.
#[test]
fn fairness_names_the_mechanism_of_its_shares() {
    let mut scene = Scene::two_tenants(Mechanism::Noncooperative);
    let now = scene.world.sched.settings().clone();
    let sched = Box::new(oef_sched::Settings { mechanism: Mechanism::Cooperative, ..now });
    let settings = scene.world.settings.clone();
    scene.apply(Change::SettingsSet { sched, settings });
    let before = fairness(&scene);
    assert!(before.worst_envy.expect("shares") > 0.01);
    assert_eq!(before.mechanism, "noncooperative", "cooperative promises that nobody envies");
    scene.now += super::scene::ROUND_MS;
    scene.round();
    let after = fairness(&scene);
    assert!(after.worst_envy.expect("shares") <= 1e-9);
    assert_eq!(after.mechanism, "cooperative");
}

/// The certificate and the figures of fairness are about the same: what lies beyond guarantees.
#[test]
fn a_guarantee_is_no_reason_for_envy() {
    let mut scene = Scene::two_tenants(Mechanism::Nash);
    assert!(!fairness(&scene).beyond_guarantees);
    let guarantee = [("fast".to_string(), 1)].into();
    let promises = Promises { guarantee, ..Promises::default() };
    scene.apply(Change::TenantPromises { name: "alice".into(), promises });
    scene.round();
    let fair = fairness(&scene);
    let facts = RoundFacts { plan: Duration::ZERO };
    let audit = RoundDraft::take(&scene.world, facts).finish().round.audit.expect("shares");
    assert!(audit.beyond_guarantees && fair.beyond_guarantees);
    assert!(audit.envy_free.holds, "{audit:?}");
    assert!(fair.worst_envy.expect("shares") <= 1e-9, "{fair:?}");
    let least = fair.sharing_incentive.expect("shares");
    assert!((least - audit.sharing_incentive.worst).abs() < 1e-12, "{least} {audit:?}");
}

#[test]
fn promised_and_delivered_are_counted_over_time() {
    let mut scene = Scene::two_tenants(Mechanism::Noncooperative);
    for _ in 0..3 {
        scene.now += super::scene::ROUND_MS;
        scene.round();
    }
    let fair = fairness(&scene);
    assert_eq!(fair.round, 4);
    for tenant in &fair.tenants {
        assert!((tenant.promised - 15.0 / 7.0).abs() < 1e-9, "{tenant:?}");
        // Three rounds of a minute.
        assert!((tenant.promised_total - 180.0 * 15.0 / 7.0).abs() < 1e-6, "{tenant:?}");
        assert_eq!(tenant.history.iter().map(|p| p.round).collect::<Vec<_>>(), [1, 2, 3]);
        let mean: f64 = tenant.history.iter().map(|p| p.delivered).sum::<f64>() / 3.0;
        assert!((tenant.delivered_total - 180.0 * mean).abs() < 1e-6, "{tenant:?}");
    }
    let delivered: f64 = fair.tenants.iter().map(|t| t.delivered).sum();
    assert!(delivered > 0.0);
}

#[test]
fn the_last_day_is_compared_with_an_equal_split_and_with_the_others_gpus() {
    let mut scene = Scene::two_tenants(Mechanism::Noncooperative);
    assert!(fairness(&scene).tenants.iter().all(|t| t.day.is_none()), "no round is over");
    for _ in 0..30 {
        scene.now += super::scene::ROUND_MS;
        scene.round();
    }
    let fair = fairness(&scene);
    let parts = fair.tenants.iter().map(|tenant| {
        let day = tenant.day.as_ref().expect("it had jobs");
        assert!((day.hours - 0.5).abs() < 1e-9, "{day:?}");
        // The same of what the rounds delivered.
        let mean: f64 = tenant.history.iter().map(|p| p.delivered).sum::<f64>() / 30.0;
        let part = day.of_equal_split.expect("an equal split");
        assert!((part - mean / tenant.equal_split).abs() < 1e-9, "{day:?}");
        assert_eq!(day.envies.is_some(), day.envy.is_some_and(|ratio| ratio > 1.005), "{day:?}");
        let said = format!("(30m with jobs) it got {:.0} % of its equal split", 100.0 * part);
        assert!(day.sentence.contains(&said), "{day:?}");
        part
    });
    // Of two GPUs each always has one: one of them is above its equal split, the other below.
    let parts: Vec<f64> = parts.collect();
    assert!(parts.iter().any(|part| *part > 1.0 - 1e-9), "{parts:?}");
}

#[test]
fn a_tenant_without_a_share_yet_is_there_with_nothing() {
    let mut scene = Scene::two_tenants(Mechanism::Cooperative);
    scene.tenant("carol", 3.0);
    assert_eq!(fairness(&scene).tenants.len(), 2);
    scene.submit("carol", "new", 1);
    let fair = fairness(&scene);
    let carol = fair.tenants.iter().find(|t| t.tenant == "carol").expect("it has a job");
    assert_eq!((carol.weight, carol.promised, carol.equal_split), (3.0, 0.0, 0.0));
}

#[test]
fn of_many_tenants_only_the_worst_pairs_are_shown() {
    let mut scene = Scene::new(Mechanism::MaxMin, &[("n1", "slow", 100), ("n2", "fast", 100)]);
    for n in 0..70 {
        let name = format!("t{n:02}");
        scene.tenant(&name, 1.0);
        scene.workload(&name, "w", &[("slow", 1.0), ("fast", 2.0)]);
        scene.submit(&name, "w", 1);
        scene.submit(&name, "w", 2);
    }
    scene.round();
    let fair = fairness(&scene);
    assert_eq!((fair.tenants.len(), fair.envy.len()), (70, 70));
    assert!(fair.envy.iter().all(|pair| pair.tenant != pair.other && pair.ratio <= 1.0 + 1e-9));
}
