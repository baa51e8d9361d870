//! What is known of gangs, and how fast they count.

use oef_api::types::{FigureSource, GangFigure, GangStanding, Workload};
use oef_report::format::percent;
use oef_terminal::names::{safe, short};
use oef_terminal::numbers::fixed;
use oef_terminal::table::{Cell, Table};
use owo_colors::OwoColorize as _;

/// Both tables, each with its title; nothing where there is none.
pub fn render(workload: &Workload, columns: Option<usize>) -> String {
    let mut out = titled(&workload.profile.gangs, columns);
    // Where every size has a figure of its own, this says nothing new.
    let is_told = |on: &GangStanding| on.source != FigureSource::Estimated && on.from.is_none();
    if !workload.gangs.iter().all(is_told) {
        let title = "As gangs count now".bold();
        let table = standings(&workload.gangs).render_within(columns);
        out.push_str(&format!("\n{title}\n{table}"));
    }
    out
}

/// The figures of a profile under their title; nothing where there are none.
pub fn titled(gangs: &[GangFigure], columns: Option<usize>) -> String {
    if gangs.is_empty() {
        return String::new();
    }
    let title = "Gangs (throughput per GPU, and the part of a single worker's that it is)".bold();
    format!("\n{title}\n{}", figures(gangs).render_within(columns))
}

fn figures(gangs: &[GangFigure]) -> Table {
    let mut table =
        Table::headed(["gpu type", "workers>", "where", "throughput>", "kept>", "known", "how"]);
    for gang in gangs {
        let number =
            |x: Option<f64>, shown: fn(f64) -> String| Cell::number(x.map_or("·".into(), shown));
        table.row(vec![
            Cell::text(short(&gang.gpu_type)),
            Cell::number(gang.workers.to_string()),
            Cell::text(if gang.spread { "several hosts" } else { "one host" }),
            number(gang.throughput, fixed),
            number(gang.kept, percent),
            Cell::text(gang.source.name()),
            Cell::text(gang.detail.as_deref().map(safe).unwrap_or_default()),
        ]);
    }
    table
}

fn standings(gangs: &[GangStanding]) -> Table {
    let mut table =
        Table::headed(["workers>", "gpu type", "hosts>", "throughput>", "kept>", "known"]);
    for on in gangs {
        let known = match on.from {
            None => on.source.name().into(),
            Some(from) => format!("{}, from gangs of {from}", on.source.name()),
        };
        table.row(vec![
            Cell::number(on.workers.to_string()),
            Cell::text(short(&on.gpu_type)),
            Cell::number(on.hosts.to_string()),
            Cell::number(fixed(on.throughput)),
            Cell::number(percent(on.kept)),
            Cell::text(known),
        ]);
    }
    table
}
