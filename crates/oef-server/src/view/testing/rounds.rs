use super::{Scene, admin, of};
use crate::store::{OpenMode, Store};
use crate::view::{self, RoundDraft, RoundFacts};
use crate::world::Change;
use oef_api::types::PageQuery;
use oef_api::types::{Round, SolverStatus};
use oef_core::{Mechanism, Options};
use std::time::Duration;

fn document(scene: &Scene) -> view::RoundDocument {
    RoundDraft::take(&scene.world, RoundFacts { plan: Duration::from_millis(3) }).finish()
}

#[test]
fn a_round_shows_shares_that_one_can_check_by_hand() {
    let scene = Scene::two_tenants(Mechanism::Noncooperative);
    let round = document(&scene).round;
    assert_eq!((round.round, round.mechanism.as_str()), (1, "noncooperative"));
    assert_eq!(
        (round.reference.as_deref(), round.length_s, round.plan_s),
        (Some("slow"), 60.0, 0.003)
    );
    assert_eq!(
        (round.shares_age.kept, round.shares_age.of_round, round.shares_age.solve_s),
        (false, 1, 0.25)
    );
    // <1,2;1,5> on one GPU each: both train at 15/7, where an equal split gives 1.5 and 3.
    for (share, equal) in round.shares.iter().zip([1.5, 3.0]) {
        assert!((share.throughput - 15.0 / 7.0).abs() < 1e-9, "{share:?}");
        assert!((share.equal_split - equal).abs() < 1e-9, "{share:?}");
    }
    assert!((round.total - 30.0 / 7.0).abs() < 1e-9);
    assert_eq!(round.grants.iter().map(|grant| grant.gpus).sum::<u32>(), 2);
    let placed: Vec<u64> = round.placements.iter().map(|placement| placement.job).collect();
    assert_eq!(placed, scene.placed());
    let solver = round.solver.expect("there is something to share");
    assert_eq!((solver.status, solver.canonical), (SolverStatus::Optimal, true));
    assert!(solver.gap.is_some_and(|gap| gap < 1e-6), "{solver:?}");
    assert_eq!(solver.sentence, format!("proven optimal ({})", solver.method));
    let audit = round.audit.expect("there is something to share");
    assert!(audit.demand.is_some_and(|demand| demand.holds));
    assert!(audit.capacity.holds && audit.pareto_efficient.holds);
    assert!(!audit.sharing_incentive.holds && !audit.envy_free.holds);
    assert!((audit.sharing_incentive.worst - 5.0 / 7.0).abs() < 1e-9);
    let witness = audit.sharing_incentive.witness.expect("it fails");
    assert_eq!(witness, "bob trains at 2.1429, and an equal split would give it 3");
    let witness = audit.envy_free.witness.expect("it fails");
    assert!(witness.starts_with("bob would rather have the share of alice ("), "{witness}");
}

/// The first answer counts even when it was stopped early; everybody is told.
#[test]
fn shares_that_are_not_proven_optimal_are_called_so() {
    let mut scene = Scene::new(Mechanism::Cooperative, &[("n1", "slow", 8), ("n2", "fast", 8)]);
    for t in 0..40 {
        let name = format!("t{t}");
        scene.tenant(&name, 1.0);
        scene.workload(&name, "train", &[("slow", 1.0), ("fast", 1.5 + 0.1 * f64::from(t))]);
        scene.submit(&name, "train", 1);
    }
    let question = scene.world.sched.question().expect("somebody came");
    let stopped = Options { stop: Some(&|| true), ..Options::default() };
    let answer = Box::new(question.answer(&stopped));
    scene.apply(Change::Shares { answer, solve_ms: 1 });
    scene.apply(Change::Round { kept: false });
    let round = document(&scene).round;
    let solver = round.solver.expect("there is something to share");
    assert_eq!((solver.status, round.shares_age.trouble), (SolverStatus::Feasible, None));
    assert!(solver.sentence.starts_with("not proven optimal: "), "{solver:?}");
    let said = format!("the shares are {}", solver.sentence);
    let details =
        |scene: &Scene| view::tenant_why(&scene.world, &of("t1"), "t1").expect("its own").details;
    assert!(details(&scene).contains(&said), "{:?}", details(&scene));
    // Solved to the end, there is nothing to say.
    scene.now += super::scene::ROUND_MS;
    scene.submit("t1", "train", 1);
    scene.round();
    assert!(!details(&scene).iter().any(|line| line.contains("proven")), "{:?}", details(&scene));
}

