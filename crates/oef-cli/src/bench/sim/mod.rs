//! `oef bench sim`: how fast the simulator and the scheduler are.

mod run;

pub use run::run;
