//! `--csv DIR`: every figure of every run, for other tools.

use super::run::Simulated;
use oef_report::csv::{Csv, Field};
use oef_sim::engine::RunResult;
use oef_terminal::{Complaint, Failure, file};
use std::path::Path;

/// Writes `results.csv` and a directory per mechanism with `tenants.csv`, `jobs.csv`, `rounds.csv` and
/// `segments.csv`.
pub fn write(dir: &Path, simulated: &Simulated<'_>) -> Result<(), Failure> {
    put(dir, "results.csv", results(&simulated.runs))?;
    for run in &simulated.runs {
        let dir = dir.join(run.mechanism.name());
        put(&dir, "tenants.csv", tenants(run))?;
        put(&dir, "jobs.csv", jobs(run, simulated))?;
        put(&dir, "rounds.csv", rounds(run))?;
        put(&dir, "segments.csv", segments(run, simulated))?;
    }
    Ok(())
}

fn put(dir: &Path, name: &str, text: String) -> Result<(), Failure> {
    std::fs::create_dir_all(dir).map_err(|error| {
        let complaint = Complaint::new(format!("the directory cannot be made: {error}"));
        complaint.at(dir.display().to_string()).hint("name a directory that can be written")
    })?;
    file::write(&dir.join(name), &text)
}

fn results(runs: &[RunResult]) -> String {
    let mut csv = Csv::new([
        "mechanism",
        "rounds",
        "seconds",
        "finished",
        "unfinished",
        "jct_mean_s",
        "jct_p50_s",
        "jct_p90_s",
        "jct_p99_s",
        "wait_mean_s",
        "wait_p50_s",
        "wait_p99_s",
        "makespan_s",
        "throughput_estimated",
        "throughput_actual",
        "utilisation",
        "straggler_workers",
        "migrations",
        "preemptions",
        "worst_sharing_incentive",
        "worst_promised_incentive",
        "deficit_max",
        "solves",
    ]);
    for run in runs {
        csv.row([
            run.mechanism.name().into(),
            whole(run.rounds),
            run.seconds.into(),
            run.finished.into(),
            run.unfinished.into(),
            run.jct.mean.into(),
            run.jct.p50.into(),
            run.jct.p90.into(),
            run.jct.p99.into(),
            run.wait.mean.into(),
            run.wait.p50.into(),
            run.wait.p99.into(),
            run.makespan.into(),
            run.estimated.into(),
            run.actual.into(),
            run.utilisation.into(),
            whole(run.straggler_workers),
            whole(run.migrations),
            whole(run.preemptions),
            run.worst_sharing_incentive.into(),
            run.worst_promised_incentive.into(),
            run.deficit_max.into(),
            whole(run.solves),
        ]);
    }
    csv.finish()
}

fn tenants(run: &RunResult) -> String {
    let mut csv = Csv::new([
        "tenant",
        "weight",
        "rounds",
        "delivered",
        "promised",
        "equal_split",
        "share_gpu_rounds",
        "held_gpu_rounds",
    ]);
    for t in &run.tenants {
        csv.row([
            t.name.as_str().into(),
            t.weight.into(),
            whole(t.rounds),
            t.delivered.into(),
            t.promised.into(),
            t.equal_split.into(),
            t.share_gpus.into(),
            t.held_gpus.into(),
        ]);
    }
    csv.finish()
}

fn jobs(run: &RunResult, simulated: &Simulated<'_>) -> String {
    let mut csv = Csv::new([
        "job_id", "tenant", "gpus", "model", "submit_s", "start_s", "finish_s", "jct_s", "wait_s",
        "restarts",
    ]);
    for record in &run.jobs {
        let Some(job) = simulated.gathered.trace.jobs.get(record.job) else { continue };
        csv.row([
            job.id.as_str().into(),
            job.tenant.as_str().into(),
            whole(record.workers.into()),
            job.model.as_deref().unwrap_or_default().into(),
            record.submit_s.into(),
            maybe(record.start_s),
            maybe(record.finish_s),
            maybe(record.finish_s.map(|s| s - record.submit_s)),
            maybe(record.start_s.map(|s| s - record.submit_s)),
            whole(record.restarts.into()),
        ]);
    }
    csv.finish()
}

fn rounds(run: &RunResult) -> String {
    let mut csv = Csv::new([
        "at_s",
        "throughput_actual",
        "throughput_estimated",
        "utilisation",
        "waiting",
        "running",
        "deficit_max",
    ]);
    let series = &run.series;
    for (i, at) in series.at_s.iter().enumerate() {
        let count =
            |list: &[u32]| list.get(i).map_or(Field::Number(f64::NAN), |&n| whole(n.into()));
        csv.row([
            (*at).into(),
            series.actual[i].into(),
            series.estimated[i].into(),
            series.utilisation[i].into(),
            count(&series.waiting),
            count(&series.running),
            maybe(series.deficit_max.get(i).copied()),
        ]);
    }
    csv.finish()
}

fn segments(run: &RunResult, simulated: &Simulated<'_>) -> String {
    let mut csv = Csv::new(["node", "gpu", "gpu_type", "from_s", "to_s", "tenant"]);
    for segment in &run.segments {
        let node = simulated.gathered.cluster.nodes.get(segment.node);
        let tenant = run.tenants.get(segment.tenant);
        csv.row([
            node.map_or("", |n| n.name.as_str()).into(),
            whole(segment.gpu.into()),
            node.map_or("", |n| n.gpu_type.as_str()).into(),
            segment.from_s.into(),
            segment.to_s.into(),
            tenant.map_or("", |t| t.name.as_str()).into(),
        ]);
    }
    csv.finish()
}

/// Counts keep all their digits.
fn whole(count: u64) -> Field {
    Field::Text(count.to_string())
}

/// An empty field where there is nothing.
fn maybe(value: Option<f64>) -> Field {
    Field::Number(value.unwrap_or(f64::NAN))
}
