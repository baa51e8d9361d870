use super::scene::{BEGIN_MS, ROUND_MS, job};
use super::{Scene, admin, of};
use crate::view::{ScenarioDraft, WhatIfDraft};
use jiff::Timestamp;
use oef_api::types::{ApiError, Scenario, WhatIf, WhatIfAnswer, WhatIfChange};
use oef_core::{Mechanism, Options};

fn ask(scene: &Scene, changes: Vec<WhatIfChange>) -> Result<WhatIfAnswer, ApiError> {
    let before = scene.world.to_snapshot().expect("JSON");
    let draft = WhatIfDraft::take(&scene.world, &admin(), &WhatIf { changes });
    let answer = draft.and_then(|draft| draft.finish(&Options::default()));
    assert_eq!(scene.world.to_snapshot().expect("JSON"), before, "nothing may change");
    answer
}

fn figures(answer: &WhatIfAnswer) -> Vec<(&str, f64, f64)> {
    answer.tenants.iter().map(|t| (t.tenant.as_str(), t.before, t.after)).collect()
}

fn near(found: &[(&str, f64, f64)], expected: &[(&str, f64, f64)]) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (f, e) in found.iter().zip(expected) {
        let close = (f.1 - e.1).abs() < 1e-6 && (f.2 - e.2).abs() < 1e-6;
        assert!(f.0 == e.0 && close, "{found:?} is not {expected:?}");
    }
}

#[test]
fn a_weight_moves_throughput_from_one_to_the_other() {
    let scene = Scene::two_tenants(Mechanism::Noncooperative);
    let change =
        WhatIfChange::Weight { tenant: "alice".into(), weight: "2".parse().expect("a weight") };
    let answer = ask(&scene, vec![change]).expect("a good question");
    // Equal throughput per weight: alice has twice what bob has.
    let (even, fast) = (15.0 / 7.0, &answer.tenants);
    assert!((fast[0].before - even).abs() < 1e-9 && (fast[1].before - even).abs() < 1e-9);
    assert!((fast[0].after - 2.0 * fast[1].after).abs() < 1e-9, "{fast:?}");
    assert!(fast[1].after < even);
    let expected = format!("alice would have {:.2} instead of 2.14 (+", fast[0].after);
    assert!(answer.sentences.iter().any(|s| s.starts_with(&expected)), "{answer:?}");
    assert!(answer.audit.is_some());
}

#[test]
fn without_a_tenant_the_other_has_everything() {
    let scene = Scene::two_tenants(Mechanism::Noncooperative);
    let change = WhatIfChange::RemoveTenant { tenant: "alice".into() };
    let answer = ask(&scene, vec![change]).expect("a good question");
    let even = 15.0 / 7.0;
    near(&figures(&answer), &[("alice", even, 0.0), ("bob", even, 6.0)]);
    assert!(
        (answer.total_before - 2.0 * even).abs() < 1e-9 && (answer.total_after - 6.0).abs() < 1e-9
    );
    let has = |text: &str| answer.sentences.iter().any(|s| s == text);
    assert!(has("alice would have nothing instead of 2.14"), "{answer:?}");
    assert!(has("bob would have 6.00 instead of 2.14 (+180 %)"), "{answer:?}");
}

#[test]
fn more_and_fewer_gpus_change_the_total() {
    let scene = Scene::two_tenants(Mechanism::Efficiency);
    let add = |gpu_type: &str, count| WhatIfChange::AddGpus { gpu_type: gpu_type.into(), count };
    let remove =
        |gpu_type: &str, count| WhatIfChange::RemoveGpus { gpu_type: gpu_type.into(), count };
    let more = ask(&scene, vec![add("fast", 1)]).expect("a good question");
    assert!(
        (more.total_before - 6.0).abs() < 1e-9 && (more.total_after - 11.0).abs() < 1e-9,
        "{more:?}"
    );
    let both = ask(&scene, vec![add("fast", 17), remove("fast", 17)]).expect("a good question");
    assert!((both.total_after - 6.0).abs() < 1e-9, "{both:?}");
    let fewer = ask(&scene, vec![remove("fast", 1)]).expect("a good question");
    assert!((fewer.total_after - 1.0).abs() < 1e-9, "{fewer:?}");
    let new = ask(&scene, vec![add("faster", 4)]).expect("a good question");
    assert!(
        new.sentences.iter().any(|s| s.contains("no workload with jobs has a profile on faster"))
    );
}

