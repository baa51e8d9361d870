//! Which command goes where.

use super::{config, journal, serve};
use crate::args::daemon::DaemonCommand;
use oef_terminal::{Exit, Failure, Printer};

/// Commands about the daemon.
pub fn daemon(command: &DaemonCommand, printer: &Printer) -> Result<Exit, Failure> {
    match command {
        DaemonCommand::Up(args) => serve::up(args),
        DaemonCommand::Serve(args) => serve::serve(args),
        DaemonCommand::Config(command) => config::run(command, printer),
        DaemonCommand::Journal(command) => journal::run(command, printer),
        DaemonCommand::Service(command) => crate::commands::service::run(command, printer),
        DaemonCommand::Backup(args) => journal::backup(args, printer),
    }
}
