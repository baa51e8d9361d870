//! `oef usage`: who used how much of what.

use crate::args::cluster::UsageArgs;
use crate::output::document;
use oef_api::client::Client;
use oef_api::types::{Usage, UsageBy, UsageQuery, UsageRow};
use oef_terminal::names::{safe, short};
use oef_terminal::numbers::fixed;
use oef_terminal::table::{Cell, Table};
use oef_terminal::{Exit, Failure, Printer, times};

pub fn run(args: &UsageArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let query = UsageQuery { since: args.since, until: args.until, by: Some(args.by.into()) };
    let usage = client.usage(&query)?;
    if args.csv {
        return printer.result(&csv(&usage));
    }
    printer.show(args.json, || &usage, || render(&usage))
}

fn render(usage: &Usage) -> String {
    if usage.rows.is_empty() {
        return "nothing was used in that time\n".into();
    }
    let is_measured = usage.rows.iter().any(|row| row.utilisation.is_some());
    // Shares are tenants'.
    let has_shares = usage.rows.iter().any(|row| row.promised.is_some());
    let mut headings = vec![heading(usage.by), "type", "GPU-hours"];
    headings.extend(has_shares.then_some(["share", "borrowed", "lent"]).into_iter().flatten());
    headings.push("wasted");
    headings.extend(is_measured.then_some("busy"));
    let mut table = Table::headed(headings);
    for row in &usage.rows {
        let mut cells = cells(row, usage.by, has_shares);
        cells.extend(is_measured.then(|| busy(row)));
        table.row(cells);
    }
    let mut out = format!("from {} to {}\n", times::at(usage.from), times::at(usage.to));
    out.push_str(&table.fitted());
    if has_shares {
        out.push_str("borrowed: used beyond its share; lent: share not used by it;\n");
    }
    out.push_str("wasted: work lost because it was not saved\n");
    if is_measured {
        out.push_str("busy: part of the measured hours in which GPUs computed\n");
    }
    out
}

fn cells(row: &UsageRow, by: UsageBy, has_shares: bool) -> Vec<Cell> {
    let hours = |x: f64| Cell::number(fixed(x));
    let maybe = |x: Option<f64>| x.map_or_else(|| Cell::text(""), hours);
    let mut cells = vec![
        match by == UsageBy::User && row.name.is_empty() {
            true => Cell::text("(not recorded)"),
            false => Cell::text(short(&row.name)),
        },
        Cell::text(short(&row.gpu_type)),
        hours(row.gpu_hours),
    ];
    if has_shares {
        cells.extend([row.promised, row.borrowed, row.lent].map(maybe));
    }
    cells.push(hours(row.wasted));
    cells
}

/// `97%`; nothing where nothing was measured.
fn busy(row: &UsageRow) -> Cell {
    match row.utilisation {
        Some(part) => Cell::number(format!("{:.0}%", part * 100.0)),
        None => Cell::text(""),
    }
}

fn heading(by: UsageBy) -> &'static str {
    match by {
        UsageBy::Tenant => "tenant",
        UsageBy::User => "user",
        UsageBy::Workload => "workload",
        UsageBy::Type => "",
    }
}

fn csv(usage: &Usage) -> String {
    let text = |x: f64| format!("{x:.6}");
    let maybe = |x: Option<f64>| x.map(text).unwrap_or_default();
    let columns: [document::Column<'_, UsageRow>; 9] = [
        ("name", &|row| safe(&row.name)),
        ("type", &|row| row.gpu_type.clone()),
        ("gpu_hours", &|row| text(row.gpu_hours)),
        ("promised", &|row| maybe(row.promised)),
        ("borrowed", &|row| maybe(row.borrowed)),
        ("lent", &|row| maybe(row.lent)),
        ("wasted", &|row| text(row.wasted)),
        ("measured", &|row| text(row.measured)),
        ("utilisation", &|row| maybe(row.utilisation)),
    ];
    document::csv(&usage.rows, &columns)
}
