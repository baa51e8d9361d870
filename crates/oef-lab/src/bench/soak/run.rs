//! Runs a soak.

use super::args::BenchSoakArgs;
use super::cluster::Emulated;
use super::load::{Plan, Seen, Submitted, read_events, submit, tenant, wait};
use super::report::{Sample, Soak, render};
use crate::bench::daemon::trouble;
use crate::bench::memory;
use oef_api::types::{JobState, Limits, SettingsPatch, TenantCreate};
use oef_executor::Executor;
use oef_server::caller::Caller;
use oef_server::daemon::{Daemon, Options, StopJobs};
use oef_terminal::progress::Progress;
use oef_terminal::{Complaint, Exit, Failure, Printer};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Submissions that may be under way at once.
const THREADS: u32 = 16;
/// How often it is written down how things stand, over the whole run.
const SAMPLES: u32 = 12;

/// Runs the command.
pub fn run(args: &BenchSoakArgs, printer: &Printer) -> Result<Exit, Failure> {
    if cfg!(debug_assertions) {
        printer.warn("this is a debug build; only a release build tells what the daemon takes");
    }
    let below = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    let folder = below.join(format!("oef-soak-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| {
        let what = format!("the folder cannot be made: {error}");
        Complaint::new(what).at(folder.display().to_string()).hint("choose another with --dir")
    })?;
    let soak = soak(args, printer, &folder);
    let _ = std::fs::remove_dir_all(&folder);
    let soak = soak?;
    printer.show(args.json, || soak.clone(), || render(&soak))?;
    Ok(Exit::Done)
}

fn soak(args: &BenchSoakArgs, printer: &Printer, folder: &Path) -> Result<Soak, Failure> {
    let cluster = Arc::new(Emulated::new(args.gpus));
    let daemon = start(args, folder, Arc::clone(&cluster) as Arc<dyn Executor>)?;
    let what = format!("{} submissions a second for {} s", args.rate, args.seconds);
    let progress = Progress::start(printer, what);
    let began = Instant::now();
    let plan = Plan {
        rate: args.rate,
        tenants: args.tenants,
        job_s: f64::from(args.gpus) / f64::from(args.rate),
        until: began + Duration::from_secs(u64::from(args.seconds)),
    };
    let (next, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let mut soak = Soak {
        version: 1,
        rate: args.rate,
        tenants: args.tenants,
        gpus: args.gpus,
        streams: args.streams,
        rounds_expected: (f64::from(args.seconds) / args.round) as u64,
        ..Soak::default()
    };
    let (parts, seen) = thread::scope(|scope| {
        let readers: Vec<_> =
            (0..args.streams).map(|_| scope.spawn(|| read_events(&daemon, &is_over))).collect();
        let submitters: Vec<_> =
            (0..THREADS).map(|_| scope.spawn(|| submit(&daemon, plan, &next, began))).collect();
        let first_round = daemon.gauges().round;
        watch(&mut soak, &daemon, &cluster, folder, (began, plan.until));
        soak.rounds = daemon.gauges().round - first_round;
        let parts: Vec<Submitted> =
            submitters.into_iter().map(|thread| thread.join().unwrap_or_default()).collect();
        soak.seconds = began.elapsed().as_secs_f64();
        soak.finished = daemon.gauges().jobs.get(&JobState::Finished).copied().unwrap_or(0);
        is_over.store(true, Ordering::Relaxed);
        // One more event, so that those who wait for the next see that it is over.
        let _ = wait(daemon.create_tenant(&Caller::admin(), new_tenant("end-of-soak".into())));
        let seen: Vec<Seen> =
            readers.into_iter().map(|thread| thread.join().unwrap_or_default()).collect();
        daemon.stop(StopJobs::LeaveRunning);
        (parts, seen)
    });
    drop(progress);
    add_up(&mut soak, parts, &seen);
    Ok(soak)
}

fn start(
    args: &BenchSoakArgs,
    folder: &Path,
    executor: Arc<dyn Executor>,
) -> Result<Daemon, Failure> {
    let mut options = Options::new(folder.join("state"), executor);
    options.settings = SettingsPatch {
        round_s: Some(args.round),
        min_run_s: Some(0.0),
        ..SettingsPatch::default()
    };
    let daemon = Daemon::start(options).map_err(|error| trouble(error.to_string()))?;
    for number in 0..u64::from(args.tenants) {
        wait(daemon.create_tenant(&Caller::admin(), new_tenant(tenant(number))))
            .map_err(|problem| trouble(problem.detail))?;
    }
    Ok(daemon)
}

fn new_tenant(name: String) -> TenantCreate {
    TenantCreate { name, weight: None, group: None, limits: Limits::default(), user: None }
}

/// Looks now and then how things stand, until it is over.
fn watch(
    soak: &mut Soak,
    daemon: &Daemon,
    cluster: &Emulated,
    folder: &Path,
    (began, until): (Instant, Instant),
) {
    let every = (until - began) / SAMPLES;
    let mut due = began;
    loop {
        let now = Instant::now();
        let problems = daemon.problems();
        if !problems.is_empty() {
            let at = began.elapsed().as_secs_f64();
            soak.first_problem.get_or_insert((at, problems.join("; ")));
        }
        if now >= due || now >= until {
            due = now + every;
            soak.samples.push(sample(daemon, cluster, folder, began));
        }
        if now >= until {
            return;
        }
        thread::sleep(Duration::from_secs(1).min(until - now));
    }
}

fn sample(daemon: &Daemon, cluster: &Emulated, folder: &Path, began: Instant) -> Sample {
    let gauges = daemon.gauges();
    let files = std::fs::read_dir(folder.join("state")).into_iter().flatten().flatten();
    let journal = files.filter(|file| file.file_name().to_string_lossy().starts_with("oef.db"));
    Sample {
        second: began.elapsed().as_secs_f64(),
        memory_bytes: memory::of("self", "VmRSS:"),
        journal_bytes: journal.filter_map(|file| Some(file.metadata().ok()?.len())).sum(),
        journal_records: gauges.journal_seq,
        running: cluster.running(),
        queued: gauges.jobs.get(&JobState::Queued).copied().unwrap_or(0),
        round: gauges.round,
    }
}

fn add_up(soak: &mut Soak, parts: Vec<Submitted>, seen: &[Seen]) {
    let mut took = Vec::new();
    for part in parts {
        took.extend(part.took);
        soak.refused += part.refused;
        let earlier = |(at, _): &(f64, String)| {
            soak.first_refusal.as_ref().is_none_or(|(known, _)| at < known)
        };
        if let Some(first) = part.first.filter(earlier) {
            soak.first_refusal = Some(first);
        }
    }
    took.sort_by(f64::total_cmp);
    let at = |part: f64| {
        let last = took.len().saturating_sub(1);
        took.get((last as f64 * part) as usize).copied().unwrap_or(0.0)
    };
    (soak.submission_p50_s, soak.submission_p99_s, soak.submission_max_s) =
        (at(0.5), at(0.99), at(1.0));
    soak.submitted = took.len();
    soak.events = seen.iter().map(|seen| seen.events).sum();
    soak.lost_events = seen.iter().map(|seen| seen.lost).sum();
}
