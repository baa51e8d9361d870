//! Names, values and limits of what is shown.

use super::gauges::{OTHERS, TENANTS_MAX};
use super::*;
use crate::daemon::{GpuGauges, ReadingGauges, TenantGauges};
use crate::invariants::Invariant;
use oef_executor::checkpoints::{Transfer, TransferResult};
use oef_sched::Span;
use std::collections::BTreeMap;

fn value(text: &str, series: &str) -> Option<f64> {
    let line =
        text.lines().find(|line| line.strip_prefix(series).is_some_and(|r| r.starts_with(' ')));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok())
}

#[test]
fn what_happened_is_counted() {
    let metrics = Exporter::new();
    let ms = Duration::from_millis;
    for measure in [
        Measure::Submitted(3),
        Measure::Waited(ms(2000)),
        Measure::Restarted,
        Measure::FalseProfile,
        Measure::Ended(JobState::Finished),
        Measure::Wasted(ms(1500)),
        Measure::Transferred(Transfer {
            result: TransferResult::Brought,
            bytes: 5000,
            took: Span(1500),
        }),
        Measure::Transferred(Transfer {
            result: TransferResult::Failed,
            bytes: 0,
            took: Span(500),
        }),
        Measure::Notified(NoticeEnd::Delivered),
        Measure::Notified(NoticeEnd::Failed),
        Measure::Notified(NoticeEnd::Failed),
        Measure::Solved(ms(10)),
        Measure::Round { took: ms(1), kept: false },
        Measure::Round { took: ms(1), kept: true },
        Measure::Committed { took: ms(2), records: 5 },
        Measure::CommitFailed,
        Measure::ObservationRefused,
        Measure::Snapshot { took: ms(20), bytes: 1000 },
    ] {
        metrics.clone().measure(measure);
    }
    metrics.request("/api/v1/jobs/{id}", "GET", 404, Duration::from_millis(1));
    metrics.refused();
    metrics.streams(2);
    let text = metrics.render(&Gauges::default());
    let expected = [
        ("oef_submissions_total", 3.0),
        ("oef_queue_wait_seconds_count", 1.0),
        ("oef_queue_wait_seconds_sum", 2.0),
        ("oef_restarts_total", 1.0),
        ("oef_journal_failures_total", 1.0),
        ("oef_observations_refused_total", 1.0),
        ("oef_snapshot_seconds_count", 1.0),
        ("oef_snapshot_bytes", 1000.0),
        ("oef_ended_total{state=\"finished\"}", 1.0),
        ("oef_ended_total{state=\"failed\"}", 0.0),
        ("oef_wasted_seconds_total", 1.5),
        ("oef_checkpoint_transfers_total{result=\"brought\"}", 1.0),
        ("oef_checkpoint_transfers_total{result=\"failed\"}", 1.0),
        ("oef_checkpoint_transfers_total{result=\"stopped\"}", 0.0),
        ("oef_checkpoint_transfers_total{result=\"nothing\"}", 0.0),
        ("oef_checkpoint_transfer_bytes_total", 5000.0),
        ("oef_checkpoint_transfer_seconds_sum", 2.0),
        ("oef_checkpoint_transfer_seconds_count", 2.0),
        ("oef_notices_total{result=\"delivered\"}", 1.0),
        ("oef_notices_total{result=\"failed\"}", 2.0),
        ("oef_notices_total{result=\"dropped\"}", 0.0),
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
    let metrics = Exporter::new();
    let tenant = TenantGauges {
        tenant: "a\"b".into(),
        queued: 3,
        running: 2,
        share: BTreeMap::from([("fast".into(), 1.5)]),
        holds: BTreeMap::from([("fast".into(), 2)]),
        deficit: -0.5,
        past_factor: 1.25,
    };
    let mut gauges = Gauges {
        left_out: 2,
        shares_failed: true,
        solver_gap: 0.02,
        round: 7,
        jobs: BTreeMap::from([(JobState::Running, 2)]),
        gpus: vec![GpuGauges { gpu_type: "fast".into(), used: 2, idle: 1, down: 4 }],
        readings: vec![
            ReadingGauges {
                node: "box".into(),
                utilisation: Some(0.0),
                memory_used: Some(5 << 30),
                memory_total: Some(80 << 30),
                idle_s: Some(90.0),
                index: 1,
            },
            ReadingGauges { node: "silent".into(), ..ReadingGauges::default() },
        ],
        tenants: vec![tenant],
        sharing_incentive: Some(1.25),
        worst_envy: None,
        journal_seq: 42,
        broken: vec![Invariant::AccountsAddUp],
    };
    let text = metrics.render(&gauges);
    for (series, count) in [
        ("oef_round_number", 7.0),
        ("oef_jobs{state=\"running\"}", 2.0),
        ("oef_jobs{state=\"queued\"}", 0.0),
        ("oef_gpus{type=\"fast\",state=\"busy\"}", 2.0),
        ("oef_gpus{type=\"fast\",state=\"down\"}", 4.0),
        ("oef_gpu_utilisation_ratio{node=\"box\",gpu=\"1\"}", 0.0),
        ("oef_gpu_memory_used_bytes{node=\"box\",gpu=\"1\"}", 5_368_709_120.0),
        ("oef_gpu_memory_total_bytes{node=\"box\",gpu=\"1\"}", 85_899_345_920.0),
        ("oef_gpu_held_idle_seconds{node=\"box\",gpu=\"1\"}", 90.0),
        ("oef_tenant_jobs{tenant=\"a\\\"b\",state=\"running\"}", 2.0),
        ("oef_grants{tenant=\"a\\\"b\",type=\"fast\"}", 2.0),
        ("oef_share_gpus{tenant=\"a\\\"b\",type=\"fast\"}", 1.5),
        ("oef_deficit_gpu_rounds{tenant=\"a\\\"b\"}", -0.5),
        ("oef_past_usage_factor{tenant=\"a\\\"b\"}", 1.25),
        ("oef_tenant_jobs{tenant=\"a\\\"b\",state=\"queued\"}", 3.0),
        ("oef_journal_records", 42.0),
        ("oef_sharing_incentive_ratio", 1.25),
        ("oef_workloads_left_out", 2.0),
        ("oef_shares_failed", 1.0),
        ("oef_solver_gap_ratio", 0.02),
        ("oef_invariant_broken{name=\"accounts-add-up\"}", 1.0),
        ("oef_invariant_broken{name=\"one-lease-per-gpu\"}", 0.0),
    ] {
        assert_eq!(value(&text, series), Some(count), "{series}\n{text}");
    }
    assert!(!text.contains("silent"), "a GPU of which nothing is known has no series: {text}");
    let unknown = value(&text, "oef_worst_envy_ratio");
    assert!(unknown.is_some_and(f64::is_nan), "what is not known is not a number: {unknown:?}");
    gauges.tenants.clear();
    gauges.gpus.clear();
    gauges.sharing_incentive = None;
    let text = metrics.render(&gauges);
    assert!(!text.contains("fast") && text.contains("oef_sharing_incentive_ratio NaN"), "{text}");
}

#[test]
fn many_tenants_are_counted_together() {
    let metrics = Exporter::new();
    let one = TenantGauges {
        deficit: 1.0,
        holds: BTreeMap::from([("g".into(), 1)]),
        ..TenantGauges::default()
    };
    let named = |i| TenantGauges { tenant: format!("t{i:04}"), ..one.clone() };
    let tenants = (0..TENANTS_MAX + 5).map(named).collect();
    let gauges = Gauges { tenants, ..Gauges::default() };
    // Twice: the sum must not grow from one scrape to the next.
    metrics.render(&gauges);
    let text = metrics.render(&gauges);
    assert_eq!(text.matches("oef_deficit_gpu_rounds{").count(), TENANTS_MAX + 1);
    assert_eq!(text.matches("oef_past_usage_factor{").count(), TENANTS_MAX);
    let others = format!("oef_deficit_gpu_rounds{{tenant=\"{OTHERS}\"}}");
    assert_eq!(value(&text, &others), Some(5.0));
    let others = format!("oef_grants{{tenant=\"{OTHERS}\",type=\"g\"}}");
    assert_eq!(value(&text, &others), Some(5.0));
}
