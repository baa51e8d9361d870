//! `oef bench sim`: how fast the simulator and the scheduler are.

mod cases;
mod instances;
mod measure;
mod memory;
mod planning;
mod report;
mod run;
mod stopwatch;

pub use run::run;
