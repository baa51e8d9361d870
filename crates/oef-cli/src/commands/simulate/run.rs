//! The command: inputs, runs, and what is shown of them.

use super::document::document;
use super::drive::{Drive, drive};
use super::gather::{Gathered, gather};
use super::{csv_files, guard, lies, report, table, unfinished};
use crate::args::simulate::SimulateArgs;
use crate::input::hint;
use oef_core::Mechanism;
use oef_report::format::duration;
use oef_sched::{Settings, Span};
use oef_sim::engine::{Detail, RunResult, Scenario};
use oef_sim::world::Failures;
use oef_terminal::names::safe;
use oef_terminal::numbers::counted;
use oef_terminal::{Complaint, Exit, Failure, Printer, file};

/// The default of the daemon, the paper's two, and what they are compared with.
const COMPARED: [Mechanism; 6] = [
    Mechanism::Nash,
    Mechanism::Cooperative,
    Mechanism::Noncooperative,
    Mechanism::Gavel,
    Mechanism::GandivaFair,
    Mechanism::MaxMin,
];

/// Failures of nodes over the whole run: each is two events, and they are drawn before it begins.
const OUTAGES_MAX: f64 = 1_000_000.0;

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

pub fn run(args: &SimulateArgs, printer: &Printer) -> Result<Exit, Failure> {
    args.report.as_deref().map_or(Ok(()), file::check_place)?;
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
    // A file that cannot be written is no reason to lose the result.
    let written = write_files(&simulated, printer);
    printer.show(args.json, || document(&simulated), || table::render(&simulated))?;
    simulated.remarks.iter().for_each(|remark| printer.warn(remark));
    written.map(|()| Exit::Done)
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
        gangs: args.scheduler.gangs.into(),
        min_run: span(args.scheduler.min_run, round),
        turn: round.times(4),
        restart_part: args.scheduler.restart_part.unwrap_or(defaults.restart_part),
        restart_cost: span(args.scheduler.restart_cost, defaults.restart_cost),
        usage_half_life: args.scheduler.half_life.map(Span::from_seconds),
        usage_bound: args.scheduler.usage_bound.unwrap_or(defaults.usage_bound),
        ..defaults
    };
    let failures = failures(args, gathered)?;
    let full = args.report.is_some() || args.csv.is_some();
    Ok(Scenario {
        profile_error: args.world.profile_error,
        lies: lies::parse(&args.world.lie, gathered)?,
        guard: args.world.guard.into(),
        order: args.scheduler.order,
        failures,
        until_s: args.world.until,
        detail: if full { Detail::Full } else { Detail::Summary },
        ..Scenario::new(settings, args.seed)
    })
}

/// How nodes fail, if that is not more often than anybody could mean.
fn failures(args: &SimulateArgs, gathered: &Gathered) -> Result<Option<Failures>, Failure> {
    let Some((between_s, repair_s)) = args.world.failures else { return Ok(None) };
    let last = gathered.trace.jobs.iter().map(|job| job.submit_s).fold(0.0, f64::max);
    let seconds = args.world.until.unwrap_or(2.0 * last + 86_400.0);
    let outages = gathered.cluster.nodes.len() as f64 * seconds / (between_s + repair_s);
    if outages > OUTAGES_MAX {
        let complaint = Complaint::new(format!("nodes would fail about {outages:.0} times"));
        let hint = format!("at most {OUTAGES_MAX} are simulated: let them fail less often");
        return Err(Failure::limit(complaint.at("--failures").hint(hint)));
    }
    Ok(Some(Failures { between_s, repair_s }))
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

/// The report and the CSV files, as far as they are asked for.
fn write_files(simulated: &Simulated<'_>, printer: &Printer) -> Result<(), Failure> {
    if let Some(path) = &simulated.args.report {
        file::write(path, &report::build(simulated).to_html())?;
        printer.note(&format!("report written to {}", path.display()));
    }
    if let Some(dir) = &simulated.args.csv {
        csv_files::write(dir, simulated)?;
        printer.note(&format!("CSV files written to {}", dir.display()));
    }
    Ok(())
}

/// What went otherwise than one might think, over all runs.
fn remarks(gathered: &Gathered, scenario: &Scenario, runs: &[RunResult]) -> Vec<String> {
    let mut remarks = unfinished::remarks(gathered, scenario, runs);
    for run in runs {
        remarks.extend(guard::remark(gathered, run));
        if let Some(trouble) = &run.trouble {
            remarks.push(format!("{}: for a while {trouble}", run.mechanism));
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