#[test]
fn rounds_that_older_versions_kept_are_read() {
    let scene = Scene::two_tenants(Mechanism::Cooperative);
    let mut old = serde_json::to_value(document(&scene).round).expect("JSON");
    old.as_object_mut().expect("fields").remove("solver").expect("it was there");
    let audit = old["audit"].as_object_mut().expect("fields");
    audit.remove("demand").expect("it was there");
    let read: Round = serde_json::from_value(old).expect("an older document");
    assert_eq!((read.solver, read.audit.map(|audit| audit.demand)), (None, Some(None)));
}

#[test]
fn a_round_in_a_line_says_what_holds() {
    let scene = Scene::two_tenants(Mechanism::Cooperative);
    let summary = document(&scene).summary;
    assert_eq!((summary.gpus, summary.gpus_used), (2, 2));
    assert_eq!((summary.running, summary.queued), (2, 4));
    for property in ["capacity", "envy-free", "sharing incentive"] {
        assert!(summary.holds.iter().any(|p| p == property), "{property}: {summary:?}");
    }
}

#[test]
fn before_anything_is_shared_a_round_is_empty() {
    let mut scene = Scene::new(Mechanism::Cooperative, &[("n1", "slow", 1)]);
    scene.round();
    let round = document(&scene).round;
    assert_eq!((round.shares.len(), round.total, round.audit), (0, 0.0, None));
}

#[test]
fn kept_rounds_come_back_whole_and_in_pages() {
    let name = format!("oef-view-rounds-{}", std::process::id());
    let dir = std::env::temp_dir().join(name);
    let store = Store::open(&dir, OpenMode::Create).expect("a new folder");
    let archive = store.archive();
    assert_eq!(view::stored_round(&archive, None).expect_err("none yet").status, 404);
    let mut scene = Scene::two_tenants(Mechanism::Cooperative);
    let mut documents = vec![document(&scene)];
    for _ in 0..4 {
        scene.now += super::scene::ROUND_MS;
        scene.round();
        documents.push(document(&scene));
    }
    for document in &documents {
        let body = serde_json::to_string(document).expect("JSON");
        archive.save_round(document.round.round, 0, &body).expect("room");
    }
    for document in &documents {
        let back = view::stored_round(&archive, Some(document.round.round)).expect("kept");
        assert_eq!(back, document.round);
    }
    assert_eq!(view::stored_round(&archive, None).expect("kept").round, 5);
    let problem = view::round_problem(&archive, &admin(), 3).expect("kept");
    assert_eq!(Some(problem), documents[2].problem);
    let refused = view::round_problem(&archive, &of("alice"), 3).expect_err("everybody's profiles");
    assert_eq!(refused.status, 403);
    assert_eq!(view::round_problem(&archive, &admin(), 6).expect_err("not yet").status, 404);
    assert_eq!(view::stored_round(&archive, Some(6)).expect_err("not yet").status, 404);
    let page = |after| PageQuery { limit: Some(2), after };
    let first = view::rounds(&archive, &page(None)).expect("kept");
    let second = view::rounds(&archive, &page(first.next.clone())).expect("kept");
    let third = view::rounds(&archive, &page(second.next.clone())).expect("kept");
    let numbers: Vec<u64> =
        [&first, &second, &third].iter().flat_map(|p| p.rounds.iter().map(|r| r.round)).collect();
    assert_eq!((numbers, third.next), (vec![5, 4, 3, 2, 1], None));
    archive.save_round(9, 0, "{}").expect("room");
    assert_eq!(view::stored_round(&archive, Some(9)).expect_err("not a round").status, 500);
    drop(store);
    std::fs::remove_dir_all(dir).expect("ours");
}

