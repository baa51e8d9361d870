//! The command line of OEF: reads problems, asks `oef_core` or a daemon, shows what it answers. No
//! mathematics lives here.
#![forbid(unsafe_code)]

mod args;
mod args_bench_daemon;
mod args_bench_sim;
mod args_cluster;
mod args_daemon;
mod args_generate;
mod args_jobs;
mod args_simulate;
mod args_tenants;
mod bench;
mod commands;
mod exit;
mod failure;
mod input;
mod output;
mod printer;
mod progress;

use args::{BenchCommand, Cli, Command};
use clap::Parser as _;
use exit::Exit;
use failure::{Complaint, Failure};
use printer::Printer;
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
        Command::Daemon(command) => commands::daemon::dispatch::daemon(command, printer),
        Command::Job(command) => commands::client::dispatch::job(command, printer),
        Command::Tenants(command) => commands::client::dispatch::tenants(command, printer),
        Command::Cluster(command) => commands::client::dispatch::cluster(command, printer),
        Command::Share(args) => commands::share::run(args, printer),
        Command::Compare(args) => commands::compare::run(args, printer),
        Command::Explain(args) => commands::explain::run(args, printer),
        Command::Whatif(args) => commands::whatif::run(args, printer),
        Command::Lie(args) => commands::lie::run(args, printer),
        Command::Reproduce(args) => commands::reproduce::run(args, printer),
        Command::Mechanisms(args) => commands::mechanisms::run(args, printer),
        Command::Simulate(args) => commands::simulate::run(args, printer),
        Command::Generate(command) => commands::generate::run(command, printer),
        Command::Bench(BenchCommand::Shares(args)) => bench::run(args, printer),
        Command::Bench(BenchCommand::Sim(args)) => bench::sim::run(args, printer),
        Command::Bench(BenchCommand::Daemon(args)) => bench::daemon::run(args, printer),
        Command::Completions { shell } => commands::manual::completions(*shell, printer),
        Command::Man { dir } => commands::manual::man(dir.as_deref(), printer),
    }
}
