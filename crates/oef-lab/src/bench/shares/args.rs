//! The arguments of `oef bench shares`.

use clap::Args;
use std::path::PathBuf;

/// `oef bench shares`
#[derive(Debug, Args)]
pub struct BenchSharesArgs {
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
