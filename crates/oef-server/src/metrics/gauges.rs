//! How things stand: read from the world when somebody asks.

use super::labels::{
    EndLabels, GpuLabels, InvariantLabels, NodeGpuLabels, TenantLabels, TenantStateLabels,
    TenantTypeLabels,
};
use crate::daemon::{Gauges, ReadingGauges, TenantGauges};
use crate::invariants::Invariant;
use oef_api::types::JobState;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use std::hash::Hash;
use std::sync::atomic::AtomicU64;

/// Tenants with series of their own. Each has a dozen series or more, and a Prometheus server pays for
/// every one: the tenants after these, by name, are counted together.
pub(super) const TENANTS_MAX: usize = 200;

/// The name under which the other tenants are counted.
pub(super) const OTHERS: &str = "(others)";

type Number = Gauge<f64, AtomicU64>;

#[derive(Debug)]
pub(super) struct GaugeFamilies {
    round: Gauge,
    journal: Gauge,
    jobs: Family<EndLabels, Gauge>,
    gpus: Family<GpuLabels, Gauge>,
    utilisation: Family<NodeGpuLabels, Number>,
    memory_used: Family<NodeGpuLabels, Gauge>,
    memory_total: Family<NodeGpuLabels, Gauge>,
    held_idle: Family<NodeGpuLabels, Number>,
    tenant_jobs: Family<TenantStateLabels, Gauge>,
    grants: Family<TenantTypeLabels, Gauge>,
    share: Family<TenantTypeLabels, Number>,
    deficit: Family<TenantLabels, Number>,
    past_factor: Family<TenantLabels, Number>,
    sharing_incentive: Number,
    worst_envy: Number,
    left_out: Gauge,
    shares_failed: Gauge,
    broken: Family<InvariantLabels, Gauge>,
}

impl GaugeFamilies {
    pub fn register(r: &mut Registry) -> Self {
        let round = Gauge::default();
        r.register("round_number", "The current round", round.clone());
        let journal = Gauge::default();
        r.register("journal_records", "The number of the last record", journal.clone());
        GaugeFamilies {
            round,
            journal,
            jobs: family(r, "jobs", "Jobs that are remembered, by state"),
            gpus: family(r, "gpus", "GPUs by type, and whether they are used"),
            utilisation: family(
                r,
                "gpu_utilisation_ratio",
                "The part of the last moment in which a GPU computed; only where its driver tells",
            ),
            memory_used: family(r, "gpu_memory_used_bytes", "Memory of a GPU that is used"),
            memory_total: family(r, "gpu_memory_total_bytes", "Memory that a GPU has"),
            held_idle: family(
                r,
                "gpu_held_idle_seconds",
                "For how long a job has held a GPU without computing on it; 0 while it computes or nobody holds it",
            ),
            tenant_jobs: family(r, "tenant_jobs", "Live jobs by tenant and state"),
            grants: family(r, "grants", "GPUs that a tenant's jobs hold, by type"),
            share: family(r, "share_gpus", "GPUs that a tenant is entitled to, by type"),
            deficit: family(
                r,
                "deficit_gpu_rounds",
                "Balance of a tenant in GPU-rounds: + still to get, - used ahead of its share",
            ),
            past_factor: family(
                r,
                "past_usage_factor",
                "What a tenant's weight is multiplied by because of its past usage; 1 where that does not count",
            ),
            sharing_incentive: number(
                r,
                "sharing_incentive_ratio",
                "The smallest throughput of a tenant over that of an equal split",
            ),
            worst_envy: number(r, "worst_envy_ratio", "The largest envy between two tenants"),
            left_out: whole(
                r,
                "workloads_left_out",
                "Workloads with live jobs that have no share because their profile cannot be used",
            ),
            shares_failed: whole(
                r,
                "shares_failed",
                "1 while the shares are not those of the mechanism, because they could not be computed",
            ),
            broken: family(
                r,
                "invariant_broken",
                "1 where something does not hold that must hold in every state of the daemon, by its name",
            ),
        }
    }

