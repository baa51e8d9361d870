//! The arguments of `oef bench soak`.

use clap::{Args, ValueHint};
use std::path::PathBuf;

/// `oef bench soak`
#[derive(Debug, Args)]
pub struct BenchSoakArgs {
    /// Some seconds of a small load: whether everything works, not how much it takes
    #[arg(long, conflicts_with_all = ["seconds", "rate", "tenants", "gpus", "streams", "round"])]
    pub quick: bool,
    /// For how many seconds
    #[arg(long, default_value_t = 3600, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=604_800))]
    pub seconds: u32,
    /// Submissions per second
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rate: u32,
    /// Tenants
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub tenants: u32,
    /// Emulated GPUs, and so jobs that run at once
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = clap::value_parser!(u32).range(8..=1_000_000))]
    pub gpus: u32,
    /// Event streams that are read
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub streams: u32,
    /// Seconds of a round
    #[arg(long, default_value_t = 10, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub round: u32,
    /// A folder on the disk to be used; a new one below it is used and removed
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}

impl BenchSoakArgs {
    /// The load that is asked for.
    pub(super) fn load(&self) -> Load {
        if self.quick {
            return Load::QUICK;
        }
        let &BenchSoakArgs { seconds, rate, tenants, gpus, streams, round, .. } = self;
        Load { seconds, rate, tenants, gpus, streams, round }
    }
}

/// How much is done to the daemon, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Load {
    /// Its length.
    pub seconds: u32,
    /// Submissions per second.
    pub rate: u32,
    /// Who submits.
    pub tenants: u32,
    /// Emulated GPUs.
    pub gpus: u32,
    /// Readers of events.
    pub streams: u32,
    /// Seconds of a round.
    pub round: u32,
}

impl Load {
    /// Every part of a soak in a few seconds.
    pub const QUICK: Load =
        Load { seconds: 5, rate: 60, tenants: 20, gpus: 120, streams: 5, round: 1 };
}
