//! `oef slurm`: looking at a cluster that Slurm runs.

mod advise;
mod doctor;
mod import;
mod report;

use crate::args::slurm::{SlurmArgs, SlurmCommand};
use oef_executor::slurm::{Slurm, SlurmError};
use oef_terminal::{Complaint, Exit, Failure, Printer};
use std::time::Duration;

/// Accounting of a month may take a while.
const COMMAND_LIMIT: Duration = Duration::from_secs(300);

pub fn run(command: &SlurmCommand, printer: &Printer) -> Result<Exit, Failure> {
    match command {
        SlurmCommand::Doctor(args) => doctor::run(args, printer),
        SlurmCommand::Advise(args) => advise::run(args, printer),
        SlurmCommand::Import(args) => import::run(args, printer),
        SlurmCommand::Report(args) => report::run(args, printer),
    }
}

fn slurm(args: &SlurmArgs) -> Slurm {
    Slurm {
        conf: args.conf.clone(),
        bin_dir: args.bin_dir.clone(),
        limit: COMMAND_LIMIT,
        ..Slurm::default()
    }
}

fn failure(error: SlurmError) -> Failure {
    Complaint::new(error.to_string()).hint("`oef slurm doctor` says what is missing").into()
}
