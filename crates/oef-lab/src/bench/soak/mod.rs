//! `oef bench soak`: a daemon under a steady load for as long as one likes, and what breaks first.
//!
//! The daemon is the real one, with its journal on a real disk and all its threads, in this process; its cluster is
//! emulated, since nobody has ten thousand GPUs at hand. Submissions, events and rounds take the ways that the REST interface takes,
//! without the network.

mod args;
mod cluster;
mod load;
mod report;
mod run;

pub use args::BenchSoakArgs;
pub use run::run;
