//! `oef share`: who gets which GPUs, what that is worth, and which properties hold.

use super::solving::{Solved, solve_and_audit, warn_useless_cap};
use crate::args::problem::{Property, ShareArgs};
use crate::input;
use crate::output::certificate;
use crate::output::document::share_document;
use oef_core::audit::equal_splits;
use oef_core::{Problem, SolverReport, Status, TenantId};
use oef_report::format::{duration, figure, percent};
use oef_terminal::bars::bar;
use oef_terminal::document::status_word;
use oef_terminal::mark::Mark;
use oef_terminal::names::short;
use oef_terminal::numbers::{amount, counted, fixed, ratio};
use oef_terminal::table::{Cell, Table};
use oef_terminal::{Complaint, Exit, Failure, Printer};
use owo_colors::{OwoColorize as _, Style};
use std::fmt::Write as _;

pub fn run(args: &ShareArgs, printer: &Printer) -> Result<Exit, Failure> {
    let loaded = input::load(&args.problem.path, &args.problem.counts)?;
    warn_useless_cap(args.solve, &[args.mechanism], printer);
    let solved = solve_and_audit(&loaded.problem, args.mechanism, args.solve, printer)?;
    printer.show(
        args.json,
        || share_document(&loaded.problem, &solved),
        || render(&loaded.problem, &solved, args.all),
    )?;
    let broken = broken(&loaded.problem, &solved, &args.require);
    printer.complain(&broken);
    Ok(if broken.is_empty() { Exit::Done } else { Exit::DoesNotHold })
}

/// The required properties that are not proven to hold, each with its witness.
fn broken(problem: &Problem, solved: &Solved, required: &[Property]) -> Vec<Complaint> {
    let judge = |p: Property| certificate::judge(problem, &solved.outcome, &solved.certificate, p);
    let judged = required.iter().map(|&property| (property, judge(property)));
    let complaints =
        judged.filter(|(_, (mark, _))| *mark != Mark::Holds).map(|(property, (_, why))| {
            let title = certificate::title(property);
            Complaint::new(format!("required, but does not hold: {title}: {why}")).at("--require")
        });
    complaints.collect()
}

/// Up to here every tenant is shown; beyond it only the least and the most favoured ones.
pub const TENANTS_SHOWN_MAX: usize = 40;
/// How many are shown of either end.
pub const EXTREMES_SHOWN: usize = 10;
const BAR_WIDTH: usize = 12;

/// One tenant's line.
struct Row {
    tenant: TenantId,
    throughput: f64,
    equal: f64,
    ratio: f64,
}

/// The whole result.
pub fn render(problem: &Problem, solved: &Solved, all: bool) -> String {
    let rows = rows(problem, solved);
    let mut out = String::new();
    let mechanism = solved.outcome.mechanism;
    let _ = writeln!(out, "{}: {}\n", mechanism.bold(), mechanism.summary());
    out.push_str(&tenants(problem, solved, &rows, all));
    out.push('\n');
    out.push_str(&summary(problem, solved, &rows));
    out.push('\n');
    out.push_str(&certificate::render(problem, &solved.outcome, &solved.certificate));
    out
}

fn rows(problem: &Problem, solved: &Solved) -> Vec<Row> {
    let row = |(tenant, equal): (TenantId, f64)| {
        let throughput = solved.outcome.shares.throughput(problem, tenant);
        Row { tenant, throughput, equal, ratio: ratio(throughput, equal) }
    };
    problem.tenant_ids().zip(equal_splits(problem)).map(row).collect()
}