#[test]
fn another_mechanism_shows_what_it_would_do() {
    let scene = Scene::two_tenants(Mechanism::Noncooperative);
    let change = WhatIfChange::Mechanism { mechanism: "max-min".into() };
    let answer = ask(&scene, vec![change]).expect("a good question");
    let even = 15.0 / 7.0;
    near(&figures(&answer), &[("alice", even, 1.5), ("bob", even, 3.0)]);
    assert!(answer.audit.expect("shares").sharing_incentive.holds);
}

#[test]
fn a_submitted_job_is_told_its_start() {
    let submit = |spec| WhatIfChange::Submit { job: Box::new(spec) };
    let mut scene = Scene::new(Mechanism::Cooperative, &[("n1", "slow", 2)]);
    scene.tenant("alice", 1.0);
    scene.workload("alice", "train", &[("slow", 1.0)]);
    scene.submit("alice", "train", 1);
    scene.round();
    let idle = ask(&scene, vec![submit(job("alice", "train", 1))]).expect("a good question");
    let now = Timestamp::from_millisecond(BEGIN_MS as i64).ok();
    assert_eq!((idle.starts[0].round, idle.starts[0].at), (Some(1), now), "{idle:?}");
    scene.submit("alice", "train", 1);
    let full =
        ask(&scene, vec![submit(job("alice", "train", 1)), submit(job("alice", "train", 2))]);
    let full = full.expect("a good question");
    assert_eq!(full.starts.len(), 2);
    for start in &full.starts {
        let round = start.round.expect("it will have its turn");
        assert!(round >= 2, "{full:?}");
        let at = BEGIN_MS + (round - 1) * ROUND_MS;
        assert_eq!(start.at, Timestamp::from_millisecond(at as i64).ok(), "{full:?}");
    }
    let never = ask(&scene, vec![submit(job("alice", "train", 3))]).expect("a good question");
    assert_eq!((never.starts[0].round, never.starts[0].at), (None, None));
    assert!(never.starts[0].reason.contains("needs 3 GPUs"), "{never:?}");
    let stranger = ask(&scene, vec![submit(job("carol", "odd", 1))]).expect("a good question");
    assert!(stranger.sentences.iter().any(|s| s.contains("weight 1 is assumed")), "{stranger:?}");
    assert!(stranger.sentences.iter().any(|s| s.contains("its profile is estimated")));
    assert!(figures(&stranger).iter().any(|t| t.0 == "carol" && t.1 == 0.0 && t.2 > 0.0));
}

