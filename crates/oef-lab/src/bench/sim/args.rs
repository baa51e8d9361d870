//! The arguments of `oef bench sim`.

use clap::{Args, ValueHint};
use std::path::PathBuf;

/// `oef bench sim`
#[derive(Debug, Args)]
pub struct BenchSimArgs {
    /// Leave out the case that takes minutes
    #[arg(long)]
    pub quick: bool,
    /// Only the cases whose names contain one of these, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub cases: Vec<String>,
    /// A directory with philly_3day_50tenants.csv, gavel_physical_speedups.csv and openb_nodes.csv; what is not there
    /// is generated alike
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub data: Option<PathBuf>,
    /// Seed of what is generated
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// How often each case is measured, but for the one that takes minutes; the median counts
    #[arg(long, default_value_t = 3, value_name = "R", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeat: u32,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}
