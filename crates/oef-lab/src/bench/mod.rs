//! `oef bench`: how fast this machine solves (`shares`), simulates and plans (`sim`), and what a daemon on it takes
//! (`daemon`, and for how long: `soak`).

mod choose;
pub mod daemon;
mod memory;
pub mod shares;
pub mod sim;
pub mod slurm;
pub mod soak;
