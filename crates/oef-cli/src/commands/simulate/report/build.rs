//! The report as a whole.

use super::super::run::Simulated;
use super::cast::Cast;
use super::{comparison, favour, gangs, mechanism, over_time, summary, words};
use oef_report::format::{clock, number};
use oef_report::html::{Report, Section};
use oef_terminal::numbers::counted;

/// Builds the report.
pub fn build(simulated: &Simulated<'_>) -> Report {
    let cast = Cast::new(&simulated.runs);
    let several = simulated.runs.len() > 1;
    let mut report = Report::new(title(simulated)).subtitle(subtitle(simulated));
    for card in summary::cards(simulated) {
        report = report.card(card);
    }
    report = report.section(comparison::section(simulated));
    if let Some(gangs) = gangs::section(simulated) {
        report = report.section(gangs);
    }
    if several {
        report = report
            .section(over_time::completion(simulated))
            .section(over_time::section(simulated))
            .section(favour::section(simulated, &cast));
        let mut each = Section::new("Each mechanism").paragraph(
            "A part per mechanism: who trained how much and where, what was promised and what was held, and the envy of \
             the busiest round. A tenant has the same colour everywhere.",
        );
        for run in &simulated.runs {
            each = each.details(mechanism::section(simulated, run, &cast));
        }
        report = report.section(each);
    } else {
        report = report.section(over_time::completion(simulated));
        for run in &simulated.runs {
            report = report.section(mechanism::section(simulated, run, &cast));
        }
    }
    report = report.section(words::meaning(simulated)).section(words::making(simulated));
    words::parameters(simulated).into_iter().fold(
        report.version(concat!("oef ", env!("CARGO_PKG_VERSION"))),
        |report, (name, value)| report.parameter(name, value),
    )
}

fn title(simulated: &Simulated<'_>) -> String {
    let gathered = &simulated.gathered;
    let many = |n: usize, one: &str| match n {
        1 => format!("1 {one}"),
        n => format!("{} {one}s", number(n as f64)),
    };
    let jobs = many(gathered.trace.jobs.len(), "job");
    let gpus = many(gathered.cluster.gpus() as usize, "GPU");
    match simulated.runs.as_slice() {
        [one] => format!("{jobs} on {gpus} under {}", one.mechanism),
        runs => format!("{jobs} on {gpus} under {} mechanisms", runs.len()),
    }
}

fn subtitle(simulated: &Simulated<'_>) -> String {
    let gathered = &simulated.gathered;
    let cluster = &gathered.cluster;
    let types: Vec<String> = cluster
        .types()
        .iter()
        .map(|t| format!("{} {t}", number(cluster.count(t) as f64)))
        .collect();
    let load = gathered.load.map_or(String::new(), |load| format!(", load {}", number(load)));
    format!(
        "{} on {} in {}; rounds of {}{load}",
        counted(gathered.trace.tenants().len(), "tenant"),
        types.join(", "),
        counted(cluster.nodes.len(), "node"),
        clock(simulated.scenario.settings.round.seconds()),
    )
}
