//! The command line as types.

use crate::args_bench_daemon::BenchDaemonArgs;
use crate::args_bench_sim::BenchSimArgs;
use crate::args_cluster::ClusterCommand;
use crate::args_daemon::DaemonCommand;
use crate::args_generate::GenerateCommand;
use crate::args_jobs::JobCommand;
use crate::args_simulate::{self, SimulateArgs};
use crate::args_tenants::TenantsCommand;
use crate::commands::reproduce::args::{self as reproduce, ReproduceArgs};
use crate::exit::EXIT_CODES_HELP;
use clap::builder::styling::{AnsiColor, Styles};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use oef_core::Mechanism;
use std::path::PathBuf;
use std::time::Duration;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const TOUR: &str = "\
Start here, with a cluster of real processes:
  oef up --demo                                  all of it on this machine; then, elsewhere:
  oef submit -- python train.py                  a job; prints its number
  oef profile job.toml                           how fast it is on each gpu type, measured
  oef jobs --watch                               what all jobs do, and why
  oef why 12                                     why it waits, and when it can start
  oef top                                        the cluster live in the terminal
  oef fairness                                   who was promised what, and who got it
  oef settings --set guard=report                false profiles are named, not corrected

And without one:
  oef compare lab.toml                           all mechanisms side by side on one problem
  oef share lab.toml                             who gets which GPUs, with the fairness certificate
  oef explain lab.toml --tenant vision-lab       prices, what binds, why it holds these GPUs
  oef whatif lab.toml --add-gpu h100=8           what a change does to everybody
  oef lie lab.toml --tenant vision-lab           whether a false profile would pay
  oef share table.csv --counts K80=8,V100=8      a speedup table, one tenant per row
  oef simulate --report out.html                 a trace replayed under five mechanisms, as a report
  oef generate trace --jobs 1000 -o trace.csv    a load from a seed; also clusters and profiles
  oef reproduce --quick --report paper.html      the paper's evaluation, its figures beside ours
  oef bench shares --quick                       how fast this machine solves; also `bench sim`, `bench daemon`

A problem file (TOML; JSON has the same fields):
  [[gpu]]
  type = \"rtx3070\"
  count = 8
  [[gpu]]
  type = \"rtx3090\"
  count = 8
  [[tenant]]
  name = \"vision-lab\"          # weight = 1.0 and demand = 12 (GPUs it can use) are optional
  [[tenant.workload]]
  name = \"vgg16\"
  throughput = { rtx3070 = 1.0, rtx3090 = 1.39 }   # any unit; missing or 0: cannot run there
";

/// Fair shares of unlike GPUs: as much training throughput as the cluster can give, with fairness
/// that is computed, checked and shown
#[derive(Debug, Parser)]
#[command(name = "oef", version, styles = STYLES, max_term_width = 110)]
#[command(after_help = format!("{TOUR}\n{EXIT_CODES_HELP}"), arg_required_else_help = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands, the everyday ones first.
#[derive(Debug, Subcommand)]
pub enum Command {
    #[command(flatten)]
    Daemon(DaemonCommand),
    #[command(flatten)]
    Job(JobCommand),
    #[command(flatten)]
    Tenants(TenantsCommand),
    #[command(flatten)]
    Cluster(ClusterCommand),
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
    /// Run the paper's evaluation and set its figures beside ours
    #[command(after_help = reproduce::EXAMPLES)]
    Reproduce(ReproduceArgs),
    /// List the mechanisms
    Mechanisms(MechanismsArgs),
    /// Replay a trace on a cluster under several mechanisms, and compare
    #[command(after_help = args_simulate::EXAMPLES)]
    Simulate(Box<SimulateArgs>),
    /// Make traces, clusters and profiles from a seed
    #[command(subcommand)]
    Generate(GenerateCommand),
    /// Measure how fast this machine solves, simulates and plans, and what a daemon on it takes
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Print completions for a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the man page, or write one page per command into a directory
    Man {
        /// Where to write the pages; without it `oef(1)` goes to stdout
        dir: Option<PathBuf>,
    },
}

const SHARE_EXAMPLES: &str = "\
Examples:
  oef share lab.toml
  oef share lab.toml --mechanism nash --require ef,si,pe
  oef share table.csv --counts K80=8,P100=8,V100=8 --json
  oef share big.json --time-limit 1s
  cat lab.json | oef share -";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  oef completions bash > ~/.local/share/bash-completion/completions/oef
  oef completions zsh > ~/.zfunc/_oef
  oef completions fish > ~/.config/fish/completions/oef.fish";

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
    #[arg(long, short, default_value = "cooperative", value_name = "NAME", value_parser = mechanism())]
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
    #[arg(long, short, default_value = "cooperative", value_name = "NAME", value_parser = mechanism())]
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
    /// How to share (see `oef mechanisms`) [default: cooperative; without a file what the daemon has]
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
    /// The same for a job of so many workers, without a file
    #[arg(long, value_name = "N", conflicts_with = "problem", value_parser = clap::value_parser!(u32).range(1..))]
    pub submit_workers: Option<u32>,
    /// Whose job it is
    #[arg(long, value_name = "TENANT", conflicts_with = "problem")]
    pub submit_tenant: Option<String>,
    /// What kind of job it is
    #[arg(long, value_name = "WORKLOAD", conflicts_with = "problem")]
    pub submit_workload: Option<String>,
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

/// What can be measured.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Measure the mechanisms on generated instances, with a reference beside them
    Shares(BenchArgs),
    /// Measure the simulator and the scheduler on clusters of four sizes
    Sim(BenchSimArgs),
    /// A daemon on this machine: submissions a second that are durable, a long queue, a power cut
    Daemon(BenchDaemonArgs),
}

/// `oef bench shares`
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Leave out the cases that take seconds
    #[arg(long)]
    pub quick: bool,
    /// Only the cases whose names contain one of these, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub cases: Vec<String>,
    /// Seed of the instances
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// How often each case is measured; the median counts
    #[arg(long, default_value_t = 3, value_name = "R", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeat: u32,
    /// Also run the paper's way (cvxpy + ECOS) on the same instances; takes minutes
    #[arg(long)]
    pub with_prototype: bool,
    /// Where the prototype is
    #[arg(long, value_name = "DIR", default_value = "benches/prototype", env = "OEF_PROTOTYPE")]
    pub prototype: PathBuf,
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

pub fn mechanism() -> impl TypedValueParser<Value = Mechanism> {
    PossibleValuesParser::new(Mechanism::ALL.map(Mechanism::name))
        .try_map(|name| name.parse::<Mechanism>())
}

pub fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x.is_finite() && x > 0.0 => Ok(x),
        _ => Err("a finite number above 0 is needed".into()),
    }
}

/// A time with a unit (`1s`, `500ms`, `2min`), or plain seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "write a time such as 1s, 500ms or 2min".to_string();
    match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).map_err(|_| wrong()),
        Err(_) => humantime::parse_duration(text).map_err(|_| wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn times_are_read_with_and_without_a_unit() {
        assert_eq!(duration("1s"), Ok(Duration::from_secs(1)));
        assert_eq!(duration("0.5"), Ok(Duration::from_millis(500)));
        for wrong in ["", "soon", "-1", "nan", "1e300"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
