//! What Prometheus sees: counters that grow while the daemon works, and gauges that are read when it asks.
//!
//! Names begin with `oef_` and end with their unit. They are relied on by dashboards and alerts: add
//! freely, rename never.

mod gauges;
mod transfers;

use crate::daemon::{Gauges, Measure, Metrics, NoticeEnd};
use oef_api::types::JobState;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use transfers::TransferFigures;

/// What a scraper is told about the form.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

const NOTICES: &str =
    "Deliveries of notices by result: delivered, failed (one try) or dropped (given up)";

/// Counters by one label.
type ByName = Family<[(&'static str, &'static str); 1], Counter>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    route: String,
    method: String,
    status: u16,
}

/// Counters and histograms of one daemon. Cheap to clone; every clone counts into the same.
#[derive(Clone, Debug)]
pub struct Exporter {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    registry: Registry,
    submissions: Counter,
    ended: ByName,
    restarts: Counter,
    false_profiles: Counter,
    commits_failed: Counter,
    observations_refused: Counter,
    wasted: Counter<f64, AtomicU64>,
    transfers: TransferFigures,
    notices: ByName,
    rounds: Counter,
    rounds_kept: Counter,
    queue_wait: Histogram,
    solve: Histogram,
    round: Histogram,
    commit: Histogram,
    snapshot: Histogram,
    snapshot_bytes: Gauge,
    requests: Family<RequestLabels, Histogram, fn() -> Histogram>,
    refused: Counter,
    streams: Gauge,
}

impl Default for Exporter {
    fn default() -> Self {
        Exporter::new()
    }
}

impl Exporter {
    /// All of them, at zero.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("oef");
        let r = &mut registry;
        let build = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        r.register("build", "The version of the daemon", build);
        let ends = JobState::ALL.into_iter().filter(|state| state.is_final()).map(JobState::name);
        let inner = Inner {
            submissions: counter(r, "submissions", "Jobs that were submitted and are durable"),
            ended: by_name(r, "ended", "Jobs that ended, by how", "state", ends),
            false_profiles: counter(
                r,
                "false_profiles",
                "Profiles that were found not to be what jobs show",
            ),
            restarts: counter(r, "restarts", "Starts of a job after its first"),
            commits_failed: counter(
                r,
                "journal_failures",
                "Batches that could not be written to the journal",
            ),
            observations_refused: counter(
                r,
                "observations_refused",
                "What happened to running jobs and could not be taken: internal errors",
            ),
            wasted: wasted(r),
            transfers: TransferFigures::register(r),
            notices: by_name(r, "notices", NOTICES, "result", NoticeEnd::ALL.map(NoticeEnd::name)),
            rounds: counter(r, "rounds", "Rounds that were planned"),
            rounds_kept: counter(
                r,
                "rounds_kept",
                "Rounds that used earlier shares, because new ones were not ready",
            ),
            queue_wait: seconds(
                r,
                "queue_wait",
                "From a job's submission to its first start",
                long(),
            ),
            solve: seconds(r, "solve", "One computation of shares", short()),
            round: seconds(r, "round", "Planning one round, without its shares", short()),
            commit: seconds(r, "journal_commit", "Writing one batch to the journal", short()),
            snapshot: seconds(r, "snapshot", "Writing one snapshot", short()),
            snapshot_bytes: gauge(r, "snapshot_bytes", "The size of the last snapshot"),
            requests: requests(r),
            refused: counter(r, "http_refused", "Requests beyond the rate limit"),
            streams: gauge(r, "event_streams", "Event streams that are open"),
            registry,
        };
        Exporter { inner: Arc::new(inner) }
    }

    /// A request was answered. The route is the pattern, never the path: paths are without number.
    pub fn request(&self, route: &str, method: &str, status: u16, time: Duration) {
        let labels = RequestLabels { route: route.into(), method: method.into(), status };
        self.inner.requests.get_or_create(&labels).observe(time.as_secs_f64());
    }

    /// A request was refused for its rate.
    pub fn refused(&self) {
        self.inner.refused.inc();
    }

    /// So many event streams are open.
    pub fn streams(&self, open: usize) {
        self.inner.streams.set(i64::try_from(open).unwrap_or(i64::MAX));
    }

    /// Everything as text, with the gauges as they are now.
    pub fn render(&self, gauges: &Gauges) -> String {
        let mut text = String::with_capacity(16 * 1024);
        // Writing to a string cannot fail.
        let _ = text::encode_registry(&mut text, &gauges::now(gauges));
        let _ = text::encode(&mut text, &self.inner.registry);
        text
    }
}