    /// Everything anew: a tenant that is gone leaves nothing behind.
    pub fn set(&self, now: &Gauges) {
        self.round.set(i64::try_from(now.round).unwrap_or(i64::MAX));
        self.journal.set(i64::try_from(now.journal_seq).unwrap_or(i64::MAX));
        for state in JobState::ALL {
            let count = now.jobs.get(&state).copied().unwrap_or(0);
            let labels = EndLabels { state: state.name() };
            self.jobs.get_or_create(&labels).set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        self.gpus.clear();
        for gpus in &now.gpus {
            for (state, count) in [("busy", gpus.used), ("idle", gpus.idle), ("down", gpus.down)] {
                let labels = GpuLabels { r#type: gpus.gpu_type.clone(), state };
                self.gpus.get_or_create(&labels).set(i64::from(count));
            }
        }
        self.set_readings(&now.readings);
        self.set_tenants(&now.tenants);
        // Not known is not 0: no number at all.
        self.sharing_incentive.set(now.sharing_incentive.unwrap_or(f64::NAN));
        self.worst_envy.set(now.worst_envy.unwrap_or(f64::NAN));
        self.left_out.set(i64::try_from(now.left_out).unwrap_or(i64::MAX));
        self.shares_failed.set(i64::from(now.shares_failed));
        for invariant in Invariant::IN_PRODUCTION {
            let labels = InvariantLabels { name: invariant.name() };
            let is_broken = now.broken.contains(&invariant);
            self.broken.get_or_create(&labels).set(i64::from(is_broken));
        }
    }

    /// A GPU of which nothing is known has no series: not known is not 0.
    fn set_readings(&self, readings: &[ReadingGauges]) {
        self.utilisation.clear();
        self.memory_used.clear();
        self.memory_total.clear();
        self.held_idle.clear();
        for gpu in readings {
            let labels = NodeGpuLabels { node: gpu.node.clone(), gpu: gpu.index };
            if let Some(part) = gpu.utilisation {
                self.utilisation.get_or_create(&labels).set(part);
                self.held_idle.get_or_create(&labels).set(gpu.idle_s.unwrap_or(0.0));
            }
            let bytes = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
            if let Some(used) = gpu.memory_used {
                self.memory_used.get_or_create(&labels).set(bytes(used));
            }
            if let Some(total) = gpu.memory_total {
                self.memory_total.get_or_create(&labels).set(bytes(total));
            }
        }
    }

    fn set_tenants(&self, tenants: &[TenantGauges]) {
        self.tenant_jobs.clear();
        self.grants.clear();
        self.share.clear();
        self.deficit.clear();
        self.past_factor.clear();
        for (i, tenant) in tenants.iter().enumerate() {
            self.add_tenant(if i < TENANTS_MAX { &tenant.tenant } else { OTHERS }, tenant);
            // Factors of several tenants have no sum.
            if i < TENANTS_MAX {
                let labels = TenantLabels { tenant: tenant.tenant.clone() };
                self.past_factor.get_or_create(&labels).set(tenant.past_factor);
            }
        }
    }

    fn add_tenant(&self, name: &str, t: &TenantGauges) {
        let tenant = || name.to_string();
        let of_type =
            |r#type: &String| TenantTypeLabels { tenant: tenant(), r#type: r#type.clone() };
        for (state, count) in [("queued", t.queued), ("running", t.running)] {
            let labels = TenantStateLabels { tenant: tenant(), state };
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            self.tenant_jobs.get_or_create(&labels).inc_by(count);
        }
        for (r#type, &gpus) in &t.holds {
            self.grants.get_or_create(&of_type(r#type)).inc_by(i64::from(gpus));
        }
        for (r#type, &gpus) in &t.share {
            self.share.get_or_create(&of_type(r#type)).inc_by(gpus);
        }
        let labels = TenantLabels { tenant: tenant() };
        self.deficit.get_or_create(&labels).inc_by(t.deficit);
    }
}

fn whole(registry: &mut Registry, name: &str, help: &str) -> Gauge {
    let gauge = Gauge::default();
    registry.register(name, help, gauge.clone());
    gauge
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
