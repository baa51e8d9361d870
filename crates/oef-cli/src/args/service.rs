//! The arguments of `oef service`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Examples, for the help.
pub const EXAMPLES: &str = "\
Examples:
  oef service install                 as root for the whole machine, otherwise for yourself
  oef service install --print         the unit and the settings; nothing is written
  oef service status
  oef service uninstall               settings and state stay

To change settings, edit the file that it names, then `systemctl restart oef`
(with --user: `systemctl --user restart oef`).";

/// `oef service ...`
#[derive(Debug, Subcommand)]
pub enum ServiceCommand {
    /// Set the daemon up as a systemd service: settings, unit, started now and at every boot
    Install(InstallArgs),
    /// Show whether it is installed, runs and answers
    Status(ServiceArgs),
    /// Stop it and remove its unit; settings and state stay
    Uninstall(ServiceArgs),
}

/// For whom.
#[derive(Clone, Debug, Args)]
pub struct ServiceArgs {
    /// For the whole machine (needs root) [default: as root]
    #[arg(long, conflicts_with = "user")]
    pub system: bool,
    /// For yourself alone [default unless you are root]
    #[arg(long)]
    pub user: bool,
    /// Work below this folder instead of `/`, for packages: files are written, nothing is started or stopped
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

/// `oef service install`
#[derive(Debug, Args)]
pub struct InstallArgs {
    #[command(flatten)]
    pub service: ServiceArgs,
    /// The file with the daemon's settings; written if it is not there [default: /etc/oef/oef.toml, or
    /// ~/.config/oef/oef.toml]
    #[arg(long, short, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Write the files and start nothing
    #[arg(long)]
    pub no_start: bool,
    /// Print the unit and write nothing
    #[arg(long, conflicts_with = "json")]
    pub print: bool,
}
