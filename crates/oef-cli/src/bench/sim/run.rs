//! Runs the chosen cases one after the other.

use crate::args_bench_sim::BenchSimArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Runs the command.
pub fn run(_args: &BenchSimArgs, _printer: &Printer) -> Result<Exit, Failure> {
    Ok(Exit::Done)
}
