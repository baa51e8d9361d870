//! `oef compare`: all mechanisms side by side on one problem.

use super::solving::{Solved, solve_and_audit, warn_useless_cap};
use crate::args::problem::CompareArgs;
use crate::input;
use crate::output::audit_document::audit_document;
use crate::output::certificate::mark_of_pareto;
use crate::output::document::solver_document;
use oef_core::audit::equal_splits;
use oef_core::{Mechanism, Problem, SolveError, TenantId};
use oef_report::format::{duration, figure, percent};
use oef_terminal::bars::{bar, level};
use oef_terminal::document::{Document, finite};
use oef_terminal::mark::Mark;
use oef_terminal::names::{cut, short};
use oef_terminal::numbers::{counted, fixed, ratio};
use oef_terminal::table::{Cell, Table};
use oef_terminal::{Exit, Failure, Printer};
use owo_colors::{OwoColorize as _, Style};
use serde::Serialize;

/// Below this share a tenant does not count as holding a type.
const HELD: f64 = 1e-9;

/// The figures of one mechanism on the problem.
#[derive(Debug)]
pub struct Entry {
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
    printer.show(args.json, || document(problem, &results), || render(problem, &results))?;
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
#[serde(untagged)]
enum Line<S, F> {
    Solved(S),
    Failed(F),
}

fn document(
    problem: &Problem,
    results: &[(Mechanism, Result<Entry, SolveError>)],
) -> impl Serialize {
    let mechanisms = results.iter().map(|(mechanism, result)| {
        let failed = |error: &SolveError| {
            let named = Document::part().with("mechanism", mechanism.name());
            named.with("error", error.to_string())
        };
        match result {
            Ok(entry) => Line::Solved(solved_document(problem, entry)),
            Err(error) => Line::Failed(failed(error)),
        }
    });
    Document::whole()
        .with("reference", problem.types()[problem.reference().0].name.as_str())
        .list("mechanisms", mechanisms)
}

fn solved_document(problem: &Problem, entry: &Entry) -> impl Serialize {
    let name = |t: TenantId| problem.tenants()[t.0].name.as_str();
    let ratio = |t: TenantId| finite(entry.ratios[t.0]);
    let at = |t: TenantId| Document::part().with("name", name(t)).with("ratio", ratio(t));
    let certificate = &entry.solved.certificate;
    let tenants = problem.tenant_ids().map(|t| {
        Document::part()
            .with("name", name(t))
            .number("throughput", entry.solved.outcome.shares.throughput(problem, t))
            .number("equal_split", entry.splits[t.0])
            .with("ratio", ratio(t))
    });
    Document::part()
        .with("mechanism", entry.mechanism.name())
        .number("total", entry.total)
        .with("least", at(entry.least))
        .with("most", at(entry.most))
        .with("envy_free", certificate.envy_free.holds)
        .with("sharing_incentive", certificate.sharing_incentive.holds)
        .with("pareto_efficient", certificate.pareto_efficient.holds)
        .number("worst_envy", certificate.envy_free.worst)
        .number("types_per_tenant", entry.types_per_tenant)
        .list("tenants", tenants)
        .with("audit", audit_document(problem, certificate))
        .with("solver", solver_document(&entry.solved.outcome, Some(entry.solved.seconds)))
}

/// One upright bar per tenant stays readable up to here.
const BARS_PER_TENANT_MAX: usize = 32;
const BAR_WIDTH: usize = 10;
/// Two names stand in every line, so they are cut sooner than elsewhere.
const NAME_WIDTH: usize = 20;
/// A full upright bar: so an equal split is half of one in every comparison.
const FULL_RATIO: f64 = 2.0;

/// The whole comparison.
pub fn render(problem: &Problem, results: &[(Mechanism, Result<Entry, SolveError>)]) -> String {
    let solved: Vec<&Entry> = results.iter().filter_map(|(_, r)| r.as_ref().ok()).collect();
    let full = solved.iter().map(|e| e.total).fold(0.0, f64::max);
    let with_bars = problem.tenants().len() <= BARS_PER_TENANT_MAX;
    let mut table = Table::new(header(with_bars));
    for (mechanism, result) in results {
        match result {
            Ok(entry) => table.row(row(problem, entry, full, with_bars)),
            Err(error) => table.remark(format!("{mechanism}: no result ({error})")),
        }
    }
    let mut out = heading(problem);
    out.push_str(&table.fitted());
    out.push_str(&legend(with_bars));
    out
}

fn heading(problem: &Problem) -> String {
    let types: Vec<String> = (problem.types().iter())
        .map(|t| format!("{} {}", figure(t.capacity), short(&t.name)))
        .collect();
    let how = if problem.reference_declared() { "declared" } else { "derived" };
    format!(
        "{} share {}; throughput is counted in GPUs of type {} ({how})\n\n",
        counted(problem.tenants().len(), "tenant").bold(),
        types.join(", "),
        short(&problem.types()[problem.reference().0].name),
    )
}

fn header(with_bars: bool) -> Vec<Cell> {
    let mut header = vec![Cell::text("mechanism").whole(), Cell::number("total"), Cell::text("")];
    header.extend(["least favoured", "most favoured"].map(|name| Cell::text(name).whole()));
    header.extend(["EF", "SI", "PE"].map(Cell::text));
    header.extend(["envy", "types", "time"].map(Cell::number));
    header.extend(with_bars.then(|| Cell::text("each tenant")));
    header
}

fn row(problem: &Problem, entry: &Entry, full: f64, with_bars: bool) -> Vec<Cell> {
    let favoured = |t: TenantId| {
        let ratio = entry.ratios[t.0];
        let style = if ratio < 1.0 - 1e-6 { Style::new().red() } else { Style::new() };
        Cell::text(format!("{}x {}", fixed(ratio), cut(&problem.tenants()[t.0].name, NAME_WIDTH)))
            .style(style)
    };
    let certificate = &entry.solved.certificate;
    let marks = [
        Mark::of(certificate.envy_free.holds),
        Mark::of(certificate.sharing_incentive.holds),
        mark_of_pareto(&certificate.pareto_efficient),
    ];
    let mut cells = vec![
        Cell::text(entry.mechanism.name()).style(Style::new().bold()),
        Cell::number(fixed(entry.total)),
        Cell::text(bar(entry.total, full, BAR_WIDTH)).style(Style::new().blue()),
        favoured(entry.least),
        favoured(entry.most),
    ];
    cells.extend(marks.map(|m| Cell::text(m.symbol()).style(m.style())));
    let envy = certificate.envy_free.worst;
    cells.push(Cell::number(if envy > 1e-9 { percent(envy) } else { "·".into() }));
    cells.push(Cell::number(format!("{:.2}", entry.types_per_tenant)));
    cells.push(Cell::number(duration(entry.solved.seconds)));
    if with_bars {
        let bars: String = entry.ratios.iter().map(|&r| level(r, FULL_RATIO)).collect();
        cells.push(Cell::text(bars).style(Style::new().cyan()));
    }
    cells
}

fn legend(with_bars: bool) -> String {
    let mut out = String::from(
        "\nfavoured: throughput over that of an equal split by weight; EF: nobody envies; SI: nobody \
         below its\nequal split; PE: nobody can gain without another's loss; envy: how much more another's \
         bundle is worth at\nworst; types: gpu types that a tenant holds on average\n",
    );
    if with_bars {
        out.push_str(
            "each tenant: throughput over equal split, in the file's order; a half bar is 1x, a full one \
             2x or more\n",
        );
    }
    out.push_str(
        "next: oef share PROBLEM --mechanism NAME shows the shares, oef explain says why\n",
    );
    out
}