fn tenants(problem: &Problem, solved: &Solved, rows: &[Row], all: bool) -> String {
    let weighted = problem.tenants().iter().any(|t| t.weight != problem.tenants()[0].weight);
    let demanding = problem.tenants().iter().any(|t| t.demand.is_some());
    let mut header = vec![Cell::text("tenant")];
    header.extend(weighted.then(|| Cell::number("weight")));
    header.extend(demanding.then(|| Cell::number("demand")));
    header.extend(problem.types().iter().map(|t| Cell::number(short(&t.name))));
    header.extend(["throughput", "equal split", "ratio"].map(Cell::number));
    header.push(Cell::text(""));
    let mut table = Table::new(header);
    let most = rows.iter().map(|r| r.ratio).fold(1.0, f64::max);
    let line = |row: &Row| {
        let tenant = &problem.tenants()[row.tenant.0];
        let mut cells = vec![Cell::text(short(&tenant.name))];
        cells.extend(weighted.then(|| Cell::number(figure(tenant.weight))));
        cells.extend(demanding.then(|| Cell::number(tenant.demand.map_or("·".into(), figure))));
        let share = solved.outcome.shares.of_tenant(problem, row.tenant);
        cells.extend(share.into_iter().map(|x| Cell::number(amount(x))));
        cells.extend([row.throughput, row.equal].map(|x| Cell::number(fixed(x))));
        let style = if row.ratio < 1.0 - 1e-6 { Style::new().red() } else { Style::new().green() };
        cells.push(Cell::number(fixed(row.ratio)).style(style));
        cells.push(Cell::text(bar(row.ratio, most, BAR_WIDTH).trim_end()).style(style));
        cells
    };
    if all || rows.len() <= TENANTS_SHOWN_MAX {
        rows.iter().for_each(|row| table.row(line(row)));
        return table.fitted();
    }
    let mut order: Vec<&Row> = rows.iter().collect();
    order.sort_by(|a, b| a.ratio.total_cmp(&b.ratio).then(a.tenant.cmp(&b.tenant)));
    order[..EXTREMES_SHOWN].iter().for_each(|row| table.row(line(row)));
    table.remark(between(rows.len()));
    order[order.len() - EXTREMES_SHOWN..].iter().for_each(|row| table.row(line(row)));
    table.fitted()
}

/// The remark in place of the tenants that are left out.
pub fn between(tenants: usize) -> String {
    let hidden = tenants.saturating_sub(2 * EXTREMES_SHOWN);
    format!(
        "... {hidden} between the least and the most favoured (--all shows them, --json has everything)"
    )
}

fn summary(problem: &Problem, solved: &Solved, rows: &[Row]) -> String {
    let outcome = &solved.outcome;
    let total = outcome.shares.total(problem);
    let equal: f64 = rows.iter().map(|r| r.equal).sum();
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{:<10} {} ({} times what an equal split gives {})",
        "total",
        figure(total).bold(),
        figure(ratio(total, equal)),
        counted(rows.len(), "tenant"),
    );
    let how = if problem.reference_declared() {
        "declared"
    } else {
        "derived: the type that is slowest for the most weight"
    };
    let reference = short(&problem.types()[problem.reference().0].name);
    let _ = writeln!(out, "{:<10} {reference} counts 1 ({how})", "reference");
    let used = problem.types().iter().enumerate().map(|(j, t)| {
        let used = figure(outcome.shares.used(oef_core::TypeId(j)));
        format!("{used} of {} {}", figure(t.capacity), short(&t.name))
    });
    let _ = writeln!(out, "{:<10} {}", "in use", used.collect::<Vec<_>>().join(", "));
    out.push_str(&prices(problem, solved));
    let solver = &outcome.solver;
    let _ = writeln!(
        out,
        "{:<10} {}{} in {} by {} ({})",
        "solver",
        status_word(solver.status),
        proven(solver),
        duration(solved.seconds),
        solver.method,
        counted(solver.iterations, "iteration"),
    );
    out
}

/// How far an answer that is not proven to be optimal can be from the optimum.
fn proven(solver: &SolverReport) -> String {
    match solver.status {
        Status::Optimal => String::new(),
        Status::Feasible => format!(" (gap at most {})", percent(solver.gap)),
    }
}

fn prices(problem: &Problem, solved: &Solved) -> String {
    /// Trades beyond these are counted.
    const TRADES_SHOWN_MAX: usize = 10;
    let outcome = &solved.outcome;
    let mut out = String::new();
    if !outcome.prices.is_empty() {
        let prices = (problem.types().iter().zip(&outcome.prices))
            .map(|(t, price)| format!("{} {}", short(&t.name), figure(*price)));
        let prices = prices.collect::<Vec<_>>().join(", ");
        let _ = writeln!(out, "{:<10} {prices} (throughput per GPU)", "prices");
    }
    let holder =
        |w: oef_core::WorkloadId| short(&problem.tenants()[problem.workloads()[w.0].tenant.0].name);
    let gpu = |t: oef_core::TypeId| short(&problem.types()[t.0].name);
    for trade in outcome.trades.iter().take(TRADES_SHOWN_MAX) {
        let (buyer, seller) = (holder(trade.buyer), holder(trade.seller));
        let (fast, slow) = (gpu(trade.fast), gpu(trade.slow));
        let (bought, price) = (figure(trade.amount), figure(trade.price));
        let _ = writeln!(
            out,
            "{:<10} {buyer} buys {bought} {fast} from {seller} for {price} {slow} each",
            "trade"
        );
    }
    if outcome.trades.len() > TRADES_SHOWN_MAX {
        let more = counted(outcome.trades.len() - TRADES_SHOWN_MAX, "more trade");
        let _ = writeln!(out, "{:<10} {more} (--json has them)", "");
    }
    out
}
