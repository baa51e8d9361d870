//! The arguments of `oef bench daemon`.

use clap::{Args, ValueHint};
use std::path::PathBuf;

/// `oef bench daemon`
#[derive(Debug, Args)]
pub struct BenchDaemonArgs {
    /// Ten seconds of submissions and 5,000 jobs, for a first look
    #[arg(long)]
    pub quick: bool,
    /// Submissions per second
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rate: u32,
    /// For how many seconds
    #[arg(long, default_value_t = 60, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub seconds: u32,
    /// Jobs in the queue for the second part
    #[arg(long, default_value_t = 50_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub queued: u32,
    /// A folder on the disk to be measured; a new one below it is used and removed
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}
