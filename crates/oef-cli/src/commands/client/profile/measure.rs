//! `oef profile JOBFILE`: one job, for a few batches on each gpu type.

use super::plan::{Point, Skipped, Wanted, plan};
use super::report::{Ran, Report};
use crate::args::jobs::SubmitArgs;
use crate::args::tenants::ProfileRunArgs;
use crate::commands::client::{submit, wait};
use crate::input::nearest;
use jiff::Timestamp;
use oef_api::client::Client;
use oef_api::parsed::Workers;
use oef_api::types::{
    Cluster, GpuTypeStatus, Job, JobBatch, JobState, JobSubmit, Probe, SubmitQuery, Workload,
};
use oef_report::format::span;
use oef_terminal::names::safe;
use oef_terminal::numbers::counted;
use oef_terminal::{Complaint, Exit, Failure, Printer};
use std::collections::BTreeMap;

/// Drivers, libraries and scripts change within months: what is younger than this is believed.
const FRESH_S: f64 = 30.0 * 86_400.0;
/// The word for every gpu type of the cluster.
const ALL: &str = "all";
/// The kinds of problem that say that there is no such workload yet.
const UNKNOWN: [&str; 2] = ["unknown_workload", "unknown_tenant"];

pub fn run(args: &ProfileRunArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let (job, how) = representative(args, client, printer)?;
    let (tenant, name) = owner(&job, client)?;
    let cluster = client.cluster()?;
    // A gang is promised what it can do as a gang: that is measured, too.
    let workers = match args.workers.as_slice() {
        [] if *job.workers > 1 => vec![1, *job.workers],
        [] => vec![1],
        given => given.to_vec(),
    };
    let wanted = Wanted {
        types: types(args, &cluster)?,
        nodes: &cluster.nodes,
        workers: &workers,
        again: args.again,
        fresh_s: args.fresh.unwrap_or(FRESH_S),
        now_s: Timestamp::now().as_millisecond() as f64 / 1000.0,
    };
    let known = workload(client, &tenant, &name)?;
    let (points, skipped) = plan(&wanted, known.as_ref().map(|known| &known.profile));
    let mut report = Report::new(&tenant, &name, skipped);
    if !points.is_empty() {
        measure(args, client, printer, (&job, how), &points, &mut report)?;
    }
    let known = workload(client, &tenant, &name)?;
    report.finish(known.as_ref(), &cluster);
    printer.show(args.json, || &report, || report.render())?;
    Ok(if report.has_failed() { Exit::DoesNotHold } else { Exit::Done })
}

/// The one job of the file.
fn representative(
    args: &ProfileRunArgs,
    client: &Client,
    printer: &Printer,
) -> Result<(JobSubmit, SubmitQuery), Failure> {
    let (file, tenant) = (args.file.clone(), args.tenant.clone());
    let submitted = SubmitArgs { file, tenant, ..SubmitArgs::default() };
    let mut batch = submit::build(&submitted, &submit::here()?)?;
    let count = batch.jobs.len();
    batch.jobs.truncate(1);
    if let Some(first) = batch.jobs.first().filter(|_| count > 1) {
        let name = safe(first.name.as_deref().unwrap_or("the first"));
        printer.note(&format!("the first of the sweep's {count} jobs stands for all: {name}"));
    }
    let is_own = submit::fill_tenant(&mut batch, client, printer)?;
    let how = SubmitQuery { create_tenant: args.create_tenant || is_own };
    let job = batch.jobs.pop();
    let job = job.ok_or_else(|| Complaint::new("the file has no job"))?;
    Ok((job, how))
}

/// Whose workload it is, and its name.
fn owner(job: &JobSubmit, client: &Client) -> Result<(String, String), Failure> {
    let tenant = match &job.tenant {
        Some(tenant) => Some(tenant.to_string()),
        None => client.info()?.tenant,
    };
    let workload = job.workload.clone().unwrap_or_default();
    Ok((tenant.unwrap_or_default(), workload.into()))
}

