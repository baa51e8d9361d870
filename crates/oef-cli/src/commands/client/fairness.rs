//! `oef fairness`: who gets its share, and who would prefer another's.

use super::watch::{self, anything};
use crate::args::cluster::FairnessArgs;
use oef_api::client::Client;
use oef_api::types::{EnvyEntry, Fairness, TenantFairness};
use oef_report::format::{figure, percent, span};
use oef_terminal::bars::{bar, level};
use oef_terminal::names::{cut, safe, short};
use oef_terminal::numbers::{fixed, ratio};
use oef_terminal::table::{Cell, Table};
use oef_terminal::{Exit, Failure, Printer, width};
use owo_colors::{OwoColorize as _, Style};
use std::collections::BTreeMap;
use std::fmt::Write as _;

const BAR_WIDTH: usize = 8;
/// On a narrower screen figures go before bars.
const BARS_FROM: usize = 80;
/// A wider matrix is read by nobody; then the worst pairs are listed.
const MATRIX_TENANTS_MAX: usize = 12;
const PAIRS_SHOWN: usize = 12;
/// As many rounds as fit beside the names on a screen of 80 columns.
const HISTORY_SHOWN: usize = 48;
/// Above this a ratio is envy and not the solver's rounding.
const ENVY_TOLERANCE: f64 = 1e-6;
/// What was delivered is whole GPUs: closer to an equal split nobody can tell.
const DAY_TOLERANCE: f64 = 5e-3;

pub fn run(args: &FairnessArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let fetch = || Ok(client.fairness()?);
    let draw = |fairness: &Fairness| render(fairness, args.history);
    watch::show((args.watch, args.json), client, printer, anything, fetch, draw)
}

fn render(fairness: &Fairness, history: bool) -> String {
    let mut out = String::new();
    let name = format!("round {}", fairness.round);
    let _ = writeln!(out, "{}, {}", name.bold(), safe(&fairness.mechanism));
    if fairness.tenants.is_empty() {
        out.push_str("no tenant has jobs, so there are no shares\n");
        return out;
    }
    out.push_str(&verdicts(fairness));
    out.push('\n');
    let bars = width::columns().is_none_or(|columns| columns >= BARS_FROM);
    out.push_str(&tenants(&fairness.tenants, bars).fitted());
    for legend in [
        "throughput of an equal split, of its share (promised),",
        "and of the GPUs that it holds now; got: delivered of",
        "promised so far; 24 h: of an equal split, last day",
    ] {
        let _ = writeln!(out, "{}", legend.dimmed());
    }
    if fairness.tenants.iter().any(|t| t.day.as_ref().is_some_and(|day| day.envies.is_some())) {
        let legend = "!: another's GPUs would have been worth more to it";
        let _ = writeln!(out, "{}", legend.dimmed());
    }
    if let Some(half_life) = fairness.usage_half_life_s {
        let legend = format!("weights count by past usage (half-life {})", span(half_life));
        let _ = writeln!(out, "{}", legend.dimmed());
    }
    out.push_str(&envy(fairness));
    if history {
        out.push_str(&over_time(&fairness.tenants));
    }
    out
}

/// What the shares promise, and what the last day delivered.
fn verdicts(fairness: &Fairness) -> String {
    let promised = promised(fairness);
    let promised = if promised.is_empty() { promised } else { format!("promised:\n{promised}") };
    promised + &last_day(&fairness.tenants)
}

/// What the last 24 hours delivered: who got the least of its equal split, and to whom another's GPUs would have been worth
/// most.
pub(super) fn last_day(tenants: &[TenantFairness]) -> String {
    let days = || tenants.iter().filter_map(|t| Some((t, t.day.as_ref()?)));
    let parts = days().filter_map(|(t, day)| Some((t, day.of_equal_split?)));
    let Some((tenant, least)) = parts.min_by(|a, b| a.1.total_cmp(&b.1)) else {
        return String::new();
    };
    let mut out = "delivered in the last 24 h:\n".to_string();
    let (mark_least, part) = (mark(least >= 1.0 - DAY_TOLERANCE), percent(least));
    let _ =
        writeln!(out, "{mark_least} least: {part} of an equal split ({})", short(&tenant.tenant));
    let envious = days().filter_map(|(t, day)| Some((t, day.envies.as_ref()?, day.envy?)));
    let worst = envious.max_by(|a, b| a.2.total_cmp(&b.2));
    let compared = days().any(|(_, day)| day.envy.is_some());
    let _ = match worst {
        Some((tenant, other, ratio)) => {
            let (name, other, more) = (short(&tenant.tenant), short(other), percent(ratio - 1.0));
            writeln!(out, "{} {name} would rather have had {other}'s GPUs (+{more})", mark(false))
        }
        None if compared => {
            writeln!(out, "{} nobody would rather have had another's GPUs", mark(true))
        }
        None => Ok(()),
    };
    out
}

