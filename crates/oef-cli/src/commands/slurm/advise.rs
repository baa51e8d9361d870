//! `oef slurm advise`: GPU limits of accounts at their computed shares, and back again.

use super::{failure, slurm};
use crate::args::problem::SolveArgs;
use crate::args::slurm::AdviseArgs;
use crate::commands::problem::solving::solve_and_audit;
use crate::input;
use oef_core::{Problem, Shares, TenantId};
use oef_executor::slurm::{Slurm, account_limits, demands, gpu_nodes, set_limits, tres_of};
use oef_terminal::{Complaint, Exit, Failure, Printer, Source, file};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How soon Ctrl-C is heard.
const WAKE: Duration = Duration::from_millis(200);

/// Limits as they were before, by account and kind; none: there was no limit.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Before {
    limits: BTreeMap<String, BTreeMap<String, Option<u32>>>,
}

/// What was computed.
#[derive(Debug, Serialize)]
struct Advice {
    version: u32,
    applied: bool,
    demands: BTreeMap<String, u32>,
    limits: BTreeMap<String, BTreeMap<String, u32>>,
}

/// Runs the command.
pub fn run(args: &AdviseArgs, printer: &Printer) -> Result<Exit, Failure> {
    let called = slurm(&args.slurm);
    let kept = args.keep.clone().unwrap_or_else(|| args.problem.with_extension("limits.json"));
    if args.undo {
        undo(&called, &kept, printer)?;
        return Ok(Exit::Done);
    }
    let stopped = Arc::new(AtomicBool::new(false));
    let hears = Arc::clone(&stopped);
    if args.every.is_some() {
        ctrlc::set_handler(move || hears.store(true, Ordering::Relaxed))
            .map_err(|error| Complaint::new(format!("signals cannot be caught: {error}")))?;
    }
    loop {
        let advice = advise(args, &called, &kept, printer)?;
        printer.show(args.slurm.json, || &advice, || text(&advice))?;
        let Some(every) = args.every.filter(|_| !args.dry_run) else { return Ok(Exit::Done) };
        let begun = Instant::now();
        while begun.elapsed() < every && !stopped.load(Ordering::Relaxed) {
            std::thread::sleep(WAKE.min(every));
        }
        if stopped.load(Ordering::Relaxed) {
            undo(&called, &kept, printer)?;
            return Ok(Exit::Done);
        }
    }
}

fn advise(
    args: &AdviseArgs,
    called: &Slurm,
    kept: &Path,
    printer: &Printer,
) -> Result<Advice, Failure> {
    let limits = account_limits(called).map_err(failure)?;
    let demands = demands(called).map_err(failure)?;
    let problem = problem_now(args, called, &demands)?;
    let loaded = input::load(&problem, &[])?;
    let solved = solve_and_audit(
        &loaded.problem,
        args.mechanism,
        SolveArgs { gavel_cap: None, time_limit: None },
        printer,
    )?;
    let wanted = whole(&loaded.problem, &solved.outcome.shares);
    if let Some(account) = wanted.keys().find(|account| !limits.contains_key(*account)) {
        let complaint =
            Complaint::new(format!("there is no account `{account}` in Slurm's accounting"));
        let hint = "name tenants as their accounts; `sacctmgr show account` lists them";
        return Err(complaint.hint(hint).into());
    }
    if !args.dry_run {
        keep(kept, &wanted, &limits)?;
        for (account, limits) in &wanted {
            let limits = limits.iter().map(|(kind, count)| (kind.clone(), Some(*count))).collect();
            set_limits(called, account, &limits).map_err(failure)?;
        }
    }
    Ok(Advice { version: 1, applied: !args.dry_run, demands, limits: wanted })
}

/// The problem with what there is and what is asked for now, beside the given one.
fn problem_now(
    args: &AdviseArgs,
    called: &Slurm,
    demands: &BTreeMap<String, u32>,
) -> Result<PathBuf, Failure> {
    let source = Source::read(&args.problem)?;
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
    let path = args.problem.with_extension("now.toml");
    file::write(&path, &table.to_string())?;
    Ok(path)
}

