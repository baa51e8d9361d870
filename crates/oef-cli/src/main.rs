//! The command line of OEF: reads problems, asks `oef_core` or a daemon, shows what it answers. No
//! mathematics lives here.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod input;
mod output;

use args::{Cli, Command};
use clap::Parser as _;
use commands::dispatch;
use oef_terminal::{Complaint, Exit, Failure, Printer};
use std::io;
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = commands::daemon::hidden::run() {
        return code;
    }
    let cli = Cli::parse();
    let printer = Printer::default();
    let exit = match run(&cli.command, &printer) {
        Ok(exit) => exit,
        Err(Failure::Said { exit, complaints }) => {
            printer.complain(&complaints);
            exit
        }
        // Whoever reads the result has seen enough (`oef ... | head`): not our failure.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
        Err(Failure::Output(error)) => {
            printer
                .complain(&[Complaint::new(format!("the result could not be written: {error}"))]);
            Exit::Limit
        }
    };
    exit.into()
}

fn run(command: &Command, printer: &Printer) -> Result<Exit, Failure> {
    match command {
        Command::Daemon(command) => dispatch::daemon(command, printer),
        Command::Job(command) => dispatch::job(command, printer),
        Command::Tenants(command) => dispatch::tenants(command, printer),
        Command::Cluster(command) => dispatch::cluster(command, printer),
        Command::Problem(command) => dispatch::problem(command, printer),
        Command::Simulate(args) => commands::simulate::run(args, printer),
        Command::Slurm(command) => commands::slurm::run(command, printer),
        Command::Generate(command) => commands::generate::run(command, printer),
        #[cfg(feature = "lab")]
        Command::Lab(command) => oef_lab::run(command, printer),
        Command::Completions { shell } => commands::manual::completions(*shell, printer),
        Command::Man { dir } => commands::manual::man(dir.as_deref(), printer),
    }
}
