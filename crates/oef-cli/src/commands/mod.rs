//! One module per command: from arguments to what is shown.

pub mod client;
pub mod daemon;
pub mod dispatch;
pub mod generate;
pub mod interactive;
pub mod manual;
pub mod problem;
pub mod service;
pub mod simulate;
pub mod slurm;