fn promised(fairness: &Fairness) -> String {
    let mut out = String::new();
    if let Some(least) = fairness.sharing_incentive {
        let holds = least >= 1.0 - ENVY_TOLERANCE;
        let text = if holds {
            "nobody is below an equal split"
        } else {
            "somebody is below an equal split"
        };
        let _ = writeln!(out, "{} {text} (least: {} of it)", mark(holds), percent(least));
    }
    if let Some(worst) = fairness.worst_envy {
        let holds = worst <= ENVY_TOLERANCE;
        let text = if holds {
            "nobody envies another tenant".into()
        } else {
            format!("envy of up to {}", percent(worst))
        };
        let _ = writeln!(out, "{} {text}", mark(holds));
    }
    if fairness.beyond_guarantees {
        let _ = writeln!(out, "  {BEYOND}");
    }
    out
}

/// What the verdicts are about where tenants have guarantees or limits.
pub(super) const BEYOND: &str = "envy and equal split: of what lies beyond guarantees and limits";

fn mark(holds: bool) -> String {
    if holds { "✓".green().to_string() } else { "✗".red().to_string() }
}

fn tenants(tenants: &[TenantFairness], bars: bool) -> Table {
    let largest = |t: &TenantFairness| t.promised.max(t.delivered);
    let full = tenants.iter().map(largest).fold(0.0, f64::max);
    let drawn = |x: f64| Cell::text(if bars { bar(x, full, BAR_WIDTH) } else { String::new() });
    Table::each(tenants)
        .column("tenant", |tenant| short(&tenant.tenant))
        .column("weight>", |tenant| figure(tenant.weight))
        .column("equal>", |tenant| fixed(tenant.equal_split))
        .column("promised>", |tenant| fixed(tenant.promised))
        .column("", |tenant| drawn(tenant.promised).style(Style::new().dimmed()))
        .column("now>", |tenant| fixed(tenant.delivered))
        .column("", |tenant| drawn(tenant.delivered).style(Style::new().green()))
        .column("got>", |tenant| percent(ratio(tenant.delivered_total, tenant.promised_total)))
        .column("24 h>", day_cell)
        .table()
}

/// What the last day delivered of the equal split; marked where another's GPUs would have been worth more.
fn day_cell(tenant: &TenantFairness) -> Cell {
    let Some(day) = &tenant.day else { return Cell::number("·") };
    let part = day.of_equal_split.map_or_else(|| "·".into(), percent);
    match &day.envies {
        Some(_) => Cell::number(format!("{part}!")).style(Style::new().red()),
        None => Cell::number(part),
    }
}

/// The matrix, or its worst pairs where it would be too wide.
fn envy(fairness: &Fairness) -> String {
    if fairness.envy.is_empty() {
        return String::new();
    }
    let mut out =
        format!("\n{}\n", "How each values another's share over its own (above 1: envy)".bold());
    if fairness.tenants.len() <= MATRIX_TENANTS_MAX {
        out.push_str(&matrix(fairness).fitted());
        return out;
    }
    let mut pairs: Vec<&EnvyEntry> = fairness.envy.iter().filter(|e| e.tenant != e.other).collect();
    pairs.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
    let table = Table::each(pairs.into_iter().take(PAIRS_SHOWN))
        .column("tenant", |pair| short(&pair.tenant))
        .column("looks at", |pair| short(&pair.other))
        .column("ratio>", |pair| ratio_cell(Some(pair.ratio)))
        .table();
    out.push_str(&table.fitted());
    let _ = writeln!(out, "{}", "only the largest; --json has all of them".dimmed());
    out
}

fn matrix(fairness: &Fairness) -> Table {
    let mut header = vec![Cell::text("")];
    header.extend(fairness.tenants.iter().map(|t| Cell::number(cut(&t.tenant, 10))));
    let mut table = Table::new(header);
    let known: BTreeMap<(&str, &str), f64> =
        fairness.envy.iter().map(|e| ((&*e.tenant, &*e.other), e.ratio)).collect();
    for row in &fairness.tenants {
        let mut cells = vec![Cell::text(short(&row.tenant))];
        for column in &fairness.tenants {
            let is_own = row.tenant == column.tenant;
            let ratio = known.get(&(&*row.tenant, &*column.tenant)).copied();
            cells.push(if is_own { Cell::number("·") } else { ratio_cell(ratio) });
        }
        table.row(cells);
    }
    table
}

fn ratio_cell(ratio: Option<f64>) -> Cell {
    match ratio {
        None => Cell::number("·"),
        Some(x) if x > 1.0 + ENVY_TOLERANCE => {
            Cell::number(format!("{x:.2}!")).style(Style::new().red())
        }
        Some(x) => Cell::number(format!("{x:.2}")),
    }
}

/// Each tenant's last rounds, promised above delivered.
fn over_time(tenants: &[TenantFairness]) -> String {
    let mut out = format!("\n{}\n", "Over the last rounds, the newest at the right".bold());
    for tenant in tenants {
        let from = tenant.history.len().saturating_sub(HISTORY_SHOWN);
        let points = &tenant.history[from..];
        let full = points.iter().map(|p| p.promised.max(p.delivered)).fold(0.0, f64::max);
        let promised: String = points.iter().map(|p| level(p.promised, full)).collect();
        let delivered: String = points.iter().map(|p| level(p.delivered, full)).collect();
        let _ = writeln!(out, "  {:<16} promised  {}", cut(&tenant.tenant, 16), promised.dimmed());
        let _ = writeln!(out, "  {:<16} delivered {}", "", delivered.green());
    }
    out
}