impl Metrics for Exporter {
    fn measure(&self, measure: Measure) {
        let inner = &self.inner;
        match measure {
            Measure::Submitted(jobs) => _ = inner.submissions.inc_by(jobs as u64),
            Measure::Waited(time) => inner.queue_wait.observe(time.as_secs_f64()),
            Measure::Ended(state) => {
                inner.ended.get_or_create(&[("state", state.name())]).inc();
            }
            Measure::FalseProfile => _ = inner.false_profiles.inc(),
            Measure::Restarted => _ = inner.restarts.inc(),
            Measure::Wasted(work) => _ = inner.wasted.inc_by(work.as_secs_f64()),
            Measure::Transferred(transfer) => inner.transfers.count(&transfer),
            Measure::Notified(end) => {
                inner.notices.get_or_create(&[("result", end.name())]).inc();
            }
            Measure::Solved(time) => inner.solve.observe(time.as_secs_f64()),
            Measure::Round { took, kept } => {
                inner.rounds.inc();
                inner.rounds_kept.inc_by(u64::from(kept));
                inner.round.observe(took.as_secs_f64());
            }
            Measure::Committed { took, .. } => inner.commit.observe(took.as_secs_f64()),
            Measure::CommitFailed => _ = inner.commits_failed.inc(),
            Measure::ObservationRefused => _ = inner.observations_refused.inc(),
            Measure::Snapshot { took, bytes } => {
                inner.snapshot.observe(took.as_secs_f64());
                inner.snapshot_bytes.set(i64::try_from(bytes).unwrap_or(i64::MAX));
            }
        }
    }
}

/// From a quarter of a millisecond to about eight minutes.
fn short() -> Vec<f64> {
    exponential_buckets(0.00025, 4.0, 11).collect()
}

/// From a second to about twelve days.
fn long() -> Vec<f64> {
    exponential_buckets(1.0, 4.0, 11).collect()
}

fn counter(registry: &mut Registry, name: &str, help: &str) -> Counter {
    let counter = Counter::default();
    registry.register(name, help, counter.clone());
    counter
}

/// How often something happened, by a word. All words are there from the beginning, at zero.
fn by_name(
    registry: &mut Registry,
    name: &str,
    help: &str,
    label: &'static str,
    words: impl IntoIterator<Item = &'static str>,
) -> ByName {
    let family = ByName::default();
    for word in words {
        drop(family.get_or_create(&[(label, word)]));
    }
    registry.register(name, help, family.clone());
    family
}

fn seconds(registry: &mut Registry, name: &str, help: &str, buckets: Vec<f64>) -> Histogram {
    let histogram = Histogram::new(buckets);
    registry.register_with_unit(name, help, Unit::Seconds, histogram.clone());
    histogram
}

fn wasted(registry: &mut Registry) -> Counter<f64, AtomicU64> {
    let counter = Counter::default();
    let help = "Work done after a checkpoint and lost";
    registry.register_with_unit("wasted", help, Unit::Seconds, counter.clone());
    counter
}

fn requests(registry: &mut Registry) -> Family<RequestLabels, Histogram, fn() -> Histogram> {
    let make: fn() -> Histogram = || Histogram::new(exponential_buckets(0.00025, 4.0, 9));
    let family = Family::new_with_constructor(make);
    let help = "Requests by route, method and status";
    registry.register_with_unit("http_requests", help, Unit::Seconds, family.clone());
    family
}

fn gauge(registry: &mut Registry, name: &str, help: &str) -> Gauge {
    let gauge = Gauge::default();
    registry.register(name, help, gauge.clone());
    gauge
}

#[cfg(test)]
mod tests;
