//! What each mechanism won and lost.

use super::super::run::Simulated;
use super::measures::{MEASURES, Measure};
use oef_core::mechanism::ADVICE;
use oef_report::chart::{Axis, Bar, Bars, Chart as _};
use oef_report::html::{Prose, Section, Tone};
use oef_report::table::{Cell, Column, Table};
use oef_sim::engine::RunResult;

/// The comparison.
pub fn section(simulated: &Simulated<'_>) -> Section {
    let runs = &simulated.runs;
    let several = runs.len() > 1;
    let heading = if several { "What each mechanism won and lost" } else { "The figures" };
    let mut section = Section::new(heading).table(speed(runs)).table(price(runs));
    if several {
        section = section.list(runs.iter().map(|run| won_and_lost(run, runs)));
    }
    section = section
        .paragraph(
            "Days at 95 %: the part of the tenants' days on which a tenant got at least 95 % of its equal split. Mean envy: how much more the \
             GPUs of the tenant that had it best would have given a tenant on a day, 0 where nobody had it better. Both are as delivered, not \
             as promised, and count days of at least twelve whole rounds.",
        )
        .paragraph(ADVICE);
    for remark in &simulated.remarks {
        section = section.note(Tone::Warning, capitalised(remark));
    }
    section.figures([
        (jct(runs).draw(), "Completion time runs from submission to the last step; shorter is better."),
        (
            throughput(runs).draw(),
            "What the shares promise and what the jobs trained, while there were jobs. The difference is what gangs over several hosts and \
             types, restarts and whole GPUs cost.",
        ),
    ])
}

fn speed(runs: &[RunResult]) -> Table {
    let mut table =
        Table::new("How fast; the best of each column has a star, the worst a triangle")
            .column(Column::text("mechanism"))
            .column(Column::duration("mean JCT").lowest_is_best().mark_worst())
            .column(Column::duration("median JCT").lowest_is_best().mark_worst())
            .column(Column::duration("p99 JCT").lowest_is_best().mark_worst())
            .column(Column::duration("mean wait").lowest_is_best().mark_worst())
            .column(Column::duration("makespan").lowest_is_best().mark_worst())
            .column(Column::number("throughput").highest_is_best().mark_worst())
            .column(Column::fraction("GPU time held").highest_is_best().mark_worst());
    for run in runs {
        table.row([
            run.mechanism.name().into(),
            run.jct.mean.into(),
            run.jct.p50.into(),
            run.jct.p99.into(),
            run.wait.mean.into(),
            run.makespan.into(),
            run.actual.into(),
            run.utilisation.into(),
        ]);
    }
    table
}

fn price(runs: &[RunResult]) -> Table {
    let mut table = Table::new("How fair, and at what price")
        .column(Column::text("mechanism"))
        .column(Column::number("least favoured").unit("x").highest_is_best().mark_worst())
        .column(Column::number("as promised").unit("x").highest_is_best().mark_worst())
        .column(Column::fraction("days at 95 %").highest_is_best().mark_worst())
        .column(Column::fraction("mean envy").lowest_is_best().mark_worst())
        .column(Column::number("largest deficit").lowest_is_best().mark_worst())
        .column(Column::number("straggler workers").lowest_is_best().mark_worst())
        .column(Column::number("moved").lowest_is_best().mark_worst())
        .column(Column::number("preempted").lowest_is_best().mark_worst())
        .column(Column::number("unfinished").lowest_is_best().mark_worst());
    for run in runs {
        table.row([
            run.mechanism.name().into(),
            run.worst_sharing_incentive.into(),
            run.worst_promised_incentive.into(),
            run.days_at_least(0.95).unwrap_or(f64::NAN).into(),
            run.mean_day_envy().unwrap_or(f64::NAN).into(),
            run.deficit_max.into(),
            run.straggler_workers.into(),
            run.migrations.into(),
            run.preemptions.into(),
            Cell::from(run.unfinished),
        ]);
    }
    table
}

/// One sentence per mechanism.
fn won_and_lost(run: &RunResult, runs: &[RunResult]) -> Prose {
    let same = |other: &RunResult| other.mechanism == run.mechanism;
    let told = |measure: &Measure, words: &str| {
        format!("{words} ({})", (measure.show)((measure.value)(run)))
    };
    let ends = || MEASURES.iter().filter_map(|m| Some((m, m.ends(runs)?)));
    let won: Vec<String> =
        ends().filter(|(_, (best, _))| same(best)).map(|(m, _)| told(m, m.won)).collect();
    let lost: Vec<String> =
        ends().filter(|(_, (_, worst))| same(worst)).map(|(m, _)| told(m, m.lost)).collect();
    let prose = Prose::new().strong(run.mechanism.name()).text(": ");
    match (won.is_empty(), lost.is_empty()) {
        (true, true) => prose.text("in between everywhere."),
        (false, true) => prose.text(format!("{}.", listed(&won))),
        (true, false) => prose.text(format!("{}.", listed(&lost))),
        (false, false) => prose.text(format!("{}; but {}.", listed(&won), listed(&lost))),
    }
}

fn listed(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn jct(runs: &[RunResult]) -> Bars {
    let bars = Bars::new("Job completion time", "Bars per mechanism: mean and median")
        .axis(Axis::time("from submission to the end"))
        .series(["mean", "median"]);
    runs.iter().fold(bars, |bars, run| {
        bars.group(run.mechanism.name(), [Bar::new(run.jct.mean), Bar::new(run.jct.p50)])
    })
}

fn throughput(runs: &[RunResult]) -> Bars {
    let bars = Bars::new("Throughput", "Bars per mechanism: promised and delivered")
        .axis(Axis::new("mean throughput").unit("reference GPUs"))
        .series(["promised", "delivered"]);
    runs.iter().fold(bars, |bars, run| {
        bars.group(run.mechanism.name(), [Bar::new(run.estimated), Bar::new(run.actual)])
    })
}

fn capitalised(text: &str) -> String {
    let mut text = text.to_string();
    if let Some(first) = text.get_mut(0..1) {
        first.make_ascii_uppercase();
    }
    if !text.ends_with('.') {
        text.push('.');
    }
    text
}
