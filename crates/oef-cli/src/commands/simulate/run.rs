//! The command: inputs, runs, and what is shown of them.

use super::document::SimulateDocument;
use super::drive::{Drive, drive};
use super::gather::{Gathered, gather};
use super::{csv_files, lies, report, table, unfinished};
use crate::args_simulate::SimulateArgs;
use crate::exit::Exit;
use crate::failure::{Complaint, Failure};
use crate::input::hint;
use crate::output::names::safe;
use crate::output::numbers::counted;
use crate::printer::Printer;
use oef_core::Mechanism;
use oef_report::format::duration;
use oef_sched::{Settings, Span};
use oef_sim::engine::{Detail, RunResult, Scenario};
use oef_sim::world::Failures;
use std::path::Path;

/// The paper's two, and what they are compared with.
const COMPARED: [Mechanism; 5] = [
    Mechanism::Cooperative,
    Mechanism::Noncooperative,
    Mechanism::Gavel,
    Mechanism::GandivaFair,
    Mechanism::MaxMin,
];

/// Everything that was simulated, and what came of it.
#[derive(Debug)]
pub struct Simulated<'a> {
    /// What was asked for.
    pub args: &'a SimulateArgs,
    /// The inputs.
    pub gathered: Gathered,
    /// The scenario of every run, but for the mechanism.
    pub scenario: Scenario,
    /// A run per mechanism, in the order asked for.
    pub runs: Vec<RunResult>,
    /// What a reader must know beside the figures, in sentences.
    pub remarks: Vec<String>,
}

/// Runs the command.
pub fn run(args: &SimulateArgs, printer: &Printer) -> Result<Exit, Failure> {
    check_outputs(args)?;
    let gathered = gather(&args.input, args.seed)?;
    gathered.notes.iter().for_each(|note| printer.note(note));
    let scenario = scenario(args, &gathered)?;
    let runs = drive(&Drive {
        inputs: gathered.inputs(),
        scenario: &scenario,
        mechanisms: &mechanisms(args),
        printer,
    })?;
    let remarks = remarks(&gathered, &scenario, &runs);
    let simulated = Simulated { args, gathered, scenario, runs, remarks };
    // Files first: a result on stdout says that all is done.
    if let Some(path) = &args.report {
        write_report(path, &simulated, printer)?;
    }
    if let Some(dir) = &args.csv {
        csv_files::write(dir, &simulated)?;
        printer.note(&format!("CSV files written to {}", dir.display()));
    }
    if args.json {
        printer.json(&SimulateDocument::new(&simulated))?;
    } else {
        printer.result(&table::render(&simulated))?;
    }
    simulated.remarks.iter().for_each(|remark| printer.warn(remark));
    Ok(Exit::Done)
}

/// The mechanisms, each once.
fn mechanisms(args: &SimulateArgs) -> Vec<Mechanism> {
    let mut asked: Vec<Mechanism> = Vec::new();
    for &mechanism in if args.mechanism.is_empty() { &COMPARED[..] } else { &args.mechanism } {
        if !asked.contains(&mechanism) {
            asked.push(mechanism);
        }
    }
    asked
}

fn scenario(args: &SimulateArgs, gathered: &Gathered) -> Result<Scenario, Failure> {
    let defaults = Settings::default();
    let round = Span::from_seconds(args.round);
    let span = |given: Option<f64>, default: Span| given.map_or(default, Span::from_seconds);
    let settings = Settings {
        round,
        reference: reference(args, gathered)?,
        rounding: args.scheduler.rounding.into(),
        placement: args.scheduler.placement.into(),
        min_run: span(args.scheduler.min_run, round),
        turn: round.times(4),
        restart_cost: span(args.scheduler.restart_cost, defaults.restart_cost),
        ..defaults
    };
    let failures =
        args.world.failures.map(|(between_s, repair_s)| Failures { between_s, repair_s });
    let full = args.report.is_some() || args.csv.is_some();
    Ok(Scenario {
        profile_error: args.world.profile_error,
        lies: lies::parse(&args.world.lie, gathered)?,
        failures,
        until_s: args.world.until,
        detail: if full { Detail::Full } else { Detail::Summary },
        ..Scenario::new(settings, args.seed)
    })
}

fn reference(args: &SimulateArgs, gathered: &Gathered) -> Result<Option<String>, Failure> {
    let Some(name) = &args.scheduler.reference else { return Ok(None) };
    let types = &gathered.profiles.types;
    if let Some(known) = types.iter().find(|t| t.eq_ignore_ascii_case(name)) {
        return Ok(Some(known.clone()));
    }
    let complaint = Complaint::new(format!("the cluster has no gpu type `{}`", safe(name)));
    let known = types.iter().map(String::as_str);
    Err(complaint.at("--reference").hint(hint("types", name, known)).into())
}

/// A simulation may take minutes; a file that cannot be written is told before it.
fn check_outputs(args: &SimulateArgs) -> Result<(), Failure> {
    let Some(path) = &args.report else { return Ok(()) };
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    let place = || path.display().to_string();
    if path.is_dir() {
        let complaint = Complaint::new("the report is one file, and this is a directory");
        return Err(complaint.at(place()).hint("name a file, such as report.html").into());
    }
    match parent {
        Some(dir) if !dir.is_dir() => {
            let complaint = Complaint::new(format!("there is no directory {}", dir.display()));
            Err(complaint.at(place()).hint("make the directory, or name another file").into())
        }
        _ => Ok(()),
    }
}

fn write_report(path: &Path, simulated: &Simulated<'_>, printer: &Printer) -> Result<(), Failure> {
    let html = report::build(simulated).to_html();
    std::fs::write(path, html).map_err(|error| {
        let complaint = Complaint::new(format!("the report cannot be written: {error}"));
        complaint.at(path.display().to_string()).hint("name a file that can be written")
    })?;
    printer.note(&format!("report written to {}", path.display()));
    Ok(())
}

/// What went otherwise than one might think, over all runs.
fn remarks(gathered: &Gathered, scenario: &Scenario, runs: &[RunResult]) -> Vec<String> {
    let mut remarks = unfinished::remarks(gathered, scenario, runs);
    for run in runs {
        if let Some(trouble) = &run.trouble {
            remarks.push(format!(
                "{}: shares were divided by weight for a while, since {trouble}",
                run.mechanism
            ));
        }
        if run.overcommitted > 0 {
            let gpus = counted(run.overcommitted as usize, "GPU-round");
            remarks.push(format!(
                "{}: the paper's rounding granted {gpus} more than there are",
                run.mechanism
            ));
        }
    }
    let round = scenario.settings.round.seconds();
    if scenario.settings.restart_cost.seconds() >= round {
        let cost = duration(scenario.settings.restart_cost.seconds());
        remarks
            .push(format!("a restart costs {cost}, no less than a round of {}", duration(round)));
    }
    remarks
}
