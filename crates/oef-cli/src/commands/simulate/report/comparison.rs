//! What each mechanism won and lost.

use super::super::run::Simulated;
use super::measures::{Figure, MEASURES, Measure};
use oef_core::mechanism::ADVICE;
use oef_report::chart::{Axis, Bar, Bars, Chart as _};
use oef_report::html::{Prose, Section, Tone};
use oef_report::table::{Column, Table};
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
    let caption = "How fast; the best of each column has a star, the worst a triangle";
    let columns: [Figure; 8] = [
        (Column::text("mechanism"), |run| run.mechanism.name().into()),
        (Column::duration("mean JCT").falling(), |run| run.jct.mean.into()),
        (Column::duration("median JCT").falling(), |run| run.jct.p50.into()),
        (Column::duration("p99 JCT").falling(), |run| run.jct.p99.into()),
        (Column::duration("mean wait").falling(), |run| run.wait.mean.into()),
        (Column::duration("makespan").falling(), |run| run.makespan.into()),
        (Column::number("throughput").rising(), |run| run.actual.into()),
        (Column::fraction("GPU time held").rising(), |run| run.utilisation.into()),
    ];
    Table::of(caption, runs, columns)
}

fn price(runs: &[RunResult]) -> Table {
    let times = |name: &str| Column::number(name).unit("x").rising();
    let columns: [Figure; 10] = [
        (Column::text("mechanism"), |run| run.mechanism.name().into()),
        (times("least favoured"), |run| run.worst_sharing_incentive.into()),
        (times("as promised"), |run| run.worst_promised_incentive.into()),
        (Column::fraction("days at 95 %").rising(), |run| run.days_at_least(0.95).into()),
        (Column::fraction("mean envy").falling(), |run| run.mean_day_envy().into()),
        (Column::number("largest deficit").falling(), |run| run.deficit_max.into()),
        (Column::number("straggler workers").falling(), |run| run.straggler_workers.into()),
        (Column::number("moved").falling(), |run| run.migrations.into()),
        (Column::number("preempted").falling(), |run| run.preemptions.into()),
        (Column::number("unfinished").falling(), |run| run.unfinished.into()),
    ];
    Table::of("How fair, and at what price", runs, columns)
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
