//! `oef simulate --json`. Nothing in it depends on the machine or the hour: the same seed gives the same bytes.

use super::guard::GuardDocument;
use super::run::Simulated;
use oef_sim::engine::{Quantiles, RunResult, TenantRecord};
use oef_terminal::document::{Object, VERSION, finite};
use serde::Serialize;

/// The whole document.
#[derive(Debug, Serialize)]
pub struct SimulateDocument<'a> {
    version: u32,
    seed: u64,
    round: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    half_life: Option<f64>,
    cluster: ClusterDocument,
    jobs: usize,
    tenants: usize,
    skipped_rows: usize,
    load: Option<f64>,
    runs: Vec<RunDocument<'a>>,
    remarks: &'a [String],
}

#[derive(Debug, Serialize)]
struct ClusterDocument {
    nodes: usize,
    gpus: u64,
    types: std::collections::BTreeMap<String, u64>,
}

#[derive(Debug, Serialize)]
struct RunDocument<'a> {
    mechanism: &'static str,
    rounds: u64,
    seconds: f64,
    jobs: JobsDocument,
    jct: Quantiles,
    makespan: f64,
    throughput: ThroughputDocument,
    utilisation: f64,
    straggler_workers: u64,
    migrations: u64,
    worst_sharing_incentive: f64,
    deficit_max: f64,
    wait: Quantiles,
    preemptions: u64,
    overcommitted: u64,
    worst_promised_incentive: f64,
    by_day: ByDayDocument,
    gangs: GangsDocument,
    solves: u64,
    trouble: Option<&'a str>,
    guard: Option<GuardDocument<'a>>,
    tenants: Object<'a, TenantDocument>,
}

/// Fairness as delivered, over the days of all tenants.
#[derive(Debug, Serialize)]
struct ByDayDocument {
    tenant_days: usize,
    worst_sharing_incentive: Option<f64>,
    at_least_95_percent: Option<f64>,
    mean_envy: Option<f64>,
}

#[derive(Debug, Serialize)]
struct JobsDocument {
    finished: usize,
    unfinished: usize,
}

#[derive(Debug, Serialize)]
struct ThroughputDocument {
    estimated: f64,
    possible: f64,
    actual: f64,
}

/// How gangs stood on the hosts, and what restarts cost.
#[derive(Debug, Serialize)]
struct GangsDocument {
    spread_part: f64,
    restarting_part: f64,
    restarts_per_gpu_day: f64,
    most_restarts: u32,
    worst_delivered_of_promised: f64,
}

#[derive(Debug, Serialize)]
struct TenantDocument {
    weight: f64,
    rounds: u64,
    delivered: f64,
    possible: f64,
    promised: f64,
    equal_split: f64,
    share_gpus: f64,
    held_gpus: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    past: Option<PastDocument>,
}

/// What is remembered of a tenant's usage at the end.
#[derive(Debug, Serialize)]
struct PastDocument {
    usage: f64,
    factor: f64,
}

impl<'a> SimulateDocument<'a> {
    /// The document of all runs.
    pub fn new(simulated: &'a Simulated<'_>) -> Self {
        let gathered = &simulated.gathered;
        let cluster = &gathered.cluster;
        SimulateDocument {
            version: VERSION,
            seed: simulated.scenario.seed,
            round: simulated.scenario.settings.round.seconds(),
            half_life: simulated.scenario.settings.usage_half_life.map(|h| h.seconds()),
            cluster: ClusterDocument {
                nodes: cluster.nodes.len(),
                gpus: cluster.gpus(),
                types: cluster
                    .types()
                    .into_iter()
                    .map(|t| (t.clone(), cluster.count(&t)))
                    .collect(),
            },
            jobs: gathered.trace.jobs.len(),
            tenants: gathered.trace.tenants().len(),
            skipped_rows: gathered.skipped,
            load: gathered.load.map(finite),
            runs: simulated.runs.iter().map(|r| run(simulated, r)).collect(),
            remarks: &simulated.remarks,
        }
    }
}

fn run<'a>(simulated: &'a Simulated<'_>, run: &'a RunResult) -> RunDocument<'a> {
    RunDocument {
        mechanism: run.mechanism.name(),
        rounds: run.rounds,
        seconds: finite(run.seconds),
        jobs: JobsDocument { finished: run.finished, unfinished: run.unfinished },
        jct: run.jct,
        makespan: finite(run.makespan),
        throughput: ThroughputDocument {
            estimated: finite(run.estimated),
            possible: finite(run.possible),
            actual: finite(run.actual),
        },
        utilisation: finite(run.utilisation),
        straggler_workers: run.straggler_workers,
        migrations: run.migrations,
        worst_sharing_incentive: finite(run.worst_sharing_incentive),
        deficit_max: finite(run.deficit_max),
        wait: run.wait,
        preemptions: run.preemptions,
        overcommitted: run.overcommitted,
        worst_promised_incentive: finite(run.worst_promised_incentive),
        by_day: ByDayDocument {
            tenant_days: run.days.len(),
            worst_sharing_incentive: run.worst_day_incentive(),
            at_least_95_percent: run.days_at_least(0.95),
            mean_envy: run.mean_day_envy(),
        },
        gangs: GangsDocument {
            spread_part: finite(run.standing.spread_part()),
            restarting_part: finite(run.standing.restarting_part()),
            restarts_per_gpu_day: finite(run.restarts_per_gpu_day),
            most_restarts: run.jobs.iter().map(|job| job.restarts).max().unwrap_or(0),
            worst_delivered_of_promised: finite(run.worst_delivered),
        },
        solves: run.solves,
        trouble: run.trouble.as_deref(),
        guard: GuardDocument::new(simulated, run),
        tenants: Object(run.tenants.iter().map(|t| (t.name.as_str(), tenant(t))).collect()),
    }
}

/// Sums over the rounds become means, which say something without the number of rounds.
fn tenant(t: &TenantRecord) -> TenantDocument {
    let mean = |sum: f64| finite(sum / (t.rounds.max(1)) as f64);
    TenantDocument {
        weight: t.weight,
        rounds: t.rounds,
        delivered: mean(t.delivered),
        possible: mean(t.possible),
        promised: mean(t.promised),
        equal_split: mean(t.equal_split),
        share_gpus: mean(t.share_gpus),
        held_gpus: mean(t.held_gpus),
        past: t.past.map(|past| PastDocument { usage: past.usage, factor: past.factor }),
    }
}
