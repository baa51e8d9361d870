//! Runs the chosen cases one after the other.

use super::args::BenchSimArgs;
use super::cases;
use super::measure::measure;
use super::report::{self, Line};
use crate::bench::choose::choose;
use oef_terminal::progress::Progress;
use oef_terminal::{Complaint, Exit, Failure, Printer};

/// Runs the command.
pub fn run(args: &BenchSimArgs, printer: &Printer) -> Result<Exit, Failure> {
    let cases = choose(&cases::ALL, args.quick, &args.cases)?;
    if let Some(dir) = args.data.as_deref().filter(|dir| !dir.is_dir()) {
        let complaint = Complaint::new("there is no such directory").at(dir.display().to_string());
        return Err(complaint.hint("without --data everything is generated").into());
    }
    if cfg!(debug_assertions) {
        printer.warn("this is a debug build; only a release build tells how fast the simulator is");
    }
    let mut lines = Vec::new();
    for case in cases {
        let _progress = Progress::start(printer, format!("measuring {}", case.name));
        lines.push(Line { case, measured: measure(&case, args)? });
    }
    printer.show(args.json, || report::document(args.seed, &lines), || report::render(&lines))?;
    Ok(Exit::Done)
}
