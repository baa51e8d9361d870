//! Which command goes where.

use super::{compare, explain, lie, mechanisms, share, whatif};
use crate::args::problem::ProblemCommand;
use oef_terminal::{Exit, Failure, Printer};

/// Commands about a problem file.
pub fn problem(command: &ProblemCommand, printer: &Printer) -> Result<Exit, Failure> {
    match command {
        ProblemCommand::Share(args) => share::run(args, printer),
        ProblemCommand::Compare(args) => compare::run(args, printer),
        ProblemCommand::Explain(args) => explain::run(args, printer),
        ProblemCommand::Whatif(args) => whatif::run(args, printer),
        ProblemCommand::Lie(args) => lie::run(args, printer),
        ProblemCommand::Mechanisms(args) => mechanisms::run(args, printer),
    }
}