#[test]
fn what_makes_no_sense_is_refused_with_its_name() {
    let scene = Scene::two_tenants(Mechanism::Cooperative);
    let change = |text: &str| serde_json::from_str::<WhatIfChange>(text).expect("JSON");
    for (text, kind, named) in [
        (r#"{"change":"weight","tenant":"carol","weight":1}"#, "unknown_tenant", "carol"),
        (r#"{"change":"remove_tenant","tenant":"carol"}"#, "unknown_tenant", "carol"),
        (r#"{"change":"add_gpus","type":"slow","count":0}"#, "bad_request", "slow"),
        (r#"{"change":"add_gpus","type":"slow","count":4000000000}"#, "bad_request", "4000000000"),
        (r#"{"change":"remove_gpus","type":"odd","count":1}"#, "unknown_type", "odd"),
        (r#"{"change":"remove_gpus","type":"slow","count":2}"#, "bad_request", "slow"),
        (r#"{"change":"mechanism","mechanism":"magic"}"#, "bad_request", "magic"),
        (r#"{"change":"submit","job":{"command":["x"]}}"#, "bad_request", "tenant"),
        (r#"{"change":"submit","job":{"tenant":"alice","types":["odd"]}}"#, "unknown_type", "odd"),
        (r#"{"change":"submit","job":{"tenant":"alice","grace_s":-1}}"#, "bad_request", "grace"),
        (r#"{"change":"submit","job":{"tenant":"alice","workdir":"here"}}"#, "bad_request", "here"),
        (
            r#"{"change":"submit","job":{"tenant":"alice","types":["slow"],"probe":{"warmup":1001}}}"#,
            "bad_request",
            "warm-up",
        ),
    ] {
        let problem = ask(&scene, vec![change(text)]).expect_err(text);
        assert_eq!(problem.kind, kind, "{text}: {problem:?}");
        assert!(problem.detail.contains(named), "{text}: {problem:?}");
    }
    assert_eq!(
        ask(&scene, vec![]).expect_err("nothing is asked").field.as_deref(),
        Some("changes")
    );
    let many = vec![WhatIfChange::RemoveTenant { tenant: "alice".into() }; 101];
    assert!(ask(&scene, many).is_err());
}

#[test]
fn a_tenant_asks_about_jobs_of_its_own() {
    let scene = Scene::two_tenants(Mechanism::Cooperative);
    let submit = |tenant: Option<&str>| {
        let spec = oef_api::types::JobSubmit {
            tenant: tenant.and_then(|name| name.parse().ok()),
            ..job("", "train", 1)
        };
        WhatIf { changes: vec![WhatIfChange::Submit { job: Box::new(spec) }] }
    };
    assert!(WhatIfDraft::take(&scene.world, &of("alice"), &submit(None)).is_ok());
    let problem = WhatIfDraft::take(&scene.world, &of("alice"), &submit(Some("bob")));
    assert_eq!(problem.expect_err("bob's").status, 404);
}

/// What is another's or belongs to all is not a tenant's to change, and of others it is told nothing.
#[test]
fn a_tenant_tries_out_what_is_its_own_and_sees_itself() {
    let scene = Scene::two_tenants(Mechanism::Noncooperative);
    let change = |text: &str| serde_json::from_str::<WhatIfChange>(text).expect("JSON");
    for text in [
        r#"{"change":"weight","tenant":"bob","weight":2}"#,
        r#"{"change":"remove_tenant","tenant":"bob"}"#,
        r#"{"change":"add_gpus","type":"fast","count":99999}"#,
        r#"{"change":"remove_gpus","type":"slow","count":1}"#,
        r#"{"change":"mechanism","mechanism":"nash"}"#,
    ] {
        let asked = WhatIf { changes: vec![change(text)] };
        let problem = WhatIfDraft::take(&scene.world, &of("alice"), &asked).expect_err(text);
        assert_eq!(problem.status, 403, "{text}");
    }
    let asked = |text: &str| serde_json::from_str::<Scenario>(text).expect("JSON");
    for text in [
        r#"{"gpus":{"slow":1e6}}"#,
        r#"{"weights":{"alice":2,"bob":2}}"#,
        r#"{"removed":["bob"]}"#,
        r#"{"added":[{"name":"c","weight":1,"throughput":{"slow":1}}]}"#,
        r#"{"mechanism":"nash"}"#,
    ] {
        let problem = ScenarioDraft::take(&scene.world, &of("alice"), &asked(text));
        assert_eq!(problem.expect_err(text).status, 403, "{text}");
    }
    let own = change(r#"{"change":"weight","tenant":"alice","weight":2}"#);
    let draft = WhatIfDraft::take(&scene.world, &of("alice"), &WhatIf { changes: vec![own] });
    let answer = draft.and_then(|draft| draft.finish(&Options::default())).expect("her own");
    assert_eq!((answer.tenants.len(), &*answer.tenants[0].tenant), (1, "alice"));
    assert_eq!(answer.total_after, answer.tenants[0].after);
    assert!(answer.tenants[0].after > answer.tenants[0].before && answer.audit.is_none());
    assert!(!answer.sentences.concat().contains("bob"), "{answer:?}");
    assert!(!answer.sentences.concat().contains("all together"), "{answer:?}");
    let own = asked(r#"{"weights":{"alice":2},"certificate":true}"#);
    let draft = ScenarioDraft::take(&scene.world, &of("alice"), &own).expect("her own");
    let answer = draft.finish(&Options::default()).expect("an answer");
    assert_eq!((answer.tenants.len(), &*answer.tenants[0].tenant), (1, "alice"));
    let after = answer.tenants[0].after.as_ref().expect("she stays");
    assert!(answer.total_after == after.throughput && answer.audit_after.is_none());
    assert!(answer.types.iter().all(|gpu| gpu.price_after.is_none()), "{answer:?}");
}
