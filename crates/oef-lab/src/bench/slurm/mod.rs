//! `oef bench slurm`: what the executor for Slurm takes, on a cluster that has nothing else to do.

mod cluster;
mod idle;
mod recorded;
mod run;

pub use run::{BenchSlurmArgs, run};
