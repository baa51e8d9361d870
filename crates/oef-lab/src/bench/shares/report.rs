//! The table of the benchmark, and the same for machines.

use super::cases::{Bar, Case, Work};
use super::measure::CaseTimes;
use super::reference::Reference;
use oef_report::format::{duration, percent};
use oef_terminal::document::{Document, finite, gap, status_word};
use oef_terminal::mark::Mark;
use oef_terminal::table::{Cell, Table};
use owo_colors::Style;
use serde::Serialize;

/// Pairs that differ by less are rounding: no envy.
const EXACT: f64 = 1e-9;

/// One line of the table.
#[derive(Debug)]
pub struct Line {
    /// The case.
    pub case: Case,
    /// What was measured, or why not.
    pub result: Result<CaseTimes, String>,
    /// What it is compared with.
    pub references: Vec<Reference>,
}

impl Line {
    /// Whether the bar is cleared; `None` where that was not measured.
    fn cleared(&self) -> Option<bool> {
        let measured = self.result.as_ref().ok()?;
        let times = |name: &str| {
            let found = self.references.iter().find(|r| r.name == name);
            found.map(|r| r.seconds / measured.median())
        };
        match self.case.bar {
            Bar::None => None,
            Bar::Seconds(limit) => Some(measured.median() < limit),
            Bar::OverPrototype(factor) => times("prototype, vectorised").map(|x| x >= factor),
            Bar::OverScratch(factor) => times(FROM_SCRATCH).map(|x| x >= factor),
            Bar::OverPlain(factor) => times(WITHOUT_DEMANDS).map(|x| x * factor >= 1.0),
            Bar::Gap(limit) => {
                let exact = measured.worst_envy.is_some_and(|envy| envy <= EXACT);
                Some(exact && measured.outcome.solver.gap < limit)
            }
        }
    }
}

/// The name of the reference of a solve that starts from an earlier one.
pub const FROM_SCRATCH: &str = "from scratch";
/// The name of the reference of a problem with demands.
pub const WITHOUT_DEMANDS: &str = "without demands";

/// The bar in words.
fn bar_text(case: &Case) -> String {
    let bar = match case.bar {
        Bar::None => None,
        Bar::Seconds(limit) => Some(format!("under {}", duration(limit))),
        Bar::OverPrototype(factor) => Some(format!("≥ {factor}x the prototype")),
        Bar::OverScratch(factor) => Some(format!("≥ {factor}x from scratch")),
        Bar::OverPlain(factor) => Some(format!("≤ {factor}x without demands")),
        Bar::Gap(limit) => Some(format!("no envy, gap under {}", percent(limit))),
    };
    let aim = case.aim.filter(|_| !matches!(case.bar, Bar::Seconds(_) | Bar::Gap(_)));
    let aim = aim.map(|aim| format!("aim {}", duration(aim)));
    bar.into_iter().chain(aim).collect::<Vec<_>>().join(", ")
}

/// The table for people.
pub fn render(lines: &[Line]) -> String {
    let mut header = vec![Cell::text("case"), Cell::number("time"), Cell::number("gap")];
    header.push(Cell::number("worst envy"));
    header.push(Cell::text("reference"));
    header.extend(["time", "ratio", "differ by"].map(Cell::number));
    header.extend(["bar", ""].map(Cell::text));
    let mut table = Table::new(header);
    for line in lines {
        match &line.result {
            Err(why) => table.remark(format!("{}: not measured ({why})", line.case.name)),
            Ok(measured) => rows(line, measured).into_iter().for_each(|row| table.row(row)),
        }
    }
    let legend = "\nOne core; the median of the repeats. Time is that of one solve, without reading, checking and \
                  auditing;\nafter an arrival or departure it includes the change. Differ by: the totals, relatively; against \
                  from scratch\nthe throughput of the tenant that differs most.\n";
    table.render() + legend
}

fn rows(line: &Line, measured: &CaseTimes) -> Vec<Vec<Cell>> {
    let cleared = match line.cleared() {
        Some(cleared) => Cell::text(Mark::of(cleared).symbol()).style(Mark::of(cleared).style()),
        None => Cell::text(""),
    };
    let envy = measured
        .worst_envy
        .map_or("".into(), |e| if e <= EXACT { "none".into() } else { percent(e) });
    let own = [
        Cell::text(line.case.name).style(Style::new().bold()),
        Cell::number(duration(measured.median())),
        Cell::number(format!("{:.0e}", measured.outcome.solver.gap)),
        Cell::number(envy),
    ];
    let end = [Cell::text(bar_text(&line.case)), cleared];
    let against = |reference: &Reference| {
        let totals =
            reference.total.map(|t| (t - measured.total).abs() / measured.total.max(1e-300));
        let difference = reference.tenants_differ.or(totals);
        [
            Cell::text(reference.name),
            Cell::number(duration(reference.seconds)),
            Cell::number(format!("{:.1}x", reference.seconds / measured.median())),
            Cell::number(difference.map_or("".into(), |d| format!("{d:.0e}"))),
        ]
    };
    let blank = || [(); 4].map(|()| Cell::text(""));
    let mut references = line.references.iter();
    let first = references.next().map_or_else(blank, &against);
    let mut rows = vec![own.into_iter().chain(first).chain(end).collect()];
    for reference in references {
        let more = blank().into_iter().chain(against(reference));
        rows.push(more.chain([Cell::text(""), Cell::text("")]).collect());
    }
    rows
}

/// The benchmark for machines.
/// `oef bench shares --json`
pub fn document(seed: u64, repeat: u32, lines: &[Line]) -> impl Serialize {
    let whole = Document::whole().with("seed", seed).with("repeat", repeat);
    whole.list("cases", lines.iter().map(case))
}

fn case(line: &Line) -> impl Serialize {
    let (case, measured) = (&line.case, line.result.as_ref().ok());
    let references = line.references.iter().map(|r| {
        let apart = |m: &CaseTimes| Some(finite((r.total? - m.total).abs() / m.total));
        Document::part()
            .with("name", r.name)
            .with("seconds", r.seconds)
            .with("ratio", measured.map(|m| finite(r.seconds / m.median())))
            .with("total", r.total)
            .with("difference", measured.and_then(apart))
            .with("tenants_differ", r.tenants_differ.map(finite))
    });
    let time_limit = match case.work {
        Work::Limited(limit) => Some(limit.as_secs_f64()),
        _ => None,
    };
    Document::part()
        .with("case", case.name)
        .with("mechanism", case.mechanism.name())
        .with("tenants", case.tenants)
        .with("profiles", case.profiles)
        .with("types", super::instances::TYPES)
        .with("time_limit", time_limit)
        .with("seconds", measured.map(CaseTimes::median))
        .with("seconds_min", measured.and_then(|m| m.seconds.first()))
        .with("seconds_max", measured.and_then(|m| m.seconds.last()))
        .with("status", measured.map(|m| status_word(m.outcome.solver.status)))
        .with("method", measured.map(|m| m.outcome.solver.method.to_string()))
        .with("gap", measured.map(|m| gap(m.outcome.solver.gap)))
        .with("total", measured.map(|m| finite(m.total)))
        .with("worst_envy", measured.and_then(|m| m.worst_envy).map(finite))
        .with("error", line.result.as_ref().err())
        .list("references", references)
        .with("bar", bar_text(case))
        .with("cleared", line.cleared())
}
