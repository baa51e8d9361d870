//! The comparison for people, with small bars.

use super::run::Entry;
use crate::output::certificate::mark_of_pareto;
use oef_core::{Mechanism, Problem, SolveError, TenantId};
use oef_report::format::{duration, figure, percent};
use oef_terminal::bars::{bar, level};
use oef_terminal::mark::Mark;
use oef_terminal::names::{cut, short};
use oef_terminal::numbers::{counted, fixed};
use oef_terminal::table::{Cell, Table};
use oef_terminal::width;
use owo_colors::{OwoColorize as _, Style};

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
    out.push_str(&table.render_within(width::columns()));
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
