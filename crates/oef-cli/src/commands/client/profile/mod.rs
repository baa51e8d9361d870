//! `oef profile`: how fast a workload runs, and how that is known.

mod gangs;
mod measure;
mod plan;
mod report;

use crate::args::tenants::{ProfileArgs, ProfileCommand, ProfileShowArgs};
use oef_api::client::Client;
use oef_api::types::{Profile, Provenance, Workload};
use oef_report::format::{figure, percent};
use oef_terminal::names::{safe, short};
use oef_terminal::numbers::fixed;
use oef_terminal::table::{Cell, Table};
use oef_terminal::times::at;
use oef_terminal::{Exit, Failure, Printer, width};
use owo_colors::OwoColorize as _;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Runs the command.
pub fn run(args: &ProfileArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    match &args.command {
        Some(ProfileCommand::Show(args)) => show(args, client, printer),
        None => measure::run(&args.run, client, printer),
    }
}

fn show(args: &ProfileShowArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let workload = client.workload(&args.workload.tenant, &args.workload.name)?;
    printer.show(args.json, || &workload, || render(&workload, width::columns()))?;
    Ok(Exit::Done)
}

/// A word for where a profile comes from.
pub fn provenance(provenance: Provenance) -> &'static str {
    match provenance {
        Provenance::Declared => "declared",
        Provenance::Measured => "measured",
        Provenance::Estimated => "estimated",
    }
}

/// Throughputs by type: `rtx3070=1 rtx3090=1.39`.
pub fn speeds(throughput: &BTreeMap<String, f64>) -> String {
    let words: Vec<String> =
        throughput.iter().map(|(gpu, x)| format!("{}={}", safe(gpu), figure(*x))).collect();
    if words.is_empty() { "·".into() } else { words.join(" ") }
}

/// A workload with its profile and what was before.
pub fn render(workload: &Workload, columns: Option<usize>) -> String {
    let mut out = String::new();
    let name = format!("{}/{}", safe(&workload.tenant), safe(&workload.name));
    let (weight, jobs) = (figure(workload.weight), workload.jobs);
    let _ = writeln!(out, "{}: weight {weight}, {jobs} live jobs", name.bold());
    let profile = &workload.profile;
    let _ = writeln!(
        out,
        "  profile {} since {}: {}\n",
        provenance(profile.provenance).bold(),
        at(profile.since),
        safe(&profile.source)
    );
    out.push_str(&types(workload).render_within(columns));
    out.push_str(&gangs::render(workload, columns));
    for sentence in workload.guard.iter().flat_map(|guard| &guard.sentences) {
        let _ = writeln!(out, "\n  {}", safe(sentence));
    }
    if !workload.history.is_empty() {
        let _ = writeln!(out, "\n{}", "Before".bold());
        out.push_str(&history(&workload.history).render_within(columns));
    }
    out
}

/// What counts and what was seen, type by type. Only the ratios of each column mean anything.
fn types(workload: &Workload) -> Table {
    let profile = &workload.profile;
    let is_marked = !profile.marks.is_empty();
    let mut header = vec![
        Cell::text("gpu type"),
        Cell::number("throughput"),
        Cell::number("seen, steps/s per worker"),
    ];
    if is_marked {
        header.extend([Cell::number("spread"), Cell::text("known"), Cell::text("how")]);
    }
    let mut table = Table::new(header);
    let counted = &profile.throughput;
    let names: BTreeSet<&String> = counted.keys().chain(workload.observed.keys()).collect();
    for name in names {
        let cell = |map: &BTreeMap<String, f64>| match map.get(name) {
            Some(x) if *x > 0.0 => Cell::number(fixed(*x)),
            _ => Cell::number("·"),
        };
        let mut row = vec![Cell::text(short(name)), cell(counted), cell(&workload.observed)];
        if is_marked {
            row.extend(known(profile, name));
        }
        table.row(row);
    }
    table
}

/// Spread, provenance and source of one figure.
fn known(profile: &Profile, gpu: &str) -> [Cell; 3] {
    let Some(mark) = profile.marks.get(gpu) else {
        let word = provenance(profile.provenance);
        return [Cell::number("·"), Cell::text(word), Cell::text(safe(&profile.source))];
    };
    let on = profile.throughput.get(gpu).copied().unwrap_or(0.0);
    let detail = mark.detail.as_deref().and_then(|detail| detail.lines().next());
    [
        Cell::number(mark.spread.map_or("·".into(), percent)),
        Cell::text(known_word(mark.provenance, mark.batches, on)),
        Cell::text(detail.map(safe).unwrap_or_default()),
    ]
}

/// A word for how a figure is known: a profile run that crashed has measured that it cannot run there.
fn known_word(known: Provenance, batches: Option<u32>, throughput: f64) -> &'static str {
    match (known, batches, throughput > 0.0) {
        (Provenance::Measured, None, false) => "failed",
        (known, ..) => provenance(known),
    }
}

fn history(profiles: &[Profile]) -> Table {
    let header = ["since", "known", "throughput", "source"].map(Cell::text);
    let mut table = Table::new(header.into());
    for profile in profiles {
        table.row(vec![
            Cell::text(at(profile.since)),
            Cell::text(provenance(profile.provenance)),
            Cell::text(speeds(&profile.throughput)),
            Cell::text(safe(&profile.source)),
        ]);
    }
    table
}
