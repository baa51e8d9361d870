use super::{Scene, admin, of, viewer};
use crate::view;
use crate::world::{Change, TokenEntry};
use oef_api::parsed::Weight;
use oef_api::types::PageQuery;
use oef_api::types::{Limits, NodeHealth, Role};
use oef_core::Mechanism;

fn page(limit: u32, after: Option<String>) -> PageQuery {
    PageQuery { limit: Some(limit), after }
}

#[test]
fn a_tenant_shows_its_figures_and_they_add_up() {
    let scene = Scene::two_tenants(Mechanism::Cooperative);
    let all = view::tenants(&scene.world, &viewer(), &PageQuery::default()).expect("two").tenants;
    assert_eq!(all.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(), ["alice", "bob"]);
    for gpu in ["slow", "fast"] {
        assert_eq!(all.iter().map(|t| t.holds[gpu]).sum::<u32>(), 1, "{gpu}");
        let shared: f64 = all.iter().map(|t| t.share[gpu]).sum();
        assert!((shared - 1.0).abs() < 1e-9, "{gpu}: {shared}");
    }
    for tenant in &all {
        assert_eq!((tenant.queued, tenant.running), (2, 1));
        assert_eq!(tenant.effective_weight, Some(1.0));
        assert_eq!(
            view::tenant(&scene.world, &of(&tenant.name), &tenant.name).as_ref(),
            Ok(tenant)
        );
    }
    assert!(view::tenant(&scene.world, &of("alice"), "bob").is_err());
    let own = view::tenants(&scene.world, &of("bob"), &PageQuery::default()).expect("one").tenants;
    assert_eq!(own, all[1..]);
}

