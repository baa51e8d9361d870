//! `oef bench shares`: how fast this machine solves, with a reference beside it.

mod args;
mod cases;
pub mod instances;
mod measure;
mod prototype;
mod reference;
mod report;
mod run;
mod warm_start;

pub use args::BenchSharesArgs;
pub use run::run;
