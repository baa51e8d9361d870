//! Names, values and limits of what is shown.

use super::gauges::{OTHERS, TENANTS_MAX};
use super::*;
use std::collections::BTreeMap;

fn value(text: &str, series: &str) -> Option<f64> {
    let line =
        text.lines().find(|line| line.strip_prefix(series).is_some_and(|r| r.starts_with(' ')));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok())
}

#[test]
fn what_happened_is_counted() {
    let metrics = Metrics::new();
    metrics.submitted(3);
    metrics.first_start(Duration::from_secs(2));
    metrics.restarted();
    metrics.failed();
    metrics.ended(JobState::Finished);
    metrics.wasted(Duration::from_millis(1500));
    metrics.solve_took(Duration::from_millis(10));
    metrics.round_took(Duration::from_millis(1), false);
    metrics.clone().round_took(Duration::from_millis(1), true);
    metrics.commit_took(Duration::from_millis(2));
    metrics.request("/api/v1/jobs/{id}", "GET", 404, Duration::from_millis(1));
    metrics.refused();
    metrics.streams(2);
    let text = metrics.render(&Gauges::default());
    let expected = [
        ("oef_submissions_total", 3.0),
        ("oef_queue_wait_seconds_count", 1.0),
        ("oef_queue_wait_seconds_sum", 2.0),
        ("oef_restarts_total", 1.0),
        ("oef_failures_total", 1.0),
        ("oef_ended_total{state=\"finished\"}", 1.0),
        ("oef_ended_total{state=\"failed\"}", 0.0),
        ("oef_wasted_seconds_total", 1.5),
        ("oef_solve_seconds_count", 1.0),
        ("oef_rounds_total", 2.0),
        ("oef_rounds_kept_total", 1.0),
        ("oef_round_seconds_count", 2.0),
        ("oef_journal_commit_seconds_count", 1.0),
        ("oef_http_refused_total", 1.0),
        ("oef_event_streams", 2.0),
    ];
    for (series, count) in expected {
        assert_eq!(value(&text, series), Some(count), "{series}\n{text}");
    }
    let request = "oef_http_requests_seconds_count{route=\"/api/v1/jobs/{id}\",method=\"GET\",status=\"404\"}";
    assert_eq!(value(&text, request), Some(1.0), "{text}");
    let build = format!("oef_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
    assert_eq!(value(&text, &build), Some(1.0), "{text}");
    assert!(text.ends_with("# EOF\n"));
}

#[test]
fn gauges_are_those_of_now() {
    let metrics = Metrics::new();
    let tenant = TenantGauges {
        jobs: BTreeMap::from([(JobState::Running, 2)]),
        share: BTreeMap::from([("fast".into(), 1.5)]),
        grants: BTreeMap::from([("fast".into(), 2)]),
        deficit: -0.5,
        promised: 3.0,
        delivered: 2.5,
    };
    let mut gauges = Gauges {
        round: 7,
        jobs: BTreeMap::from([(JobState::Running, 2)]),
        gpus: BTreeMap::from([("fast".into(), GpuGauges { busy: 2, idle: 1, down: 4 })]),
        tenants: BTreeMap::from([("a\"b".into(), tenant)]),
        sharing_incentive: Some(1.25),
        worst_envy: None,
    };
    let text = metrics.render(&gauges);
    for (series, count) in [
        ("oef_round_number", 7.0),
        ("oef_jobs{state=\"running\"}", 2.0),
        ("oef_jobs{state=\"queued\"}", 0.0),
        ("oef_gpus{type=\"fast\",state=\"busy\"}", 2.0),
        ("oef_gpus{type=\"fast\",state=\"down\"}", 4.0),
        ("oef_tenant_jobs{tenant=\"a\\\"b\",state=\"running\"}", 2.0),
        ("oef_grants{tenant=\"a\\\"b\",type=\"fast\"}", 2.0),
        ("oef_share_gpus{tenant=\"a\\\"b\",type=\"fast\"}", 1.5),
        ("oef_deficit_gpu_rounds{tenant=\"a\\\"b\"}", -0.5),
        ("oef_promised_throughput{tenant=\"a\\\"b\"}", 3.0),
        ("oef_delivered_throughput{tenant=\"a\\\"b\"}", 2.5),
        ("oef_sharing_incentive_ratio", 1.25),
    ] {
        assert_eq!(value(&text, series), Some(count), "{series}\n{text}");
    }
    let unknown = value(&text, "oef_worst_envy_ratio");
    assert!(unknown.is_some_and(f64::is_nan), "what is not known is no number: {unknown:?}");
    gauges.tenants.clear();
    gauges.gpus.clear();
    gauges.sharing_incentive = None;
    let text = metrics.render(&gauges);
    assert!(!text.contains("fast") && text.contains("oef_sharing_incentive_ratio NaN"), "{text}");
}

#[test]
fn many_tenants_are_counted_together() {
    let metrics = Metrics::new();
    let one = TenantGauges {
        deficit: 1.0,
        grants: BTreeMap::from([("g".into(), 1)]),
        ..TenantGauges::default()
    };
    let tenants = (0..TENANTS_MAX + 5).map(|i| (format!("t{i:04}"), one.clone())).collect();
    let gauges = Gauges { tenants, ..Gauges::default() };
    // Twice: the sum must not grow from one scrape to the next.
    metrics.render(&gauges);
    let text = metrics.render(&gauges);
    assert_eq!(text.matches("oef_deficit_gpu_rounds{").count(), TENANTS_MAX + 1);
    let others = format!("oef_deficit_gpu_rounds{{tenant=\"{OTHERS}\"}}");
    assert_eq!(value(&text, &others), Some(5.0));
    let others = format!("oef_grants{{tenant=\"{OTHERS}\",type=\"g\"}}");
    assert_eq!(value(&text, &others), Some(5.0));
}
