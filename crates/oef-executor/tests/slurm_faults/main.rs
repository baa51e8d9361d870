//! What goes wrong on a cluster, on a real Slurm: no job is lost, none runs twice at the same time, and whoever asks is
//! told why. And what settings do to a real job.

#[path = "../common/mod.rs"]
mod common;
#[path = "../slurm_lab/mod.rs"]
mod slurm_lab;

mod clocks;
mod faults;
mod leftovers;
mod settings;
mod users;
mod world;
