//! What the guard found: as a remark, in the document and in the report.

use super::gather::Gathered;
use super::run::Simulated;
use oef_report::format::{clock, fixed};
use oef_report::html::Section;
use oef_report::table::{Column, Table};
use oef_sched::guard::{Direction, Policy};
use oef_sim::engine::{Detection, RunResult};
use oef_terminal::document::Document;
use oef_terminal::names::safe;
use oef_terminal::numbers::counted;
use serde::Serialize;

/// False profiles that are named one by one in a remark.
const NAMED: usize = 10;
/// False profiles in the table of the report; the document has them all.
const ROWS_MAX: usize = 200;

/// `guard` of a run: the profiles that were not what jobs showed, in the order in which they were found; `None`: nobody
/// looked. The names are those of the daemon's interface.
pub fn guard_document<'a>(
    simulated: &'a Simulated<'_>,
    run: &'a RunResult,
) -> Option<impl Serialize> {
    let policy = match simulated.scenario.guard {
        Policy::Off => "off",
        Policy::Report => "report",
        Policy::Replace => "replace",
    };
    let one = |f: &Detection| {
        let names = Names::of(&simulated.gathered, run, f);
        let v = &f.verdict;
        Document::part()
            .with("tenant", names.tenant)
            .with("workload", names.workload)
            .with("round", f.round)
            .number("seconds", f.at_s)
            .with("fast", names.fast)
            .with("slow", names.slow)
            .number("declared", v.said)
            .number("seen", v.seen)
            .number("tolerance", v.tolerance)
            .with("direction", direction(v.direction))
            .with("windows", v.windows)
            .with("runs", v.runs)
            // What was seen counts from then on.
            .with("replaced", f.corrected)
            // Further off than somebody who measured with an error of 20 % could be: the daemon counts it as false.
            .with("counted", !v.may_be_honest())
    };
    let found = run.found.as_ref()?;
    Some(Document::part().with("policy", policy).list("found", found.iter().map(one)))
}

/// Whose profile was found not to be what jobs showed, and when; nothing where nobody looked.
pub fn remark(gathered: &Gathered, run: &RunResult) -> Option<String> {
    let found = run.found.as_ref()?;
    let one = |f: &Detection| {
        let names = Names::of(gathered, run, f);
        format!(
            "{}/{} in round {} ({} told {:.1} times {}, seen {:.1}{}{})",
            safe(names.tenant),
            safe(names.workload),
            f.round,
            safe(names.fast),
            f.verdict.said,
            safe(names.slow),
            f.verdict.seen,
            if f.corrected { ", which counts now" } else { "" },
            if f.verdict.may_be_honest() { "; a measurement may be off by as much" } else { "" },
        )
    };
    let named: Vec<String> = found.iter().take(NAMED).map(one).collect();
    let more = match found.len() {
        0 => "nothing that does not fit what jobs showed".into(),
        n => format!("{} not to be what jobs showed: {}", counted(n, "profile"), named.join("; ")),
    };
    let rest = if found.len() > NAMED { "; and more" } else { "" };
    Some(format!("{}: the guard found {more}{rest}", run.mechanism))
}

/// The part of the report; `None`: nobody looked.
pub fn section(simulated: &Simulated<'_>, run: &RunResult) -> Option<Section> {
    let found = run.found.as_ref()?;
    let section = Section::new("Profiles and the guard");
    if found.is_empty() {
        return Some(section.paragraph(
            "The guard compared what jobs showed with every profile and found nothing that does not fit.",
        ));
    }
    let what = match simulated.scenario.guard {
        Policy::Replace => "What was seen counts from then on.",
        Policy::Report | Policy::Off => "It was said, and nothing was changed.",
    };
    let listed = match found.len() > ROWS_MAX {
        true => format!(" The first {ROWS_MAX} of {} are listed.", found.len()),
        false => String::new(),
    };
    Some(
        section
            .paragraph(format!("Profiles that were not what jobs showed. {what}{listed}"))
            .table(table(simulated, run, found)),
    )
}

fn table(simulated: &Simulated<'_>, run: &RunResult, found: &[Detection]) -> Table {
    let mut table = Table::new("In the order in which they were found")
        .column(Column::text("workload"))
        .column(Column::number("round"))
        .column(Column::text("after"))
        .column(Column::text("types"))
        .column(Column::text("told"))
        .column(Column::text("seen"))
        .column(Column::text("taken for chance"))
        .column(Column::text("what followed"));
    for f in found.iter().take(ROWS_MAX) {
        let names = Names::of(&simulated.gathered, run, f);
        let times = |factor: f64| format!("{}x", fixed(factor, 2));
        let followed = match (f.corrected, f.verdict.may_be_honest()) {
            (true, true) => "corrected; a measurement may be off by as much",
            (true, false) => "corrected; counted as false",
            (false, true) => "said; a measurement may be off by as much",
            (false, false) => "said; counted as false",
        };
        table.row([
            format!("{}/{}", names.tenant, names.workload).into(),
            (f.round as usize).into(),
            clock(f.at_s).into(),
            format!("{} over {}", names.fast, names.slow).into(),
            times(f.verdict.said).into(),
            times(f.verdict.seen).into(),
            times(f.verdict.tolerance).into(),
            followed.into(),
        ]);
    }
    table
}

fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Over => "over",
        Direction::Under => "under",
    }
}

/// Who and what, by name.
struct Names<'a> {
    tenant: &'a str,
    workload: &'a str,
    fast: &'a str,
    slow: &'a str,
}

impl<'a> Names<'a> {
    fn of(gathered: &'a Gathered, run: &'a RunResult, found: &Detection) -> Self {
        let workload = run.workloads.get(found.workload);
        let tenant = workload.and_then(|w| run.tenants.get(w.tenant));
        let gpu = |index: usize| gathered.profiles.types.get(index).map_or("", String::as_str);
        Names {
            tenant: tenant.map_or("", |t| &t.name),
            workload: workload.map_or("", |w| &w.name),
            fast: gpu(found.verdict.fast),
            slow: gpu(found.verdict.slow),
        }
    }
}
