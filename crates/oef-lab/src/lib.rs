//! What judges OEF and is no part of it: benchmarks ([`bench`]), the paper's experiments ([`experiment`]) and the
//! report that sets its figures beside ours ([`reproduce`]); a cluster's life in a second ([`torture`]), and everything that
//! reads ([`fuzz`]).
//!
//! The binary `oef` has these as commands where its feature `lab` is on, as it is by default.
#![forbid(unsafe_code)]

mod args;
pub mod bench;
pub mod experiment;
pub mod fuzz;
pub mod reproduce;
pub mod torture;

pub use args::{BenchCommand, LabCommand, TOUR};

use oef_terminal::{Exit, Failure, Printer};

/// Runs a command.
pub fn run(command: &LabCommand, printer: &Printer) -> Result<Exit, Failure> {
    match command {
        LabCommand::Torture(args) => torture::run(args, printer),
        LabCommand::Reproduce(args) => reproduce::run(args, printer),
        LabCommand::Bench(BenchCommand::Shares(args)) => bench::shares::run(args, printer),
        LabCommand::Bench(BenchCommand::Sim(args)) => bench::sim::run(args, printer),
        LabCommand::Bench(BenchCommand::Slurm(args)) => bench::slurm::run(args, printer),
        LabCommand::Bench(BenchCommand::Soak(args)) => bench::soak::run(args, printer),
        LabCommand::Bench(BenchCommand::Daemon(args)) => bench::daemon::run(args, printer),
    }
}
