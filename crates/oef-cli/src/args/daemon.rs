//! The arguments of the commands that are a daemon, or look after its state folder.

use super::values::{duration, mechanism, named};
use clap::{Args, Subcommand};
use oef_core::Mechanism;
use oef_executor::checkpoints::Keeping;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Running a daemon.
#[derive(Debug, Subcommand)]
pub enum DaemonCommand {
    /// Start a whole cluster on this machine: scheduler, interface, page and executor in one
    #[command(after_help = UP_EXAMPLES)]
    Up(UpArgs),
    /// Run the daemon with the settings of a file
    #[command(after_help = "Examples:\n  oef config init oef.toml\n  oef serve --config oef.toml")]
    Serve(ServeArgs),
    /// Write or check the file with the daemon's settings
    #[command(
        subcommand,
        after_help = "Examples:\n  oef config init oef.toml\n  oef config check oef.toml"
    )]
    Config(ConfigCommand),
    /// Check, export or compact the journal in a state folder
    #[command(subcommand, after_help = JOURNAL_EXAMPLES)]
    Journal(JournalCommand),
    /// Set the daemon up as a systemd service, look at it, or remove it
    #[command(subcommand, after_help = super::service::EXAMPLES)]
    Service(super::service::ServiceCommand),
    /// Copy the state of a daemon, also while it runs
    #[command(after_help = "Example:\n  oef backup oef-$(date +%F).db")]
    Backup(BackupArgs),
}

const UP_EXAMPLES: &str = "\
Examples:
  oef up --demo                                       tenants and jobs to watch
  oef up --gpus \"rtx3070=8,rtx3090=4\" --round 10s     emulated GPUs
  oef up --mps \"small=4x8%,big=1x60%\"                 parts of a real GPU as types
  oef up --slurm --partition gpu                      the GPUs of a Slurm cluster
  oef up --state ~/cluster --listen 127.0.0.1:7800

Then, in another terminal: `oef submit -- sleep 30`, `oef jobs`, `oef top`. Ctrl-C stops the daemon;
jobs continue.";

const JOURNAL_EXAMPLES: &str = "\
Examples:
  oef journal check
  oef journal export > journal.jsonl
  oef journal compact --state ~/cluster";

/// `oef up`
#[derive(Debug, Args)]
pub struct UpArgs {
    /// Emulated GPUs: jobs are real processes, but use no GPU [default: the machine's own;
    /// where it has none rtx3070=8,rtx3080=8,rtx3090=8]
    #[arg(long, value_name = "TYPE=N,...", conflicts_with = "mps")]
    pub gpus: Option<String>,
    /// Parts of a real GPU as types, through NVIDIA's MPS
    #[arg(long, value_name = "TYPE=NxP%,...")]
    pub mps: Option<String>,
    /// Run jobs through the Slurm that this machine knows; the state folder must be seen by its nodes
    #[arg(long, conflicts_with_all = ["gpus", "mps", "demo"])]
    pub slurm: bool,
    /// With --slurm: the partition whose nodes are OEF's [default: all nodes]
    #[arg(long, value_name = "NAME", requires = "slurm")]
    pub partition: Option<String>,
    /// How long a round lasts [default: as before, or 5m; with --demo 5s]
    #[arg(long, value_name = "TIME", value_parser = round_length)]
    pub round: Option<Duration>,
    /// How to share (see `oef mechanisms`) [default: as before, or nash]
    #[arg(long, short, value_name = "NAME", value_parser = mechanism())]
    pub mechanism: Option<Mechanism>,
    /// Where everything is kept [default: under the XDG state folder]
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// Where to listen; port 0 takes a free one [default: 127.0.0.1:7733]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// Where jobs leave their checkpoints: in a folder that all hosts see, or on the node that ran them, from which
    /// the next one fetches them
    #[arg(long, value_name = "PLACE", default_value = "shared")]
    pub checkpoints: CheckpointPlace,
    /// With tenants whose jobs come and go
    #[arg(long)]
    pub demo: bool,
    /// Let tenants have tokens although all jobs run as one user: everybody who gets one is trusted
    #[arg(long)]
    pub trust_tenants: bool,
    /// A program that notifications may run, by a name (`oef notify add --command NAME`)
    #[arg(long, value_name = "NAME=PROGRAM", value_parser = named_program)]
    pub notify_command: Vec<(String, String)>,
}

/// A name and the path of a program.
fn named_program(text: &str) -> Result<(String, String), String> {
    let named =
        text.split_once('=').filter(|(name, path)| !name.is_empty() && path.starts_with('/'));
    let (name, path) = named.ok_or("write NAME=PROGRAM with the whole path of the program")?;
    Ok((name.into(), path.into()))
}

named! {
    /// Where jobs leave their checkpoints.
    CheckpointPlace for Keeping {
        /// A folder that all hosts see
        Shared,
        /// The host that ran the job last
        Node,
    }
}

/// `oef serve`
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The file with all settings
    #[arg(long, short, value_name = "FILE")]
    pub config: PathBuf,
}

/// `oef config ...`
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Write a file with every setting, its default and its reason
    Init(ConfigInitArgs),
    /// Check a file, and list everything that is wrong with it
    Check(ConfigCheckArgs),
}

/// `oef config init`
#[derive(Debug, Args)]
pub struct ConfigInitArgs {
    /// Where to write it [default: stdout]
    pub file: Option<PathBuf>,
    /// Print one JSON document about what was written
    #[arg(long, requires = "file")]
    pub json: bool,
}

/// `oef config check`
#[derive(Debug, Args)]
pub struct ConfigCheckArgs {
    /// The file
    pub file: PathBuf,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

/// `oef journal ...`
#[derive(Debug, Subcommand)]
pub enum JournalCommand {
    /// Look for damage: every checksum, every record, and whether a restart would understand it all
    Check(StateArgs),
    /// Print every record as a line of JSON
    Export(StateArgs),
    /// Remove what snapshots cover; not while a daemon runs there
    Compact(StateArgs),
    /// Take a state folder as it is, although acknowledged records are missing: they are lost then
    Accept(StateArgs),
}

/// Which state folder.
#[derive(Debug, Args)]
pub struct StateArgs {
    /// The state folder [default: that of the daemon that commands here talk to]
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

/// `oef backup`
#[derive(Debug, Args)]
pub struct BackupArgs {
    /// Where to write the copy; it must not exist yet
    pub file: PathBuf,
    #[command(flatten)]
    pub state: StateArgs,
}

/// Noticed here, before a folder is made.
fn round_length(text: &str) -> Result<Duration, String> {
    let length = duration(text)?;
    let (least, most) = (Duration::from_millis(100), Duration::from_secs(86_400));
    match (least..=most).contains(&length) {
        true => Ok(length),
        false => Err("a round lasts from 100ms to 1 day".into()),
    }
}
