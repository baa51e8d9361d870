//! `oef profile`: how fast a workload runs, and how that is known.

use crate::args_tenants::ProfileCommand;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::names::{safe, short};
use crate::output::numbers::{figure, fixed};
use crate::output::table::{Cell, Table};
use crate::output::times::at;
use crate::output::width;
use crate::printer::Printer;
use oef_api::client::Client;
use oef_api::types::{Profile, Provenance, Workload};
use owo_colors::OwoColorize as _;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Runs the command.
pub fn run(command: &ProfileCommand, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let ProfileCommand::Show(args) = command;
    let workload = client.workload(&args.workload.tenant, &args.workload.name)?;
    if args.json {
        printer.json(&workload)?;
    } else {
        printer.result(&render(&workload, width::columns()))?;
    }
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
    let mut table = Table::new(vec![
        Cell::text("gpu type"),
        Cell::number("throughput"),
        Cell::number("seen, steps/s per worker"),
    ]);
    let counted = &workload.profile.throughput;
    let names: BTreeSet<&String> = counted.keys().chain(workload.observed.keys()).collect();
    for name in names {
        let cell = |map: &BTreeMap<String, f64>| match map.get(name) {
            Some(x) if *x > 0.0 => Cell::number(fixed(*x)),
            _ => Cell::number("·"),
        };
        table.row(vec![Cell::text(short(name)), cell(counted), cell(&workload.observed)]);
    }
    table
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
