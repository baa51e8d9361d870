//! The arguments of `oef generate`.

use super::values::{named, seconds};
use clap::{Args, Subcommand};
use oef_sim::generate::{ClusterLike, TraceLike};
use std::path::PathBuf;

/// What can be generated.
#[derive(Debug, Subcommand)]
pub enum GenerateCommand {
    /// Make a trace: who submits which jobs, and when
    #[command(after_help = TRACE_EXAMPLES)]
    Trace(GenerateTraceArgs),
    /// Print a problem file, for `oef share` and others, with every field explained
    Problem(GenerateProblemArgs),
    /// Make a cluster of a known shape
    Cluster(GenerateClusterArgs),
    /// Make profiles: how fast models run on gpu types
    #[command(after_help = PROFILES_EXAMPLES)]
    Profiles(GenerateProfilesArgs),
}

const TRACE_EXAMPLES: &str = "\
Examples:
  oef generate trace --jobs 1000 --days 3 --tenants 50 -o trace.csv
  oef generate trace --load 1.2 --gpus 24 --longest 1d --seed 7 -o busy.csv
  oef generate trace --like gavel --jobs 300 --profiles profiles.csv -o gavel.csv";

const PROFILES_EXAMPLES: &str = "\
Without any of these options it writes the profiles of the demonstration, which fit the
cluster and the trace that `oef generate cluster` and `oef generate trace` make.

Examples:
  oef generate profiles --types t4,v100,a100 --models 12 -o profiles.csv
  oef generate profiles --cluster cluster.toml --scale-factors 2,4,8 -o profiles.csv
  oef generate profiles --measured";

/// Where it goes.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// Write into this file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print one JSON document about what was written
    #[arg(long, requires = "output")]
    pub json: bool,
}

/// `oef generate trace`
#[derive(Debug, Args)]
pub struct GenerateTraceArgs {
    /// After which load it is modelled
    #[arg(long, value_enum, default_value = "philly")]
    pub like: TraceName,
    /// How many jobs
    #[arg(long, default_value_t = 1000, value_name = "N")]
    pub jobs: u32,
    /// How many tenants [default: 50; like gavel: one per job; like itp: 10]
    #[arg(long, value_name = "N")]
    pub tenants: Option<u32>,
    /// Over how many days the jobs arrive
    #[arg(long, default_value_t = 3.0, value_name = "D")]
    pub days: f64,
    /// GPUs of a job with their weights [default: that of the load]
    #[arg(long, value_name = "N=WEIGHT,...", value_delimiter = ',', value_parser = size)]
    pub job_gpus: Vec<(u32, f64)>,
    /// Scale the durations until the offered GPU time is this part of what `--gpus` GPUs can give
    #[arg(long, value_name = "X", requires = "gpus")]
    pub load: Option<f64>,
    /// How many GPUs the cluster has, for `--load`
    #[arg(long, value_name = "N", requires = "load")]
    pub gpus: Option<u64>,
    /// No job runs longer than this (`12h`, `3d`), before `--load`
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub longest: Option<f64>,
    /// All jobs come at the beginning
    #[arg(long)]
    pub at_once: bool,
    /// The jobs train models of this table [default: that of the demonstration]
    #[arg(long, value_name = "FILE")]
    pub profiles: Option<PathBuf>,
    /// The same seed gives the same bytes
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `oef generate cluster`
#[derive(Debug, Args)]
pub struct GenerateClusterArgs {
    /// Which cluster
    #[arg(long, value_enum, default_value = "paper")]
    pub like: ClusterName,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `oef generate problem`
#[derive(Debug, Args)]
pub struct GenerateProblemArgs {
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `oef generate profiles`
#[derive(Debug, Args)]
pub struct GenerateProfilesArgs {
    /// The gpu types, from slow to fast
    #[arg(long, value_name = "TYPE,...", value_delimiter = ',', conflicts_with_all = ["cluster", "measured"])]
    pub types: Vec<String>,
    /// The gpu types of this cluster, in the order of the file
    #[arg(long, value_name = "FILE", conflicts_with = "measured")]
    pub cluster: Option<PathBuf>,
    /// How many models [default: 12]
    #[arg(long, value_name = "N")]
    pub models: Option<u32>,
    /// Also rows for gangs of these sizes, on one host and over several
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    pub scale_factors: Vec<u32>,
    /// About which part of the cells is empty: the model does not fit there [default: 0.05]
    #[arg(long, value_name = "PART")]
    pub empty: Option<f64>,
    /// The table that we measured on slices of an H200, instead of a generated one
    #[arg(long, conflicts_with_all = ["scale_factors", "seed", "empty", "models"])]
    pub measured: bool,
    /// The same seed gives the same bytes [default: 1]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub output: OutputArgs,
}

named! {
    /// Loads by name.
    TraceName for TraceLike {
        /// Bursts by tenant, day and night, mostly one GPU, durations with a heavy tail
        Philly,
        /// Single-job tenants, Poisson arrivals, 30 % gangs, half an hour to a week
        Gavel,
        /// Ten tenants, gangs of up to 64 GPUs that use five sixths of the GPU time
        Itp,
    }
}

named! {
    /// Clusters by name.
    ClusterName for ClusterLike {
        /// 8 x RTX 3070, 3080 and 3090 each, four to a host
        Paper,
        /// A university lab: 20 GPUs of three generations, one machine mixed
        Lab,
        /// Five generations, 92 GPUs
        Company,
        /// 36 x K80, P100 and V100 each, four to a host
        Gavel,
        /// 6,212 GPUs of seven types in 1,213 nodes
        OpenbSize,
    }
}

/// `8=2`: jobs of 8 GPUs with weight 2.
fn size(text: &str) -> Result<(u32, f64), String> {
    let parts =
        text.split_once('=').map(|(gpus, weight)| (gpus.trim().parse(), weight.trim().parse()));
    match parts {
        Some((Ok(gpus), Ok(weight))) => Ok((gpus, weight)),
        _ => Err("write GPUs and weight, such as 1=90,4=8,8=2".into()),
    }
}
