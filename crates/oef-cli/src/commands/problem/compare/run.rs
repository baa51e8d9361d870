//! `oef compare`: all mechanisms side by side on one problem.

use super::table;
use crate::args::problem::CompareArgs;
use crate::commands::problem::solving::{Solved, solve_and_audit, warn_useless_cap};
use crate::input;
use crate::output::audit_document::AuditDocument;
use crate::output::document::SolverDocument;
use oef_core::audit::equal_splits;
use oef_core::{Mechanism, Problem, SolveError, TenantId};
use oef_terminal::document::{VERSION, finite};
use oef_terminal::numbers::ratio;
use oef_terminal::{Exit, Failure, Printer};
use serde::Serialize;

/// Below this share a tenant does not count as holding a type.
const HELD: f64 = 1e-9;

/// The figures of one mechanism on the problem.
#[derive(Debug)]
pub struct Entry {
    /// The mechanism.
    pub mechanism: Mechanism,
    /// Its audited answer.
    pub solved: Solved,
    /// Total throughput.
    pub total: f64,
    /// Throughput over equal split of each tenant.
    pub ratios: Vec<f64>,
    /// The equal split of each tenant.
    pub splits: Vec<f64>,
    /// The least favoured tenant.
    pub least: TenantId,
    /// The most favoured tenant.
    pub most: TenantId,
    /// Gpu types that a tenant holds on average.
    pub types_per_tenant: f64,
}

/// Runs the command.
pub fn run(args: &CompareArgs, printer: &Printer) -> Result<Exit, Failure> {
    let loaded = input::load(&args.problem.path, &args.problem.counts)?;
    let problem = &loaded.problem;
    let asked =
        if args.mechanism.is_empty() { Mechanism::ALL.to_vec() } else { args.mechanism.clone() };
    warn_useless_cap(args.solve, &asked, printer);
    let results: Vec<(Mechanism, Result<Entry, SolveError>)> = asked
        .into_iter()
        .map(|m| (m, solve_and_audit(problem, m, args.solve, printer).map(|s| entry(problem, s))))
        .collect();
    printer.show(args.json, || document(problem, &results), || table::render(problem, &results))?;
    let mut exit = Exit::Done;
    for (_, result) in results {
        if let Err(error) = result
            && let Failure::Said { exit: code, complaints } = error.into()
        {
            printer.complain(&complaints);
            exit = code;
        }
    }
    Ok(exit)
}

fn entry(problem: &Problem, solved: Solved) -> Entry {
    let shares = &solved.outcome.shares;
    let splits = equal_splits(problem);
    let ratios: Vec<f64> = (problem.tenant_ids().zip(&splits))
        .map(|(t, split)| ratio(shares.throughput(problem, t), *split))
        .collect();
    let held: usize = problem
        .tenant_ids()
        .map(|t| shares.of_tenant(problem, t).iter().filter(|x| **x > HELD).count())
        .sum();
    // A valid problem has a tenant; the first of equals is named.
    let by_ratio = |a: &TenantId, b: &TenantId| ratios[a.0].total_cmp(&ratios[b.0]);
    let least = problem.tenant_ids().min_by(by_ratio).unwrap_or(TenantId(0));
    let most = problem.tenant_ids().min_by(|a, b| by_ratio(b, a)).unwrap_or(TenantId(0));
    Entry {
        mechanism: solved.outcome.mechanism,
        total: shares.total(problem),
        least,
        most,
        types_per_tenant: held as f64 / problem.tenants().len() as f64,
        ratios,
        splits,
        solved,
    }
}

#[derive(Serialize)]
struct CompareDocument<'a> {
    version: u32,
    reference: &'a str,
    mechanisms: Vec<EntryDocument<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum EntryDocument<'a> {
    Solved(Box<SolvedDocument<'a>>),
    Failed { mechanism: &'static str, error: String },
}

#[derive(Serialize)]
struct SolvedDocument<'a> {
    mechanism: &'static str,
    total: f64,
    least: TenantRatio<'a>,
    most: TenantRatio<'a>,
    envy_free: bool,
    sharing_incentive: bool,
    pareto_efficient: bool,
    worst_envy: f64,
    types_per_tenant: f64,
    tenants: Vec<TenantLine<'a>>,
    audit: AuditDocument<'a>,
    solver: SolverDocument,
}

#[derive(Serialize)]
struct TenantRatio<'a> {
    name: &'a str,
    ratio: f64,
}

#[derive(Serialize)]
struct TenantLine<'a> {
    name: &'a str,
    throughput: f64,
    equal_split: f64,
    ratio: f64,
}

fn document<'a>(
    problem: &'a Problem,
    results: &[(Mechanism, Result<Entry, SolveError>)],
) -> CompareDocument<'a> {
    let mechanisms = results.iter().map(|(mechanism, result)| match result {
        Ok(entry) => EntryDocument::Solved(Box::new(solved_document(problem, entry))),
        Err(error) => {
            EntryDocument::Failed { mechanism: mechanism.name(), error: error.to_string() }
        }
    });
    CompareDocument {
        version: VERSION,
        reference: &problem.types()[problem.reference().0].name,
        mechanisms: mechanisms.collect(),
    }
}

fn solved_document<'a>(problem: &'a Problem, entry: &Entry) -> SolvedDocument<'a> {
    let name = |t: TenantId| problem.tenants()[t.0].name.as_str();
    let at = |t: TenantId| TenantRatio { name: name(t), ratio: finite(entry.ratios[t.0]) };
    let certificate = &entry.solved.certificate;
    let tenants = problem.tenant_ids().map(|t| TenantLine {
        name: name(t),
        throughput: finite(entry.solved.outcome.shares.throughput(problem, t)),
        equal_split: finite(entry.splits[t.0]),
        ratio: finite(entry.ratios[t.0]),
    });
    SolvedDocument {
        mechanism: entry.mechanism.name(),
        total: finite(entry.total),
        least: at(entry.least),
        most: at(entry.most),
        envy_free: certificate.envy_free.holds,
        sharing_incentive: certificate.sharing_incentive.holds,
        pareto_efficient: certificate.pareto_efficient.holds,
        worst_envy: finite(certificate.envy_free.worst),
        types_per_tenant: finite(entry.types_per_tenant),
        tenants: tenants.collect(),
        audit: AuditDocument::new(problem, certificate),
        solver: SolverDocument::new(&entry.solved.outcome, Some(entry.solved.seconds)),
    }
}