/// Shares as whole GPUs: never more than there are, the largest remainders first.
fn whole(problem: &Problem, shares: &Shares) -> BTreeMap<String, BTreeMap<String, u32>> {
    let mut limits: BTreeMap<String, BTreeMap<String, u32>> = BTreeMap::new();
    for (j, gpu) in problem.types().iter().enumerate() {
        let share = |tenant: TenantId| {
            let name = problem.tenants()[tenant.0].name.clone();
            (name, shares.of_tenant(problem, tenant).get(j).copied().unwrap_or(0.0))
        };
        let column: Vec<(String, f64)> = problem.tenant_ids().map(share).collect();
        // Whole in this problem: it was counted.
        let count = gpu.capacity as u32;
        for (tenant, gpus) in largest_remainder(&column, count) {
            limits.entry(tenant).or_default().insert(tres_of(&gpu.name), gpus);
        }
    }
    limits
}

fn largest_remainder(column: &[(String, f64)], count: u32) -> Vec<(String, u32)> {
    // A share of a whole number may be off by the last bit.
    let floor = |share: f64| (share + 1e-6).floor().max(0.0);
    let mut whole: Vec<(usize, u32, f64)> = column
        .iter()
        .enumerate()
        .map(|(at, (_, share))| (at, floor(*share) as u32, share - floor(*share)))
        .collect();
    let given: u32 = whole.iter().map(|(_, gpus, _)| gpus).sum();
    let total: f64 = column.iter().map(|(_, share)| share).sum();
    let left = (total.round().max(0.0) as u32).min(count).saturating_sub(given);
    whole.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(&b.0)));
    for (_, gpus, _) in whole.iter_mut().take(left as usize) {
        *gpus += 1;
    }
    whole.sort_by_key(|(at, ..)| *at);
    whole.into_iter().map(|(at, gpus, _)| (column[at].0.clone(), gpus)).collect()
}

/// Writes down what was there before anything is changed. What is kept already is older, and stays.
fn keep(
    path: &Path,
    wanted: &BTreeMap<String, BTreeMap<String, u32>>,
    limits: &BTreeMap<String, BTreeMap<String, u32>>,
) -> Result<(), Failure> {
    let mut before = kept_before(path)?;
    for (account, kinds) in wanted {
        for kind in kinds.keys() {
            let known = limits.get(account).and_then(|limits| limits.get(kind)).copied();
            before.limits.entry(account.clone()).or_default().entry(kind.clone()).or_insert(known);
        }
    }
    let text = serde_json::to_string_pretty(&before)
        .map_err(|error| Complaint::new(format!("the limits cannot be written: {error}")))?;
    file::write(path, &format!("{text}\n"))
}

fn kept_before(path: &Path) -> Result<Before, Failure> {
    if !path.exists() {
        return Ok(Before::default());
    }
    let source = Source::read(path)?;
    let read = serde_json::from_str(&source.text);
    read.map_err(|error| {
        Complaint::new(format!("not what was kept: {error}")).at(source.label).into()
    })
}

fn undo(called: &Slurm, kept: &Path, printer: &Printer) -> Result<(), Failure> {
    let before = kept_before(kept)?;
    for (account, limits) in &before.limits {
        set_limits(called, account, limits).map_err(failure)?;
    }
    if kept.exists() {
        std::fs::remove_file(kept).map_err(|error| {
            Complaint::new(format!("cannot be removed: {error}")).at(kept.display().to_string())
        })?;
    }
    printer.note(&format!("the limits of {} accounts are as they were", before.limits.len()));
    Ok(())
}

fn text(advice: &Advice) -> String {
    let mut text = String::new();
    for (account, limits) in &advice.limits {
        let shown: Vec<String> =
            limits.iter().map(|(kind, count)| format!("{kind}={count}")).collect();
        let demand = advice.demands.get(account).copied().unwrap_or(0);
        text += &format!("{account}: GrpTRES={} (its jobs ask for {demand})\n", shown.join(","));
    }
    if !advice.applied {
        text += "nothing was changed (--dry-run)\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_become_whole_gpus_and_never_more_than_there_are() {
        let column = |shares: &[f64]| -> Vec<(String, f64)> {
            shares.iter().enumerate().map(|(at, share)| (format!("t{at}"), *share)).collect()
        };
        let gpus = |shares: &[f64], count| -> Vec<u32> {
            largest_remainder(&column(shares), count).into_iter().map(|(_, gpus)| gpus).collect()
        };
        assert_eq!(gpus(&[2.5, 2.5, 3.0], 8), [3, 2, 3]);
        assert_eq!(gpus(&[2.9999999, 5.0], 8), [3, 5]);
        assert_eq!(gpus(&[0.4, 0.4], 8), [1, 0], "what is shared is given");
        assert_eq!(gpus(&[0.0, 0.0], 8), [0, 0]);
    }
}
