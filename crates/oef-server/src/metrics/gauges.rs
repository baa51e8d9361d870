//! How things stand: read from the world when somebody asks.

use crate::daemon::Gauges;
use crate::invariants::Invariant;
use oef_api::types::JobState;
use prometheus_client::encoding::EncodeMetric;
use prometheus_client::metrics::TypedMetric;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use std::fmt::Debug;
use std::sync::atomic::AtomicU64;

/// Tenants with series of their own. Each has a dozen series or more, and a Prometheus server pays for
/// every one: the tenants after these, by name, are counted together.
pub(super) const TENANTS_MAX: usize = 200;

/// The name under which the other tenants are counted.
pub(super) const OTHERS: &str = "(others)";

type Number = Gauge<f64, AtomicU64>;
type Labels<const N: usize> = [(&'static str, String); N];

/// Every gauge as it is now. It is made anew for each scrape: what is gone has no series.
pub(super) fn now(gauges: &Gauges) -> Registry {
    let mut registry = Registry::with_prefix("oef");
    let r = &mut registry;
    whole(r, "round_number", "The current round", gauges.round);
    whole(r, "journal_records", "The number of the last record", gauges.journal_seq);
    let count = |state| gauges.jobs.get(&state).copied().unwrap_or(0);
    let jobs = JobState::ALL.map(|state| ([("state", state.name().into())], count(state)));
    wholes(r, "jobs", "Jobs that are remembered, by state", jobs);
    let gpus = gauges.gpus.iter().flat_map(|of| {
        let counts = [("busy", of.used), ("idle", of.idle), ("down", of.down)];
        counts.map(|(state, n)| ([("type", of.gpu_type.clone()), ("state", state.into())], n))
    });
    wholes(r, "gpus", "GPUs by type, and whether they are used", gpus);
    readings(r, gauges);
    tenants(r, gauges);
    let help = "The smallest throughput of a tenant over that of an equal split";
    number(r, "sharing_incentive_ratio", help, gauges.sharing_incentive);
    let help = "The largest envy between two tenants";
    number(r, "worst_envy_ratio", help, gauges.worst_envy);
    let help = "Workloads with live jobs that have no share because their profile cannot be used";
    whole(r, "workloads_left_out", help, gauges.left_out);
    let help =
        "1 while the shares are not those of the mechanism, because they could not be computed";
    whole(r, "shares_failed", help, gauges.shares_failed.into());
    let help = "How far the shares can be from the optimum of their mechanism, relative to it; 1: not known";
    number(r, "solver_gap_ratio", help, Some(gauges.solver_gap));
    let broken = Invariant::IN_PRODUCTION.into_iter().map(|invariant| {
        ([("name", invariant.name().into())], u32::from(gauges.broken.contains(&invariant)))
    });
    let help =
        "1 where something does not hold that must hold in every state of the daemon, by its name";
    wholes(r, "invariant_broken", help, broken);
    registry
}

/// What GPUs do, where their driver tells.
fn readings(r: &mut Registry, gauges: &Gauges) {
    let of = |node: &str, gpu: u32| [("node", node.to_string()), ("gpu", gpu.to_string())];
    let known = || gauges.readings.iter().map(|gpu| (of(&gpu.node, gpu.index), gpu));
    let help = "The part of the last moment in which a GPU computed; only where its driver tells";
    let utilisation = known().filter_map(|(of, gpu)| Some((of, gpu.utilisation?)));
    numbers(r, "gpu_utilisation_ratio", help, utilisation);
    let used = known().filter_map(|(of, gpu)| Some((of, gpu.memory_used?)));
    wholes(r, "gpu_memory_used_bytes", "Memory of a GPU that is used", used);
    let total = known().filter_map(|(of, gpu)| Some((of, gpu.memory_total?)));
    wholes(r, "gpu_memory_total_bytes", "Memory that a GPU has", total);
    let help = "For how long a job has held a GPU without computing on it; 0 while it computes or nobody holds it";
    let idle = known().filter(|(_, gpu)| gpu.utilisation.is_some());
    let idle = idle.map(|(of, gpu)| (of, gpu.idle_s.unwrap_or(0.0)));
    numbers(r, "gpu_held_idle_seconds", help, idle);
}

fn tenants(r: &mut Registry, gauges: &Gauges) {
    let name = |i, name| if i < TENANTS_MAX { name } else { OTHERS };
    let all = || gauges.tenants.iter().enumerate().map(|(i, t)| (name(i, t.tenant.as_str()), t));
    let jobs = all().flat_map(|(name, t)| {
        let counts = [("queued", t.queued), ("running", t.running)];
        counts.map(|(state, n)| ([("tenant", name.into()), ("state", state.into())], n))
    });
    wholes(r, "tenant_jobs", "Live jobs by tenant and state", jobs);
    let of_type = |name: &str, gpu: &String| [("tenant", name.into()), ("type", gpu.clone())];
    let holds =
        all().flat_map(|(name, t)| t.holds.iter().map(move |(gpu, n)| (of_type(name, gpu), *n)));
    wholes(r, "grants", "GPUs that a tenant's jobs hold, by type", holds);
    let shares =
        all().flat_map(|(name, t)| t.share.iter().map(move |(gpu, x)| (of_type(name, gpu), *x)));
    numbers(r, "share_gpus", "GPUs that a tenant is entitled to, by type", shares);
    let help = "Balance of a tenant in GPU-rounds: + turns due, - used more than its turns";
    let balances = all().map(|(name, t)| ([("tenant", name.into())], t.deficit));
    numbers(r, "deficit_gpu_rounds", help, balances);
    // Factors of several tenants have no sum.
    let factors = gauges.tenants.iter().take(TENANTS_MAX);
    let factors = factors.map(|t| ([("tenant", t.tenant.clone())], t.past_factor));
    let help = "What a tenant's weight is multiplied by because of its past usage; 1 where that does not count";
    numbers(r, "past_usage_factor", help, factors);
}

fn whole(r: &mut Registry, name: &str, help: &str, value: u64) {
    let gauge: Gauge = Gauge::default();
    gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
    r.register(name, help, gauge);
}

/// Not known is not 0: no number at all.
fn number(r: &mut Registry, name: &str, help: &str, value: Option<f64>) {
    let gauge = Number::default();
    gauge.set(value.unwrap_or(f64::NAN));
    r.register(name, help, gauge);
}

fn wholes<const N: usize>(
    r: &mut Registry,
    name: &str,
    help: &str,
    rows: impl IntoIterator<Item = (Labels<N>, impl Into<u64>)>,
) {
    let add = |gauge: &Gauge, n: u64| gauge.inc_by(i64::try_from(n).unwrap_or(i64::MAX));
    family(r, name, help, rows.into_iter().map(|(of, n)| (of, n.into())), add);
}

fn numbers<const N: usize>(
    r: &mut Registry,
    name: &str,
    help: &str,
    rows: impl IntoIterator<Item = (Labels<N>, f64)>,
) {
    family(r, name, help, rows, |gauge: &Number, x| gauge.inc_by(x));
}

/// A gauge by labels. Rows with the same labels add up.
fn family<const N: usize, G, V, D>(
    r: &mut Registry,
    name: &str,
    help: &str,
    rows: impl IntoIterator<Item = (Labels<N>, V)>,
    add: impl Fn(&G, V) -> D,
) where
    G: Default + EncodeMetric + TypedMetric + Debug + Send + Sync + 'static,
{
    let family = Family::<Labels<N>, G>::default();
    for (labels, value) in rows {
        add(&family.get_or_create(&labels), value);
    }
    r.register(name, help, family);
}
