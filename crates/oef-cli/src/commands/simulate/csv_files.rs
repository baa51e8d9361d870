//! `--csv DIR`: every figure of every run, for other tools.

use super::run::Simulated;
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
    let mut csv = Csv::new(&[
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
        "throughput_possible",
        "worst_delivered_of_promised",
        "gangs_spread_part",
        "restarts_per_gpu_day",
        "restarting_part",
    ]);
    for run in runs {
        csv.row(&[
            run.mechanism.name().into(),
            run.rounds.to_string(),
            real(run.seconds),
            run.finished.to_string(),
            run.unfinished.to_string(),
            real(run.jct.mean),
            real(run.jct.p50),
            real(run.jct.p90),
            real(run.jct.p99),
            real(run.wait.mean),
            real(run.wait.p50),
            real(run.wait.p99),
            real(run.makespan),
            real(run.estimated),
            real(run.actual),
            real(run.utilisation),
            run.straggler_workers.to_string(),
            run.migrations.to_string(),
            run.preemptions.to_string(),
            real(run.worst_sharing_incentive),
            real(run.worst_promised_incentive),
            real(run.deficit_max),
            run.solves.to_string(),
            real(run.possible),
            real(run.worst_delivered),
            real(run.standing.spread_part()),
            real(run.restarts_per_gpu_day),
            real(run.standing.restarting_part()),
        ]);
    }
    csv.finish()
}

fn tenants(run: &RunResult) -> String {
    let mut csv = Csv::new(&[
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
        csv.row(&[
            t.name.as_str().into(),
            real(t.weight),
            t.rounds.to_string(),
            real(t.delivered),
            real(t.promised),
            real(t.equal_split),
            real(t.share_gpus),
            real(t.held_gpus),
        ]);
    }
    csv.finish()
}

fn jobs(run: &RunResult, simulated: &Simulated<'_>) -> String {
    let mut csv = Csv::new(&[
        "job_id", "tenant", "gpus", "model", "submit_s", "start_s", "finish_s", "jct_s", "wait_s",
        "restarts",
    ]);
    for record in &run.jobs {
        let Some(job) = simulated.gathered.trace.jobs.get(record.job) else { continue };
        csv.row(&[
            job.id.as_str().into(),
            job.tenant.as_str().into(),
            record.workers.to_string(),
            job.model.as_deref().unwrap_or_default().into(),
            real(record.submit_s),
            maybe(record.start_s),
            maybe(record.finish_s),
            maybe(record.finish_s.map(|s| s - record.submit_s)),
            maybe(record.start_s.map(|s| s - record.submit_s)),
            record.restarts.to_string(),
        ]);
    }
    csv.finish()
}

fn rounds(run: &RunResult) -> String {
    let mut csv = Csv::new(&[
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
        let count = |list: &[u32]| list.get(i).map_or(String::new(), u32::to_string);
        csv.row(&[
            real(*at),
            real(series.actual[i]),
            real(series.estimated[i]),
            real(series.utilisation[i]),
            count(&series.waiting),
            count(&series.running),
            maybe(series.deficit_max.get(i).copied()),
        ]);
    }
    csv.finish()
}

fn segments(run: &RunResult, simulated: &Simulated<'_>) -> String {
    let mut csv = Csv::new(&["node", "gpu", "gpu_type", "from_s", "to_s", "tenant"]);
    for segment in &run.segments {
        let node = simulated.gathered.cluster.nodes.get(segment.node);
        let tenant = run.tenants.get(segment.tenant);
        csv.row(&[
            node.map_or("", |n| n.name.as_str()).into(),
            segment.gpu.to_string(),
            node.map_or("", |n| n.gpu_type.as_str()).into(),
            real(segment.from_s),
            real(segment.to_s),
            tenant.map_or("", |t| t.name.as_str()).into(),
        ]);
    }
    csv.finish()
}

/// A table in the making. Writing to memory cannot fail, and rows are as long as the header.
struct Csv(csv::Writer<Vec<u8>>);

impl Csv {
    fn new<const N: usize>(header: &[&str; N]) -> Csv {
        let mut csv = Csv(csv::Writer::from_writer(Vec::new()));
        csv.row(&header.map(String::from));
        csv
    }

    fn row(&mut self, cells: &[String]) {
        let _ = self.0.write_record(cells);
    }

    fn finish(self) -> String {
        String::from_utf8(self.0.into_inner().unwrap_or_default()).unwrap_or_default()
    }
}

/// All digits; empty where there is not a number.
fn real(x: f64) -> String {
    // Adding 0 turns -0 into 0.
    if x.is_finite() { (x + 0.0).to_string() } else { String::new() }
}

/// An empty field where there is nothing.
fn maybe(value: Option<f64>) -> String {
    value.map_or(String::new(), real)
}