#[test]
fn lists_by_name_come_in_pages() {
    let mut scene = Scene::new(Mechanism::Cooperative, &[("n1", "slow", 1)]);
    for n in 0..10 {
        scene.tenant(&format!("t{n}"), 1.0);
        scene.workload(&format!("t{n}"), "b", &[("slow", 1.0)]);
        scene.workload(&format!("t{n}"), "a", &[("slow", 2.0)]);
    }
    let (mut tenants, mut after) = (Vec::new(), None);
    loop {
        let found = view::tenants(&scene.world, &admin(), &page(4, after)).expect("good");
        tenants.extend(found.tenants.into_iter().map(|t| t.name));
        after = found.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(tenants, (0..10).map(|n| format!("t{n}")).collect::<Vec<_>>());
    let (mut workloads, mut after) = (Vec::new(), None);
    loop {
        let found = view::workloads(&scene.world, &admin(), None, &page(3, after)).expect("good");
        workloads.extend(found.workloads.into_iter().map(|w| format!("{}/{}", w.tenant, w.name)));
        after = found.next;
        if after.is_none() {
            break;
        }
    }
    let expected = (0..10).flat_map(|n| [format!("t{n}/a"), format!("t{n}/b")]);
    assert_eq!(workloads, expected.collect::<Vec<_>>());
}

#[test]
fn a_workload_shows_its_profile_and_its_live_jobs() {
    let mut scene = Scene::two_tenants(Mechanism::Cooperative);
    scene.now += 10;
    scene.workload("alice", "train", &[("slow", 3.0)]);
    let found = view::workload(&scene.world, &of("alice"), "alice", "train").expect("there");
    assert_eq!((found.jobs, found.profile.throughput["slow"]), (3, 3.0));
    assert_eq!(found.history[0].throughput["fast"], 2.0);
    let problem = view::workload(&scene.world, &admin(), "alice", "none").expect_err("not there");
    assert_eq!(problem.kind, "unknown_workload");
    assert!(view::workload(&scene.world, &of("alice"), "bob", "train").is_err());
    let own = view::workloads(&scene.world, &of("bob"), None, &PageQuery::default()).expect("one");
    assert_eq!(own.workloads.iter().map(|w| w.tenant.as_str()).collect::<Vec<_>>(), ["bob"]);
    assert!(
        view::workloads(&scene.world, &of("bob"), Some("alice"), &PageQuery::default()).is_err()
    );
}

#[test]
fn groups_name_the_tenants_that_the_caller_may_see() {
    let mut scene = Scene::new(Mechanism::Cooperative, &[("n1", "slow", 1)]);
    let group = |name: &str, parent: Option<&str>| Change::GroupPut {
        name: name.parse().expect("a name"),
        weight: "2".parse().expect("a weight"),
        parent: parent.map(String::from),
    };
    scene.apply(group("science", None));
    scene.apply(group("physics", Some("science")));
    for name in ["alice", "bob"] {
        let (name, group) = (name.parse().expect("a name"), Some("physics".to_string()));
        let limits = Limits { gpus: Some(4), jobs: None };
        scene.apply(Change::TenantCreated { name, weight: Weight::default(), group, limits });
    }
    let all = view::groups(&scene.world, &admin(), &PageQuery::default()).expect("two").groups;
    assert_eq!(all[0].name, "physics");
    assert_eq!((all[0].parent.as_deref(), all[0].tenants.len()), (Some("science"), 2));
    let own = view::groups(&scene.world, &of("bob"), &PageQuery::default()).expect("two").groups;
    assert_eq!(own[0].tenants, ["bob"]);
    let tenant = view::tenant(&scene.world, &admin(), "bob").expect("there");
    assert_eq!((tenant.group.as_deref(), tenant.limits.gpus), (Some("physics"), Some(4)));
}

#[test]
fn the_cluster_shows_who_is_where_and_hides_the_jobs_of_others() {
    let mut scene = Scene::two_tenants(Mechanism::Cooperative);
    let placed = scene.placed();
    let seen = view::cluster(&scene.world, &admin(), &Default::default()).expect("there");
    let jobs: Vec<u64> = seen.nodes.iter().flat_map(|n| n.jobs.iter().flatten().copied()).collect();
    let sorted = |mut jobs: Vec<u64>| {
        jobs.sort();
        jobs
    };
    assert_eq!(sorted(jobs.clone()), sorted(placed.clone()));
    let own = view::cluster(&scene.world, &of("alice"), &Default::default()).expect("there");
    let shown: Vec<u64> = own.nodes.iter().flat_map(|n| n.jobs.iter().flatten().copied()).collect();
    let is_own = |id: &u64| *id <= 3;
    let hidden: Vec<u64> = jobs.iter().map(|id| if is_own(id) { *id } else { 0 }).collect();
    assert_eq!(shown, hidden);
    assert!(hidden.contains(&0) && hidden.iter().any(|id| *id > 0));
    assert!(seen.types.iter().all(|t| t.capacity == 1 && t.idle == 0 && t.price.is_some()));
    assert_eq!(seen.reference.as_deref(), Some("slow"));
    scene.apply(Change::NodeDown { node: "n2".into() });
    let seen = view::cluster(&scene.world, &admin(), &Default::default()).expect("there");
    assert_eq!((seen.nodes[1].health, seen.types[1].capacity), (NodeHealth::Down, 0));
}

#[test]
fn tokens_are_for_admins_and_their_hashes_for_nobody() {
    let mut scene = Scene::new(Mechanism::Cooperative, &[]);
    for id in 1..=5 {
        let token = TokenEntry {
            hash: format!("hash-{id}"),
            role: Role::Viewer,
            tenant: None,
            note: Some(format!("note {id}")),
            created_ms: scene.now,
            expires_ms: None,
        };
        scene.apply(Change::TokenCreated { id, token });
    }
    for caller in [viewer(), of("alice")] {
        let problem =
            view::tokens(&scene.world, &caller, &PageQuery::default()).expect_err("not theirs");
        assert_eq!(problem.status, 403);
    }
    let first = view::tokens(&scene.world, &admin(), &page(3, None)).expect("five");
    let rest = view::tokens(&scene.world, &admin(), &page(3, first.next.clone())).expect("five");
    let ids =
        |tokens: &oef_api::types::Tokens| tokens.tokens.iter().map(|t| t.id).collect::<Vec<_>>();
    assert_eq!((ids(&first), ids(&rest), rest.next.clone()), (vec![1, 2, 3], vec![4, 5], None));
    assert!(!serde_json::to_string(&(first, rest)).expect("JSON").contains("hash-"));
}

#[test]
fn why_a_tenant_has_what_it_has_names_its_worth_and_the_prices() {
    let scene = Scene::two_tenants(Mechanism::Noncooperative);
    let why = view::tenant_why(&scene.world, &of("bob"), "bob").expect("its own");
    assert!(why.sentence.starts_with("bob "), "{why:?}");
    let has = |text: &str| why.details.iter().any(|detail| detail.contains(text));
    assert!(
        has("trains at 2.1429, an equal split (what its jobs can use of it) at 3, in GPUs of slow"),
        "{why:?}"
    );
    assert!(has("price of a GPU, in throughput"), "{why:?}");
    assert!(view::tenant_why(&scene.world, &of("bob"), "alice").is_err());
}

#[test]
fn the_settings_are_those_that_count() {
    let scene = Scene::new(Mechanism::Nash, &[]);
    let settings = view::settings(&scene.world, &viewer()).expect("for all");
    assert_eq!((settings.mechanism.as_str(), settings.round_s), ("nash", 60.0));
    assert_eq!(settings.grace_s, scene.world.settings.grace_ms as f64 / 1000.0);
}

/// The sum of nothing is -0 in floating point.
#[test]
fn a_tenant_without_jobs_has_a_share_of_nothing() {
    let mut scene = Scene::two_tenants(Mechanism::Cooperative);
    scene.tenant("carol", 1.0);
    let carol = view::tenant(&scene.world, &admin(), "carol").expect("she is there");
    let figures: Vec<f64> = carol.share.into_values().chain(carol.deficit.into_values()).collect();
    assert!(!figures.is_empty() && figures.iter().all(|x| *x == 0.0 && x.is_sign_positive()));
}
