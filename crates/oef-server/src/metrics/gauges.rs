//! How things stand: read from the world when somebody asks.

use super::labels::{
    EndLabels, GpuLabels, GpuUse, StateName, TenantLabels, TenantStateLabels, TenantTypeLabels,
};
use oef_api::types::JobState;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use std::collections::BTreeMap;
use std::hash::Hash;
use std::sync::atomic::AtomicU64;

/// Tenants with series of their own. Each has a dozen series or more, and a Prometheus server pays for
/// every one: the tenants after these, by name, are counted together.
pub(super) const TENANTS_MAX: usize = 200;

/// The name under which the other tenants are counted.
pub(super) const OTHERS: &str = "(others)";

/// How the daemon stands at an instant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gauges {
    /// The current round.
    pub round: u64,
    /// Jobs that are remembered, by state.
    pub jobs: BTreeMap<JobState, u64>,
    /// By gpu type.
    pub gpus: BTreeMap<String, GpuGauges>,
    /// By tenant.
    pub tenants: BTreeMap<String, TenantGauges>,
    /// The smallest throughput over that of an equal split, in the last round's shares.
    pub sharing_incentive: Option<f64>,
    /// The largest envy in the last round's shares.
    pub worst_envy: Option<f64>,
}

/// How a gpu type is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GpuGauges {
    /// GPUs with a job.
    pub busy: u32,
    /// Healthy GPUs without one.
    pub idle: u32,
    /// GPUs of nodes that are down.
    pub down: u32,
}

/// How a tenant stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TenantGauges {
    /// Its live jobs by state.
    pub jobs: BTreeMap<JobState, u64>,
    /// GPUs that it is entitled to, by type.
    pub share: BTreeMap<String, f64>,
    /// GPUs that its jobs hold, by type.
    pub grants: BTreeMap<String, u32>,
    /// GPU-rounds that it is owed, all types together.
    pub deficit: f64,
    /// Normalised throughput of its share.
    pub promised: f64,
    /// Normalised throughput of what it holds.
    pub delivered: f64,
}

type Number = Gauge<f64, AtomicU64>;

#[derive(Debug)]
pub(super) struct GaugeFamilies {
    round: Gauge,
    jobs: Family<EndLabels, Gauge>,
    gpus: Family<GpuLabels, Gauge>,
    tenant_jobs: Family<TenantStateLabels, Gauge>,
    grants: Family<TenantTypeLabels, Gauge>,
    share: Family<TenantTypeLabels, Number>,
    deficit: Family<TenantLabels, Number>,
    promised: Family<TenantLabels, Number>,
    delivered: Family<TenantLabels, Number>,
    sharing_incentive: Number,
    worst_envy: Number,
}

impl GaugeFamilies {
    pub fn register(r: &mut Registry) -> Self {
        let round = Gauge::default();
        r.register("round_number", "The current round", round.clone());
        GaugeFamilies {
            round,
            jobs: family(r, "jobs", "Jobs that are remembered, by state"),
            gpus: family(r, "gpus", "GPUs by type, and whether they are used"),
            tenant_jobs: family(r, "tenant_jobs", "Live jobs by tenant and state"),
            grants: family(r, "grants", "GPUs that a tenant's jobs hold, by type"),
            share: family(r, "share_gpus", "GPUs that a tenant is entitled to, by type"),
            deficit: family(r, "deficit_gpu_rounds", "GPU-rounds that a tenant is owed"),
            promised: family(r, "promised_throughput", "Normalised throughput of a tenant's share"),
            delivered: family(
                r,
                "delivered_throughput",
                "Normalised throughput of the GPUs that a tenant holds",
            ),
            sharing_incentive: number(
                r,
                "sharing_incentive_ratio",
                "The smallest throughput of a tenant over that of an equal split",
            ),
            worst_envy: number(r, "worst_envy_ratio", "The largest envy between two tenants"),
        }
    }

    /// Everything anew: a tenant that is gone leaves nothing behind.
    pub fn set(&self, now: &Gauges) {
        self.round.set(i64::try_from(now.round).unwrap_or(i64::MAX));
        for state in JobState::ALL {
            let count = now.jobs.get(&state).copied().unwrap_or(0);
            let labels = EndLabels { state: StateName(state) };
            self.jobs.get_or_create(&labels).set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        self.gpus.clear();
        for (name, gpus) in &now.gpus {
            for (state, count) in
                [(GpuUse::Busy, gpus.busy), (GpuUse::Idle, gpus.idle), (GpuUse::Down, gpus.down)]
            {
                let labels = GpuLabels { r#type: name.clone(), state };
                self.gpus.get_or_create(&labels).set(i64::from(count));
            }
        }
        self.set_tenants(&now.tenants);
        // Not known is not 0: no number at all.
        self.sharing_incentive.set(now.sharing_incentive.unwrap_or(f64::NAN));
        self.worst_envy.set(now.worst_envy.unwrap_or(f64::NAN));
    }

    fn set_tenants(&self, tenants: &BTreeMap<String, TenantGauges>) {
        self.tenant_jobs.clear();
        self.grants.clear();
        self.share.clear();
        self.deficit.clear();
        self.promised.clear();
        self.delivered.clear();
        for (i, (name, tenant)) in tenants.iter().enumerate() {
            self.add_tenant(if i < TENANTS_MAX { name } else { OTHERS }, tenant);
        }
    }

    fn add_tenant(&self, name: &str, t: &TenantGauges) {
        let tenant = || name.to_string();
        let of_type =
            |r#type: &String| TenantTypeLabels { tenant: tenant(), r#type: r#type.clone() };
        for (&state, &count) in &t.jobs {
            let labels = TenantStateLabels { tenant: tenant(), state: StateName(state) };
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            self.tenant_jobs.get_or_create(&labels).inc_by(count);
        }
        for (r#type, &gpus) in &t.grants {
            self.grants.get_or_create(&of_type(r#type)).inc_by(i64::from(gpus));
        }
        for (r#type, &gpus) in &t.share {
            self.share.get_or_create(&of_type(r#type)).inc_by(gpus);
        }
        let labels = TenantLabels { tenant: tenant() };
        self.deficit.get_or_create(&labels).inc_by(t.deficit);
        self.promised.get_or_create(&labels).inc_by(t.promised);
        self.delivered.get_or_create(&labels).inc_by(t.delivered);
    }
}

fn number(registry: &mut Registry, name: &str, help: &str) -> Number {
    let number = Number::default();
    registry.register(name, help, number.clone());
    number
}

fn family<S, G>(registry: &mut Registry, name: &str, help: &str) -> Family<S, G>
where
    S: Clone + Eq + Hash + EncodeLabelSet + std::fmt::Debug + Send + Sync + 'static,
    G: Default
        + prometheus_client::encoding::EncodeMetric
        + prometheus_client::metrics::TypedMetric,
    G: std::fmt::Debug + Send + Sync + 'static,
{
    let family = Family::<S, G>::default();
    registry.register(name, help, family.clone());
    family
}
