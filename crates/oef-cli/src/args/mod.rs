//! The command line as types, a file for each family of commands.

mod cli;
pub mod cluster;
pub mod daemon;
pub mod generate;
pub mod interactive;
pub mod jobs;
pub mod notify;
pub mod problem;
pub mod select;
pub mod service;
pub mod simulate;
pub mod slurm;
pub mod tenants;
pub mod values;

pub use cli::{Cli, Command};
