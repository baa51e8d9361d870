//! The arguments of `oef reproduce`.

use crate::experiment::Id;
use clap::Args;
use std::path::PathBuf;

/// Examples for `--help`.
pub const EXAMPLES: &str = "\
Examples:
  oef reproduce --quick
  oef reproduce --report paper.html
  oef reproduce --only f,g,h --data ../traces --report paper.html
  oef reproduce --only a,b --json

The experiments: a equal throughput, b a tenant cheats, c sharing incentive, d a second workload,
e no envy, f noncooperative throughput, g cooperative throughput, h completion times,
i workers that wait for slower ones, j solver time, k errors of the profiles, l under-reporting,
m other mechanisms.

Public data that --data looks for, each only if it is there: lambda_rtx30_speedups.csv,
gavel_physical_speedups.csv, philly_3day_50tenants.csv.";

/// `oef reproduce`
#[derive(Debug, Args)]
pub struct ReproduceArgs {
    /// A first look: fewer draws, shorter runs
    #[arg(long)]
    pub quick: bool,
    /// Only these experiments, by letter
    #[arg(long, value_delimiter = ',', value_name = "a,b,...")]
    pub only: Vec<Id>,
    /// Also run on the public data in this directory
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Seed of everything random
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    pub seed: u64,
    /// Write a report as one HTML file
    #[arg(long, value_name = "OUT.html")]
    pub report: Option<PathBuf>,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}
