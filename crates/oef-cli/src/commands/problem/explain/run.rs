//! `oef explain`: why a result is what it is.

use super::document::ExplainDocument;
use crate::args::problem::ExplainArgs;
use crate::commands::problem::named;
use crate::commands::problem::solving::{Asked, Limit, warn_useless_cap, with_solver};
use crate::input;
use oef_core::explain::explain_with;
use oef_core::{Explanation, Problem, TenantId};
use oef_report::format::figure;
use oef_terminal::names::{safe_lines, short};
use oef_terminal::numbers::{amount, difference, fixed};
use oef_terminal::table::{Cell, Table};
use oef_terminal::{Exit, Failure, Printer, width};
use owo_colors::OwoColorize as _;
use std::fmt::Write as _;

/// Runs the command.
pub fn run(args: &ExplainArgs, printer: &Printer) -> Result<Exit, Failure> {
    let loaded = input::load(&args.problem.path, &args.problem.counts)?;
    let problem = &loaded.problem;
    warn_useless_cap(args.solve, &[args.mechanism], printer);
    let tenant = (args.tenant.as_deref())
        .map(|name| named::tenant(problem, name, "--tenant", printer))
        .transpose()?;
    let what = format!("explaining {}", args.mechanism);
    let asked =
        Asked { what: &what, mechanism: args.mechanism, args: args.solve, limit: Limit::Together };
    let explanation = with_solver(asked, printer, |solve, _| explain_with(problem, solve))?;
    printer.show(
        args.json,
        || ExplainDocument::new(problem, &explanation, tenant),
        || render(problem, &explanation, tenant),
    )?;
    Ok(Exit::Done)
}

fn render(problem: &Problem, explanation: &Explanation, tenant: Option<TenantId>) -> String {
    let mechanism = explanation.outcome.mechanism;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}: {}; total {}\n",
        mechanism.bold(),
        mechanism.summary(),
        figure(explanation.total)
    );
    out.push_str(&types(problem, explanation, tenant));
    out.push('\n');
    if let Some(tenant) = tenant {
        out.push_str(&holdings(problem, explanation, tenant));
        out.push('\n');
    }
    for sentence in explanation.sentences(problem, tenant) {
        // The core quotes names as they are; a terminal must not obey them.
        let _ = writeln!(out, "• {}", safe_lines(&sentence));
    }
    out
}

/// The gpu types: price, use, and what one more would add.
fn types(problem: &Problem, explanation: &Explanation, tenant: Option<TenantId>) -> String {
    let mut header = vec![Cell::text("gpu type")];
    header.extend(["price", "in use", "of", "one more adds"].map(Cell::number));
    if let Some(TenantId(t)) = tenant {
        header.push(Cell::number(format!("to {}", short(&problem.tenants()[t].name))));
    }
    let mut table = Table::new(header);
    for reason in &explanation.types {
        let more = reason.one_more.as_ref();
        let mut cells = vec![
            Cell::text(short(&problem.types()[reason.gpu.0].name)),
            Cell::number(reason.price.map_or("·".into(), fixed)),
            Cell::number(amount(reason.used)),
            Cell::number(figure(reason.capacity)),
            Cell::number(more.map_or("?".into(), |m| difference(m.total))),
        ];
        if let Some(TenantId(t)) = tenant {
            let own = more.and_then(|m| m.tenants.get(t));
            cells.push(Cell::number(own.map_or("?".into(), |x| difference(*x))));
        }
        table.row(cells);
    }
    table.render_within(width::columns())
}

/// One tenant's types: what it holds, and what it would get for the price.
fn holdings(problem: &Problem, explanation: &Explanation, tenant: TenantId) -> String {
    let mut header = vec![Cell::text("workload"), Cell::text("gpu type")];
    header.extend(["holds", "speedup", "value for money"].map(Cell::number));
    header.push(Cell::text(""));
    let mut table = Table::new(header);
    let reasons = explanation.tenants.iter().filter(|r| r.tenant == tenant);
    for holding in reasons.flat_map(|r| &r.holdings) {
        table.row(vec![
            Cell::text(short(&problem.workloads()[holding.workload.0].name)),
            Cell::text(short(&problem.types()[holding.gpu.0].name)),
            Cell::number(amount(holding.gpus)),
            Cell::number(fixed(holding.speedup)),
            Cell::number(holding.value_for_money.map_or("·".into(), fixed)),
            Cell::text(if holding.best { "best" } else { "" }),
        ]);
    }
    table.render_within(width::columns())
}
