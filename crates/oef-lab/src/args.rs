//! The commands of the lab as types.

use crate::bench::daemon::BenchDaemonArgs;
use crate::bench::shares::BenchSharesArgs;
use crate::bench::sim::BenchSimArgs;
use crate::bench::slurm::BenchSlurmArgs;
use crate::bench::soak::BenchSoakArgs;
use crate::reproduce::{self, ReproduceArgs};
use crate::torture::TortureArgs;
use clap::Subcommand;

/// The lab's lines in the tour that `oef --help` ends with.
pub const TOUR: &str = "\
\x20 oef reproduce --quick --report paper.html      the paper's evaluation, its figures beside ours
  oef bench shares --quick                       how fast this machine solves; also `sim`, `daemon`
";

/// What judges OEF.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Test the daemon's core against faults of disks, clocks, networks and nodes, from a seed
    Torture(TortureArgs),
    /// Run the paper's evaluation and compare its figures with ours
    #[command(after_help = reproduce::EXAMPLES)]
    Reproduce(ReproduceArgs),
    /// Measure how fast this machine solves, simulates and plans, and what a daemon on it takes
    #[command(subcommand)]
    Bench(BenchCommand),
}

/// What can be measured.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Measure the mechanisms on generated instances, compared with a reference
    Shares(BenchSharesArgs),
    /// Measure the simulator and the scheduler on clusters of four sizes
    Sim(BenchSimArgs),
    /// A daemon on this machine: submissions a second that are durable, a long queue, a power cut
    Daemon(BenchDaemonArgs),
    /// A daemon under a steady load for an hour: memory, journal, events, and what breaks first
    Soak(BenchSoakArgs),
    /// Slurm: all GPUs move to other jobs, many launches, a large cluster, and the cost of an idle one
    Slurm(BenchSlurmArgs),
}
