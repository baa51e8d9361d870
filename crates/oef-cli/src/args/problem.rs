//! The arguments of the commands that work on a problem file.

use super::values::{duration, mechanism, positive};
use clap::{Args, Subcommand, ValueEnum};
use oef_api::parsed::{TenantName, Workers, WorkloadName};
use oef_core::Mechanism;
use std::path::PathBuf;
use std::time::Duration;

/// Asking the mathematics.
#[derive(Debug, Subcommand)]
pub enum ProblemCommand {
    /// Compute who gets which GPUs, and audit the result
    #[command(after_help = SHARE_EXAMPLES)]
    Share(ShareArgs),
    /// Put all mechanisms side by side on one problem
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(CompareArgs),
    /// Say why a result is what it is: prices, binding constraints, what one more GPU would add
    Explain(ExplainArgs),
    /// Show what changes to a problem, or to the live cluster, do to everybody
    #[command(after_help = WHATIF_EXAMPLES)]
    Whatif(WhatifArgs),
    /// Search for the false profile that would pay a tenant most
    Lie(LieArgs),
    /// List the mechanisms
    Mechanisms(MechanismsArgs),
}

const SHARE_EXAMPLES: &str = "\
Examples:
  oef share lab.toml
  oef share lab.toml --mechanism nash --require ef,si,pe
  oef share table.csv --counts K80=8,P100=8,V100=8 --json
  oef share big.json --time-limit 1s
  cat lab.json | oef share -";

const COMPARE_EXAMPLES: &str = "\
Examples:
  oef compare lab.toml
  oef compare lab.toml --mechanism cooperative,nash,max-min --json";

const WHATIF_EXAMPLES: &str = "\
Examples:
  oef whatif lab.toml --set vision-lab.weight=2
  oef whatif lab.toml --set vision-lab.demand=4 --set vision-lab.vgg16.h100=3.5
  oef whatif lab.toml --add-gpu h100=8 --remove speech --add-tenant robotics.toml
  oef whatif --set vision-lab.weight=2 --add-gpu h100=8           the running daemon is asked
  oef whatif --submit job.toml
  oef whatif --submit-workers 4 --submit-tenant vision-lab

A tenant may be named by the beginning of its name where only one tenant's name begins so.";

/// Which problem.
#[derive(Debug, Args)]
pub struct ProblemArgs {
    /// Problem file in TOML or JSON, or a speedup table in CSV; `-` reads stdin
    #[arg(value_name = "PROBLEM")]
    pub path: PathBuf,
    /// For a CSV table: how many GPUs there are of each type; types not named are left out
    #[arg(long, value_name = "TYPE=N,...")]
    pub counts: Vec<String>,
}

/// How to solve.
#[derive(Clone, Copy, Debug, Args)]
pub struct SolveArgs {
    /// `gavel` only: no tenant gets more GPUs than this
    #[arg(long, value_name = "GPUS", value_parser = positive)]
    pub gavel_cap: Option<f64>,
    /// Stop each solve after this time and take its best answer so far, with its proven gap (`1s`,
    /// `500ms`); `explain` and `lie` end as a whole after it, with what they have
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub time_limit: Option<Duration>,
}

/// `oef share`
#[derive(Debug, Args)]
pub struct ShareArgs {
    #[command(flatten)]
    pub problem: ProblemArgs,
    /// How to share (see `oef mechanisms`)
    #[arg(long, short, default_value_t = Mechanism::DEFAULT, value_name = "NAME", value_parser = mechanism())]
    pub mechanism: Mechanism,
    /// Properties that must hold; exit with 1 if one does not
    #[arg(long, value_delimiter = ',', value_name = "ef,si,pe")]
    pub require: Vec<Property>,
    #[command(flatten)]
    pub solve: SolveArgs,
    /// Show every tenant, however many there are
    #[arg(long)]
    pub all: bool,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
}

/// `oef compare`
#[derive(Debug, Args)]
pub struct CompareArgs {
    #[command(flatten)]
    pub problem: ProblemArgs,
    /// Only these mechanisms, separated by commas
    #[arg(long, short, value_delimiter = ',', value_name = "NAME,...", value_parser = mechanism())]
    pub mechanism: Vec<Mechanism>,
    #[command(flatten)]
    pub solve: SolveArgs,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
}

