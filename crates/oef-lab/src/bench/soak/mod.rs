//! `oef bench soak`: a daemon under a steady load for as long as one likes, and what breaks first.
//!
//! The daemon is the real one, with its journal on a real disk and all its threads, in this process; its cluster is
//! emulated, since nobody has ten thousand GPUs at hand. Submissions, events and rounds take the ways that the REST interface takes,
//! without the network. Memory is therefore that of the daemon, the emulated cluster and the load together.

mod args;
mod cluster;
mod judge;
mod load;
mod report;
mod run;

pub use args::{BenchSoakArgs, Load};
pub use report::{Sample, Soak};
pub use run::{run, soak};
