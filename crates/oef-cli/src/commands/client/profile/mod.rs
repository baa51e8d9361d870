//! `oef profile`: how fast a workload runs, and how that is known.

mod gangs;
mod measure;
mod plan;
mod report;

use crate::args::tenants::{ProfileArgs, ProfileCommand, ProfileShowArgs};
use oef_api::client::Client;
use oef_api::types::{Profile, Provenance, Workload};
use oef_report::format::{counted, figure, percent};
use oef_terminal::names::{safe, short};
use oef_terminal::numbers::fixed;
use oef_terminal::table::Table;
use oef_terminal::times::at;
use oef_terminal::{Exit, Failure, Printer};
use owo_colors::OwoColorize as _;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

pub fn run(args: &ProfileArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    match &args.command {
        Some(ProfileCommand::Show(args)) => show(args, client, printer),
        None => measure::run(&args.run, client, printer),
    }
}

fn show(args: &ProfileShowArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let workload = client.workload(&args.workload.tenant, &args.workload.name)?;
    printer.show(args.json, || &workload, || render(&workload))
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
pub fn render(workload: &Workload) -> String {
    let mut out = String::new();
    let name = format!("{}/{}", safe(&workload.tenant), safe(&workload.name));
    let weight = figure(workload.weight);
    let jobs = counted(workload.jobs as usize, "live job");
    let _ = writeln!(out, "{}: weight {weight}, {jobs}", name.bold());
    let profile = &workload.profile;
    let _ = writeln!(
        out,
        "  profile {} since {}: {}\n",
        provenance(profile.provenance).bold(),
        at(profile.since),
        safe(&profile.source)
    );
    out.push_str(&types(workload).fitted());
    out.push_str(&gangs::render(workload));
    for sentence in workload.guard.iter().flat_map(|guard| &guard.sentences) {
        let _ = writeln!(out, "\n  {}", safe(sentence));
    }
    if !workload.history.is_empty() {
        let _ = writeln!(out, "\n{}", "Before".bold());
        out.push_str(&history(&workload.history).fitted());
    }
    out
}

/// What counts and what was seen, type by type. Only the ratios of each column mean anything.
fn types(workload: &Workload) -> Table {
    let profile = &workload.profile;
    let is_marked = !profile.marks.is_empty();
    let counted = &profile.throughput;
    let names: BTreeSet<&String> = counted.keys().chain(workload.observed.keys()).collect();
    let figure = |map: &BTreeMap<String, f64>, name: &str| match map.get(name) {
        Some(x) if *x > 0.0 => fixed(*x),
        _ => "·".into(),
    };
    let spread = |name: &str| profile.marks.get(name)?.spread.map(percent);
    let known = |name: &str| match profile.marks.get(name) {
        Some(mark) => {
            let on = counted.get(name).copied().unwrap_or(0.0);
            known_word(mark.provenance, mark.batches, on)
        }
        None => provenance(profile.provenance),
    };
    let how = |name: &str| match profile.marks.get(name) {
        Some(mark) => safe(mark.detail.as_deref().and_then(|d| d.lines().next()).unwrap_or("")),
        None => safe(&profile.source),
    };
    Table::each(names)
        .column("gpu type", |name| short(name))
        .column("throughput>", |name| figure(counted, name))
        .column("seen, steps/s per worker>", |name| figure(&workload.observed, name))
        .column_if(is_marked, "spread>", |name| spread(name).unwrap_or("·".into()))
        .column_if(is_marked, "known", |name| known(name))
        .column_if(is_marked, "how", |name| how(name))
        .table()
}

/// A word for how a figure is known: a profile run that crashed has measured that it cannot run there.
fn known_word(known: Provenance, batches: Option<u32>, throughput: f64) -> &'static str {
    match (known, batches, throughput > 0.0) {
        (Provenance::Measured, None, false) => "failed",
        (known, ..) => provenance(known),
    }
}

fn history(profiles: &[Profile]) -> Table {
    Table::each(profiles)
        .column("since", |profile| at(profile.since))
        .column("known", |profile| provenance(profile.provenance))
        .column("throughput", |profile| speeds(&profile.throughput))
        .column("source", |profile| safe(&profile.source))
        .table()
}
