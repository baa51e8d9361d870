//! `oef bench sim`: how fast the simulator and the scheduler are.

mod args;
mod cases;
mod gangs;
mod instances;
mod measure;
mod planning;
mod report;
mod run;
mod stopwatch;

pub use args::BenchSimArgs;
pub use run::run;
