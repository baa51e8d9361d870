//! Runs the chosen cases one after the other.

use super::args::BenchSharesArgs;
use super::cases::{self, Case, Work};
use super::measure;
use super::prototype::{self, Prototype};
use super::reference::{self, Reference};
use super::report::{self, Line};
use super::warm_start;
use crate::bench::choose::choose;
use oef_core::{Mechanism, Problem};
use oef_terminal::progress::Progress;
use oef_terminal::{Exit, Failure, Printer};

/// Runs the command.
pub fn run(args: &BenchSharesArgs, printer: &Printer) -> Result<Exit, Failure> {
    let cases = choose(&cases::ALL, args.quick, &args.cases)?;
    if cfg!(debug_assertions) {
        printer.warn("this is a debug build; only a release build tells how fast the solver is");
    }
    let prototype = match args.with_prototype {
        true => Some(Prototype::find(&args.prototype)?),
        false => None,
    };
    let mut lines = Vec::new();
    for case in cases {
        let _progress = Progress::start(printer, format!("measuring {}", case.name));
        lines.push(measure_case(case, args, prototype.as_ref())?);
    }
    printer.show(
        args.json,
        || report::document(args.seed, args.repeat, &lines),
        || report::render(&lines),
    )?;
    Ok(Exit::Done)
}

fn measure_case(
    case: Case,
    args: &BenchSharesArgs,
    prototype: Option<&Prototype>,
) -> Result<Line, Failure> {
    let problem = measure::instance(&case, args.seed)?;
    let (result, references) = match case.work {
        Work::Arrival | Work::Departure | Work::Demand | Work::Rounds => {
            let again = warm_start::measure(&case, &problem, args.seed, args.repeat);
            again.unwrap_or_else(|why| (Err(why), Vec::new()))
        }
        Work::Scratch | Work::Limited(_) => {
            let result = measure::from_scratch(&case, &problem, args.repeat);
            let compared = case.work == Work::Scratch && result.is_ok();
            let references = match compared {
                true if case.demands => without_demands(&case, args)?,
                true => references(&case, &problem, prototype)?,
                false => Vec::new(),
            };
            (result.map_err(|e| e.to_string()), references)
        }
    };
    Ok(Line { case, result, references })
}

/// The same problem without demands.
fn without_demands(case: &Case, args: &BenchSharesArgs) -> Result<Vec<Reference>, Failure> {
    let plain = Case { demands: false, ..*case };
    let problem = measure::instance(&plain, args.seed)?;
    let measured = measure::from_scratch(&plain, &problem, args.repeat).ok();
    let reference = |m: measure::CaseTimes| Reference {
        name: report::WITHOUT_DEMANDS,
        seconds: m.median(),
        total: None,
        tenants_differ: None,
    };
    Ok(measured.map(reference).into_iter().collect())
}

/// What the case is compared with: the prototype if it was asked for, else the full program.
fn references(
    case: &Case,
    problem: &Problem,
    prototype: Option<&Prototype>,
) -> Result<Vec<Reference>, Failure> {
    if let Some(prototype) = prototype {
        let forms = prototype::forms(case.mechanism, case.tenants).iter();
        return forms.map(|&form| prototype.run(problem, case.mechanism, form)).collect();
    }
    let feasible =
        case.tenants <= reference::TENANTS_MAX && case.mechanism == Mechanism::Cooperative;
    Ok(if feasible { vec![reference::full_program(problem)] } else { Vec::new() })
}
