//! `--csv DIR`: every figure of every run, for other tools.

use super::run::Simulated;
use crate::output::document::{Column, csv};
use oef_sim::engine::{JobRecord, RunResult, Segment, TenantRecord};
use oef_sim::input::TraceJob;
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
    let columns: [Column<'_, RunResult>; 28] = [
        ("mechanism", &|run| run.mechanism.name().into()),
        ("rounds", &|run| run.rounds.to_string()),
        ("seconds", &|run| real(run.seconds)),
        ("finished", &|run| run.finished.to_string()),
        ("unfinished", &|run| run.unfinished.to_string()),
        ("jct_mean_s", &|run| real(run.jct.mean)),
        ("jct_p50_s", &|run| real(run.jct.p50)),
        ("jct_p90_s", &|run| real(run.jct.p90)),
        ("jct_p99_s", &|run| real(run.jct.p99)),
        ("wait_mean_s", &|run| real(run.wait.mean)),
        ("wait_p50_s", &|run| real(run.wait.p50)),
        ("wait_p99_s", &|run| real(run.wait.p99)),
        ("makespan_s", &|run| real(run.makespan)),
        ("throughput_estimated", &|run| real(run.estimated)),
        ("throughput_actual", &|run| real(run.actual)),
        ("utilisation", &|run| real(run.utilisation)),
        ("straggler_workers", &|run| run.straggler_workers.to_string()),
        ("migrations", &|run| run.migrations.to_string()),
        ("preemptions", &|run| run.preemptions.to_string()),
        ("worst_sharing_incentive", &|run| real(run.worst_sharing_incentive)),
        ("worst_promised_incentive", &|run| real(run.worst_promised_incentive)),
        ("deficit_max", &|run| real(run.deficit_max)),
        ("solves", &|run| run.solves.to_string()),
        ("throughput_possible", &|run| real(run.possible)),
        ("worst_delivered_of_promised", &|run| real(run.worst_delivered)),
        ("gangs_spread_part", &|run| real(run.standing.spread_part())),
        ("restarts_per_gpu_day", &|run| real(run.restarts_per_gpu_day)),
        ("restarting_part", &|run| real(run.standing.restarting_part())),
    ];
    csv(runs, &columns)
}

fn tenants(run: &RunResult) -> String {
    let columns: [Column<'_, TenantRecord>; 8] = [
        ("tenant", &|t| t.name.clone()),
        ("weight", &|t| real(t.weight)),
        ("rounds", &|t| t.rounds.to_string()),
        ("delivered", &|t| real(t.delivered)),
        ("promised", &|t| real(t.promised)),
        ("equal_split", &|t| real(t.equal_split)),
        ("share_gpu_rounds", &|t| real(t.share_gpus)),
        ("held_gpu_rounds", &|t| real(t.held_gpus)),
    ];
    csv(&run.tenants, &columns)
}

fn jobs(run: &RunResult, simulated: &Simulated<'_>) -> String {
    let trace = &simulated.gathered.trace.jobs;
    let jobs = run.jobs.iter().filter_map(|record| Some((record, trace.get(record.job)?)));
    let jobs: Vec<(&JobRecord, &TraceJob)> = jobs.collect();
    let columns: [Column<'_, (&JobRecord, &TraceJob)>; 10] = [
        ("job_id", &|(_, job)| job.id.clone()),
        ("tenant", &|(_, job)| job.tenant.clone()),
        ("gpus", &|(record, _)| record.workers.to_string()),
        ("model", &|(_, job)| job.model.clone().unwrap_or_default()),
        ("submit_s", &|(record, _)| real(record.submit_s)),
        ("start_s", &|(record, _)| maybe(record.start_s)),
        ("finish_s", &|(record, _)| maybe(record.finish_s)),
        ("jct_s", &|(record, _)| maybe(record.finish_s.map(|s| s - record.submit_s))),
        ("wait_s", &|(record, _)| maybe(record.start_s.map(|s| s - record.submit_s))),
        ("restarts", &|(record, _)| record.restarts.to_string()),
    ];
    csv(&jobs, &columns)
}

fn rounds(run: &RunResult) -> String {
    let series = &run.series;
    let count = |list: &[u32], i: usize| list.get(i).map_or(String::new(), u32::to_string);
    let columns: [Column<'_, usize>; 7] = [
        ("at_s", &|&i| real(series.at_s[i])),
        ("throughput_actual", &|&i| real(series.actual[i])),
        ("throughput_estimated", &|&i| real(series.estimated[i])),
        ("utilisation", &|&i| real(series.utilisation[i])),
        ("waiting", &|&i| count(&series.waiting, i)),
        ("running", &|&i| count(&series.running, i)),
        ("deficit_max", &|&i| maybe(series.deficit_max.get(i).copied())),
    ];
    csv(&(0..series.at_s.len()).collect::<Vec<_>>(), &columns)
}

fn segments(run: &RunResult, simulated: &Simulated<'_>) -> String {
    let nodes = &simulated.gathered.cluster.nodes;
    let node = |segment: &Segment| nodes.get(segment.node);
    let tenant = |segment: &Segment| run.tenants.get(segment.tenant);
    let columns: [Column<'_, Segment>; 6] = [
        ("node", &|segment| node(segment).map_or(String::new(), |n| n.name.clone())),
        ("gpu", &|segment| segment.gpu.to_string()),
        ("gpu_type", &|segment| node(segment).map_or(String::new(), |n| n.gpu_type.clone())),
        ("from_s", &|segment| real(segment.from_s)),
        ("to_s", &|segment| real(segment.to_s)),
        ("tenant", &|segment| tenant(segment).map_or(String::new(), |t| t.name.clone())),
    ];
    csv(&run.segments, &columns)
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