#[test]
fn a_rounds_problem_has_what_jobs_can_use() {
    let scene = Scene::two_tenants(Mechanism::Cooperative);
    let problem = document(&scene).problem.expect("there is something to share");
    assert_eq!(problem.reference, "slow");
    let counts: Vec<(&str, f64)> =
        problem.gpu.iter().map(|gpu| (gpu.gpu_type.as_str(), gpu.count)).collect();
    assert_eq!(counts, [("slow", 1.0), ("fast", 1.0)]);
    for (tenant, fast) in problem.tenant.iter().zip([2.0, 5.0]) {
        assert_eq!((tenant.weight, tenant.demand), (1.0, None));
        let [workload] = &tenant.workload[..] else { panic!("{tenant:?}") };
        // Three jobs want three GPUs, and there are two.
        assert_eq!((workload.demand, workload.throughput["fast"]), (Some(2.0), fast));
    }
}

#[test]
fn one_profile_that_cannot_be_used_is_told_and_hurts_nobody_else() {
    let mut scene = Scene::two_tenants(Mechanism::Cooperative);
    scene.tenant("eve", 5.0);
    scene.workload("eve", "odd", &[("slow", 1e-12), ("fast", 1.0)]);
    let job = scene.submit("eve", "odd", 1);
    scene.now += super::scene::ROUND_MS;
    scene.round();
    let round = document(&scene).round;
    let shares: Vec<&str> = round.shares.iter().map(|share| share.tenant.as_str()).collect();
    assert_eq!(shares, ["alice", "bob"]);
    assert!(round.total > 3.0 && round.audit.is_some_and(|audit| audit.envy_free.holds));
    let [left_out] = &round.shares_age.left_out[..] else { panic!("{:?}", round.shares_age) };
    assert_eq!((left_out.tenant.as_str(), left_out.workload.as_str()), ("eve", "odd"));
    assert!(left_out.reason.contains("cannot be used"), "{left_out:?}");
    let told =
        scene.world.events.iter().filter(|event| event.message.contains("eve/odd has no share"));
    assert_eq!(told.count(), 1);
    let why = view::why(&scene.world, &of("eve"), job).expect("its own");
    assert_eq!(why.kind, "left_out");
    assert!(why.sentence.contains("its profile cannot be used"), "{}", why.sentence);
    let why = view::tenant_why(&scene.world, &of("eve"), "eve").expect("its own");
    assert!(why.sentence.starts_with("eve has no share for workload odd"), "{}", why.sentence);
}

#[test]
fn a_tenant_sees_all_shares_and_only_its_own_placements() {
    let scene = Scene::two_tenants(Mechanism::Cooperative);
    let round = document(&scene).round;
    let seen = view::round_for(round.clone(), &of("alice"));
    let numbers = |round: &Round| -> Vec<_> {
        let entries = round.shares.iter();
        entries.map(|entry| (entry.tenant.clone(), entry.share.clone(), entry.weight)).collect()
    };
    assert_eq!(numbers(&seen), numbers(&round));
    // What others call their work is their own.
    for (shown, entry) in seen.shares.iter().zip(&round.shares) {
        let is_own = entry.tenant == "alice";
        assert_eq!(shown.workload == entry.workload, is_own, "{shown:?}");
    }
    assert!(seen.placements.iter().all(|placement| placement.tenant == "alice"));
    assert_eq!((round.placements.len(), seen.placements.len()), (2, 1));
    assert_eq!(view::round_for(round.clone(), &admin()), round);
}
