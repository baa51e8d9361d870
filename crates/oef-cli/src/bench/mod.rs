//! `oef bench shares`: how fast this machine solves, with a reference beside it.

use crate::args::BenchArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Runs the command.
pub fn run(args: &BenchArgs, printer: &Printer) -> Result<Exit, Failure> {
    let _ = (args, printer);
    Ok(Exit::Done)
}