/// `oef explain`
#[derive(Debug, Args)]
pub struct ExplainArgs {
    #[command(flatten)]
    pub problem: ProblemArgs,
    /// How to share (see `oef mechanisms`)
    #[arg(long, short, default_value_t = Mechanism::DEFAULT, value_name = "NAME", value_parser = mechanism())]
    pub mechanism: Mechanism,
    /// Only what concerns this tenant
    #[arg(long, short, value_name = "NAME")]
    pub tenant: Option<String>,
    #[command(flatten)]
    pub solve: SolveArgs,
    /// Print one JSON document instead of sentences
    #[arg(long)]
    pub json: bool,
}

/// `oef whatif`
#[derive(Debug, Args)]
pub struct WhatifArgs {
    /// Problem file in TOML or JSON, or a speedup table in CSV; `-` reads stdin. Without it the running
    /// daemon is asked
    #[arg(value_name = "PROBLEM")]
    pub problem: Option<PathBuf>,
    /// For a CSV table: how many GPUs there are of each type; types not named are left out
    #[arg(long, value_name = "TYPE=N,...", requires = "problem")]
    pub counts: Vec<String>,
    /// How to share (see `oef mechanisms`) [default: nash; without a file what the daemon has]
    #[arg(long, short, value_name = "NAME", value_parser = mechanism())]
    pub mechanism: Option<Mechanism>,
    /// Change a field: TENANT.weight; in a file also TENANT.demand (`none` for no limit),
    /// TENANT.WORKLOAD.TYPE, TENANT.TYPE where it has one workload, or TYPE.count
    #[arg(long, value_name = "FIELD=VALUE")]
    pub set: Vec<String>,
    /// Add GPUs of a type
    #[arg(long, value_name = "TYPE=N")]
    pub add_gpu: Vec<String>,
    /// Take GPUs of a type away from the live cluster
    #[arg(long, value_name = "TYPE=N", conflicts_with = "problem")]
    pub remove_gpu: Vec<String>,
    /// Take a tenant out
    #[arg(long, value_name = "TENANT")]
    pub remove: Vec<String>,
    /// Add the tenants of a file (TOML or JSON with [[tenant]] tables)
    #[arg(long, value_name = "FILE", requires = "problem")]
    pub add_tenant: Vec<PathBuf>,
    /// Submit this job to the live cluster: when would it start?
    #[arg(long, value_name = "JOB.toml", conflicts_with = "problem")]
    pub submit: Option<PathBuf>,
    /// The same for a job with this many workers, without a file
    #[arg(long, value_name = "N", conflicts_with = "problem")]
    pub submit_workers: Option<Workers>,
    /// Whose job it is
    #[arg(long, value_name = "TENANT", conflicts_with = "problem")]
    pub submit_tenant: Option<TenantName>,
    /// What kind of job it is
    #[arg(long, value_name = "WORKLOAD", conflicts_with = "problem")]
    pub submit_workload: Option<WorkloadName>,
    #[command(flatten)]
    pub solve: SolveArgs,
    /// Show every tenant, however many there are
    #[arg(long)]
    pub all: bool,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}

/// `oef lie`
#[derive(Debug, Args)]
pub struct LieArgs {
    #[command(flatten)]
    pub problem: ProblemArgs,
    /// How to share (see `oef mechanisms`)
    #[arg(long, short, default_value = "noncooperative", value_name = "NAME", value_parser = mechanism())]
    pub mechanism: Mechanism,
    /// Who would lie
    #[arg(long, short, value_name = "NAME")]
    pub tenant: String,
    /// How hard to search: each report tried is one solve
    #[arg(long, value_enum, default_value = "normal")]
    pub effort: EffortName,
    #[command(flatten)]
    pub solve: SolveArgs,
    /// Print one JSON document instead of sentences
    #[arg(long)]
    pub json: bool,
}

/// `oef mechanisms`
#[derive(Debug, Args)]
pub struct MechanismsArgs {
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}

/// A property that `--require` can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Property {
    /// Nobody would rather have another's bundle
    #[value(name = "ef", alias = "envy-free")]
    EnvyFree,
    /// Nobody falls below its equal split
    #[value(name = "si", alias = "sharing-incentive")]
    SharingIncentive,
    /// Nobody can gain without another's loss
    #[value(name = "pe", alias = "pareto-efficient")]
    ParetoEfficient,
}

/// How hard to search for a lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EffortName {
    /// A first look
    Quick,
    /// Enough for a few workloads and types
    Normal,
    /// When the answer matters more than the time
    Thorough,
}
