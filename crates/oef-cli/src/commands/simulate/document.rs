//! `oef simulate --json`. Nothing in it depends on the machine or the hour: the same seed gives the same bytes.

use super::guard::guard_document;
use super::run::Simulated;
use oef_sim::engine::{RunResult, TenantRecord};
use oef_terminal::document::{Document, Object, finite};
use serde::Serialize;
use std::collections::BTreeMap;

/// The document of all runs.
pub fn document(simulated: &Simulated<'_>) -> impl Serialize {
    let (gathered, settings) = (&simulated.gathered, &simulated.scenario.settings);
    let cluster = &gathered.cluster;
    let counts = cluster.types().into_iter().map(|t| (t.clone(), cluster.count(&t)));
    let nodes = Document::part()
        .with("nodes", cluster.nodes.len())
        .with("gpus", cluster.gpus())
        .with("types", counts.collect::<BTreeMap<_, _>>());
    Document::whole()
        .with("seed", simulated.scenario.seed)
        .with("round", settings.round.seconds())
        .maybe("half_life", settings.usage_half_life.map(|h| h.seconds()))
        .with("cluster", nodes)
        .with("jobs", gathered.trace.jobs.len())
        .with("tenants", gathered.trace.tenants().len())
        .with("skipped_rows", gathered.skipped)
        .with("load", gathered.load.map(finite))
        .list("runs", simulated.runs.iter().map(|r| run(simulated, r)))
        .with("remarks", &simulated.remarks)
}

fn run<'a>(simulated: &'a Simulated<'_>, run: &'a RunResult) -> impl Serialize {
    let jobs = Document::part().with("finished", run.finished).with("unfinished", run.unfinished);
    let throughput = Document::part()
        .number("estimated", run.estimated)
        .number("possible", run.possible)
        .number("actual", run.actual);
    // Fairness as delivered, over the days of all tenants.
    let by_day = Document::part()
        .with("tenant_days", run.days.len())
        .with("worst_sharing_incentive", run.worst_day_incentive())
        .with("at_least_95_percent", run.days_at_least(0.95))
        .with("mean_envy", run.mean_day_envy());
    // How gangs stood on the hosts, and what restarts cost.
    let gangs = Document::part()
        .number("spread_part", run.standing.spread_part())
        .number("restarting_part", run.standing.restarting_part())
        .number("restarts_per_gpu_day", run.restarts_per_gpu_day)
        .with("most_restarts", run.jobs.iter().map(|job| job.restarts).max().unwrap_or(0))
        .number("worst_delivered_of_promised", run.worst_delivered);
    let tenants = run.tenants.iter().map(|t| (t.name.as_str(), tenant(t)));
    Document::part()
        .with("mechanism", run.mechanism.name())
        .with("rounds", run.rounds)
        .number("seconds", run.seconds)
        .with("jobs", jobs)
        .with("jct", run.jct)
        .number("makespan", run.makespan)
        .with("throughput", throughput)
        .number("utilisation", run.utilisation)
        .with("straggler_workers", run.straggler_workers)
        .with("migrations", run.migrations)
        .number("worst_sharing_incentive", run.worst_sharing_incentive)
        .number("deficit_max", run.deficit_max)
        .with("wait", run.wait)
        .with("preemptions", run.preemptions)
        .with("overcommitted", run.overcommitted)
        .number("worst_promised_incentive", run.worst_promised_incentive)
        .with("by_day", by_day)
        .with("gangs", gangs)
        .with("solves", run.solves)
        .with("trouble", run.trouble.as_deref())
        .with("guard", guard_document(simulated, run))
        .with("tenants", Object(tenants.collect()))
}

/// Sums over the rounds become means, which say something without the number of rounds.
fn tenant(t: &TenantRecord) -> impl Serialize + use<> {
    let mean = |sum: f64| finite(sum / (t.rounds.max(1)) as f64);
    // What is remembered of its usage at the end.
    let past =
        t.past.map(|past| Document::part().with("usage", past.usage).with("factor", past.factor));
    Document::part()
        .with("weight", t.weight)
        .with("rounds", t.rounds)
        .with("delivered", mean(t.delivered))
        .with("possible", mean(t.possible))
        .with("promised", mean(t.promised))
        .with("equal_split", mean(t.equal_split))
        .with("share_gpus", mean(t.share_gpus))
        .with("held_gpus", mean(t.held_gpus))
        .maybe("past", past)
}
