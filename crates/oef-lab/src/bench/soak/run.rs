//! Runs a soak.

use super::args::{BenchSoakArgs, Load};
use super::cluster::{Emulated, FAST, SLOW};
use super::judge::{broke, judge};
use super::load::{
    Plan, Seen, Submitted, WORKLOAD, fast_throughput, read_events, submit, tenant, wait,
};
use super::report::{HEADING, Sample, Soak, render, row};
use crate::bench::daemon::trouble;
use crate::bench::memory;
use oef_api::types::{JobState, SettingsPatch, TenantCreate, WorkloadPut};
use oef_executor::Executor;
use oef_server::caller::Caller;
use oef_server::daemon::{Daemon, Memory, Options, StopJobs};
use oef_terminal::{Complaint, Exit, Failure, Printer};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Submissions that may be under way at once.
const THREADS: u32 = 16;
/// How often it is written down how things stand, over the whole run.
const SAMPLES: u32 = 60;
/// Rounds that may be missing: the first and the last are not whole.
const ROUNDS_MISSED: u64 = 1;

/// How much of the cluster is in use in the long run: with all of it, what waits after a pause would wait for ever.
const USED: f64 = 0.97;
/// Documents of rounds that the daemon may keep: reached within minutes, so that it is seen that they end there. By
/// default there may be more.
const ROUND_BYTES: u64 = 64 << 20;

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
    let load = args.load();
    printer.note(&format!(
        "{} submissions/s by {} tenants for {} s; the state is in {}",
        load.rate,
        load.tenants,
        load.seconds,
        folder.display()
    ));
    printer.note(HEADING);
    let soak = soak(load, &folder, &|sample| printer.note(&row(sample)));
    let _ = std::fs::remove_dir_all(&folder);
    let soak = soak?;
    printer.show(args.json, || soak.clone(), || render(&soak))?;
    Ok(if soak.holds() { Exit::Done } else { Exit::DoesNotHold })
}

/// Puts a load on a daemon whose state is in `folder`, and tells each sample when it is taken.
pub fn soak(load: Load, folder: &Path, tell: &dyn Fn(&Sample)) -> Result<Soak, Failure> {
    let cluster = Arc::new(Emulated::new(load.gpus));
    let daemon = start(load, folder, Arc::clone(&cluster) as Arc<dyn Executor>)?;
    let began = Instant::now();
    let plan = Plan {
        rate: load.rate,
        tenants: load.tenants,
        job_s: USED * f64::from(load.gpus) / f64::from(load.rate),
        began,
        until: began + Duration::from_secs(u64::from(load.seconds)),
    };
    // The number of the last event; it is known when the load is over.
    let (next, end) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
    let mut soak = Soak {
        version: 1,
        load: Some(load),
        rounds_expected: u64::from(load.seconds / load.round),
        ..Soak::default()
    };
    let (parts, seen) = thread::scope(|scope| {
        let readers: Vec<_> =
            (0..load.streams).map(|_| scope.spawn(|| read_events(&daemon, began, &end))).collect();
        let submitters: Vec<_> =
            (0..THREADS).map(|_| scope.spawn(|| submit(&daemon, plan, &next))).collect();
        let first_round = daemon.gauges().round;
        let look = || sample(&daemon, &cluster, folder, began);
        watch(&mut soak, &daemon, plan, &look, tell);
        soak.rounds = daemon.gauges().round - first_round;
        let parts: Vec<Submitted> =
            submitters.into_iter().map(|thread| thread.join().unwrap_or_default()).collect();
        soak.seconds = began.elapsed().as_secs_f64();
        soak.finished = daemon.with_world(|world| world.totals.finished);
        end.store(daemon.with_world(|world| world.next_event), Ordering::Relaxed);
        // One more event at least: those who wait for the next see that it is over.
        let _ = new_tenant(&daemon, "end-of-soak");
        let seen: Vec<Seen> =
            readers.into_iter().map(|thread| thread.join().unwrap_or_default()).collect();
        (parts, seen)
    });
    daemon.stop(StopJobs::LeaveRunning);
    if soak.rounds + ROUNDS_MISSED < soak.rounds_expected {
        let what = format!("only {} of {} rounds began", soak.rounds, soak.rounds_expected);
        broke(&mut soak, f64::from(load.seconds), what);
    }
    judge(&mut soak, parts, &seen, Memory::default().ended_jobs_max);
    Ok(soak)
}

fn start(load: Load, folder: &Path, executor: Arc<dyn Executor>) -> Result<Daemon, Failure> {
    let mut options = Options::new(folder.join("state"), executor);
    options.memory.round_bytes_max = ROUND_BYTES;
    options.settings = SettingsPatch {
        round_s: Some(f64::from(load.round)),
        min_run_s: Some(0.0),
        ..SettingsPatch::default()
    };
    let daemon = Daemon::start(options).map_err(|error| trouble(error.to_string()))?;
    let admin = Caller::admin();
    for number in 0..u64::from(load.tenants) {
        let name = tenant(number);
        let profile = BTreeMap::from([(SLOW.into(), 1.0), (FAST.into(), fast_throughput(number))]);
        let workload = WorkloadPut { throughput: Some(profile), ..WorkloadPut::default() };
        new_tenant(&daemon, &name)?;
        wait(daemon.put_workload(&admin, &name, WORKLOAD, workload))
            .map_err(|problem| trouble(problem.detail))?;
    }
    Ok(daemon)
}

fn new_tenant(daemon: &Daemon, name: &str) -> Result<(), Failure> {
    let create = TenantCreate::named(name.parse().map_err(trouble)?);
    let created = wait(daemon.create_tenant(&Caller::admin(), create));
    created.map(drop).map_err(|problem| trouble(problem.detail))
}

/// Looks now and then how things stand, until it is over.
fn watch(
    soak: &mut Soak,
    daemon: &Daemon,
    plan: Plan,
    look: &dyn Fn() -> Sample,
    tell: &dyn Fn(&Sample),
) {
    let every = (plan.until - plan.began) / SAMPLES;
    let mut due = plan.began;
    loop {
        let now = Instant::now();
        let problems = daemon.problems();
        if !problems.is_empty() {
            let at = plan.began.elapsed().as_secs_f64();
            broke(soak, at, format!("the daemon is not ready: {}", problems.join("; ")));
        }
        if now >= due || now >= plan.until {
            due = now + every;
            let sample = look();
            tell(&sample);
            soak.samples.push(sample);
        }
        if now >= plan.until {
            return;
        }
        thread::sleep(Duration::from_secs(1).min(every).min(plan.until - now));
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
        ended: daemon.with_world(|world| world.ended.len() as u64),
        round: gauges.round,
    }
}
