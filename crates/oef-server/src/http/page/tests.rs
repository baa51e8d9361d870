//! What the page shows, and that nothing on it is markup of others.

use super::*;
use jiff::Timestamp;
use oef_api::types::*;
use std::collections::BTreeMap;

const EVIL: &str = "<script>alert(1)</script>\"'&";

fn seen(name: &str) -> Seen {
    let at = Timestamp::UNIX_EPOCH;
    let gpu = |index| GpuRef { node: name.into(), index, gpu_type: name.into() };
    let job = |id, state| Job {
        id,
        name: name.into(),
        tenant: name.into(),
        workload: name.into(),
        state,
        reason: name.into(),
        workers: 2,
        gpus: if state == JobState::Running { vec![gpu(0), gpu(1)] } else { Vec::new() },
        priority: 0,
        submitted: at,
        started: None,
        ended: None,
        progress: Progress { steps: 12.0, ..Progress::default() },
        restarts: 0,
        failures: 0,
        ran_s: 3.0,
        labels: BTreeMap::new(),
        probe: None,
        spec: None,
        history: None,
        runs: None,
    };
    let property = |holds| Property { holds, worst: 0.25, witness: Some(name.into()) };
    let by_type = |x| BTreeMap::from([(name.to_string(), x)]);
    Seen {
        info: Info {
            name: "oef".into(),
            version: name.into(),
            role: Role::Viewer,
            tenant: None,
            round: 7,
            up_s: 1.0,
        },
        settings: Settings {
            mechanism: name.into(),
            round_s: 5.0,
            reference: None,
            min_run_s: 0.0,
            grace_s: 1.0,
            stickiness: 1.0,
            guard: "replace".into(),
        },
        cluster: Cluster {
            types: vec![GpuTypeStatus {
                gpu_type: name.into(),
                capacity: 3,
                idle: 1,
                price: Some(1.5),
            }],
            nodes: vec![
                Node {
                    name: name.into(),
                    gpu_type: name.into(),
                    health: NodeHealth::Up,
                    jobs: vec![Some(1), Some(1), None],
                },
                Node {
                    name: name.into(),
                    gpu_type: name.into(),
                    health: NodeHealth::Down,
                    jobs: vec![None],
                },
            ],
            reference: Some(name.into()),
        },
        tenants: Tenants {
            tenants: vec![Tenant {
                name: name.into(),
                weight: 2.0,
                effective_weight: None,
                group: None,
                limits: Limits::default(),
                suspended: true,
                user: None,
                created: at,
                queued: 1,
                running: 1,
                share: by_type(1.5),
                holds: BTreeMap::from([(name.into(), 2)]),
                deficit: by_type(-0.5),
            }],
            next: None,
        },
        workloads: Workloads { workloads: vec![workload(name)], next: None },
        fairness: Some(Fairness {
            round: 7,
            mechanism: name.into(),
            tenants: vec![TenantFairness {
                tenant: name.into(),
                weight: 2.0,
                promised: 4.0,
                delivered: 3.0,
                equal_split: 2.0,
                promised_total: 1.0,
                delivered_total: 1.0,
                history: Vec::new(),
                day: None,
            }],
            envy: Vec::new(),
            sharing_incentive: None,
            worst_envy: None,
        }),
        round: Some(Round {
            round: 7,
            began: at,
            length_s: 5.0,
            mechanism: name.into(),
            reference: Some(name.into()),
            total: 4.0,
            prices: by_type(1.0),
            shares: Vec::new(),
            grants: Vec::new(),
            placements: Vec::new(),
            shares_age: SharesAge {
                left_out: Vec::new(),
                kept: true,
                of_round: 6,
                solve_s: 0.01,
                trouble: Some(name.into()),
            },
            audit: Some(Audit {
                capacity: property(true),
                envy_free: property(false),
                sharing_incentive: property(true),
                pareto_efficient: property(false),
                adjacent: property(true),
            }),
            plan_s: 0.0,
        }),
        running: vec![job(1, JobState::Running)],
        queued: vec![job(2, JobState::Queued)],
        ended: vec![job(3, JobState::Failed)],
        more_running: false,
        more_queued: true,
    }
}

/// One that said too much, and whose figures on another type are a guess.
fn workload(name: &str) -> Workload {
    let since = Timestamp::UNIX_EPOCH;
    let mark = |provenance| TypeMark {
        provenance,
        since,
        spread: None,
        batches: None,
        cost_s: None,
        detail: None,
    };
    Workload {
        tenant: name.into(),
        name: name.into(),
        weight: 1.0,
        profile: Profile {
            throughput: BTreeMap::from([(name.to_string(), 3.0), ("other".into(), 2.0)]),
            provenance: Provenance::Measured,
            since,
            source: name.into(),
            marks: BTreeMap::from([(name.to_string(), mark(Provenance::Estimated))]),
            scaling: BTreeMap::new(),
        },
        history: Vec::new(),
        observed: BTreeMap::new(),
        guard: Some(GuardNote {
            sentences: vec![format!("{name} says that much")],
            mismatch: None,
            replaced: true,
            host_bound: true,
            compared: true,
        }),
        jobs: 5,
    }
}

#[test]
fn names_of_others_are_never_markup() {
    let page = seen(EVIL).page("nonce");
    assert!(!page.contains("<script"), "{page}");
    assert!(!page.contains("alert(1)</"), "{page}");
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;"));
    // With a harmless name the same page has the same tags: no name opens or closes one.
    let tags = |page: &str| page.matches('<').count();
    assert_eq!(tags(&page), tags(&seen("plain").page("nonce")));
    assert!(!page.contains(" style=") && !page.contains("http://") && !page.contains("https://"));
}

#[test]
fn what_stands_is_shown() {
    let page = seen("vision").page("n0");
    for words in [
        "2 of 3 GPUs in use",
        "1 jobs run, 1+ wait",
        "vision:0 has job 1 of vision",
        "vision:0 is down",
        "one more would be worth 1.5",
        "<em>suspended</em>",
        "1.5 vision",
        "promised 4, delivered 3",
        "-0.5",
        "✗ nobody would rather have another&#39;s share",
        "✓ nobody is worse off",
        "kept from round 6",
        "vision/vision</td><td class=\"n\">~1.5</td><td class=\"n\">5</td>",
        "<li class=\"word\">vision says that much</li>",
        "<style nonce=\"n0\">",
        "width=device-width",
    ] {
        let words = words.replace("&#39;", "'");
        assert!(page.contains(&words), "{words}\n{page}");
    }
}

#[test]
fn an_empty_daemon_has_a_page_too() {
    let full = seen("x");
    let empty = Seen {
        cluster: Cluster { types: Vec::new(), nodes: Vec::new(), reference: None },
        tenants: Tenants::default(),
        workloads: Workloads { workloads: Vec::new(), next: None },
        fairness: None,
        round: None,
        running: Vec::new(),
        queued: Vec::new(),
        ended: Vec::new(),
        ..full
    };
    let page = empty.page("n");
    assert!(page.contains("There are no GPUs.") && page.contains("There are none yet"), "{page}");
}
