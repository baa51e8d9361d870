//! What Prometheus sees: counters that grow while the daemon works, and gauges that are read when it asks.
//!
//! Names begin with `oef_` and end with their unit. They are relied on by dashboards and alerts: add
//! freely, rename never.

mod gauges;
mod labels;

pub use gauges::{Gauges, GpuGauges, TenantGauges};

use gauges::GaugeFamilies;
use labels::{EndLabels, RequestLabels, StateName};
use oef_api::types::JobState;
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What a scraper is told about the form.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Counters and histograms of one daemon. Cheap to clone; every clone counts into the same.
#[derive(Clone, Debug)]
pub struct Metrics {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    registry: Registry,
    /// Setting the gauges and writing the text belong together: two scrapes must not mix.
    scrape: Mutex<()>,
    gauges: GaugeFamilies,
    submissions: Counter,
    ended: Family<EndLabels, Counter>,
    restarts: Counter,
    failures: Counter,
    wasted: Counter<f64, AtomicU64>,
    rounds: Counter,
    rounds_kept: Counter,
    queue_wait: Histogram,
    solve: Histogram,
    round: Histogram,
    commit: Histogram,
    requests: Family<RequestLabels, Histogram, fn() -> Histogram>,
    refused: Counter,
    streams: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        Metrics::new()
    }
}

impl Metrics {
    /// All of them, at zero.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("oef");
        let gauges = GaugeFamilies::register(&mut registry);
        let r = &mut registry;
        let build = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        r.register("build", "The version of the daemon", build);
        let inner = Inner {
            submissions: counter(r, "submissions", "Jobs that were submitted and are durable"),
            ended: family(r, "ended", "Jobs that ended, by how"),
            restarts: counter(r, "restarts", "Starts of a job after its first"),
            failures: counter(r, "failures", "Runs that ended with an error"),
            wasted: wasted(r),
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
            requests: requests(r),
            refused: counter(r, "http_refused", "Requests beyond the rate limit"),
            streams: streams(r),
            scrape: Mutex::new(()),
            gauges,
            registry,
        };
        Metrics { inner: Arc::new(inner) }
    }

    /// Jobs were submitted and are durable.
    pub fn submitted(&self, jobs: u64) {
        self.inner.submissions.inc_by(jobs);
    }

    /// A job was started for the first time, so long after its submission.
    pub fn first_start(&self, waited: Duration) {
        self.inner.queue_wait.observe(waited.as_secs_f64());
    }

    /// A job was started again.
    pub fn restarted(&self) {
        self.inner.restarts.inc();
    }

    /// A run ended with an error, whether it is tried again or not.
    pub fn failed(&self) {
        self.inner.failures.inc();
    }

    /// A job reached its last state.
    pub fn ended(&self, state: JobState) {
        self.inner.ended.get_or_create(&EndLabels { state: StateName(state) }).inc();
    }

    /// Work was lost: it was done after the last checkpoint of a run that is repeated.
    pub fn wasted(&self, work: Duration) {
        self.inner.wasted.inc_by(work.as_secs_f64());
    }

    /// Shares were computed.
    pub fn solve_took(&self, time: Duration) {
        self.inner.solve.observe(time.as_secs_f64());
    }

    /// A round was planned; `kept` where it used earlier shares.
    pub fn round_took(&self, time: Duration, kept: bool) {
        self.inner.rounds.inc();
        if kept {
            self.inner.rounds_kept.inc();
        }
        self.inner.round.observe(time.as_secs_f64());
    }

    /// A batch was written to the journal.
    pub fn commit_took(&self, time: Duration) {
        self.inner.commit.observe(time.as_secs_f64());
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
        let _one_at_a_time = self.inner.scrape.lock().unwrap_or_else(PoisonError::into_inner);
        self.inner.gauges.set(gauges);
        let mut text = String::with_capacity(16 * 1024);
        // Writing to a string cannot fail.
        let _ = text::encode(&mut text, &self.inner.registry);
        text
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

fn family(registry: &mut Registry, name: &str, help: &str) -> Family<EndLabels, Counter> {
    let family = Family::<EndLabels, Counter>::default();
    for state in JobState::ALL.into_iter().filter(|state| state.is_final()) {
        family.get_or_create(&EndLabels { state: StateName(state) });
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

fn streams(registry: &mut Registry) -> Gauge {
    let gauge = Gauge::default();
    registry.register("event_streams", "Event streams that are open", gauge.clone());
    gauge
}

#[cfg(test)]
mod tests;