fn types<'a>(
    args: &ProfileRunArgs,
    cluster: &'a Cluster,
) -> Result<Vec<&'a GpuTypeStatus>, Failure> {
    let named: Vec<&str> = args.types.iter().map(|name| name.trim()).collect();
    if named.contains(&ALL) {
        return Ok(cluster.types.iter().collect());
    }
    let find = |name: &&str| {
        cluster.types.iter().find(|known| known.gpu_type == *name).ok_or_else(|| {
            let known = cluster.types.iter().map(|known| known.gpu_type.as_str());
            Complaint::new(format!("there is no gpu type `{name}`"))
                .at("--types")
                .hint(nearest::hint("gpu types", name, known))
                .into()
        })
    };
    named.iter().map(find).collect()
}

/// The workload, where there is one already.
fn workload(client: &Client, tenant: &str, name: &str) -> Result<Option<Workload>, Failure> {
    match client.workload(tenant, name) {
        Ok(found) => Ok(Some(found)),
        Err(error) => match error.problem() {
            Some(problem) if UNKNOWN.iter().any(|kind| problem.kind == *kind) => Ok(None),
            _ => Err(error.into()),
        },
    }
}

/// Submits the profile runs and waits for them.
fn measure(
    args: &ProfileRunArgs,
    client: &Client,
    printer: &Printer,
    (job, how): (&JobSubmit, SubmitQuery),
    points: &[Point],
    report: &mut Report,
) -> Result<(), Failure> {
    let defaults = Probe::default();
    let probe = Probe {
        batches: args.batches.unwrap_or(defaults.batches),
        warmup: args.warmup.unwrap_or(defaults.warmup),
        least_s: args.least.unwrap_or(defaults.least_s),
        limit_s: args.limit.unwrap_or(defaults.limit_s),
    };
    let run = |point: &Point| JobSubmit {
        types: vec![point.gpu_type.clone()],
        workers: Workers::up_to(point.workers),
        probe: Some(probe.clone()),
        ..job.clone()
    };
    let batch = JobBatch::of(points.iter().map(run).collect());
    let submitted = client.submit(&batch, Some(&submit::new_key()), how)?;
    for note in &submitted.notes {
        printer.note(note);
    }
    let runs = counted(points.len(), "profile run");
    let what: Vec<String> = points.iter().map(Point::words).collect();
    printer.note(&format!(
        "{runs}, each at most {} once it runs: {}",
        span(probe.limit_s),
        what.join(", ")
    ));
    let by_id: BTreeMap<u64, Point> = submitted.ids.iter().copied().zip(points.to_vec()).collect();
    if args.no_wait {
        report.ran = by_id.into_iter().map(|(id, point)| Ran::waiting(id, point)).collect();
        return Ok(());
    }
    let some: Vec<String> = submitted.ids.iter().take(10).map(u64::to_string).collect();
    let some = some.join(" ");
    wait::interrupted(format!(
        "the profile runs stay in the queue; `oef cancel {some}` would stop them"
    ));
    let say = |job: &Job| say(job, &by_id, printer);
    let ended = wait::until_ended_saying(client, &submitted.ids, &say)?;
    let ran = ended.iter().filter_map(|job| Some(Ran::new(job, by_id.get(&job.id)?.clone())));
    report.ran = ran.collect();
    Ok(())
}

/// Says how one of them goes.
fn say(job: &Job, by_id: &BTreeMap<u64, Point>, printer: &Printer) {
    let Some(point) = by_id.get(&job.id) else { return };
    let text = format!("{} (job {}): {}", point.words(), job.id, job.reason);
    match job.state {
        JobState::Failed | JobState::TimedOut => printer.warn(&text),
        JobState::Starting | JobState::Stopping => {}
        _ => printer.note(&text),
    }
}

/// What was left out, in words.
pub fn skipped_words(skipped: &[Skipped]) -> Vec<String> {
    use super::plan::Why;
    skipped
        .iter()
        .map(|skipped| {
            let what = skipped.point.words();
            match skipped.why {
                Why::Fresh => format!("{what}: measured lately (--again measures it again)"),
                Why::TooFewGpus => format!("{what}: there are not that many GPUs"),
            }
        })
        .collect()
}
