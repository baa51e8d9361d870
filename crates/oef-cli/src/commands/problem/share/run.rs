//! `oef share`: who gets which GPUs, what that is worth, and which properties hold.

use super::table;
use crate::args::problem::{Property, ShareArgs};
use crate::commands::problem::solving::{Solved, solve_and_audit, warn_useless_cap};
use crate::input;
use crate::output::certificate;
use crate::output::document::ShareDocument;
use oef_core::Problem;
use oef_terminal::mark::Mark;
use oef_terminal::{Complaint, Exit, Failure, Printer};

/// Runs the command.
pub fn run(args: &ShareArgs, printer: &Printer) -> Result<Exit, Failure> {
    let loaded = input::load(&args.problem.path, &args.problem.counts)?;
    warn_useless_cap(args.solve, &[args.mechanism], printer);
    let solved = solve_and_audit(&loaded.problem, args.mechanism, args.solve, printer)?;
    printer.show(
        args.json,
        || ShareDocument::new(&loaded.problem, &solved),
        || table::render(&loaded.problem, &solved, args.all),
    )?;
    let broken = broken(&loaded.problem, &solved, &args.require);
    printer.complain(&broken);
    Ok(if broken.is_empty() { Exit::Done } else { Exit::DoesNotHold })
}

/// The required properties that are not proven to hold, each with its witness.
fn broken(problem: &Problem, solved: &Solved, required: &[Property]) -> Vec<Complaint> {
    let judge = |p: Property| certificate::judge(problem, &solved.outcome, &solved.certificate, p);
    let judged = required.iter().map(|&property| (property, judge(property)));
    let complaints =
        judged.filter(|(_, (mark, _))| *mark != Mark::Holds).map(|(property, (_, why))| {
            let title = certificate::title(property);
            Complaint::new(format!("required, but does not hold: {title}: {why}")).at("--require")
        });
    complaints.collect()
}
