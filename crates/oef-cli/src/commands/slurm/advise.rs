//! `oef slurm advise`: GPU limits of accounts at their computed shares, and back again.

use super::{failure, slurm};
use crate::args::problem::SolveArgs;
use crate::args::slurm::AdviseArgs;
use crate::commands::problem::solving::solve_and_audit;
use crate::input;
use oef_executor::slurm::{Slurm, demands, gpu_nodes, tres_of};
use oef_server::slurm::{AdviceError, Advise, Advisor, Grants, whole};
use oef_terminal::numbers::counted;
use oef_terminal::{Complaint, Exit, Failure, Printer, Source, file};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How soon Ctrl-C is heard.
const WAKE: Duration = Duration::from_millis(200);

/// What was computed.
#[derive(Debug, Serialize)]
struct Advice {
    version: u32,
    applied: bool,
    demands: BTreeMap<String, u32>,
    /// GPUs of each type, by account.
    limits: Grants,
}

pub fn run(args: &AdviseArgs, printer: &Printer) -> Result<Exit, Failure> {
    let called = slurm(&args.slurm);
    let advisor = Advisor::new(called.clone(), kept(args)?);
    if args.undo {
        undo(&advisor, printer)?;
        return Ok(Exit::Done);
    }
    let stopped = Arc::new(AtomicBool::new(false));
    let hears = Arc::clone(&stopped);
    if args.every.is_some() {
        ctrlc::set_handler(move || hears.store(true, Ordering::Relaxed))
            .map_err(|error| Complaint::new(format!("signals cannot be caught: {error}")))?;
    }
    loop {
        let advice = advise(args, &called, &advisor, printer)?;
        printer.show(args.slurm.json, || &advice, || text(&advice))?;
        let Some(every) = args.every.filter(|_| !args.dry_run) else { return Ok(Exit::Done) };
        let begun = Instant::now();
        while begun.elapsed() < every && !stopped.load(Ordering::Relaxed) {
            std::thread::sleep(WAKE.min(every));
        }
        if stopped.load(Ordering::Relaxed) {
            undo(&advisor, printer)?;
            return Ok(Exit::Done);
        }
    }
}

/// Where the old values are kept.
fn kept(args: &AdviseArgs) -> Result<PathBuf, Failure> {
    let beside = || args.problem.as_ref().map(|problem| problem.with_extension("limits.json"));
    let of_daemon = args.state.as_deref().map(Advisor::file_in);
    of_daemon.or_else(|| args.keep.clone()).or_else(beside).ok_or_else(|| {
        let hint = "name the problem file, or the daemon's state folder with --state DIR";
        Complaint::new("--restore needs to know where the old values are kept").hint(hint).into()
    })
}

fn advise(
    args: &AdviseArgs,
    called: &Slurm,
    advisor: &Advisor,
    printer: &Printer,
) -> Result<Advice, Failure> {
    let demands = demands(called).map_err(failure)?;
    let problem = problem_now(args, called, &demands)?;
    let loaded = input::load(&problem, &[])?;
    let solved = solve_and_audit(
        &loaded.problem,
        args.mechanism,
        SolveArgs { gavel_cap: None, time_limit: None },
        printer,
    )?;
    let limits = whole(&loaded.problem, &solved.outcome.shares);
    if !args.dry_run {
        let what = if args.fairshare { Advise::Fairshare } else { Advise::Limits };
        advisor.set(what, &limits).map_err(refused)?;
    }
    Ok(Advice { version: 1, applied: !args.dry_run, demands, limits })
}

fn refused(error: AdviceError) -> Failure {
    Complaint::new(error.to_string()).hint("`oef slurm doctor` says what is missing").into()
}

fn undo(advisor: &Advisor, printer: &Printer) -> Result<(), Failure> {
    let count = advisor.restore().map_err(refused)?;
    printer.note(&format!("restored the old values of {}", counted(count, "account")));
    Ok(())
}

/// The problem with what there is and what is asked for now, beside the given one.
fn problem_now(
    args: &AdviseArgs,
    called: &Slurm,
    demands: &BTreeMap<String, u32>,
) -> Result<PathBuf, Failure> {
    let path = args.problem.clone().unwrap_or_default();
    let source = Source::read(&path, input::EXAMPLE)?;
    let wrong = |what: String| Complaint::new(what).at(source.label.clone());
    let mut table: toml::Table =
        toml::from_str(&source.text).map_err(|error| wrong(error.message().to_string()))?;
    let nodes = gpu_nodes(called, args.slurm.partition.as_deref(), None).map_err(failure)?;
    let mut counts: BTreeMap<String, i64> = BTreeMap::new();
    for node in nodes.values() {
        *counts.entry(node.gpu_type().to_string()).or_default() += i64::from(node.gpus);
    }
    let gpu = |(name, count): (String, i64)| {
        toml::Table::from_iter([
            ("type".to_string(), name.into()),
            ("count".to_string(), count.into()),
        ])
    };
    let gpus: Vec<toml::Value> = counts.into_iter().map(gpu).map(toml::Value::Table).collect();
    table.insert("gpu".into(), gpus.into());
    let tenants = table.get_mut("tenant").and_then(toml::Value::as_array_mut);
    for tenant in tenants.into_iter().flatten().filter_map(toml::Value::as_table_mut) {
        let name = tenant.get("name").and_then(toml::Value::as_str).unwrap_or_default();
        // Who asks for nothing now may ask in a moment.
        let demand = demands.get(name).copied().unwrap_or(0).max(1);
        tenant.insert("demand".into(), i64::from(demand).into());
    }
    let path = path.with_extension("now.toml");
    file::write(&path, &table.to_string())?;
    Ok(path)
}

fn text(advice: &Advice) -> String {
    let mut text = String::new();
    for (account, limits) in &advice.limits {
        let shown: Vec<String> =
            limits.iter().map(|(gpu, count)| format!("{}={count}", tres_of(gpu))).collect();
        let demand = advice.demands.get(account).copied().unwrap_or(0);
        text += &format!("{account}: GrpTRES={} (its jobs ask for {demand})\n", shown.join(","));
    }
    if !advice.applied {
        text += "nothing was changed (--dry-run)\n";
    }
    text
}
