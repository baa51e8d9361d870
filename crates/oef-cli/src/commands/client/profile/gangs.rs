//! What is known of gangs, and how fast they count.

use oef_api::types::{FigureSource, GangFigure, GangStanding, Workload};
use oef_report::format::percent;
use oef_terminal::names::{safe, short};
use oef_terminal::numbers::fixed;
use oef_terminal::table::Table;
use owo_colors::OwoColorize as _;

/// Both tables, each with its title; nothing where there is none.
pub fn render(workload: &Workload) -> String {
    let mut out = titled(&workload.profile.gangs);
    // Where every size has a figure of its own, this says nothing new.
    let is_told = |on: &GangStanding| on.source != FigureSource::Estimated && on.from.is_none();
    if !workload.gangs.iter().all(is_told) {
        let title = "As gangs count now".bold();
        let table = standings(&workload.gangs).fitted();
        out.push_str(&format!("\n{title}\n{table}"));
    }
    out
}

/// The figures of a profile under their title; nothing where there are none.
pub fn titled(gangs: &[GangFigure]) -> String {
    if gangs.is_empty() {
        return String::new();
    }
    let title = "Gangs (throughput per GPU, and the part of a single worker's that it is)".bold();
    format!("\n{title}\n{}", figures(gangs).fitted())
}

fn figures(gangs: &[GangFigure]) -> Table {
    Table::each(gangs)
        .column("gpu type", |gang| short(&gang.gpu_type))
        .column("workers>", |gang| gang.workers.to_string())
        .column("where", |gang| if gang.spread { "several hosts" } else { "one host" })
        .column("throughput>", |gang| gang.throughput.map_or("·".into(), fixed))
        .column("kept>", |gang| gang.kept.map_or("·".into(), percent))
        .column("known", |gang| gang.source.name())
        .column("how", |gang| gang.detail.as_deref().map(safe).unwrap_or_default())
        .table()
}

fn standings(gangs: &[GangStanding]) -> Table {
    let known = |on: &GangStanding| match on.from {
        None => on.source.name().to_string(),
        Some(from) => format!("{}, from gangs of {from}", on.source.name()),
    };
    Table::each(gangs)
        .column("workers>", |on| on.workers.to_string())
        .column("gpu type", |on| short(&on.gpu_type))
        .column("hosts>", |on| on.hosts.to_string())
        .column("throughput>", |on| fixed(on.throughput))
        .column("kept>", |on| percent(on.kept))
        .column("known", known)
        .table()
}
