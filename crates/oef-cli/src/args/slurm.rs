//! The arguments of `oef slurm`.

use super::values::{duration, mechanism};
use clap::{Args, Subcommand, ValueHint};
use oef_core::Mechanism;
use std::path::PathBuf;
use std::time::Duration;

/// Shown below `oef slurm --help`.
pub const EXAMPLES: &str = "\
Examples:
  oef slurm doctor                          what works, what is missing, and the lines to add
  oef slurm import --since 30d -o last      a trace, a cluster, and profiles to fill in
  oef slurm report --since 30d              what OEF would have done last month, as a page
  oef slurm advise lab.toml --dry-run       the GPU limits that accounts would get
  oef slurm advise --restore --state DIR    the values of before a daemon of depth `advise`

Only `advise` without --dry-run changes anything on the cluster;
--restore brings the old values back.";

/// `oef slurm ...`
#[derive(Debug, Subcommand)]
pub enum SlurmCommand {
    /// Check a cluster: what works, what is missing, and the exact lines to add
    Doctor(DoctorArgs),
    /// Write the jobs, nodes and gpu types of a cluster as files for `oef simulate`
    Import(ImportArgs),
    /// Keep GPU limits of accounts at their computed shares; the old ones come back at the end
    Advise(AdviseArgs),
    /// Replay what was run under several mechanisms, and write a page about it
    Report(ReportArgs),
}

/// How Slurm is called.
#[derive(Clone, Debug, Args)]
pub struct SlurmArgs {
    /// The slurm.conf [default: what this machine knows]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub conf: Option<PathBuf>,
    /// Where Slurm's commands are [default: in PATH]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub bin_dir: Option<PathBuf>,
    /// Only this partition [default: all nodes]
    #[arg(long, value_name = "NAME")]
    pub partition: Option<String>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

/// `oef slurm doctor`
#[derive(Debug, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    pub slurm: SlurmArgs,
}

/// `oef slurm import`
#[derive(Debug, Args)]
pub struct ImportArgs {
    #[command(flatten)]
    pub slurm: SlurmArgs,
    /// How far back, as in 30d or 12h
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = duration)]
    pub since: Duration,
    /// The folder for trace.txt, cluster.toml and profiles.csv; made if it is not there
    #[arg(long, short, value_name = "DIR", default_value = "slurm-import", value_hint = ValueHint::DirPath)]
    pub output: PathBuf,
}

/// `oef slurm advise`
#[derive(Debug, Args)]
pub struct AdviseArgs {
    /// A problem file whose tenants are accounts, with their weights and profiles; GPUs and demands come from Slurm
    #[arg(value_name = "PROBLEM", value_hint = ValueHint::FilePath, required_unless_present = "undo")]
    pub problem: Option<PathBuf>,
    #[command(flatten)]
    pub slurm: SlurmArgs,
    /// How to share
    #[arg(long, short, default_value_t = Mechanism::DEFAULT, value_name = "NAME", value_parser = mechanism())]
    pub mechanism: Mechanism,
    /// Repeat at this interval until Ctrl-C, which restores the old limits [default: once]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub every: Option<Duration>,
    /// Only print what would be set
    #[arg(long)]
    pub dry_run: bool,
    /// Set fair-share weights instead of GPU limits
    #[arg(long)]
    pub fairshare: bool,
    /// Bring the old limits and weights back
    #[arg(long, visible_alias = "restore", conflicts_with_all = ["every", "dry_run"])]
    pub undo: bool,
    /// Where the old values are kept [default: beside the problem file]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub keep: Option<PathBuf>,
    /// With --restore: those that a daemon of depth `advise` has kept in its state folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "undo", conflicts_with = "keep")]
    pub state: Option<PathBuf>,
}

/// `oef slurm report`
#[derive(Debug, Args)]
pub struct ReportArgs {
    #[command(flatten)]
    pub import: ImportArgs,
    /// How fast each model runs on each gpu type [default: made up, with a note]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub profiles: Option<PathBuf>,
    /// How to share, one run each [default: nash,cooperative,max-min]
    #[arg(long, short, value_delimiter = ',', value_name = "NAME,...", value_parser = mechanism())]
    pub mechanism: Vec<Mechanism>,
    /// The page [default: report.html in the folder]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub report: Option<PathBuf>,
}
